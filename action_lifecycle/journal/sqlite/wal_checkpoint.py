# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Copies the WAL into the database file and updates the index, in a separate thread."""

from __future__ import annotations

from collections.abc import Callable
import logging
from queue import SimpleQueue
import sqlite3
import threading
import time

from .schema import LAST_INDEXED, said, SQLITE_ERRORS, touch, transaction

QUIET_S = 0.01  # time (s) without an append before a requested checkpoint is made
BATCH = 100  # rows that are indexed in one commit

_log = logging.getLogger('action_lifecycle.journal')


class CheckpointThread:
    """
    Makes a requested checkpoint once there has been no append for `QUIET_S`.

    If there is a second request before that, the checkpoint is made at once, so that the WAL stays
    small under load; appends, which hold `appending`, wait for the last part of a checkpoint.
    """

    def __init__(
        self, path: str, last_seq: Callable[[], int], appending: threading.Lock
    ) -> None:
        self._path = path
        self._last_seq = last_seq
        self._appending = appending
        self._connection = sqlite3.connect(
            path, timeout=0.1, isolation_level=None, check_same_thread=False)
        try:
            self._connection.execute('PRAGMA synchronous = NORMAL')
            self._connection.execute('PRAGMA wal_autocheckpoint = 0')
        except BaseException:  # close now: later it may delete the WAL of a new file at the path
            self._connection.close()
            raise
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name='journal checkpoint', daemon=True)
        self._thread.start()

    def request(self) -> None:
        """Request a checkpoint; returns at once."""
        self._wanted.put(True)

    def stop(self) -> None:
        """End the thread."""
        self._wanted.put(False)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while self._wanted.get():
            seen = -1
            while self._wanted.empty() and seen != self._last_seq():
                seen = self._last_seq()
                time.sleep(QUIET_S)
            try:
                self._checkpoint()
            except SQLITE_ERRORS as error:
                _log.warning('%s: the WAL could not be checkpointed: %s', self._path, said(error))

    def _checkpoint(self) -> None:
        self._copy()
        with self._appending:
            self._copy()  # the rows appended meanwhile
            touch(self._connection)
            more = self._index()
        while more and self._wanted.empty():
            with self._appending:
                more = self._index()

    def _index(self) -> bool:
        """Add the next rows to the index; returns whether there may be more."""
        execute = self._connection.execute
        last, count = execute(
            'SELECT max(seq), count(*) FROM (SELECT seq FROM entry NOT INDEXED '
            f'WHERE seq > {LAST_INDEXED} ORDER BY seq LIMIT {BATCH})').fetchone()
        if count == 0:
            return False
        with transaction(self._connection):
            execute(f'UPDATE entry SET indexed = 1 WHERE seq > {LAST_INDEXED} AND seq <= ?',
                    (last,))
            execute('UPDATE progress SET last_indexed = ?', (last,))
        return bool(count == BATCH)

    def _copy(self) -> None:
        self._connection.execute('PRAGMA wal_checkpoint(PASSIVE)').fetchall()
