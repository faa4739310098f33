# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The clock of the lifecycle: ROS time for stamps, steady time for delays."""

from __future__ import annotations

from collections.abc import Callable

from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import Timeout


class NodeClock:
    """
    The clock of a node.

    Delays are measured in steady time, so they end also if simulated time stops or jumps.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node

    def now(self) -> float:
        """Return ROS time in s."""
        return self._node.now()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timeout:
        """Call back once after `delay` (s), in the executor's thread."""
        return Timeout(self._node, delay, callback)

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the executor's thread; may be called from any thread."""
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._node.guarded(callback))
