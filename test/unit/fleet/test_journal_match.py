# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Journals that do not continue their ledger: whose it is, and no row is lost without a word."""

from __future__ import annotations

import json
from pathlib import Path
import signal
import socket
import sqlite3
import subprocess
import sys
import threading

from action_lifecycle.cli import main
from action_lifecycle.fleet import LedgerRefused, open_ledger
from action_lifecycle.fleet.journal_match import compare
from action_lifecycle.journal import Entry, Journal, JournalReader
import pytest

from .ledgers import with_ledger
from .test_changed_keys import content, META
from .test_sync import apply, assert_same, journal, sync, Syncing, write

__all__ = ['journal', 'sync']  # fixtures


def copy_of(journal, path):
    """Back up a journal, as SQLite's own tool does, and return the path of the copy."""
    source, target = sqlite3.connect(journal.path), sqlite3.connect(path)
    source.backup(target)
    source.close()
    target.close()
    return path


def refused(journal, url):
    """Return the sentence with which the sync of a journal is refused."""
    syncing = Syncing(journal, url)
    try:
        return syncing.until(lambda one: one.refused).last_error
    finally:
        syncing.loop.stop()


def fill(journal, server):
    """Bring a journal into the ledger."""
    apply(server, list(journal.rows()), journal.path)


def rebuild(path, server, *options):
    return main(['ledger', 'rebuild', str(path), '--url', server.url, '--robot', 'robot',
                 *options])


def saved_rows(folder):
    """Return the numbers of the rows in the file that a rebuild has left in a folder."""
    files = list(Path(folder).glob('robot.ledger-rows-*.jsonl'))
    assert len(files) < 2
    return [json.loads(line)['seq'] for file in files for line in file.read_text().splitlines()]


def test_restored_journal_is_told_from_another_one(journal, redis_server, tmp_path):
    write(journal, 0, 3)
    ended = journal.last_seq()
    old = copy_of(journal, tmp_path / 'old')
    write(journal, 3, 2)
    fill(journal, redis_server)
    before = content(redis_server.client)
    with Journal(old) as restored:
        said = refused(restored, redis_server.url)
        assert (f'the journal ends with row {ended}, but the ledger has rows {ended + 1} to '
                f'{journal.last_seq()} of the same journal (of host {socket.gethostname()}, '
                f'journal {journal.path}, boot id ') in said
        assert 'restored from an older backup' in said and 'saves those rows to a file' in said
        write(restored, 10, 9)  # the robot goes on
        said = refused(restored, redis_server.url)
        assert f'are the same up to row {ended}, but row {ended + 1} has another hash' in said
    assert content(redis_server.client) == before


def test_rows_that_only_the_ledger_has_are_saved_before_a_rebuild(
        journal, redis_server, tmp_path, capsys):
    write(journal, 0, 3)
    ended = journal.last_seq()
    old = copy_of(journal, tmp_path / 'old')
    write(journal, 3, 2)
    fill(journal, redis_server)
    folder = tmp_path / 'kept'
    folder.mkdir()
    with Journal(old) as restored:
        write(restored, 10, 1)
        assert rebuild(old, redis_server, '--save-in', str(folder)) == 0
        assert_same(restored, redis_server)
        write(restored, 11, 1)
        syncing = Syncing(restored, redis_server.url)
        syncing.until_synced()
        syncing.loop.stop()
    assert saved_rows(folder) == list(range(ended + 1, journal.last_seq() + 1))
    told = capsys.readouterr().out
    assert (f'{journal.last_seq() - ended} rows that only the ledger had are in '
            f'{folder}/robot.ledger-rows-') in told
    file = next(folder.iterdir())
    first = json.loads(file.read_text().splitlines()[0])
    assert (first['hash'], first['data']) == (
        (row := list(journal.rows(after=ended))[0]).hash, row.data)


def test_rebuild_that_can_not_save_the_rows_removes_nothing(
        journal, redis_server, tmp_path, capsys):
    write(journal, 0, 1)
    old = copy_of(journal, tmp_path / 'old')
    write(journal, 1, 1)
    fill(journal, redis_server)
    before = content(redis_server.client)
    assert rebuild(old, redis_server, '--save-in', str(tmp_path / 'nowhere')) == 2
    told = capsys.readouterr().err
    assert str(tmp_path / 'nowhere') in told and 'nothing was removed' in told
    assert content(redis_server.client) == before
    write(journal, 2, 1)
    fill(journal, redis_server)  # rows are accepted again
    assert_same(journal, redis_server)


def test_rows_that_compaction_removed_from_the_journal_are_saved_too(
        journal, redis_server, tmp_path):
    write(journal, 0, 5)
    fill(journal, redis_server)
    gone = journal.last_seq()
    assert journal.compact(synced_to=gone) > 0
    write(journal, 5, 1)
    assert rebuild(journal.path, redis_server) == 0
    assert_same(journal, redis_server)
    kept = {row.seq for row in journal.rows()}
    assert saved_rows(tmp_path) == [seq for seq in range(1, gone + 1) if seq not in kept]


def test_second_robot_of_a_name_is_told_whose_the_ledger_is(
        journal, redis_server, tmp_path, capsys):
    write(journal, 0, 4)
    first = Syncing(journal, redis_server.url)
    first.until_synced()
    with Journal(tmp_path / 'second') as other:
        write(other, 0, 9)
        second = Syncing(other, redis_server.url)
        try:
            said = second.until(lambda one: one.refused).last_error
            assert 'it holds another journal' in said and 'parameter `robot`' in said
            assert f'host {socket.gethostname()}, journal {journal.path}, boot id' in said
            assert f'than {tmp_path}/second of host' in said
            for number in range(5):  # both go on, and nothing is mixed
                write(journal, 10 + number, 1)
                write(other, 10 + number, 1)
                first.until_synced()
            assert second.statuses[-1].refused and second.statuses[-1].last_error == said
            assert_same(journal, redis_server)
            assert rebuild(tmp_path / 'second', redis_server) == 2
            assert '--other-journal; nothing was removed' in capsys.readouterr().err
            assert_same(journal, redis_server)
        finally:
            first.loop.stop()
            second.loop.stop()
        assert rebuild(tmp_path / 'second', redis_server, '--other-journal') == 0
        assert_same(other, redis_server)
        assert saved_rows(tmp_path) == [row.seq for row in journal.rows()]


def test_empty_journal_under_the_name_of_a_robot_removes_nothing(
        journal, redis_server, tmp_path, capsys):
    write(journal, 0, 1)
    fill(journal, redis_server)
    before = content(redis_server.client)
    Journal(tmp_path / 'empty').close()
    assert rebuild(tmp_path / 'empty', redis_server) == 2
    assert 'another journal' in capsys.readouterr().err
    assert content(redis_server.client) == before


def test_batch_of_another_journal_that_has_fewer_rows_is_refused(backend, journal, tmp_path):
    write(journal, 0, 3)
    with Journal(tmp_path / 'other') as other:
        write(other, 0, 1)
        rows = list(other.rows())

    async def work(ledger):
        await ledger.apply(list(journal.rows()))
        with pytest.raises(LedgerRefused, match='another hash in the ledger'):
            await ledger.apply(rows)
        return await ledger.apply(list(journal.rows())[:3])
    assert with_ledger(backend, work) == journal.last_seq()


def test_compacted_journal_is_not_mixed_with_the_rows_of_another_robot(
        journal, redis_server, tmp_path):
    write(journal, 0, 2, steps=2)
    fill(journal, redis_server)
    before = content(redis_server.client)
    with Journal(tmp_path / 'other') as other:
        write(other, 0, 1, steps=1)  # stays open, so its row is kept
        write(other, 1, 9)
        assert other.compact(synced_to=other.last_seq()) > 0
        write(other, 20, 1)
        assert 'it holds another journal' in refused(other, redis_server.url)
        assert content(redis_server.client) == before
        redis_server.client.hset(META, 'host', 'elsewhere')
        with Journal(tmp_path / 'all') as closed:
            write(closed, 0, 9)
            assert closed.compact(synced_to=closed.last_seq()) > 0
            said = refused(closed, redis_server.url)
        assert 'it holds another journal' in said and 'of host elsewhere' in said


def test_compacted_journal_at_another_path_is_not_mixed_with_the_one_of_the_ledger(
        journal, redis_server, tmp_path, capsys):
    write(journal, 0, 2)
    fill(journal, redis_server)
    before = content(redis_server.client)
    with Journal(tmp_path / 'other') as other:
        write(other, 0, 9)
        assert other.compact(synced_to=other.last_seq()) > 0
        write(other, 20, 1)
        said = refused(other, redis_server.url)
        assert f'it holds another journal (of host {socket.gethostname()}, journal ' \
               f'{journal.path}, boot id ' in said and f'than {other.path} of host' in said
        assert rebuild(other.path, redis_server) == 2
        assert '--other-journal; nothing was removed' in capsys.readouterr().err
        assert content(redis_server.client) == before
        assert rebuild(other.path, redis_server, '--other-journal') == 0
        assert_same(other, redis_server)


def test_journal_that_was_moved_continues_its_ledger(journal, redis_server, tmp_path):
    write(journal, 0, 2)
    write(journal, 2, 1, steps=1)  # stays open, so its row is kept
    fill(journal, redis_server)
    moved = copy_of(journal, tmp_path / 'moved')
    with Journal(moved) as other:
        write(other, 10, 5)
        assert other.compact(synced_to=other.last_seq()) > 0
        write(other, 20, 1)
        syncing = Syncing(other, redis_server.url)
        try:
            syncing.until_synced()
        finally:
            syncing.loop.stop()


@pytest.mark.parametrize('common', range(0, 14))
def test_last_common_row_is_found_wherever_it_is(redis_server, tmp_path, common):
    with Journal(tmp_path / 'one') as one:
        for number in range(common):
            one.append(Entry('note', event=str(number)))
        copy_of(one, tmp_path / 'two')
        for number in range(13 - common):
            one.append(Entry('note', event=f'one {number}'))
        fill(one, redis_server)
    with Journal(tmp_path / 'two') as two:
        two.append(Entry('note', event='two'))
        ledger = open_ledger(redis_server.url)
        rows = ledger.reader()
        with JournalReader(two.path) as reader:
            match = compare(reader, rows)
        rows.close()
    assert (match.common, match.differs, match.newest.seq) == (common, common < 13, 13)


REBUILD = 'import sys; from action_lifecycle.cli import main; sys.exit(main(sys.argv[1:]))'


@pytest.mark.parametrize('script', ['fence', 'remove', 'last remove', 'apply'])
def test_rebuild_that_is_killed_at_any_step_can_be_repeated(
        journal, redis_server, tmp_path, script):
    write(journal, 0, 30)
    write(journal, 30, 2, steps=2)
    old = copy_of(journal, tmp_path / 'old')
    ended = journal.last_seq()
    write(journal, 40, 2)
    fill(journal, redis_server)
    # The process dies before its first call of this script, after all that comes before it.
    code = (
        'import os, signal\n'
        'from action_lifecycle.fleet.backends.redis import ledger\n'
        'script, seen = ledger.script, []\n'
        'def dying(*names):\n'
        '    seen.append(names[-1])\n'
        f'    if names[-1] == {script.split()[-1]!r} '
        f'and seen.count(names[-1]) == {2 if script.startswith("last") else 1}:\n'
        '        os.kill(os.getpid(), signal.SIGKILL)\n'
        '    return script(*names)\n'
        'ledger.script = dying\n' + REBUILD)
    process = subprocess.run([sys.executable, '-c', code, 'ledger', 'rebuild', str(old), '--url',
                              redis_server.url, '--robot', 'robot'],
                             capture_output=True, timeout=60.0)
    assert process.returncode == -signal.SIGKILL, process.stderr
    if script not in ('fence', 'apply'):
        with pytest.raises(LedgerRefused, match='to rebuild it; .* run `action_lifecycle'):
            fill(journal, redis_server)
    assert rebuild(old, redis_server, '--save-in', str(tmp_path)) == 0
    with Journal(old) as restored:
        assert_same(restored, redis_server)
    files = sorted(tmp_path.glob('robot.ledger-rows-*.jsonl'))
    saved = [json.loads(line)['seq'] for line in files[0].read_text().splitlines()]
    assert saved == list(range(ended + 1, journal.last_seq() + 1))


def test_rebuilds_at_the_same_time_and_the_sync_leave_the_journal(
        journal, sync, redis_server):
    write(journal, 0, 100)
    syncing = sync()
    syncing.until_synced()
    codes = []
    writing = threading.Event()

    def write_on():
        number = 200
        while not writing.is_set():
            write(journal, number, 1)
            number += 1
            writing.wait(0.01)
    threads = [threading.Thread(target=lambda: codes.append(rebuild(journal.path, redis_server)))
               for _ in range(3)]
    writer = threading.Thread(target=write_on)
    for thread in (*threads, writer):
        thread.start()
    for thread in threads:
        thread.join(60.0)
    writing.set()
    writer.join()
    assert len(codes) == 3 and 0 in codes and set(codes) <= {0, 2}, codes
    syncing.until_synced()
    assert_same(journal, redis_server)
