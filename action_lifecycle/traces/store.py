# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The SQLite file of traces: one writer (the bridge), any number of readers.

A trace that is continued after its end, or after a kill, has several runs. A chunk holds
consecutive points of a curve: for numbers, float64 in little endian, row by row
(arrival, stamp, values; NaN: unknown), else JSON ([[arrival, stamp, value], ...]).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import contextlib
import json
import os
from pathlib import Path
import sqlite3
from typing import Any
from urllib.parse import quote

import numpy as np

from .contents import BOOLEAN, NUMBER, TEXT, TraceError, TraceKey
from .curve import Piece, Point
from ..documents.file_lock import take_lock
from ..world.evidence import plain_value

APPLICATION_ID = 0x414C5431  # 'ALT1', in the file's header
VERSION = 1
BUSY_S = 5.0
MARK, CHANGE, CONFIRMED = 'mark', 'verdict', 'confirmed'  #: kinds of events
SPARE = 0.1  #: part of the limit that is freed when it is reached

TABLES = (
    """CREATE TABLE trace (
        id INTEGER PRIMARY KEY,
        flow_id TEXT NOT NULL,
        action_id TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        started REAL NOT NULL,
        ended REAL,
        run INTEGER NOT NULL DEFAULT 0,
        UNIQUE (flow_id, action_id, attempt)
    ) STRICT""",
    """CREATE TABLE curve (
        id INTEGER PRIMARY KEY,
        trace INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE,
        fact TEXT NOT NULL,
        unit TEXT NOT NULL,
        topic TEXT NOT NULL,
        UNIQUE (trace, fact)
    ) STRICT""",
    """CREATE TABLE chunk (
        curve INTEGER NOT NULL REFERENCES curve ON DELETE CASCADE,
        run INTEGER NOT NULL,
        first INTEGER NOT NULL,
        kind TEXT NOT NULL,
        width INTEGER NOT NULL,
        points BLOB NOT NULL,
        PRIMARY KEY (curve, run, first)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE event (
        id INTEGER PRIMARY KEY,
        trace INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE,
        time REAL NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        data_json TEXT NOT NULL
    ) STRICT""",
    'CREATE INDEX event_trace ON event (trace)',
    f'PRAGMA application_id = {APPLICATION_ID}',
    f'PRAGMA user_version = {VERSION}',
)


@contextlib.contextmanager
def trace_errors(path: str) -> Iterator[None]:
    """Convert errors of SQLite and of the system to TraceErrors that name the file."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
        raise TraceError(f'{path}: {error}') from error


def require_traces(connection: sqlite3.Connection, path: str, schema: str = 'main') -> None:
    """Raise TraceError unless the file has traces of this version."""
    mark: int = connection.execute(f'PRAGMA {schema}.application_id').fetchone()[0]
    version: int = connection.execute(f'PRAGMA {schema}.user_version').fetchone()[0]
    if mark != APPLICATION_ID:
        raise TraceError(f'{path}: not a file of evidence traces')
    if version != VERSION:
        raise TraceError(f'{path}: traces of version {version}, this software reads {VERSION}')
    found = {sql for (sql,) in connection.execute(
        f'SELECT sql FROM {schema}.sqlite_schema WHERE sql IS NOT NULL')}
    if found != {text for text in TABLES if text.startswith('CREATE')}:  # views may be endless
        raise TraceError(f'{path}: damaged, or not a file of evidence traces: other tables')


class TraceStore:
    """
    Writes the file at `path`, at most about `limit` bytes (0: no limit).

    Traces that an earlier writer has not ended are ended with the mark `cut`. Used by one thread.
    Raises TraceError if another writer has the file open, or if it is damaged or of another kind.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int = 0) -> None:
        self.path = os.path.realpath(path)
        self.limit = limit
        self._freed = False
        with trace_errors(self.path), contextlib.ExitStack() as undo:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            undo.callback(os.close, take_lock(self.path, TraceError))
            self._open()
            undo.callback(self._writer.close)
            self._on_close = undo.pop_all()

    def _open(self) -> None:
        self._writer = sqlite3.connect(
            self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            (tables,) = self._writer.execute('SELECT count(*) FROM sqlite_schema').fetchone()
            if tables:
                require_traces(self._writer, self.path)
            else:
                self._writer.execute('PRAGMA auto_vacuum = INCREMENTAL')
            self._writer.execute('PRAGMA journal_mode = WAL')
            self._writer.execute('PRAGMA synchronous = NORMAL')
            self._writer.execute('PRAGMA foreign_keys = ON')
            with self.transaction():
                for statement in () if tables else TABLES:
                    self._writer.execute(statement)
                self._cut()
        except BaseException:
            self._writer.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._on_close.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the changes of the block, or none of them."""
        self._writer.execute('BEGIN IMMEDIATE')
        try:
            yield
            self._writer.execute('COMMIT')
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute('ROLLBACK')
            raise

    def begin(self, key: TraceKey, started: float) -> None:
        """Begin a trace, or go on with one that was ended."""
        self._writer.execute(
            'INSERT INTO trace (flow_id, action_id, attempt, started) VALUES (?, ?, ?, ?) '
            'ON CONFLICT DO UPDATE SET ended = NULL, run = run + 1', (*key, started))

    def points(self, key: TraceKey, fact: str, unit: str, topic: str, piece: Piece) -> None:
        """Store a piece of a curve."""
        self._writer.execute(
            'INSERT INTO curve (trace, fact, unit, topic) SELECT id, ?, ?, ? FROM trace '
            'WHERE (flow_id, action_id, attempt) = (?, ?, ?) ON CONFLICT DO NOTHING',
            (fact, unit, topic, *key))
        found = self._writer.execute(
            'SELECT curve.id, run FROM curve JOIN trace ON trace.id = curve.trace '
            'WHERE (flow_id, action_id, attempt) = (?, ?, ?) AND fact = ?', (*key, fact)
        ).fetchone()
        if found is None:  # its trace was removed
            return
        self._writer.execute('DELETE FROM chunk WHERE curve = ? AND run = ? AND first >= ?',
                             (*found, piece.first))
        self._writer.execute('INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?)',
                             (*found, piece.first, *packed(piece.points)))

    def event(self, key: TraceKey, time: float, kind: str, name: str, data: Any) -> None:
        """Store a mark, a change of a verdict or a confirmation; `data`: JSON-compatible."""
        self._writer.execute(
            'INSERT INTO event (trace, time, kind, name, data_json) SELECT id, ?, ?, ?, ? '
            'FROM trace WHERE (flow_id, action_id, attempt) = (?, ?, ?)',
            (time, kind, name, json.dumps(data), *key))

    def end(self, key: TraceKey, ended: float) -> None:
        """End a trace, and remove the oldest ones beyond the limit."""
        self._writer.execute('UPDATE trace SET ended = ? '
                             'WHERE (flow_id, action_id, attempt) = (?, ?, ?)', (ended, *key))
        if self.limit and self._used() > self.limit:
            self._remove_oldest()

    def _used(self) -> int:
        pages, free, size = (self._writer.execute(f'PRAGMA {name}').fetchone()[0]
                             for name in ('page_count', 'freelist_count', 'page_size'))
        return int((pages - free) * size)

    def _remove_oldest(self) -> None:
        while self._used() > self.limit * (1 - SPARE):
            removed = self._writer.execute(
                'DELETE FROM trace WHERE id IN (SELECT id FROM trace WHERE ended IS NOT NULL '
                'AND id <> (SELECT max(id) FROM trace) ORDER BY id LIMIT 8)').rowcount
            if not removed:
                return
            self._freed = True

    def vacuum(self) -> None:
        """Give the space of removed traces back to the file system; outside of transactions."""
        if self._freed:
            self._freed = False
            self._writer.execute('PRAGMA incremental_vacuum').fetchall()

    def _cut(self) -> None:
        self._writer.execute(
            'INSERT INTO event (trace, time, kind, name, data_json) SELECT id, coalesce('
            '(SELECT max(time) FROM event WHERE trace = trace.id), started), '
            "'mark', 'cut', "
            "'\"the bridge ended\"' FROM trace WHERE ended IS NULL")
        self._writer.execute(
            'UPDATE trace SET ended = (SELECT max(time) FROM event WHERE trace = trace.id) '
            'WHERE ended IS NULL')


def remove_traces(path: str | os.PathLike[str], actions: Iterable[tuple[str, str]]) -> int:
    """
    Remove the traces of (flow_id, action_id) from the file, if it is there; returns their number.

    Raises TraceError. Its writer may be open in another process.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        return 0
    removed = 0
    with trace_errors(name), contextlib.closing(sqlite3.connect(
            f'file:{quote(os.fsencode(name))}?mode=rw', uri=True, timeout=BUSY_S)) as writer:
        require_traces(writer, name)
        writer.execute('PRAGMA foreign_keys = ON')
        for action in actions:
            with writer:
                removed += writer.execute(
                    'DELETE FROM trace WHERE (flow_id, action_id) = (?, ?)', action).rowcount
        if removed:
            writer.execute('PRAGMA incremental_vacuum').fetchall()
    return removed


def packed(points: list[Point]) -> tuple[str, int, bytes]:
    """Return kind, number of values a point (0: JSON) and the bytes of points."""
    kinds = {_kind_of(point.value) for point in points if point.value is not None} or {NUMBER}
    sizes = {np.size(point.value) for point in points if point.value is not None} or {1}
    if len(kinds) > 1 or len(sizes) > 1 or TEXT in kinds:
        rows = [[point.time, point.stamp, plain_value(point.value)] for point in points]
        return (kinds.pop() if len(kinds) == 1 else TEXT), 0, json.dumps(rows).encode()
    (width,) = sizes
    table = np.full((len(points), 2 + width), np.nan, '<f8')
    for row, point in zip(table, points):
        row[:2] = point.time, point.stamp
        if point.value is not None:
            row[2:] = np.asarray(point.value, float).ravel()
    return kinds.pop(), width, table.tobytes()


def _kind_of(value: Any) -> str:
    array = np.asarray(value)
    if array.dtype.kind == 'b':
        return BOOLEAN
    return NUMBER if array.dtype.kind in 'iuf' else TEXT
