# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Fills goal messages from plain data and checks each value against the field's type.

`{"fact": name}` and `{"expr": expression}` are placeholders for values that are filled in when the
goal is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import math
import re
from typing import Any, NamedTuple

import numpy as np
from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    AbstractWString,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)

from .types import class_of, fields_of
from ...documents.suggestions import nearest
from ...work.goal_values import LATER, resolve
from ...world.expressions.value_types import Kind
from ...world.facts.selectors import compile_path


class GoalFault(NamedTuple):
    """A fault of a goal; `path`: dotted path of the field, such as goal.command.position."""

    path: str
    message: str

    def __str__(self) -> str:
        return f'{self.path}: {self.message}'


RANGES = {
    f'{sign}int{bits}': ((0, 2 ** bits - 1) if sign else (-2 ** (bits - 1), 2 ** (bits - 1) - 1))
    for sign in ('', 'u') for bits in (8, 16, 32, 64)}
RANGES.update(octet=(0, 255), char=(0, 255))
FLOATS = ('float', 'double', 'long double')
_EXAMPLES = {Kind.NUMBER: 1.0, Kind.TRUTH: True, Kind.TEXT: ''}
_SURROGATE = re.compile('[\ud800-\udfff]')
_FLOAT_MAX = 3.4028234663852886e38


def fill(message: Any, data: Any, path: str = 'goal') -> Iterator[GoalFault]:
    """
    Fill a message from a mapping; yields the faults. Missing fields keep their defaults.

    A message of numbers (Point, Quaternion, Pose) can also be filled from the list of its numbers,
    which is the format of facts.
    """
    if data is LATER:
        return
    if isinstance(data, list):
        names = list(_leaves(type(message)))
        if '' not in names and len(names) != len(data):
            yield GoalFault(path, f'expected a mapping of fields, or {len(names)} numbers, got '
                            f'{len(data)}')
            return
        if '' not in names:
            data = _nested(names, data)
    if not isinstance(data, Mapping):
        yield GoalFault(path, f'expected a mapping of fields, got {_kind(data)}')
        return
    known = fields_of(type(message))
    for name, value in data.items():
        where = f'{path}.{name}'
        if name not in known:
            yield GoalFault(where, f"unknown field '{name}'" + nearest(str(name), known)
                            + f" (fields: {', '.join(known)})")
            continue
        faults: list[GoalFault] = []
        converted = _convert(known[name], value, where, faults)
        yield from faults
        if not faults and converted is not LATER:
            try:
                setattr(message, name, converted)
            except (AssertionError, ValueError, TypeError, OverflowError) as error:
                yield GoalFault(where, str(error))


def kind_faults(
    message: Any, data: Any, kind_of: Callable[[str], Kind], path: str = 'goal'
) -> Iterator[GoalFault]:
    """
    Yield the fields of a message that can't have a value of the kind of their expression.

    `data`: with `{fact: …}` and `{expr: …}`; `kind_of` returns the kind of such an expression.
    """
    given: dict[str, str] = {}

    def value_of(text: str, path: str) -> Any:
        kind = kind_of(text)
        given[path] = f"'{text}' is {kind.value}"
        return _EXAMPLES.get(kind, LATER)

    for fault in fill(message, resolve(data, value_of, path), path):
        if fault.path in given:
            yield GoalFault(fault.path, f'{given[fault.path]}: {fault.message}')


def _leaves(cls: Any, prefix: str = '') -> Iterator[str]:
    """Yield the dotted paths of a message's numbers in order, '' for each other field."""
    for name, kind in fields_of(cls).items():
        if isinstance(kind, NamespacedType):
            yield from _leaves(class_of(kind), f'{prefix}{name}.')
        else:
            yield prefix + name if isinstance(kind, BasicType) else ''


def _nested(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in zip(names, values):
        *parents, last = name.split('.')
        inner = nested
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[last] = value
    return nested


def _convert(kind: Any, value: Any, path: str, faults: list[GoalFault]) -> Any:
    """Return the value converted to the field's type; adds its faults to `faults`."""
    if value is LATER:
        return LATER
    try:
        if isinstance(kind, AbstractNestedType):
            return _convert_array(kind, value, path, faults)
        if isinstance(kind, NamespacedType):
            return _convert_message(kind, value, path, faults)
        if isinstance(kind, BasicType):
            return _convert_number(kind.typename, value)
        return _convert_text(kind, value)
    except ValueError as error:
        faults.append(GoalFault(path, str(error)))
        return value


def _convert_text(kind: AbstractString | AbstractWString, value: Any) -> str:
    longest = getattr(kind, 'maximum_size', None)
    if not isinstance(value, str):
        raise ValueError(f'expected a text, got {_kind(value)}')
    if longest is not None and len(value) > longest:
        raise ValueError(f'longer than {longest} characters')
    if _SURROGATE.search(value):
        raise ValueError('a lone surrogate is not valid text')
    return value


def _convert_number(name: str, value: Any) -> Any:
    if name == 'boolean':
        if not isinstance(value, bool):
            raise ValueError(f'expected true or false, got {_kind(value)}')
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f'expected a number, got {_kind(value)}')
    if not math.isfinite(value):
        raise ValueError(f'{value} is not finite')
    if name in FLOATS:
        if name == 'float' and abs(value) > _FLOAT_MAX:
            raise ValueError(f'{value} is beyond a float32')
        return float(value)
    low, high = RANGES[name]
    if value != int(value):
        raise ValueError(f'expected a whole number ({name}), got {value}')
    if not low <= value <= high:
        raise ValueError(f'{value} is out of the range of {name}, {low} to {high}')
    return bytes((int(value),)) if name == 'octet' else int(value)


def _convert_array(
    kind: AbstractNestedType, value: Any, path: str, faults: list[GoalFault]
) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f'expected a list, got {_kind(value)}')
    if isinstance(kind, Array) and len(value) != kind.size:
        faults.append(GoalFault(path, f'expected {kind.size} values, got {len(value)}'))
    elif isinstance(kind, BoundedSequence) and len(value) > kind.maximum_size:
        faults.append(GoalFault(
            path, f'expected at most {kind.maximum_size} values, got {len(value)}'))
    items = [_convert(kind.value_type, item, f'{path}.{index}', faults)
             for index, item in enumerate(value)]
    return LATER if any(item is LATER for item in items) else items


def _convert_message(kind: NamespacedType, value: Any, path: str, faults: list[GoalFault]) -> Any:
    cls = class_of(kind)
    if kind.name in ('Duration', 'Time') and kind.namespaces[0] == 'builtin_interfaces' \
            and isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise ValueError(f'{value} is not finite')
        if not abs(value) < 2 ** 31:
            raise ValueError(f'{value:g} s is beyond a {kind.name}')
        nanoseconds = round(value * 1e9)  # a number is in seconds
        value = {'sec': nanoseconds // 10 ** 9, 'nanosec': nanoseconds % 10 ** 9}
    message = cls()
    faults.extend(fill(message, value, path))
    return message


def limit_faults(
    goal: Any, limits: Mapping[str, tuple[float, float]], path: str = 'goal'
) -> Iterator[GoalFault]:
    """Yield the fields of a filled goal that exceed their limits."""
    for field, (low, high) in limits.items():
        where = f"{path}.{field.split('[')[0]}"
        try:
            value = np.asarray(compile_path(field, '')[0](goal), dtype=float)
        except LookupError:
            continue  # an absent element is within its limits
        except AttributeError as error:
            yield GoalFault(where, f"limits of '{field}': {error}")
            continue
        except (ValueError, TypeError):
            yield GoalFault(where, f"limits of '{field}': it is no number")
            continue
        beyond = value[~((value >= low) & (value <= high))]
        if beyond.size:
            yield GoalFault(
                where, f'{beyond.flat[0]:g} is out of its limits, {low:g} to {high:g}')


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return 'a mapping'
    if isinstance(value, (list, tuple)):
        return 'a list'
    text = 'nothing' if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + '...'
