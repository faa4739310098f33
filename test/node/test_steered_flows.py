# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A planner weaves a flow around a failed pick: the nodes and planners as real processes."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import sys
from typing import Any

from action_lifecycle_msgs.msg import ErrorCode, Evidence, FlowStatus, FlowStatusArray
import pytest
from rclpy.qos import QoSProfile

from .forked import Forked, ros_arguments
from .test_flow_sources import Rig

FLOW = """flow: weaving
description: WORDS
steering: true
actions:
  pick:
    motion:
      server: gripper_controller/gripper_cmd
      type: control_msgs/action/GripperCommand
      goal: {command: {position: 0.03, max_effort: 20.0}}
    confirm: {condition: gap > 0.06, within: 0.5}
  place:
    after: pick
    motion:
      server: gripper_controller/gripper_cmd
      type: control_msgs/action/GripperCommand
      goal: {command: {position: 0.02, max_effort: 20.0}}
    confirm: {condition: gap < 0.04, within: 3.0}
"""


LONG = """flow: leaving
actions:
  move:
    motion:
      server: arm_controller/follow_joint_trajectory
      type: control_msgs/action/FollowJointTrajectory
      goal:
        trajectory:
          joint_names: [x_joint]
          points: [{positions: [0.05], time_from_start: {sec: 5, nanosec: 0}}]
    confirm: {condition: 'tool[0] > -9', within: 3.0}
  never: {after: move, confirm: 'tool[0] > -9'}
"""


class Steered(Rig):
    """A rig whose node may have planners in Python, and what `~/flow` has said."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.said: list[Any] = []
        self.system.node.create_subscription(
            FlowStatusArray, 'action_lifecycle/flow', lambda message: self.said.extend(
                message.flows), QoSProfile(depth=100, durability=1))

    def restart(self, planner: str, **parameters: Any) -> None:
        """Start the action node anew, in a process that has registered planners."""
        self.system.stop('action_lifecycle_node')
        self.system.until(lambda: not self.client.server_is_ready(), 20.0, 'it has gone')
        arguments = ros_arguments({
            'use_sim_time': True, 'autostart': True, 'planner': planner,
            'journal_path': str(self.system.journal_path), **parameters})
        with open(self.folder / 'action_lifecycle_node.log', 'ab') as log:
            self.system.processes['action_lifecycle_node'] = Forked(
                [sys.executable, '-m', 'node.planning_node', *arguments],
                self.system.environment, log)
        self.until_answered()

    def outcomes(self, result: Any) -> dict[str, str]:
        return {action.action_id: action.state.outcome for action in result.status.actions}

    def notes(self, flow_id: str) -> list[str]:
        return [row.event for row in self.system.rows(flow_id=flow_id, kind='note')]


@pytest.fixture(scope='module')
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steered]:
    rig = Steered(tmp_path_factory.mktemp('steered'))
    rig.until_answered()
    yield rig
    rig.system.close()


REPLACED = {'pick': 'failed', 'wide': 'succeeded', 'place': 'succeeded'}


def test_a_failed_pick_is_replaced_and_its_dependents_follow(rig: Steered) -> None:
    result = rig.run(FLOW.replace('WORDS', 'weave'), 'yaml', flow_id='woven')
    assert (result.error_code, result.state) == (ErrorCode.NONE, 'FINISH'), result.error_msg
    assert rig.outcomes(result) == REPLACED
    assert json.loads(result.summary_json)['replaced'] == 1
    asked = rig.asked('weave')
    (ended,) = asked[0]['ended']
    assert (ended['name'], ended['outcome'], ended['attempt']) == ('pick', 'failed', 1)
    assert ended['code'] == ErrorCode.REFUTED and 'gap > 0.06' in ended['message']
    ((expression, verdict, numbers),) = ended['evidence']
    assert expression == 'gap > 0.06' and verdict == Evidence.FALSE and 0.0 < numbers[0] < 0.06
    assert ended['sensors'] and ended['controller']
    assert asked[0]['status'] == {'pick': 'terminated', 'place': 'assigned'}


def test_a_planner_may_give_up(rig: Steered) -> None:
    result = rig.run(FLOW.replace('WORDS', 'weave or fail'), 'yaml', flow_id='failed')
    assert result.state == 'FAIL' and result.error_msg == 'the gripper is too weak'
    assert rig.outcomes(result) == {'pick': 'failed', 'place': 'skipped'}


def test_a_planner_that_is_too_slow_is_not_waited_for(rig: Steered) -> None:
    result = rig.run(FLOW.replace('WORDS', 'weave late'), 'yaml', flow_id='late')
    assert result.state == 'FAIL' and result.error_code == ErrorCode.FLOW_FAILED
    assert rig.outcomes(result) == {'pick': 'failed', 'place': 'skipped'}
    (row,) = [row for row in rig.system.rows(flow_id='late') if row.event == 'steering_answered']
    assert 'no usable edit within 6 s' in row.cause and row.data['skipped'] == ['place']


def test_killed_while_the_planner_thinks_it_is_asked_again_and_all_is_done_once(
    rig: Steered
) -> None:
    request = 'weave slow'
    rig.send(FLOW.replace('WORDS', request), 'yaml', flow_id='killed')
    rig.system.until(lambda: rig.asked(request), 40.0, 'the planner is asked')
    rig.system.until(lambda: [flow for flow in rig.said if flow.flow_id == 'killed'][-1].planning
                     == 'after pick: asking the planner, try 1 of 3', 10.0, 'it is published')
    rig.system.kill('action_lifecycle_node')
    rig.start()
    rig.until_answered()

    def end() -> Any:
        rows = rig.system.rows(flow_id='killed', kind='flow')
        return rows[-1] if rows[-1].final else None
    row = rig.system.until(end, 60.0, 'the flow ends')
    assert row.to_state == 'FINISH' and row.data['replaced'] == 1
    started = [row.action_id for row in rig.system.rows(flow_id='killed') if row.event == 'start']
    assert started == ['pick', 'wide', 'place']
    assert rig.notes('killed')[:3] == ['steering_asked', 'steering_asked', 'steering_answered']
    assert [entry['completed'] for entry in rig.asked(request)][:2] == [['pick'], ['pick']]


def test_a_person_finishes_a_flow_and_it_ends_so_after_kill_9(
    rig: Steered, tmp_path: Path
) -> None:
    rig.send(LONG, 'yaml', flow_id='left')
    rig.system.until_state('move', 'executing_motion')
    file = tmp_path / 'end.yaml'
    file.write_text('- finish: ""\n')
    refused = rig.system.shell('edit', 'left', str(file), '--actor', 'ann')
    assert refused.returncode == 2 and "'finish' takes a reason" in refused.stderr
    file.write_text('- finish: there are no more parts\n')
    edited = rig.system.shell('edit', 'left', str(file), '--actor', 'ann')
    assert edited.returncode == 0, edited.stderr
    rig.system.until_state('never', 'terminated')
    rig.system.kill('action_lifecycle_node')
    rig.start()
    rig.until_answered()
    rows = rig.system.until(lambda: [row for row in rig.system.rows(flow_id='left', kind='flow')
                                     if row.final], 60.0, 'the end of the flow')
    assert rows[0].to_state == 'FINISH' and rows[0].data['ended_by'] == {
        'verb': 'finish', 'reason': 'there are no more parts', 'author': 'ann'}
    ends = {row.action_id: (row.data['outcome'], row.cause, row.actor)
            for row in rig.system.rows(flow_id='left', kind='transition') if row.final}
    assert ends['move'][0] == 'succeeded'
    assert ends['never'] == ('skipped', 'there are no more parts', 'ann')


def test_requests_are_on_the_topic_of_flows(rig: Steered) -> None:
    result = rig.run('invalid invalid invalid', flow_id='never')
    assert result.error_code == ErrorCode.PLAN_FAILED
    rig.system.until(lambda: any(flow.flow_id == 'never' and flow.state == FlowStatus.FAIL
                                 for flow in rig.said), 20.0, 'the end of the request')
    said = [flow for flow in rig.said if flow.flow_id == 'never']
    assert {flow.stage for flow in said} == {'planning'}
    assert said[-1].error_code == ErrorCode.PLAN_FAILED and 'never.yaml:3:1' in said[-1].error_msg
    shown = rig.system.shell('status', '--json')
    assert 'never' in shown.stdout, shown
    assert 'never' in rig.system.shell('status').stdout
    events = [row.event for row in rig.system.rows(kind='plan', action_id='never')]
    assert events == ['requested', *['asked', 'answered', 'refused'] * 3, 'failed']
    assert rig.run('slow good', flow_id='later').error_code == ErrorCode.NONE
    rig.system.until(lambda: any(flow.flow_id == 'later' and flow.state == FlowStatus.FINISH
                                 for flow in rig.said), 20.0, 'the end of the flow')
    first, *_ = [flow for flow in rig.said if flow.flow_id == 'later']
    assert (first.state, first.stage) == (FlowStatus.START, 'planning')
    assert first.planning == 'asking the planner, try 1 of 3'


def test_a_planner_in_python_plans_and_replaces(rig: Steered) -> None:
    rig.restart('python:second_grasp')
    result = rig.run('any words', flow_id='by_python')
    assert result.error_code == ErrorCode.NONE, result.error_msg
    result = rig.run(FLOW, 'yaml', flow_id='woven_by_python')
    assert (result.error_code, result.state) == (ErrorCode.NONE, 'FINISH'), result.error_msg
    assert rig.outcomes(result) == REPLACED


def test_an_exception_or_silence_of_a_planner_in_python_delays_the_end_only(rig: Steered) -> None:
    rig.restart('python:broken')
    assert 'RuntimeError: no idea' in rig.run('words', flow_id='no_idea').error_msg
    result = rig.run(FLOW, 'yaml', flow_id='broken')
    assert rig.outcomes(result) == {'pick': 'failed', 'place': 'skipped'}
    refused = [row for row in rig.system.rows(flow_id='broken') if row.event == 'steering_refused']
    assert len(refused) == 3 and 'RuntimeError: no idea' in refused[0].cause
    rig.restart('python:silent', planner_timeout=3.0)
    for flow_id in ('silent1', 'silent2'):  # the first call still holds the planner's thread
        result = rig.run(FLOW, 'yaml', flow_id=flow_id)
        assert rig.outcomes(result) == {'pick': 'failed', 'place': 'skipped'}
