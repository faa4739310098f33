# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Subscriptions that exist while they are needed, with QoS that matches the publishers.

While a topic is subscribed, the publishers are checked periodically, as they may appear late,
restart with another QoS, or have another type than the facts file.

A topic with a publisher whose definition of the type is not ours is not subscribed: its messages
would be misread, and do not tell who sent them.

Latched messages are fetched by a separate subscription. So the live subscription receives from all
publishers, latching or not, and the age of a latched message is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
import math
import time
from typing import Any, NamedTuple

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import deserialize_message

from .arrivals import Arrivals, SOME
from .lifecycle_node import ManagedNode
from .rclpy_internals import lost_messages, take_message, with_info
from .timers import Timeout
from ..interfaces.limits import READ_BYTES
from ..interfaces.qos import sensor_qos
from ..interfaces.type_hashes import CURE, node_of, other_definition
from ..interfaces.types import BYTES, has_lists_of_messages, message_class, usual_limit
from ...world.facts.facts_file import QosSpec

#: no default QoS events, which are waitables (see GuardedNode.keep); `discover` reports more
SILENT = SubscriptionEventCallbacks(use_default_callbacks=False)
FAST_POLL_PERIOD = 0.2  #: polling period (s) while a needed topic has no publisher
POLL_PERIOD = 1.0  #: polling period (s) of the publishers otherwise
READ_TIME = 1.0  #: longest time (s) for reading messages that wait
UNHEARD = 2.0  #: time (s) without a readable message after which it is looked what comes
FETCH = 1.0  #: time (s) for a publisher to send its latched messages
FETCH_LOOK = 0.02  #: polling period (s) for them
QUEUE = 4.0  #: s of messages that a queue has room for
QUEUE_BYTES = 64 * 1024 * 1024  #: memory for the messages that wait, where no rate is declared
DEPTH = 4000  #: number of small messages
#: middleware that does not show which messages a short queue has dropped
UNNUMBERED = ('rmw_cyclonedds_cpp',)
NAMED = 3  #: maximum number of topics in a reason
LARGE_DEPTH = 10  #: least number, and that of images, point clouds and maps
Take = Callable[..., None]


@dataclass
class TopicNeed:
    """
    A topic to read; `max_rate` in Hz, 0: every message.

    `take(message)` is called for a live message, `take(message, age)` for a message latched `age`
    s ago, and if `waits` for a live one that arrived `age` s ago; it must not raise. `lost(count)`
    is called when messages were lost, before the next one is taken; 0: it is not known how many.
    `published(nodes)` is called with the nodes of all publishers when these have changed.
    `distrust(reason)` is called when the messages cease to count, and with '' when they count
    again.
    """

    topic: str
    type: str  # noqa: A003
    qos: QosSpec
    take: Take
    max_rate: float = 0.0
    distrust: Callable[[str], None] = lambda reason: None
    published: Callable[[Sequence[str]], None] = lambda nodes: None
    lost: Callable[[int], None] = lambda count: None
    waits: bool = False
    rate: float = 0.0  #: greatest rate (Hz) at which messages are expected; 0: not known

    @property
    def depth(self) -> int:
        """Return how many messages are kept until they are read."""
        given = self.qos.depth
        if given is not None and rclpy.get_rmw_implementation_identifier() not in UNNUMBERED:
            return given
        limit = usual_limit(self.type)
        if limit >= BYTES:
            return given or LARGE_DEPTH
        seconds = math.ceil(QUEUE * self.rate) if math.isfinite(self.rate) else 0
        return max(min(DEPTH, QUEUE_BYTES // limit), given or 0, seconds)


class Publishers(NamedTuple):
    """The publishers of a topic."""

    fitting: list[Any]  #: of the right type
    strange: str  #: what the others carry; '' if there are none
    misread: bool  #: a publisher of the right type has another definition of it
    gids: frozenset[bytes]  #: of all


class TopicReader:
    """One topic: subscribed while `users` is above zero."""

    def __init__(self, node: ManagedNode, need: TopicNeed) -> None:
        self.need = need
        self.users = 0
        self.name = node.resolve_topic_name(need.topic)
        self.trouble = ''
        self.misread = ''  #: why it is not subscribed although it is needed, after the name
        self._gids: frozenset[bytes] = frozenset()  #: of the publishers at the last look
        self._node = node
        self._unspun = unspun(node)  # of a topic with max_rate, it keeps only the newest message
        self._owner = self._unspun if need.max_rate else node
        self._class = message_class(need.type)
        self._raw = has_lists_of_messages(self._class)
        self._take = self._read_bounded if self._raw else need.take
        self._unread = ''  #: why a message could not be read, after the name
        self._probe: Any = None
        self._probe_at = math.inf
        self._fetched = False  #: whether a latched message was read
        self._subscription: Any = None
        self._arrivals: Arrivals
        self._live = True  #: whether what is taken was received, not latched
        self._lost_on_the_way: Callable[[], int] | None = None
        self._polling: Timeout | None = None
        self._reliable: Any = None
        self._latching: frozenset[bytes] = frozenset()
        self._fetching: Any = None
        self._fetch_timeout: Timeout | None = None

    @property
    def subscribed(self) -> bool:
        """Whether the topic is subscribed, or would be if its publishers could be understood."""
        return self._subscription is not None or bool(self.misread)

    def look(self) -> frozenset[bytes]:
        """Return the ids of the publishers; if others are there than before, match them."""
        found = self.publishers()
        if self.subscribed and self._gids != gids_of(found.fitting):
            self._note(found)
            Timeout(self._node, 0.0, self._match_soon)  # not in the callback of its subscription
        return found.gids

    def discover(self) -> bool:
        """Match the subscription to the publishers; returns whether any has the right type."""
        found = self.publishers()
        self._note(found)
        return self._match(found.fitting)

    def _note(self, found: Publishers) -> None:
        before, self._gids = self._gids, gids_of(found.fitting)
        if before != self._gids:
            if before - self._gids:
                self._latching = frozenset()  # of those that stay, they count again
            self.need.published(sorted(map(node_of, found.fitting)))
        why = found.strange or self.unmatched(found.fitting)
        self.trouble = f"topic '{self.name}' {why}" if why else \
            self._unread and f"topic '{self.name}': {self._unread}"
        self._set_misread(found.strange if found.misread else '')

    def _match_soon(self) -> None:
        if self.subscribed:
            self.discover()

    def _match(self, fitting: list[Any]) -> bool:
        if self.misread:
            self._unsubscribe()
            return False
        qos = self._qos(fitting)
        if self._subscription is None or (fitting and qos.reliability != self._reliable):
            again = self._subscription is not None and self._arrivals.heard
            self._unsubscribe()
            self._reliable = qos.reliability
            self._arrivals = Arrivals(
                qos.depth, lambda: self._node.count_publishers(self.name))
            self._subscription = self._owner.create_subscription(
                self._class, self.name, with_info(self._receive), qos, event_callbacks=SILENT,
                raw=self._raw)
            if self.need.max_rate:
                self._poll()
            elif again:
                self.need.lost(SOME)  # what came in between
        if self.need.qos.durability != 'volatile':
            self._fetch_latched(fitting)
        self.read()
        self._look_what_comes(bool(fitting))
        return bool(fitting)

    def read(self, until: float = math.inf) -> None:
        """
        Process the messages that wait for the executor, and note which ones were lost.

        It takes at most READ_TIME, and ends at the steady time `until`: messages that come as fast
        as they are read would keep it from anything else. Those that are left may be lost.
        """
        if self._subscription is None or self.need.max_rate:
            return
        until = min(until, self._node.steady() + READ_TIME)
        while (found := take_message(self._subscription)) is not None:
            self._receive(*found)
            if self._node.steady() >= until:
                self.need.lost(SOME)
                break
        else:
            self._arrivals.caught_up()
        if self._lost_on_the_way is not None and (lost := self._lost_on_the_way()):
            self.need.lost(lost)

    def fetch_again(self) -> None:
        """Fetch the latched messages of the current publishers again."""
        if self.subscribed:
            self._end_fetch()
            self._latching = frozenset()
            self.discover()

    def publishers(self) -> Publishers:
        """Return the publishers of the topic."""
        publishers = self._node.get_publishers_info_by_topic(self.name)
        strange = sorted({info.topic_type for info in publishers} - {self.need.type})
        fitting = [info for info in publishers if info.topic_type == self.need.type]
        misread = other_definition(fitting, self.need.type)
        return Publishers(fitting, f'has {misread}' if misread else '' if not strange else
                          f"carries {', '.join(strange)}; the facts file says {self.need.type}",
                          bool(misread), gids_of(publishers))

    def sender(self) -> int | None:
        """Return which publisher sent the message that is taken now; None: not known."""
        return self._arrivals.sender if self._live else None

    def why_silent(self) -> str:
        """Return why no samples arrive, as far as the publishers show it; '' if they do not."""
        fitting, strange, misread, _ = self.publishers()
        if fitting and not misread:
            return self.unmatched(fitting) or self._unread
        return strange or 'nobody publishes it' + self._elsewhere()

    def _elsewhere(self) -> str:
        """Return where a topic of this last name and type is published; '' if nowhere."""
        last = f"/{self.name.rpartition('/')[2]}"
        found = sorted(name for name, types in self._node.get_topic_names_and_types()
                       if name.endswith(last) and name != self.name and self.need.type in types
                       and self._node.count_publishers(name))
        return found and (f"; {', '.join(found[:NAMED])} {'is' if len(found) == 1 else 'are'}: "
                          'look at the namespaces, or remap the topic') or ''

    def unmatched(self, fitting: list[Any]) -> str:
        """Return that no message comes for the QoS that the file declares; '' if they match."""
        return 'is published as best effort, and the file says reliability: reliable, so that ' \
            'no message comes: leave that out, or write best_effort' \
            if self.need.qos.reliability == 'reliable' and fitting and all(
                info.qos_profile.reliability == QoSReliabilityPolicy.BEST_EFFORT
                for info in fitting) else ''

    def close(self) -> None:
        """Unsubscribe."""
        self._unsubscribe()
        self.trouble = self._unread = ''
        self._gids = frozenset()
        self._set_misread('')

    def _set_misread(self, reason: str) -> None:
        if reason != self.misread:
            self.misread = reason
            self.need.distrust(reason)

    def _read_bounded(self, data: bytes, *age: float) -> None:
        """
        Read a serialized message, unless it is too large.

        A list of messages takes 50 µs for each of them, in which no other topic is read.
        """
        if len(data) > READ_BYTES:
            self._unread = f'a message of {len(data)} bytes was not read; at most {READ_BYTES} ' \
                           'are, of a type with lists of messages'
            self.need.lost(1)
            return
        message = self._decode(data)
        if message is None:
            self.need.lost(1)
        else:
            self.need.take(message, *age)

    def _decode(self, data: bytes) -> Any:
        """Return a serialized message; None: it can't be read, which `_unread` tells."""
        try:
            message = deserialize_message(data, self._class)
        except Exception as error:  # RMWError, which is in a private module of rclpy
            self._unread = f'a message of {len(data)} bytes can not be read as ' \
                           f"{self.need.type} ({str(error).partition(', at ')[0]}); {CURE}"
            return None
        self._unread = ''
        return message

    def _look_what_comes(self, published: bool) -> None:
        """
        Tell if messages come that can't be read, while none was read.

        Fast DDS drops them without a word, unless they are taken as they are.
        """
        if not published or self._fetched or self._arrivals.heard:
            self._end_probe()
            return
        now = self._node.steady()
        self._probe_at = min(self._probe_at, now + UNHEARD)
        if self._probe is None and now >= self._probe_at:
            self._probe = self._unspun.create_subscription(
                self._class, self.name, self._decode, QoSProfile(
                    depth=1, reliability=self._reliable), event_callbacks=SILENT, raw=True)
        while self._probe is not None and (found := take_message(self._probe)) is not None:
            self._decode(found[0])

    def _end_probe(self) -> None:
        self._probe_at = math.inf
        if self._probe is not None:
            self._unspun.destroy_subscription(self._probe)
            self._probe = None

    def _receive(self, message: Any, info: dict[str, Any]) -> None:
        arrivals = self._arrivals
        lost = arrivals.note(info)
        if lost is not None and not self.need.max_rate:
            self.need.lost(lost)
        if self.need.waits:
            self._take(message, arrivals.wait)
        else:
            self._take(message)
        if not arrivals.numbered and self._lost_on_the_way is None:
            self._lost_on_the_way = lost_messages(self._subscription)

    def _unsubscribe(self) -> None:
        self._lost_on_the_way = None  # it ends before the subscription
        if self._polling is not None:
            self._polling.cancel()
        if self._subscription is not None:
            self._owner.destroy_subscription(self._subscription)
            self._subscription = None
        self._latching = frozenset()
        self._fetched = False
        self._end_probe()
        self._end_fetch()

    def _qos(self, publishers: list[Any]) -> QoSProfile:
        spec = self.need.qos
        qos = sensor_qos(publishers, depth=1 if self.need.max_rate else self.need.depth)
        if spec.reliability is not None:
            qos.reliability = QoSReliabilityPolicy[spec.reliability.upper()]
        return qos

    # -- latched messages

    def _fetch_latched(self, publishers: list[Any]) -> None:
        """Fetch the messages of new latching publishers."""
        latching = gids_of(
            info for info in publishers
            if info.qos_profile.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL)
        if latching - self._latching and self._fetching is None:
            self._fetching = self._unspun.create_subscription(
                self._class, self.name, self._take, QoSProfile(
                    depth=self.need.depth, reliability=QoSReliabilityPolicy.RELIABLE,
                    durability=QoSDurabilityPolicy.TRANSIENT_LOCAL), event_callbacks=SILENT,
                raw=self._raw)
            self._fetch(self._node.steady() + FETCH)
        self._latching = latching

    def _fetch(self, until: float) -> None:
        """Process the received latched messages, with their age by the publisher's clock."""
        while (found := take_message(self._fetching)) is not None:
            message, info = found
            self._fetched = True
            self._live = False
            self._take(message, max(0.0, time.time() - info['source_timestamp'] * 1e-9))
            self._live = True
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
        """Read the newest message; earlier ones are never deserialized."""
        self._polling = Timeout(self._node, 1.0 / self.need.max_rate, self._poll)
        found = take_message(self._subscription)
        if found is not None:
            self._receive(*found)


def gids_of(infos: Iterable[Any]) -> frozenset[bytes]:
    """Return the ids of endpoints."""
    return frozenset(bytes(info.endpoint_gid) for info in infos)


def _finding(trouble: str) -> str:
    """Return a trouble without its details: nodes, which may not be known at first, and sizes."""
    return trouble.partition(':')[0]


def unspun(node: ManagedNode) -> Node:
    """
    Return a node of this process that is not spun; the same one for each call.

    So the middleware keeps its messages until they are polled, and they do not wake this process.
    """
    found: Node = node.keep('unspun', lambda: Node(
        f'_{node.get_name()}_capped', namespace=node.get_namespace(), context=node.context,
        use_global_arguments=False, enable_rosout=False, start_parameter_services=False))
    return found


class Subscriptions:
    """All topics of the facts file; each is subscribed while it is held."""

    def __init__(
        self, node: ManagedNode, needs: Iterable[TopicNeed], *, linger: Callable[[], float]
    ) -> None:
        self.readers = {need.topic: TopicReader(node, need) for need in needs}
        self._node = node
        self._linger = linger
        self._lingering: dict[str, Timeout] = {}
        self._looking: Timeout | None = None

    def hold(self, topics: Iterable[str]) -> Callable[[], None]:
        """Subscribe to these topics until the returned function is called."""
        held = [self.readers[topic] for topic in topics]
        for reader in held:
            reader.users += 1
            lingering = self._lingering.pop(reader.need.topic, None)
            if lingering is not None:
                lingering.cancel()
        if any(not reader.subscribed for reader in held):
            self._poll()

        def release() -> None:
            while held:
                self._release(held.pop())
        return release

    def trouble(self) -> list[str]:
        """Return the faults of the subscribed topics."""
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
        """Unsubscribe after `linger()` s, as the next action often needs the same topics."""
        reader.users -= 1
        if reader.users == 0:
            topic = reader.need.topic

            def close() -> None:
                self._lingering.pop(topic, None)
                reader.close()
            self._lingering[topic] = Timeout(self._node, self._linger(), close)

    def _poll(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        wanted = [reader for reader in self.readers.values() if reader.users]
        before = set(map(_finding, self.trouble()))
        found = [reader.discover() for reader in wanted]
        for trouble in self.trouble():
            if _finding(trouble) not in before:
                self._node.get_logger().error(trouble)
        if wanted:
            self._looking = Timeout(
                self._node, POLL_PERIOD if all(found) else FAST_POLL_PERIOD, self._poll)
