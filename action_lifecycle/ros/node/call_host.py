# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What calls need of a node, for any node of rclpy."""

from __future__ import annotations

from collections.abc import Callable
import time
import traceback
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from .timers import TimerQueue


class CallHost:
    """
    A node of any class as calls use it; other attributes are those of the node.

    Calls are made in the thread of the node's executor, or before it spins.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.timer_queue = TimerQueue(self, self.steady_clock, self.steady, jumps=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def steady(self) -> float:
        """Return steady time in s."""
        return time.monotonic()

    def now(self) -> float:
        """Return ROS time in s."""
        seconds: float = self._node.get_clock().now().nanoseconds * 1e-9
        return seconds

    def executor_of_node(self) -> Any:
        """Return the executor that has the node now; None if none has it."""
        executor = self._node.executor  # it stays set when an executor has let the node go
        return executor if executor is not None and self._node in executor.get_nodes() else None

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the executor's thread; if no executor has the node, at once."""
        executor = self.executor_of_node()
        if executor is None:
            callback()
        else:
            executor.create_task(self.guarded(callback))

    def guarded(
        self, callback: Callable[..., Any], otherwise: Any = None, what: str = '',
    ) -> Callable[..., Any]:
        """Wrap a callback so that its exceptions are logged and `otherwise` is returned."""
        def safe(*args: Any) -> Any:
            try:
                return callback(*args)
            except Exception:
                self._node.get_logger().error(f'{what}: {traceback.format_exc()}')
                return otherwise
        return safe
