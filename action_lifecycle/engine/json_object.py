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

"""JSON objects in requests: read with limits on their size and depth."""

from __future__ import annotations

import json
from typing import Any

from .budget import MAX_DEPTH
from .errors import LifecycleError

MAX_JSON = 4 * 1024 * 1024
"""Longest JSON text of a request, in characters."""
MAX_DIGITS = 64
"""Longest whole number, in characters."""


def parse_object(text: str, field: str) -> dict[str, Any]:
    """Return a JSON object, an empty one of no text; `LifecycleError` names the `field`."""
    if len(text) > MAX_JSON:
        raise LifecycleError(f'{field}: longer than {MAX_JSON} characters')
    try:
        data = json.loads(text or '{}', parse_int=_integer)
    except RecursionError:
        raise LifecycleError(f'{field}: nested deeper than {MAX_DEPTH} levels') from None
    except ValueError as error:
        raise LifecycleError(f'{field}: {error}') from None
    if not isinstance(data, dict):
        raise LifecycleError(f'{field}: expected an object')
    level: list[Any] = [data]
    for _ in range(MAX_DEPTH):
        parts = (part for value in level for part in (
            value.values() if isinstance(value, dict) else value))
        level = [part for part in parts if isinstance(part, (dict, list))]
        if not level:
            return data
    raise LifecycleError(f'{field}: nested deeper than {MAX_DEPTH} levels')


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f'number with more than {MAX_DIGITS} digits')
    return int(digits)
