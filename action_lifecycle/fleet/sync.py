# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Syncs a journal to the ledger of the fleet, batch by batch.

The ledger's cursor is read before every batch. So rows that the ledger lost, for example by a
restored backup, are written again, and two concurrent syncs write no row twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
import contextlib
import logging
import os
import random
import time
from typing import Any, NamedTuple

from .errors import LedgerForbidden, LedgerRefused
from .fault_log import FaultLog, LONGEST_DELAY
from .journal_match import compare, Match, writer_of
from .ledger import Cursor, Ledger
from ..journal.clock import elapsed, SystemClock
from ..journal.reader import JournalReader
from ..journal.row import damaged, JournalError, Row
from ..lifecycle.back_off import back_off

_LOG = logging.getLogger(__name__)

BATCH_ROWS = 500
BATCH_SIZE = 1024 * 1024  # characters of data
POLL_PERIOD = 0.1  # polling period (s) of the journal
CHECK = 1.0  # polling period (s) of the ledger while there is nothing to sync
TRIM = 60.0  # period (s) of trimming and of checking all open subjects
FIRST_DELAY = 0.2  # s, after a failure
CLOCK_LIMIT = 60.0  # difference (s) of the clocks of ledger and robot from which on it is reported


class SyncStatus(NamedTuple):
    """
    The status of the sync.

    `last_error`: why it is not connected, or, if it is, what else is wrong; `lag`: age (s) of the
    oldest row that is not in the ledger; `refilled`: how often the ledger has lost rows.
    """

    connected: bool = False
    refused: bool = False
    journal_seq: int = 0
    ledger_seq: int = 0
    backlog: int = 0
    lag: float = 0.0
    last_error: str = ''
    refilled: int = 0


class Synchronizer:
    """
    Syncs the journal at `path` to `ledger` and closes it; calls `told` with each new status.

    `faults`: logs what is wrong.
    """

    def __init__(
        self, path: str | os.PathLike[str], ledger: Ledger,
        told: Callable[[SyncStatus], None], faults: FaultLog | None = None,
    ) -> None:
        self._path = path
        self._ledger = ledger
        self._told = told
        self._faults = None if faults is None else faults.part('sync of the journal')
        self._clock = SystemClock()
        self._reader: JournalReader | None = None
        self._status = SyncStatus()
        self._trim_at = self._check_at = 0.0

    async def run(self) -> None:
        """Sync until canceled; retries after failures, with growing delays."""
        failures = 0
        try:
            while True:
                try:
                    more = await self._step()
                    failures = 0
                except Exception as error:  # redis-py 4.3 raises unrelated errors on timeouts
                    failures += 1
                    self._failed(error)
                    delay = back_off(failures, FIRST_DELAY, LONGEST_DELAY)
                    await asyncio.sleep(delay * random.uniform(0.5, 1.0))
                else:
                    await asyncio.sleep(0 if more else POLL_PERIOD)
        finally:
            if self._reader is not None:
                self._reader.close()
            await self._ledger.close()

    async def _step(self) -> bool:
        """Sync one batch; returns whether rows are left."""
        now = time.monotonic()
        if self._reader is not None and now >= self._check_at and self._reader.is_elsewhere():
            self._reader.close()
            self._reader = None
        if self._reader is None:
            self._reader = JournalReader(self._path)
        last = self._reader.last_seq()
        if self._status.connected and last == self._status.ledger_seq and now < self._check_at:
            return False
        self._check_at = now + CHECK
        cursor = await self._ledger.cursor()
        if now >= self._trim_at:
            await self._ledger.cursor(await self._ledger.open_subjects())
        if not self._continues(cursor, last):
            await self._refuse(cursor, last)
        if cursor.seq < self._status.ledger_seq:
            _LOG.warning('the ledger has gone back from row %d to row %d; it is filled again',
                         self._status.ledger_seq, cursor.seq)
            self._tell(cursor.seq, last, refilled=self._status.refilled + 1)
        seq = cursor.seq
        if seq < last:
            seq = await bring(self._reader, self._ledger, cursor)
        if now >= self._trim_at:
            trimmed = await self._ledger.trim(self._clock.wall_time())
            self._trim_at = now if trimmed else now + TRIM
        self._tell(seq, last, last_error=self._clock_fault())
        return seq < last

    def _continues(self, cursor: Cursor, last: int) -> bool:
        """Return whether the journal is known to continue the ledger."""
        assert self._reader is not None
        if not 0 < cursor.seq <= last:
            return cursor.seq == 0
        for row in self._reader.rows(after=cursor.seq - 1, limit=1):
            if row.seq == cursor.seq:
                return row.hash == cursor.hash
        snapshot = self._reader.snapshot()  # it has removed that row from the journal
        return snapshot is not None and snapshot.data['through'] == cursor.seq \
            and snapshot.data['anchor'] == cursor.hash

    async def _refuse(self, cursor: Cursor, last: int) -> None:
        """Raise LedgerRefused, with what both have, if the ledger is not of this journal."""
        assert self._reader is not None
        match = await match_with(self._reader, self._ledger)
        if cursor.seq <= last and not match.differs and (
                match.common or not match.is_of_other_journal()):
            return  # compaction has removed from the journal what could show the difference
        self._status = self._status._replace(ledger_seq=cursor.seq)
        raise LedgerRefused(mismatch(match, cursor.seq, last, self._path, self._ledger))

    def _clock_fault(self) -> str:
        """Return what is wrong with the clock of the ledger or of this computer, or ''."""
        offset = self._ledger.clock_offset()
        if abs(offset) < CLOCK_LIMIT:
            return ''
        minutes = f'{abs(offset) / 60:.0f} min'  # a sentence that stays the same for some time
        return (f"the clock of the ledger's server is {minutes} "
                f"{'ahead of' if offset > 0 else 'behind'} this robot's: claims are valid as "
                'usual, but times in the ledger differ; set both clocks, for example by NTP')

    def _failed(self, error: Exception) -> None:
        last = self._status.journal_seq
        with contextlib.suppress(JournalError):
            if self._reader is not None:
                last = self._reader.last_seq()
        if self._faults is not None:
            self._faults.report(error)
        self._tell(self._status.ledger_seq, last, connected=False, last_error=str(error),
                   refused=isinstance(error, (LedgerForbidden, LedgerRefused)))

    def _tell(self, seq: int, last: int, **changes: Any) -> None:
        """Report a status: connected, without an error, with these `changes` of its fields."""
        backlog, lag = 0, 0.0
        if seq < last and self._reader is not None:
            with contextlib.suppress(JournalError):
                for row in self._reader.rows(after=seq, limit=1):
                    lag = elapsed(self._clock, row.boot_id, row.boot_time, row.wall_time)
            backlog = last - seq
        self._status = SyncStatus(
            connected=True, journal_seq=last, ledger_seq=seq, backlog=backlog, lag=lag,
            refilled=self._status.refilled)._replace(**changes)
        if self._faults is not None and self._status.connected:
            if self._status.last_error:
                self._faults.warn(self._status.last_error)
            else:
                self._faults.clear()
        self._told(self._status)


async def bring(reader: JournalReader, ledger: Ledger, cursor: Cursor) -> int:
    """Sync the batch after `cursor`; returns the number of the ledger's last row."""
    through = 0
    swallowed: set[str] = set()
    if snapshot := reader.snapshot():
        through = int(snapshot.data['through'])
    if cursor.seq < through:
        swallowed = set(await ledger.open_subjects())
        for row in reader.rows():
            if row.seq > through:
                break
            swallowed.discard(ledger.subject(row))
    return await ledger.apply(_batch(reader, cursor.seq), through=through, swallowed=swallowed)


async def match_with(reader: JournalReader, ledger: Ledger) -> Match:
    """Return what a journal and its ledger share."""
    rows = ledger.reader()
    try:
        return await asyncio.to_thread(compare, reader, rows)
    finally:
        rows.close()


def mismatch(
    match: Match, theirs: int, last: int, path: str | os.PathLike[str], ledger: Ledger
) -> str:
    """Return why a journal of `last` rows does not continue a ledger of `theirs`; what to do."""
    whose, anew = f"ledger of robot '{ledger.robot}'", ledger.rebuild_hint()
    # The sentence stays the same while others continue to write, so that it is logged once.
    if match.common and match.common == last:
        return (f'{whose}: the journal ends with row {last}, but the ledger has rows {last + 1} '
                f'to {theirs} of the same journal ({match.writer()}, {match.written()}): the '
                'journal was restored from an older backup, or a power failure took its last '
                f'rows; {anew}, which saves those rows to a file first')
    if match.common:
        return (f'{whose}: journal and ledger are the same up to row {match.common}, but row '
                f'{match.common + 1} has another hash in the ledger ({match.writer()}): the '
                'journal was restored from an older backup, or another robot has the same name '
                f'and a copy of this journal; if no other robot has this name, {anew}, which '
                'saves the rows that only the ledger has to a file first')
    host, journal = writer_of(path)
    return (f'{whose}: it holds another journal ({match.writer()}) than {journal} of host {host}: '
            'if another robot has the same name, give this one another name (parameter `robot`); '
            f'if the ledger is of this robot, {anew} with --other-journal')


def _batch(reader: JournalReader, after: int) -> list[Row]:
    rows: list[Row] = []
    size = 0
    for row, fault in reader.checked_rows(after=after, limit=BATCH_ROWS):
        if fault and not rows:
            raise damaged(reader.path, f'row {row.seq} {fault}')
        if fault:
            break
        rows.append(row)
        size += len(row.data_json)
        if size > BATCH_SIZE:
            break
    return rows
