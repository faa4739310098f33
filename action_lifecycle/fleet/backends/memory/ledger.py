# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The ledger of a robot in the memory of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import os
from typing import Any

from .fleet_view import MemoryFleetView
from .operations import MemoryOperations
from .reader import MemoryReader
from .requests import MemoryRequests
from .storage import KeptRobot, Storage, Stream, subject_name
from ...errors import LedgerError, LedgerRefused
from ...journal_match import writer_of
from ...ledger import Cursor, REFUSALS, register_ledger, RETENTION, UNKNOWN_JOURNAL
from ...smart_ledger import Lease, MemoryTasks
from ...stream_names import checked_stream
from ....journal.action_rows import concerns_action, status_after
from ....journal.compaction import SNAPSHOT
from ....journal.row import Row

_STORAGES: dict[str, Storage] = {}


@register_ledger('memory')
class MemoryLedger:
    """The ledger of `robot` in the storage of `url`; see `Ledger`."""

    def __init__(
        self, url: str, robot: str = 'robot', *, retention: float = RETENTION,
        journal: str | os.PathLike[str] = UNKNOWN_JOURNAL,
    ) -> None:
        self.robot = robot
        self.storage = _STORAGES.setdefault(self.check_url(url), Storage())
        self.operations = MemoryOperations(self.storage)
        self.fleet = MemoryFleetView(self.storage, robot)
        self._retention = retention
        self._writer = writer_of(journal) if str(journal) != UNKNOWN_JOURNAL else ('', '')

    @staticmethod
    def check_url(url: str) -> str:
        if '://' not in url or '@' in url or '?' in url:
            raise LedgerError('ledger URL: expected memory://NAME, without a user, a password or '
                              'parameters')
        return url

    @property
    def _of_robot(self) -> KeptRobot:
        return self.storage.robots.setdefault(self.robot, KeptRobot())

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
            if new:
                kept.origin = self._writer
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
        record = self._of_robot.records.setdefault(subject_name(
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
        return '' if row.kind in ('note', SNAPSHOT) else subject_name(
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
            return len(self.storage.robots.pop(self.robot, KeptRobot()).rows) + 1

    def clock_offset(self) -> float:
        return 0.0

    def rebuild_hint(self) -> str:
        return f"to fill the ledger of robot '{self.robot}' again, call fleet.rebuild.rebuild"

    async def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        return self.storage.tasks.lease(session, task_id)

    async def submit(self, stream: str, fields: Mapping[str, str]) -> str:
        with self.storage.lock:
            return self.storage.streams.setdefault(checked_stream(stream), Stream()).add(fields)

    def requests(self, stream: str, group: str, worker: str, min_idle: float) -> MemoryRequests:
        return MemoryRequests(
            self.storage, checked_stream(stream), group, worker, min_idle)

    def tasks(self) -> MemoryTasks:
        return self.storage.tasks

    def reader(self) -> MemoryReader:
        return MemoryReader(self.storage, self.robot)

    async def close(self) -> None:
        """Do nothing; the storage stays."""
