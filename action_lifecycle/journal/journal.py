# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The writer of the journal: one append-only SQLite file per robot, the source of truth.

A row is committed by `append` and then survives the end of the process. A barrier, made by another
thread, makes all rows appended so far survive a power loss, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
import contextlib
from functools import partial
import logging
import os
import sqlite3
import threading

from .clock import Clock, elapsed, SystemClock
from .compaction import PLANNED, Removal, remove, SNAPSHOT
from .durability import event_kind, EVENT_KINDS, MOTION_START, power_kinds
from .last_row import note_last_row
from .reader import journal_errors, JournalReader
from .row import damaged, Entry, JournalError, make_row, Row
from .sqlite.access import require_content, require_file
from .sqlite.barrier import BarrierThread
from .sqlite.files import JournalFiles
from .sqlite.schema import COLUMNS, migrate, said, SQLITE_ERRORS, touch, transaction, version_of
from .sqlite.wal_checkpoint import CheckpointThread
from .trace_removal import TraceRemoval
from ..documents.durable_file import sync_folder
from ..documents.file_lock import take_lock

BUSY_S = 1.0  # maximum time (s) that an append waits for a foreign lock on the file
BUSY_WRITE_AGAIN = 0.1  # maximum wait (s) for readers to end, after a failed sync
CHECKPOINT_BYTES = 4 * 1024 * 1024  # approximate size of the WAL for a checkpoint
ROW_BYTES = 4096 + 512  # size of a row in the WAL, in addition to its data
ROOM = 2 * 1024 * 1024  # bytes that are free on the disk before a flow begins
LAST_SEQ = 2**62  # larger numbers are damage; SQLite's limit is 2**63 - 1

_log = logging.getLogger('action_lifecycle.journal')
_INSERT = f"INSERT INTO entry ({COLUMNS}) VALUES ({','.join('?' * len(Row._fields))})"


class Journal(JournalReader):
    """
    Opens the journal at `path` for writing and reading, and creates it if it does not exist.

    `durability`: by kind of event (durability.py), 'process' or 'power'. A row with 'power'
    starts a sync in the background; to wait for it, use `barrier`.

    Raises JournalError if another writer has the file open (with its pid and host), or if the file
    is damaged, read-only, not a journal or of a newer version. It may be used from several
    threads, but not in a forked child. While it is open, no other code in this process may open
    and close the file (for example to copy it), as that would drop SQLite's locks.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, clock: Clock | None = None,
        durability: Mapping[str, str] = EVENT_KINDS,
    ) -> None:
        self._clock: Clock = clock or SystemClock()
        self._power = power_kinds(durability)
        self._appending = threading.Lock()
        self.closed = False  #: whether `close` was called
        self._since_checkpoint = 0
        path = os.path.realpath(path)
        with contextlib.ExitStack() as undo, journal_errors(path):
            require_file(path, is_new=True)
            with journal_errors(path + '.lock'):
                lock = take_lock(path, JournalError)
                undo.callback(os.close, lock)
            require_content(path)
            # closing a descriptor of these files drops SQLite's locks, so that comes last
            at_end = undo.enter_context(contextlib.ExitStack())
            self._writer = sqlite3.connect(
                path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            undo.callback(self._writer.close)
            cursor = self._writer.cursor()
            undo.callback(cursor.close)
            self._execute = cursor.execute
            self._prepare(path)
            database, index = (
                os.open(path + suffix, os.O_RDONLY | os.O_CLOEXEC) for suffix in ('', '-shm'))
            at_end.callback(os.close, database)
            at_end.callback(os.close, index)
            super().__init__(path)
            undo.callback(super().close)
            self._last = self._last_row()  #: sequence number and hash of the last row
            self._files = JournalFiles(
                path, database, index, lambda: self._last, self._appending)
            undo.callback(self._files.close)
            undo.callback(self._checkpoint_at_end)
            self._checkpoints = CheckpointThread(path, lambda: self._last[0], self._appending)
            undo.callback(self._checkpoints.stop)
            self._barriers = BarrierThread(
                path, lambda: self._last, self._write_again, self._files,
                partial(note_last_row, lock))
            undo.callback(self._barriers.stop)
            self._checkpoints.request()  # indexes rows that an earlier writer has not indexed
            self._on_close = undo.pop_all()

    def append(self, entry: Entry) -> Row:
        """
        Append `entry`; when this returns, the row survives the end of the process.

        Raises JournalError (disk full, read-only, damaged, not JSON, too big, closed, files
        deleted or replaced); then nothing is recorded.
        """
        with self._appending:
            self._check(entry)
            row = self._row(entry, *self._last)
            try:
                self._execute(_INSERT, tuple(row))  # a plain tuple is bound faster
                self._last = row.seq, row.hash
                kind = event_kind(entry)
                if kind in self._power:
                    if kind == MOTION_START:  # the motion waits for it
                        self._barriers.begin()
                    else:
                        self._barriers.begin_soon()
            except SQLITE_ERRORS as error:
                raise self._refusal(error) from error
            except BaseException:  # Ctrl-C may come between the commit and the assignment
                self._last = self._last_row()
                raise
            self._count(ROW_BYTES + len(row.data_json))
        return row

    def append_many(self, entries: Iterable[Entry]) -> list[Row]:
        """Append all entries in one commit, or none of them; raises as `append`."""
        entries = list(entries)
        with self._appending:
            for entry in entries:
                self._check(entry)
            return self._commit(lambda: entries)

    def wants_power(self, row: Row) -> bool:
        """Whether rows of this kind must survive a power loss before their effects start."""
        return event_kind(row) in self._power

    def barrier(self, callback: Callable[[Future[int]], object] | None = None) -> Future[int]:
        """
        Return a future that is done when all rows appended so far survive a power loss.

        Its result is the sequence number up to which this holds. It raises JournalError if the
        disk failed; then later barriers fail, too, until one of them has written all unsafe rows
        again. If a file of the journal was deleted, renamed, replaced, or no longer has the last
        row, all barriers and appends fail until the journal is opened again. `callback` gets the
        future, in the barrier thread.
        """
        with self._appending:
            if self.closed:
                raise self._is_closed()
            return self._barriers.request(callback)

    def compact(self, *, synced_to: int, batch: int = 1000) -> int:
        """
        Remove rows up to `synced_to` that no open subject needs; returns their number.

        All rows of open actions, of open flows and of their actions are kept, and the last row of
        any other open subject. Each batch is one commit with a 'snapshot' row, which continues the
        sequence and the hash chain. Appends of other threads wait for at most one batch. The
        evidence traces beside the journal are removed of actions that have no row left. Raises
        JournalError as `append`, and at a damaged row; earlier batches stay removed.
        """
        traces = TraceRemoval(self.path)
        try:
            return self._compact(synced_to, batch, traces)
        finally:
            traces.finish()

    def _compact(self, synced_to: int, batch: int, traces: TraceRemoval) -> int:
        if synced_to > self._last[0]:
            raise JournalError(
                f'{self.path}: synced to row {synced_to}, but the last one is {self._last[0]}: '
                'the ledger is of another journal, or rows are lost')
        removed = planned = 0
        while planned % (PLANNED * batch) == 0:
            self._check_open()
            with JournalReader(self.path) as reader:  # own reader, so that others do not wait
                plan = reader.plan_removal(synced_to, PLANNED * batch)
            self.check_files()  # the plan was made from the file at the path
            if not plan.rows:
                break
            planned += len(plan.rows)
            traces.plan((flow, action) for _, flow, action in plan.rows if action)
            for start in range(0, len(plan.rows), batch):
                part = plan._replace(rows=plan.rows[start:start + batch])
                with self._appending:
                    self._check_open()
                    for snapshot in self._commit(partial(self._removed, part)):
                        removed += snapshot.data['removed']
        return removed

    def check_files(self) -> None:
        """Raise JournalError unless the path leads to the open file, which has the last row."""
        if lost := self._files.check():
            raise JournalError(lost)

    def check_room(self) -> None:
        """Raise JournalError if work that begins now could not be recorded."""
        with self._appending:
            self._check_open()
        self.check_files()
        with journal_errors(self.path):
            disk = os.statvfs(self.path)
        free = disk.f_bavail * disk.f_frsize
        if disk.f_flag & os.ST_RDONLY:
            raise JournalError(f'{self.path}: nothing can be recorded: the file system is '
                               'mounted read-only')
        if free < ROOM:
            raise JournalError(
                f'{self.path}: nothing can be recorded: the disk is full ({free / 1e6:.1f} MB '
                f'are free, {ROOM / 1e6:.1f} MB are needed)')

    def elapsed_since(self, row: Row) -> float:
        """Return the time (s) since `row` was written, also across a restart or a reboot."""
        return elapsed(self._clock, row.boot_id, row.boot_time, row.wall_time)

    def close(self) -> None:
        """Wait for all barriers, copy the WAL into the database file and release the lock."""
        with self._appending:
            self.closed = True
        with journal_errors(self.path):
            self._on_close.close()

    def _prepare(self, path: str) -> None:
        """Set up the connection, update the tables and create the WAL file."""
        version_of(self._writer, path)  # first, as the file may be no journal
        mode = self._execute('PRAGMA journal_mode = WAL').fetchone()[0]
        if mode != 'wal':
            raise JournalError(f'{path}: can not be used in WAL mode (got {mode})')
        self._execute('PRAGMA synchronous = NORMAL')
        self._execute('PRAGMA wal_autocheckpoint = 0').fetchall()
        migrate(self._writer, path)
        self._checkpoint()  # syncs the tables and the rows of an earlier writer
        touch(self._writer)
        sync_folder(path)

    def _checkpoint(self) -> None:
        self._execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()

    def _checkpoint_at_end(self) -> None:
        try:
            self._checkpoint()
        except SQLITE_ERRORS as error:  # the rows stay in the WAL file, as after a crash
            _log.warning('%s: the WAL could not be checkpointed: %s', self.path, said(error))

    def _write_again(self, safe: int) -> None:
        """
        Copy the WAL into the database file and sync it, after a failed sync of the WAL.

        All rows after `safe` are read and checked first, since the kernel may have dropped pages
        that were not written.
        """
        with self._appending, journal_errors(self.path):
            self._check_open()
            seq, last_hash = safe, ''
            with JournalReader(self.path) as reader:
                for row in reader.rows(after=safe):
                    if not row.intact() or last_hash not in ('', row.prev_hash):
                        raise JournalError(f'damaged: row {row.seq} is not what was written')
                    seq, last_hash = row.seq, row.hash
            if seq != self._last[0] or last_hash not in ('', self._last[1]):
                raise JournalError(f'damaged: row {self._last[0]} is not there any more')
            self._execute(f'PRAGMA busy_timeout = {int(BUSY_WRITE_AGAIN * 1000)}')
            try:
                busy, _, _ = self._execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchone()
            finally:
                self._execute(f'PRAGMA busy_timeout = {int(BUSY_S * 1000)}')
            if busy:
                raise JournalError('the rows can not be written again while others read the file')
            touch(self._writer)

    def _last_row(self) -> tuple[int, str]:
        """
        Return sequence number and hash of the last row, as stored.

        Rows are also appended after a damaged row; reading reports the damage.
        """
        for fields in self._ask(f'SELECT {COLUMNS} FROM entry ORDER BY seq DESC LIMIT 1'):
            row = Row._make(fields)
            if not isinstance(row.hash, str):
                raise damaged(self.path, f'row {row.seq} {row.fault()}')
            if row.seq >= LAST_SEQ:
                raise damaged(self.path, f'row {row.seq}: no row can follow this number')
            return row.seq, row.hash
        return 0, ''

    def _check(self, entry: Entry) -> None:
        self._check_open()
        if entry.kind == SNAPSHOT:
            raise JournalError(f"{self.path}: kind '{SNAPSHOT}' is the journal's own")

    def _check_open(self) -> None:
        if self.closed:
            raise self._is_closed()
        if self._files.lost:
            raise JournalError(self._files.lost)

    def _is_closed(self) -> JournalError:
        return JournalError(f'{self.path}: the journal is closed')

    def _row(self, entry: Entry, seq: int, last_hash: str) -> Row:
        clock = self._clock
        return make_row(
            entry, seq + 1, clock.boot_id, clock.boot_time(), clock.wall_time(), last_hash)

    def _removed(self, removal: Removal) -> list[Entry]:
        before = self.snapshot()
        data = remove(self._writer, removal, before.data if before else {}, self.path)
        return [] if data is None else [Entry(SNAPSHOT, event='compact', data=data)]

    def _commit(self, work: Callable[[], list[Entry]]) -> list[Row]:
        """Append the entries that `work` returns in one commit; `work` runs in the transaction."""
        rows: list[Row] = []
        seq, last_hash = self._last
        try:
            with transaction(self._writer):
                for entry in work():
                    row = self._row(entry, seq, last_hash)
                    self._execute(_INSERT, tuple(row))  # a plain one is bound faster
                    seq, last_hash = row.seq, row.hash
                    rows.append(row)
            self._last = seq, last_hash
            if any(event_kind(row) in self._power for row in rows):
                self._barriers.begin()
        except SQLITE_ERRORS as error:
            raise self._refusal(error) from error
        except BaseException:
            self._last = self._last_row()
            raise
        self._count(sum(ROW_BYTES + len(row.data_json) for row in rows))
        return rows

    def _count(self, size: int) -> None:
        """Request a checkpoint when the WAL is large enough."""
        self._since_checkpoint += size
        if self._since_checkpoint > CHECKPOINT_BYTES:
            self._since_checkpoint = 0
            self._checkpoints.request()

    def _refusal(self, error: Exception) -> JournalError:
        if isinstance(error, sqlite3.IntegrityError):
            return JournalError(
                f'{self.path}: nothing was recorded: row {self._last[0] + 1} exists already, '
                'something else writes to this journal')
        return JournalError(f'{self.path}: nothing was recorded: {said(error)}')
