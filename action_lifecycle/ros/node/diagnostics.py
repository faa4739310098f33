# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Publishes a node's health on /diagnostics (REP 107) with diagnostic_updater."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus
from diagnostic_updater import Updater
from rclpy.qos import QoSProfile

from .guarded_node import GuardedNode

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
PERIOD = 'diagnostic_updater.period'
USE_FQN = 'diagnostic_updater.use_fqn'
LATE = 0.1  #: delay (s) above which a timer counts as late


class Health(NamedTuple):
    """The health of something: level (OK, WARN, ERROR), message and values."""

    level: bytes
    message: str
    values: Mapping[str, object] = {}


class Diagnostics:
    """
    The diagnostic tasks of one node; created in `configure`, destroyed in `cleanup`.

    The tasks run only while /diagnostics has subscribers, to save CPU time.
    """

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._late = 0.0
        self._worst = 0.0, ''
        self._due = math.inf
        self._host = _Host(node, self._on_time)
        self._updater = Updater(self._host)
        self._updater.node_name = node.get_fully_qualified_name().lstrip('/')
        self._updater.setHardwareID(node.get_namespace().strip('/') or 'robot')
        self.add('executor', self._executor)

    def add(self, name: str, ask: Callable[[], Health]) -> None:
        """Add a task that is called once a period."""
        def task(status: Any) -> Any:
            try:
                health = ask()
            except Exception as error:  # a fault of one task must not hide the others
                self._node.log_exception(f'diagnostics {name}')
                health = Health(ERROR, repr(error))
            status.summary(health.level, health.message)
            for key, value in health.values.items():
                status.add(key, str(value))
            return status

        self._updater.add(name, task)

    def update(self) -> None:
        """Publish now, after an important change."""
        self._updater.force_update()

    def _on_time(self) -> None:
        """Measure the delay of the timer, and publish if there are subscribers."""
        now = self._node.steady()
        self._late = max(0.0, now - self._due)
        self._due = now + self._updater.period
        if self._host.publisher.get_subscription_count():
            self._worst = self._node.watchdog.worst()
            self._updater.update()

    def _executor(self) -> Health:
        """Return the delay of the timer and the longest callback since the last message."""
        late, (longest, name) = self._late, self._worst
        values = {'late (ms)': round(late * 1e3, 1), 'longest callback': name,
                  'longest callback (ms)': round(longest * 1e3, 1),
                  'callbacks over the limit': self._node.watchdog.count}
        if longest and (self._node.watchdog.harms(longest) or late <= LATE):
            level = WARN if self._node.watchdog.harms(longest) else OK
            return Health(level, f'{name} took {longest * 1e3:.0f} ms', values)
        if late > LATE:
            return Health(WARN, f'timers are {late * 1e3:.0f} ms late', values)
        return Health(OK, 'in time', values)


class _Host:
    """
    The object that diagnostic_updater uses as its node.

    With the node itself it would keep publisher and timer at cleanup, declare its parameters twice
    at the second configure, and stop when simulated time stops.
    """

    def __init__(self, node: GuardedNode, on_time: Callable[[], None]) -> None:
        self.publisher: Any = None
        self._node = node
        self._on_time = on_time

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def declare_parameter(self, name: str, default: Any) -> Any:
        return self._node.get_parameter(name)

    def create_publisher(self, kind: type, topic: str, depth: int) -> Any:
        self.publisher = self._node.add_publisher(kind, topic, QoSProfile(depth=10), always=True)
        return self.publisher

    def create_timer(self, period: float, callback: Callable[[], None]) -> Any:
        return self._node.add_timer(period, self._on_time)
