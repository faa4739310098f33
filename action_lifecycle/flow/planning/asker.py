# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Asks a planner until it gives a usable answer; used for new flows and edits of running flows.

If the planner can't be reached, it is asked again after a growing delay; if its answer is refused,
at once, with the errors. An unexpected error ends the question, as a planner that gives up does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import logging
from typing import Any, Protocol

from .told import Told
from ..run.flow_run import FlowRun
from ...documents.models import as_written
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
_LOG = logging.getLogger('action_lifecycle')


@dataclass(frozen=True)
class PlanReply:
    """
    The answer of a planner: a flow or an edit as YAML; `unreachable`: why there is none.

    `told`: what the request told it of; the answer may use nothing else.
    """

    accepted: bool = False
    answer: str = ''
    message: str = ''
    unreachable: str = ''
    told: Told = Told()


Reply = Callable[[PlanReply], None]


class PlanService(Protocol):
    """A planner; each method sends one request and calls `reply` once, within a time limit."""

    def ask(self, request: str, errors: Sequence[str], reply: Reply) -> Handle:
        """Ask for a flow; `errors`: those of its last answer."""

    def ask_edit(
        self, run: FlowRun, completed: Sequence[str], errors: Sequence[str], reply: Reply
    ) -> Handle:
        """Report ended actions and ask for an edit; an empty answer means no change."""


class Asker(ABC):
    """
    One question to a planner.

    `tries`: number of answers; `failures`: number of consecutive calls that failed to reach the
    planner; `errors`: those of the last answer, `answer`, which was given to a request that had
    `told`. `progress`: as a string, for people.
    """

    wanted = ''
    """What the planner is asked for, as shown in messages."""

    def __init__(self, clock: LifecycleClock) -> None:
        self.tries = 0
        self.failures = 0
        self.errors: list[str] = []
        self.answer = ''
        self.told = Told()
        self.progress = ''
        self._clock = clock
        self._under_way: Handle | None = None
        self._limit: Handle | None = None
        self._judging = False
        self._late = False
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
    def report(self) -> None:
        """Report that `progress` has changed."""

    def note(self, event: str, *, cause: str = '', **data: Any) -> bool:
        """Record a step; returns whether to continue."""
        return True

    def limit(self, seconds: float) -> None:
        """
        End the question after this time (s), with all its tries.

        An answer that came in time is still judged, but the planner is not asked again.
        """
        def late() -> None:
            self._late = True
            if not self._judging:
                self.give_up(f'no usable {self.wanted} within {seconds:g} s'
                             + (f'; {self.progress}' if self.tries or self.failures else ''))

        self._limit = self._clock.call_later(seconds, self.unless_over(late))

    def ask(self) -> None:
        """Ask the planner, with the errors of its last answer."""
        self._judging = False
        self.unless_over(self._ask)()

    def _ask(self) -> None:
        if self.note('asked'):
            self._report(f'asking the planner, try {self.tries + 1} of {MAX_TRIES}'
                         + (f'; the last answer: {self.errors[0]}' if self.errors else ''))
            self._under_way = self.send(self.unless_over(self._heard))

    def _report(self, text: str) -> None:
        self.progress = text
        self.report()

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
            self._report(f'{reply.unreachable}; asking again in {delay:g} s')
            self._under_way = self._clock.call_later(delay, self.unless_over(self.ask))
            return
        self.tries += 1
        self.failures = 0
        self.answer, self.told = reply.answer, reply.told
        self._judging = True
        fault = '' if reply.accepted else reply.message[:1000] or \
            f'the planner gave no {self.wanted}'
        if len(reply.answer) > MAX_ANSWER:
            fault = f'the answer is longer than {MAX_ANSWER} characters'
            self.answer = ''
        if not fault:
            if self.note('answered', answer=reply.answer, told=as_written(reply.told)):
                self.judge(reply.answer)
        else:
            self._refused('declined', [fault])

    def wrong(self, errors: list[str]) -> None:
        """Record that an answer is refused; then ask again, or give up."""
        self._refused('refused', errors)

    def _refused(self, event: str, errors: list[str]) -> None:
        self.errors = [error[:1000] for error in errors[:MAX_TOLD]] or ['it is refused']
        if self.note(event, cause=self.errors[0]):
            self.ask_again()

    def ask_again(self) -> None:
        """Ask with the errors; give up after `MAX_TRIES` answers, or if it is too late."""
        if self.tries >= MAX_TRIES or self._late:
            self.give_up(f'no usable {self.wanted} after {self.tries} answers; errors of the last '
                         'one:\n' + '\n'.join(self.errors))
        else:
            self.ask()

    def drop(self) -> None:
        """Cancel the current call and ignore all later callbacks."""
        self._over = True
        for handle in self._under_way, self._limit:
            if handle is not None:
                handle.cancel()

    def unless_over(self, callback: Callable[..., None]) -> Callable[..., None]:
        """
        Wrap a callback so that it does nothing once the question is dropped.

        If the callback raises an exception, the question is given up.
        """
        def called(*arguments: Any) -> None:
            if self._over:
                return
            try:
                callback(*arguments)
            except Exception as error:
                _LOG.exception('a question to the planner is given up')
                if not self._over:
                    self.give_up(f'internal error: {type(error).__name__}: {error}')
        return called
