# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What an action may not do to a robot, with action node and bridge, over DDS, on one journal.

Nodes that are killed are in test_kill_matrix.py and test_flow_on_cell.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import time
from typing import Any

from action_lifecycle.journal import JournalReader, Row
from action_lifecycle.nodes.action.node import ActionLifecycleNode
from action_lifecycle.ros.calls.goal_client import GoalClient
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ErrorCode, SafetyState
from action_lifecycle_msgs.srv import ClearStop
import pytest
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_msgs.msg import Bool

from .bridge_rig import Rig

FLOW = """
flow: close
actions:
  close:
    resources: [gripper]
    motion:
      server: gripper
      type: control_msgs/action/GripperCommand
      server_timeout: 4.0
      goal: {command: {position: POSITION, max_effort: 10.0}}
    maintain: {condition: MAINTAIN, within: 1.0}
    confirm: {condition: gap > 0.01, hold: 0.1, within: 4.0}
"""
FACTS = """
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 4.0}
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=gripper]',
        max_age: 4.0, unit: m}
  present: {topic: present, type: std_msgs/msg/Bool, field: data, max_age: .inf}
limits:
  /gripper: {command.position: [0, 0.5]}
"""


class Stack(Rig):
    """The rig with an action node."""

    def __init__(self, folder: Path, facts: str = FACTS, **how: Any) -> None:
        super().__init__(folder, facts, **how)
        self.path = folder / 'journal'
        self.lifecycle = ActionLifecycleNode(context=self.context, parameter_overrides=[
            Parameter('journal_path', value=str(self.path))])
        self.nodes.insert(0, self.lifecycle)
        self.executor.add_node(self.lifecycle)
        self.flows = ActionClient(self.asker, ExecuteFlow, 'action_lifecycle/execute_flow')
        self.clear = self.asker.create_client(ClearStop, 'action_lifecycle/clear_stop')
        self.gap = 0.02

    def start(self) -> None:
        super().start()
        assert self.lifecycle.start()
        self.until(self.flows.server_is_ready)
        self.until(lambda: self.lifecycle.world.safety_known)

    def submit(self, *, position: str = '0.01', maintain: str = 'gap > -1') -> Any:
        """Start the flow; returns the handle of its goal."""
        return self.submit_text(FLOW.replace('POSITION', position).replace('MAINTAIN', maintain))

    def submit_text(self, text: str) -> Any:
        """Start a flow; returns the handle of its goal."""
        handle = self.wait(self.flows.send_goal_async(ExecuteFlow.Goal(flow=text)))
        assert handle.accepted
        return handle

    def begin(self, **fields: str) -> Any:
        """Start the flow; returns the future of its result."""
        return self.submit(**fields).get_result_async()

    def end(self, future: Any) -> ExecuteFlow.Result:
        return self.wait(future, 15.0).result

    def rows(self) -> list[Row]:
        with JournalReader(self.path) as journal:
            return list(journal.rows(action_id='close', kind='transition'))

    def error(self) -> Row:
        """Return the row of the change to error; the action was never completed."""
        rows = self.rows()
        assert 'completed' not in [row.to_state for row in rows]
        assert rows[-1].data['outcome'] != 'succeeded'
        return next(row for row in reversed(rows) if row.to_state == 'error')

    def close(self) -> None:
        self.lifecycle.trigger_shutdown()
        super().close()


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    stack = Stack(tmp_path)
    yield stack
    stack.close()


def test_what_the_controller_reports_and_the_sensors_deny_is_never_completed(
    stack: Stack,
) -> None:
    stack.start()
    stack.gap = 0.001
    result = stack.end(stack.begin())
    assert result.state == 'FAIL' and stack.gripper.goals
    row = stack.error()
    assert row.data['error_code'] == 'REFUTED'
    evidence = row.data['evidence'][0]
    assert (evidence['expression'], evidence['verdict']) == ('gap > 0.01', 'false')
    assert evidence['facts'][0]['numbers'] == [0.001]
    said = [row.data.get('controller_said') for row in stack.rows()]
    assert 'succeeded' in said


@pytest.mark.parametrize('how', ['stamped before', 'silent'])
def test_samples_from_before_the_end_of_the_motion_do_not_complete_it(
    stack: Stack, how: str,
) -> None:
    stack.start()
    stack.gripper.behaviour = 'wait'
    future = stack.begin()
    stack.until(lambda: stack.gripper.goals)
    stack.gap = None
    old = stack.now()
    if how == 'stamped before':
        stack.robot.create_timer(0.02, lambda: stack.publish_gap(0.05, stamp=old))
    stack.spin(0.1)
    stack.gripper.let_go()
    assert stack.end(future).state == 'FAIL'
    assert stack.error().data['error_code'] in ('CONFIRM_STALE', 'CONFIRM_TIMEOUT')


def test_a_maintained_condition_that_breaks_cancels_at_that_sample(stack: Stack) -> None:
    stack.start()
    stack.gripper.behaviour = 'wait'
    stack.gap = 0.02
    stack.gripper.let_go()
    stack.result(stack.confirm('gap > 0.01', after=stack.now()))
    before, sent = stack.gripper.canceled, len(stack.gripper.goals)
    future = stack.begin(maintain='gap > 0.01')
    stack.until(lambda: len(stack.gripper.goals) > sent)
    stack.gap = None
    stack.publish_gap(0.001)  # the only one: nothing else may tell
    stack.until(lambda: stack.gripper.canceled > before)
    assert stack.end(future).state == 'FAIL'
    row = stack.error()
    assert row.data['error_code'] == 'MAINTAIN_VIOLATED'
    assert 'gap > 0.01 is false (gap 0.001 m)' in row.data['error_msg']


@pytest.mark.parametrize('how', ['set', 'silent'])
def test_no_goal_leaves_while_the_estop_is_set_or_silent(stack: Stack, how: str) -> None:
    stack.start()
    assert stack.execute({'command': {'position': 0.01}}).outcome == 'executed'
    stack.gripper.goals.clear()
    stack.beating = False
    if how == 'set':
        stack.estop.publish(Bool(data=True))
    stack.until(lambda: stack.safety[-1].state == SafetyState.STOPPED)
    assert stack.end(stack.begin()).state == 'FAIL' and not stack.gripper.goals
    assert stack.error().data['error_code'] == {'set': 'ESTOP', 'silent': 'SAFETY_STALE'}[how]
    refused = stack.call(stack.clear, ClearStop.Request(actor='bob'))
    assert not refused.accepted and refused.error_code == ErrorCode.NOT_ALLOWED
    stack.beating = True
    stack.spin(0.2)  # good again, and still latched
    assert stack.end(stack.begin()).state == 'FAIL' and not stack.gripper.goals
    nobody = stack.call(stack.clear, ClearStop.Request(reason='looked'))
    assert not nobody.accepted and nobody.error_code == ErrorCode.INVALID_REQUEST
    unknown = stack.call(stack.clear, ClearStop.Request(actor='anna', resources=['arm']))
    assert not unknown.accepted and "'arm' is not locked (locked: none)" in unknown.error_msg
    stack.clear_when_possible(stack.clear)
    assert stack.end(stack.begin()).state == 'FINISH' and len(stack.gripper.goals) == 1
    with JournalReader(stack.path) as journal:
        notes = [(row.event, row.actor) for row in journal.rows()
                 if row.event.startswith('clear_stop')]
    assert notes[:2] == [('clear_stop', 'bob'), ('clear_stop_refused', 'bob')]
    assert notes[-1] == ('clear_stop', 'anna')


def test_only_the_stop_that_was_seen_is_cleared(stack: Stack) -> None:
    stack.start()
    stack.until(lambda: stack.safety[-1].state == SafetyState.READY)
    seen = []
    for _ in range(2):
        stack.beating = False
        stack.estop.publish(Bool(data=True))
        stack.until(lambda: stack.safety[-1].state == SafetyState.STOPPED)
        seen.append(stack.safety[-1].stamp)
        stack.beating = True
        if len(seen) == 1:
            stack.clear_when_possible(stack.clear)
            stack.until(lambda: stack.safety[-1].state == SafetyState.READY)
    late = stack.call(stack.clear, ClearStop.Request(actor='anna', seen=seen[0]))
    assert not late.accepted and late.error_code == ErrorCode.NOT_ALLOWED
    assert 'there is a newer stop than what you saw' in late.error_msg
    assert "'/estop' says stop" in late.error_msg
    stack.lifecycle.orchestrator.resources.lock_all({'arm': 'locked since'})

    def cleared() -> bool:
        answer = stack.call(stack.clear, ClearStop.Request(actor='anna', seen=seen[1]))
        assert 'newer' not in answer.error_msg
        return bool(answer.accepted)
    stack.until(cleared)
    stack.until(lambda: stack.safety[-1].state == SafetyState.READY)
    assert list(stack.lifecycle.orchestrator.resources.locked) == ['arm']  # was not named


def test_a_flow_waits_for_a_silent_estop_before_anything_has_moved(stack: Stack) -> None:
    stack.start()
    stack.beating = False
    stack.until(lambda: stack.safety[-1].state == SafetyState.NOT_READY)
    future = stack.begin()
    stack.spin(1.0)
    assert not future.done() and not stack.gripper.goals
    stack.beating = True
    assert stack.end(future).state == 'FINISH' and len(stack.gripper.goals) == 1


def test_nobody_clears_a_stop_while_the_bridge_is_away(stack: Stack) -> None:
    assert stack.lifecycle.start()
    start = time.monotonic()
    answer = stack.call(stack.clear, ClearStop.Request(actor='anna'))
    assert answer.error_code == ErrorCode.NOT_READY and not answer.accepted
    assert time.monotonic() - start < 8.0


@pytest.mark.parametrize(('position', 'words'), [
    ('.nan', 'goal.command.position'), ('-.inf', 'goal.command.position'),
    ('[1]', 'goal.command.position: expected a number'),
    ("{expr: 'gap * 1000'}", 'goal.command.position: 20 is out of its limits, 0 to 0.5'),
    ("{expr: 'gap / 0'}", 'goal.command.position'),
    ('{fact: present}', "goal.command.position: 'present' is a boolean: expected a number"),
])
def test_a_goal_that_is_no_number_or_beyond_its_limits_is_refused_by_its_field(
    stack: Stack, position: str, words: str,
) -> None:
    stack.start()
    result = stack.end(stack.begin(position=position))
    assert result.state != 'FINISH' and not stack.gripper.goals
    told = result.error_msg or stack.error().data['error_msg']
    assert words in told


@pytest.mark.parametrize('canceled', [False, True])
def test_a_motion_whose_acceptance_does_not_reach_the_action_node_is_known_by_its_feedback(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, canceled: bool
) -> None:
    stack.start()
    send, lost = GoalClient.send, []

    def lose(client: GoalClient, *arguments: Any) -> Future:
        answer = send(client, *arguments)
        if client is stack.lifecycle.world.motion and not lost:
            lost.append(answer)
            return Future()
        return answer

    monkeypatch.setattr(GoalClient, 'send', lose)
    if canceled:
        stack.gripper.behaviour = 'wait'
        handle = stack.submit()
        stack.until(lambda: stack.gripper.goals)
        stack.wait(handle.cancel_goal_async())
        stack.until(lambda: stack.gripper.canceled)
        assert stack.end(handle.get_result_async()).state == 'FAIL'
    else:
        assert stack.end(stack.begin()).state == 'FINISH'
    assert len(lost) == len(stack.gripper.goals) == 1
