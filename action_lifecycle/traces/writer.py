# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes traces in a thread of its own, so that no callback of the bridge waits for a disk."""

from __future__ import annotations

from collections.abc import Callable
import logging
import os
import queue
import threading

from .store import TraceStore

QUEUE = 20_000  #: maximum number of changes that wait
BATCH = 1000  #: maximum number of changes of one commit
_log = logging.getLogger('action_lifecycle.traces')


class TraceWriter:
    """
    Applies changes to a `TraceStore` in order; `fault`: why the newest ones were lost, or ''.

    Raises TraceError if the file can't be opened. Later errors are logged once and lose what was
    to be written then; writing goes on as soon as it is possible again.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int = 0) -> None:
        self.fault = ''
        self.lost = 0  #: number of changes
        self._store = TraceStore(path, limit)
        self._queue: queue.Queue[Callable[[TraceStore], None] | None] = queue.Queue(QUEUE)
        self._thread = threading.Thread(target=self._run, name='trace writer', daemon=True)
        self._thread.start()

    def put(self, change: Callable[[TraceStore], None]) -> None:
        """Have a change written; never blocks."""
        try:
            self._queue.put_nowait(change)
        except queue.Full:
            self._failed(1, 'the disk is too slow')

    def close(self) -> None:
        """Write what waits and close the file."""
        self._queue.put(None)
        self._thread.join()
        self._store.close()

    def _run(self) -> None:
        more = True
        while more:
            batch = [self._queue.get()]
            while len(batch) < BATCH and batch[-1] is not None:
                try:
                    batch.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            more = batch[-1] is not None
            changes = [change for change in batch if change is not None]
            try:
                with self._store.transaction():
                    for change in changes:
                        change(self._store)
                self._store.vacuum()
                if changes:
                    self.fault = ''
            except Exception as error:  # the thread goes on, whatever could not be written
                self._failed(len(changes), str(error) or repr(error))

    def _failed(self, changes: int, why: str) -> None:
        self.lost += changes
        if not self.fault:
            _log.warning('%s: evidence is not recorded: %s', self._store.path, why)
        self.fault = why
