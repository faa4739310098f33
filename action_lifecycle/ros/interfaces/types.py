# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

# flake8: noqa: A005

"""Message, service and action classes by name, and their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import functools
import importlib
import re
from typing import Any

from rosidl_parser.definition import (
    AbstractGenericString,
    AbstractSequence,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)

from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest


class UnknownType(LifecycleError):
    """A type is not installed, or its name is not valid."""


def message_class(name: str) -> Any:
    """Return the class of `package/msg/Name`."""
    return _load(name, 'msg', 'sensor_msgs/msg/JointState')


def service_class(name: str) -> Any:
    """Return the class of `package/srv/Name`."""
    return _load(name, 'srv', 'std_srvs/srv/Trigger')


def action_class(name: str) -> Any:
    """Return the class of `package/action/Name`."""
    return _load(name, 'action', 'control_msgs/action/GripperCommand')


KIND_OF_TYPE = {'action': 'motion', 'srv': 'call', 'msg': 'publish'}
"""The kind of work by the middle part of the name of its type."""


def sent_class(kind: str, name: str) -> Any:
    """Return the class of what a kind of work sends: a goal, a request or a message."""
    if kind == 'publish':
        return message_class(name)
    return service_class(name).Request if kind == 'call' else action_class(name).Goal


@functools.lru_cache(maxsize=1000)
def _load(name: str, kind: str, example: str) -> Any:
    parts = name.split('/')
    if len(parts) != 3 or parts[1] != kind or not all(part.isidentifier() for part in parts):
        raise UnknownType(f"type '{name}': expected a name such as {example}"
                          + nearest(name, installed_types(kind)))
    try:
        found = getattr(importlib.import_module(f'{parts[0]}.{kind}'), parts[2])
        # This may take 0.3 s: do it here, not when the first message is sent.
        type(found).__import_type_support__()
    except (ImportError, AttributeError):
        raise UnknownType(f"type '{name}' is not installed"
                          + nearest(name, installed_types(kind))) from None
    return found


@functools.lru_cache(maxsize=10)
def installed_types(kind: str) -> tuple[str, ...]:
    """Return the names of all installed types of a kind (msg, srv, action)."""
    from ament_index_python import get_resource, get_resources
    names = []
    for package in get_resources('rosidl_interfaces'):
        for line in get_resource('rosidl_interfaces', package)[0].splitlines():
            if line.startswith(f'{kind}/') and line.endswith('.idl'):
                names.append(f'{package}/{line[:-4]}')
    return tuple(sorted(names))


def fields_of(cls: Any) -> Mapping[str, Any]:
    """Return the fields of a message class with their rosidl_parser types."""
    return dict(zip(cls.get_fields_and_field_types(), cls.SLOT_TYPES))


@functools.lru_cache(maxsize=1000)
def has_lists_of_messages(cls: Any) -> bool:
    """
    Return whether messages of a class are large only by sequences of messages.

    So not for images and point clouds, whose sequences of numbers are converted at once.
    """
    elements = set(_sequences(cls))
    return NamespacedType in elements and BasicType not in elements


def _sequences(cls: Any) -> Iterator[type]:
    """Yield the kinds of the elements of the sequences in a message."""
    for kind in cls.SLOT_TYPES:
        if isinstance(kind, AbstractSequence):
            yield type(kind.value_type)
        elif isinstance(element := getattr(kind, 'value_type', kind), NamespacedType):
            yield from _sequences(class_of(element))


BYTES = 6 * 1024 * 1024  #: size of a message with a sequence of bytes: image, point cloud, map
SMALL_TYPES = re.compile(
    r'control_msgs/|sensor_msgs/msg/(BatteryState|JointState|Joy|LaserScan|MultiDOFJointState)\Z|'
    r'tf2_msgs/msg/TFMessage\Z')
"""Types without a limit that are small, as they tell of controllers, joints, beams or frames."""
_SMALL = 16 * 1024  # bytes; LaserScan: 2000 beams
_MESSAGES = 2 * 1024 * 1024  # bytes; Path: 25,000 poses
_NUMBERS = 256 * 1024  # bytes; also of text
_FRAME = 64  # bytes of the name of a frame
_BITS = re.compile(r'\d+\Z')
_SIZES = {'float': 4, 'double': 8, 'long double': 16}  # bytes


@functools.lru_cache(maxsize=1000)
def usual_limit(name: str) -> int:
    """
    Return how large (bytes) messages of `package/msg/Name` usually are at most.

    A type without unbounded sequences and strings says it; else it goes by what they are of.
    """
    if SMALL_TYPES.match(name):
        return _SMALL
    fixed, usual = 4, 0  # with the header of CDR
    for field, kind, count in _leaves(message_class(name)):
        if isinstance(kind, BasicType):
            fixed += count * _size(kind)
        elif isinstance(kind, AbstractGenericString) and (
                kind.has_maximum_size() or field.endswith('frame_id')):
            fixed += count * (kind.maximum_size if kind.has_maximum_size() else _FRAME)
        else:
            usual = max(usual, _usual_size(getattr(kind, 'value_type', kind)))
    return max(fixed, usual)


def _usual_size(element: Any) -> int:
    """Return how large a sequence of such elements usually is at most, or a string."""
    if isinstance(element, NamespacedType):
        return _NUMBERS if element.name == 'MultiArrayDimension' else _MESSAGES
    return BYTES if isinstance(element, BasicType) and _size(element) == 1 else _NUMBERS


def _leaves(cls: Any, count: int = 1) -> Iterator[tuple[str, Any, int]]:
    """Yield the names and types of numbers, strings and unbounded sequences, and their count."""
    for name, kind in fields_of(cls).items():
        times = count
        if isinstance(kind, (Array, BoundedSequence)):
            times *= kind.size if isinstance(kind, Array) else kind.maximum_size
            kind = kind.value_type
        if isinstance(kind, NamespacedType):
            yield from _leaves(class_of(kind), times)
        else:
            yield name, kind, times


def _size(kind: BasicType) -> int:
    """Return the size (bytes) of a number."""
    bits = _BITS.search(kind.typename)
    return int(bits[0]) // 8 if bits else _SIZES.get(kind.typename, 1)


def constants_of(cls: Any) -> dict[str, Any]:
    """Return the constants of a message class by name: numbers, booleans, strings."""
    return {name: value for name, value in vars(cls).items()
            if name.isupper() and not name.endswith('__DEFAULT')
            and isinstance(value, (bool, int, float, str, bytes))}


def class_of(kind: NamespacedType) -> Any:
    """Return the message class of a field's type."""
    return getattr(importlib.import_module('.'.join(kind.namespaces)), kind.name)
