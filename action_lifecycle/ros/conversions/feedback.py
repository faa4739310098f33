# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The feedback of motions as a line of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...documents.errors import LifecycleError
from ...documents.json_text import read_json
from ...lifecycle.text_format import printable

FEEDBACK_SHOWN = 60
"""Maximum number of feedback characters shown."""


def feedback_text(text: str) -> str:
    """Return the fields of a feedback (JSON) as `name value, ...`, shortened."""
    try:
        fields = read_json(text or '{}', 'feedback')
    except LifecycleError:
        return ''
    words = ', '.join(f'{name} {value}' for name, value in _leaves(fields))
    return printable(words, FEEDBACK_SHOWN)


def _leaves(value: Any, name: str = '') -> Iterator[tuple[str, str]]:
    """Yield the names and values of a feedback's fields, without time stamps and empty fields."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in ('header', 'joint_names', 'time_from_start', 'stamp'):
                yield from _leaves(item, key if name in ('', 'feedback') else f'{name}.{key}')
    elif isinstance(value, list):
        if value:
            shown = ' '.join(_short(item) for item in value[:4])
            yield name, f'[{shown}…]' if len(value) > 4 else f'[{shown}]'
    elif value not in ('', None):
        yield name, _short(value)


def _short(value: Any) -> str:
    return f'{value or 0.0:.3g}' if isinstance(value, float) else str(value)
