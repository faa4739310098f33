# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Time for the lifecycle: ROS time to stamp with, steady time to wait by."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node


class NodeClock:
    """
    The clock of a node.

    Delays are measured in steady time: they go on when simulated time stands still or jumps.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)

    def now(self) -> float:
        """Return ROS time in s."""
        return float(self._node.get_clock().now().nanoseconds) * 1e-9

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timeout:
        """Call back once, in the executor's thread."""
        return Timeout(self._node, delay, callback, self._steady)

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the executor's thread; may be called from any thread."""
        executor = self._node.executor
        if executor is not None:
            executor.create_task(callback)


class Timeout:
    """A timer that fires once."""

    def __init__(
        self, node: Node, delay: float, callback: Callable[[], None], clock: Clock
    ) -> None:
        self._node = node
        self._callback = callback
        self._timer = node.create_timer(max(delay, 0.0), self._fire, clock=clock)

    def _fire(self) -> None:
        if not self._timer.is_canceled():
            self.cancel()
            self._callback()

    def cancel(self) -> None:
        """Do not call back any more."""
        if not self._timer.is_canceled():
            self._timer.cancel()
            self._node.destroy_timer(self._timer)
