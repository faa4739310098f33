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

"""Decides when a journal is compacted, and has it done by a thread of its own."""

from __future__ import annotations

import logging
import threading
import time

from .journal import Journal
from .journal_row import JournalError

BATCH = 200  # rows in one commit, for which an append has to wait
LEAST = 1000  # rows that are worth a compaction
AGAIN = 60.0  # s after a failure

_log = logging.getLogger('action_lifecycle.journal')


class Compactor:
    """
    Compacts `journal` up to what the ledger of the fleet has, but for its last `keep` rows.

    `told` is called by the thread that owns the journal's writer, and returns at once.
    """

    def __init__(self, journal: Journal, keep: int) -> None:
        self._journal = journal
        self._keep = keep
        self._not_before = 0.0
        self._thread: threading.Thread | None = None
        snapshot = journal.snapshot()
        self._through = 0 if snapshot is None else int(snapshot.data['through'])

    def told(self, journal_seq: int, ledger_seq: int) -> None:
        """Take in the last row of the journal and the last one that the ledger has."""
        target = min(ledger_seq, journal_seq - self._keep)
        if target - self._through < max(self._keep // 10, LEAST) \
                or time.monotonic() < self._not_before \
                or (self._thread is not None and self._thread.is_alive()):
            return
        self._thread = threading.Thread(
            target=self._compact, args=(target,), name='journal compaction', daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for what is under way; a journal that is being closed ends it after a batch."""
        if self._thread is not None:
            self._thread.join()

    def _compact(self, target: int) -> None:
        try:
            removed = self._journal.compact(synced_to=target, batch=BATCH)
            _log.info('%s: compacted up to row %d, %d rows less', self._journal.path, target,
                      removed)
            self._through = target
        except JournalError as error:
            _log.warning('not compacted: %s', error)
            self._not_before = time.monotonic() + AGAIN
