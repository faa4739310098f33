# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Being called back once: in order, with both executors, also when the executor is behind."""

from __future__ import annotations

from collections.abc import Iterator
import time
from typing import Any

from action_lifecycle.ros.node.executor import has_events_executor, make_executor
from action_lifecycle.ros.node.lifecycle_node import ManagedNode
from action_lifecycle.ros.node.timers import Alarm, Timeout, TimerQueue
from isolation import domain_id
import pytest
import rclpy
from rclpy.context import Context

from .ending import destroy

EXECUTORS = ['single_threaded', *(['events'] if has_events_executor() else [])]


class Counting(TimerQueue):
    """Counts how often its timer fires."""

    fired = 0

    def _fire(self) -> None:
        self.fired += 1
        super()._fire()


class Rig:

    def __init__(self, executor: str) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor: Any = make_executor(executor, self.context)
        self.node = ManagedNode('example', context=self.context)
        self.node.timer_queue = self.queue = Counting(
            self.node, self.node.steady_clock, self.node.steady, jumps=False)
        self.executor.add_node(self.node)

    def until(self, condition: Any) -> None:
        end = time.monotonic() + 10.0
        while not condition():
            assert time.monotonic() < end, 'did not happen in time'
            self.executor.spin_once(timeout_sec=0.05)


@pytest.fixture(params=EXECUTORS)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    rig = Rig(request.param)
    yield rig
    rig.executor.shutdown()
    destroy(rig.node)
    rig.context.try_shutdown()


def test_firings_do_not_multiply_while_the_executor_is_behind(rig: Rig) -> None:
    rounds = called = 0

    def hold_up() -> None:
        nonlocal rounds
        rounds += 1
        time.sleep(0.01)
        if rounds < 60:
            rig.executor.create_task(hold_up)

    def call_again() -> None:
        nonlocal called
        called += 1
        if rounds < 60:
            Timeout(rig.node, 0.001, call_again)

    for _ in range(5):
        call_again()
    hold_up()
    rig.until(lambda: rounds == 60)
    assert called > 5
    assert rig.queue.fired <= rounds


def test_a_callback_that_asks_for_another_at_once_gets_it(rig: Rig) -> None:
    order: list[str] = []

    def first() -> None:
        Timeout(rig.node, 0.0, lambda: order.append('second'))
        Timeout(rig.node, 0.1, lambda: order.append('third'))

    Timeout(rig.node, 0.0, first)
    rig.until(lambda: len(order) == 2)
    assert order == ['second', 'third']


def test_what_is_canceled_while_it_is_due_is_not_called(rig: Rig) -> None:
    order: list[str] = []
    begin = rig.queue.now()
    last = Timeout(rig.node, 0.01, lambda: order.append('canceled'))
    rig.queue.at(begin + 0.005, last.cancel)  # before it, however long these lines take
    Timeout(rig.node, 0.02, lambda: order.append('called'))
    time.sleep(0.03)  # all are due when the timer fires
    rig.until(lambda: order)
    assert order == ['called']


def test_an_earlier_time_that_is_asked_for_while_another_is_awaited(rig: Rig) -> None:
    begin, came = time.monotonic(), list[float]()
    Timeout(rig.node, 5.0, lambda: came.append(5.0))
    Timeout(rig.node, 0.05, lambda: came.append(time.monotonic() - begin))
    rig.until(lambda: came)
    assert 0.05 <= came[0] < 5.0


@pytest.mark.parametrize('step', [-3600.0, 3600.0])
def test_delays_stay_what_they_were_when_the_wall_clock_is_set(rig: Rig, step: float) -> None:
    node, wall = rig.node, 0.0
    node.ros_timer_queue.now = node.now = lambda: time.time() + wall  # type: ignore[method-assign]
    rung: list[str] = []
    took: list[float] = []
    began = time.monotonic()

    def delayed() -> None:
        rung.append('delay')
        took.append(time.monotonic() - began)

    Timeout(node, 1.5, delayed, ros_time=True)
    alarm = Alarm(node, lambda: rung.append('alarm'), ros_time=True)
    alarm.set(node.now() + 60.0)
    rig.until(lambda: time.monotonic() - began > 0.3)
    assert 'alarm' not in rung
    wall = step
    rig.until(lambda: 'alarm' in rung)  # whoever waits for a moment looks at the clock anew
    Timeout(node, 0.1, lambda: rung.append('later'), ros_time=True)
    rig.until(lambda: {'delay', 'later'} < set(rung))
    assert sorted(rung) == ['alarm', 'delay', 'later']
    assert took[0] >= 1.45  # and far less than an hour: all of this was waited for
    alarm.destroy()
