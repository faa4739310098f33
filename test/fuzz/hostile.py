# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Databases with other tables, files that are none, and outputs onto inputs."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
import random
import shutil
import sqlite3
from typing import Any

from action_lifecycle.bags.errors import BagError
from action_lifecycle.bags.sqlite_file import SqliteFile
from action_lifecycle.cli.output_file import HTML, OutputFile
from action_lifecycle.documents.yaml_document import read_document
from action_lifecycle.journal import Entry, Journal, JournalReader, verify_journal
from action_lifecycle.journal.export import export_rows
from action_lifecycle.journal.row import JournalError
from action_lifecycle.traces.contents import TraceError
from action_lifecycle.traces.reader import has_traces, TraceReader
from action_lifecycle.traces.store import TABLES

from .case import Case
from .rig import folder

ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)'
BAG = (
    'CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT, type TEXT, '
    'serialization_format TEXT, offered_qos_profiles TEXT)',
    'CREATE TABLE messages (id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, '
    'data BLOB)',
    "INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/Bool', 'cdr', '')",
    *(f"INSERT INTO messages VALUES ({at}, 1, {at * 1000}, x'0001000001')" for at in range(1, 9)))
COLUMNS = {
    'entry': ('seq', 'kind', 'data_json', 'wall_time', 'hash'), 'progress': ('last_indexed',),
    'topics': ('id', 'name', 'type', 'offered_qos_profiles'),
    'messages': ('id', 'topic_id', 'timestamp', 'data'),
    'trace': ('flow_id', 'started'), 'chunk': ('points', 'width'), 'event': ('data_json',)}
TABLES_OF = {'journal': ('entry', 'progress'), 'bag': ('topics', 'messages'),
             'traces': ('trace', 'chunk', 'event')}
VALUES = ('1', '-1', '1e308', '9e999', "'x'", "x'ff'", 'NULL', 'zeroblob(6000000)',
          "printf('%.*c', 6000000, 'x')", '9223372036854775807', "CAST(x'ff' AS TEXT)")


def statement(rng: random.Random, kind: str) -> str:
    """Return a change of a database of a kind."""
    table = rng.choice(TABLES_OF[kind])
    column, value = rng.choice(COLUMNS[table]), rng.choice(VALUES)
    source = rng.choice((f'{ENDLESS} SELECT i AS {column} FROM n', 'SELECT * FROM stored',
                         f'SELECT {value} AS {column}', f'SELECT * FROM {table}'))
    return rng.choice((
        f'ALTER TABLE {table} RENAME TO stored; CREATE VIEW {table} AS {source}',
        f'CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END',
        f'ALTER TABLE {table} ADD COLUMN more AS (zeroblob(100000000))',
        f'ALTER TABLE {table} ADD COLUMN more', f'ALTER TABLE {table} DROP COLUMN {column}',
        f'ALTER TABLE {table} RENAME COLUMN {column} TO other', f'DROP TABLE {table}',
        f'DROP TABLE {table}; CREATE TABLE {table} ({column} BLOB)',
        f'DROP TABLE {table}; CREATE VIRTUAL TABLE {table} USING fts5({column})',
        'CREATE TABLE more (x)', f'CREATE INDEX more ON {table} ({column})',
        'CREATE TABLE IF NOT EXISTS notes (x)', 'DROP INDEX entry_subject', 'ANALYZE', 'VACUUM',
        *[f'UPDATE {table} SET {column} = {value}'] * 6,
        f'PRAGMA user_version = {rng.choice((0, 1, 2, 99))}',
        f'PRAGMA application_id = {rng.choice((0, 7))}'))


class Hostile(Case):
    """Each is told in time, with little memory, and nothing is written onto an input."""

    def prepare(self) -> None:
        self.where = folder('hostile')
        try:
            for kind in TABLES_OF:
                self._create(kind, self.where / kind)
            self.files = {kind: (self.where / kind).read_bytes() for kind in TABLES_OF}
        finally:
            shutil.rmtree(self.where)

    def _create(self, kind: str, path: Path) -> None:
        if kind == 'journal':
            with Journal(path) as journal:
                for at in range(20):
                    journal.append(Entry('note', flow_id='f', data={'at': at}))
            return
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            for text in BAG if kind == 'bag' else TABLES:
                database.execute(text)

    def begin(self, rng: random.Random) -> None:
        shutil.rmtree(self.where, ignore_errors=True)
        self.where = folder('hostile')

    def make(self, rng: random.Random) -> Any:
        name = rng.choice(('a', os.fsdecode(b'\xff'), 'a b', 'a?x=1', '%41', '#', 'ä'))
        kind = rng.choice((*TABLES_OF, *TABLES_OF, 'file', 'output'))
        if kind in TABLES_OF:
            return kind, name, [statement(rng, kind) for _ in range(rng.choice((0, 1, 1, 2)))]
        return kind, name, [rng.choice(('regular', 'fifo', 'folder', 'link', 'loop', 'device')),
                            rng.choice(('', '-wal', '-shm', '.lock'))]

    def check(self, given: Any) -> bool:
        kind, name, changes = given
        for old in self.where.iterdir():
            old.rmdir() if old.is_dir() and not old.is_symlink() else old.unlink()
        path = self.where / name
        if kind not in TABLES_OF:
            return self._file(path, *changes) if kind == 'file' else self._output(path, *changes)
        path.write_bytes(self.files[kind])
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            for text in changes:
                with contextlib.suppress(sqlite3.Error):
                    database.executescript(text)
        look = {'journal': self._journal, 'bag': self._bag, 'traces': self._traces}[kind]
        return look(path)

    def _journal(self, path: Path) -> bool:
        for form in ('jsonl', 'csv'):
            with contextlib.suppress(JournalError):
                export_rows(path, form, io.StringIO())
        faults = verify_journal(path)
        with JournalReader(path) as reader:
            reader.open_rows('flow')
        with Journal(path) as journal:
            journal.append(Entry('note'))
        return not faults

    def _bag(self, path: Path) -> bool:
        file = SqliteFile(path)
        try:
            file.span()
            file.time_went_back()
            return len(list(file.messages(list(file.channels)))) == 8
        finally:
            file.close()

    def _traces(self, path: Path) -> bool:
        has_traces(path)
        with TraceReader(path) as reader:
            return not list(reader.traces())

    def _made(self, path: Path, what: str) -> None:
        if what == 'fifo':
            os.mkfifo(path)
        elif what == 'folder':
            path.mkdir()
        elif what in ('link', 'loop', 'device'):
            path.symlink_to({'loop': path, 'device': Path('/dev/zero')}.get(
                what, self.where / 'target'))
            (self.where / 'target').write_text('a: 1')
        else:
            path.write_text('a: 1')

    def _file(self, path: Path, what: str, end: str) -> bool:
        self._made(path, what)
        for look in (JournalReader, SqliteFile, TraceReader):
            with contextlib.suppress(JournalError, BagError, TraceError):
                look(path)  # type: ignore[operator]
                raise AssertionError('what is no database is read')
        return bool(read_document(path).data == {'a': 1})

    def _output(self, path: Path, what: str, end: str) -> bool:
        self._made(path, what)
        source = self.where / 'source'
        source.write_bytes(self.files['journal'])
        for place in (source.with_name(f'source{end}'), path):
            with contextlib.suppress(self.refused):
                OutputFile('--html', str(place), HTML, [source], force=True).write('<!doctype')
                assert place == path, 'an input, or what is beside it, is replaced'
                assert what == 'regular', f'a {what} is replaced'
        assert source.read_bytes() == self.files['journal'], 'an input is changed'
        return what == 'regular'


CASE = Hostile()
