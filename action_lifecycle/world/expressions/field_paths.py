# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Paths into messages: `position[name=elbow]`, `ranges[10:20]`, `status[*].level`, `data|json.on`.

A path consists of field names joined by dots; a field may have selectors in brackets:

- `[3]`, `[-1]`, `[2:8]`, `[::2]`: index and slice; for images several, joined by commas;
- `[*]`: every element. The rest of the path is read from each element; elements without it are
  left out. Several `[*]` in one path give one flat list;
- `[name=elbow]`: in an array of numbers, the element at the index at which the array `name` of the
  same message has `elbow`; in an array of messages, the first one whose field `name` is `elbow`.
  The field may be a path (`[results[0].hypothesis.class_id=cup]`); a path to several values
  (`[results[*].hypothesis.class_id=cup]`) matches if one of them has the value. A number may be
  given by the name of a constant of its message (`[level=ERROR]`);
- `[name=elbow,wrist]`: several elements, in this order. Put a value with a comma in quotes.

At the end, `|number` reads the number at the start of a string (a unit may follow), and `|json`
parses a string as JSON; keys and selectors may follow it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Union

from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest


class PathError(LifecycleError):
    """A field path is not valid; `column` counts from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        self.column = column
        super().__init__(message)


class FieldStep(NamedTuple):
    """A field of a message."""

    name: str


class IndexStep(NamedTuple):
    """An index, a slice, or several; `every`: `[*]`."""

    index: Any
    every: bool = False


class MatchStep(NamedTuple):
    """`[key=text]`, or `[key=text,text]`."""

    key: str
    texts: tuple[str, ...]


class ConvertStep(NamedTuple):
    """`|number` or `|json`."""

    to: str


Step = Union[FieldStep, IndexStep, MatchStep, ConvertStep]
CONVERSIONS = ('number', 'json')
MAX_LENGTH = 500
_FIELD = re.compile(r'[A-Za-z][A-Za-z0-9_]*')
_KEY = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')  # JSON key
_WHOLE = re.compile(r'[-+]?[0-9]+\Z')
_MATCH = re.compile(r'[A-Za-z]')
_LISTED = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,]*?)\s*(?:,|\Z)""")


def parse_path(path: str) -> tuple[Step, ...]:
    """Return the steps of a field path; raises PathError with the column of the fault."""
    if len(path) > MAX_LENGTH:
        raise PathError(f'a field path of {len(path)} characters; expected at most {MAX_LENGTH}')
    steps: list[Step] = []
    position = _field(path, 0, _FIELD, steps)
    name = _FIELD
    while position < len(path):
        sign = path[position]
        if sign == '[':
            end = _closing(path, position)
            if end < 0:
                raise PathError(f"field path '{path}': '[' is not closed", position + 1)
            steps.append(_selector(path[position + 1:end], path, position + 2))
            position = end + 1
        elif sign == '.':
            position = _field(path, position + 1, name, steps)
        elif sign == '|':
            found = _FIELD.match(path, position + 1)
            word = found.group() if found else ''
            if word not in CONVERSIONS:
                raise PathError(f"field path '{path}': expected '|number' or '|json'"
                                + nearest(word, CONVERSIONS), position + 2)
            steps.append(ConvertStep(word))
            name = _KEY
            position += 1 + len(word)
        else:
            raise PathError(f"field path '{path}': expected '.', '[' or '|'", position + 1)
        if position < len(path) and steps[-1] == ConvertStep('number'):
            raise PathError(f"field path '{path}': nothing follows '|number'", position + 1)
    return tuple(steps)


def _field(path: str, position: int, name: re.Pattern[str], steps: list[Step]) -> int:
    field = name.match(path, position)
    if field is None:
        raise PathError(f"field path '{path}': expected the name of a field", position + 1)
    steps.append(FieldStep(field.group()))
    return field.end()


def _closing(path: str, start: int) -> int:
    """Return the position of the bracket that closes the one at `start`; -1 if none."""
    depth, quote = 0, ''
    for position in range(start, len(path)):
        sign = path[position]
        if quote:
            quote = '' if sign == quote else quote
        elif sign in '"\'' and path[position - 1] in '=, ':
            quote = sign
        elif sign == '[':
            depth += 1
        elif sign == ']':
            depth -= 1
            if not depth:
                return position
    return -1


def _selector(text: str, path: str, column: int) -> Step:
    key, equals, value = _split(text)
    if equals:
        texts = [found.strip('"\'') for found in _LISTED.findall(f'{value},')][:-1]
        if len(texts) > 1 and not all(texts):
            raise PathError(f"field path '{path}': a value is missing in '{text}'", column)
        parse_path(key)
        return MatchStep(key, tuple(texts))
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


def _split(text: str) -> tuple[str, str, str]:
    """Return key, '=' and value of a selector; three empty strings if it has no key."""
    depth = 0
    for position, sign in enumerate(text):
        depth += (sign == '[') - (sign == ']')
        if sign == '=' and not depth:
            key = text[:position].strip()
            return (key, '=', text[position + 1:].strip()) if _MATCH.match(key) else ('', '', '')
    return '', '', ''
