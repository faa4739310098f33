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

"""The clock of the lifecycle: ROS time for stamps, steady time for delays."""

from __future__ import annotations

from collections.abc import Callable

from ..ros.lifecycle_node import ManagedNode
from ..ros.timers import Timeout


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
