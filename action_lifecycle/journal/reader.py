# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Reads a journal, in the process that writes it or in any other.

Reader and writer never wait for each other. The reader fetches pages and keeps no transaction open
between them, so that a slow consumer does not prevent the reset of the WAL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
import os
import sqlite3
import threading
from typing import Any, NamedTuple, TYPE_CHECKING

from .compaction import LAST_SNAPSHOT, REMOVABLE, Removal, SNAPSHOT
from .row import ALTERED, damaged, JournalError, Row
from .sqlite.access import REFUSALS, refused, require_content, require_file
from .sqlite.files import identity
from .sqlite.schema import (
    COLUMNS,
    LAST_INDEXED,
    LAST_OF_EACH,
    require_current,
    said,
    SQLITE_ERRORS,
)
from ..documents.database_input import memory_of, open_database

if TYPE_CHECKING:
    from typing_extensions import Self  # in typing from Python 3.11 on

PAGE = 500
PAGE_BYTES = 16 << 20
"""Memory of the rows of a page, which has fewer rows if they are large."""
BUSY_S = 5.0
MAX_VALUE = 5 << 20
"""Bytes of a value of a row; more than MAX_DATA characters take."""
MAX_ROWS = 256 << 20
"""Maximum memory (bytes) of the rows of a query."""

# in the messages of SQLite about a damaged file
_OF_DAMAGE = ('malformed', 'no such table', 'no such column', 'no such index',
              'Could not decode', 'unsupported file format', 'disk I/O error', 'too big')


@contextlib.contextmanager
def journal_errors(path: str) -> Iterator[None]:
    """Convert SQLite's and the system's errors to JournalErrors that name the file."""
    try:
        yield
    except (*SQLITE_ERRORS, OSError) as error:
        text = said(error)
        if 'not a database' in text:
            raise JournalError(f"{path}: not a journal, or damaged: {text}; 'A damaged journal' "
                               'in docs/journal.md says what to do') from error
        if any(words in text for words in _OF_DAMAGE):
            raise damaged(path, text) from error
        if text in REFUSALS:
            raise refused(path, text) from error
        raise JournalError(f'{path}: {text}') from error


class CheckedRow(NamedTuple):
    """A stored row and its fault, '' if it is intact."""

    row: Row
    fault: str


class JournalReader:
    """
    Reads the journal at `path`, also while its writer runs or after it crashed.

    Raises NoJournal if there is no file or this user may not read it; JournalError if it is
    damaged, not a journal, or of an unsupported schema version. It may be used from several
    threads.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.realpath(path)
        self._lock = threading.Lock()
        with journal_errors(self.path):
            require_file(self.path)
            require_content(self.path)
            self._connection = open_database(self.path, MAX_VALUE, busy=BUSY_S)
        try:
            with journal_errors(self.path):
                require_current(self._connection, self.path)
                self._identity = identity(self.path)
        except BaseException:
            self._connection.close()
            raise

    def is_elsewhere(self) -> bool:
        """Whether the path no longer leads to the open file; then open it again."""
        try:
            return identity(self.path) != self._identity
        except OSError:
            return True

    def last_seq(self) -> int:
        """Return the sequence number of the last row, 0 if there is none."""
        found: int = self._ask('SELECT ifnull(max(seq), 0) FROM entry')[0][0]
        return found

    def rows(
        self, *, flow_id: str | None = None, action_id: str | None = None,
        kind: str | None = None, within: str | None = None, after: int = 0,
        limit: int | None = None,
    ) -> Iterator[Row]:
        """
        Yield the matching rows with a sequence number above `after`, in order.

        `within`: the rows of the flows that actions of this flow run.

        The rows are not verified; use `Row.intact` or `checked_rows` for that. Raises JournalError
        at a row with a field of a wrong type.
        """
        for row, fault in self.checked_rows(
                flow_id=flow_id, action_id=action_id, kind=kind, within=within, after=after,
                limit=limit):
            if fault not in ('', ALTERED):
                raise damaged(self.path, f'row {row.seq} {fault}')
            yield row

    def intact_rows(self, *, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        """Return the rows above `after`, in order; raises JournalError at one that is damaged."""
        return map(self._intact, self.checked_rows(after=after, limit=limit))

    def checked_rows(
        self, *, flow_id: str | None = None, action_id: str | None = None,
        kind: str | None = None, within: str | None = None, after: int = 0,
        limit: int | None = None,
    ) -> Iterator[CheckedRow]:
        """
        Yield the same rows as `rows`, each with its fault; do not use the fields of faulty rows.

        Missing or replaced rows are only found in the chain of all rows, see `verify_journal`.
        Raises JournalError if SQLite can't continue.
        """
        wanted = {name: value for name, value in (
            ('flow_id', flow_id), ('action_id', action_id), ('kind', kind)) if value is not None}
        where = ''.join(f' AND {name} = :{name}' for name in wanted)
        if within is not None:
            wanted['within'] = within
            where += " AND flow_id > :within || '/' AND flow_id < :within || '0'"  # 0 follows /
        sql = f'SELECT {COLUMNS} FROM entry NOT INDEXED WHERE seq > :after{where}'
        if not wanted.keys().isdisjoint(('flow_id', 'within')):
            sql = (f'SELECT {COLUMNS} FROM entry WHERE seq IN ('
                   f'SELECT seq FROM entry WHERE indexed = 1 AND seq > :after{where} UNION ALL '
                   'SELECT seq FROM entry NOT INDEXED '
                   f'WHERE seq > max(:after, {LAST_INDEXED}){where} ORDER BY seq LIMIT :page)')
        sql += ' ORDER BY seq LIMIT :page'
        while limit is None or limit > 0:
            page = PAGE if limit is None else min(limit, PAGE)
            for row in map(Row._make, found := self._ask(
                    sql, {**wanted, 'after': after, 'page': page}, PAGE_BYTES)):
                if row.seq <= after:
                    raise damaged(self.path, f'row {row.seq} follows row {after}')
                after = row.seq
                yield CheckedRow(row, row.fault())
            if len(found) < page and sum(map(memory_of, found)) <= PAGE_BYTES:
                return
            if limit is not None:
                limit -= len(found)

    def open_actions(self) -> list[Row]:
        """Return the last transition of each open action, in order."""
        return self.open_rows('transition')

    def open_flows(self) -> list[Row]:
        """Return the last 'flow' row of each open flow, in order."""
        return self.open_rows('flow')

    def open_rows(self, kind: str) -> list[Row]:
        """
        Return the last row of each open subject of this kind, in order.

        Raises JournalError if one of them is damaged.
        """
        return [self._intact(found) for found in self.checked_open_rows(kind)]

    def checked_open_rows(self, kind: str) -> list[CheckedRow]:
        """Return the same rows as `open_rows`, each with its fault."""
        found = map(Row._make, self._ask(
            f'SELECT {COLUMNS} FROM entry WHERE final = 0 AND kind = :kind '
            f'AND seq IN ({LAST_OF_EACH}) ORDER BY seq', {'kind': kind}))
        return [CheckedRow(row, row.fault()) for row in found]

    def snapshot(self) -> Row | None:
        """
        Return the row of the last compaction, None if there was none.

        Rows up to `through` in its data may have gaps; the ledger had all of them. A ledger with
        fewer rows copies the remaining rows and continues after `through`.
        """
        for found in self._last_snapshot():
            return self._intact(found)
        return None

    def plan_removal(self, synced_to: int, limit: int) -> Removal:
        """
        Return the first `limit` rows up to `synced_to` that no open subject needs.

        Raises JournalError if a row between them is damaged.
        """
        last_seq = self.last_seq()  # first, so that `remove` checks all rows that come after it
        rows = self._ask(REMOVABLE, {'synced_to': synced_to, 'limit': limit})
        for row in self.intact_rows(after=rows[0][0] - 1) if rows else ():
            if row.seq >= rows[-1][0]:
                break
        return Removal(rows, last_seq)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _ask(
        self, sql: str, values: Mapping[str, Any] = {}, page: int = 0
    ) -> list[tuple[Any, ...]]:
        """
        Return the result of a query; invalid UTF-8 in strings becomes U+FFFD.

        `page`: size (bytes) at which the result ends early.
        """
        with self._lock, journal_errors(self.path):
            try:
                return self._fetched(sql, values, page)
            except sqlite3.OperationalError as error:
                if 'Could not decode' not in str(error):
                    raise
            self._connection.text_factory = lambda raw: raw.decode(errors='replace')
            try:
                return self._fetched(sql, values, page)
            finally:
                self._connection.text_factory = str

    def _fetched(self, sql: str, values: Mapping[str, Any], page: int) -> list[tuple[Any, ...]]:
        if not page:
            return list(self._connection.rows(sql, values, most=MAX_ROWS))
        found, size = [], 0
        with contextlib.closing(self._connection.rows(sql, values)) as rows:
            for row in rows:
                found.append(row)
                size += memory_of(row)
                if size > page:
                    break
        return found

    def _last_snapshot(self) -> list[CheckedRow]:
        found = map(Row._make, self._ask(
            f'SELECT {COLUMNS} FROM entry WHERE seq = {LAST_SNAPSHOT}'))
        return [CheckedRow(row, row.fault() or (
            '' if row.kind == SNAPSHOT else f"is of kind '{row.kind}', but the index has it as a "
            'snapshot')) for row in found]

    def _intact(self, found: CheckedRow) -> Row:
        row, fault = found
        if fault:
            raise damaged(self.path, f'row {row.seq} {fault}')
        return row
