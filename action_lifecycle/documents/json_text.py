# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parses JSON from other programs, with the same limits as for YAML documents."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from .budget import MAX_DEPTH, MAX_DIGITS, TOO_DEEP, TOO_MANY_DIGITS
from .errors import LifecycleError

MAX_JSON = 4 * 1024 * 1024
"""Maximum length of the input, in characters."""
_SURROGATE = re.compile(r'\\u[dD][89a-fA-F]')


def read_json(text: str | bytes, what: str) -> Any:
    """
    Parse JSON; raises `LifecycleError` with a message that begins with `what`.

    Input longer than MAX_JSON, integers with more than 64 digits, more than 64 levels, and lone
    surrogates are refused, since messages and the journal can't store them.
    """
    if len(text) > MAX_JSON:
        raise LifecycleError(f'{what}: longer than {MAX_JSON} characters')
    try:
        value = json.loads(text, parse_int=_whole_number)
        written = text if isinstance(text, str) else text.decode('utf-8', 'replace')
        if written.count('[') + written.count('{') > MAX_DEPTH:
            _check_depth(value)
        if _SURROGATE.search(written):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        why = 'a lone surrogate is not valid text' if isinstance(error, UnicodeEncodeError) \
            else TOO_DEEP if isinstance(error, RecursionError) \
            else str(error)
        raise LifecycleError(f'{what}: {why}') from error
    return value


def read_object(text: str | bytes, what: str) -> dict[str, Any]:
    """Parse a JSON object; '' gives an empty one. Raises `LifecycleError` as `read_json`."""
    value = read_json(text, what) if text else {}
    if not isinstance(value, dict):
        raise LifecycleError(f'{what}: expected an object, with names and values')
    return value


def _whole_number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(TOO_MANY_DIGITS)
    return int(digits)


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
