# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Journals whose files were damaged: every question to them is answered or refused in a sentence.

JOURNAL_DAMAGES sets how many damaged journals are tried, JOURNAL_SEED repeats a run.
"""

from __future__ import annotations

from contextlib import closing
import io
import os
from pathlib import Path
import random
import shutil
import sqlite3
import subprocess
import time
from unittest.mock import patch

from action_lifecycle.engine import load_graph
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.journal import (
    Entry,
    export_rows,
    Journal,
    JournalError,
    JournalReader,
    Projection,
    verify_journal,
)
from action_lifecycle.journal.compaction import Removal, remove
from action_lifecycle.journal.row import make_row, Row
from action_lifecycle.journal.sqlite.wal_checkpoint import CheckpointThread
import pytest

from .test_journal import wait_until_indexed

DAMAGES = int(os.environ.get('JOURNAL_DAMAGES', '40'))
SEED = int(os.environ.get('JOURNAL_SEED') or random.SystemRandom().randrange(10**6))
PAGE = 4096
SLOW = 10.0  # s that no question may take, on a busy machine
GRAPH = load_graph(config_file('graphs/action.yaml'))
FLOWS = 6


def write(journal, walk, first):
    for number in range(first, first + FLOWS // 2):
        flow = f'flow-{number}'
        journal.append(Entry('flow', flow, event='accepted', to_state='START',
                             data={'text': 'x' * 9000, 'parts': 1}))
        for action in range(4):
            journal.append_many(walk(f'a{action}', 6 - action % 3 * 2, flow))
        journal.append(Entry('note', flow, 'a1', event='beside', data={'numbers': [1, 2.5]}))
        if number % 3:
            journal.append(Entry('flow', flow, event='finish', from_state='START',
                                 to_state='FINISH', final=True))


def files(path):
    return {name: Path(name).read_bytes() for name in (str(path), f'{path}-wal')
            if Path(name).exists()}


@pytest.fixture(scope='module')
def samples(tmp_path_factory, walk):
    """Return the files of journals: closed, killed with rows in the WAL, compacted, small."""
    found = []
    folder = tmp_path_factory.mktemp('samples')
    for kind in ('closed', 'killed', 'compacted', 'small'):
        path = folder / kind / 'robot.journal'
        path.parent.mkdir()
        with Journal(path) as journal:
            write(journal, walk, 0)
            if kind == 'compacted':
                journal.compact(synced_to=journal.last_seq())
        if kind in ('closed', 'compacted'):
            found.append((path, files(path)))
            continue
        # No checkpoint between the copies of the two files: they would not belong together.
        with patch.object(CheckpointThread, '_checkpoint'), Journal(path) as journal:
            if kind == 'killed':
                write(journal, walk, FLOWS // 2)
            else:
                journal.append(Entry('note'))
            copy = path.with_name('copy')
            copy.mkdir()
            for name in (path.name, f'{path.name}-wal'):  # by another process: see Journal
                subprocess.run(['cp', str(path.with_name(name)), str(copy)], check=True)
        content = files(copy / path.name)
        found.append((path, {str(path): content[str(copy / path.name)],
                             f'{path}-wal': content[f'{copy / path.name}-wal']}))
    return found


def damage(content, chance):
    """Return the content of a file with some damage."""
    data = bytearray(content)
    if not data:
        return bytes(chance.randrange(200)) if chance.random() < 0.5 else b''
    for _ in range(chance.choice((1, 1, 2, 5))):
        pages = max(1, len(data) // PAGE)
        one, other = (chance.randrange(pages) * PAGE for _ in range(2))
        at = chance.choice((chance.randrange(max(1, len(data))), chance.randrange(100),
                            one + chance.randrange(120), one + chance.randrange(PAGE)))
        kind = chance.choice(('flip', 'flip', 'byte', 'bytes', 'zero', 'swap', 'copy', 'noise',
                              'cut', 'null'))
        if kind == 'flip' and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 'byte' and at < len(data):
            data[at] = chance.choice((0, 1, 2, 8, 9, 127, 128, 255))
        elif kind == 'bytes':
            data[at:at + 4] = chance.randbytes(4)[:max(0, len(data) - at)]
        elif kind == 'zero':
            data[one:one + PAGE] = bytes(len(data[one:one + PAGE]))
        elif kind == 'swap':
            data[one:one + PAGE], data[other:other + PAGE] = (
                data[other:other + PAGE], data[one:one + PAGE])
        elif kind == 'copy':
            data[one:one + PAGE] = data[other:other + PAGE]
        elif kind == 'noise':
            data[one:one + PAGE] = chance.randbytes(len(data[one:one + PAGE]))
        elif kind == 'null':  # the types of some columns of a row, in the head of its record
            start = data.find(b'transition' if chance.random() < 0.5 else b'flow', at)
            for offset in range(1, 24):
                if start - offset > 0 and chance.random() < 0.2:
                    data[start - offset] = chance.choice((0, 0, 1, 7, 12, 13, 14, 15))
        elif kind == 'cut':
            del data[chance.choice((at, one)):]
            if not data:
                break
    return bytes(data)


def overwrite(name, content):
    """Change the file where it is: the path leads to the same file."""
    descriptor = os.open(name, os.O_RDWR)
    try:
        os.pwrite(descriptor, content, 0)
        os.ftruncate(descriptor, len(content))
    finally:
        os.close(descriptor)


def read(reader):
    """Yield questions that a reader answers."""
    flows = [None, 'flow-0', f'flow-{FLOWS - 1}']
    yield 'last_seq', reader.last_seq
    for flow in flows:
        yield 'rows', lambda flow=flow: [row.data for row in reader.rows(flow_id=flow)]
        yield 'checked_rows', lambda flow=flow: [
            row.data for row, fault in reader.checked_rows(flow_id=flow) if not fault]
    yield 'rows of a kind', lambda: list(reader.rows(kind='flow', after=3, limit=5))
    for kind in ('flow', 'transition', 'lock'):
        yield 'open_rows', lambda kind=kind: [row.data for row in reader.open_rows(kind)]
        yield 'checked_open_rows', lambda kind=kind: [
            row.data for row, fault in reader.checked_open_rows(kind) if not fault]
    yield 'snapshot', reader.snapshot
    yield 'plan_removal', lambda: reader.plan_removal(10**6, 100)
    yield 'projection', lambda: Projection(reader, GRAPH).find()


def read_closed(path):
    """Yield questions to a journal that nobody has open."""
    yield 'verify', lambda: verify_journal(path)
    for form in ('jsonl', 'csv'):
        yield 'export', lambda form=form: export_rows(path, form, io.StringIO())

    def all_of_it():
        with JournalReader(path) as reader:
            ask_all(read(reader))
    yield 'reader', all_of_it

    def written():
        with Journal(path) as journal:
            ask_all(use(journal))
    yield 'writer', written
    yield 'verify', lambda: [str(fault) for fault in verify_journal(path)]


def read_beside(journal):
    """Yield questions to a journal that is being written to."""
    def all_of_it():
        with JournalReader(journal.path) as reader:
            ask_all(read(reader))
    yield 'reader', all_of_it
    yield 'verify', lambda: verify_journal(journal.path)
    yield 'close', journal.close


def use(journal):
    """Yield what a writer does."""
    yield 'append', lambda: journal.append(Entry('note', data={'padding': 'x' * 5000}))
    yield 'append_many', lambda: journal.append_many([Entry('lock', action_id='hand')] * 2)
    yield 'barrier', lambda: journal.barrier().result(10)
    yield 'compact', lambda: journal.compact(synced_to=journal.last_seq(), batch=30)
    yield from read(journal)
    yield 'append', lambda: journal.append(Entry('note'))


def ask_all(questions):
    """Ask; an answer or a JournalError in time will do."""
    for name, question in questions:
        began = time.monotonic()
        try:
            question()
        except JournalError as error:
            assert 'journal' in str(error), (name, str(error))
        except Exception as error:
            raise AssertionError(f'{name} raised {error!r}') from error
        took = time.monotonic() - began
        assert took < SLOW or name in ('reader', 'writer'), f'{name} took {took:.1f} s'


def write_files(content, path):
    for name in (str(path), f'{path}-wal', f'{path}-shm'):
        Path(name).unlink(missing_ok=True)
        if name in content:
            Path(name).write_bytes(content[name])


@pytest.mark.timeout(120 + DAMAGES // 5)
def test_damaged_journal_is_answered_for_or_refused_in_a_sentence(samples):
    print(f'JOURNAL_SEED={SEED}')
    for number in range(DAMAGES):
        chance = random.Random(SEED + number)
        path, content = chance.choice(samples)
        broken = dict(content)
        for name in chance.choice(([str(path)], [f'{path}-wal'], [str(path), f'{path}-wal'])):
            broken[name] = damage(content.get(name, b''), chance)
        write_files(broken, path)
        try:
            ask_all(read_closed(path))
        except Exception as error:
            raise AssertionError(f'JOURNAL_SEED={SEED + number}') from error


@pytest.mark.timeout(120 + DAMAGES // 5)
def test_journal_that_is_damaged_while_in_use_is_answered_for_or_refused(samples):
    print(f'JOURNAL_SEED={SEED}')
    for number in range(DAMAGES // 3):
        chance = random.Random(SEED + number)
        path, content = chance.choice(samples)
        write_files(content, path)
        journal = Journal(path)
        try:
            ask_all(use(journal))
            for name in chance.choice(([str(path)], [f'{path}-wal'])):
                overwrite(name, damage(Path(name).read_bytes(), chance))
            ask_all(use(journal))
            ask_all(read_beside(journal))
        except Exception as error:
            raise AssertionError(f'JOURNAL_SEED={SEED + number}') from error


def test_empty_file_beside_a_wal_with_rows_is_refused_and_left_alone(journal, path, tmp_path):
    journal.append(Entry('note'))
    folder = tmp_path / 'emptied'
    folder.mkdir()
    emptied, wal = folder / path.name, folder / f'{path.name}-wal'
    emptied.touch()
    shutil.copy(f'{path}-wal', wal)
    for opened in (Journal, JournalReader, verify_journal):
        with pytest.raises(JournalError, match='the file is empty, but its WAL is not'):
            opened(emptied)
    assert wal.read_bytes() == Path(f'{path}-wal').read_bytes()


def test_row_that_is_not_found_by_its_number_is_damage_when_it_would_be_removed(path):
    with Journal(path) as journal:
        journal.append_many([Entry('note')] * 3)
    with closing(sqlite3.connect(path)) as connection, pytest.raises(
            JournalError, match='damaged: row 4 has no hash'):
        remove(connection, Removal([(4, '', '')], 3), {}, str(path))


def test_message_of_sqlite_that_is_not_utf_8_is_told_all_the_same(path):
    with Journal(path) as journal:
        journal.append(Entry('note'))
    content = path.read_bytes()
    assert content.count(b'prev_hash TEXT') == 1
    path.write_bytes(content.replace(b'prev_hash TEXT', b'prev_hash TE\x80T'))
    for opened in (Journal, JournalReader, verify_journal):
        with pytest.raises(JournalError, match='damaged: malformed database schema'):
            opened(path)


def change(path, statement, *values):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute('PRAGMA writable_schema = ON')
        connection.execute(statement, values)


def test_number_that_no_row_can_follow_is_refused(path):
    with Journal(path) as journal:
        journal.append(Entry('note'))
    change(path, 'UPDATE entry SET seq = ?', 2**63 - 1)
    with pytest.raises(JournalError, match=f'damaged: row {2**63 - 1}: no row can follow'):
        Journal(path)


def test_row_that_only_the_index_has_as_a_snapshot_is_damage(path):
    with Journal(path) as journal:
        journal.append_many([Entry('note')] * 3 + [Entry('flow', 'f', final=True)])
        assert journal.compact(synced_to=4)
        snapshot = journal.snapshot()
        wait_until_indexed(journal)
    with closing(sqlite3.connect(path)) as connection:
        index = connection.execute("SELECT * FROM sqlite_schema WHERE type = 'index'").fetchone()
    change(path, "DELETE FROM sqlite_schema WHERE type = 'index'")
    other = make_row(Entry('note'), snapshot.seq, *snapshot[13:17])
    change(path, f"UPDATE entry SET ({','.join(Row._fields)}, indexed) = "
           f"({'?,' * len(Row._fields)} 1)", *other)
    change(path, f"INSERT INTO sqlite_schema VALUES ({','.join('?' * len(index))})", *index)
    assert any("is of kind 'note', but the index" in str(fault) for fault in verify_journal(path))
    with JournalReader(path) as reader, pytest.raises(JournalError, match="is of kind 'note'"):
        reader.snapshot()


def test_transition_whose_data_can_not_be_used_is_named(path):
    with Journal(path) as journal:
        journal.append(Entry('transition', 'f', 'a', 1, 'terminate', 'completed', 'terminated',
                             data={'outcome': 0}))
    with JournalReader(path) as reader, pytest.raises(
            JournalError, match="row 1: 'terminate' of a has data that can not be used"):
        Projection(reader, GRAPH).find()
