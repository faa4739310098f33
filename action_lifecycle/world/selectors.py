# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

# flake8: noqa: A005

"""
Paths into messages: `position[name=elbow]`, `ranges[10:20]`, `poses[0].position`, `data[:, 3]`.

A path is field names joined by dots; a field may be followed by selectors in brackets:

- `[3]`, `[-1]`, `[2:8]`, `[::2]`: index and slice; several, joined by commas, for images;
- `[*]`: every element; what follows is read of each of them;
- `[name=elbow]`: of an array of numbers, the element at the place where the array `name` beside it
  holds `elbow`; of an array of messages, the first whose field `name` is `elbow`. The field may
  itself be a path (`[header.frame_id=camera]`).

Numbers are read as Python numbers, arrays as numpy views without a copy, texts as texts; a message
of numbers (Point, Quaternion, Pose, Twist) as the vector of its numbers in the order of its
definition, a time or duration as seconds. Of a PointCloud2, `data.z` is the cloud's field `z`; of
an Image, `data` has the shape (height, width) or (height, width, channels).
"""

from __future__ import annotations

import array
from collections.abc import Callable, Sequence
import operator
import re
from typing import Any, NamedTuple, Union

import numpy as np

from .arrays import Absent, cloud, image
from .functions import Text, Texts
from ..engine.errors import LifecycleError


class PathError(LifecycleError):
    """A field path that can't be read; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        self.column = column
        super().__init__(message)


class FieldStep(NamedTuple):
    """A field of a message."""

    name: str


class IndexStep(NamedTuple):
    """Indices and slices; `every`: `[*]`."""

    index: Any
    every: bool = False


class MatchStep(NamedTuple):
    """`[key=text]`."""

    key: str
    text: str


Step = Union[FieldStep, IndexStep, MatchStep]
_FIELD = re.compile(r'[A-Za-z][A-Za-z0-9_]*')
_SELECTOR = re.compile(r'\[([^\[\]]*)\]')
_MATCH = re.compile(r'([A-Za-z][A-Za-z0-9_.]*)=(.*)\Z')
_WHOLE = re.compile(r'[-+]?[0-9]+\Z')


def parse_path(path: str) -> tuple[Step, ...]:
    """Return the steps of a field path; PathError with the column of what is wrong."""
    steps: list[Step] = []
    position = 0
    while True:
        field = _FIELD.match(path, position)
        if field is None:
            raise PathError(f"field path '{path}': expected the name of a field", position + 1)
        steps.append(FieldStep(field.group()))
        position = field.end()
        while path[position:position + 1] == '[':
            selector = _SELECTOR.match(path, position)
            if selector is None:
                raise PathError(f"field path '{path}': '[' is not closed", position + 1)
            steps.append(_selector(selector.group(1), path, position + 2))
            position = selector.end()
        if position == len(path):
            return tuple(steps)
        if path[position] != '.':
            raise PathError(f"field path '{path}': expected '.' or '['", position + 1)
        position += 1


def _selector(text: str, path: str, column: int) -> Step:
    match = _MATCH.match(text.strip())
    if match is not None:
        return MatchStep(match.group(1), match.group(2).strip('\'"'))
    if text.strip() == '*':
        return IndexStep(slice(None), every=True)
    parts: list[Any] = []
    for part in text.split(','):
        numbers = [number.strip() for number in part.split(':')]
        if not all(_WHOLE.match(number) or (not number and len(numbers) > 1)
                   for number in numbers) or len(numbers) > 3:
            raise PathError(
                f"field path '{path}': '{text}' is neither an index, a slice, '*' nor key=text",
                column)
        values = [int(number) if number else None for number in numbers]
        if len(values) == 3 and values[2] == 0:
            raise PathError(f"field path '{path}': a step of 0", column)
        parts.append(values[0] if len(values) == 1 else slice(*values))
    return IndexStep(parts[0] if len(parts) == 1 else tuple(parts))


Reader = Callable[[Any], Any]


def compile_path(path: str, type_name: str, *, count: bool = False) -> tuple[Reader, Reader]:
    """
    Return two functions of a message: the value at `path`, and the stamp of its sample in s.

    `count`: how many elements it has, instead of the value.
    The first raises Absent when the message does not hold it. The stamp is that of the message's
    header, else of the selected element's, None when there is none.
    """
    steps = parse_path(path)
    finish = _counted if count else _converted
    if type_name == 'sensor_msgs/msg/PointCloud2' and steps[0] == FieldStep('data') \
            and len(steps) > 1 and isinstance(steps[1], FieldStep):
        rest = [_index(step) for step in steps[2:]]
        return finish(_chain([cloud(steps[1].name), *rest])), header_stamp
    if type_name == 'sensor_msgs/msg/Image' and steps[0] == FieldStep('data'):
        return finish(_chain([image, *(_index(step) for step in steps[1:])])), header_stamp
    return finish(_read(steps)), _stamp_reader(steps)


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
            position += 2
        elif isinstance(step, IndexStep) and step.every and following is not None:
            readers.append(_every(_read(steps[position + 1:])))
            break
        else:
            readers.append(
                operator.attrgetter(step.name) if isinstance(step, FieldStep) else _index(step))
            position += 1
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


def _every(reader: Reader) -> Reader:
    return lambda items: [reader(item) for item in items]


def _index(step: Step) -> Reader:
    if isinstance(step, MatchStep):
        return _match_element(step)
    assert isinstance(step, IndexStep)
    index = step.index
    single = isinstance(index, int)

    def read(items: Any) -> Any:
        try:
            return items[index] if single else _view(items)[index]
        except IndexError as error:
            raise Absent(str(error)) from None
    return read


def _view(items: Any) -> Any:
    """Return an array as numpy sees it, lists of messages as they are."""
    if isinstance(items, array.array):
        return np.frombuffer(items, dtype=items.typecode)
    return items


def _match(field: str, step: MatchStep) -> Reader:
    """Read `field[key=text]`: by the array `key` beside the field, else by the elements' key."""
    items_of = operator.attrgetter(field)
    by_element = _match_element(step)
    key, text = step
    place = 0

    def read(message: Any) -> Any:
        nonlocal place
        names = getattr(message, key, None)
        if names is None or isinstance(names, str):
            return by_element(items_of(message))
        try:
            if names[place] == text:  # where it was in the message before
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
    key_of = operator.attrgetter(step.key)
    text = step.text

    def read(items: Any) -> Any:
        for item in items:
            if str(key_of(item)) == text:
                return item
        raise Absent(f'no element with {step.key} {text!r}')
    return read


def header_stamp(message: Any) -> float | None:
    """Return the stamp of a message's header (or of its field `stamp`) in s; None without one."""
    try:
        stamp = message.header.stamp
    except AttributeError:
        stamp = getattr(message, 'stamp', None)
    try:
        seconds: float = stamp.sec + stamp.nanosec / 1e9
    except AttributeError:
        return None
    return seconds or None  # zero: the publisher did not set it


def _stamp_reader(steps: Sequence[Step]) -> Reader:
    """Return a function for the stamp; elements that a path selects may have their own header."""
    last = max((place for place, step in enumerate(steps)
                if not isinstance(step, FieldStep)), default=None)
    if last is None or (isinstance(steps[last], IndexStep) and steps[last].every):  # type: ignore
        return header_stamp
    element = _read(steps[:last + 1])

    def read(message: Any) -> float | None:
        own = header_stamp(message)
        return header_stamp(element(message)) if own is None else own
    return read


def _counted(reader: Reader) -> Reader:
    """Return a reader of the number of elements."""
    def read(message: Any) -> int:
        value = reader(message)
        return int(value.size) if isinstance(value, np.ndarray) else len(value)
    return read


def _converted(reader: Reader) -> Reader:
    """Return the reader with its result as a value of a fact."""
    def read(message: Any) -> Any:
        value = reader(message)
        kind = value.__class__
        if kind is float or kind is bool or kind is int:
            return value
        if kind is array.array:
            return np.frombuffer(value, dtype=value.typecode)
        return to_value(value)
    return read


def to_value(value: Any) -> Any:
    """Return what a message holds as a value: number, bool, text or numpy array."""
    if isinstance(value, (bool, int, float, np.ndarray)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, array.array):
        return np.frombuffer(value, dtype=value.typecode)
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, (bytes, bytearray)):
        return np.frombuffer(value, dtype=np.uint8)
    if isinstance(value, (list, tuple)):
        items = [to_value(item) for item in value]
        if items and all(isinstance(item, str) for item in items):
            return Texts(items)
        return np.array(items)
    numbers: list[float] = []
    _flatten(value, numbers)
    return np.array(numbers) if len(numbers) != 1 else numbers[0]


def _flatten(message: Any, numbers: list[float]) -> None:
    """Collect the numbers of a message; headers and texts are left out."""
    fields = _fields(message)
    if set(fields) == {'sec', 'nanosec'}:
        numbers.append(message.sec + message.nanosec / 1e9)
        return
    for name in fields:
        part = getattr(message, name)
        if isinstance(part, (bool, int, float)):
            numbers.append(part)
        elif isinstance(part, (array.array, np.ndarray)):
            numbers.extend(part)
        elif _fields(part) and name != 'header':
            _flatten(part, numbers)


def _fields(message: Any) -> Sequence[str]:
    """Return the names of a message's fields, in order; of plain objects those of dataclasses."""
    of_ros = getattr(message, 'get_fields_and_field_types', None)
    if of_ros is not None:
        return tuple(of_ros())
    return tuple(getattr(message, '__dataclass_fields__', ()))
