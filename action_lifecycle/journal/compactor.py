# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Decides when to compact a journal, and compacts it in a separate thread."""

from __future__ import annotations

import logging
import threading
import time

from .journal import Journal
from .row import JournalError

BATCH = 200  # rows per commit; an append may have to wait for one commit
LEAST = 1000  # minimum number of rows for a compaction
RETRY_DELAY = 60.0  # delay (s) after a failure

_log = logging.getLogger('action_lifecycle.journal')


class Compactor:
    """
    Compacts the rows of `journal` that are in the ledger, except the last `keep` rows.

    Call `update` in the thread of the journal's writer; it does not block.
    """

    def __init__(self, journal: Journal, keep: int) -> None:
        self._journal = journal
        self._keep = keep
        self._not_before = 0.0
        self._thread: threading.Thread | None = None
        snapshot = journal.snapshot()
        self._through = 0 if snapshot is None else int(snapshot.data['through'])

    def update(self, journal_seq: int, ledger_seq: int) -> None:
        """Update the last rows of journal and ledger; compacts if enough rows can be removed."""
        target = min(ledger_seq, journal_seq - self._keep)
        if target - self._through < max(self._keep // 10, LEAST) \
                or time.monotonic() < self._not_before \
                or (self._thread is not None and self._thread.is_alive()):
            return
        self._thread = threading.Thread(
            target=self._compact, args=(target,), name='journal compaction', daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for a running compaction; closing the journal ends it after a batch."""
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
            self._not_before = time.monotonic() + RETRY_DELAY
