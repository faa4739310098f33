# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tables of the journal file, and the migration of older versions."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from functools import cache
import sqlite3
from typing import Any

from ..row import JournalError, Row

APPLICATION_ID = 0x414C4A31  # 'ALJ1', in the file's header
COLUMNS = ', '.join(Row._fields)

# Step n migrates a file from version n to n + 1; a new file has version 0 and takes all steps.
# An append writes one page, the one of the row. The index would be a second one, so rows are
# indexed later, in order and in batches (see CheckpointThread); all rows up to `last_indexed`
# are in the index.
STEPS: list[tuple[str, ...]] = [
    (
        """CREATE TABLE entry (
            seq INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            flow_id TEXT NOT NULL,
            action_id TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            event TEXT NOT NULL,
            from_state TEXT NOT NULL,
            to_state TEXT NOT NULL,
            cause TEXT NOT NULL,
            actor TEXT NOT NULL,
            data_json TEXT NOT NULL,
            final INTEGER NOT NULL,
            ros_time REAL,
            boot_id TEXT NOT NULL,
            boot_time REAL NOT NULL,
            wall_time REAL NOT NULL,
            prev_hash TEXT NOT NULL,
            hash TEXT NOT NULL,
            indexed INTEGER NOT NULL DEFAULT 0
        ) STRICT""",
        'CREATE TABLE progress (last_indexed INTEGER NOT NULL) STRICT',
        'INSERT INTO progress VALUES (0)',
        'CREATE INDEX entry_subject ON entry (flow_id, action_id, kind) WHERE indexed = 1',
        f'PRAGMA application_id = {APPLICATION_ID}',
    ),
]

SQLITE_ERRORS = sqlite3.Error, UnicodeDecodeError
"""Exceptions of sqlite3; UnicodeDecodeError replaces an error whose message is not UTF-8."""

LAST_INDEXED = '(SELECT last_indexed FROM progress)'

# The sequence number of the last row of each subject.
LAST_OF_EACH = f"""
SELECT max(seq) FROM (
    SELECT flow_id, action_id, kind, max(seq) AS seq FROM entry WHERE indexed = 1
    GROUP BY flow_id, action_id, kind
    UNION ALL
    SELECT flow_id, action_id, kind, seq FROM entry NOT INDEXED WHERE seq > {LAST_INDEXED}
) GROUP BY flow_id, action_id, kind
"""


def said(error: Exception) -> str:
    """Return the message of an error of SQLITE_ERRORS."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode(errors='replace')
    return str(error)


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """Return the file's version; raises JournalError if it is no journal or newer."""
    version: int = connection.execute('PRAGMA user_version').fetchone()[0]
    mark: int = connection.execute('PRAGMA application_id').fetchone()[0]
    tables: int = connection.execute('SELECT count(*) FROM sqlite_schema').fetchone()[0]
    if (version or mark or tables) and mark != APPLICATION_ID:
        raise JournalError(f'{path}: an SQLite file, but not a journal of action_lifecycle')
    if version > len(STEPS):
        raise JournalError(
            f'{path}: schema version {version}, this software knows up to {len(STEPS)}; '
            'it was written by a newer one')
    if version and _tables(connection) != _expected(version):
        raise JournalError(f'{path}: a journal has the tables entry and progress with their '
                           'columns, no views and no triggers; this file has others')
    return version


def _tables(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return what may take for ever to read or write: views and the like, and all columns."""
    return [
        *connection.execute(
            'SELECT type, name FROM sqlite_schema WHERE rootpage = 0 OR rootpage IS NULL '
            "OR name IN ('entry', 'progress', 'entry_subject') ORDER BY type, name").fetchall(),
        *connection.execute('PRAGMA table_xinfo(entry)').fetchall(),
        *connection.execute('PRAGMA table_xinfo(progress)').fetchall()]


@cache
def _expected(version: int) -> list[tuple[Any, ...]]:
    """Return `_tables` of an empty journal of this version."""
    with contextlib.closing(sqlite3.connect(':memory:', isolation_level=None)) as connection:
        for step in STEPS[:version]:
            for statement in step:
                connection.execute(statement)
        return _tables(connection)


def require_current(connection: sqlite3.Connection, path: str) -> None:
    """Raise JournalError unless the file has the current version."""
    version = version_of(connection, path)
    if version == 0:
        raise JournalError(f'{path}: is empty; its writer makes it a journal when it opens it')
    if version < len(STEPS):
        raise JournalError(f'{path}: schema version {version}, expected {len(STEPS)}; '
                           'its writer updates it when it opens it')


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Create or update the tables, in one commit."""
    with transaction(connection):
        for step in STEPS[version_of(connection, path):]:
            for statement in step:
                connection.execute(statement)
        touch(connection)


def touch(connection: sqlite3.Connection) -> None:
    """
    Make a commit that changes nothing, except the version after a migration.

    The first commit after a reset of the WAL syncs its header (SQLite ticket ff5be73dee). With
    this commit, no append has to wait for that sync.
    """
    connection.execute(f'PRAGMA user_version = {len(STEPS)}')


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the changes in the block, or roll back if it raises."""
    connection.execute('BEGIN IMMEDIATE')
    try:
        yield
        connection.execute('COMMIT')
    except BaseException:
        if connection.in_transaction:
            connection.execute('ROLLBACK')
        raise
