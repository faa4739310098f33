# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Edits of a journal are found, at the row where they were made; exports have all of it."""

from __future__ import annotations

import csv
import io
import json
import sqlite3

from action_lifecycle.journal import (
    Entry,
    export_rows,
    Journal,
    JournalError,
    JournalFault,
    JournalReader,
    Row,
    verify_journal,
)
import pytest


@pytest.fixture
def written(path, walk):
    with Journal(path) as journal:
        journal.append_many([*walk('pick'), *walk('place', 4)])
        journal.append(Entry('note', data={'text': 'grün, "quoted"', 'numbers': [1, 2.5]},
                             ros_time=3.5))
    return path


@pytest.mark.parametrize(('edit', 'seq', 'message'), [
    ("UPDATE entry SET to_state = 'sensor_confirm' WHERE seq = 2", 2, 'content'),
    ("UPDATE entry SET data_json = '{\"a\":1}' WHERE seq = 4", 4, 'content'),
    ('UPDATE entry SET wall_time = wall_time + 1 WHERE seq = 9', 9, 'content'),
    ('UPDATE entry SET final = 1 WHERE seq = 8', 8, 'content'),
    ('UPDATE entry SET ros_time = NULL WHERE seq = 11', 11, 'content'),
    ("UPDATE entry SET actor = CAST(x'ff' AS TEXT) WHERE seq = 3", 3, 'content'),
    ('DELETE FROM entry WHERE seq = 5', 5, 'missing; row 6 follows 4'),
    ('DELETE FROM entry WHERE seq <= 3', 1, 'missing; row 4 follows 0'),
    ('UPDATE entry SET seq = 40 WHERE seq = 11', 11, 'missing; row 40 follows 10'),
])
def test_edit_is_found_at_its_row(written, edit, seq, message):
    assert verify_journal(written) == []
    connection = sqlite3.connect(written)
    connection.execute(edit)
    connection.commit()
    connection.close()
    first = verify_journal(written)[0]
    assert first.seq == seq
    assert message in first.message
    assert str(first).startswith(f'row {seq}: ')


@pytest.mark.parametrize(('edit', 'fault'), [
    ("UPDATE entry SET data_json = '{\"a\":1}' WHERE seq = 4", 'content'),
    ("UPDATE entry SET data_json = '[]' WHERE seq = 4", 'not a JSON object'),
    ("UPDATE entry SET data_json = '{' WHERE seq = 4", 'not JSON'),
    ("UPDATE entry SET data_json = printf('%.200000c', '[') WHERE seq = 4", 'not JSON'),
    ("UPDATE entry SET actor = CAST(x'ff' AS TEXT) WHERE seq = 4", 'content'),
    ("UPDATE entry SET prev_hash = '' WHERE seq = 4", 'content'),
    ('UPDATE entry SET attempt = NULL WHERE seq = 4', 'attempt of type NoneType'),
    ("UPDATE entry SET attempt = 'one' WHERE seq = 4", 'attempt of type str'),
    ('UPDATE entry SET cause = NULL WHERE seq = 4', 'cause of type NoneType'),
    ("UPDATE entry SET cause = x'00' WHERE seq = 4", 'cause of type bytes'),
    ('UPDATE entry SET final = NULL WHERE seq = 4', 'final of type NoneType'),
    ('UPDATE entry SET final = 2 WHERE seq = 4', 'content'),
    ("UPDATE entry SET ros_time = 'soon' WHERE seq = 4", 'ros_time of type str'),
    ('UPDATE entry SET boot_time = NULL WHERE seq = 4', 'boot_time of type NoneType'),
])
def test_checked_rows_tell_which_one_is_not_what_was_written(written, edit, fault):
    lax = "replace(replace(replace(sql, ' NOT NULL', ''), 'STRICT', ''), ' TEXT', '')"
    connection = sqlite3.connect(written)
    sql, = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'entry'").fetchone()
    for schema, change in ((lax, ''), ('?', edit)):  # the column types are off for the edit only
        connection.execute(change)
        connection.execute('PRAGMA writable_schema = ON')
        connection.execute(f"UPDATE sqlite_schema SET sql = {schema} WHERE name = 'entry'",
                           (sql,) * (schema == '?'))
        connection.commit()
        connection.close()
        connection = sqlite3.connect(written)
    connection.close()
    with JournalReader(written) as reader:
        checked = list(reader.checked_rows(flow_id='flow'))
        assert [row.seq for row, _ in checked] == list(range(1, 11))
        assert [row.seq for row, what in checked if what] == [4]
        assert fault in checked[3].fault
        if 'content' in fault:
            assert len(list(reader.rows())) == 11
        else:
            with pytest.raises(JournalError, match=f'{written.name}: damaged: row 4 .*{fault}'):
                list(reader.rows())
    first = verify_journal(written)[0]  # SQLite itself may find that the type is not the column's
    assert first.seq == 4 or first.message.startswith('damaged: ')


def test_open_rows_tell_which_one_is_not_what_was_written(journal, path, walk):
    journal.append_many([*walk('pick', 3), *walk('place', 4)])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entry SET cause = 'x' WHERE seq = 7")
    connection.commit()
    connection.close()
    assert [(row.action_id, bool(fault)) for row, fault in journal.checked_open_rows(
        'transition')] == [('pick', False), ('place', True)]
    with pytest.raises(JournalError, match='damaged: row 7'):
        journal.open_actions()


@pytest.mark.parametrize('edit', [
    'UPDATE progress SET last_indexed = 8', 'UPDATE entry SET indexed = 1 WHERE seq = 9'])
def test_rows_that_the_index_hides_are_found(journal, path, walk, edit):
    journal.append_many([*walk('pick', 3), *walk('place', 6)])
    connection = sqlite3.connect(path)
    connection.execute('UPDATE progress SET last_indexed = 0')
    connection.execute('UPDATE entry SET indexed = 0')
    connection.execute(edit)
    connection.commit()
    connection.close()
    assert 'disagree on this row' in verify_journal(path)[0].message


def test_row_replaced_with_a_right_hash_breaks_the_chain(written, tmp_path, walk):
    with Journal(tmp_path / 'other.journal') as other:
        other.append_many([*walk('pick'), *walk('place', 4)])
    connection = sqlite3.connect(written)
    connection.execute('ATTACH ? AS other', (str(tmp_path / 'other.journal'),))
    connection.execute('REPLACE INTO entry SELECT * FROM other.entry WHERE seq = 7')
    connection.commit()
    connection.close()
    assert verify_journal(written) == [
        JournalFault(7, 'does not continue row 6'), JournalFault(8, 'does not continue row 7')]


def test_walk_that_jumps_is_found(journal, path, walk):
    journal.append_many(walk('pick', 3))
    journal.append(Entry('transition', 'flow', 'pick', 1, 'jump', 'completed', 'terminated'))
    journal.append(Entry('transition', 'flow', 'pick', 0, 'back', 'terminated', 'assigned'))
    faults = verify_journal(path)
    assert [fault.seq for fault in faults] == [4, 5]
    assert "pick leaves 'completed', but row 3 left it in 'sensor_confirm'" in faults[0].message
    assert 'attempt 0 of pick after attempt 1' in faults[1].message


def test_new_attempts_and_same_names_in_other_flows_are_no_fault(journal, path, walk):
    journal.append_many(walk('pick'))
    journal.append(Entry('transition', 'flow', 'pick', 2, 'reassign', 'terminated', 'assigned'))
    journal.append_many(walk('pick', attempt=2))
    journal.append_many(walk('pick', flow_id='second'))
    journal.append(Entry('transition', 'flow', 'pick', 3, 'reassign', '', 'assigned'))
    assert verify_journal(path) == []


def test_verifying_does_not_disturb_the_writer(journal, path):
    journal.append(Entry('note'))
    assert verify_journal(path) == []
    assert journal.append(Entry('note')).seq == 2


def test_missing_journal_can_not_be_verified(tmp_path):
    with pytest.raises(JournalError, match='nothing'):
        verify_journal(tmp_path / 'nothing')


def test_jsonl_has_every_row_as_it_is(written):
    stream = io.StringIO()
    assert export_rows(written, 'jsonl', stream) == 11
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    with Journal(written) as journal:
        rows = list(journal.rows())
    assert [line['seq'] for line in lines] == list(range(1, 12))
    assert lines[-1]['data'] == {'text': 'grün, "quoted"', 'numbers': [1, 2.5]}
    assert [line['final'] for line in lines] == [bool(row.final) for row in rows]
    assert lines[5]['final'] is True
    assert [line['hash'] for line in lines] == [row.hash for row in rows]


def test_csv_has_every_row_and_column(written):
    stream = io.StringIO(newline='')
    assert export_rows(written, 'csv', stream) == 11
    lines = list(csv.DictReader(io.StringIO(stream.getvalue(), newline='')))
    assert list(lines[0]) == ['data' if name == 'data_json' else name for name in Row._fields]
    assert json.loads(lines[-1]['data'])['text'] == 'grün, "quoted"'
    assert float(lines[-1]['ros_time']) == 3.5


def test_unknown_format_is_named(written):
    with pytest.raises(JournalError, match="format 'jsonlines': expected jsonl or csv"):
        export_rows(written, 'jsonlines', io.StringIO())
