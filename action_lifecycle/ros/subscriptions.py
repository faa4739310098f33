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
Subscriptions that are there while somebody needs them, with QoS that fits the publishers.

What is offered and what is asked for is compared again and again while a topic is subscribed:
publishers appear late, restart with another QoS, or carry another type than the facts file says.

What a publisher has latched is fetched apart from what comes live: every publisher, latching or
not, then serves the live subscription, and a latched message is known to be as old as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
import time
from typing import Any

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy

from .lifecycle_node import ManagedNode
from .qos import sensor_qos
from .timers import Timeout
from .types import message_class
from ..world.facts_file import QosSpec

#: without rclpy's default QoS events, which are waitables (see ManagedNode.keep); `look` says more
SILENT = SubscriptionEventCallbacks(use_default_callbacks=False)
LOOK_SOON = 0.2  #: s between looks while a topic that is needed has no publisher
LOOK = 1.0  #: s between looks otherwise
FETCH = 1.0  #: s that a publisher is given to hand over what it has latched
FETCH_LOOK = 0.02  #: s between looks whether it has
Take = Callable[..., None]


@dataclass
class TopicNeed:
    """
    How a topic is to be read. `max_rate` in Hz; 0: every message.

    `take(message)` takes a live message, `take(message, age)` one that was latched `age` s ago; it
    raises nothing.
    """

    topic: str
    type: str  # noqa: A003
    qos: QosSpec
    take: Take
    max_rate: float = 0.0


class TopicReader:
    """One topic: subscribed while `users` is above zero."""

    def __init__(self, node: ManagedNode, need: TopicNeed) -> None:
        self.need = need
        self.users = 0
        self.name = node.resolve_topic_name(need.topic)
        self.trouble = ''
        self._node = node
        # In a node that no executor spins, the middleware keeps messages until they are taken: of
        # a capped topic the newest, and no other one wakes this process.
        self._unspun = node.keep('unspun', lambda: _unspun(node))
        self._owner = self._unspun if need.max_rate else node
        self._class = message_class(need.type)
        self._take = need.take
        self._subscription: Any = None
        self._polling: Timeout | None = None
        self._reliable: Any = None
        self._latching: frozenset[bytes] = frozenset()
        self._fetching: Any = None
        self._fetch_timeout: Timeout | None = None

    @property
    def subscribed(self) -> bool:
        """Whether it is subscribed now."""
        return self._subscription is not None

    def look(self) -> bool:
        """Fit the subscription to the publishers; whether there are any of the right type."""
        fitting, strange = self.publishers()
        self.trouble = strange and f"topic '{self.name}' {strange}"
        qos = self._qos(fitting)
        if self._subscription is None or (fitting and qos.reliability != self._reliable):
            self._close()
            self._reliable = qos.reliability
            self._subscription = self._owner.create_subscription(
                self._class, self.name, self._take, qos, event_callbacks=SILENT)
            if self.need.max_rate:
                self._poll()
        if self.need.qos.durability != 'volatile':
            self._fetch_latched(fitting)
        return bool(fitting)

    def read(self) -> None:
        """Take what has come and waits for the executor."""
        for _ in range(self.need.qos.depth if self._subscription is not None else 0):
            handle = self._subscription.handle
            with handle:
                found = handle.take_message(self._class, False)
            if found is None:
                return
            self._take(found[0])

    def fetch_again(self) -> None:
        """Fetch anew what the publishers that are there now have latched."""
        if self.subscribed:
            self._end_fetch()
            self._latching = frozenset()
            self.look()

    def publishers(self) -> tuple[list[Any], str]:
        """Return the publishers of the right type, and what is to be said of the others."""
        publishers = self._node.get_publishers_info_by_topic(self.name)
        strange = sorted({info.topic_type for info in publishers} - {self.need.type})
        return ([info for info in publishers if info.topic_type == self.need.type],
                '' if not strange else
                f"carries {', '.join(strange)}; the facts file says {self.need.type}")

    def why_silent(self) -> str:
        """Return why no sample comes, as far as the publishers tell; else an empty text."""
        fitting, strange = self.publishers()
        return '' if fitting else strange or 'nobody publishes it'

    def close(self) -> None:
        """Unsubscribe."""
        self._close()
        self.trouble = ''

    def _close(self) -> None:
        if self._polling is not None:
            self._polling.cancel()
        if self._subscription is not None:
            self._owner.destroy_subscription(self._subscription)
            self._subscription = None
        self._latching = frozenset()
        self._end_fetch()

    def _qos(self, publishers: list[Any]) -> QoSProfile:
        spec = self.need.qos
        qos = sensor_qos(publishers, depth=1 if self.need.max_rate else spec.depth)
        if spec.reliability is not None:
            qos.reliability = QoSReliabilityPolicy[spec.reliability.upper()]
        return qos

    # -- what was latched

    def _fetch_latched(self, publishers: list[Any]) -> None:
        """Fetch from publishers that latch and were not there before."""
        latching = frozenset(
            bytes(info.endpoint_gid) for info in publishers
            if info.qos_profile.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL)
        if latching - self._latching and self._fetching is None:
            self._fetching = self._unspun.create_subscription(
                self._class, self.name, self._take, QoSProfile(
                    depth=self.need.qos.depth, reliability=QoSReliabilityPolicy.RELIABLE,
                    durability=QoSDurabilityPolicy.TRANSIENT_LOCAL), event_callbacks=SILENT)
            self._fetch(self._node.steady() + FETCH)
        self._latching = latching

    def _fetch(self, until: float) -> None:
        """Take what has come, with its age by the clock of its publisher."""
        handle = self._fetching.handle
        while True:
            with handle:
                found = handle.take_message(self._class, False)
            if found is None:
                break
            message, info = found
            self._take(message, max(0.0, time.time() - info['source_timestamp'] * 1e-9))
        if self._node.steady() < until:
            self._fetch_timeout = Timeout(self._node, FETCH_LOOK, lambda: self._fetch(until))
        else:
            self._end_fetch()

    def _end_fetch(self) -> None:
        if self._fetch_timeout is not None:
            self._fetch_timeout.cancel()
        if self._fetching is not None:
            self._unspun.destroy_subscription(self._fetching)
            self._fetching = None

    def _poll(self) -> None:
        """Read the newest message; what came before it was never deserialized."""
        self._polling = Timeout(self._node, 1.0 / self.need.max_rate, self._poll)
        handle = self._subscription.handle
        with handle:
            found = handle.take_message(self._class, False)
        if found is not None:
            self._take(found[0])


def _unspun(node: ManagedNode) -> Node:
    return Node(f'_{node.get_name()}_capped', namespace=node.get_namespace(),
                context=node.context, use_global_arguments=False, enable_rosout=False,
                start_parameter_services=False)


class Subscriptions:
    """All topics of the facts file; each is read while somebody holds it."""

    def __init__(
        self, node: ManagedNode, needs: Iterable[TopicNeed], *, linger: float,
        on_trouble: Callable[[], None],
    ) -> None:
        self.readers = {need.topic: TopicReader(node, need) for need in needs}
        self._node = node
        self.linger = linger
        self._on_trouble = on_trouble
        self._lingering: dict[str, Timeout] = {}
        self._looking: Timeout | None = None

    def hold(self, topics: Iterable[str]) -> Callable[[], None]:
        """Read these topics until the function that is returned is called."""
        held = [self.readers[topic] for topic in topics]
        for reader in held:
            reader.users += 1
            lingering = self._lingering.pop(reader.need.topic, None)
            if lingering is not None:
                lingering.cancel()
        if any(not reader.subscribed for reader in held):
            self._look()

        def release() -> None:
            while held:
                self._release(held.pop())
        return release

    def trouble(self) -> list[str]:
        """Return what is wrong with topics that are read now."""
        return [reader.trouble for reader in self.readers.values() if reader.trouble]

    def destroy(self) -> None:
        """Unsubscribe from all."""
        if self._looking is not None:
            self._looking.cancel()
        for timeout in self._lingering.values():
            timeout.cancel()
        for reader in self.readers.values():
            reader.users = 0
            reader.close()

    def _release(self, reader: TopicReader) -> None:
        """Unsubscribe after a while: what comes next often needs the same topics."""
        reader.users -= 1
        if reader.users == 0:
            topic = reader.need.topic

            def close() -> None:
                self._lingering.pop(topic, None)
                reader.close()
            self._lingering[topic] = Timeout(self._node, self.linger, close)

    def _look(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        wanted = [reader for reader in self.readers.values() if reader.users]
        before = self.trouble()
        found = [reader.look() for reader in wanted]
        if self.trouble() != before:
            self._on_trouble()
        if wanted:
            self._looking = Timeout(
                self._node, LOOK if all(found) else LOOK_SOON, self._look)
