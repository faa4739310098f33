# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The errors that the package raises, with the base class `LifecycleError`.

Each subclass has its data as attributes and builds its message from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

MAX_FAULTS = 200
"""Maximum number of faults that one check reports."""


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
    """A file or string is not valid; `faults` has all its faults."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        found = sorted(faults)
        if len(found) > MAX_FAULTS:
            found[MAX_FAULTS:] = [found[-1]._replace(message='and more faults')]
        self.faults: tuple[Fault, ...] = tuple(found)
        super().__init__('\n'.join(map(str, self.faults)))


class GraphError(DocumentError):
    """A graph file is not valid."""


class ContentRefused(LifecycleError):
    """The content can't be recorded; a retry would fail again."""


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
