# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The base of the managed nodes: gates, faults, timers, the executor and what holds it."""

from __future__ import annotations

from collections.abc import Iterator
import inspect
import logging
import os
import re
import time
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.nodes.shared.ros_log import log_to
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.interfaces.qos import state_qos
from action_lifecycle.ros.node.diagnostics import Health, OK
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle.ros.node.lifecycle_node import ManagedNode
from action_lifecycle.ros.node.name_claim import WAITING
from action_lifecycle.ros.node.timers import Alarm, sleep, Timeout
from action_lifecycle.ros.node.transitions import FAILURE, SUCCESS
from action_lifecycle.ros.node.watchdog import Watchdog
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import ErrorCode, SafetyState
from action_lifecycle_msgs.srv import ClearStop
from action_msgs.msg import GoalStatus, GoalStatusArray
from diagnostic_msgs.msg import DiagnosticArray
from isolation import domain_id
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
import pytest
from rcl_interfaces.msg import Log
import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, qos_profile_action_status_default, QoSProfile
from rosgraph_msgs.msg import Clock

from .ending import destroy


class Example(ManagedNode):
    """A node with one of each; what goes wrong is set by the test."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('example', **kwargs)
        self.fault: Exception | None = None
        self.still_busy = False
        self.calls: list[str] = []

    def configure(self) -> None:
        self.claim_name()
        self.publisher = self.add_publisher(SafetyState, '~/state', state_qos())
        self.add_service(ClearStop, '~/serve', self.serve)
        self.add_action_server(ConfirmOutcome, '~/act', self.act)
        self.add_timer(0.01, lambda: None)
        if self.fault is not None:
            raise self.fault

    def activate(self) -> None:
        self.calls.append('activate')

    def halt(self) -> None:
        self.calls.append('halt')

    def busy(self) -> bool:
        return self.still_busy

    def deactivate(self) -> None:
        self.calls.append('deactivate')

    def cleanup(self) -> None:
        self.calls.append('cleanup')

    def serve(self, request: Any, response: Any) -> Any:
        if request.actor == 'nobody':
            raise LifecycleError('nobody is not known')
        if request.actor == 'bug':
            raise ZeroDivisionError
        response.accepted = True
        return response

    async def act(self, handle: Any) -> Any:
        if self.fault is not None:
            raise self.fault
        handle.succeed()
        return ConfirmOutcome.Result(verdict=1)


class Rig:

    def __init__(self, **parameters: Any) -> None:
        os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor(context=self.context)
        self.node = Example(context=self.context, parameter_overrides=[
            Parameter(name, value=value) for name, value in parameters.items()])
        self.other = rclpy.create_node('other', context=self.context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.other)
        self.change = self.other.create_client(ChangeState, 'example/change_state')
        self.get = self.other.create_client(GetState, 'example/get_state')
        self.served = self.other.create_client(ClearStop, 'example/serve')
        self.action = ActionClient(self.other, ConfirmOutcome, 'example/act')

    def until(self, condition: Any, timeout: float = 10.0) -> None:
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, 'did not happen in time'
            self.executor.spin_once(timeout_sec=0.05)

    def wait(self, future: Any) -> Any:
        self.until(future.done)
        return future.result()

    def call(self, client: Any, request: Any) -> Any:
        self.until(client.service_is_ready)
        return self.wait(client.call_async(request))

    def transition(self, number: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self.call(self.change, request).success)

    @property
    def state(self) -> int:
        return int(self.call(self.get, GetState.Request()).current_state.id)

    def close(self) -> None:
        self.executor.shutdown()
        destroy(self.node, self.other)
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


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
    monkeypatch.setattr('action_lifecycle.ros.node.lifecycle_node.RESULT_TIMEOUT', 1)
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


@pytest.mark.parametrize(('version', 'choice', 'expected'), [
    ((7, 1, 6), 'auto', 'SingleThreadedExecutor'), ((7, 1, 11), 'auto', 'EventsExecutor'),
    ((7, 1, 11), 'single_threaded', 'SingleThreadedExecutor'),
    ((7, 1, 6), 'events', 'EventsExecutor'), ((), 'auto', 'SingleThreadedExecutor'),
    ((8, 0, 0), 'auto', 'SingleThreadedExecutor'), ((9, 1, 2), 'auto', 'SingleThreadedExecutor'),
    ((9, 1, 4), 'auto', 'EventsExecutor'), ((10, 0, 4), 'auto', 'EventsExecutor')])
def test_the_executor_is_chosen_by_the_version_of_rclpy(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, version: Any, choice: str, expected: str
) -> None:
    monkeypatch.setattr('action_lifecycle.ros.node.executor.rclpy_version', lambda: version)
    assert type(make_executor(choice, rig.context)).__name__ == expected


def test_what_holds_the_executor_is_told_by_name_once_and_counted(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else holds the executor, on a machine that is busy, is counted and told of too."""
    told: list[str] = []
    monkeypatch.setattr(rig.node.watchdog, '_log', told.append)
    rig.node.start()
    ran: list[float] = []

    def slow() -> None:
        time.sleep(0.03)
        ran.append(time.monotonic())

    for _ in range(3):
        Timeout(rig.node, 0.0, slow)
    rig.until(lambda: len(ran) == 3)
    assert rig.node.watchdog.count >= 3
    (took,) = (found for text in told
               if (found := re.search(r'slow took (\d+) ms, in which the node did', text)))
    assert int(took[1]) >= 30
    health: list[Any] = []
    rig.node.add_timer(0.1, slow)  # again and again: the slowest is told, it may be another once
    rig.other.create_subscription(DiagnosticArray, '/diagnostics', health.append, 10)
    rig.until(lambda: any('slow took' in status.message for array in health
                          for status in array.status if status.name == 'example: executor'))


def test_what_takes_long_is_a_warning_only_if_people_may_notice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([0.03, 1.0, 1.25, 2.0, 2.015])
    monkeypatch.setattr('action_lifecycle.ros.node.watchdog.now', lambda: next(times))
    told: list[str] = []
    warned: list[str] = []
    dog = Watchdog(told.append, warn=warned.append)
    dog.ended('topic /scan', 0.0)
    assert told == ['topic /scan took 30 ms, in which the node did nothing else']
    dog.ended('service ~/check', next(times))
    assert warned == ['service ~/check took 250 ms, in which the node did nothing else']
    dog.ended('topic /scan', next(times))
    assert (dog.count, len(told)) == (2, 1)


def test_what_takes_long_is_told_and_warned_of_with_debug_messages_too() -> None:
    logger = rclpy.logging.get_logger('watched')
    logger.set_level(rclpy.logging.LoggingSeverity.DEBUG)
    for took in (0.03, 1.0, 0.03):
        Watchdog(logger.debug, warn=logger.warning).ended('work', time.perf_counter() - took)


def test_a_callback_is_called_what_people_know_it_by(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(rig.node.watchdog, '_log', told.append)
    monkeypatch.setattr(rig.node.watchdog, '_warn', told.append)
    rig.node.guarded(lambda: time.sleep(0.03), what='answer of action /arm/move')()
    rig.node.guarded(lambda: time.sleep(0.03))()
    assert [text.partition(' took ')[0] for text in told] == [
        'answer of action /arm/move', 'work of test_a_callback_is_called_what_people_know_it_by']


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


def test_lines_of_the_log_have_their_place_and_no_source_file_is_read_for_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    rig.other.create_subscription(
        Log, '/rosout', found.append, QoSProfile(
            depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    log = rig.node.get_logger()

    def repeated(word: str) -> None:
        for _ in range(3):
            log.info(f'{word} one', once=True)
            log.info(f'{word} other', skip_first=True)

    def plain() -> None:
        log.info('plain')
        log.debug('not shown')
        log.error('bad')

    repeated('repeated')
    with monkeypatch.context() as patched:
        patched.setattr(inspect, 'getframeinfo', None)
        plain()
    rig.until(lambda: any(line.msg == 'bad' for line in found))
    lines = [line for line in found if line.name == 'example']
    assert [line.msg for line in lines] == [
        'repeated one', 'repeated other', 'repeated other', 'plain', 'bad']
    assert {(line.file, line.function) for line in lines} == {
        (__file__, 'repeated'), (__file__, 'plain')}
    assert [line.level for line in lines[3:]] == [20, 40]
    assert [line.line for line in lines[3:]] == [
        plain.__code__.co_firstlineno + 1, plain.__code__.co_firstlineno + 3]


def test_text_that_is_not_valid_does_not_stop_who_logs_it(rig: Rig) -> None:
    found: list[Any] = []
    rig.other.create_subscription(
        Log, '/rosout', found.append, QoSProfile(
            depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    logger = logging.getLogger('action_lifecycle')
    before = logger.handlers, logger.propagate
    try:
        log_to(rig.node)
        logger.error('bad: %s', '\ud800')
        rig.node.get_logger().info('bad, too: \ud800', once=True)
        rig.until(lambda: {'bad: ?', 'bad, too: ?'} <= {line.msg for line in found})
    finally:
        logger.handlers, logger.propagate = before


def test_each_step_of_a_coroutine_is_timed_not_what_it_awaits(rig: Rig) -> None:
    told: list[str] = []
    dog = Watchdog(told.append)

    async def patient() -> str:
        await sleep(rig.node, 0.1)
        return 'done'

    async def slow() -> None:
        await sleep(rig.node, 0.01)
        time.sleep(0.03)

    assert rig.wait(rig.executor.create_task(dog.steps('patient', patient()))) == 'done'
    rig.wait(rig.executor.create_task(dog.steps('slow', slow())))
    assert [text.split()[0] for text in told] == ['slow']
