# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Feedback of open goals: at a limited rate, and signs of life when nothing changes.

When a process is killed, DDS tells others so only when its lease has run out, some 20 s later.
Whoever waits for a goal of the bridge knows by missing feedback that it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

from ..ros.lifecycle_node import ManagedNode
from ..ros.timers import Timeout

PERIOD = 0.5
"""Seconds between two signs of life; whoever waits may give up after four times that."""
LEAST = 0.1
"""Seconds at least between two feedback messages of a goal, but for changes of state."""
RATE = 100.0
"""Feedback messages a second of all goals of a server, as far as these are met:"""
SLOWEST = 4 * PERIOD
"""Seconds between two signs of life of a goal when very many are open."""


class GoalFeedback:
    """
    The feedback of one goal; `message()` makes it of how things are now.

    `goals`: the open ones of its server. The more there are, the slower is the feedback of each.
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
        """Tell how it looks now, unless that was just done."""
        now = self._node.steady()
        pause = max(LEAST, len(self._goals) / RATE)
        if (at_once or now >= self._last + pause) and self._handle.is_active:
            self._last = now
            self._handle.publish_feedback(self._message())

    def close(self) -> None:
        """Be quiet: the goal has ended."""
        self._life.cancel()

    def _beat(self) -> None:
        self.changed(at_once=True)
        self._life = self._next()

    def _next(self) -> Timeout:
        period = min(max(PERIOD, len(self._goals) / RATE), SLOWEST)
        return Timeout(self._node, period, self._beat)
