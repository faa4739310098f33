# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""ROS messages of any type: data that fits their fields, messages that are filled with it."""

from __future__ import annotations

from functools import lru_cache
import random
from typing import Any

from action_lifecycle.ros.interfaces import types as ros_types
from action_lifecycle.ros.interfaces.message_fields import FLOATS, RANGES
from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    AbstractWString,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)

from .values import NUMBERS

class_of = ros_types.class_of
fields_of = lru_cache(maxsize=None)(ros_types.fields_of)

STRINGS = ('', 'a', 'elbow', 'camera', 'base', 'gripper', 'é🤖', 'x' * 40, '0', 'b/c', '\t',
           '{"a": [{"b": 1}, {"c": null}]}', '["2.5 m", {}, [1e999]]', '24.5 V', '{"a": {"a": {')


def data_of(rng: random.Random, cls: Any, depth: int = 0) -> dict[str, Any]:
    """Return a mapping that fits a message class; some fields are left out."""
    keep = rng.choice((1.0, 0.7, 0.3))
    return {name: field_data(rng, kind, depth + 1) for name, kind in fields_of(cls).items()
            if name != 'structure_needs_at_least_one_member' and rng.random() < keep}


def field_data(rng: random.Random, kind: Any, depth: int) -> Any:
    """Return a value that fits a field."""
    if isinstance(kind, AbstractNestedType):
        if isinstance(kind, Array):
            size = kind.size
        else:
            size = 0 if depth > 5 else rng.choice((0, 1, 2, 3, 3))
            if isinstance(kind, BoundedSequence):
                size = min(size, kind.maximum_size)
        return [field_data(rng, kind.value_type, depth + 1) for _ in range(size)]
    if isinstance(kind, NamespacedType):
        if kind.name in ('Time', 'Duration') and kind.namespaces[0] == 'builtin_interfaces' \
                and rng.random() < 0.5:
            return rng.choice((0, 1.5, rng.uniform(0, 1e6)))
        cls = class_of(kind)
        if kind.name in ('Point', 'Vector3', 'Quaternion') and rng.random() < 0.2:
            return [rng.uniform(-1, 1) for _ in fields_of(cls)]
        return data_of(rng, cls, depth)
    if isinstance(kind, (AbstractString, AbstractWString)):
        return rng.choice(STRINGS)[:getattr(kind, 'maximum_size', None)]
    assert isinstance(kind, BasicType)
    if kind.typename == 'boolean':
        return rng.random() < 0.5
    if kind.typename in FLOATS:
        return rng.uniform(-10, 10)
    low, high = RANGES[kind.typename]
    return rng.choice((0, 1, low, high, rng.randrange(low, high + 1)))


def spoil(rng: random.Random, message: Any, depth: int = 0) -> None:
    """Change fields of a message in place, within what its type admits."""
    fields = list(fields_of(type(message)).items())
    for name, kind in rng.sample(fields, min(len(fields), rng.randrange(1, 3))):
        part = getattr(message, name)
        if isinstance(kind, NamespacedType):
            spoil(rng, part, depth + 1)
        elif isinstance(kind, AbstractNestedType):
            _spoil_array(rng, message, name, kind, part, depth)
        elif isinstance(kind, BasicType) and kind.typename in FLOATS:
            setattr(message, name, float32(rng) if kind.typename == 'float' else float64(rng))
        elif isinstance(kind, BasicType) and kind.typename in RANGES \
                and kind.typename != 'octet':
            low, high = RANGES[kind.typename]
            setattr(message, name, rng.choice((0, 1, low, high)))
        elif isinstance(kind, (AbstractString, AbstractWString)):
            setattr(message, name, rng.choice(STRINGS)[:getattr(kind, 'maximum_size', None)])


def _spoil_array(
    rng: random.Random, message: Any, name: str, kind: Any, part: Any, depth: int
) -> None:
    if isinstance(kind.value_type, NamespacedType):
        for item in part:
            if rng.random() < 0.5:
                spoil(rng, item, depth + 1)
    if isinstance(kind, (Array, BoundedSequence)):
        return
    size = rng.randrange(len(part) + 1)
    change = rng.random()
    if change < 0.4:
        setattr(message, name, part[:size])
    elif change < 0.6:
        setattr(message, name, part + part[:size])
    elif isinstance(kind.value_type, BasicType) and kind.value_type.typename in FLOATS \
            and len(part):
        small = kind.value_type.typename == 'float'
        part[rng.randrange(len(part))] = float32(rng) if small else float64(rng)


def float64(rng: random.Random) -> float:
    """Return a double."""
    try:
        return float(rng.choice(NUMBERS))
    except OverflowError:
        return 0.0


def float32(rng: random.Random) -> float:
    """Return what a float holds."""
    return rng.choice((0.0, -0.0, 1.0, 3.4e38, -3.4e38, 1e-45, float('nan'), float('inf'),
                       -float('inf')))


def paths_of(rng: random.Random, cls: Any, depth: int = 0) -> str:
    """Return a path into messages of a class."""
    fields = list(fields_of(cls).items())
    if not fields:
        return 'nothing'
    name, kind = rng.choice(fields)
    if isinstance(kind, NamespacedType):
        if rng.random() < 0.8 and depth < 6:
            return f'{name}.{paths_of(rng, class_of(kind), depth + 1)}'
        return name
    if isinstance(kind, AbstractNestedType):
        of_messages = isinstance(kind.value_type, NamespacedType)
        selector = rng.choice(('', '[0]', '[-1]', '[*]', '[1:]', '[::2]', '[0:3]', '[9]', '[*]',
                               '[0]', '[::-1]', rng.choice((
                                   '[data=a]', '[header.frame_id=camera]', '[0,1]', '[:,0]',
                                   '[name=elbow]', '[frame_id=base]', '[child_frame_id=a]',
                                   '[name=elbow,a]', '[child_frame_id=a,base]', '[level=ERROR]',
                                   '[values[0].key=a]', '[results[*].hypothesis.class_id=]'))))
        if of_messages and selector and rng.random() < 0.8 and depth < 6:
            return f'{name}{selector}.{paths_of(rng, class_of(kind.value_type), depth + 1)}'
        return name + selector + _read_as(rng, kind.value_type)
    return name + _read_as(rng, kind)


def _read_as(rng: random.Random, kind: Any) -> str:
    """Return how a string may be read."""
    if not isinstance(kind, (AbstractString, AbstractWString)):
        return ''
    return rng.choice(('', '', '|number', '|json', '|json.a', '|json.a[*].b', '|json[0]|number'))
