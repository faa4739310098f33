# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Feedback of open goals: at a limited rate, with heartbeats while nothing changes.

If a process is killed, DDS reports it only when its lease expires, about 20 s later. A client
of the bridge detects it earlier by missing feedback.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import Timeout

PERIOD = 0.5
"""Heartbeat period (s); a client may give up after four periods without feedback."""
LEAST = 0.1
"""Minimum time (s) between two feedback messages of a goal, except for state changes."""
RATE = 100.0
"""Maximum feedback rate (Hz) of all goals of a server, as far as SLOWEST permits."""
SLOWEST = 4 * PERIOD
"""Maximum heartbeat period (s) of a goal, however many goals are open."""


class GoalFeedback:
    """
    The feedback of one goal; `message()` returns the current feedback.

    `goals`: the open goals of the server. The more there are, the lower is the rate of each.
    """

    def __init__(self, node: ManagedNode, handle: Any, goals: Sized, message: Callable[[], Any]
                 ) -> None:
        self._node = node
        self._handle = handle
        self._goals = goals
        self._message = message
        self._last = node.steady()
        self._life = self._next()

    def changed(self, *, at_once: bool = False) -> None:
        """Publish feedback, unless the last one is too recent; `at_once`: in any case."""
        now = self._node.steady()
        pause = max(LEAST, len(self._goals) / RATE)
        if (at_once or now >= self._last + pause) and self._handle.is_active:
            self._last = now
            self._handle.publish_feedback(self._message())

    def close(self) -> None:
        """Stop the heartbeat; to be called when the goal has ended."""
        self._life.cancel()

    def _beat(self) -> None:
        self.changed(at_once=True)
        self._life = self._next()

    def _next(self) -> Timeout:
        period = min(max(PERIOD, len(self._goals) / RATE), SLOWEST)
        return Timeout(self._node, period, self._beat)
