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

"""Topics with transient-local durability, published on change at a limited rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ros.lifecycle_node import ManagedNode
from ..ros.qos import state_qos
from ..ros.timers import Timeout

SPARE = 10.0
"""Minimum pause after a message, in multiples of the time it took; limits the CPU load."""


class Latched:
    """
    A latched topic; `message()` returns the current message.

    `period`: minimum time (s) between two messages.
    """

    def __init__(
        self, node: ManagedNode, kind: type, name: str, period: float, message: Callable[[], Any]
    ) -> None:
        self._node = node
        self._message = message
        self._period = period
        self._publisher = node.add_publisher(kind, name, state_qos())
        self._next = 0.0  # steady time in s
        self._pending: Timeout | None = None
        node.defer(self._cancel)

    def publish(self) -> None:
        """Publish at once."""
        self._cancel()
        begin = self._node.steady()
        self._publisher.publish(self._message())
        end = self._node.steady()
        self._next = end + self._period + SPARE * (end - begin)

    def publish_soon(self) -> None:
        """Publish as soon as the minimum time since the last message is over."""
        if self._pending is None:
            self._pending = Timeout(
                self._node, max(0.0, self._next - self._node.steady()), self.publish)

    def _cancel(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None
