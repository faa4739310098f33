# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts parts of messages to values: a number, a boolean, a string, or an array."""

from __future__ import annotations

import array
from collections.abc import Sequence
import re
from typing import Any

import numpy as np

from .arrays import Absent
from ..expressions.functions import NoValue, Text, Texts
from ...documents.errors import LifecycleError
from ...documents.json_text import read_json
from ...documents.stamps import to_seconds

MIXED = 'a message whose fields are not all numbers; add the field to read to the path'
_NUMBER = re.compile(r'\s*(?!0[xX])([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*'
                     r'(?:[A-Za-z%\u00b0\u00b5\u03a9/]\S*\s*)?\Z')  # ° µ Ω


def to_value(value: Any) -> Any:
    """Return a part of a message as a value; raises NoValue with the reason if it has none."""
    if isinstance(value, (bool, int, float, np.ndarray)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, array.array):
        return np.frombuffer(value, dtype=value.typecode)
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, (bytes, bytearray)):  # rclpy's octet is one byte
        return value[0] if len(value) == 1 else np.frombuffer(value, dtype=np.uint8)
    if isinstance(value, (list, tuple)):
        return _of_list([to_value(item) for item in value])
    if value is None or isinstance(value, dict):
        raise NoValue('null' if value is None else 'an object of JSON; add a key to the path')
    numbers: list[float] = []
    if not fields_in(value):
        raise NoValue(MIXED)
    _flatten(value, numbers)
    return np.array(numbers) if len(numbers) != 1 else numbers[0]


def _of_list(items: list[Any]) -> Any:
    if items and isinstance(items[0], str) and all(isinstance(item, str) for item in items):
        return Texts(items)
    try:
        found = np.array(items)
    except ValueError:
        raise NoValue('lists of different lengths; add [*] to the inner list') from None
    if found.dtype.kind not in 'biuf':
        raise NoValue('a list that does not hold numbers only')
    return found


def _flatten(message: Any, numbers: list[float]) -> None:
    """Collect the numbers of a message, without its header; raises NoValue for other fields."""
    fields = fields_in(message)
    if set(fields) == {'sec', 'nanosec'}:
        numbers.append(to_seconds(message))
        return
    for name in fields:
        part = getattr(message, name)
        if name == 'header':
            continue
        if isinstance(part, (int, float)) and not isinstance(part, bool):
            numbers.append(part)
        elif isinstance(part, (array.array, np.ndarray)):
            numbers.extend(part)
        elif isinstance(part, bytes) and len(part) == 1:
            numbers.append(part[0])
        elif fields_in(part):
            _flatten(part, numbers)
        else:
            raise NoValue(MIXED)


def fields_in(message: Any) -> Sequence[str]:
    """Return the names of the fields of a message, or of a dataclass, in order."""
    of_ros = getattr(message, 'get_fields_and_field_types', None)
    if of_ros is not None:
        return tuple(of_ros())
    return tuple(getattr(message, '__dataclass_fields__', ()))


def number_in(value: Any) -> Any:
    """Return the number at the start of a string; one word, the unit, may follow."""
    if isinstance(value, list):
        return [number_in(item) for item in value]
    if not isinstance(value, str):
        return value  # a JSON number
    match = _NUMBER.match(value)
    if match is None:
        raise NoValue(f'the string {value[:40]!r} is not a number, with or without a unit')
    return float(match.group(1))


class _Missing(Absent, AttributeError):
    """A JSON object does not have a key."""


class _Object(dict[str, Any]):
    """A JSON object whose keys can be read as attributes."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith('__'):
            return dict.__getattribute__(self, name)
        try:
            return self[name]
        except KeyError:
            raise _Missing(f'no key {name!r}') from None


def json_in(value: Any) -> Any:
    """Return a string parsed as JSON, into which a path can continue."""
    if not isinstance(value, str):
        raise NoValue('no string to be read as JSON')
    try:
        return _objects(read_json(value, 'the string'))
    except LifecycleError as error:
        raise NoValue(str(error)) from None


def _objects(data: Any) -> Any:
    if isinstance(data, dict):
        return _Object((key, _objects(value)) for key, value in data.items())
    return [_objects(item) for item in data] if isinstance(data, list) else data
