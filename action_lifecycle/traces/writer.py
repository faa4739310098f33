# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes traces in a thread of its own, so that no callback of the bridge waits for a disk."""

from __future__ import annotations

from collections.abc import Callable
import logging
import os
import queue
import sqlite3
import threading

from .store import TraceStore

QUEUE = 20_000  #: maximum number of changes that wait
BATCH = 1000  #: maximum number of changes that are taken at once
KEPT = 10_000  #: maximum number of changes that wait for room on the disk
RETRY = 0.5  #: s
Change = Callable[[TraceStore], None]
_log = logging.getLogger('action_lifecycle.traces')


class TraceWriter:
    """
    Applies changes to a `TraceStore` in order; `fault`: why they are not in the file now, or ''.

    Raises TraceError if the file can't be opened. While the disk is full or the file is locked,
    up to KEPT changes are kept and tried again; a change that can't be written is left out. Both
    are logged once.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int = 0) -> None:
        self.fault = ''
        self.lost = 0  #: number of changes
        self._store = TraceStore(path, limit)
        self._queue: queue.Queue[Change | None] = queue.Queue(QUEUE)
        self._thread = threading.Thread(target=self._run, name='trace writer', daemon=True)
        self._thread.start()

    def put(self, change: Change) -> None:
        """Have a change written; never blocks."""
        try:
            self._queue.put_nowait(change)
        except queue.Full:
            self._failed('the disk is too slow', lost=1)

    def close(self) -> None:
        """Write what waits and close the file."""
        self._queue.put(None)
        self._thread.join()
        self._store.close()

    def _run(self) -> None:
        changes: list[Change] = []
        more = True
        while more:
            more = self._take(changes)
            try:
                self._write(changes)
                changes.clear()
                self.fault = ''
            except sqlite3.OperationalError as error:  # disk full, locked
                self._failed(str(error), lost=len(changes[KEPT:] if more else changes))
                del changes[KEPT:]
            except Exception:  # of one of them
                self._write_singly(changes)
                changes.clear()

    def _take(self, changes: list[Change]) -> bool:
        """Add what waits; returns False after `close`."""
        wait = RETRY if changes else None
        for _ in range(BATCH):
            try:
                change = self._queue.get(timeout=wait)
            except queue.Empty:
                return True
            if change is None:
                return False
            changes.append(change)
            wait = 0.0
        return True

    def _write(self, changes: list[Change]) -> None:
        with self._store.transaction():
            for change in changes:
                change(self._store)
        self._store.vacuum()

    def _write_singly(self, changes: list[Change]) -> None:
        for change in changes:
            try:
                self._write([change])
            except Exception as error:  # the thread goes on, whatever could not be written
                self._failed(str(error) or repr(error), lost=1)

    def _failed(self, why: str, *, lost: int) -> None:
        self.lost += lost
        if not self.fault:
            _log.warning('%s: evidence is not recorded: %s', self._store.path, why)
        self.fault = why
