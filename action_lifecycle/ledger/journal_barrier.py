# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Power-loss barriers, and WAL checkpoints, made by a thread of their own.

Rows are committed with synchronous=NORMAL: they are in the WAL file, but maybe only in the page
cache. A barrier is one fdatasync of the WAL file by a descriptor of ours. Why that is enough
stands in docs/journal.md.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue

from .journal_row import JournalError


class BarrierThread:
    """
    Makes each row durable that was committed before a barrier was asked for.

    `last_seq` tells how far the journal has been committed. All who wait when a sync begins share
    it. After a failed sync every later barrier fails too: what the kernel then holds as clean may
    never have reached the disk, and only opening the journal anew writes it again.
    """

    def __init__(
        self, path: str, last_seq: Callable[[], int],
        sync: Callable[[int], None] = os.fdatasync,
    ) -> None:
        self._path = path
        self._wal = path + '-wal'
        self._last_seq = last_seq
        self._sync = sync
        self._failed: JournalError | None = None
        self._descriptor = os.open(self._wal, os.O_RDWR | os.O_CLOEXEC)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute('PRAGMA synchronous = NORMAL')
        self._requests: SimpleQueue[Future[int] | str] = SimpleQueue()
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
        stopping = False
        while not stopping:
            requests = [self._requests.get()]
            while not self._requests.empty():
                requests.append(self._requests.get())
            waiting = [item for item in requests if isinstance(item, Future)]
            if waiting:
                self._serve([item for item in waiting if item.set_running_or_notify_cancel()])
            stopping = 'stop' in requests
            if 'checkpoint' in requests and not stopping:
                self._connection.execute('PRAGMA wal_checkpoint(PASSIVE)')

    def _serve(self, waiting: list[Future[int]]) -> None:
        safe = self._last_seq()
        try:
            self._make_safe()
        except (OSError, JournalError) as error:
            if self._failed is None:
                self._failed = JournalError(
                    f'{self._path}: rows up to {safe} are not safe from a power loss: {error}')
        for future in waiting:
            if self._failed is None:
                future.set_result(safe)
            else:
                future.set_exception(self._failed)

    def _make_safe(self) -> None:
        if self._failed is not None:
            return
        self._sync(self._descriptor)
        if os.fstat(self._descriptor).st_nlink == 0:
            raise JournalError(f'{self._wal} was deleted while in use')
