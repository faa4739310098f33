# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

# flake8: noqa: A005
"""Compiles field paths (field_paths.py) to functions that read value and stamp of a message."""

from __future__ import annotations

import array
from collections.abc import Callable, Sequence
import operator
from typing import Any

import numpy as np

from .arrays import Absent, cloud, image
from .message_values import json_in, number_in, to_value
from ..expressions.field_paths import (
    ConvertStep,
    FieldStep,
    IndexStep,
    MatchStep,
    parse_path,
    PathError,
    Step,
)
from ...documents.stamps import to_seconds

Reader = Callable[[Any], Any]


def compile_path(path: str, type_name: str, *, count: bool = False) -> tuple[Reader, Reader]:
    """
    Return two functions of a message: the value at `path`, and the stamp of its sample (s).

    `count`: the number of elements instead of the value. The first function raises Absent if the
    message does not have the path, NoValue if the part has no value. The stamp is that of the
    message's header, else of the selected element's header, else None.

    Numbers become Python numbers, arrays become numpy views without a copy, and strings are kept.
    A message of numbers (Point, Quaternion, Pose, Twist) becomes the vector of its numbers in the
    order of its definition, a time or duration becomes seconds. For a PointCloud2, `data.z` is the
    field `z` of the cloud; for an Image, `data` has the shape (height, width) or (height, width,
    channels).
    """
    steps = parse_path(path)
    finish = _counted if count else _converted
    if ConvertStep('json') in steps:
        return finish(_in_json(_read(steps))), _stamp_reader(steps)
    if type_name == 'sensor_msgs/msg/PointCloud2' and steps[0] == FieldStep('data') \
            and len(steps) > 1 and isinstance(steps[1], FieldStep):
        return finish(_chain([cloud(steps[1].name), *_indices(path, steps[2:])])), header_stamp
    if type_name == 'sensor_msgs/msg/Image' and steps[0] == FieldStep('data'):
        return finish(_chain([image, *_indices(path, steps[1:])])), header_stamp
    return finish(_read(steps)), _stamp_reader(steps)


def _indices(path: str, steps: Sequence[Step]) -> list[Reader]:
    """Return the readers of the steps in an array of points or pixels."""
    for step in steps:
        if not isinstance(step, IndexStep):
            raise PathError(f"field path '{path}': what is selected from are points or pixels; "
                            'expected an index or a slice in [ ], such as [0] or [10:20, 5]')
    return [_step(step) for step in steps]


def is_every(step: Step) -> bool:
    """Whether a step is `[*]`."""
    return isinstance(step, IndexStep) and step.every


def is_several(step: Step) -> bool:
    """Whether a step selects several elements by name."""
    return isinstance(step, MatchStep) and len(step.texts) > 1


def _read(steps: Sequence[Step]) -> Reader:
    """Return a function that follows the steps."""
    if all(isinstance(step, FieldStep) for step in steps):
        names = '.'.join(step.name for step in steps)  # type: ignore[union-attr]
        return operator.attrgetter(names)
    readers: list[Reader] = []
    position = 0
    while position < len(steps):
        step = steps[position]
        following = steps[position + 1] if position + 1 < len(steps) else None
        if isinstance(step, FieldStep) and isinstance(following, MatchStep):
            readers.append(_match(step.name, following))
            position += 1
            step = following
        else:
            readers.append(_step(step))
        position += 1
        if position < len(steps) and (is_every(step) or is_several(step)):
            readers.append(_each(steps[position:], leave_out=is_every(step)))
            break
    return _chain(readers)


def _chain(readers: Sequence[Reader]) -> Reader:
    if len(readers) == 1:
        return readers[0]
    if len(readers) == 2:
        first, second = readers
        return lambda message: second(first(message))

    def read(message: Any) -> Any:
        for reader in readers:
            message = reader(message)
        return message
    return read


def _each(steps: Sequence[Step], leave_out: bool) -> Reader:
    """Return a reader of the steps in each element; `leave_out`: skip elements without them."""
    reader = _read(steps)
    flat = any(map(is_every, steps))

    def read(items: Any) -> list[Any]:
        found: list[Any] = []
        for item in items:
            try:
                value = reader(item)
            except Absent:
                if leave_out:
                    continue
                raise
            if flat:
                found.extend(value)
            else:
                found.append(value)
        return found
    return read


def _step(step: Step) -> Reader:
    if isinstance(step, FieldStep):
        return operator.attrgetter(step.name)
    if isinstance(step, MatchStep):
        return _match_element(step)
    if isinstance(step, ConvertStep):
        return number_in if step.to == 'number' else json_in
    index = step.index
    single = isinstance(index, int)

    def read(items: Any) -> Any:
        try:
            return items[index] if single else _view(items)[index]
        except IndexError as error:
            raise Absent(str(error)) from None
        except (KeyError, TypeError):  # JSON of another structure
            raise Absent('no list') from None
    return read


def _view(items: Any) -> Any:
    """Return an array as a numpy view, and lists of messages unchanged."""
    if isinstance(items, array.array):
        return np.frombuffer(items, dtype=items.typecode)
    return items


def _match(field: str, step: MatchStep) -> Reader:
    """Return a reader of `field[key=text]`: by the array `key`, else by the elements' `key`."""
    items_of = operator.attrgetter(field)
    by_element = _match_element(step)
    key, texts = step
    if not key.isidentifier():
        return lambda message: by_element(items_of(message))
    if len(texts) > 1:
        single = [_match(field, MatchStep(key, (text,))) for text in texts]
        return lambda message: [read_one(message) for read_one in single]
    text, place = texts[0], 0

    def read(message: Any) -> Any:
        nonlocal place
        names = getattr(message, key, None)
        if names is None or isinstance(names, str):
            return by_element(items_of(message))
        try:
            if names[place] == text:  # same index as in the last message
                return items_of(message)[place]
        except IndexError:
            pass
        try:
            place = names.index(text)
            return items_of(message)[place]
        except (ValueError, IndexError):
            raise Absent(f'no {key} {text!r}') from None
    return read


def _match_element(step: MatchStep) -> Reader:
    key, texts = step
    steps = parse_path(key)
    key_of = _read(steps)
    owner_of = _read(steps[:-1]) if len(steps) > 1 else None
    many = any(map(is_every, steps))

    def matches(item: Any, text: str) -> bool:
        try:
            value = key_of(item)
            if many:
                return any(_is(entry, text) for entry in value)
            if _is(value, text):
                return True
            constant = getattr(type(owner_of(item) if owner_of else item), text, None) \
                if text.isupper() else None
            return constant is not None and bool(constant == value)
        except Absent:
            return False

    def find(items: Any, text: str) -> Any:
        for item in items:
            if matches(item, text):
                return item
        raise Absent(f'no element with {key} {text!r}')

    if len(texts) == 1:
        return lambda items: find(items, texts[0])
    return lambda items: [find(items, text) for text in texts]


def _is(value: Any, text: str) -> bool:
    """Whether the field of an element equals the string in a path."""
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, bytes) and len(value) == 1:
        return str(value[0]) == text
    return str(value) == text


def header_stamp(message: Any) -> float | None:
    """Return the stamp (s) of a message's header, or its field `stamp`; None without one."""
    try:
        stamp = message.header.stamp
    except AttributeError:
        stamp = getattr(message, 'stamp', None)
    try:
        return to_seconds(stamp) or None  # zero means not set
    except AttributeError:
        return None


def header_frame(message: Any) -> str | None:
    """Return the frame of a message's header, without a slash in front; None without a header."""
    header = getattr(message, 'header', None)
    return None if header is None else str(header.frame_id).lstrip('/')


def compile_frame(path: str) -> Reader:
    """
    Return a function of a message: the frame in its header, else in the selected element's.

    None: there is no header. Different frames of several elements are joined by commas.
    """
    selected = _selected(parse_path(path))
    if selected is None:
        return header_frame
    elements, several = selected

    def read(message: Any) -> str | None:
        own = header_frame(message)
        if own:
            return own
        found = elements(message)
        frames = {header_frame(element) for element in (found if several else [found])}
        return own if frames == {None} else ', '.join(sorted(frame or '' for frame in frames))
    return read


def _selected(steps: Sequence[Step]) -> tuple[Reader, bool] | None:
    """Return a reader of the last element that is selected, and whether it gives several."""
    end = next((place for place, step in enumerate(steps) if isinstance(step, ConvertStep)),
               len(steps))
    last = max((place for place, step in enumerate(steps[:end])
                if not isinstance(step, FieldStep)), default=None)
    if last is None or is_every(steps[last]):
        return None
    return _read(steps[:last + 1]), is_several(steps[last])


def _stamp_reader(steps: Sequence[Step]) -> Reader:
    """Return a reader of the stamp, which may be in the header of a selected element."""
    selected = _selected(steps)
    if selected is None:
        return header_stamp
    elements, several = selected

    def read(message: Any) -> float | None:
        own = header_stamp(message)
        if own is not None:
            return own
        found = elements(message)
        if not several:
            return header_stamp(found)
        stamps = [header_stamp(element) for element in found]
        return None if None in stamps else min(stamps)  # type: ignore[type-var]
    return read


def _counted(reader: Reader) -> Reader:
    """Return a reader of the number of elements."""
    def read(message: Any) -> int:
        value = reader(message)
        return int(value.size) if isinstance(value, np.ndarray) else len(value)
    return read


def _in_json(reader: Reader) -> Reader:
    """Return a reader that raises Absent for missing keys of JSON."""
    def read(message: Any) -> Any:
        try:
            return reader(message)
        except AttributeError as error:
            raise Absent(str(error)) from None
    return read


def _converted(reader: Reader) -> Reader:
    """Return the reader with its result converted to a value."""
    def read(message: Any) -> Any:
        value = reader(message)
        kind = value.__class__
        if kind is float or kind is bool or kind is int:
            return value
        if kind is array.array:
            return np.frombuffer(value, dtype=value.typecode)
        return to_value(value)
    return read
