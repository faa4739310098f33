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
The errors that the package raises, with the base class `LifecycleError`.

Each subclass has its data as attributes and builds its message from them.
"""

from __future__ import annotations

from collections.abc import Iterable
import difflib
from itertools import islice
from typing import NamedTuple

MAX_FAULTS = 200
"""Maximum number of faults that one check reports."""
MAX_CANDIDATES = 500
"""Maximum number of names that are searched for the nearest one."""
NEAREST_STEPS = 20
"""Budget steps for the comparison of two names."""
MAX_NAME = 100
"""Maximum length of a name that is compared, in characters."""


class LifecycleError(Exception):
    """The base class of all errors of this package."""


class Fault(NamedTuple):
    """One fault of a document: file, line and column (from 1), and message."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f'{self.file}:{self.line}:{self.column}: {self.message}'


class DocumentError(LifecycleError):
    """A file or a text is not valid; `faults` has all its faults."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        found = sorted(faults)
        if len(found) > MAX_FAULTS:
            found[MAX_FAULTS:] = [found[-1]._replace(message='and more faults')]
        self.faults: tuple[Fault, ...] = tuple(found)
        super().__init__('\n'.join(map(str, self.faults)))


class GraphError(DocumentError):
    """A graph file is not valid."""


class ContentRefused(LifecycleError):
    """A content can't be recorded; trying again does not help."""


class TransitionNotAllowed(LifecycleError):
    """The current state, or a guard of its transition, does not permit an event."""

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
    """A state can't be reached from the current one in one step."""

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
    Return `; did you mean 'x'?` for the candidate nearest to `name`, or ''.

    To bound the time, there is no search among very many candidates, for a very long name, or with
    too few steps left in the current budget.
    """
    from .budget import afford  # here, since budget imports this module
    wanted = str(name)
    names = [candidate for candidate in islice(candidates, MAX_CANDIDATES)
             if len(candidate) <= MAX_NAME]
    if len(wanted) > MAX_NAME or len(names) >= MAX_CANDIDATES or not afford(
            NEAREST_STEPS * len(names)):
        return ''
    found = difflib.get_close_matches(wanted, names, 1, 0.6)
    return f"; did you mean '{found[0]}'?" if found else ''
