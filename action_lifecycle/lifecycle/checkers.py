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

"""
Checkers: Python callables that say whether an action is done.

Registered by `@register_checker('name')`, or by another package through the entry-point group
`action_lifecycle.checkers`. A checker gets a `VerifyRequest` and returns a `Verdict`. It runs in a
thread of its own, so it may take its time, up to the `timeout` of the flow.
"""

from __future__ import annotations

from collections.abc import Callable

from .ports import Verdict, VERDICTS, VerifyRequest
from ..engine.registry import Registry

Checker = Callable[[VerifyRequest], Verdict]

_CHECKERS: Registry[Checker] = Registry('action_lifecycle.checkers', 'there is no checker')
register_checker = _CHECKERS.register
find_checker = _CHECKERS.find


def check(name: str, request: VerifyRequest) -> Verdict:
    """
    Return the verdict of a checker.

    What it raises is the verdict `error`; a result that is no verdict gives one without a word,
    whose reason says what was returned and what was expected.
    """
    try:
        found = find_checker(name)(request)
        fault = _fault(found)
    except Exception as error:
        return Verdict('error', f'{type(error).__name__}: {error}', actor=name)
    return Verdict('', f"checker '{name}' {fault}", actor=name) if fault else found


def _fault(found: object) -> str:
    """Return what is wrong with the result of a checker; empty for a verdict."""
    if not isinstance(found, Verdict):
        return (f'returned {found!r:.200} ({type(found).__name__}); expected a Verdict, such as '
                "Verdict('completed', 'the reason')")
    if found.verdict not in VERDICTS:
        return (f'returned the verdict {found.verdict!r:.200}; expected one of '
                + ', '.join(VERDICTS))
    if not isinstance(found.evidence, (list, tuple)) or not all(
            isinstance(item, dict) for item in found.evidence):
        return f'returned the evidence {found.evidence!r:.200}; expected a list of mappings'
    return ''
