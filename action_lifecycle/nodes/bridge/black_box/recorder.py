# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Records what arrives at the bridge and what it publishes."""

from __future__ import annotations

from collections.abc import Callable
import functools
from typing import Any

from rclpy.qos import QoSProfile

from .rings import child_frames, one_key, Rings
from .writing import EVENTS
from ....ros.interfaces.qos import event_qos
from ....ros.node.lifecycle_node import ManagedNode

TF_TYPE = 'tf2_msgs/msg/TFMessage'
PUBLISHED = ('~/confirmations', '~/facts', '~/safety')  #: topics of the bridge that are recorded
EVENT_TOPICS = dict(zip(('state_changes', 'flow_changes'), EVENTS))
EVENT_SECONDS = 600.0  #: s for which changes of actions and flows are kept


class Recorder:
    """Keeps messages in `rings`; None: it records nothing."""

    def __init__(self, node: ManagedNode, rings: Rings | None) -> None:
        self.topics: dict[str, str] = {}  #: resolved names by the names in the facts file
        self._node = node
        self._rings = rings
        if rings is not None:
            self._listen(rings)

    def recording(
        self, topic: str, type_name: str, take: Callable[..., tuple[float, float]],
        *, stand_in: bool = False,
    ) -> Callable[..., Any]:
        """
        Return `take(message, age)` of a topic so that it also records the message.

        `take` returns the time of arrival (ROS time, s) and the age (s) that count.
        `stand_in`: see `Ring`.
        """
        if self._rings is None:
            return take
        name = self.topics[topic] = self._node.resolve_topic_name(topic)
        ring = self._rings.open(
            name, type_name, stand_in=stand_in,
            key=child_frames if type_name == TF_TYPE else one_key)
        add = self._rings.add

        def recorded(message: Any, *age: float) -> None:
            arrival = take(message, *age)
            try:
                add(ring, message, *arrival)
            except Exception:  # of a callback; it must not end the node
                self._node.log_exception(f'black box, topic {name}')
        return recorded

    def published(self, publisher: Any, topic: str, kind: type) -> Any:
        """Return a publisher of the bridge so that its messages are recorded, if they are."""
        if self._rings is None or topic not in PUBLISHED:
            return publisher
        add = self._rings.add
        ring = self._rings.open(
            self._node.resolve_topic_name(topic), f'action_lifecycle_msgs/msg/{kind.__name__}',
            key=one_key)
        return _RecordedPublisher(
            publisher, lambda message: add(ring, message, self._node.now()))

    def _listen(self, rings: Rings) -> None:
        """Subscribe to the changes of actions and flows; they are not deserialized."""
        node, add = self._node, rings.add
        for topic, type_name in EVENT_TOPICS.items():
            name = node.resolve_topic_name(f"{node.parameter('action_node')}/{topic}")
            ring = rings.open(name, type_name, key=None, seconds=EVENT_SECONDS)
            node.defer(functools.partial(node.destroy_subscription, node.create_subscription(
                EVENTS[type_name], name,
                node.guarded(lambda data, ring=ring: add(ring, data, node.now()), what=name),
                QoSProfile(depth=event_qos().depth), raw=True)))


class _RecordedPublisher:
    """A publisher whose messages are also given to `record`."""

    def __init__(self, publisher: Any, record: Callable[[Any], None]) -> None:
        self._publisher = publisher
        self._record = record

    def publish(self, message: Any) -> None:
        self._publisher.publish(message)
        self._record(message)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._publisher, name)
