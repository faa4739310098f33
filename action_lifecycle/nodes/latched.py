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
from ..ros.timers import Throttle


class Latched:
    """
    A latched topic; `message()` returns the current message.

    `period`: minimum time (s) between two messages.
    """

    def __init__(
        self, node: ManagedNode, kind: type, name: str, period: float, message: Callable[[], Any]
    ) -> None:
        publisher = node.add_publisher(kind, name, state_qos())
        throttle = Throttle(node, period, lambda: publisher.publish(message()))
        node.defer(throttle.cancel)
        self.publish = throttle.call  #: publishes at once
        self.publish_soon = throttle.call_soon  #: publishes when the minimum time is over
