# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
The writer of the journal: one SQLite file a robot, append-only, the source of truth.

A row is committed inline and survives the death of the process at once; a barrier, made by
another thread, makes everything appended so far survive a power loss too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future

from .clock import Clock, SystemClock, elapsed
from .journal_barrier import BarrierThread
from .journal_reader import BUSY_S, JournalReader, explained
from .journal_row import Entry, JournalError, Row, make_row
from .journal_schema import COLUMNS, migrate

CHECKPOINT_BYTES = 16 * 1024 * 1024  # of WAL, roughly
_ROW_BYTES = 4 * 4096  # what a commit adds to the WAL beside its data: table, index, their parents

_INSERT = f"INSERT INTO entry ({COLUMNS}) VALUES ({','.join('?' * len(Row._fields))})"


class Journal(JournalReader):
    """
    Opens the journal at `path` for writing, creating it if need be; answers queries as a reader.

    Raises JournalError if another process (named with its pid and host) has it open for writing,
    and for a file that is damaged, read-only, no journal or of a newer version. May be used from
    several threads, but not in a forked child.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self.path = os.path.realpath(path)
        self._write_lock = threading.Lock()
        self._closed = False
        with contextlib.ExitStack() as opened:
            self._lock_file = _take_lock(self.path)
            opened.callback(os.close, self._lock_file)
            with explained(self.path):
                self._writer = sqlite3.connect(
                    self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
                opened.callback(self._writer.close)
                self._prepare()
            super().__init__(self.path)
            opened.callback(super().close)
            self._head = self._last_row()
            self._since_checkpoint = 0
            with explained(self.path):
                self._barriers = BarrierThread(self.path, lambda: self._head[0])
            opened.pop_all()
        self._execute = self._writer.cursor().execute

    def _prepare(self) -> None:
        """Set the connection up, bring the tables up to date and leave a WAL file behind."""
        writer = self._writer
        mode = writer.execute('PRAGMA journal_mode = WAL').fetchone()[0]
        if mode != 'wal':
            raise JournalError(f'{self.path}: this file system has no WAL mode (got {mode})')
        writer.execute('PRAGMA synchronous = NORMAL')
        writer.execute('PRAGMA wal_autocheckpoint = 0')
        # What a dead writer left goes into the database, and is synced there, before we go on.
        writer.execute('PRAGMA wal_checkpoint(TRUNCATE)')
        migrate(writer, self.path)
        directory = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _last_row(self) -> tuple[int, str]:
        """Return sequence number and hash of the last row."""
        found = self._ask(f'SELECT {COLUMNS} FROM entry ORDER BY seq DESC LIMIT 1')
        if not found:
            return 0, ''
        row = Row._make(found[0])
        if not row.intact():
            raise JournalError(f'{self.path}: damaged: row {row.seq} has not the content that it '
                               'was written with')
        return row.seq, row.hash

    def append(self, entry: Entry) -> Row:
        """
        Record `entry`; when this returns the row survives the death of the process.

        Raises JournalError (disk full, read-only, damaged, not JSON, too big, closed); then
        nothing is recorded.
        """
        with self._write_lock:
            row = self._row(entry, self._head)
            try:
                self._execute(_INSERT, row)
            except sqlite3.Error as error:
                raise self._refusal(error) from error
            self._head = row.seq, row.hash
            self._count(_ROW_BYTES + len(row.data_json))
        return row

    def append_many(self, entries: Iterable[Entry]) -> list[Row]:
        """Record all entries in one commit, or none of them; raises as `append`."""
        with self._write_lock:
            rows: list[Row] = []
            head = self._head
            for entry in entries:
                rows.append(self._row(entry, head))
                head = rows[-1].seq, rows[-1].hash
            with self._transaction():
                for row in rows:
                    self._execute(_INSERT, row)
            self._head = head
            self._count(sum(_ROW_BYTES + len(row.data_json) for row in rows))
        return rows

    def barrier(self, callback: Callable[[Future[int]], object] | None = None) -> Future[int]:
        """
        Return a future that is done when all rows appended so far survive a power loss.

        Its result is the sequence number up to which that holds; it raises JournalError if the
        disk failed. `callback` gets the future, in the barrier thread.
        """
        with self._write_lock:
            self._check_open()
            future = self._barriers.request()
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def elapsed_since(self, row: Row) -> float:
        """Return the seconds since `row` was written, also across a restart or a reboot."""
        return elapsed(self._clock, row.boot_id, row.boot_time, row.wall_time)

    def close(self) -> None:
        """Wait for all barriers, copy the WAL into the database file and release the lock."""
        with self._write_lock:
            if self._closed:
                return
            self._closed = True
            self._barriers.stop()
            super().close()
            try:
                with explained(self.path):
                    self._writer.close()
            finally:
                os.close(self._lock_file)

    def __enter__(self) -> Journal:
        return self

    def _row(self, entry: Entry, head: tuple[int, str]) -> Row:
        self._check_open()
        clock = self._clock
        return make_row(
            entry, head[0] + 1, clock.boot_id, clock.boot_time(), clock.wall_time(), head[1])

    def _count(self, size: int) -> None:
        self._since_checkpoint += size
        if self._since_checkpoint > CHECKPOINT_BYTES:
            self._since_checkpoint = 0
            self._barriers.checkpoint()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._execute('BEGIN IMMEDIATE')
            yield
            self._execute('COMMIT')
        except sqlite3.Error as error:
            raise self._refusal(error) from error
        finally:
            if self._writer.in_transaction:
                self._writer.rollback()

    def _check_open(self) -> None:
        if self._closed:
            raise JournalError(f'{self.path}: the journal is closed')

    def _refusal(self, error: sqlite3.Error) -> JournalError:
        if isinstance(error, sqlite3.IntegrityError):
            return JournalError(f'{self.path}: row {self._head[0] + 1} is there already: '
                                'something else writes to this journal')
        return JournalError(f'{self.path}: nothing was recorded: {error}')


def _take_lock(path: str) -> int:
    """Lock `path`.lock for this process; the kernel gives it free when the process ends."""
    name = path + '.lock'
    with explained(name):
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 200).decode(errors='replace') or 'another process'
            os.close(lock)
            raise JournalError(
                f'{path}: already open for writing by {holder} (lock file {name})') from None
        os.truncate(lock, 0)
        os.write(lock, f'pid {os.getpid()} on host {socket.gethostname()}'.encode())
    return lock
