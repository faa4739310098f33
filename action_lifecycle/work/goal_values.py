# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The values of facts in goals, requests and messages: `{fact: …}` and `{expr: …}`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..world.evidence import plain_value

LATER: Any = object()  #: placeholder for a value that is known only when the goal is sent


def resolve(
    data: Any, value_of: Callable[[str, str], Any], path: str = 'goal'
) -> Any:
    """
    Return the data with every `{"fact": …}` and `{"expr": …}` replaced.

    `value_of(expression, path)` returns the value, or LATER.
    """
    if isinstance(data, dict):
        if len(data) == 1:
            (key, text), = data.items()
            if key in ('fact', 'expr') and isinstance(text, str):
                value = value_of(text, path)
                return value if value is LATER else plain_value(value)
        return {key: resolve(item, value_of, f'{path}.{key}') for key, item in data.items()}
    if isinstance(data, list):
        return [resolve(item, value_of, f'{path}.{index}') for index, item in enumerate(data)]
    return data
