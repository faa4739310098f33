# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Opens SQLite files that others may have written, for reading.

A query neither takes for ever, nor as much memory as the file asks for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
import contextlib
import logging
import math
import os
import sqlite3
from sys import getsizeof
import time
from typing import Any
from urllib.parse import quote

from .input_file import require_regular

PATIENCE_S = 5.0
"""CPU time (s) without a row that is told, and in which a small file is refused."""
BYTES_PER_S = 10_000_000
"""How much more of it a large file has."""
HEAP = 100 << 20
"""
Maximum memory (bytes) of SQLite in a process of Python 3.10, which can't limit single values.
"""
MAX_ROW = 150 << 20  # bytes of memory
TOO_LONG = 'a query takes too long; the file may be damaged, or made to do that'
_STEPS = 100_000  # instructions of SQLite between two looks at the clock, about 1 ms

_log = logging.getLogger('action_lifecycle.documents')


class DatabaseInput(sqlite3.Connection):
    """
    A connection to a file that may be damaged, or made to do harm.

    Queries raise sqlite3.Error if they take too long, or if a value or a row is too big.
    """

    def watch(self, name: str, longest: float) -> None:
        """End queries that take `longest` s of CPU time; `name` of the file, for the log."""
        self._name, self._longest, self._told = name, longest, False
        self._begin()
        self.set_progress_handler(self._is_over, _STEPS)

    def limit(self, size: int) -> None:
        """Set the largest size (bytes) of a text or BLOB."""
        if hasattr(self, 'setlimit'):
            self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size)
        else:
            super().execute(f'PRAGMA hard_heap_limit = {HEAP}')

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Start a query; its time includes that until its rows are fetched."""
        self._begin()
        with _told():
            return super().execute(sql, parameters)

    def rows(
        self, sql: str, parameters: Any = (), most: float = math.inf
    ) -> Generator[tuple[Any, ...], None, None]:
        """
        Yield the rows of a query, each with its own time.

        `most`: limit (bytes) of the memory of all of them.
        """
        with contextlib.closing(self.execute(sql, parameters)) as cursor:
            while True:
                with _told():
                    row = cursor.fetchone()
                if row is None:
                    return
                size = memory_of(row)
                most -= size
                if size > MAX_ROW or most < 0:
                    raise sqlite3.DataError('rows are too big')
                yield row
                self._begin()

    def _begin(self) -> None:
        self._began = time.thread_time()

    def _is_over(self) -> bool:
        taken = time.thread_time() - self._began
        if taken > PATIENCE_S and not self._told:
            self._told = True
            _log.warning('%s: a query takes more than %g s; it ends after %.0f s',
                         self._name, PATIENCE_S, self._longest)
        return taken > self._longest


def memory_of(row: tuple[Any, ...]) -> int:
    """Return the memory (bytes) that the values of a row take."""
    return sum(map(getsizeof, row))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Say what SQLite's errors about time and memory mean."""
    try:
        yield
    except MemoryError as error:  # HEAP
        raise sqlite3.DataError('string or blob too big') from error
    except sqlite3.OperationalError as error:
        if str(error) == 'interrupted':
            raise sqlite3.OperationalError(TOO_LONG) from error
        raise


def open_database(
    path: str | os.PathLike[str], longest_value: int, *, options: str = 'mode=ro',
    busy: float = 5.0,
) -> DatabaseInput:
    """
    Open a file, in autocommit mode; raises OSError or sqlite3.Error.

    `longest_value`: limit (bytes) of a text or BLOB; `options`: of SQLite's URI; `busy`: time (s)
    that a query waits for a lock.
    """
    require_regular(path)
    name = os.fsencode(path)
    database = sqlite3.connect(
        f'file:{quote(name)}?{options}', uri=True, timeout=busy, isolation_level=None,
        check_same_thread=False, factory=DatabaseInput)
    try:
        database.limit(longest_value)
        database.watch(os.fsdecode(name), PATIENCE_S + os.stat(path).st_size / BYTES_PER_S)
        database.execute('PRAGMA trusted_schema = OFF')
    except BaseException:
        database.close()
        raise
    return database
