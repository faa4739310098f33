# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Parses JSON from other programs, with the same limits as for YAML documents.

Every JSON that this process has not written itself is read here: the standard library's reader
silently takes the last of two values with the same key.
"""

from __future__ import annotations

from collections.abc import Callable
import json
import math
import re
from typing import Any

from .budget import MAX_DEPTH, MAX_DIGITS, TOO_DEEP, TOO_MANY_DIGITS
from .errors import LifecycleError

MAX_JSON = 4 * 1024 * 1024
"""Maximum length of the input, in characters."""
_SURROGATE = re.compile(r'\\u[dD][89a-fA-F]')
_TOKEN = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}]', re.DOTALL)


class DuplicateKey(LifecycleError):
    """An object has a key twice."""


class _Twice(ValueError):
    """An object has a key twice; which one is looked up then."""


def read_json(
    text: str | bytes, what: str, *, finite: bool = False, surrogates: bool = False,
    most: int = MAX_JSON, hook: Callable[[dict[str, Any]], Any] | None = None,
) -> Any:
    """
    Parse JSON; raises `LifecycleError` with a message that begins with `what`.

    A key twice in an object (DuplicateKey), input longer than `most`, integers with more than 64
    digits, more than 64 levels, and lone surrogates are refused, since messages and the journal
    can't store them. `finite`: NaN, Infinity, and numbers that are too large are refused also,
    which the goals of a motion may have. `surrogates`: lone ones are permitted. `hook`: returns
    what replaces an object.
    """
    if len(text) > most:
        raise LifecycleError(f'{what}: longer than {most} characters')
    written = ''
    try:
        written = text if isinstance(text, str) else text.decode('utf-8-sig')
        decoder = _decoder(finite, hook) if hook else _FINITE if finite else _DECODER
        value = decoder.decode(written)
        if written.count('[') + written.count('{') > MAX_DEPTH:
            _check_depth(value)
        if not surrogates and _SURROGATE.search(written):
            json.dumps(value, ensure_ascii=False, default=str).encode()
    except _Twice:
        raise DuplicateKey(f'{what}: {_duplicate(written)}') from None
    except (ValueError, RecursionError) as error:
        why = 'a lone surrogate is not valid text' if isinstance(error, UnicodeEncodeError) \
            else TOO_DEEP if isinstance(error, RecursionError) \
            else str(error)
        raise LifecycleError(f'{what}: {why}') from error
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Twice
    return found


def _duplicate(text: str) -> json.JSONDecodeError:
    """Return the error for the first key of a text that is twice in its object."""
    objects: list[dict[str, int]] = []
    for token in _TOKEN.finditer(text):
        if token[0] == '{':
            objects.append({})
        elif token[0] == '}':
            objects.pop()
        elif token[2]:
            first = objects[-1].setdefault(_DECODER.decode(token[1]), token.start())
            if first != token.start():
                line = text.count('\n', 0, first) + 1
                return json.JSONDecodeError(
                    f"duplicate key '{token[1][1:-1]:.80}', first in line {line}",
                    text, token.start())
    raise AssertionError('no key is twice')


def _no_constant(name: str) -> Any:
    raise ValueError(f'{name} is not in JSON')


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f'number {digits:.40} is too large')
    return number


def _whole_number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(TOO_MANY_DIGITS)
    return int(digits)


def _decoder(
    finite: bool, hook: Callable[[dict[str, Any]], Any] | None = None
) -> json.JSONDecoder:
    numbers: dict[str, Any] = {
        'parse_constant': _no_constant, 'parse_float': _finite} if finite else {}
    return json.JSONDecoder(
        object_pairs_hook=(lambda pairs: hook(_unique(pairs))) if hook else _unique,
        parse_int=_whole_number, **numbers)


_DECODER, _FINITE = _decoder(False), _decoder(True)


def read_object(
    text: str | bytes, what: str, *, finite: bool = False, most: int = MAX_JSON
) -> dict[str, Any]:
    """Parse a JSON object; '' gives an empty one. Raises `LifecycleError` as `read_json`."""
    value = read_json(text, what, finite=finite, most=most) if text else {}
    if not isinstance(value, dict):
        raise LifecycleError(f'{what}: expected an object, with names and values')
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [item for entry in level if isinstance(entry, (dict, list))
                 for item in (entry.values() if isinstance(entry, dict) else entry)]
        if not level:
            return
    raise ValueError(TOO_DEEP)


def json_or_text(text: str) -> Any:
    """
    Return the value of a JSON string; the string itself if it is not valid JSON.

    Infinities and NaN become strings.
    """
    try:
        return _without_constants(read_json(text, 'value_json'))
    except LifecycleError:
        return text


def json_number(number: float) -> float | str:
    """Return a number for JSON; infinities and NaN become strings."""
    return number if math.isfinite(number) else str(number)


def _without_constants(value: Any) -> Any:
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, dict):
        return {key: _without_constants(item) for key, item in value.items()}
    return list(map(_without_constants, value)) if isinstance(value, list) else value
