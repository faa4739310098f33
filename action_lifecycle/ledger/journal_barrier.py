# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Power-loss barriers and WAL checkpoints, made by a thread of their own.

Rows are committed with synchronous=NORMAL: they are in the WAL file, but maybe only in the page
cache. A barrier is one fdatasync of the WAL file by a descriptor of ours; why that is enough
stands in docs/journal.md.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Union

from .journal_row import JournalError
from .journal_schema import STEPS

RETRY_S = 0.1  # until the next try of a checkpoint that an append or a reader overtook
MAX_FRAMES = 16_384  # 64 MiB of WAL: from here on a checkpoint holds up the appends

_log = logging.getLogger('action_lifecycle.journal')
_Request = Union['Future[int]', str]


class BarrierThread:
    """
    Makes each row durable that was committed before a barrier was asked for.

    `last_seq` tells how far the journal has been committed, `appending` is held by whoever writes
    to it. All who wait when a sync begins share it. After a failed sync every later barrier fails
    too: what the kernel then takes for clean may never have reached the disk, and only opening
    the journal anew writes it again.
    """

    def __init__(
        self, path: str, last_seq: Callable[[], int], appending: threading.Lock
    ) -> None:
        self._path = path
        self._last_seq = last_seq
        self._appending = appending
        self._failure: JournalError | None = None
        self._safe = -1
        self._descriptor = os.open(path + '-wal', os.O_RDWR | os.O_CLOEXEC)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute('PRAGMA wal_autocheckpoint = 0')
        self._connection.execute('PRAGMA synchronous = NORMAL')
        self._requests: SimpleQueue[_Request] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name='journal barrier', daemon=True)
        self._thread.start()

    def request(self) -> Future[int]:
        """Return a future of the sequence number up to which all is safe from a power loss."""
        future: Future[int] = Future()
        self._requests.put(future)
        return future

    def checkpoint(self) -> None:
        """Ask for the WAL to be copied into the database file; returns at once."""
        self._requests.put('checkpoint')

    def stop(self) -> None:
        """Serve what has been asked for, then end the thread."""
        self._requests.put('stop')
        self._thread.join()
        self._connection.close()
        os.close(self._descriptor)

    def _run(self) -> None:
        overdue = False
        while True:
            requests = self._take(RETRY_S if overdue else None)
            waiting = [item for item in requests if isinstance(item, Future)]
            if waiting:
                self._serve([item for item in waiting if item.set_running_or_notify_cancel()])
            if 'stop' in requests:
                return
            if 'checkpoint' in requests or (overdue and not requests):
                overdue = not self._checkpoint()

    def _take(self, timeout: float | None) -> list[_Request]:
        """Wait for a request and return all there are; none if `timeout` seconds pass."""
        requests: list[_Request] = []
        with contextlib.suppress(Empty):
            requests.append(self._requests.get(timeout=timeout))
            while True:
                requests.append(self._requests.get_nowait())
        return requests

    def _serve(self, waiting: list[Future[int]]) -> None:
        last = self._last_seq()
        if last > self._safe and self._failure is None:
            try:
                os.fdatasync(self._descriptor)
                if os.fstat(self._descriptor).st_nlink == 0:
                    raise OSError('the WAL file was deleted while in use')
                self._safe = last
            except OSError as error:
                self._failure = JournalError(
                    f'{self._path}: rows from {self._safe + 1} on may not survive a power loss: '
                    f'{error}; open the journal anew')
        for future in waiting:
            if self._failure is None:
                future.set_result(last)
            else:
                future.set_exception(self._failure)

    def _checkpoint(self) -> bool:
        """Copy the WAL into the database file; False if an append or a reader overtook it."""
        try:
            _, frames, copied = self._copy()
            if copied < frames <= MAX_FRAMES:
                return False
            with self._appending:
                if copied < frames:
                    _, frames, copied = self._copy()
                if copied < frames:
                    return False
                # The first commit into a WAL that starts over syncs its header (SQLite ticket
                # ff5be73dee): an empty one from here, so that no append has to wait for it.
                self._connection.execute(f'PRAGMA user_version = {len(STEPS)}')
        except sqlite3.Error as error:
            _log.warning('%s: the WAL could not be checkpointed: %s', self._path, error)
            return False
        return True

    def _copy(self) -> tuple[int, int, int]:
        """Make a passive checkpoint; return whether busy, frames in the WAL, frames copied."""
        found: tuple[int, int, int] = self._connection.execute(
            'PRAGMA wal_checkpoint(PASSIVE)').fetchone()
        return found
