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
Checkers: Python callables that verify whether an action is done.

A checker is registered by `@register_checker('name')`, or by another package through the
entry-point group `action_lifecycle.checkers`. It gets a `VerifyRequest` and returns a `Verdict`.
It runs in a separate thread and may take up to the `timeout` in the flow.
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
    Call a checker and return its verdict.

    An exception gives the verdict `error`. An invalid result gives a `Verdict` with an empty
    `verdict`, whose reason says what was returned and what was expected.
    """
    try:
        found = find_checker(name)(request)
        fault = _fault(found)
    except Exception as error:
        return Verdict('error', f'{type(error).__name__}: {error}', actor=name)
    return Verdict('', f"checker '{name}' {fault}", actor=name) if fault else found


def _fault(found: object) -> str:
    """Return the fault of a checker's result; '' if it is a valid verdict."""
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
