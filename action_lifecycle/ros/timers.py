# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Being called back once: after a delay of steady time, or when ROS time has come so far."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.task import Future

from .lifecycle_node import ManagedNode

LONGEST = 3600.0  #: s that one timer is set for; an alarm further away is set again then


class Timeout:
    """Calls back once after `delay` s of steady (or ROS) time, in the executor's thread."""

    def __init__(
        self, node: ManagedNode, delay: float, callback: Callable[[], None], *,
        ros_time: bool = False,
    ) -> None:
        self._node = node
        self._callback = node.guarded(callback)
        self._timer: Any = node.create_timer(
            max(delay, 0.0), self._fire,
            clock=node.get_clock() if ros_time else node.steady_clock)

    def _fire(self) -> None:
        if self._timer is not None:
            self.cancel()
            self._callback()

    def cancel(self) -> None:
        """Do not call back any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._node.destroy_timer(self._timer)
            self._timer = None


def sleep(node: ManagedNode, delay: float) -> Future:
    """Return a future that is done after `delay` s of steady time."""
    future = Future()
    Timeout(node, delay, lambda: None if future.done() else future.set_result(None))
    return future


class Alarm:
    """
    Calls back when the time of a clock has come; set again as often as needed.

    It may ring early (time was set back, or it was set to something later after it had been armed):
    the callback looks at the clock.
    """

    def __init__(self, node: ManagedNode, callback: Callable[[], None], *, ros_time: bool) -> None:
        self._node = node
        self._callback = node.guarded(callback)
        self._now = node.now if ros_time else node.steady
        self._clock = node.get_clock() if ros_time else node.steady_clock
        self._timer: Any = None
        self._armed = math.inf
        self._jump = self._clock.create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1),
                          on_clock_change=True),
            post_callback=lambda jump: self._ring()) if ros_time else None

    def set(self, time: float) -> None:
        """Ring at `time` (s); an alarm that is set for earlier rings then too."""
        if time >= self._armed:
            return
        self._disarm()
        if time != math.inf:
            self._armed = time
            delay = min(max(time - self._now(), 0.0), LONGEST)
            self._timer = self._node.create_timer(delay, self._ring, clock=self._clock)

    def destroy(self) -> None:
        """Never ring again."""
        self._disarm()
        if self._jump is not None:
            self._jump.unregister()

    def _ring(self) -> None:
        self._disarm()
        self._callback()

    def _disarm(self) -> None:
        self._armed = math.inf
        if self._timer is not None:
            self._timer.cancel()
            self._node.destroy_timer(self._timer)
            self._timer = None
