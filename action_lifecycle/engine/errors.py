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
Every error that the package raises on purpose.

One root; each subclass carries the facts and builds its own message from them.
"""

from __future__ import annotations

from collections.abc import Iterable
import difflib
from itertools import islice
from typing import NamedTuple

MAX_FAULTS = 200
"""Faults that one check tells of."""
MAX_CANDIDATES = 500
"""Names among which the nearest is looked for."""
NEAREST_STEPS = 20
"""Steps that it takes to compare a name with another one."""
MAX_NAME = 100
"""Longest name, in characters, for which a near one is looked for."""


class LifecycleError(Exception):
    """The root of all errors of this package."""


class Fault(NamedTuple):
    """One fault of a document: where it stands (line and column from 1) and what is wrong."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f'{self.file}:{self.line}:{self.column}: {self.message}'


class DocumentError(LifecycleError):
    """A file or a text that can't be used; `faults` has all that is wrong with it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        found = sorted(faults)
        if len(found) > MAX_FAULTS:
            found[MAX_FAULTS:] = [found[-1]._replace(message='and more faults')]
        self.faults: tuple[Fault, ...] = tuple(found)
        super().__init__('\n'.join(map(str, self.faults)))


class GraphError(DocumentError):
    """A graph file that can't be used."""


class ContentRefused(LifecycleError):
    """Something that can never be recorded as it is; trying again is of no use."""


class TransitionNotAllowed(LifecycleError):
    """An event that the current state (or a guard of its transition) does not admit."""

    def __init__(
        self, event: str, state: str, possible: Iterable[str], reason: str = ''
    ) -> None:
        self.event = event
        self.state = state
        self.possible: tuple[str, ...] = tuple(possible)
        self.reason = reason
        choices = ', '.join(self.possible) or 'none'
        super().__init__(
            f"event '{event}' is not allowed in state '{state}'"
            + (f': {reason}' if reason else '')
            + f'; possible events: {choices}'
        )


class StateTransitionError(LifecycleError):
    """A wanted state that can't be reached from the current one in one step."""

    def __init__(self, subject: str, state: str, target: str, reason: str = '') -> None:
        self.subject = subject
        self.state = state
        self.target = target
        self.reason = reason
        super().__init__(
            f"{subject}: no transition from '{state}' to '{target}'"
            + (f': {reason}' if reason else '')
        )


def nearest(name: object, candidates: Iterable[str]) -> str:
    """
    Return `; did you mean 'x'?` for the candidate nearest to `name`, or an empty text.

    Among very many candidates, or of a very long name, none is looked for: it would take longer
    than it helps. Nor is it when too little is left of the budget that is in force.
    """
    from .budget import afford  # here, for it needs the errors above
    wanted = str(name)
    names = [candidate for candidate in islice(candidates, MAX_CANDIDATES)
             if len(candidate) <= MAX_NAME]
    if len(wanted) > MAX_NAME or len(names) >= MAX_CANDIDATES or not afford(
            NEAREST_STEPS * len(names)):
        return ''
    found = difflib.get_close_matches(wanted, names, 1, 0.6)
    return f"; did you mean '{found[0]}'?" if found else ''
