# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts input to strings for the record, without binary data and control input."""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

from ..documents.budget import MAX_DEPTH, TOO_DEEP
from ..lifecycle.text_format import has_controls


def verbatim(value: Any) -> str:
    """Return a string unchanged, and a placeholder for binary data or another value."""
    if value is None:
        return ''
    kept = presentable(value, typed=True)
    return kept if isinstance(kept, str) else '[control input]'


def presentable(value: Any, typed: bool, depth: int = 0) -> Any:
    """
    Return a copy in which binary data and too deep nesting are replaced by placeholders.

    If `typed` is true, the value comes from a person, and strings with control characters or lone
    surrogates count as binary data.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _binary(len(bytes(value)))
    if isinstance(value, str):
        if typed and has_controls(value):
            return _binary(len(value.encode('utf-8', 'surrogatepass')))
        return value
    if isinstance(value, (Mapping, list, tuple)) and depth >= MAX_DEPTH:
        return f'[{TOO_DEEP}]'
    if isinstance(value, Mapping):
        return {presentable(key, typed, depth + 1): presentable(item, typed, depth + 1)
                for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [presentable(item, typed, depth + 1) for item in value]
    return value


def as_text(value: Any) -> str:
    """Return a rendered value as a string; values other than strings become JSON."""
    if value is None:
        return ''
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _binary(size: int) -> str:
    return f'[binary input, {size} bytes]'
