# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bridge records what the sensors said during each attempt, also over a kill -9."""

from __future__ import annotations

from pathlib import Path
import sqlite3

from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.traces import TraceError, TraceKey, TraceReader
from action_lifecycle.traces.store import TraceStore
from action_lifecycle_msgs.action import ConfirmOutcome, ExecuteMotion
from action_lifecycle_msgs.msg import Condition
from rclpy.action import ActionClient

from .bridge_rig import Rig

KEY = TraceKey('flow', 'grasp', 1)
HELD = Condition(name='confirm', expression='gap > least', hold=0.1, within=8.0)
STILL = Condition(name='stopped', expression='speed < 0.01', hold=0.1)


def motion(rig: Rig, **fields: object) -> ExecuteMotion.Goal:
    return rig.order({'command': {'position': 0.02, 'max_effort': 5.0}}, **{
        'flow_id': 'flow', 'action_id': 'grasp', 'attempt': 1, 'confirm': [HELD],
        'stopped': STILL, 'parameters_json': '{"least": 0.01}',
        'maintain': [Condition(name='maintain', expression='gap < 0.3', within=1.0)], **fields})


def question(after: float) -> ConfirmOutcome.Goal:
    return ConfirmOutcome.Goal(
        flow_id='flow', action_id='grasp', attempt=1, conditions=[HELD], after=to_time(after),
        parameters_json='{"least": 0.01}')


def recorded(rig: Rig, path: Path, **wanted: int) -> bool:
    """Whether the file has the trace with at least so many points of these facts."""
    try:
        with TraceReader(path) as reader:
            curves = reader.trace(KEY).curves
    except (TraceError, sqlite3.Error):
        return False
    return all(fact in curves and len(curves[fact].times) >= count
               for fact, count in wanted.items())


def test_motion_and_confirmation_leave_one_trace(tmp_path: Path) -> None:
    path = tmp_path / 'robot.traces'
    rig = Rig(tmp_path, trace_file=str(path))
    try:
        rig.gap = 0.0
        rig.start()
        rig.gripper.behaviour = 'wait'
        handle = rig.send(motion(rig))
        rig.until(lambda: recorded(rig, path, gap=10, speed=10))
        rig.gap = 0.02
        rig.gripper.let_go()
        ended = rig.result(handle)
        assert ended.outcome == 'executed'
        asked = rig.wait(rig.confirmation.send_goal_async(question(rig.now() - 0.01)))
        result = rig.result(asked)
        assert result.verdict == ConfirmOutcome.Result.CONFIRMED
        rig.until(lambda: TraceReader(path).trace(KEY).ended is not None)
    finally:
        rig.close()
    with TraceReader(path) as reader:
        assert reader.subjects() == [KEY]
        trace = reader.trace(KEY)
    assert {mark.name for mark in trace.marks} == {
        'motion_started', 'motion_ended', 'confirm_started'}
    assert set(trace.curves) == {'gap', 'speed'}
    values = trace.curves['gap'].values
    assert values[0] == 0.0 and values[-1] == 0.02
    assert {change.condition for change in trace.changes} == {'maintain', 'confirm'}
    (confirmation,) = trace.confirmations
    assert confirmation.verdict == 'confirmed' and confirmation.parameters == {'least': 0.01}
    fact = confirmation.evidence[0]['facts'][0]
    index = trace.curves['gap'].stamps.tolist().index(fact['stamp'])
    assert values[index] == fact['numbers'][0]  # the deciding sample is there


def test_the_trace_of_a_refused_confirmation_does_not_stay_open(tmp_path: Path) -> None:
    path = tmp_path / 'robot.traces'
    rig = Rig(tmp_path, trace_file=str(path))
    try:
        rig.start()
        goal = question(rig.now())
        goal.conditions[0] = Condition(expression='gap > least', hold=-1.0, within=8.0)
        result = rig.result(rig.wait(rig.confirmation.send_goal_async(goal)))
        assert 'hold -1.0' in result.error_msg
    finally:
        rig.close()
    with TraceReader(path) as reader:
        marks = reader.trace(KEY).marks
    assert [mark.name for mark in marks] == ['confirm_started', 'confirm_refused', 'cut']
    assert 'hold -1.0' in marks[1].detail


def test_trace_survives_a_kill_and_goes_on_with_the_motion(tmp_path: Path) -> None:
    path = tmp_path / 'robot.traces'
    rig = Rig(tmp_path, own_bridge=False)
    try:
        rig.gap = 0.02
        rig.gripper.behaviour = 'wait'
        rig.start_bridge(trace_file=path)
        rig.until_it_answers(rig.motion, ExecuteMotion.Goal())
        order = motion(rig)
        rig.send(order)
        rig.until(lambda: rig.gripper.goals)
        rig.until(lambda: recorded(rig, path, gap=20))
        assert rig.process is not None
        rig.process.kill()
        rig.process.wait()
        with TraceReader(path) as reader:
            before = reader.trace(KEY)
        assert before.ended is None and len(before.curves['gap'].times) >= 20
        rig.start_bridge(trace_file=path)
        second = ActionClient(rig.asker, ExecuteMotion, 'world_model_bridge/execute_motion')
        rig.until_it_answers(second, ExecuteMotion.Goal())
        order.resume = True
        followed = rig.wait(second.send_goal_async(order))
        rig.until(lambda: recorded(rig, path, gap=len(before.curves['gap'].times) + 10))
        rig.gripper.let_go()
        assert rig.wait(followed.get_result_async()).result.outcome == 'executed'
        second.destroy()
    finally:
        if rig.process is not None:
            rig.process.kill()
            rig.process.wait()
        rig.close()
    with TraceReader(path) as reader:
        trace = reader.trace(KEY)
    assert [mark.name for mark in trace.marks][:3] == ['motion_started', 'cut', 'motion_followed']
    times = trace.curves['gap'].times
    assert times[:len(before.curves['gap'].times)].tolist() == before.curves['gap'].times.tolist()


def test_file_that_is_no_trace_file_is_refused_at_configure(tmp_path: Path) -> None:
    path = tmp_path / 'robot.traces'
    path.write_text('not a database')
    rig = Rig(tmp_path, trace_file=str(path))
    try:
        assert not rig.bridge.start()
    finally:
        rig.close()


def test_file_of_another_bridge_is_refused_at_configure(tmp_path: Path) -> None:
    path = tmp_path / 'robot.traces'
    other = TraceStore(path)
    rig = Rig(tmp_path, trace_file=str(path))
    try:
        assert not rig.bridge.start()
    finally:
        rig.close()
        other.close()


def test_folder_of_the_file_is_created(tmp_path: Path) -> None:
    path = tmp_path / 'missing' / 'deep' / 'robot.traces'
    rig = Rig(tmp_path, trace_file=str(path))
    try:
        rig.start()
        assert path.exists()
    finally:
        rig.close()
