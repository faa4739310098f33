# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Power-loss barriers, made by a thread of their own.

Rows are committed with synchronous=NORMAL: they are in the WAL file, but maybe only in the page
cache. A barrier is one fdatasync of the WAL file by a descriptor of ours; why that is enough
stands in docs/journal.md.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
import os
from queue import SimpleQueue
import threading

from .journal_row import JournalError


class BarrierThread:
    """
    Makes each row durable that was committed before a barrier was asked for.

    `last_seq` tells how far the journal has been committed. All who wait when a sync begins share
    it. After a failed sync every later barrier fails too: what the kernel then takes for clean
    may never have reached the disk, and only opening the journal anew writes it again.
    """

    def __init__(self, path: str, last_seq: Callable[[], int]) -> None:
        self._path = path
        self._last_seq = last_seq
        self._safe = 0
        self._failure: JournalError | None = None
        self._wal = path + '-wal'
        self._descriptor = os.open(self._wal, os.O_RDWR | os.O_CLOEXEC)
        self._requests: SimpleQueue[Future[int] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name='journal barrier', daemon=True)
        self._thread.start()

    def request(self) -> Future[int]:
        """Return a future of the sequence number up to which all is safe from a power loss."""
        future: Future[int] = Future()
        self._requests.put(future)
        return future

    def stop(self) -> None:
        """Serve what has been asked for, then end the thread."""
        self._requests.put(None)
        self._thread.join()
        os.close(self._descriptor)

    def _run(self) -> None:
        requests = self._requests
        while True:
            waiting = [requests.get()]
            while not requests.empty():
                waiting.append(requests.get())
            last = self._last_seq()
            if last > self._safe and self._failure is None:
                self._make_safe(last)
            for future in waiting:
                if future is None:
                    return
                if future.set_running_or_notify_cancel():
                    if self._failure is None:
                        future.set_result(last)
                    else:
                        future.set_exception(self._failure)
            # Not by fstat: once somebody asked for a file's times, the next write has to change
            # them, and the sync then waits for the file system's own journal (Linux 6.13 on).
            if self._failure is None and not os.access(self._wal, os.F_OK):
                self._fail('the WAL file was deleted while in use')

    def _make_safe(self, last: int) -> None:
        try:
            os.fdatasync(self._descriptor)
            self._safe = last
        except OSError as error:
            self._fail(str(error))

    def _fail(self, reason: str) -> None:
        self._failure = JournalError(
            f'{self._path}: rows from {self._safe + 1} on may not survive a power loss: {reason}; '
            'close the journal and open it anew')
