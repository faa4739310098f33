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

from .guarded_node import GuardedNode
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

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the executor's thread; if there is no executor yet, at once."""
        executor = self._node.executor
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


def host_of(node: Any) -> Any:
    """Return what calls need of a node: itself, if it is one of this package."""
    return node if isinstance(node, GuardedNode) else CallHost(node)
