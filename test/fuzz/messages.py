# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages as they come: serialized bytes, read back, handed to facts, judged and published."""

from __future__ import annotations

import random
from typing import Any

from action_lifecycle.documents.errors import DocumentError, LifecycleError
from action_lifecycle.world import Condition, parse_facts, WorldModel
from action_lifecycle.world.facts.facts import TopicFact

from .case import Case
from .facts import topic_fact, TYPES
from .yaml_text import Writer

FACTS_OF_A_BLOCK = 16
MESSAGES_OF_A_BLOCK = 24


class Damaged(LifecycleError):
    """Bytes that the middleware does not read as a message."""


class Messages(Case):
    """
    Messages of many types in a world model with facts on all of their fields.

    Half of them are read from damaged bytes; what the middleware refuses gets no further.
    """

    block = 1024

    def prepare(self) -> None:
        from action_lifecycle.ros.conversions.evidence import evidence_to, fact_to
        from action_lifecycle.ros.interfaces.field_kinds import field_kind
        from action_lifecycle.ros.interfaces.message_fields import fill
        from action_lifecycle.ros.interfaces.types import message_class
        from action_lifecycle.world.unmet_conditions import Topics, unmet_text
        from rclpy.serialization import deserialize_message, serialize_message

        from .ros_data import data_of, spoil
        self.evidence_to, self.fact_to, self.in_words = evidence_to, fact_to, unmet_text
        self.topics = Topics({}, lambda topic: '')
        self.field_kind, self.fill, self.data_of, self.spoil = field_kind, fill, data_of, spoil
        self.classes = {name: message_class(name) for name in TYPES}
        self.serialize, self.deserialize = serialize_message, deserialize_message
        self.serialize(self.classes[TYPES[0]]())

    def begin(self, rng: random.Random) -> None:
        types = rng.sample(TYPES, 4)
        facts: dict[str, Any] = {}
        for number_of in range(FACTS_OF_A_BLOCK):
            name = f'f{number_of}'
            for _ in range(9):
                type_name = rng.choice(types)
                fact = topic_fact(rng, type_name, _topic(type_name))
                try:
                    parse_facts(Writer(rng).write({'estop': 'none', 'facts': {name: fact}}),
                                field_kind=self.field_kind)
                except DocumentError:
                    continue
                facts[name] = fact
                break
        facts['pose'] = {'tf': {'target': 'base', 'source': 'camera'}}
        facts['longer'] = {'expression': 'norm(pose) * 2'}
        made = parse_facts(Writer(rng).write({'estop': 'none', 'facts': facts}),
                           field_kind=self.field_kind)
        self.model = WorldModel(made, late=rng.choice((0.05, float('inf'))))
        self.facts = made
        self.on_topic: Any = {topic: [
            name for name, fact in made.items()
            if not isinstance(fact, TopicFact) or fact.topic == topic]
            for topic in ('/tf_static', *(_topic(type_name) for type_name in types))}
        self.now = 1000.0
        self.results: list[Any] = []
        self.names = sorted(facts)
        for _ in range(6):
            name = rng.choice(self.names)
            text = rng.choice((f'{name} == {name}', f'any({name} > 0)', f'norm({name}) < 5',
                               f'len({name}) > 1 or {name} == {name}', f'{name}[0] > 0'))
            ask = rng.choice((self.model.confirm, self.model.maintain, self.model.until_known))
            try:
                ask([Condition('c', text, 0.0, 5.0)], self.now, self.results.append)
            except DocumentError:
                continue

        self.raw = []
        for _ in range(MESSAGES_OF_A_BLOCK):
            type_name = rng.choice(types)
            self.raw.append((type_name, self.serialize(self._made(
                rng, type_name, self.data_of(rng, self.classes[type_name])))))

    def make(self, rng: random.Random) -> Any:
        type_name, source = rng.choice(self.raw)
        raw = message = None
        if rng.random() < 0.5:
            message = self.deserialize(source, self.classes[type_name])
            for _ in range(rng.choice((0, 1, 1, 3))):
                self.spoil(rng, message)
        else:
            raw = bytearray(source)
            for _ in range(rng.choice((0, 1, 1, 2, 8))):
                _damage(rng, raw)
            if rng.random() < 0.1:
                raw = raw[:rng.randrange(len(raw) + 1)]
        step = rng.choice((0.0, 0.01, 0.1, 1.0, -0.05, -10.0, 100.0, 1e-9))
        return type_name, message if raw is None else bytes(raw), step, \
            rng.choice((0.0, 0.0, 0.5, 100.0)), rng.randrange(FACTS_OF_A_BLOCK), \
            rng.random() < 0.05, rng.random() < 0.1

    def _made(self, rng: random.Random, type_name: str, data: Any) -> Any:
        message = self.classes[type_name]()
        list(self.fill(message, data))
        if type_name.endswith('PointCloud2') and rng.random() < 0.8:
            _cloud(rng, message)
        elif type_name.endswith('Image') and rng.random() < 0.8:
            _image(rng, message)
        elif type_name.endswith('JointState') and rng.random() < 0.8:
            message.name = ['elbow', 'a', 'b'][:rng.randrange(4)]
            message.position = [rng.uniform(-1, 1) for _ in range(rng.randrange(4))]
        elif type_name.endswith('TFMessage'):
            for entry in message.transforms:
                entry.header.frame_id = rng.choice(('base', 'camera', '/base', ''))
                entry.child_frame_id = rng.choice(('camera', 'base', 'a', ''))
        return message

    def check(self, given: Any) -> bool:
        type_name, message, step, age, which, static, judged = given
        if isinstance(message, bytes):
            try:
                message = self.deserialize(message, self.classes[type_name])
            except Exception as error:
                raise Damaged(str(error)) from error
        topic = ('/tf_static' if static else '/tf') if type_name.endswith('TFMessage') \
            else _topic(type_name)
        self.now = max(1.0, self.now + step)
        model, now = self.model, self.now
        model.ingest(topic, message, now, age)
        model.advance(min(model.next_deadline(), now + 0.5))
        for name in self.on_topic[topic]:
            value = model.value(name, now)
            self.fact_to(value.as_dict(), self.topics)
        name = self.names[which % len(self.names)]
        evidence: Any = ()
        if judged and self._comparable(name):
            _, evidence = model.evaluate([Condition('c', f'{name} == {name}')], now)
        for entry in evidence:
            self.evidence_to(entry.as_dict(), self.topics)
        self.in_words(evidence, self.topics)
        for result in self.results:
            for entry in result.evidence:
                self.evidence_to(entry.as_dict(), self.topics)
        self.results.clear()
        return True

    def _comparable(self, name: str) -> bool:
        from action_lifecycle.world.expressions.value_types import Kind
        return self.facts.kinds[name] in (Kind.NUMBER, Kind.ANY, Kind.TEXT, Kind.TRUTH)


def _topic(type_name: str) -> str:
    return '/tf' if type_name.endswith('TFMessage') else type_name.rsplit('/', 1)[1].lower()


def _damage(rng: random.Random, raw: bytearray) -> None:
    place = rng.randrange(4, len(raw)) if len(raw) > 4 else 0
    change = rng.random()
    if change < 0.5:
        raw[place] ^= 1 << rng.randrange(8)
    elif change < 0.8:
        raw[place] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
    else:
        raw[place:place + 4] = rng.choice((b'\0\0\0\0', b'\xff\xff\xff\xff', b'\0\0\0\x7f',
                                           b'\0\0\xf0\x7f', b'\1\0\0\0'))[:len(raw) - place]


def _cloud(rng: random.Random, message: Any) -> None:
    from sensor_msgs.msg import PointField
    kind = rng.choice((7, 7, 7, 8, 2, 1, 0, 9, 255))
    message.fields = [PointField(name=name, offset=4 * place, datatype=kind, count=1)
                      for place, name in enumerate('xyz')]
    message.width, message.height = rng.choice(((3, 1), (2, 2), (0, 0), (2**32 - 1, 1), (4, 2)))
    message.point_step = rng.choice((12, 12, 12, 0, 1, 24, 2**32 - 1))
    message.row_step = rng.choice((message.point_step * message.width % 2**32, 0, 2**31))
    message.data = bytes(rng.choice((12 * 4, 12 * 8, 0, 7)))
    message.is_bigendian = rng.random() < 0.2
    if rng.random() < 0.1:
        message.fields[0].offset = rng.choice((2**32 - 1, 2**31, 13))


def _image(rng: random.Random, message: Any) -> None:
    message.encoding = rng.choice(('rgb8', 'mono8', 'mono16', '32FC1', '64FC4', '8UC3', '64UC1',
                                   'bayer_rggb8', '', '16SC2', '8FC1'))
    message.width, message.height = rng.choice(((4, 4), (1, 1), (0, 9), (2**16, 2**16), (2, 3)))
    message.step = rng.choice((12, 4, 0, 16, 2**32 - 1))
    message.data = bytes(rng.choice((48, 16, 0, 1, 200)))
    message.is_bigendian = rng.choice((0, 1, 255))


CASE = Messages()
