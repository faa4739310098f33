# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Asks a planner until it gives a usable answer; used for new flows and edits of running flows.

If the planner can't be reached, it is asked again after a growing delay; if its answer is refused,
at once, with the errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..run.flow_run import FlowRun
from ...lifecycle.back_off import back_off
from ...lifecycle.ports import Handle, LifecycleClock

MAX_TRIES = 3
"""Maximum number of answers, usable or not."""
MAX_FAILURES = 5
"""Maximum number of consecutive calls that fail to reach the planner."""
FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
"""First and longest delay (s) before a retry if the planner can't be reached."""
MAX_ANSWER = 256 * 1024
"""Maximum length of an answer, in characters."""
MAX_TOLD = 50
"""Maximum number of an answer's errors that are sent to the planner."""


@dataclass(frozen=True)
class PlanReply:
    """The answer of a planner: a flow or an edit as YAML; `unreachable`: why there is none."""

    accepted: bool = False
    answer: str = ''
    message: str = ''
    unreachable: str = ''


Reply = Callable[[PlanReply], None]


class PlanService(Protocol):
    """A planner; each method sends one request and calls `reply` once, within a time limit."""

    def ask(self, request: str, errors: Sequence[str], reply: Reply) -> Handle:
        """Ask for a flow; `errors`: those of its last answer."""

    def ask_edit(
        self, run: FlowRun, completed: Sequence[str], errors: Sequence[str], reply: Reply
    ) -> Handle:
        """Report completed actions and ask for an edit; an empty answer means no change."""


class Asker(ABC):
    """
    One question to a planner.

    `tries`: number of answers; `failures`: number of consecutive calls that failed to reach the
    planner; `errors`: those of the last answer.
    """

    wanted = ''
    """What the planner is asked for, as shown in messages."""

    def __init__(self, clock: LifecycleClock) -> None:
        self.tries = 0
        self.failures = 0
        self.errors: list[str] = []
        self._clock = clock
        self._under_way: Handle | None = None
        self._over = False

    @abstractmethod
    def send(self, reply: Reply) -> Handle:
        """Send the question."""

    @abstractmethod
    def judge(self, answer: str) -> None:
        """Process an answer, or call `wrong` with its errors."""

    @abstractmethod
    def give_up(self, message: str) -> None:
        """End the question without a usable answer."""

    @abstractmethod
    def report(self, text: str) -> None:
        """Report the progress as a string."""

    def note(self, event: str, *, cause: str = '', **data: Any) -> bool:
        """Record a step; returns whether to continue."""
        return True

    def ask(self) -> None:
        """Ask the planner, with the errors of its last answer."""
        if not self._over and self.note('asked'):
            self.report(f'asking the planner, try {self.tries + 1} of {MAX_TRIES}'
                        + (f'; the last answer: {self.errors[0]}' if self.errors else ''))
            self._under_way = self.send(self.unless_over(self._heard))

    def _heard(self, reply: PlanReply) -> None:
        if reply.unreachable:
            self.failures += 1
            if not self.note('unreachable', cause=reply.unreachable):
                return
            if self.failures >= MAX_FAILURES:
                self.give_up(f'the planner could not be reached {self.failures} times: '
                             f'{reply.unreachable}')
                return
            delay = back_off(self.failures, FIRST_DELAY, LONGEST_DELAY)
            self.report(f'{reply.unreachable}; asking again in {delay:g} s')
            self._under_way = self._clock.call_later(delay, self.unless_over(self.ask))
            return
        self.tries += 1
        self.failures = 0
        fault = '' if reply.accepted else reply.message[:1000] or \
            f'the planner gave no {self.wanted}'
        if len(reply.answer) > MAX_ANSWER:
            fault = f'the answer is longer than {MAX_ANSWER} characters'
        if not fault:
            if self.note('answered', answer=reply.answer):
                self.judge(reply.answer)
        elif self.note('declined', cause=fault):
            self.wrong([fault])

    def wrong(self, errors: list[str]) -> None:
        """Ask again with the errors, or give up after `MAX_TRIES` answers."""
        self.errors = [error[:1000] for error in errors[:MAX_TOLD]]
        if self.tries >= MAX_TRIES:
            self.give_up(f'no usable {self.wanted} after {self.tries} answers; errors of the last '
                         'one:\n' + '\n'.join(self.errors))
        else:
            self.ask()

    def drop(self) -> None:
        """Cancel the current call and ignore all later callbacks."""
        self._over = True
        if self._under_way is not None:
            self._under_way.cancel()

    def unless_over(self, callback: Callable[..., None]) -> Callable[..., None]:
        """Wrap a callback so that it does nothing once the question is dropped."""
        def called(*arguments: Any) -> None:
            if not self._over:
                callback(*arguments)
        return called
