# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command `journal` checks a journal file and writes its rows as text."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
import sqlite3

from action_lifecycle.cli import main
from action_lifecycle.journal import Entry, Journal
import pytest

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / 'journal'
    with Journal(path) as journal:
        journal.append(Entry('transition', 'f', 'pick', 1, 'start', 'assigned', 'in_progress',
                             cause='a "quoted", cause', data={'goal': [1, 2]}))
        journal.append(Entry('note', 'f', event='beside', final=True))
    return path


def test_good_journal_is_told_to_be_good(path: Path, capsys: Capture) -> None:
    assert main(['journal', 'verify', str(path)]) == 0
    assert capsys.readouterr().out == f'{path}: ok (up to row 2, 1 actions open)\n'


def test_compacted_journal_says_so(path: Path, capsys: Capture) -> None:
    with Journal(path) as journal:
        journal.compact(synced_to=2)
    assert main(['journal', 'verify', str(path)]) == 0
    assert 'compacted up to row 2' in capsys.readouterr().out


def test_each_fault_is_told_and_ends_with_code_2(path: Path, capsys: Capture) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entry SET cause = 'another' WHERE seq = 1")
    connection.commit()
    connection.close()
    assert main(['journal', 'verify', str(path)]) == 2
    error = capsys.readouterr().err
    assert f'{path}: row 1: does not have the content' in error


@pytest.mark.parametrize('command', [['verify'], ['export']])
def test_what_is_no_journal_is_bad_input(tmp_path: Path, capsys: Capture, command: list[str]
                                         ) -> None:
    other = tmp_path / 'other'
    other.write_text('no journal\n')
    for name in (other, tmp_path / 'missing'):
        assert main(['journal', *command, str(name)]) == 2
        assert str(name) in capsys.readouterr().err
    assert not (tmp_path / 'missing').exists()


def test_rows_are_written_as_json_lines_and_as_csv(path: Path, tmp_path: Path, capsys: Capture
                                                   ) -> None:
    assert main(['journal', 'export', str(path)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row['seq'] for row in rows] == [1, 2] and rows[0]['data'] == {'goal': [1, 2]}
    output = tmp_path / 'rows.csv'
    arguments = ['journal', 'export', str(path), '--format', 'csv', '--output', str(output)]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f'{output}: 2 rows\n'
    table = list(csv.DictReader(io.StringIO(output.read_text(encoding='utf-8'), newline='')))
    assert table[0]['cause'] == 'a "quoted", cause' and table[1]['event'] == 'beside'
    assert main(arguments) == 2  # it does not overwrite
    assert 'rows.csv' in capsys.readouterr().err


@pytest.mark.parametrize('of', ['rows', 'traces'])
def test_an_export_that_fails_leaves_no_file(tmp_path: Path, capsys: Capture, of: str) -> None:
    output = tmp_path / 'rows.csv'
    arguments = ['--traces'] if of == 'traces' else []
    assert main(['journal', 'export', str(tmp_path / 'missing'), *arguments,
                 '--output', str(output)]) == 2
    assert 'missing' in capsys.readouterr().err and not output.exists()
