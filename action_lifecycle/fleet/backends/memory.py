# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A ledger in the memory of this process, for tests and examples; it keeps every request.

All ledgers with the same URL, `memory://NAME`, share one storage. It can be used from several
threads and event loops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
import json
import os
import threading
import time
from typing import Any, NamedTuple

from ..checkpoints import Checkpoint, FIELDS, pack, TTL, unpack
from ..errors import LedgerError, LedgerRefused
from ..ledger import Cursor, REFUSALS, register_ledger, RETENTION, Rows
from ..operation_listing import Filter, listed, OperationPage, page_of
from ..operation_states import OperationState, predecessors
from ..robot_status import (
    activity,
    MAX_ACTIVITIES,
    RobotReport,
    RobotStatus,
    SHOWN_KINDS,
)
from ..smart_ledger import Lease, MemoryTasks
from ..work_status import (
    dead_letter,
    DeadLetter,
    LISTED,
    missing_letter,
    new_request,
    Request,
    Resent,
    StreamWork,
)
from ...journal.action_rows import concerns_action, status_after
from ...journal.compaction import SNAPSHOT
from ...journal.row import Row

POLL_PERIOD = 0.01  # polling period (s) for new requests
WAIT = 1.0  # maximum time (s) that a worker waits for a request


class _Robot:
    """
    The rows of one robot.

    `last`: last row by subject; `opened`: first row by open subject; `records`: of the actions.
    """

    def __init__(self) -> None:
        self.cursor = Cursor(0, '')
        self.rows: list[Row] = []
        self.last: dict[str, Row] = {}
        self.opened: dict[str, int] = {}
        self.records: dict[str, dict[str, str]] = {}


class _Trace(NamedTuple):
    """An operation with the fields of its checkpoint; `until`: time (s) at which it expires."""

    fields: dict[str, str]
    saved: dict[str, Any]
    until: float


class _Held(NamedTuple):
    """A request that a worker took `tries` times; `since`: time (s) of its last renewal."""

    worker: str
    tries: int
    since: float


class _Stream:
    """
    The requests of a stream, its dead letters, and the requests taken by each group.

    A request that a group has done is None in `groups`. `resent`: letters that were sent again.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Mapping[str, str]] = {}
        self.last = (0, 0)
        self.groups: dict[str, dict[str, _Held | None]] = {}
        self.dead: dict[str, dict[str, Any]] = {}
        self.resent: dict[str, Resent] = {}

    def add(self, fields: Mapping[str, str]) -> str:
        """Add a request; returns its id."""
        message_id = self.new_id()
        self.entries[message_id] = dict(fields)
        return message_id

    def new_id(self) -> str:
        """Return an id above all others."""
        self.last = max((int(time.time() * 1000), 0), (self.last[0], self.last[1] + 1))
        return f'{self.last[0]}-{self.last[1]}'


class _Storage:
    """The data of all ledgers with one URL; `lock` is held during each change."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.robots: dict[str, _Robot] = {}
        self.traces: dict[str, _Trace] = {}
        self.results: dict[str, str] = {}
        self.streams: dict[str, _Stream] = {}
        self.tasks = MemoryTasks()
        self.reports: dict[str, tuple[RobotReport, float]] = {}


_STORAGES: dict[str, _Storage] = {}


@register_ledger('memory')
class MemoryLedger:
    """The ledger of `robot` in the storage of `url`; see `Ledger`."""

    def __init__(
        self, url: str, robot: str = 'robot', *, retention: float = RETENTION,
        journal: str | os.PathLike[str] = 'JOURNAL',
    ) -> None:
        self.robot = robot
        self.storage = _STORAGES.setdefault(self.check_url(url), _Storage())
        self.operations = _Operations(self.storage)
        self.fleet = _FleetView(self.storage, robot)
        self._retention = retention

    @staticmethod
    def check_url(url: str) -> str:
        if '://' not in url or '@' in url or '?' in url:
            raise LedgerError('ledger URL: expected memory://NAME, without a user, a password or '
                              'parameters')
        return url

    @property
    def _of_robot(self) -> _Robot:
        return self.storage.robots.setdefault(self.robot, _Robot())

    async def cursor(self, subjects: Iterable[str] = ()) -> Cursor:
        return self._of_robot.cursor

    async def apply(
        self, rows: Sequence[Row], *, through: int = 0, swallowed: Iterable[str] = ()
    ) -> int:
        with self.storage.lock:
            kept = self._of_robot
            anchoring = kept.cursor.seq < through
            new = self._new_rows(rows, through)
            for subject in swallowed if anchoring else ():
                kept.last.pop(subject, None)
                kept.opened.pop(subject, None)
                kept.records.pop(subject, None)
            for row in new:
                kept.rows.append(row)
                kept.cursor = Cursor(row.seq, row.hash)
                if subject := self.subject(row):
                    kept.last[subject] = row
                    if row.final:
                        kept.opened.pop(subject, None)
                    else:
                        kept.opened.setdefault(subject, row.seq)
                if concerns_action(row):
                    self._record(row)
            return kept.cursor.seq

    def _record(self, row: Row) -> None:
        """Update the record of an action by a row about it."""
        record = self._of_robot.records.setdefault(_subject(
            'transition', row.flow_id, row.action_id), {})
        columns: dict[str, Any] = {'flow_id': row.flow_id, 'action_id': row.action_id}
        if row.kind == 'transition':
            columns = {**row._asdict(), 'final': int(row.final)}
        record.update({name: '' if value is None else str(value)
                       for name, value in columns.items()}, **status_after(row)._asdict())

    def _new_rows(self, rows: Sequence[Row], through: int) -> list[Row]:
        """Return the rows that the ledger does not have; raises LedgerRefused."""
        kept = self._of_robot
        seq, last_hash = kept.cursor
        anchoring = seq < through
        states = {name: row.to_state for name, row in kept.last.items()}
        new = []
        known = {row.seq: row.hash for row in kept.rows} if rows and rows[0].seq <= seq else {}
        for row in rows:
            if row.seq <= seq:
                if known.get(row.seq, row.hash) != row.hash:
                    raise self._refused('other', row, known[row.seq])
                continue
            if row.seq == seq + 1:
                if row.prev_hash != last_hash:
                    raise self._refused('chain', row, last_hash)
            elif not (seq < through and row.seq <= through + 1):
                raise self._refused('gap', row, seq)
            subject = self.subject(row)
            state = states.get(subject, row.from_state)
            if row.kind == 'transition' and not anchoring and row.from_state != 'assigned' \
                    and state != row.from_state:
                raise self._refused('state', row, state)
            states[subject] = row.to_state
            seq, last_hash = row.seq, row.hash
            new.append(row)
        return new

    def _refused(self, why: str, row: Row, found: object) -> LedgerRefused:
        return LedgerRefused(f"ledger of robot '{self.robot}': "
                             + REFUSALS[why].format(what=row.seq, found=found))

    def subject(self, row: Row) -> str:
        return '' if row.kind in ('note', SNAPSHOT) else _subject(
            row.kind, row.flow_id, row.action_id)

    async def open_subjects(self) -> list[str]:
        return list(self._of_robot.opened)

    async def trim(self, now: float) -> int:
        with self.storage.lock:
            kept = self._of_robot
            first = min(kept.opened.values(), default=kept.cursor.seq)
            gone = 0
            for row in kept.rows:
                if row.seq >= first or row.wall_time >= now - self._retention:
                    break
                gone += 1
            for row in kept.rows[:gone]:
                if kept.last.get(subject := self.subject(row)) is row:
                    del kept.last[subject]
                    kept.records.pop(subject, None)
            del kept.rows[:gone]
            return gone

    async def clear(self, save: Callable[[], object] = lambda: None) -> int:
        with self.storage.lock:
            save()
            self.storage.reports.pop(self.robot, None)
            return len(self.storage.robots.pop(self.robot, _Robot()).rows) + 1

    def clock_offset(self) -> float:
        return 0.0

    def rebuild_hint(self) -> str:
        return f"to fill the ledger of robot '{self.robot}' again, call fleet.rebuild.rebuild"

    async def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        return self.storage.tasks.lease(session, task_id)

    async def submit(self, stream: str, fields: Mapping[str, str]) -> str:
        with self.storage.lock:
            return self.storage.streams.setdefault(stream, _Stream()).add(fields)

    def requests(self, stream: str, group: str, worker: str, min_idle: float) -> _Requests:
        return _Requests(self.storage, stream, group, worker, min_idle)

    def tasks(self) -> MemoryTasks:
        return self.storage.tasks

    def reader(self) -> _Reader:
        return _Reader(self.storage, self.robot)

    async def close(self) -> None:
        """Do nothing; the storage stays."""


class _Reader(Rows):

    def __init__(self, storage: _Storage, robot: str) -> None:
        self._storage = storage
        self.robot = robot

    @property
    def _robot(self) -> _Robot:
        return self._storage.robots.get(self.robot) or _Robot()

    def last_seq(self) -> int:
        return self._robot.cursor.seq

    def rows(
        self, *, flow_id: str | None = None, action_id: str | None = None,
        kind: str | None = None, after: int = 0, limit: int | None = None,
    ) -> Iterator[Row]:
        found = [row for row in list(self._robot.rows)
                 if row.seq > after and flow_id in (None, row.flow_id)
                 and action_id in (None, row.action_id) and kind in (None, row.kind)]
        yield from found[:limit]

    def record(self, flow_id: str, action_id: str) -> Mapping[str, str]:
        return dict(self._robot.records.get(_subject('transition', flow_id, action_id), {}))

    def close(self) -> None:
        """Do nothing; the storage stays."""


class _Operations:

    def __init__(self, storage: _Storage) -> None:
        self._storage = storage

    async def receive(self, trace_id: str, metadata: Mapping[str, Any]) -> bool:
        with self._storage.lock:
            if self._valid(trace_id) is not None:
                return False
            self._storage.traces[trace_id] = _Trace(
                {**_strings(metadata), 'created_at': repr(time.time()), 'state': 'RECEIVED',
                 'updated_at': repr(time.time())}, {}, time.monotonic() + TTL)
            return True

    async def trace(self, trace_id: str) -> Mapping[str, str]:
        found = self._valid(trace_id)
        return {} if found is None else dict(found.fields)

    async def move(
        self, trace_id: str, target: OperationState, metadata: Mapping[str, Any] | None = None, *,
        saved: Mapping[str, Any] | None = None, fence: str = '', outcome: str | None = None,
    ) -> bool:
        packed = {} if saved is None else pack(saved)
        with self._storage.lock:
            found = self._valid(trace_id)
            if found is None or fence not in ('', found.fields.get('fence')) \
                    or OperationState(found.fields['state']) not in predecessors()[target]:
                return False
            found.fields.update(
                _strings(metadata or {}), state=target.value, updated_at=repr(time.time()))
            found.saved.update(packed)
            if outcome is not None:
                self._storage.results.setdefault(trace_id, outcome)
            return True

    async def confirm(self, trace_id: str, state: OperationState, fence: str) -> bool:
        found = self._valid(trace_id)
        return found is not None and [found.fields['state'], found.fields.get('fence')] == [
            state.value, fence]

    async def checkpoint(self, trace_id: str) -> Checkpoint | None:
        found = self._valid(trace_id)
        return None if found is None else unpack(
            trace_id, [found.saved.get(name) for name in FIELDS])

    async def renew(self, trace_id: str, fence: str = '') -> bool:
        with self._storage.lock:
            if (found := self._valid(trace_id)) is not None:
                if fence not in ('', found.fields.get('fence')):
                    return False
                self._storage.traces[trace_id] = found._replace(until=time.monotonic() + TTL)
        return True

    async def find(
        self, states: Collection[str] = (), *, active_only: bool = False, offset: int = 0,
        limit: int = 100, scan: bool = False,
    ) -> OperationPage:
        wanted = Filter(states, active_only)
        with self._storage.lock:
            found = {trace_id: listed(trace_id, trace.fields)
                     for trace_id in list(self._storage.traces)
                     if (trace := self._valid(trace_id)) is not None
                     and wanted.accepts(trace.fields['state'])}
        chosen = page_of(((one.updated, one.trace_id) for one in found.values()), offset, limit)
        return OperationPage([found[trace_id] for trace_id in chosen], len(found))

    def _valid(self, trace_id: str) -> _Trace | None:
        found = self._storage.traces.get(trace_id)
        return found if found is not None and time.monotonic() < found.until else None


class _Requests:

    def __init__(
        self, storage: _Storage, stream: str, group: str, worker: str, min_idle: float
    ) -> None:
        self._lock = storage.lock
        self._worker = worker
        self._min_idle = min_idle
        self._stream = storage.streams.setdefault(stream, _Stream())
        self._group = self._stream.groups.setdefault(group, {})

    async def join(self) -> None:
        """Do nothing; the group exists."""

    async def retake(self) -> list[tuple[str, Mapping[str, str]]]:
        with self._lock:
            return [self._taken(message_id) for message_id, held in self._group.items()
                    if held is not None and held.worker == self._worker][:100]

    async def take(self) -> list[tuple[str, Mapping[str, str]]]:
        deadline = time.monotonic() + min(WAIT, self._min_idle / 2)
        while not (taken := self._take()) and time.monotonic() < deadline:
            await asyncio.sleep(POLL_PERIOD)
        return taken

    def _take(self) -> list[tuple[str, Mapping[str, str]]]:
        now = time.monotonic()
        with self._lock:
            group, entries = self._group, self._stream.entries
            abandoned = (message_id for message_id, held in group.items()
                         if held is not None and now - held.since >= self._min_idle)
            new = (message_id for message_id in entries if message_id not in group)
            return [self._taken(message_id) for message_id in islice(chain(abandoned, new), 1)]

    def _taken(self, message_id: str) -> tuple[str, Mapping[str, str]]:
        held = self._group.get(message_id)
        self._group[message_id] = _Held(
            self._worker, held.tries + 1 if held is not None else 1, time.monotonic())
        return message_id, self._stream.entries.get(message_id, {})

    async def tries(self, message_id: str) -> int:
        held = self._group.get(message_id)
        return held.tries if held is not None and held.worker == self._worker else 0

    async def renew(self, message_id: str) -> bool:
        with self._lock:
            held = self._group.get(message_id)
            if held is None or held.worker != self._worker:
                return False
            self._group[message_id] = held._replace(since=time.monotonic())
            return True

    async def done(self, message_id: str) -> None:
        with self._lock:
            self._group[message_id] = None

    async def bury(self, message_id: str, letter: Mapping[str, Any]) -> bool:
        with self._lock:
            held = self._group.get(message_id)
            if held is None or held.worker != self._worker:
                return False
            self._group[message_id] = None
            self._stream.dead[self._stream.new_id()] = dict(letter)
            return True

    async def age(self, message_id: str) -> float:
        return time.time() - int(message_id.partition('-')[0]) / 1000


class _FleetView:

    def __init__(self, storage: _Storage, robot: str) -> None:
        self._storage = storage
        self._robot = robot

    async def report(self, report: RobotReport) -> None:
        self._storage.reports[self._robot] = report, time.monotonic()

    async def robots(self) -> list[RobotStatus]:
        with self._storage.lock:
            return [self._status(name) for name in sorted(
                {*self._storage.reports, *self._storage.robots})]

    def _status(self, name: str) -> RobotStatus:
        report, since = self._storage.reports.get(name, (None, 0.0))
        age = None if report is None else time.monotonic() - since
        kept = self._storage.robots.get(name) or _Robot()
        shown = sorted((opened, subject) for subject, opened in kept.opened.items())
        rows = [(kept.last[subject], kept.records.get(subject, {}))
                for _, subject in reversed(shown[-MAX_ACTIVITIES:])]
        return RobotStatus(name, report, age, kept.cursor.seq, tuple(
            activity({**record, **row._asdict()}, report, age)
            for row, record in rows if row.kind in SHOWN_KINDS))

    async def work(self, stream: str, group: str) -> StreamWork:
        with self._storage.lock:
            kept = self._storage.streams.get(stream) or _Stream()
            taken = kept.groups.get(group, {})
            waits = [Request(one, fields) for one, fields in kept.entries.items()
                     if one not in taken]
            runs = [Request(one, kept.entries.get(one, {}), held.worker,
                            time.monotonic() - held.since, held.tries)
                    for one, held in taken.items() if held is not None]
            return StreamWork(stream, group, len(waits), len(runs), len(kept.dead),
                              tuple(waits[:LISTED]), tuple(runs[:LISTED]))

    async def dead_letters(self, stream: str, limit: int = LISTED) -> list[DeadLetter]:
        with self._storage.lock:
            kept = self._storage.streams.get(stream) or _Stream()
            return [dead_letter(stream, letter_id, fields)
                    for letter_id, fields in islice(reversed(kept.dead.items()), limit)]

    async def resend(self, stream: str, letter_id: str, actor: str) -> Resent:
        with self._storage.lock:
            kept = self._storage.streams.get(stream) or _Stream()
            if letter_id in kept.resent:
                return kept.resent[letter_id]._replace(again=True)
            if letter_id not in kept.dead:
                raise missing_letter(stream, letter_id)
            fields = new_request(dead_letter(stream, letter_id, kept.dead[letter_id]), actor)
            del kept.dead[letter_id]
            done = Resent(letter_id, kept.add(fields), fields['trace_id'], actor, time.time())
            kept.resent[letter_id] = done
            return done


def _subject(kind: str, flow_id: str, action_id: str) -> str:
    return repr((kind, flow_id, action_id))


def _strings(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value)
            for name, value in metadata.items()}
