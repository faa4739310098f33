# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A journal takes neither much memory nor for ever to read, whatever is in it."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import io
import logging
from pathlib import Path
import sqlite3
import subprocess
import sys

from action_lifecycle.documents import database_input
from action_lifecycle.documents.database_input import open_database, TOO_LONG
from action_lifecycle.journal import (
    Entry,
    Journal,
    JournalError,
    JournalReader,
    reader,
    verify_journal,
)
from action_lifecycle.journal.export import export_rows
import pytest

ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n'
LARGE = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("INSERT INTO entry SELECT 1, 'note', '', '', 0, '', '', '', '', '', "
                 "printf('%.*c', 110000000, 'x'), 0, NULL, 'b', 0.0, 0.0, '', '', 0")
"""


@pytest.mark.parametrize('read', [
    lambda path: list(JournalReader(path).rows()),
    lambda path: export_rows(path, 'csv', io.StringIO()), Journal])
def test_a_huge_row_is_not_read(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / 'a.journal'
    Journal(path).close()
    subprocess.run([sys.executable, '-c', LARGE, path], check=True)
    with pytest.raises(JournalError, match='damaged: string or blob too big'):
        read(path)
    assert 'too big' in verify_journal(path)[-1].message


@pytest.mark.parametrize('limit', [None, 7, 50])
def test_pages_end_early_if_rows_are_large(
    limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, 'PAGE_BYTES', 9000)
    with Journal(tmp_path / 'a.journal') as journal:
        journal.append_many([Entry('note', data={'text': 'x' * 1000})] * 60)
        pages = []
        ask = journal._ask

        def counted(*given: object) -> list[tuple[object, ...]]:
            pages.append(len(found := ask(*given)))
            return found
        monkeypatch.setattr(journal, '_ask', counted)
        assert [row.seq for row in journal.rows(limit=limit)] == list(range(1, (limit or 60) + 1))
    assert max(pages) < 8


def test_the_rows_of_one_query_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path / 'a.journal') as journal:
        journal.append_many([Entry('job', flow_id=str(at)) for at in range(60)])
        assert len(journal.open_rows('job')) == 60
        monkeypatch.setattr(reader, 'MAX_ROWS', 9000)
        with pytest.raises(JournalError, match='rows are too big'):
            journal.open_rows('job')


def test_an_endless_query_is_told_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database_input, 'PATIENCE_S', 0.05)
    monkeypatch.setattr(database_input, 'BYTES_PER_S', 20_000)
    path = tmp_path / 'a.journal'
    with Journal(path) as journal:
        with contextlib.closing(open_database(path, 100_000)) as database, \
                caplog.at_level(logging.WARNING), \
                pytest.raises(sqlite3.OperationalError, match=TOO_LONG):
            database.execute(ENDLESS)
        assert 'takes more than 0.05 s' in caplog.text
        journal.append(Entry('note'))
        with pytest.raises(JournalError, match=TOO_LONG):
            journal._ask(ENDLESS)
        assert journal.append(Entry('note')).seq == journal.last_seq() == 2


def test_a_slow_consumer_takes_no_time_of_the_next_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_input, 'PATIENCE_S', 0.02)
    monkeypatch.setattr(database_input, '_STEPS', 1)
    now = iter(range(10_000))
    path = tmp_path / 'a.journal'
    with Journal(path) as journal:
        journal.append_many([Entry('note')] * 5)
    with contextlib.closing(open_database(path, 100_000)) as database:
        list(database.rows('SELECT seq FROM entry'))  # reads the schema
        database._longest = 50.0  # each look at the clock takes 1 s here
        monkeypatch.setattr(database_input.time, 'thread_time', lambda: float(next(now)))
        rows = 0
        for _ in database.rows('SELECT seq FROM entry'):
            rows += 1
            for _ in range(60):
                next(now)
        assert rows == 5
