# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes a value into a message at a field path: the inverse of `world.facts.selectors`."""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
from functools import lru_cache
import json
import math
from typing import Any

import numpy as np

from ..documents.errors import LifecycleError
from ..documents.json_text import read_json
from ..documents.stamps import to_ns
from ..world.expressions.field_paths import (
    ConvertStep,
    FieldStep,
    IndexStep,
    MatchStep,
    parse_path,
    Step,
)
from ..world.facts.message_values import fields_in
from ..world.facts.selectors import compile_path, Reader

MOST = 10000  #: elements of an array

NewElement = Callable[[Any, str], Any]
"""Returns a new element of an array; its arguments are the message and the name of the field."""

Places = Mapping[tuple[str, str], int]
"""Indices of elements that are selected by a name in another array, by key and name."""

parse = lru_cache(maxsize=1000)(parse_path)


class CannotWrite(LifecycleError):
    """A field path can't be inverted for this value."""


class Elements(int):
    """A number of elements, whatever they are; can be written in place of a list."""


class FieldWriter:
    """
    Writes into messages of ROS, or into objects with the same attributes.

    Arrays grow as far as a path needs it. New elements that a path leaves out are NaN where the
    field has one, so that they are no value.
    """

    def __init__(self, new_element: NewElement, places: Places | None = None) -> None:
        self._new_element = new_element
        self._places = places or {}

    def write(self, message: Any, path: str, value: Any) -> None:
        """Write a number, a boolean, a string or a list of them; raises CannotWrite."""
        try:
            self._put(message, parse(path), value)
        except (AttributeError, TypeError, ValueError, AssertionError, LookupError,
                OverflowError) as error:
            raise CannotWrite(str(error)) from None

    def _put(self, owner: Any, steps: Sequence[Step], value: Any) -> None:
        first = steps[0]
        if not isinstance(first, FieldStep):
            raise CannotWrite('lists in lists')
        name, step = first.name, steps[1] if len(steps) > 1 else None
        if step is None:
            self._set(owner, name, value)
        elif isinstance(step, FieldStep):
            self._put(getattr(owner, name), steps[1:], value)
        elif isinstance(step, ConvertStep):
            setattr(owner, name, _text(getattr(owner, name), steps[1:], value))
        elif isinstance(step, MatchStep):
            given = [value] if len(step.texts) == 1 else _listed(value, len(step.texts))
            for text, one in zip(step.texts, given):
                self._put_matched(owner, name, step.key, text, steps[2:], one)
        elif step.every:
            self._put_every(owner, name, steps[2:], value)
        elif isinstance(step.index, int):
            self._put_at(owner, name, step.index, steps[2:], value)
        elif isinstance(step.index, slice) and len(steps) == 2:
            self._put_slice(owner, name, step.index, list(np.atleast_1d(value)))
        else:
            raise CannotWrite('points and pixels')

    def _set(self, owner: Any, name: str, value: Any) -> None:
        old = getattr(owner, name)
        if isinstance(value, Elements):
            self._assign(owner, name, self._grown(owner, name, value)[:value])
        elif _is_array(old):
            self._assign(owner, name, list(np.atleast_1d(value)))
        elif fields_in(old):
            fill_numbers(old, value)
        else:
            setattr(owner, name, converted(value, old))

    def _assign(self, owner: Any, name: str, items: list[Any]) -> None:
        old = getattr(owner, name)
        if len(items) > MOST:
            raise CannotWrite(f'more than {MOST} elements')
        if isinstance(old, np.ndarray):
            if len(old) != len(items):
                raise CannotWrite(f'{name} has {len(old)} elements, not {len(items)}')
            setattr(owner, name, np.array(
                [converted(item, old[:1].tolist()[0]) for item in items], dtype=old.dtype))
            return
        sample = self._new_element(owner, name)
        if fields_in(sample):
            setattr(owner, name, items)
            return
        found = [converted(item, sample) for item in items]
        setattr(owner, name, array.array(old.typecode, found)
                if isinstance(old, array.array) else found)

    def _grown(self, owner: Any, name: str, length: int) -> list[Any]:
        old = getattr(owner, name)
        items = list(old)
        if length > MOST or (isinstance(old, np.ndarray) and length > len(old)):
            raise CannotWrite(f'{name} has no {length} elements')
        while len(items) < length:
            sample = self._new_element(owner, name)
            items.append(math.nan if isinstance(sample, float) else sample)
        return items

    def _put_at(
        self, owner: Any, name: str, index: int, steps: Sequence[Step], value: Any
    ) -> None:
        items = self._grown(owner, name, index + 1 if index >= 0 else -index)
        self._put_item(items, index, steps, value)
        self._assign(owner, name, items)

    def _put_item(
        self, items: list[Any], index: int, steps: Sequence[Step], value: Any
    ) -> None:
        if steps and isinstance(steps[0], ConvertStep):
            items[index] = _text(items[index], steps, value)
        elif steps:
            self._put(items[index], steps, value)
        elif fields_in(items[index]):
            fill_numbers(items[index], value)
        else:
            items[index] = value

    def _put_slice(self, owner: Any, name: str, part: slice, values: list[Any]) -> None:
        length = len(getattr(owner, name))
        while len(range(length)[part]) < len(values) and length < MOST:
            length += 1
        items = self._grown(owner, name, length)
        places = range(length)[part]
        if len(places) != len(values):
            raise CannotWrite(f'{len(places)} elements are selected, not {len(values)}')
        for place, value in zip(places, values):
            self._put_item(items, place, (), value)
        self._assign(owner, name, items)

    def _put_every(
        self, owner: Any, name: str, steps: Sequence[Step], values: Any
    ) -> None:
        if isinstance(values, Elements):
            self._set(owner, name, values)
            return
        inner = any(isinstance(step, IndexStep) and step.every for step in steps)
        length = 1 if inner else len(values)
        items = self._grown(owner, name, length)[:length]
        for index in range(length):
            self._put_item(items, index, steps, values if inner else values[index])
        self._assign(owner, name, items)

    def _put_matched(
        self, owner: Any, name: str, key: str, text: str, steps: Sequence[Step], value: Any
    ) -> None:
        names = getattr(owner, key, None) if key.isidentifier() else None
        if names is None or isinstance(names, str):
            items = list(getattr(owner, name))
            self._put_item(items, self._matching(owner, name, items, key, text), steps, value)
            self._assign(owner, name, items)
            return
        listed = list(names)
        if text in listed:
            place = listed.index(text)
        else:
            place = self._places.get((key, text), len(listed))
            listed += [''] * (place + 1 - len(listed))
            if listed[place]:
                place = len(listed)
                listed.append('')
            listed[place] = text
            setattr(owner, key, listed)
        self._put_at(owner, name, place, steps, value)

    def _matching(
        self, owner: Any, name: str, items: list[Any], key: str, text: str
    ) -> int:
        """Return the index of the element with this key; a new one if there is none."""
        read = compile_path(key, '')[0]
        for index, item in enumerate(items):
            if _has(read, item, _keys(item, text)):
                return index
        new = self._new_element(owner, name)
        items.append(new)
        for wanted in _keys(new, text):
            with contextlib.suppress(CannotWrite):
                self._put(new, parse(key), [wanted] if '[*]' in key else wanted)
                return len(items) - 1
        raise CannotWrite(f"no {key} can be '{text}'")


def _keys(item: Any, text: str) -> Iterator[Any]:
    """Yield the values of a key that the string in a path stands for."""
    yield text
    if text.lower() in ('true', 'false'):
        yield text.lower() == 'true'
    constant = getattr(type(item), text, None) if text.isupper() else None
    if constant is not None:
        yield constant[0] if isinstance(constant, bytes) else constant
    with contextlib.suppress(ValueError):
        yield float(text)


def _has(read: Reader, item: Any, keys: Iterator[Any]) -> bool:
    try:
        value = read(item)
    except (LookupError, AttributeError, ValueError, TypeError):
        return False
    found = list(value) if isinstance(value, (list, np.ndarray)) else [value]
    return any(one == key and isinstance(one, str) is isinstance(key, str)
               for key in keys for one in found)


def converted(value: Any, sample: Any) -> Any:
    """Return a value as one of the type of `sample`; raises CannotWrite."""
    if isinstance(sample, str):
        if isinstance(value, str):
            return str(value)
    elif isinstance(value, (bool, int, float, np.generic)) and not isinstance(value, str):
        number = float(value)
        if isinstance(sample, bool):
            if number in (0.0, 1.0):
                return bool(number)
        elif isinstance(sample, float):
            return number
        elif isinstance(sample, (int, bytes)) and math.isfinite(number):
            whole = int(value) if isinstance(value, int) else round(number)
            return bytes((whole,)) if isinstance(sample, bytes) else whole
    raise CannotWrite(f'a field of type {type(sample).__name__} can not be {value!r}')


def fill_numbers(message: Any, value: Any) -> None:
    """Fill the numbers of a message in their order; the inverse of `message_values.to_value`."""
    numbers = iter(np.atleast_1d(value).tolist())
    _fill(message, numbers)
    if next(numbers, None) is not None:
        raise CannotWrite('more numbers than the message has')


def _fill(message: Any, numbers: Iterator[Any]) -> None:
    fields = fields_in(message)
    if set(fields) == {'sec', 'nanosec'}:
        seconds = float(_next(numbers))
        ns = math.copysign(to_ns(abs(seconds)), seconds)
        message.sec, message.nanosec = (int(part) for part in divmod(int(ns), 10 ** 9))
        return
    for name in fields:
        part = getattr(message, name)
        if name == 'header':
            continue
        if isinstance(part, (array.array, np.ndarray)):
            items = [converted(_next(numbers), one) for one in part.tolist()]
            setattr(message, name, array.array(part.typecode, items)
                    if isinstance(part, array.array) else np.array(items, dtype=part.dtype))
        elif fields_in(part):
            _fill(part, numbers)
        else:
            setattr(message, name, converted(_next(numbers), part))


def _next(numbers: Iterator[Any]) -> Any:
    found = next(numbers, None)
    if found is None:
        raise CannotWrite('fewer numbers than the message has')
    return found


def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple, array.array, np.ndarray)) or (
        isinstance(value, (bytes, bytearray)) and len(value) != 1)


def _listed(value: Any, count: int) -> list[Any]:
    found = list(np.atleast_1d(value))
    if len(found) != count:
        raise CannotWrite(f'{count} elements are selected, not {len(found)}')
    return found


def _text(old: str, steps: Sequence[Step], value: Any) -> str:
    """Return the string from which `|number` or `|json` reads the value."""
    if steps[0] == ConvertStep('number'):
        return repr(_plain(value))
    try:
        data = read_json(old, 'the text')
    except LifecycleError:
        data = None
    return json.dumps(_in_json(data, steps[1:], value))


def _in_json(data: Any, steps: Sequence[Step], value: Any) -> Any:
    """Return JSON data that has the value at a path."""
    if not steps:
        return _plain(value)
    step, rest = steps[0], steps[1:]
    if isinstance(step, ConvertStep):
        return repr(_plain(value))
    if isinstance(step, FieldStep):
        data = dict(data) if isinstance(data, dict) else {}
        data[step.name] = _in_json(data.get(step.name), rest, value)
        return data
    if isinstance(step, IndexStep) and step.every:
        return [_in_json(None, rest, one) for one in value]
    items = list(data) if isinstance(data, list) else []
    if isinstance(step, MatchStep) and len(step.texts) == 1 and step.key.isidentifier():
        (text,) = step.texts
        place = next((index for index, item in enumerate(items)
                      if isinstance(item, dict) and str(item.get(step.key)) == text), len(items))
        if place == len(items):
            items.append({step.key: text})
    elif isinstance(step, IndexStep) and isinstance(step.index, int) \
            and -MOST < step.index < MOST:
        place = step.index
        length = place + 1 if place >= 0 else -place
        items += [None] * (length - len(items))
    else:
        raise CannotWrite('a selection in JSON')
    items[place] = _in_json(items[place], rest, value)
    return items


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, str):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
