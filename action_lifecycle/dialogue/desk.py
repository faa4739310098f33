# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The open questions to people: each is asked once and answered once.

With a journal, each question of a flow is journaled before it is published, and each answer before
it takes effect. So a question keeps its id and its deadline after a restart, and an answer from
before the restart is still valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
import logging
from typing import Any, NamedTuple
import uuid

from .questions import said_by_person, worded
from ..documents.errors import LifecycleError
from ..documents.models import read_back, StrictModel
from ..documents.suggestions import nearest
from ..journal.journal import Journal
from ..journal.row import Entry, JournalError, Row
from ..lifecycle.ports import Handle, LifecycleClock, Question
from ..lifecycle.states import ErrorCode

REMEMBERED = 1000
"""Number of closed requests kept for error messages."""
NOBODY = 'nobody'
"""The actor recorded when a question times out."""


class AnswerRefused(LifecycleError):
    """An answer is refused; `code` is the error code of the response."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True)
class OpenRequest:
    """An open question with its text rendered."""

    id: str  # noqa: A003
    question: Question
    asked_at: float  #: ROS time in s
    deadline: float  #: ROS time in s; 0: none
    answer: Callable[[str, str], None]
    expired: Callable[[], None]

    def end(self, answer: str, actor: str) -> None:
        """Pass the answer to the one who asked; '' if there was none in time."""
        if answer:
            self.answer(answer, actor)
        else:
            self.expired()


class Listener:
    """A listener to the questions and answers of one flow; its methods do nothing by default."""

    def asked(self, request: OpenRequest, again: bool) -> None:
        """Handle a question; `again`: whether it was asked before a restart."""

    def answered(self, request: OpenRequest, answer: str, actor: str, comment: str) -> None:
        """Handle an answer; after a timeout, `actor` is NOBODY and `answer` the default or ''."""

    def withdrawn(self, request: OpenRequest) -> None:
        """Handle the withdrawal of a question."""


class OperatorDesk:
    """
    Keeps the open questions; calls `changed()` when one is added or closed.

    `facts()` returns the current facts, for the templates of questions.
    """

    def __init__(
        self, clock: LifecycleClock, changed: Callable[[], None], journal: Journal | None = None,
        facts: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.clock = clock
        self.changed = changed
        self.journal = journal
        self.facts = facts
        self.open: dict[str, OpenRequest] = {}
        self.listeners: Mapping[str, Listener] = {}  #: by flow
        self.note_read: Callable[[Row], None] = lambda row: None
        """Gets each note of a flow that is restored."""
        self.log = logging.getLogger('action_lifecycle')
        self._timers: dict[str, Handle] = {}
        self._closed: dict[str, tuple[ErrorCode, str]] = {}
        self._read: dict[tuple[str, str, str], _EarlierQuestion] = {}

    def ask(
        self, question: Question, answer: Callable[[str, str], None],
        expired: Callable[[], None] = lambda: None,
    ) -> _Asked:
        """Ask a question, see `lifecycle.ports.Operator`; returns its handle."""
        before = self._read.pop((question.flow_id, question.action_id, question.key), None)
        passed = 0.0
        if before is None:
            request = self._new(question, answer, expired)
        else:
            asked, row = before.note, before.row
            request = OpenRequest(asked.id, replace(question, text=asked.text),
                                  row.ros_time or 0.0, asked.deadline, answer, expired)
            if before.end is not None:
                request.end(*before.end)
                return _Asked(self, request.id)
            if self.journal is not None:
                passed = self.journal.elapsed_since(row)
        self.open[request.id] = request
        if question.timeout:
            self._timers[request.id] = self.clock.call_later(
                max(0.0, question.timeout - passed), lambda: self._time_is_up(request))
        self.changed()
        self._listener(request).asked(request, before is not None)
        return _Asked(self, request.id)

    def is_pending(self, flow_id: str, action_id: str, key: str) -> bool:
        """Return whether a question from before a restart was open and is not asked again yet."""
        before = self._read.get((flow_id, action_id, key))
        return before is not None and before.end is None

    def _new(
        self, question: Question, answer: Callable[[str, str], None], expired: Callable[[], None]
    ) -> OpenRequest:
        now = self.clock.now()
        text = worded(question, self.facts, self.journal)
        request = OpenRequest(
            uuid.uuid4().hex, replace(question, text=text), now,
            now + question.timeout if question.timeout else 0.0, answer, expired)
        try:
            self._note(request, 'asked', {
                'text': text, 'kind': question.kind, 'key': question.key,
                'options': list(question.options), 'deadline': request.deadline,
                'default': question.default})
        except JournalError as error:
            self.log.error('question %s is not recorded, after a restart it is a new one: %s',
                           request.id, error)
        return request

    def respond(self, request_id: str, answer: str, actor: str, comment: str = '') -> None:
        """Accept an answer; raises AnswerRefused if it is invalid, late, repeated or anonymous."""
        request = self.open.get(request_id)
        if request is None:
            code, why = self._closed.get(request_id, (
                ErrorCode.NOT_FOUND, f"there is no open request '{request_id[:100]}'"
                + nearest(request_id[:100], self.open)))
            raise AnswerRefused(code, why)
        answer = request.question.aliases.get(answer, answer)
        try:
            said_by_person(request.question.options, answer, actor, comment)
        except LifecycleError as error:
            raise AnswerRefused(ErrorCode.INVALID_REQUEST, str(error)) from error
        try:
            self._note(request, 'answered', {'answer': answer, 'comment': comment}, actor)
        except JournalError as error:
            raise AnswerRefused(
                ErrorCode.JOURNAL_FAILED, f'the answer can not be recorded: {error}') from error
        self._answered(request, answer, actor, comment)

    def _answered(self, request: OpenRequest, answer: str, actor: str, comment: str) -> None:
        self._close(request, _how_it_ended(request.id, answer, actor))
        self._listener(request).answered(request, answer, actor, comment)
        request.end(answer, actor)

    def _time_is_up(self, request: OpenRequest) -> None:
        if request.id not in self.open:
            return
        default = request.question.default  # '' for none
        try:
            self._note(request, 'expired', {'answer': default}, NOBODY)
        except JournalError as error:  # the flow continues anyway
            self.log.error('the end of question %s is not recorded: %s', request.id, error)
        self._answered(request, default, NOBODY, '')

    def withdraw(self, request_id: str) -> None:
        """Withdraw a question."""
        request = self.open.get(request_id)
        if request is not None:
            self._close(request, (ErrorCode.NOT_ALLOWED, f"request '{request_id}' was withdrawn: "
                                  'nobody waits for the answer any more'))
            self._listener(request).withdrawn(request)

    def _listener(self, request: OpenRequest) -> Listener:
        return self.listeners.get(request.question.flow_id) or Listener()

    def _close(self, request: OpenRequest, how: tuple[ErrorCode, str]) -> None:
        self.open.pop(request.id)
        timer = self._timers.pop(request.id, None)
        if timer is not None:
            timer.cancel()
        self._remember(request.id, how)
        self.changed()

    def _remember(self, request_id: str, how: tuple[ErrorCode, str]) -> None:
        self._closed[request_id] = how
        while len(self._closed) > REMEMBERED:
            del self._closed[next(iter(self._closed))]

    def _note(
        self, request: OpenRequest, event: str, data: Mapping[str, Any], actor: str = ''
    ) -> None:
        question = request.question
        if self.journal is not None and question.flow_id:
            self.journal.append(Entry(
                kind='note', flow_id=question.flow_id, action_id=question.action_id,
                event=f'question_{event}', data={'id': request.id, **data}, actor=actor,
                final=True, ros_time=self.clock.now()))

    def read_back(self, row: Row) -> None:
        """Restore a note of a flow from a journal row; invalid rows are logged and skipped."""
        self.note_read(row)
        if not row.event.startswith('question_'):
            return
        try:
            self._take_back(row)
        except Exception as error:  # rows may be damaged
            self.log.error(
                'row %d of the journal (%s of %s/%s) is left out, the question is asked again: %r',
                row.seq, row.event, row.flow_id, row.action_id, error)

    def _take_back(self, row: Row) -> None:
        if row.event == 'question_asked':
            asked = read_back(_AskedNote, row.data)
            self._read[row.flow_id, row.action_id, asked.key] = _EarlierQuestion(asked, row)
            return
        end = read_back(_EndNote, row.data)
        for before in self._read.values():
            if before.note.id == end.id:
                before.end = end.answer, row.actor
        self._remember(end.id, _how_it_ended(end.id, end.answer, row.actor))


class _AskedNote(StrictModel):
    """A question as the journal stores it."""

    id: str  # noqa: A003
    text: str
    key: str
    deadline: float
    kind: str = ''
    options: list[str] = []
    default: str = ''


class _EndNote(StrictModel):
    """The answer to a question or its timeout, as the journal stores it."""

    id: str  # noqa: A003
    answer: str
    comment: str = ''


@dataclass
class _EarlierQuestion:
    """A question from before a restart."""

    note: _AskedNote
    row: Row
    end: tuple[str, str] | None = None  #: answer ('' for none) and actor


def _how_it_ended(request_id: str, answer: str, actor: str) -> tuple[ErrorCode, str]:
    if actor != NOBODY:
        return (ErrorCode.NOT_ALLOWED,
                f"request '{request_id}' was answered by {actor} already: {answer}")
    taken = f': {answer} was taken' if answer else ''
    return ErrorCode.DEADLINE_EXCEEDED, f"request '{request_id}': the time is up{taken}"


class _Asked(NamedTuple):
    """The handle of an open question."""

    desk: OperatorDesk
    request_id: str

    def cancel(self) -> None:
        self.desk.withdraw(self.request_id)
