# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes the messages of a black box to a bag, in small slices, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
import functools
import heapq
import json
from pathlib import Path
from threading import Event
from time import monotonic, perf_counter, sleep
from typing import Any

from action_lifecycle_msgs.msg import ActionStateChange, FlowChange
from rclpy.serialization import deserialize_message, serialize_message

from .rings import Entry, Excerpt
from ....bags import BagWriter
from ....bags.attachment import FACTS
from ....ros.interfaces.definitions import message_definition

SLICE, PAUSE = 0.0005, 0.0015  #: s of work, then of rest, in which callbacks of the node run
CHUNK = 1 << 16  #: bytes; compressing and indexing them takes about 1 ms
HEADER = 4  #: bytes before a serialized message that tell its encoding
GRACE = 2.0  #: time (s) to complete a bag when the node ends
METADATA = 'action_lifecycle'  #: name of the metadata record
LATCHED = ('action_lifecycle_msgs/msg/WorldState', 'action_lifecycle_msgs/msg/SafetyState')
EVENTS = {'action_lifecycle_msgs/msg/ActionStateChange': ActionStateChange,
          'action_lifecycle_msgs/msg/FlowChange': FlowChange}


@dataclass(frozen=True)
class Incident:
    """Why a box is written, and about which action; empty: about none."""

    verdict: str
    reason: str
    flow_id: str = ''
    action_id: str = ''
    attempt: int = 0


class Pace:
    """Lets other threads run every `SLICE` s, until the node ends."""

    def __init__(self) -> None:
        self._ending = Event()
        self._limit = 0.0
        self._begin = 0.0

    def end(self) -> None:
        """Write without pauses from now on, for at most `GRACE` s."""
        self._limit = monotonic() + GRACE
        self._ending.set()

    def step(self) -> None:
        """Pause if it is time to; raises TimeoutError if the time to complete the bag is over."""
        if self._ending.is_set():
            if monotonic() > self._limit:
                raise TimeoutError(f'the node ended, and {GRACE:g} s did not suffice')
        elif perf_counter() - self._begin > SLICE:
            sleep(PAUSE)
            self._begin = perf_counter()


@dataclass(frozen=True)
class Box:
    """What is to be written; `start`, `end`: the period, in s of ROS time."""

    incident: Incident
    start: float
    end: float
    excerpts: list[Excerpt]
    facts: str  #: text of the facts file
    details: dict[str, str]  #: more for the metadata record


def write_box(path: Path, box: Box, pace: Pace) -> int:
    """
    Write a box and return the number of its messages.

    The file is complete, or it is not there. Raises BagError, OSError.
    """
    with BagWriter(path, chunk=CHUNK) as bag:
        bag.describe(METADATA, _metadata(box))
        if box.facts:
            bag.attach(FACTS, 'application/yaml', box.facts.encode(), box.end)
        serializers = {}
        for excerpt in box.excerpts:
            bag.add_topic(excerpt.topic, excerpt.type, message_definition(excerpt.type),
                          latched=_is_latched(excerpt))
            serializers[excerpt.topic] = serializer(excerpt.type)
            pace.step()
        for log_time, published, topic, message in _in_order(box):
            bag.write(topic, serializers[topic](message), log_time, log_time - published)
            pace.step()
    return bag.count


def _in_order(box: Box) -> Iterator[tuple[float, float, str, Any]]:
    """
    Yield (log time, publish time, topic, message), the earliest first.

    Messages from before the period are logged at its start; their publish time shows their age.
    """
    def of_topic(excerpt: Excerpt) -> Iterator[tuple[float, float, int, Entry]]:
        about = _about(box.incident, excerpt)
        for entry in excerpt.before:
            if about(entry[2]):
                yield box.start, entry[0], 0, entry
        for number, entry in enumerate(excerpt.entries, 1):
            yield entry[0], entry[0], number, entry

    def with_topic(number: int, excerpt: Excerpt) -> Iterator[tuple[Any, ...]]:
        for log_time, received, place, entry in of_topic(excerpt):
            yield log_time, received, number, place, excerpt.topic, entry

    for log_time, received, _, _, topic, entry in heapq.merge(
            *(with_topic(number, excerpt) for number, excerpt in enumerate(box.excerpts)),
            key=lambda item: item[:4]):
        yield log_time, received - entry[1], topic, entry[2]


def _is_latched(excerpt: Excerpt) -> bool:
    """Whether `ros2 bag play` is to publish a topic latched: the bridge received it so."""
    return excerpt.type in LATCHED or excerpt.topic.endswith('/tf_static') or any(
        entry[1] for entry in (*excerpt.before, *excerpt.entries))


def _about(incident: Incident, excerpt: Excerpt) -> Callable[[Any], bool]:
    """Return which messages from before the period are written: of events, those of the action."""
    event = EVENTS.get(excerpt.type)

    def about(message: Any) -> bool:
        if event is None or not isinstance(message, bytes):
            return True
        change = deserialize_message(message, event)
        return bool(incident.flow_id) and change.flow_id == incident.flow_id and (
            event is FlowChange or change.action_id == incident.action_id)
    return about


@functools.lru_cache(maxsize=1000)
def serializer(type_name: str) -> Callable[[Any], bytes]:
    """
    Return a function that serializes messages of a type; messages as bytes are left as they are.

    The middleware reserves memory for alignment that may not be needed, and does not cut it off:
    rmw_fastrtps appends up to 7 bytes for each empty sequence, which strict readers refuse.
    """
    from rosbags.typesys import get_types_from_msg, get_typestore, Stores  # an extra
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(message_definition(type_name), type_name))
    size_of = store.get_msgdef(type_name).getsize_cdr

    def serialize(message: Any) -> bytes:
        if isinstance(message, bytes):
            return message
        return serialize_message(message)[:HEADER + size_of(0, message, store)]
    return serialize


def _metadata(box: Box) -> dict[str, str]:
    incident = box.incident
    return {
        'flow_id': incident.flow_id, 'action_id': incident.action_id,
        'attempt': str(incident.attempt or ''), 'verdict': incident.verdict,
        'reason': incident.reason, 'start': f'{box.start:.9f}', 'end': f'{box.end:.9f}',
        'shortened': json.dumps({
            excerpt.topic: round(excerpt.cut, 9) for excerpt in box.excerpts
            if excerpt.cut >= box.start}),
        **box.details}
