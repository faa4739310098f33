# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The last messages of each topic, by reference, bounded in time and memory.

Nothing is copied or serialized when a message arrives. All times are seconds of ROS time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
import math
import sys
from typing import Any

Entry = tuple[float, float, Any, int]
"""A message: arrival time, age (s) at the arrival, the message, its size in bytes."""
SAMPLED = 100  #: the size of each 100th message of a topic is measured
UNLIKE = (0.5, 1.25)  #: and that of each one whose lists are shorter or longer by these factors
KEYS = 1000  #: maximum number of keys for which a message from before the period is kept
JUMP = 0.1  #: s; if time jumps back by more, all messages are dropped, as the world model does
SPARE = 0.1  #: share of the memory that is freed when it is full, so that this is done rarely


class Ring:
    """
    The messages of one topic.

    `key`: from all messages before the period, the last one of each key is kept, so that slow and
    latched topics are in the bag; None: they are dropped.
    """

    def __init__(
        self, topic: str, type_name: str, key: Callable[[Any], Hashable] | None, seconds: float,
        stand_in: bool,
    ) -> None:
        self.topic = topic
        self.type = type_name
        self.key = key
        self.seconds = seconds
        self.stand_in = stand_in  #: only used if no other ring has messages of the topic
        self.entries: deque[Entry] = deque()
        self.before: dict[Hashable, Entry] = {}
        self.bytes = 0  #: of `entries` and `before`
        self.cut = -math.inf  #: arrival of the last message that was dropped for lack of memory
        self.count = 0  #: messages that arrived
        self.size = 0  #: of the last measured message
        self.length = 0  #: of its lists together
        self.lists: tuple[str, ...] = ()  #: fields of its messages that are lists or text

    def size_of(self, message: Any) -> int:
        """Return about the size (bytes) of the message that arrives."""
        if self.count == 0:
            self.lists = tuple(name for name in getattr(type(message), '__slots__', ())
                               if hasattr(getattr(message, name, None), '__len__'))
        length = len(message) if isinstance(message, bytes) else 0
        for name in self.lists:
            length += len(getattr(message, name))
        low, high = UNLIKE
        if self.count % SAMPLED == 0 or not low * self.length <= length <= high * self.length:
            self.length, self.size = length, size_of(message)
        self.count += 1
        return self.size

    def retire(self) -> int:
        """Move the oldest message out of the period; returns the number of freed bytes."""
        entry = self.entries.popleft()
        freed = entry[3]
        if self.key is not None:
            key = self.key(entry[2])
            old = self.before.pop(key, None)
            self.before[key] = entry
            freed = 0 if old is None else old[3]
            if len(self.before) > KEYS:
                freed += self.before.pop(next(iter(self.before)))[3]
        self.bytes -= freed
        return freed

    def since(self, start: float) -> Excerpt:
        """Return the messages since `start`, and those that show the state before."""
        later = list(self.entries)
        earlier = 0
        while earlier < len(later) and later[earlier][0] < start:
            earlier += 1
        if self.key is None:
            known = later[:earlier]
        else:
            last = dict(self.before)
            for entry in later[:earlier]:
                last[self.key(entry[2])] = entry
            known = sorted(last.values(), key=lambda entry: entry[0])
        return Excerpt(self.topic, self.type, known, later[earlier:], self.cut)

    def clear(self) -> None:
        """Drop all messages."""
        self.entries.clear()
        self.before.clear()
        self.bytes = 0
        self.cut = -math.inf


@dataclass(frozen=True)
class Excerpt:
    """The messages of one topic for a bag: those before the period, and those in it."""

    topic: str
    type: str  # noqa: A003
    before: list[Entry]
    entries: list[Entry]
    cut: float


class Rings:
    """The rings of all topics: `seconds` of each, together at most `limit` bytes."""

    def __init__(self, seconds: float, limit: int) -> None:
        self.seconds = seconds
        self.limit = limit
        self.bytes = 0
        self._rings: list[Ring] = []
        self._kept: dict[object, float] = {}
        self._keep = math.inf  #: the earliest time that `keep` was asked for

    def open(  # noqa: A003
        self, topic: str, type_name: str, *, key: Callable[[Any], Hashable] | None,
        seconds: float = 0.0, stand_in: bool = False,
    ) -> Ring:
        """Add the ring of a topic; see `Ring`."""
        ring = Ring(topic, type_name, key, max(seconds, self.seconds), stand_in)
        self._rings.append(ring)
        return ring

    def add(self, ring: Ring, message: Any, received: float, age: float = 0.0) -> None:
        """Add a message that arrived at `received`, `age` s after it was published."""
        entries = ring.entries
        if entries and received < entries[-1][0] - JUMP:
            self.clear()
        size = ring.size_of(message)
        entries.append((received, age, message, size))
        ring.bytes += size
        self.bytes += size
        start = received - ring.seconds
        if self._keep < start:
            start = self._keep
        while entries[0][0] < start:
            self.bytes -= ring.retire()
        if self.bytes > self.limit:
            self._shrink()

    def keep(self, start: float) -> Callable[[], None]:
        """Keep messages since `start` until the returned function is called."""
        key = object()
        self._kept[key] = start
        self._keep = min(self._kept.values())

        def release() -> None:
            self._kept.pop(key, None)
            self._keep = min(self._kept.values(), default=math.inf)
        return release

    def since(self, start: float) -> list[Excerpt]:
        """Return the messages of all topics since `start`, and those that show the state then."""
        found: dict[str, Excerpt] = {}
        for ring in sorted(self._rings, key=lambda ring: ring.stand_in):
            if ring.bytes and not (ring.stand_in and ring.topic in found):
                found[ring.topic] = ring.since(start)
        return list(found.values())

    def count(self) -> int:
        """Return the number of messages in the rings."""
        return sum(len(ring.entries) + len(ring.before) for ring in self._rings)

    def clear(self) -> None:
        """Drop all messages."""
        for ring in self._rings:
            ring.clear()
        self.bytes = 0

    def _shrink(self) -> None:
        """Drop the oldest messages of the topics that need most memory; one of each stays."""
        while self.bytes > (1.0 - SPARE) * self.limit:
            ring = max(self._rings, key=lambda ring: ring.bytes if len(ring.entries) > 1 else 0)
            if len(ring.entries) <= 1:
                return
            ring.cut = ring.entries[0][0]
            self.bytes -= ring.retire()


def one_key(message: Any) -> Hashable:
    """Return the key of a topic whose last message shows the state."""
    return None


def child_frames(message: Any) -> Hashable:
    """Return the frames that a tf2_msgs/msg/TFMessage is about: each publisher has its own."""
    return tuple(transform.child_frame_id for transform in message.transforms)


def size_of(value: Any) -> int:
    """Return the memory (bytes) of a message with its fields, or of a field's value."""
    size = sys.getsizeof(value)  # of an array with its elements
    if isinstance(value, (list, tuple)):
        return size + sum(map(size_of, value))
    return size + sum(size_of(getattr(value, name, None))
                      for name in getattr(type(value), '__slots__', ()))
