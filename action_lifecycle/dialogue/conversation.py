# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A conversation: accepts events of the user; returns the output and the possible events."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any, NamedTuple, Protocol

from .dialogue import Dialogue
from ..graphs.machine import Machine

POLL = 'poll'


class InvokedWork(Protocol):
    """The work of states of type `invoker`; `Invoker` implements it."""

    @property
    def error(self) -> str:
        """Return the error of the last work; '' if it did not fail."""

    def poll(self) -> Any:
        """Return the progress of the running work; None if there is none."""


class Reply(NamedTuple):
    """The response to an event of the user; `progress` is that of the running work, or None."""

    output: str
    next_events: tuple[str, ...]
    progress: Any
    error: str


class Conversation:
    """
    The user's interface to a machine with a `Dialogue` and, for invoker states, an `InvokedWork`.

    `poll` waits while an event of the user is processed, so it never returns an incomplete
    transition. Do not call it from a hook of the machine. `restored`: the machine goes on where it
    was, so that the initial state is not greeted. `next_events()` returns the possible events
    while no work runs, by default those of the machine.
    """

    def __init__(
        self, machine: Machine, dialogue: Dialogue, work: InvokedWork | None = None, *,
        restored: bool = False, next_events: Callable[[], tuple[str, ...]] | None = None,
    ) -> None:
        self._machine = machine
        self._dialogue = dialogue
        self._work = work
        self._next_events = next_events or machine.possible_events
        self._turn = threading.Lock()
        if not (dialogue.entries or restored):
            dialogue.greet(machine.state)

    def send(self, event: str, actor_input: Any = None, **data: Any) -> Reply:
        """
        Fire an event of the user, with further data; `poll` only returns the current state.

        Raises the errors of `Machine.fire`, such as `TransitionNotAllowed`.
        """
        with self._turn:
            if event != POLL:
                self._machine.fire(event, actor_input=actor_input, sender='user', **data)
            progress = self._work.poll() if self._work is not None else None
            if progress is not None:
                output = '' if event == POLL else self._dialogue.output
                return Reply(output, (POLL,), progress, '')
            error = self._work.error if self._work is not None else ''
            return Reply(self._dialogue.output, self._next_events(), None, error)

    def poll(self) -> Reply:
        """Return the current output, progress and possible events."""
        return self.send(POLL)
