# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drafts of facts for the topics and frames of a robot; each is read once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from keyword import iskeyword
import math
import re
from typing import Any

import yaml

from .seen_graph import SeenGraph, SeenTopic
from ...documents.errors import DocumentError
from ...lifecycle.text_format import value_in_words
from ...ros.interfaces.field_kinds import field_kind
from ...world.evidence import plain_value, Validity
from ...world.expressions.expression import is_reserved, NAME
from ...world.facts.facts_file import TF_TOPICS
from ...world.facts.loader import parse_facts
from ...world.model import WorldModel

JOINTS = 'sensor_msgs/msg/JointState'
MAX_JOINTS = 12
MAX_FRAMES = 4
PERIODS = 5
"""A sample is stale after so many periods of its topic without a newer one."""
LEAST_AGE = 0.2  #: s
FINGERS = re.compile(r'finger|grip|knuckle|hand', re.I)
TOOLS = re.compile(r'tool|tcp|flange|gripper|_ee$|eef|hand', re.I)
BASES = ('base_link', 'base_footprint')
ESTOP = re.compile(r'e_?stop|emergency|protective', re.I)
ESTOP_TYPES = ('std_msgs/msg/Bool', 'std_msgs/msg/UInt8')

FIELDS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    'nav_msgs/msg/Odometry': (('speed', 'twist.twist.linear', 'norm', 'm/s'),
                              ('turning', 'twist.twist.angular', 'norm', 'rad/s')),
    'geometry_msgs/msg/PoseStamped': (('', 'pose.position', '', 'm'),),
    'geometry_msgs/msg/PoseWithCovarianceStamped': (('', 'pose.pose.position', '', 'm'),),
    'geometry_msgs/msg/WrenchStamped': (('force', 'wrench.force', 'norm', 'N'),
                                        ('torque', 'wrench.torque', 'norm', 'N.m')),
    'sensor_msgs/msg/Range': (('', 'range', '', 'm'),),
    'sensor_msgs/msg/LaserScan': (('nearest', 'ranges', 'min', 'm'),),
    'sensor_msgs/msg/BatteryState': (('battery', 'percentage', '', ''),
                                     ('battery_current', 'current', '', 'A')),
    'sensor_msgs/msg/Imu': (('rotation', 'angular_velocity', 'norm', 'rad/s'),),
    'sensor_msgs/msg/Temperature': (('', 'temperature', '', 'deg C'),),
    'sensor_msgs/msg/FluidPressure': (('', 'fluid_pressure', '', 'Pa'),),
    **{f'std_msgs/msg/{name}': (('', 'data', '', ''),) for name in (
        'Bool', 'Float32', 'Float64', 'Int8', 'Int16', 'Int32', 'Int64', 'UInt8', 'UInt16',
        'UInt32', 'UInt64', 'String')},
}
"""By message type: end of the fact's name ('': that of the topic), field, reducer, unit."""


def is_read(name: str, type_name: str) -> bool:
    """Return whether facts are drafted for a topic."""
    return type_name in FIELDS or type_name == JOINTS


@dataclass
class FactDraft:
    """A fact of the draft; `read`: its value in words, or why it has none."""

    name: str
    fields: dict[str, Any]
    topic: str = ''  #: full name; '' for tf
    joint: str = ''
    valid: bool = False
    value: Any = None
    read: str = ''


@dataclass
class FactsDraft:
    """A facts file; `text` is its content."""

    facts: list[FactDraft] = field(default_factory=list)
    estop: dict[str, Any] | None = None
    estops: list[str] = field(default_factory=list)  #: other topics with such names
    pressed: bool = False  #: the value that was read means that it stops
    text: str = ''

    def valid(self) -> dict[str, FactDraft]:
        """Return the facts that were read, by name."""
        return {fact.name: fact for fact in self.facts if fact.valid}

    def joints(self) -> list[FactDraft]:
        """Return the positions of joints that were read."""
        return [fact for fact in self.facts if fact.valid and fact.joint]


def draft_facts(seen: SeenGraph, now: float) -> FactsDraft:
    """Return a facts file for what was seen; `now`: ROS time (s)."""
    draft = FactsDraft()
    draft.estop, draft.pressed, draft.estops = _estop(seen)
    taken: set[str] = set()
    for fact in [*_of_tf(seen), *(fact for topic in sorted(
            seen.topics.values(), key=lambda topic: topic.name)
            if is_read(topic.name, topic.type) and not _is_estop(seen, topic, draft.estop)
            for fact in _of_topic(seen, topic))]:
        fact.name = _free(fact, taken)
        taken.add(fact.name)
        draft.facts.append(fact)
    _read(draft, seen, now)
    draft.text = _written(draft, seen)
    parse_facts(draft.text, 'facts.yaml', field_kind)
    return draft


# -- what may be a fact

def _of_topic(seen: SeenGraph, topic: SeenTopic) -> Iterator[FactDraft]:
    common = {'topic': seen.name_in_files(topic.name), 'type': topic.type}
    age = {'max_age': _max_age(topic)}
    if topic.type != JOINTS:
        for end, path, reducer, unit in FIELDS[topic.type]:
            yield FactDraft(end or _cleaned(seen.name_in_files(topic.name)), {
                **common, 'field': path, **({'reduce': reducer} if reducer else {}), **age,
                **({'unit': unit} if unit else {})}, topic.name)
        return
    message = topic.messages[-1][1] if topic.messages else None
    names = list(message.name) if message is not None else []
    for joint in names[:MAX_JOINTS]:
        if joint.isprintable() and joint and not {'"', "'"} <= set(joint):
            yield FactDraft(_cleaned(joint), {
                **common, 'field': f'position[name={_quoted(joint)}]', **age}, topic.name, joint)
    if message is not None and len(message.velocity):
        yield FactDraft('joint_speed', {**common, 'field': 'velocity', 'reduce': 'norm', **age},
                        topic.name)


def _of_tf(seen: SeenGraph) -> Iterator[FactDraft]:
    """Yield the pose of the base in the map, and those of tools in their roots."""
    def root(frame: str) -> str:
        known = [frame]
        while frame in seen.frames and seen.frames[frame] not in known:
            frame = seen.frames[frame]
            known.append(frame)
        return frame

    bases = [frame for frame in BASES if frame in seen.frames and root(frame) != frame]
    for frame in bases[:1]:
        for name, part in (('at', 'translation'), ('heading', 'rotation')):
            yield FactDraft(name, {
                'tf': {'target': root(frame), 'source': frame,
                       **({'part': part} if part != 'translation' else {})},
                'max_age': 0.5, **({'unit': 'm'} if part == 'translation' else {})})
    parents = set(seen.frames.values())
    leaves = [frame for frame in sorted(seen.frames) if frame not in parents]
    tools = [frame for frame in sorted(seen.frames) if TOOLS.search(frame)] or (
        [] if bases else leaves)
    for frame in tools[:MAX_FRAMES]:
        yield FactDraft(_cleaned(frame), {
            'tf': {'target': root(frame), 'source': frame}, 'max_age': 0.5, 'unit': 'm'})


def _estop(seen: SeenGraph) -> tuple[dict[str, Any] | None, bool, list[str]]:
    """Return the entry of a topic with the name of an e-stop, whether it stops now, and others."""
    def stops_now(topic: SeenTopic) -> bool:
        return bool(topic.messages) and bool(topic.messages[-1][1].data)

    found = sorted((topic for topic in seen.topics.values()
                    if ESTOP.search(topic.name) and topic.type in ESTOP_TYPES),
                   key=lambda topic: (stops_now(topic), topic.name))
    if not found:
        return None, False, []
    topic = found[0]
    regular = topic.rate() >= 1.0
    return {'topic': seen.name_in_files(topic.name), 'type': topic.type, 'field': 'data',
            'stop_when': True,
            **({'mode': 'heartbeat', 'max_age': min(_max_age(topic), 60.0)} if regular
               else {'mode': 'on_change'})}, stops_now(topic), [
                   seen.name_in_files(other.name) for other in found[1:]]


def _is_estop(seen: SeenGraph, topic: SeenTopic, estop: dict[str, Any] | None) -> bool:
    return estop is not None and estop['topic'] == seen.name_in_files(topic.name)


def _quoted(joint: str) -> str:
    """Return the name of a joint as a field path takes it."""
    if re.fullmatch(r'[\w/.-]+', joint):
        return joint
    return f"'{joint}'" if '"' in joint else f'"{joint}"'


def _max_age(topic: SeenTopic) -> float:
    """Return a time (s) after which a sample is stale; infinite for one that is latched."""
    rate = topic.rate()
    if rate:
        return max(LEAST_AGE, float(f'{PERIODS / rate:.1g}'))
    return math.inf if topic.latched else 1.0


def _cleaned(name: str) -> str:
    """Return a name as that of a fact."""
    text = re.sub(r'\W+', '_', name, flags=re.ASCII).strip('_') or 'fact'
    return text if text[0].isalpha() else f'f_{text}'


def _free(fact: FactDraft, taken: set[str]) -> str:
    """Return the name of a fact; the first that is not taken."""
    topic = _cleaned(fact.topic)
    candidates = [fact.name, *([f'{topic}_{fact.name}'] if topic != fact.name else []),
                  *(f'{fact.name}_{number}' for number in range(2, 1000))]
    return next(name for name in candidates if name not in taken and NAME.match(name)
                and not is_reserved(name) and not iskeyword(name))


# -- reading

def _read(draft: FactsDraft, seen: SeenGraph, now: float) -> None:
    """Read each fact once, as the bridge does, from the messages that came."""
    facts = {fact.name: fact.fields for fact in draft.facts}
    try:
        parsed = parse_facts(yaml.safe_dump({'estop': 'none', 'facts': facts}), 'facts.yaml',
                             field_kind)
    except DocumentError as error:  # a type without the field: it has another definition
        for fact in draft.facts:
            fact.read = next((fault.message for fault in error.faults
                              if f"'{fact.name}'" in fault.message), 'it was not read')
        return
    model = WorldModel(parsed)
    arrived = sorted(
        ((at, name, message) for name, topic in seen.topics.items()
         for at, message in topic.messages), key=lambda one: one[0])
    for at, name, message in arrived:
        topic = name if name in TF_TOPICS else seen.name_in_files(name)
        model.ingest(topic, message, at)
    newest = arrived[-1][0] if arrived else now
    for fact in draft.facts:
        value = model.value(fact.name, newest)
        fact.valid = value.validity is Validity.VALID
        fact.value = plain_value(value.value) if fact.valid else None
        fact.read = value_in_words(value.as_dict()) if fact.valid else (
            value.note or value.validity.name.lower())


# -- the file

_HEAD = """\
# Facts of a robot, drafted from its running graph. Each was read once; the comment behind it says
# what it was. Delete what you do not need, and give the others names that say what they measure.
#
# Ask of each: is it measured, or does a program believe it? A joint position that the controller
# commands shows nothing. Samples older than max_age (s) count as unknown.
"""
_NO_ESTOP = """
# No topic has the name of an e-stop. If your robot has one, write it here: docs/world.md.
estop: none
"""
_ESTOP = """
# {name} looks like an e-stop; now it would {now}. Press it and look: does the value become true?
# If it is true while the e-stop is released, write stop_when: false.{others}
estop: {fields}
"""


def _written(draft: FactsDraft, seen: SeenGraph) -> str:
    parts = [_HEAD]
    if draft.estop is None:
        parts.append(_NO_ESTOP)
    else:
        parts.append(_ESTOP.format(
            name=draft.estop['topic'], now='stop' if draft.pressed else 'not stop',
            others=''.join(f'\n# {name} looks like one, too: safety in docs/world.md.'
                           for name in draft.estops),
            fields=_flow_style(draft.estop)))
    valid = [fact for fact in draft.facts if fact.valid]
    parts.append('\nfacts:\n' if valid else '\nfacts: {}\n')
    topic = None
    for fact in valid:
        if fact.topic != topic:
            topic = fact.topic
            parts.append(f'  # {_described(seen.topics[topic])}\n' if topic else '  # tf\n')
        parts.append(f'  {fact.name}: {_flow_style(fact.fields)}  # {_one_line(fact.read)}\n')
    if silent := [fact for fact in draft.facts if not fact.valid]:
        parts.append('\n# These gave no value:\n')
        parts += [f'#  {fact.name}: {_flow_style(fact.fields)}  # {_one_line(fact.read)}\n'
                  for fact in silent]
    if others := [topic for topic in seen.topics.values()
                  if not is_read(topic.name, topic.type) and topic.name not in TF_TOPICS]:
        parts.append('\n# Other topics:\n')
        parts += [f'#  {topic.name}: {topic.type}\n'
                  for topic in sorted(others, key=lambda topic: topic.name)]
    return ''.join(parts)


def _described(topic: SeenTopic) -> str:
    rate = topic.rate()
    often = f'{rate:.3g} Hz' if rate else 'latched' if topic.latched else 'now and then'
    return f'{topic.name}, {often}'


def _flow_style(fields: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(fields, default_flow_style=True, sort_keys=False, width=10_000,
                               allow_unicode=True)
    return text.strip()


def _one_line(text: str) -> str:
    return ' '.join(text.split())[:100]
