# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The tables of the journal file, and how a file of an older version becomes one of this."""

from __future__ import annotations

import sqlite3

from .journal_row import JournalError, Row

APPLICATION_ID = 0x414C4A31  # 'ALJ1', in the file's header: what `file` and we know it by
COLUMNS = ', '.join(Row._fields)

# Step n brings a file from version n to n + 1; a new file has version 0 and takes them all.
# seq is the rowid, so the index below also finds the last row of each subject.
STEPS: list[tuple[str, ...]] = [
    (
        '''CREATE TABLE entry (
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
            hash TEXT NOT NULL
        ) STRICT''',
        'CREATE INDEX entry_subject ON entry (flow_id, action_id, kind)',
        f'PRAGMA application_id = {APPLICATION_ID}',
    ),
]


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """Return the schema version of the file; raises JournalError if it isn't a journal."""
    version: int = connection.execute('PRAGMA user_version').fetchone()[0]
    mark: int = connection.execute('PRAGMA application_id').fetchone()[0]
    tables: int = connection.execute('SELECT count(*) FROM sqlite_schema').fetchone()[0]
    if (version or mark or tables) and mark != APPLICATION_ID:
        raise JournalError(f'{path}: an SQLite file, but not a journal of action_lifecycle')
    if version > len(STEPS):
        raise JournalError(
            f'{path}: schema version {version}, this software knows up to {len(STEPS)}; '
            'it was written by a newer one')
    return version


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Create or update the tables, all in one transaction of the caller's connection."""
    connection.execute('BEGIN IMMEDIATE')
    for step in STEPS[version_of(connection, path):]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f'PRAGMA user_version = {len(STEPS)}')
    connection.execute('COMMIT')
