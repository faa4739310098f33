# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Power-loss barriers, made by a separate thread.

Rows are committed with synchronous=NORMAL: they are in the WAL file, but may be in the page cache
only. A barrier is one fdatasync of the WAL file by a separate descriptor; docs/journal.md explains
why this suffices.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
import logging
import math
import os
from queue import Empty, SimpleQueue
import threading
import time

from .files import JournalFiles
from ..row import JournalError
from ...lifecycle.back_off import back_off

FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0  # s
LATEST = 0.05
"""Maximum time (s) until a sync that nothing waits for; syncs of every row would delay writes."""

_log = logging.getLogger('action_lifecycle.journal')


class BarrierThread:
    """
    Makes all rows durable that were committed before a barrier was requested.

    `last_row()` returns sequence number and hash of the last committed row. All requests that wait
    when a sync begins share it. After a failed sync, the kernel may mark pages as clean that never
    reached the disk, so the success of a second sync would not show that rows are durable.
    Barriers therefore fail until `write_again(safe)` has written all rows after `safe` again;
    requests try this with a growing delay. If `files` are lost, all later barriers fail.
    `note(seq, hash)` gets the last durable row before those who wait go on.
    """

    def __init__(
        self, path: str, last_row: Callable[[], tuple[int, str]],
        write_again: Callable[[int], None], files: JournalFiles,
        note: Callable[[int, str], None],
    ) -> None:
        self._path = path
        self._last_row = last_row
        self._note = note
        self._noted, _ = last_row()
        self._write_again = write_again
        self._safe = 0
        self._failure: JournalError | None = None
        self._again_at = math.inf
        self._failures = 0
        self._files = files
        # None ends the thread; True requests a sync without a future, False one within LATEST
        self._requests: SimpleQueue[Future[int] | bool | None] = SimpleQueue()
        self._spare: list[Future[int]] = []  # futures made in advance
        self._will_sync = False  #: within LATEST
        self._thread = threading.Thread(target=self._run, name='journal barrier', daemon=True)
        self._thread.start()

    def request(self, callback: Callable[[Future[int]], object] | None = None) -> Future[int]:
        """Return a future of the sequence number up to which rows survive a power loss."""
        future: Future[int] = self._spare.pop() if self._spare else Future()
        if callback is not None:
            future.add_done_callback(callback)
        self._requests.put(future)
        return future

    def begin(self) -> None:
        """Start a sync of the committed rows, so that a following barrier waits less."""
        self._requests.put(True)

    def begin_soon(self) -> None:
        """Start a sync within LATEST s."""
        if not self._will_sync:
            self._will_sync = True
            self._requests.put(False)

    def stop(self) -> None:
        """Complete all requests, then end the thread."""
        self._requests.put(None)
        self._thread.join()

    def _run(self) -> None:
        requests = self._requests
        while True:
            waiting = [requests.get()]
            until = time.monotonic() + LATEST
            while waiting[-1] is False:
                try:
                    waiting.append(requests.get(timeout=max(0.0, until - time.monotonic())))
                except Empty:
                    break
            self._will_sync = False
            while not requests.empty():
                waiting.append(requests.get())
            if self._failure is not None and time.monotonic() >= self._again_at:
                self._recover()
            last, last_hash = self._last_row()
            if last > self._safe and self._failure is None:
                self._make_safe(last)
            # only those who wait start something that must be recorded
            if lost := self._files.check(rows=any(isinstance(one, Future) for one in waiting)):
                self._failure, self._again_at = JournalError(lost), math.inf
            if self._failure is None and self._noted != last:
                self._note(last, last_hash)
                self._noted = last
            for future in waiting:
                if future is None:
                    return
                if isinstance(future, bool):
                    continue
                if future.set_running_or_notify_cancel():
                    if self._failure is None:
                        future.set_result(last)
                    else:
                        future.set_exception(self._failure)
            if not self._spare:
                self._spare.append(Future())

    def _make_safe(self, last: int) -> None:
        try:
            os.fdatasync(self._files.wal)
            self._safe = last
            self._failures = 0
        except OSError as error:
            self._fail(error)

    def _recover(self) -> None:
        """Write all unsafe rows again; if that succeeds, syncs are valid again."""
        try:
            self._write_again(self._safe)
        except JournalError as error:
            self._fail(error)
        else:
            _log.warning('%s: all rows were written again after a failed sync', self._path)
            self._failure = None

    def _fail(self, error: Exception) -> None:
        """Refuse barriers, and try again later."""
        self._failure = JournalError(
            f'{self._path}: rows from {self._safe + 1} on may not survive a power loss: {error}')
        self._failures += 1
        self._again_at = time.monotonic() + back_off(self._failures, FIRST_DELAY, LONGEST_DELAY)
