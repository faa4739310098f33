# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Topics with transient-local durability, published on change at a limited rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ros.interfaces.qos import state_qos
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import Throttle


class Latched:
    """
    A latched topic; `message()` returns the current message.

    `period`: minimum time (s) between two messages.
    """

    def __init__(
        self, node: ManagedNode, kind: type, name: str, message: Callable[[], Any],
        period: float = 0.5,
    ) -> None:
        publisher = node.add_publisher(kind, name, state_qos())
        throttle = Throttle(node, period, lambda: publisher.publish(message()))
        node.defer(throttle.cancel)
        self.publish = throttle.call  #: publishes at once
        self.publish_soon = throttle.call_soon  #: publishes when the minimum time is over
