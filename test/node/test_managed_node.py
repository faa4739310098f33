# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The base of the managed nodes: gates, faults, names, timers and diagnostics."""

from __future__ import annotations

import time
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.interfaces.qos import state_qos
from action_lifecycle.ros.node.diagnostics import Health, OK
from action_lifecycle.ros.node.name_claim import WAITING
from action_lifecycle.ros.node.timers import Alarm, sleep, Timeout
from action_lifecycle.ros.node.transitions import FAILURE, SUCCESS
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import ErrorCode, SafetyState
from action_lifecycle_msgs.srv import ClearStop
from action_msgs.msg import GoalStatus, GoalStatusArray
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import State, Transition
import pytest
from rclpy.qos import qos_profile_action_status_default
from rosgraph_msgs.msg import Clock

from .ending import destroy
from .managed_rig import Example, Rig, rig

__all__ = ['rig']  # a fixture


def test_a_fault_in_configure_leaves_it_unconfigured_with_nothing_created(rig: Rig) -> None:
    before = _entities(rig.node)
    rig.node.fault = LifecycleError('no such file')
    assert not rig.transition(Transition.TRANSITION_CONFIGURE)
    assert rig.state == State.PRIMARY_STATE_UNCONFIGURED and _entities(rig.node) == before
    rig.node.fault = ZeroDivisionError()  # a fault of the software, not of what it was given
    assert not rig.transition(Transition.TRANSITION_CONFIGURE)
    assert rig.state == State.PRIMARY_STATE_UNCONFIGURED and _entities(rig.node) == before
    rig.node.fault = None
    assert rig.transition(Transition.TRANSITION_CONFIGURE)
    assert rig.state == State.PRIMARY_STATE_INACTIVE


def _entities(node: Any) -> tuple[int, ...]:
    return tuple(len(list(entities)) for entities in (
        node.publishers, node.subscriptions, node.services, node.timers, node.clients))


def test_services_and_actions_are_closed_while_it_is_not_active(rig: Rig) -> None:
    rig.transition(Transition.TRANSITION_CONFIGURE)
    answer = rig.call(rig.served, ClearStop.Request())
    assert (answer.accepted, answer.error_code) == (False, ErrorCode.NOT_READY)
    assert 'example is not active' in answer.error_msg
    rig.until(rig.action.server_is_ready)
    assert not rig.wait(rig.action.send_goal_async(ConfirmOutcome.Goal())).accepted
    rig.transition(Transition.TRANSITION_ACTIVATE)
    assert rig.call(rig.served, ClearStop.Request()).accepted
    assert rig.wait(rig.action.send_goal_async(ConfirmOutcome.Goal())).accepted
    rig.transition(Transition.TRANSITION_DEACTIVATE)
    assert not rig.call(rig.served, ClearStop.Request()).accepted
    assert rig.node.calls == ['activate', 'halt', 'deactivate']


@pytest.mark.long
def test_ended_goals_are_forgotten_so_that_the_status_stays_small(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('action_lifecycle.ros.node.goal_server.RESULT_TIMEOUT', 1)
    rig.node.start()
    sizes: list[int] = []
    rig.other.create_subscription(
        GoalStatusArray, 'example/act/_action/status',
        lambda message: sizes.append(len(message.status_list)),
        qos_profile_action_status_default)
    rig.until(rig.action.server_is_ready)

    def run_one() -> Any:
        handle = rig.wait(rig.action.send_goal_async(ConfirmOutcome.Goal()))
        rig.wait(handle.get_result_async())
        return handle

    first = run_one()
    for _ in range(300):
        run_one()
        pause = time.monotonic() + 0.01  # so that at most 100 goals end in a second
        rig.until(lambda until=pause: time.monotonic() > until)
    assert max(sizes) < 200
    quiet = time.monotonic() + 1.5
    rig.until(lambda: time.monotonic() > quiet)
    sizes.clear()
    run_one()
    rig.until(lambda: sizes and max(sizes) < 10)
    answer = rig.wait(first.get_result_async())
    assert answer.status == GoalStatus.STATUS_UNKNOWN


def test_a_node_of_its_name_is_configured_only_when_it_is_cleaned_up(rig: Rig) -> None:
    assert rig.node.trigger_configure() == SUCCESS
    nodes = same, other = [
        Example(context=rig.context, namespace=name) for name in ('', 'elsewhere')]
    try:
        for _ in range(WAITING + 10):  # more often than the pid can be told
            assert same.trigger_configure() == FAILURE
        assert other.trigger_configure() == SUCCESS
        assert rig.node.trigger_cleanup() == SUCCESS
        assert same.trigger_configure() == SUCCESS
        assert rig.node.trigger_configure() == FAILURE
    finally:
        destroy(*nodes)


def test_publishers_publish_only_while_it_is_active(rig: Rig) -> None:
    told: list[Any] = []
    rig.other.create_subscription(SafetyState, 'example/state', told.append, state_qos())
    rig.transition(Transition.TRANSITION_CONFIGURE)
    rig.until(lambda: rig.node.publisher.get_subscription_count())
    rig.node.publisher.publish(SafetyState(reason='early'))
    rig.transition(Transition.TRANSITION_ACTIVATE)
    rig.node.publisher.publish(SafetyState(reason='active'))
    rig.until(lambda: told)
    assert [message.reason for message in told] == ['active']


def test_what_a_callback_raises_is_answered_and_does_not_end_the_process(rig: Rig) -> None:
    rig.node.start()
    answer = rig.call(rig.served, ClearStop.Request(actor='nobody'))
    assert (answer.error_code, answer.error_msg) == (
        ErrorCode.INVALID_REQUEST, 'nobody is not known')
    assert rig.call(rig.served, ClearStop.Request(actor='bug')).error_code == ErrorCode.INTERNAL
    rig.until(rig.action.server_is_ready)
    rig.node.fault = ZeroDivisionError('bug')
    handle = rig.wait(rig.action.send_goal_async(ConfirmOutcome.Goal()))
    result = rig.wait(handle.get_result_async()).result
    assert result.error_code == ErrorCode.INTERNAL and 'bug' in result.error_msg
    assert rig.call(rig.served, ClearStop.Request()).accepted


def test_cleanup_is_refused_while_something_is_being_stopped(rig: Rig) -> None:
    rig.node.start()
    rig.node.still_busy = True
    assert rig.transition(Transition.TRANSITION_DEACTIVATE)
    assert not rig.transition(Transition.TRANSITION_CLEANUP)
    assert rig.state == State.PRIMARY_STATE_INACTIVE
    rig.node.still_busy = False
    assert rig.transition(Transition.TRANSITION_CLEANUP)
    assert rig.state == State.PRIMARY_STATE_UNCONFIGURED


def test_many_cycles_leave_nothing_behind(rig: Rig) -> None:
    rig.node.start()
    inside = _entities(rig.node)
    for _ in range(10):
        for number in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP,
                       Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            assert rig.transition(number)
    assert _entities(rig.node) == inside
    assert rig.call(rig.served, ClearStop.Request()).accepted
    rig.until(rig.action.server_is_ready)
    assert rig.wait(rig.action.send_goal_async(ConfirmOutcome.Goal())).accepted


def test_timeouts_come_in_order_and_not_when_they_are_canceled(rig: Rig) -> None:
    order: list[int] = []
    queue = rig.node.timer_queue
    begin = queue.now()  # of all: this loop may be held up for longer than they differ
    timeouts = [queue.at(begin + delay, lambda number=number: order.append(number))
                for number, delay in enumerate((0.15, 0.05, 0.1, 0.2))]
    timeouts[2].cancel()

    def bug() -> None:
        raise ZeroDivisionError
    queue.at(begin + 0.08, bug)
    rig.until(lambda: len(order) == 3)
    assert order == [1, 0, 3]


def test_an_alarm_and_a_delay_in_ros_time_survive_a_jump_back() -> None:
    rig = Rig(use_sim_time=True)
    clock = rig.other.create_publisher(Clock, '/clock', 10)
    rig.until(lambda: clock.get_subscription_count())

    def set_clock(seconds: float) -> None:
        clock.publish(Clock(clock=to_time(seconds)))
        rig.until(lambda: abs(rig.node.now() - seconds) < 1e-3)

    set_clock(100.0)
    rung: list[float] = []
    late: list[float] = []
    alarm = Alarm(rig.node, lambda: rung.append(rig.node.now()), ros_time=True)
    alarm.set(101.0)
    Timeout(rig.node, 2.0, lambda: late.append(rig.node.now()), ros_time=True)
    set_clock(101.5)
    rig.until(lambda: rung)
    set_clock(10.0)  # the simulation was reset, half a second before the delay is through
    rig.until(lambda: len(rung) == 2)  # the alarm's owner is told
    assert not late
    set_clock(10.6)
    rig.until(lambda: late)
    assert late == [pytest.approx(10.6)]
    rig.close()


def test_diagnostics_are_asked_for_while_somebody_listens(rig: Rig) -> None:
    asked: list[float] = []

    def ask() -> Health:
        asked.append(time.monotonic())
        return Health(OK, 'fine')

    rig.node.start()
    rig.node.add_diagnostics('asked', ask)
    rig.wait(sleep(rig.node, 2.2))  # two periods
    assert not asked
    health: list[Any] = []
    rig.other.create_subscription(DiagnosticArray, '/diagnostics', health.append, 10)
    rig.until(lambda: any(status.name == 'example: asked' and status.message == 'fine'
                          for array in health for status in array.status))
    assert asked
