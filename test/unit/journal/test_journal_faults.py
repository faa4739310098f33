# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Full, read-only, failing and damaged disks, and files of others: clear errors, nothing half."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from types import SimpleNamespace

from action_lifecycle.journal import Entry, Journal, JournalError, JournalReader, verify_journal
from action_lifecycle.journal.sqlite import barrier as barrier_module
from action_lifecycle.journal.sqlite import schema as journal_schema
import pytest

BIG = Entry('note', data={'padding': 'x' * 20_000})


@pytest.fixture
def small_disk(tmp_path):
    """Return a file system of 1 MiB of its own."""
    folder = tmp_path / 'disk'
    folder.mkdir()
    mounted = subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip('mounting a file system is not allowed here')
    yield folder
    subprocess.run(['umount', str(folder)], check=True)


def remount(folder, option):
    subprocess.run(['mount', '-o', f'remount,{option}', str(folder)], check=True)


def test_room_is_there_again_when_the_disk_has_space(small_disk):
    remount(small_disk, 'size=8m')
    with Journal(small_disk / 'robot.journal') as journal:
        journal.check_room()
        rest = small_disk / 'rest'
        rest.write_bytes(bytes(7_000_000))
        with pytest.raises(JournalError, match=r'robot\.journal: nothing can be recorded: the d'):
            journal.check_room()
        rest.unlink()
        journal.check_room()
    with pytest.raises(JournalError, match='closed'):
        journal.check_room()


def fill(journal, entry=BIG):
    """Append until the journal refuses; return the rows that it took, and the refusal."""
    rows = []
    with pytest.raises(JournalError) as refused:
        for _ in range(1000):
            rows.append(journal.append(entry))
    return rows, str(refused.value)


def test_full_disk_refuses_the_row_and_memory_and_disk_agree(small_disk, caplog, monkeypatch):
    monkeypatch.setattr(  # a checkpoint in between would take the room that is made below
        'action_lifecycle.journal.journal.CheckpointThread.request', lambda self: None)
    path = small_disk / 'robot.journal'
    ballast = small_disk / 'ballast'
    ballast.write_bytes(bytes(200_000))
    journal = Journal(path)
    rows, message = fill(journal)
    assert f'{path}: nothing was recorded' in message
    assert 'full' in message
    assert rows
    with pytest.raises(JournalError, match='nothing was recorded'):
        journal.append_many([BIG, BIG])
    assert list(journal.rows()) == rows
    ballast.unlink()
    rows.append(journal.append(BIG))
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    journal.close()  # its checkpoint finds no room either
    assert 'could not be checkpointed' in caplog.text
    assert verify_journal(path) == []
    with JournalReader(path) as reader:
        assert list(reader.rows()) == rows


def test_full_disk_at_the_start_is_named(small_disk):
    (small_disk / 'ballast').write_bytes(bytes(1024 * 1024))
    with pytest.raises(JournalError, match=r'robot\.journal.*(full|No space left)'):
        Journal(small_disk / 'robot.journal')


def test_file_size_limit_refuses_the_row_and_memory_and_disk_agree(path):
    journal = Journal(path)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
        rows, message = fill(journal)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert 'nothing was recorded' in message
    rows.append(journal.append(BIG))
    journal.close()
    with JournalReader(path) as reader:
        assert list(reader.rows()) == rows
    assert verify_journal(path) == []


def test_disk_that_turns_read_only_refuses_the_row_and_still_answers(small_disk):
    path = small_disk / 'robot.journal'
    Journal(path).close()
    remount(small_disk, 'ro')
    try:
        with pytest.raises(JournalError, match=r'robot\.journal\.lock: .*Read-only file system'):
            Journal(path)
    finally:
        remount(small_disk, 'rw')
    with Journal(path) as journal:
        assert journal.append(BIG).seq == 1


def test_read_only_file_is_refused_at_the_start(path):
    Journal(path).close()
    subprocess.run(['chattr', '+i', str(path)], capture_output=True, check=False)
    try:
        if os.access(path, os.W_OK):
            path.chmod(0o444)
        if os.access(path, os.W_OK):
            pytest.skip('files can not be made read-only here')
        with pytest.raises(JournalError, match='readonly|unable to open'):
            Journal(path)
    finally:
        subprocess.run(['chattr', '-i', str(path)], capture_output=True, check=False)


def test_lock_is_free_again_after_a_failed_start(path):
    path.write_bytes(b'not a database, but long enough to look like one' * 100)
    for _ in range(2):
        with pytest.raises(JournalError, match='not a journal, or damaged: file is not a'):
            Journal(path)
    path.unlink()
    Journal(path).close()


class FailingSyncs:
    """An os for the barriers whose next `count` syncs fail."""

    def __init__(self, monkeypatch, count=1):
        self.count = count
        monkeypatch.setattr(barrier_module, 'FIRST_DELAY', 0.1)
        monkeypatch.setattr(barrier_module, 'os', SimpleNamespace(
            fdatasync=self.fdatasync))

    def fdatasync(self, descriptor):
        if self.count:
            self.count -= 1
            raise OSError(errno.EIO, 'Input/output error')
        os.fdatasync(descriptor)


def barrier_again(journal, timeout=5.0):
    """Ask for barriers until one is reached; return its result and how many failed before."""
    deadline = time.monotonic() + timeout
    failed = 0
    while True:
        try:
            return journal.barrier().result(5), failed
        except JournalError as error:
            assert time.monotonic() < deadline, error
            failed += 1
            time.sleep(0.01)


def test_failed_sync_fails_every_later_barrier_until_all_is_written_once_more(
        path, monkeypatch, caplog):
    FailingSyncs(monkeypatch)
    times = [0.0]
    monkeypatch.setattr(barrier_module, 'time', SimpleNamespace(monotonic=lambda: times[-1]))
    with Journal(path) as journal:
        for now in 0.0, 0.09:
            times.append(now)
            journal.append(Entry('note'))
            with pytest.raises(JournalError, match=r'rows from 1 on may not survive a power loss'):
                journal.barrier().result(5)
        times.append(0.11)
        assert journal.barrier().result(5) == 2
        # All that was not safe is in the database file itself by then, and synced.
        copy = sqlite3.connect(f'file:{path}?immutable=1', uri=True)
        assert copy.execute('SELECT max(seq) FROM entry').fetchone() == (2,)
        copy.close()
        assert 'written again' in caplog.text
        journal.append(Entry('note'))
        assert journal.barrier().result(5) == 3
    assert verify_journal(path) == []


def test_disk_that_goes_on_failing_is_tried_less_and_less_often(path, monkeypatch):
    failing = FailingSyncs(monkeypatch, count=4)
    with Journal(path) as journal:
        journal.append(Entry('note'))
        began = time.monotonic()
        assert barrier_again(journal, 20.0)[0] == 1
        assert failing.count == 0
        assert time.monotonic() - began > 0.1 + 0.2 + 0.4 + 0.8


def test_rows_that_were_lost_by_the_kernel_never_count_as_safe(path, monkeypatch):
    FailingSyncs(monkeypatch)
    with Journal(path) as journal:
        journal.append(Entry('note', cause='as it was written'))
        with pytest.raises(JournalError):
            journal.barrier().result(5)
        wal = path.with_name(path.name + '-wal')
        content = wal.read_bytes()
        assert content.count(b'as it was written') == 1
        wal.write_bytes(content.replace(b'as it was written', b'as it was before.'))
        time.sleep(0.2)
        for _ in range(3):
            with pytest.raises(JournalError, match='row 1 is not what was written'):
                journal.barrier().result(5)
            time.sleep(0.2)


def test_reader_in_the_middle_of_an_answer_only_delays_the_writing_anew(path, monkeypatch):
    FailingSyncs(monkeypatch)
    with Journal(path) as journal:
        journal.append(Entry('note'))
        with pytest.raises(JournalError):
            journal.barrier().result(5)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute('BEGIN')
        reader.execute('SELECT * FROM entry').fetchall()
        time.sleep(0.2)
        with pytest.raises(JournalError, match='while others read the file'):
            journal.barrier().result(5)
        took = []
        for _ in range(3):  # all may stand still in one of them
            began = time.monotonic()
            journal.append(Entry('note'))
            took.append(time.monotonic() - began)
        assert min(took) < 0.5
        reader.close()
        assert barrier_again(journal)[0] == 4


def test_foreign_database_is_left_alone(path):
    connection = sqlite3.connect(path)
    connection.execute('CREATE TABLE entry (seq INTEGER)')
    connection.close()
    before = path.read_bytes()
    for opened in (Journal, JournalReader, verify_journal):
        with pytest.raises(JournalError, match='not a journal'):
            opened(path)
    assert path.read_bytes() == before


def test_newer_version_is_refused_and_left_alone(path):
    with Journal(path) as journal:
        journal.append(Entry('note'))
    connection = sqlite3.connect(path)
    connection.execute('PRAGMA user_version = 99')
    connection.close()
    for opened in (Journal, JournalReader, verify_journal):
        with pytest.raises(JournalError, match='schema version 99, this software knows up to 1'):
            opened(path)
    connection = sqlite3.connect(path)
    assert connection.execute('PRAGMA user_version').fetchone() == (99,)
    connection.close()


def test_older_version_is_migrated_and_keeps_its_rows(path, monkeypatch):
    with Journal(path) as journal:
        rows = [journal.append(Entry('note')) for _ in range(3)]
    later = [*journal_schema.STEPS, ('CREATE TABLE later (name TEXT) STRICT',)]
    monkeypatch.setattr('action_lifecycle.journal.sqlite.schema.STEPS', later)
    with pytest.raises(JournalError, match='schema version 1, expected 2; its writer updates it'):
        JournalReader(path)
    with Journal(path) as journal:
        assert list(journal.rows()) == rows
        assert journal._ask('SELECT count(*) FROM later') == [(0,)]
        assert journal._ask('PRAGMA user_version') == [(2,)]


def test_failed_migration_leaves_the_old_version(path, monkeypatch):
    with Journal(path) as journal:
        row = journal.append(Entry('note'))
    broken = [*journal_schema.STEPS, ('CREATE TABLE later (name TEXT)', 'CREATE TABLE entry (a)')]
    with monkeypatch.context() as patched:
        patched.setattr('action_lifecycle.journal.sqlite.schema.STEPS', broken)
        with pytest.raises(JournalError, match='table entry already exists'):
            Journal(path)
    with Journal(path) as journal:
        assert list(journal.rows()) == [row]
        assert journal._ask("SELECT name FROM sqlite_schema WHERE name = 'later'") == []


@pytest.fixture
def written(path, walk):
    with Journal(path) as journal:
        for number in range(200):
            journal.append_many(walk(f'action-{number}', 2 + number % 4))
    return path


def test_damaged_page_is_named_and_never_taken_for_content(written):
    size = written.stat().st_size
    with written.open('r+b') as file:
        for page in range(4, size // 4096, 5):
            file.seek(page * 4096)
            file.write(os.urandom(4096))
    faults = verify_journal(written)
    assert 'damaged' in faults[0].message
    with pytest.raises(JournalError, match='damaged'), JournalReader(written) as reader:
        list(reader.rows())
        reader.open_actions()


def test_flipped_bit_in_a_row_is_found_by_its_number_and_stops_the_restart(written):
    content = written.read_bytes()
    at = content.rindex(b'requestedcompleted') + len('requested')
    written.write_bytes(content[:at] + b'C' + content[at + 1:])
    [fault] = [fault for fault in verify_journal(written) if 'content' in fault.message]
    with JournalReader(written) as reader:
        [bad] = [row for row in reader.rows() if not row.intact()]
        assert fault.seq == bad.seq
        assert bad.seq == list(reader.rows(action_id=bad.action_id))[-1].seq
        with pytest.raises(JournalError, match=f'damaged: row {bad.seq} '):
            reader.open_actions()


def test_rows_are_appended_behind_a_damaged_last_row_and_it_stays_found(written):
    connection = sqlite3.connect(written)
    connection.execute("UPDATE entry SET cause = 'x' WHERE seq = (SELECT max(seq) FROM entry)")
    connection.commit()
    connection.close()
    before = verify_journal(written)
    with Journal(written) as journal:
        row = journal.append(Entry('note'))
    assert row.intact()
    assert verify_journal(written) == before and len(before) == 1
    assert before[0].seq == row.seq - 1


def test_row_of_a_stranger_is_not_overwritten(journal):
    journal.append(Entry('note'))
    stranger = sqlite3.connect(journal.path)
    stranger.execute(
        "INSERT INTO entry SELECT seq + 1, 'alien', flow_id, action_id, attempt, event, "
        'from_state, to_state, cause, actor, data_json, final, ros_time, boot_id, boot_time, '
        'wall_time, prev_hash, hash, indexed FROM entry')
    stranger.commit()
    stranger.close()
    with pytest.raises(JournalError, match='row 2 exists already, something else writes'):
        journal.append(Entry('note'))
    assert [row.kind for row in journal.rows()] == ['note', 'alien']


def test_stranger_who_locks_the_file_delays_an_append_for_a_second_at_most(journal):
    stranger = sqlite3.connect(journal.path, isolation_level=None)
    stranger.execute('BEGIN IMMEDIATE')
    with pytest.raises(JournalError, match='nothing was recorded: database is locked'):
        journal.append(Entry('note'))
    stranger.execute('ROLLBACK')
    stranger.close()
    assert journal.append(Entry('note')).seq == 1


def test_copy_without_its_wal_is_a_shorter_journal(journal, tmp_path):
    copy = tmp_path / 'copy.journal'

    def rows_in_main_file():
        subprocess.run(['cp', journal.path, str(copy)], check=True)  # not in this process: locks
        try:
            with contextlib.closing(sqlite3.connect(copy)) as connection:
                if connection.execute('PRAGMA integrity_check').fetchone() == ('ok',):
                    return connection.execute('SELECT count(*) FROM entry').fetchone()[0]
        except sqlite3.DatabaseError:
            pass  # copied while the checkpoint of the start is made
        return 0

    journal.append_many([Entry('note')] * 50)
    end = time.monotonic() + 20
    while rows_in_main_file() < 50:
        assert time.monotonic() < end, 'the checkpoint of the start is not made'
    journal.append_many([Entry('note')] * 50)  # in the WAL: no further checkpoint for so little
    assert rows_in_main_file() == 50
    with Journal(copy) as other:
        assert list(other.rows()) == list(journal.rows())[:50]


def test_leftovers_of_a_dead_writer_are_read_without_it(path, start_writer, tmp_path):
    writer = start_writer()
    told = [writer.stdout.readline().split() for _ in range(300)]
    writer.kill()
    writer.wait()
    acknowledged = max(int(seq) for word, seq in told if word == b'row')
    assert Path(f'{path}-wal').stat().st_size > 0
    with JournalReader(path) as reader:
        assert reader.last_seq() >= acknowledged
        assert len(reader.open_actions()) > 0
    folder = tmp_path / 'elsewhere'
    folder.mkdir()
    for name in (path.name, f'{path.name}-wal'):
        shutil.copy(path.with_name(name), folder / name)
    assert verify_journal(folder / path.name) == []
