# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads the runs of actions from the rows of a journal, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .runs import ActionRun, Attempt, FlowEnd, Judged, WORKING
from .servers import ServerFinder
from ..dialogue.desk import NOBODY
from ..flow.files.journaled import JournaledText
from ..flow.jobs.jobs import JOB_ACTOR
from ..journal.action_rows import BLOCKED, UNBLOCKED
from ..journal.clock import seconds_between
from ..journal.row import JournalError, Row
from ..lifecycle.states import ActionState

UNUSABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions at data of intact rows that are not as this package writes them."""

MAX_SECONDS = 1e12
Key = tuple[str, str]
_IDLE = ('', ActionState.ASSIGNED.value, ActionState.TERMINATED.value)
_BEFORE = (ActionState.ASSIGNED.value, ActionState.TERMINATED.value)
_OF_ATTEMPT = (*WORKING, ActionState.PENDING.value)
_BY_NOBODY = ('policy', NOBODY, '')
APPROVAL = 'approval_required'  # begins the cause of a wait for people's orders


class _Subject:
    """An action whose rows are being read."""

    def __init__(self, run: ActionRun) -> None:
        self.run = run
        self.state = ''
        self.since: Row | None = None  #: the row that entered the state
        self.blocked: tuple[str, Row] | None = None  #: kind of wait, and the row that began it
        self.questions: dict[str, Row] = {}
        self.parameters: dict[str, Any] = {}
        self.fields: dict[str, Any] = {}
        self.cut = False  #: compaction has removed its first rows
        self.path = ''  #: of the next attempt


def _flow_outcome(row: Row) -> str:
    """Return how a flow ended, from its last row."""
    if row.to_state == 'FINISH':
        return 'finished'
    return 'canceled' if row.data.get('error_code') == 'CANCELED' else 'failed'


class RunReader:
    """
    Turns the rows of a journal into runs; `index`: of the journal.

    `runs` yields a run when it has ended for good; after it, `open_runs` and `cut_runs` (those
    whose first rows compaction has removed) are known.
    """

    def __init__(self, index: int, finder: ServerFinder) -> None:
        self.open_runs: list[ActionRun] = []
        self.ended_flows: list[FlowEnd] = []
        self.cut_runs: list[ActionRun] = []
        self._index = index
        self._finder = finder
        self._flows: dict[str, JournaledText] = {}
        self._began: dict[str, float] = {}  #: wall time (s) of the open flows
        self._subjects: dict[Key, _Subject] = {}

    def runs(self, rows: Iterable[Row]) -> Iterator[ActionRun]:
        """Yield the runs that have ended; raises JournalError at data that can't be used."""
        for row in rows:
            try:
                if row.kind == 'transition':
                    yield from self._transition(row)
                elif row.kind == 'note' and row.action_id:
                    self._note(row)
                elif row.kind == 'flow':
                    yield from self._flow(row)
            except UNUSABLE as error:
                raise JournalError(
                    f"row {row.seq}: '{row.event}' of {row.flow_id}/{row.action_id} has data that "
                    f'can not be used: {error!r}') from error
        for subject in self._subjects.values():
            yield from self._done(subject)

    def _flow(self, row: Row) -> Iterator[ActionRun]:
        if row.event in ('accepted', 'text'):
            self._flows.setdefault(row.flow_id, JournaledText()).take(row)
            self._began.setdefault(row.flow_id, row.wall_time)
        elif row.final:
            self.ended_flows += self._flow_end(row.flow_id, _flow_outcome(row))
            self._flows.pop(row.flow_id, None)
            for key in [key for key in self._subjects if key[0] == row.flow_id]:
                yield from self._done(self._subjects.pop(key))

    def open_flows(self) -> list[FlowEnd]:
        """Return the flows that have not ended by the rows read so far."""
        return [end for flow_id in [*self._began] for end in self._flow_end(flow_id, '')]

    def _flow_end(self, flow_id: str, outcome: str) -> Iterator[FlowEnd]:
        """Yield the end of a flow, if it is not part of another one and its begin is known."""
        began = self._began.pop(flow_id, None)
        if began is not None and '/' not in flow_id:
            name = self._flows[flow_id].head.get('name', '')
            yield FlowEnd(str(name), began, outcome)

    def _done(self, subject: _Subject) -> Iterator[ActionRun]:
        run = subject.run
        if subject.cut:
            self.cut_runs.append(run)
        elif run.outcome:
            yield run
        elif run.first_seq:
            self.open_runs.append(run)

    def _subject(self, row: Row) -> _Subject:
        key = row.flow_id, row.action_id
        if key not in self._subjects:
            name = self._text(row).head.get('name')
            self._subjects[key] = _Subject(ActionRun(
                self._index, None if name is None else str(name), *key))
        return self._subjects[key]

    def _text(self, row: Row) -> JournaledText:
        return self._flows.get(row.flow_id) or JournaledText()

    def _transition(self, row: Row) -> Iterator[ActionRun]:
        subject = self._subject(row)
        if subject.since is None and row.from_state not in _BEFORE:
            subject.cut = True
        self._end_waits(subject, row)
        self._leave(subject, row)
        data = row.data
        if row.event == 'reassign':
            yield from self._reassign(row)
            return
        run = subject.run
        run.first_seq, run.began = run.first_seq or row.seq, run.began or row.wall_time
        take = _TAKES.get(row.event)
        if row.to_state == ActionState.IN_PROGRESS and row.event != 'resume':
            self._begin(subject, row)
        if 'waited' in data:
            _add(run.waits, 'resources', float(data['waited']))
        if take is not None:
            take(subject, row, data)
        if row.to_state == ActionState.TERMINATED:
            run.outcome = str(data['outcome'])
            if run.outcome == 'succeeded':  # nobody can retry it
                del self._subjects[row.flow_id, row.action_id]
                yield from self._done(subject)

    def _reassign(self, row: Row) -> Iterator[ActionRun]:
        subject = self._subject(row)
        if row.actor != JOB_ACTOR and subject.run.outcome:  # a person retries it
            subject.run.outcome, subject.path = '', 'operator'
            subject.parameters, subject.fields = {}, {}
            return
        del self._subjects[row.flow_id, row.action_id]
        yield from self._done(subject)
        again = self._subject(row)
        again.state, again.since = row.to_state, row

    def _begin(self, subject: _Subject, row: Row) -> None:
        run, path = subject.run, subject.path
        if row.event == 'retry':
            path = 'operator' if row.actor else 'retry'
        servers = self._finder.servers(
            self._text(row), row.action_id, subject.parameters, subject.fields)
        run.attempts.append(Attempt(
            row.attempt, path if run.attempts else '', servers, first_seq=row.seq))
        subject.path = ''

    def _leave(self, subject: _Subject, row: Row) -> None:
        """Add the time in the state that ends."""
        if subject.since is not None and subject.state not in _IDLE:
            spent = seconds_between(subject.since, row)
            subject.run.visits.append((subject.state, spent))
            if subject.run.attempts:
                _add(subject.run.attempts[-1].spent, subject.state, spent)
        subject.state, subject.since = row.to_state, row

    def _note(self, row: Row) -> None:
        if row.event in (BLOCKED, UNBLOCKED):
            subject = self._subject(row)
            self._end_block(subject, row)
            if row.event == BLOCKED:
                by_people = row.cause.startswith(APPROVAL)
                subject.blocked = 'paused' if by_people else 'locked', row
        elif row.event == 'question_asked':
            self._subject(row).questions[str(row.data['id'])] = row
        elif row.event in ('question_answered', 'question_expired'):
            subject = self._subject(row)
            asked = subject.questions.pop(str(row.data['id']), None)
            if asked is not None:
                _add(subject.run.waits, 'operator', seconds_between(asked, row))

    def _end_waits(self, subject: _Subject, row: Row) -> None:
        """End the waits that the next change of the action ends; open questions are withdrawn."""
        self._end_block(subject, row)
        for asked in subject.questions.values():
            _add(subject.run.waits, 'operator', seconds_between(asked, row))
        subject.questions.clear()

    def _end_block(self, subject: _Subject, row: Row) -> None:
        if subject.blocked is not None:
            kind, began = subject.blocked
            spent = seconds_between(began, row)
            _add(subject.run.waits, kind, spent)
            if subject.state in WORKING and subject.run.attempts:
                subject.run.attempts[-1].halted += spent
            subject.blocked = None


def _add(times: dict[str, float], name: str, seconds: float) -> None:
    if not 0.0 <= seconds < MAX_SECONDS:
        raise ValueError(f'a time of {seconds} s')
    times[name] = times.get(name, 0.0) + seconds


def _resume(subject: _Subject, row: Row, data: Mapping[str, Any]) -> None:
    """Begin the attempt anew, after a verifier has answered pending."""
    attempt = _last(subject)
    attempt.claimed, attempt.sensors = False, ''


def _motion_done(subject: _Subject, row: Row, data: Mapping[str, Any]) -> None:
    _last(subject).claimed = not data.get('interrupted')


def _request_verification(subject: _Subject, row: Row, data: Mapping[str, Any]) -> None:
    attempt = _last(subject)
    attempt.claimed = 'ended' in data and 'sensors_said' not in data
    if 'sensors_said' in data:
        _confirmed(subject, row, data)


def _confirmed(subject: _Subject, row: Row, data: Mapping[str, Any]) -> None:
    attempt = _last(subject)
    attempt.sensors = str(data.get('sensors_said', ''))
    if data.get('evidence'):
        attempt.judged.append(Judged(row.seq, True, list(data['evidence'])))


def _verified(subject: _Subject, row: Row, data: Mapping[str, Any]) -> None:
    attempt = _last(subject)
    if not attempt.sensors and 'sensors_said' in data:
        _confirmed(subject, row, data)
    attempt.ended = 'completed'


def _fail(subject: _Subject, row: Row, data: Mapping[str, Any]) -> None:
    """Take the failure of an attempt; that of a fallback is none."""
    if row.from_state not in _OF_ATTEMPT or not subject.run.attempts:
        return
    attempt = _last(subject)
    code = str(data['error_code'])
    attempt.ended = 'canceled' if code == 'CANCELED' else 'failed'
    attempt.failed_seq = row.seq
    if attempt.ended == 'failed':
        attempt.failure = code
    said = data.get('sensors_said')
    evidence = list(data.get('evidence') or ())
    if said == 'confirmed':  # a verifier has refused it
        if not attempt.sensors:
            _confirmed(subject, row, data)
        return
    attempt.sensors = str(said or attempt.sensors)
    if evidence and attempt.ended == 'failed':
        attempt.judged.append(Judged(row.seq, False, evidence))
        attempt.unmet = next((str(each['expression']) for each in evidence
                              if each.get('verdict') != 'true'), '')


def _receive_fallback(subject: _Subject, row: Row, data: Mapping[str, Any]) -> None:
    subject.path = 'operator' if row.actor not in _BY_NOBODY else \
        'recipe' if data.get('strategy') == 'recipe' else 'fallback'
    subject.parameters.update(data.get('parameters') or {})
    subject.fields = data.get('fields') or subject.fields


def _last(subject: _Subject) -> Attempt:
    """Return the present attempt; a new one if its begin is not in the journal."""
    if not subject.run.attempts:
        subject.run.attempts.append(Attempt(0))
    return subject.run.attempts[-1]


_TAKES = {
    'resume': _resume, 'motion_done': _motion_done,
    'request_verification': _request_verification, 'confirmed': _confirmed,
    'verified': _verified, 'fail': _fail, 'receive_fallback': _receive_fallback}
