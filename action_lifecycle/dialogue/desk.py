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

"""The questions that are open to a person, and who answered them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import uuid

from ..engine.errors import LifecycleError, nearest
from ..lifecycle.ports import Clock, Question

REMEMBERED = 1000
"""Answered requests of which it is still known who answered."""


class AnswerRefused(LifecycleError):
    """An answer that can't be taken; the message says why."""


@dataclass(frozen=True)
class Request:
    """A question that is open."""

    id: str
    question: Question
    asked_at: float  #: ROS time in s
    answer: Callable[[str, str], None]


class OperatorDesk:
    """Keeps the open questions; `changed()` is called when one comes or goes."""

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        self.clock = clock
        self.changed = changed
        self.open: dict[str, Request] = {}
        self._answered: dict[str, str] = {}

    def ask(self, question: Question, answer: Callable[[str, str], None]) -> _Asked:
        """Put a question; `answer(option, actor)` is called once, or never if it is withdrawn."""
        request = Request(uuid.uuid4().hex, question, self.clock.now(), answer)
        self.open[request.id] = request
        self.changed()
        return _Asked(self, request.id)

    def respond(self, request_id: str, answer: str, actor: str) -> None:
        """Take an answer; `AnswerRefused` if it is not one of the options, late, or nameless."""
        request = self.open.get(request_id)
        if request is None:
            by = self._answered.get(request_id)
            raise AnswerRefused(
                f"request '{request_id}' was answered by {by} already" if by
                else f"there is no open request '{request_id}'" + nearest(request_id, self.open))
        if not actor:
            raise AnswerRefused('the answer does not say who gives it (actor)')
        options = request.question.options
        if options and answer not in options:
            raise AnswerRefused(f"'{answer}' is not one of the options: {', '.join(options)}")
        self._answered[request_id] = actor
        while len(self._answered) > REMEMBERED:
            del self._answered[next(iter(self._answered))]
        self.withdraw(request_id)
        request.answer(answer, actor)

    def withdraw(self, request_id: str) -> None:
        """Take a question back."""
        if self.open.pop(request_id, None) is not None:
            self.changed()


class _Asked:
    """The handle of an open question."""

    def __init__(self, desk: OperatorDesk, request_id: str) -> None:
        self._desk = desk
        self._request_id = request_id

    def cancel(self) -> None:
        self._desk.withdraw(self._request_id)
