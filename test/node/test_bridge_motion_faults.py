# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""execute_motion when a server or a safety topic fails, or the bridge is deactivated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.msg import ErrorCode, SafetyState
from action_lifecycle_msgs.srv import ClearStop
from action_msgs.msg import GoalStatus
from control_msgs.action import GripperCommand
import pytest
from std_msgs.msg import Bool

from .bridge_rig import Gripper, Rig

OPEN = {'command': {'position': 0.05, 'max_effort': 10.0}}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    rig.gap = 0.02
    yield rig
    rig.close()


def test_a_server_that_goes_away_in_motion(own: Rig) -> None:
    own.start()
    own.gripper.behaviour = 'hang'
    handle = own.send(own.order(OPEN, stop_timeout=0.3))
    own.until(lambda: own.gripper.goals)
    # rclpy ends the process if a request of the result is on its way
    own.until(lambda: any(
        future._callbacks for future in own.gripper.server._result_futures.values()))
    own.gripper.destroy()
    result = own.result(handle)
    assert (result.error_code, result.stopped) == (ErrorCode.SERVER_VANISHED, False)


def test_a_server_that_never_answers(own: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('action_lifecycle.ros.calls.motion_client.ANSWER', 0.3)
    own.start()
    own.gripper.behaviour = 'never_answer'
    result = own.execute(OPEN)
    assert result.error_code == ErrorCode.GOAL_UNANSWERED
    own.gripper.behaviour = 'wait'
    own.gripper.let_go()  # accepts at last: it must not run on
    own.until(lambda: own.gripper.canceled)


@pytest.fixture
def other(own: Rig) -> Iterator[Gripper]:
    """Return a second server of the same name, which the bridge knows."""
    own.start()
    other = Gripper(own.robot)
    own.until(lambda: own.bridge.count_publishers('gripper/_action/feedback') == 2
              and own.bridge.count_services('gripper/_action/send_goal') == 2)
    yield other
    other.destroy()


def test_two_different_answers_to_one_goal(own: Rig, other: Gripper) -> None:
    other.behaviour = 'abort'
    assert own.execute(OPEN).error_code == ErrorCode.RESULT_TWICE


def test_a_motion_with_one_server_does_not_wait_for_a_second_result(
    own: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('action_lifecycle.ros.calls.motion_client.SECOND_RESULT', 3600.0)
    own.start()
    assert own.execute(OPEN).outcome == 'executed'


def test_another_result_after_the_end_of_a_motion_is_logged(
    own: Rig, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    own.start()
    server = own.gripper.server
    sent: list[Any] = []
    answer = server._send_result_response

    def send(header: Any, future: Any) -> None:
        sent.append(header)
        answer(header, future)

    monkeypatch.setattr(server, '_send_result_response', send)
    assert own.execute(OPEN).outcome == 'executed'
    server._handle.send_result_response(
        sent[0], GripperCommand.Impl.GetResultService.Response(status=GoalStatus.STATUS_ABORTED))
    said: list[str] = []
    own.until(lambda: said.append(capfd.readouterr().err) or any(
        'answered twice, after its motion had ended: first succeeded, then aborted' in text
        for text in said))


def test_no_goal_leaves_before_safety_topics_are_seen(own: Rig) -> None:
    own.beating = False
    assert own.bridge.start()
    own.until(own.motion.server_is_ready)
    own.until(lambda: own.safety)
    assert own.safety[-1].state == SafetyState.NOT_READY
    step = own.order(OPEN).steps[0]
    step.server_timeout = 0.2
    result = own.execute(step)
    assert result.error_code == ErrorCode.SAFETY_NOT_READY and not own.gripper.goals
    assert 'it has a publisher, but no message was received' in result.error_msg
    own.robot.destroy_publisher(own.estop)
    own.until(lambda: not own.bridge.count_publishers('/estop'))
    assert 'nobody publishes it' in own.execute(step).error_msg


@pytest.mark.parametrize('how', ['set', 'silent'])
def test_estop_stops_motions_and_stays_until_somebody_clears_it(own: Rig, how: str) -> None:
    own.start()
    own.gripper.behaviour = 'wait'
    handle = own.send(own.order(OPEN))
    own.until(lambda: own.gripper.goals)
    own.beating = False
    if how == 'set':
        own.estop.publish(Bool(data=True))
    result = own.result(handle)
    code = ErrorCode.ESTOP if how == 'set' else ErrorCode.SAFETY_STALE
    assert (result.error_code, result.stopped, own.gripper.canceled) == (code, True, 1)
    own.until(lambda: own.safety[-1].state == SafetyState.STOPPED)
    assert (own.safety[-1].error_code, own.safety[-1].topic) == (code, '/estop')
    for told in (result.error_msg, own.safety[-1].reason, own.safety[-1].cause):
        assert "topic '/estop'" in told
    assert 'latched: check the robot, then call clear_stop with' in result.error_msg

    stamp, own.beating = own.safety[-1].stamp, True
    own.until(lambda: not own.safety[-1].cause)  # good again, and still latched
    assert (own.safety[-1].state, own.safety[-1].stamp) == (SafetyState.STOPPED, stamp)
    own.gripper.behaviour = 'succeed'
    assert own.execute(OPEN).error_code == code
    assert own.call(own.clear_client, ClearStop.Request()).error_code == ErrorCode.INVALID_REQUEST
    own.clear_when_possible(own.clear_client)
    assert own.execute(OPEN).outcome == 'executed'


def test_a_paused_simulation_holds_up_neither_cancel_nor_estop(tmp_path: Path) -> None:
    from action_lifecycle.ros.conversions.basic import to_time
    from rosgraph_msgs.msg import Clock
    rig = Rig(tmp_path, use_sim_time=True)
    clock = rig.robot.create_publisher(Clock, '/clock', 10)
    rig.until(clock.get_subscription_count)
    rig.start()
    clock.publish(Clock(clock=to_time(100.0)))  # once, and never again
    rig.until(lambda: rig.bridge.now() > 0.0)
    rig.gripper.behaviour = 'wait'
    handle = rig.send(rig.order(OPEN))
    rig.until(lambda: rig.gripper.goals)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle)
    assert (result.error_code, result.stopped) == (ErrorCode.CANCELED, True)
    rig.gripper.let_go()
    rig.gripper.behaviour = 'hang'  # gives no word; its stop is waited for in steady time
    handle = rig.send(rig.order(OPEN, stop_timeout=0.4))
    rig.until(lambda: len(rig.gripper.goals) == 2)
    rig.beating = False
    result = rig.result(handle)
    assert (result.error_code, result.stopped) == (ErrorCode.STOP_UNCONFIRMED, False)
    assert rig.safety[-1].error_code == ErrorCode.SAFETY_STALE
    rig.close()


def test_deactivation_stops_what_moves_and_refuses_what_comes(own: Rig) -> None:
    own.start()
    own.gripper.behaviour = 'wait'
    handle = own.send(own.order(OPEN))
    own.until(lambda: own.gripper.goals)
    own.bridge.trigger_deactivate()
    result = own.result(handle)
    assert (result.error_code, result.stopped) == (ErrorCode.INTERRUPTED, True)
    refused = own.wait(own.motion.send_goal_async(own.order(OPEN)))
    assert not refused.accepted
    own.bridge.trigger_cleanup()
    own.safety.clear()
    own.bridge.trigger_configure()
    own.bridge.trigger_activate()
    own.gripper.behaviour = 'succeed'
    own.until(lambda: own.safety and own.safety[-1].state == SafetyState.READY)
    own.until(own.motion.server_is_ready)
    assert own.execute(OPEN).outcome == 'executed'
