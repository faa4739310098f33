# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Publishes messages in which the facts and the safety topics have their scripted values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy

from ...documents.errors import LifecycleError
from ...ros.interfaces.message_fields import fill
from ...ros.interfaces.types import class_of, fields_of, message_class
from ...testing.fact_messages import is_timing, TopicMessages, Writer
from ...world.expressions.constant_values import as_value
from ...world.facts.facts import FactSet, TopicFact
from ...world.facts.message_values import fields_in
from ...world.facts.safety_topics import SafetyTopic

FASTEST, SLOWEST = 0.02, 0.25  #: s between two messages of a topic that grows old
LATCHED = 1.0  #: s between two messages of a latched topic
NUMBERS = (int, float, np.ndarray)
SHARE = 4.0  #: messages in the shortest `max_age` or window of a topic


class TopicPublisher:
    """One topic, with the facts and the safety topics that are read from it."""

    def __init__(
        self, node: Node, topic: str, facts: Sequence[TopicFact], safety: Sequence[SafetyTopic],
        base: Mapping[str, Any], writers: Mapping[str, Writer],
    ) -> None:
        self.topic = topic
        self._node = node
        self._facts = list(facts)
        self._safety = list(safety)
        type_name = str(facts[0].spec.type if facts else safety[0].spec.type)
        self._class = message_class(type_name)
        self._base = base
        faults = list(fill(self._class(), base, 'messages'))
        if faults:
            raise LifecycleError(f"topic '{topic}': {faults[0]}")
        self.messages = TopicMessages(facts, safety, self._new, new_element, writers)
        self._frame = next((fact.spec.frame for fact in facts if fact.spec.frame), '')
        self._publisher = node.create_publisher(self._class, topic, self._qos())
        self._next = -math.inf
        self._built: tuple[Any, Any] = (None, None)  #: values and their message
        self._told = ''
        self._noise = {fact.name: noise for fact in facts if (noise := _noise(fact))}
        self._sign = 1.0

    def _new(self) -> Any:
        message = self._class()
        list(fill(message, self._base, 'messages'))
        return message

    @property
    def _specs(self) -> list[Any]:
        return [*(fact.spec for fact in self._facts), *(topic.spec for topic in self._safety)]

    def _qos(self) -> QoSProfile:
        """Return a profile to which each subscription can connect."""
        latched = any(math.isinf(fact.spec.max_age) for fact in self._facts) or any(
            topic.spec.mode == 'on_change' for topic in self._safety) or any(
            spec.qos.durability == 'transient_local' for spec in self._specs)
        reliable = all(spec.qos.reliability != 'best_effort' for spec in self._specs)
        return QoSProfile(
            depth=1 if latched else 10,
            reliability=QoSReliabilityPolicy.RELIABLE if reliable or latched
            else QoSReliabilityPolicy.BEST_EFFORT,
            durability=QoSDurabilityPolicy.TRANSIENT_LOCAL if latched
            else QoSDurabilityPolicy.VOLATILE)

    def period(self, values: Mapping[str, Any]) -> float:
        """Return the time (s) between two messages; infinite: none."""
        for fact in self._facts:
            value = values.get(fact.name)
            if value is not None and fact.over_time in ('rate', 'count') and is_timing(fact):
                rate = float(value) / (1.0 if fact.over_time == 'rate' else fact.spec.window)
                return 1.0 / rate if rate > 0 else math.inf
        wanted = [period for fact in self._facts if (period := _healthy_period(fact))]
        if wanted:
            return min(wanted)
        spans = [fact.spec.max_age for fact in self._facts]
        spans += [fact.spec.window for fact in self._facts if fact.spec.window]
        spans += [topic.spec.max_age for topic in self._safety if topic.spec.mode == 'heartbeat']
        shortest = min(spans, default=math.inf)
        return LATCHED if math.isinf(shortest) else min(max(shortest / SHARE, FASTEST), SLOWEST)

    def publish(self, now: float, values: Mapping[str, Any], pressed: bool, stamp: Any) -> None:
        """Publish if it is time, or if a latched value or the e-stop has changed."""
        own = {name: values[name] for name in self.messages.names}
        if all(value is None for value in own.values()) and not self._safety:
            return
        key = repr((own, pressed))
        changed = key != self._built[0]
        period = self.period(own)
        if now < self._next and not (changed and (self._safety or period == LATCHED)):
            return
        if math.isinf(period) or (pressed and any(topic.read is None for topic in self._safety)):
            return
        if changed or self._noise:
            self._sign = -self._sign
            own.update({name: own[name] + self._sign * noise for name, noise in
                        self._noise.items() if isinstance(own[name], NUMBERS)
                        and not isinstance(own[name], bool)})
            self._built = key, self._message(own, pressed)
        message = self._built[1]
        if message is None:
            return
        self._next = max(self._next + period, now) if self._next > now - period else now + period
        _stamp(message, stamp, self._frame)
        self._publisher.publish(message)

    def _message(self, own: Mapping[str, Any], pressed: bool) -> Any:
        """Return the message; None if there is none, which is logged."""
        try:
            return self.messages.message(own, pressed)
        except LifecycleError as error:
            if str(error) != self._told:
                self._told = str(error)
                self._node.get_logger().error(f"topic '{self.topic}' is silent: {error}")
            return None


def topic_publishers(
    node: Node, facts: FactSet, messages: Mapping[str, Any], writers: Mapping[str, Writer]
) -> list[TopicPublisher]:
    """Return a publisher for each topic of the facts and for each safety topic."""
    of_topic: dict[str, list[TopicFact]] = {}
    for fact in facts.values():
        if isinstance(fact, TopicFact):
            of_topic.setdefault(fact.topic, []).append(fact)
    safety: dict[str, list[SafetyTopic]] = {}
    for topic in facts.safety:
        safety.setdefault(topic.spec.topic, []).append(topic)
    return [TopicPublisher(node, topic, of_topic.get(topic, ()), safety.get(topic, ()),
                           messages.get(topic, {}), writers)
            for topic in {**of_topic, **safety}]


def new_element(message: Any, field: str) -> Any:
    """Return a new element of an array of a message."""
    kind = fields_of(type(message))[field].value_type
    if hasattr(kind, 'namespaces'):
        return class_of(kind)()
    name = getattr(kind, 'typename', 'string')
    return {'boolean': False, 'float': 0.0, 'double': 0.0, 'long double': 0.0, 'octet': b'\0',
            'string': '', 'wstring': ''}.get(name, 0)


def value_of(course: Any) -> Any:
    """Return the value to which a course of a script leads; None: silence."""
    given = getattr(course, 'to', course)
    return None if given is None else as_value(given)


def _healthy_period(fact: TopicFact) -> float:
    """Return the time (s) between messages that `health.rate` asks for; 0: nothing is asked."""
    rate = fact.spec.health.rate if fact.spec.health is not None else None
    if rate is None:
        return 0.0
    least, most = rate if isinstance(rate, (tuple, list)) else (rate.min, rate.max)
    wanted = (least + most) / 2 if most is not None and math.isfinite(most) else 1.5 * least
    return 1.0 / wanted if wanted > 0 else 0.0


def _noise(fact: TopicFact) -> float:
    """Return a noise at which `health.frozen` takes a sensor for alive; 0: it is not checked."""
    frozen = fact.spec.health.frozen if fact.spec.health is not None else None
    if frozen is None:
        return 0.0
    return max(getattr(frozen, 'noise', 0.0), getattr(frozen, 'resolution', 0.0), 1e-6)


def _stamp(message: Any, stamp: Any, frame: str) -> None:
    """Set the stamps of a message: of its header, else of those of its elements."""
    header = getattr(message, 'header', None)
    if header is not None:
        header.stamp = stamp
        header.frame_id = header.frame_id or frame
        return
    if message.get_fields_and_field_types().get('stamp') == 'builtin_interfaces/Time':
        message.stamp = stamp
        return
    for name in fields_in(message):
        part = getattr(message, name)
        for item in part if isinstance(part, list) else ():
            if hasattr(item, 'get_fields_and_field_types'):
                _stamp(item, stamp, frame)
