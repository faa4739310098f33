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

"""A conversation: events in; out comes what to show and what may be sent next."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple, Protocol

from .dialogue import Dialogue
from ..engine.machine import Machine

POLL = 'poll'


class Progress(Protocol):
    """How far work is."""

    @property
    def total(self) -> int:
        """Return how many tasks are known of."""

    @property
    def done(self) -> int:
        """Return how many of them are done."""

    @property
    def fraction(self) -> float:
        """Return a share of 1 that never falls."""


class Work(Protocol):
    """What is done outside while a state of type `invoker` lasts; an `Invoker` is one."""

    @property
    def error(self) -> str:
        """Return why the latest work failed, or nothing."""

    def poll(self) -> Progress | None:
        """Return how far the work is; None when none is running."""


class Reply(NamedTuple):
    """What the user gets for an event."""

    output: str
    next_events: tuple[str, ...]
    progress: Progress | None
    error: str


class Conversation:
    """
    The user's side of a machine with a `Dialogue` and, if it has states that work, a `Work`.

    While an event of the user runs, a poll waits, so that no half-made transition is seen. Do not
    call it from a hook of the machine.
    """

    def __init__(self, machine: Machine, dialogue: Dialogue, work: Work | None = None) -> None:
        self._machine = machine
        self._dialogue = dialogue
        self._work = work
        self._turn = threading.Lock()
        if not dialogue.entries:
            dialogue.greet(machine.state)

    def send(self, event: str, actor_input: Any = None) -> Reply:
        """
        Fire an event of the user; `poll` only asks.

        Raises what `Machine.fire` raises: `TransitionNotAllowed` for what is not possible.
        """
        with self._turn:
            if event == POLL:
                return self._reply(after_event=False)
            self._machine.fire(event, actor_input=actor_input, sender='user')
            return self._reply(after_event=True)

    def poll(self) -> Reply:
        """Return what can be seen now."""
        return self.send(POLL)

    def _reply(self, after_event: bool) -> Reply:
        progress = self._work.poll() if self._work is not None else None
        error = self._work.error if self._work is not None else ''
        if progress is not None:
            output = self._dialogue.output if after_event else ''
            return Reply(output, (POLL,), progress, '')
        return Reply(self._dialogue.output, self._machine.possible_events(), None, error)
