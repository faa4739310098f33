# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
One-shot callbacks: after a delay, or at a time of a clock.

All callbacks of one clock share one rclpy timer. The EventsExecutor visits all timers whenever one
fires, and creating and destroying timers costs more than a heap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import heapq
import itertools
import math
from typing import Any

from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.task import Future

from .guarded_node import GuardedNode
from ...lifecycle.futures import settle

LONGEST = 3600.0  #: maximum period (s) of the timer
POLL_PERIOD = 1.0  #: polling period (s) for steps of the wall clock
STEP = 0.25  #: minimum size (s) of a step of the wall clock
SPARE = 30.0
"""Minimum pause after a throttled call, in multiples of its duration; limits the CPU load."""


@dataclass(order=True, slots=True)
class TimerEntry:
    """A scheduled callback."""

    time: float
    number: int
    callback: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        """Cancel the callback."""
        self.callback = None


class TimerQueue:
    """
    Calls back at times (s) of one clock, in the executor's thread.

    If ROS time jumps back, pending callbacks move with it, so that delays stay the same. If ROS
    time is the wall clock, this also holds for steps forward and back. ROS does not report such
    steps, and a timer of that clock would be wrong by the step, so a steady timer is used then.
    """

    def __init__(self, node: GuardedNode, clock: Any, now: Callable[[], float], *, jumps: bool
                 ) -> None:
        self.on_jump: dict[int, Callable[[], None]] = {}
        self.now = now
        self._node = node
        self._clock = clock
        self._numbers = itertools.count()
        self._entries: list[TimerEntry] = []
        self._timer: Any = None
        self._armed = math.inf
        self._jumps = jumps
        self._choose_clock()
        self._jump = clock.create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1),
                          on_clock_change=True), post_callback=self._jumped) if jumps else None

    def _choose_clock(self) -> None:
        self._is_wall = self._jumps and not self._clock.ros_time_is_active
        self._offset = self.now() - self._node.steady()
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def at(self, time: float, callback: Callable[[], None]) -> TimerEntry:
        """Call back at `time`, or as soon as possible after it."""
        if self._is_wall:
            self._check_steps()
        entry = TimerEntry(time, next(self._numbers), callback)
        heapq.heappush(self._entries, entry)
        if time < self._armed:
            self._arm()
        return entry

    def _arm(self) -> None:
        """Set the timer to the earliest callback."""
        entries = self._entries
        while entries and entries[0].callback is None:
            heapq.heappop(entries)
        if not entries:
            self._armed = math.inf
            if self._timer is not None:
                self._timer.cancel()
            return
        self._armed = entries[0].time
        delay = min(max(self._armed - self.now(), 0.0), POLL_PERIOD if self._is_wall else LONGEST)
        if self._timer is None:
            self._timer = self._node.create_timer(
                delay, self._fire, clock=self._node.steady_clock if self._is_wall else self._clock)
        else:
            self._timer.timer_period_ns = math.ceil(delay * 1e9)
            self._timer.reset()

    def _fire(self) -> None:
        """
        Run the due callbacks.

        In the EventsExecutor, a timer that is set while it is due also fires for the old time. If
        each firing set the timer again, the events would multiply while the executor is late. So
        the timer is canceled, which drops these events, and set again after the queued events.
        """
        self._timer.cancel()
        if self._is_wall:
            self._check_steps()
        now = self.now()
        entries = self._entries
        self._armed = -math.inf  # so that `at` does not set the timer meanwhile
        while entries and entries[0].time <= now:
            callback = heapq.heappop(entries).callback
            if callback is not None:
                self._node.guarded(callback)()
        self._node.executor.create_task(self._node.guarded(self._arm))

    def _check_steps(self) -> None:
        """Check whether the wall clock has stepped since the last call."""
        offset = self.now() - self._node.steady()
        step, self._offset = offset - self._offset, offset
        if abs(step) > STEP:
            self._move(step)
            executor = self._node.executor  # None before the node spins
            for callback in list(self.on_jump.values()) if executor is not None else ():
                executor.create_task(self._node.guarded(callback))

    def _jumped(self, jump: Any) -> None:
        self._move(jump.delta.nanoseconds * 1e-9)
        for callback in list(self.on_jump.values()):
            self._node.guarded(callback)()
        if self._is_wall is self._clock.ros_time_is_active:
            self._choose_clock()
        self._arm()

    def _move(self, delta: float) -> None:
        for entry in self._entries:  # all by the same amount, so the heap stays valid
            entry.time += delta


class Timeout:
    """Calls back once after `delay` s of steady (or ROS) time, in the executor's thread."""

    def __init__(
        self, node: GuardedNode, delay: float, callback: Callable[[], None], *,
        ros_time: bool = False,
    ) -> None:
        queue = node.ros_timer_queue if ros_time else node.timer_queue
        self._entry = queue.at(queue.now() + delay, callback)

    def cancel(self) -> None:
        """Cancel the callback."""
        self._entry.cancel()


def sleep(node: GuardedNode, delay: float) -> Future:
    """Return a future that is done after `delay` s of steady time."""
    future = Future()
    Timeout(node, delay, lambda: settle(future))
    return future


class Throttle:
    """
    Calls `callback` at most once in `period` s of steady time.

    The pause after a call is at least `SPARE` times as long as the call took.
    """

    def __init__(self, node: GuardedNode, period: float, callback: Callable[[], None]) -> None:
        self._node = node
        self._period = period
        self._callback = callback
        self._next = 0.0  # steady time in s
        self._pending: Timeout | None = None

    def call(self) -> None:
        """Call at once."""
        self.cancel()
        begin = self._node.steady()
        self._callback()
        end = self._node.steady()
        self._next = end + self._period + SPARE * (end - begin)

    def call_soon(self) -> None:
        """Call as soon as the pause after the last call is over."""
        if self._pending is None:
            self._pending = Timeout(
                self._node, max(0.0, self._next - self._node.steady()), self.call)

    def cancel(self) -> None:
        """Drop a pending call."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None


class Alarm:
    """
    Calls back at a time of a clock; it can be set again as often as needed.

    It may call back early (after a jump of ROS time, or if it was set to a later time), so the
    callback must check the clock.
    """

    def __init__(self, node: GuardedNode, callback: Callable[[], None], *, ros_time: bool) -> None:
        self._queue = node.ros_timer_queue if ros_time else node.timer_queue
        self._callback = callback
        self._entry: TimerEntry | None = None
        self._queue.on_jump[id(self)] = self._ring

    def set(self, time: float) -> None:  # noqa: A003
        """Call back at `time` (s), unless an earlier time is set."""
        if self._entry is not None:
            if time >= self._entry.time:
                return
            self._entry.cancel()
            self._entry = None
        if time != math.inf:
            self._entry = self._queue.at(time, self._ring)

    def destroy(self) -> None:
        """Cancel the alarm for good."""
        self._queue.on_jump.pop(id(self), None)
        if self._entry is not None:
            self._entry.cancel()

    def _ring(self) -> None:
        if self._entry is not None:
            self._entry.cancel()
        self._entry = None
        self._callback()
