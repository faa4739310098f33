# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A node whose callbacks are guarded and whose entities are destroyed at cleanup.

Timers, diagnostics and clients use it; ManagedNode in lifecycle_node.py extends it.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import time
from time import perf_counter
from typing import Any

from rclpy.callback_groups import CallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.qos import QoSProfile

from .transitions import TransitionNode
from .watchdog import name_of, Watchdog
from ..interfaces.qos import overridable


class GuardedNode(TransitionNode):
    """
    Publishers, subscriptions, timers and clients that are destroyed at cleanup.

    `timer_queue` and `ros_timer_queue` are the `TimerQueue`s of steady time and of ROS time;
    ManagedNode makes them.
    """

    timer_queue: Any
    ros_timer_queue: Any

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._entities = contextlib.ExitStack()
        self._kept: dict[Any, Any] = {}
        self._callback_group = ReentrantCallbackGroup()
        super().__init__(name, **kwargs)
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.watchdog = Watchdog(
            self.get_logger().debug, warn=self.get_logger().warning)

    @property
    def default_callback_group(self) -> CallbackGroup:
        """
        Return a reentrant group.

        In rclpy's own, no callback runs while a coroutine of another awaits, such as a request for
        the result of a goal; the EventsExecutor alone ignores groups. All callbacks run in one
        thread in any case.
        """
        return self._callback_group

    def steady(self) -> float:
        """Return steady time in s; it never jumps and is valid within this boot only."""
        return time.monotonic()

    def spawn(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Run a function or a coroutine function in the executor's thread, if it is there."""
        executor = self.executor  # read once: another thread may remove it
        if executor is not None:
            executor.create_task(work, *arguments)

    def add_publisher(
        self, message: type, topic: str, qos: QoSProfile, *, always: bool = False
    ) -> Any:
        """Create a publisher; it publishes only while the node is active, unless `always`."""
        create, destroy = ((self.create_publisher, self.destroy_publisher) if always else
                           (self.create_lifecycle_publisher, self.destroy_lifecycle_publisher))
        publisher = create(message, topic, qos, qos_overriding_options=overridable())
        self._entities.callback(destroy, publisher)
        return publisher

    def add_subscription(
        self, message: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile, *,
        raw: bool = False,
    ) -> Any:
        """
        Create a subscription; its callback also runs while the node is inactive.

        `raw`: the callback gets serialized messages.
        """
        subscription = self.create_subscription(
            message, topic, self.guarded(callback, what=f'topic {topic}'), qos,
            qos_overriding_options=overridable(), raw=raw)
        self._entities.callback(self.destroy_subscription, subscription)
        return subscription

    def add_timer(self, period: float, callback: Callable[[], None]) -> Any:
        """Create a timer of `period` s of steady time."""
        timer = self.create_timer(period, self.guarded(callback), clock=self.steady_clock)
        self._entities.callback(self.destroy_timer, timer)
        return timer

    def add_client(self, service: type, name: str) -> Any:
        """Create a service client."""
        client = self.create_client(service, name)
        self._entities.callback(self.destroy_client, client)
        return client

    def keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """
        Return the object for `key`, or make it; it stays until the node is destroyed.

        Used for clients: if one is destroyed while an event of it is pending, the process crashes
        (rclpy 7.1.11, EventsExecutor). So cleanup keeps them.
        """
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def destroy_node(self) -> None:
        """Destroy the node and all kept objects."""
        for entity in self._kept.values():
            if hasattr(entity, 'destroy_node'):
                entity.destroy_node()
        super().destroy_node()

    def defer(self, callback: Callable[[], None]) -> None:
        """Call `callback` at cleanup, or if `configure` fails later; last in, first out."""
        self._entities.callback(self.guarded(callback))

    def guarded(
        self, callback: Callable[..., Any], otherwise: Any = None, what: str = '',
    ) -> Callable[..., Any]:
        """
        Wrap a callback so that its exceptions are logged and `otherwise` is returned.

        `what`: its name in the log, such as the topic.
        """
        watchdog = self.watchdog

        def safe(*args: Any) -> Any:
            begin = perf_counter()
            try:
                return callback(*args)
            except Exception:  # it would end spin(), or the process (ros2/rclpy issue 1641)
                self.log_exception(what or name_of(callback))
                return otherwise
            finally:
                if perf_counter() - begin > watchdog.limit:
                    watchdog.ended(what or name_of(callback), begin)

        safe.__wrapped__ = callback  # type: ignore[attr-defined]  # rclpy reads its signature
        return safe
