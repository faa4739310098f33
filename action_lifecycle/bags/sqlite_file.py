# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads the SQLite files of rosbag2 (.db3)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
import contextlib
from pathlib import Path
import sqlite3

from .errors import BagError
from .storage import (
    Channel,
    Definition,
    Gap,
    is_latched,
    MESSAGE_LIMIT,
    RawMessage,
    RESET,
    StorageFile,
)
from ..documents.database_input import DatabaseInput, open_database

METADATA = 50 << 20
"""Maximum memory (bytes) of all topics, and of all definitions."""
LONGEST = 4 << 20  #: bytes of one of their texts


class SqliteFile(StorageFile):
    """One SQLite file; it has no publish times, so they are the log times."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        try:
            self._database = self._open()
            self._read_channels()
            self._database.limit(MESSAGE_LIMIT)
        except OSError as error:
            raise BagError(f'{path}: {error.strerror}') from error
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise BagError(f'{path}: not a readable SQLite bag of rosbag2: {error}') from error

    def close(self) -> None:
        self._database.close()

    def span(self) -> tuple[int, int] | None:
        try:
            with self._small_values():
                (first, last), = self._database.rows(
                    'SELECT min(timestamp), max(timestamp) FROM messages')
        except sqlite3.Error as error:
            self.notes.append(f'{self._path}: damaged: {error}')
            return None
        if not isinstance(first, int) or not isinstance(last, int):
            if first is not None:
                self.notes.append(f'{self._path}: damaged: a time that is no integer')
            return None
        return first, last

    def messages(self, channels: Collection[int]) -> Iterator[RawMessage]:
        """Yield the messages of these channels in order of log time."""
        marks = ', '.join('?' * len(channels))
        last = 0
        try:
            for channel, time, data in self._database.rows(
                    "SELECT topic_id, CASE typeof(timestamp) WHEN 'integer' THEN timestamp END, "
                    "CASE typeof(data) WHEN 'blob' THEN data END FROM messages "
                    f'WHERE topic_id IN ({marks}) ORDER BY timestamp, id', tuple(channels)):
                if not isinstance(time, int) or not isinstance(data, bytes):
                    raise sqlite3.DatabaseError('a message has no data, or a time that is no '
                                                'integer')
                last = time
                yield RawMessage(channel, time, time, data)
        except (sqlite3.Error, OverflowError) as error:
            self.notes.append(f'{self._path}: damaged: {error}; only what is before it is read')
            self.gaps.append(Gap(last, 2 ** 63 - 1))

    def time_went_back(self) -> bool:
        try:
            with self._small_values():
                return self._database.execute(
                    'SELECT 1 FROM (SELECT timestamp - max(timestamp) OVER (PARTITION BY topic_id '
                    'ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS step '
                    'FROM messages) WHERE step < ? LIMIT 1', (-RESET,)).fetchone() is not None
        except sqlite3.Error:  # damaged; `messages` says so
            return False

    @contextlib.contextmanager
    def _small_values(self) -> Iterator[None]:
        """Take no value for a time that is as large as a message."""
        self._database.limit(LONGEST)
        try:
            yield
        finally:
            self._database.limit(MESSAGE_LIMIT)

    def _open(self) -> DatabaseInput:
        """Open the file with its write-ahead log; without it where the folder can't be written."""
        for options in ('mode=ro', 'immutable=1'):
            database = open_database(self._path.absolute(), LONGEST, options=options)
            try:
                database.execute('SELECT count(*) FROM sqlite_master').fetchone()
                return database
            except sqlite3.OperationalError:
                database.close()
                if options != 'mode=ro':
                    raise
        raise AssertionError

    def _require_tables(self) -> None:
        """Refuse views, virtual tables and computed columns, which may take for ever to read."""
        for name in ('topics', 'messages', 'message_definitions'):
            found = self._database.execute(
                'SELECT type, rootpage FROM sqlite_master WHERE name = ?', (name,)).fetchall()
            computed = [row for row in self._database.execute(f'PRAGMA table_xinfo({name})')
                        if row[6]] if found else []
            if computed or any(kind != 'table' or not page for kind, page in found):
                raise BagError(f"{self._path}: not a bag: '{name}' is not a table of stored "
                               'values, but computed')

    def _read_channels(self) -> None:
        self._require_tables()
        columns = {row[1] for row in self._database.execute('PRAGMA table_info(topics)')}
        missing = {'id', 'name', 'type', 'serialization_format'} - columns
        if missing:
            raise BagError(f'{self._path}: not a bag: no column {sorted(missing)[0]} in a table '
                           'topics')
        self._database.execute('SELECT topic_id, timestamp, data, id FROM messages LIMIT 1')
        definitions = self._definitions()
        qos = 'offered_qos_profiles' if 'offered_qos_profiles' in columns else "''"
        for number, topic, kind, encoding, profiles in self._database.rows(
                f'SELECT id, name, type, serialization_format, {qos} FROM topics',
                most=METADATA):
            self.channels[number] = Channel(
                number, str(topic), str(kind), definitions.get(kind, Definition()),
                str(encoding), is_latched(profiles))

    def _definitions(self) -> dict[str, Definition]:
        if not self._database.execute('PRAGMA table_info(message_definitions)').fetchall():
            return {}
        return {str(name): Definition(str(encoding), str(text))
                for name, encoding, text in self._database.rows(
                    'SELECT topic_type, encoding, encoded_message_definition '
                    'FROM message_definitions', most=METADATA) if text}
