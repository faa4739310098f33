# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A running flow is edited by the service, and goes on after kill -9 with its edits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.srv import EditFlow
import pytest

from .system import System

FLOW = """\
flow: move
parameters: {x: {default: 0.3}}
defaults: {resources: [arm], stopped: {condition: speed < 0.01, hold: 0.1}}
actions:
  look: {confirm: 'tool[0] > -9'}
  move:
    after: {look: {condition: "outcome == 'succeeded' and attempts == 1 and tool[0] < 9"}}
    motion:
      server: arm_controller/follow_joint_trajectory
      type: control_msgs/action/FollowJointTrajectory
      goal:
        trajectory:
          joint_names: [x_joint]
          points: [{positions: ['{{ x }}'], time_from_start: {sec: 8}}]
    confirm: {condition: 'abs(tool[0] - x) < 0.01', hold: 0.2, within: 20.0}
  never: {after: {look: {condition: 'tool[0] > 9'}}, confirm: 'tool[0] > -9'}
"""
BACK = """\
- add:
    back:
      after: [move]
      parameters: {to: '{{ results.move.facts.tool[0] - 0.1 }}'}
      motion:
        server: arm_controller/follow_joint_trajectory
        type: control_msgs/action/FollowJointTrajectory
        server_timeout: 0.5
        goal:
          trajectory:
            joint_names: [x_joint]
            points: [{positions: ['{{ to }}'], time_from_start: {sec: 1}}]
      confirm: {condition: 'abs(tool[0] - to) < 0.01', hold: 0.2, within: 20.0}
    look_again: {after: [back], confirm: 'tool[0] > -9'}
"""


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    system = System(tmp_path)
    system.client(EditFlow, 'action_lifecycle/edit_flow')
    yield system
    system.close()


def edit(system: System, flow_id: str, text: str) -> Any:
    client = system.client(EditFlow, 'action_lifecycle/edit_flow')
    system.until(client.service_is_ready, 40.0, 'edit_flow')
    answer = client.call_async(EditFlow.Request(
        flow_id=flow_id, edit_yaml=text, author='ann', reason='once more'))
    system.until(answer.done, 15, 'an answer of edit_flow')
    return answer.result()


def test_edits_are_checked_by_the_robot_and_survive_kill_9(
    system: System, tmp_path: Path
) -> None:
    system.start_all()
    path = tmp_path / 'flow.yaml'
    path.write_text(FLOW)
    run = system.run(path)
    system.until(lambda: run.poll() is not None or system.rows(kind='flow'), 40, 'the flow')
    assert run.poll() is None, run.communicate()
    system.until_state('move', 'executing_motion')
    flow_id = system.rows(kind='flow')[0].flow_id
    system.until(lambda: system.motions.get('arm_controller'), 40.0, 'the arm moves')

    refused = edit(system, flow_id, BACK.replace('arm_controller/', 'arm_controler/'))
    assert not refused.accepted and refused.error_code == 505
    assert "edit:6:9: action 'back', server: no action server" in refused.error_msg
    refused = edit(system, flow_id, BACK.replace('tool[0] - to', 'tol[0] - to'))
    assert "unknown name 'tol'; did you mean 'tool'?" in refused.error_msg, refused.error_msg
    assert not any(row.event == 'edited' for row in system.rows(flow_id=flow_id))

    accepted = edit(system, flow_id, BACK)
    assert accepted.accepted, accepted.error_msg
    row = next(row for row in system.rows(flow_id=flow_id) if row.seq == accepted.seq)
    assert (row.event, row.actor, row.cause) == ('edited', 'ann', 'once more')

    system.kill('action_lifecycle_node')
    run.kill()
    run.wait()
    system.start('action_lifecycle_node')
    system.until_state('look_again', 'terminated')
    outcomes = {row.action_id: row.data['outcome'] for row in system.rows(kind='transition')
                if row.to_state == 'terminated'}
    assert outcomes == {'look': 'succeeded', 'move': 'succeeded', 'never': 'skipped',
                        'back': 'succeeded', 'look_again': 'succeeded'}
    system.until(lambda: system.motions['arm_controller'] >= 2, 40.0, 'the count of motions')
    assert system.motions['arm_controller'] == 2
    last = system.until(lambda: [row for row in system.rows(flow_id=flow_id, kind='flow')
                                 if row.final], 10, 'the end of the flow')[0]
    metrics = last.data['metrics']
    assert (metrics['longest_path'], metrics['work'], metrics['width']) == (4, 5, 2)
    gone = edit(system, flow_id, '- clear: true')
    assert not gone.accepted
