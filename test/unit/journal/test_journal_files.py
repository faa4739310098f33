# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A journal whose files were deleted, renamed or replaced refuses rows and promises nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
import shutil
import sqlite3
import subprocess
import threading

from action_lifecycle.journal import Entry, Journal, JournalError, JournalReader
from action_lifecycle.journal.sqlite import files as journal_files
from action_lifecycle.journal.sqlite.schema import touch
import pytest


def wal_of(path):
    return Path(f'{path}-wal')


def renamed(path):
    path.rename(path.with_name('elsewhere'))


def replaced(path):
    """Put a copy in the place of a file, as a restored backup or an editor does."""
    subprocess.run(['cp', str(path), f'{path}.copy'], check=True)
    Path(f'{path}.copy').rename(path)


def folder_replaced(path):
    """Move the folder away and put a copy there, as another disk is mounted."""
    moved = path.parent.with_name('moved')
    path.parent.rename(moved)
    subprocess.run(['cp', '-r', str(moved), str(path.parent)], check=True)


def zeroed(path):
    """Overwrite a file in place."""
    size = path.stat().st_size
    with path.open('r+b') as file:
        file.write(bytes(size))


def header_zeroed(path):
    """Overwrite the salts, without which SQLite takes none of the frames after a restart."""
    with path.open('r+b') as file:
        file.write(bytes(32))


def other_journal(path):
    """Write another journal into the file and its WAL, in place."""
    with Journal(path.with_name('other')) as other:
        other.append_many([Entry('note', cause='of another robot')] * 8)
        for suffix in ('', '-wal'):
            content = Path(f'{other.path}{suffix}').read_bytes()
            with open(f'{path}{suffix}', 'r+b') as file:
                file.write(content)
                file.truncate()


DAMAGES = {
    'database deleted': Path.unlink,
    'database renamed': renamed,
    'database replaced by a copy': replaced,
    'WAL deleted': lambda path: wal_of(path).unlink(),
    'WAL renamed': lambda path: renamed(wal_of(path)),
    'WAL replaced by a copy': lambda path: replaced(wal_of(path)),
    'folder deleted': lambda path: shutil.rmtree(path.parent),
    'folder renamed': lambda path: path.parent.rename(path.parent.with_name('moved')),
    'folder replaced by a copy': folder_replaced,
    'database truncated': lambda path: os.truncate(path, 0),
    'database cut': lambda path: os.truncate(path, 4096),
    'database zeroed': zeroed,
    'WAL truncated': lambda path: os.truncate(wal_of(path), 0),
    'WAL cut': lambda path: os.truncate(wal_of(path), 4096),
    'WAL zeroed': lambda path: zeroed(wal_of(path)),
    'header of the WAL zeroed': lambda path: header_zeroed(wal_of(path)),
    'another journal written into it': other_journal,
}
IN_PLACE = [name for name in DAMAGES if name.split()[-1] in (
    'truncated', 'cut', 'zeroed', 'it')]


@pytest.fixture
def path(tmp_path):
    (tmp_path / 'folder').mkdir()
    return tmp_path / 'folder' / 'robot.journal'


@pytest.fixture
def mounted_over(path):
    """Return a function that mounts another file system over the folder of the journal."""
    mounted = []

    def mount(journal_path):
        done = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs',
                               str(journal_path.parent)], capture_output=True)
        if done.returncode:
            pytest.skip('mounting a file system is not allowed here')
        mounted.append(journal_path.parent)
    yield mount
    for folder in mounted:
        subprocess.run(['umount', str(folder)], check=True)


def refuses_everything(journal):
    """Assert that no barrier is reached and then no row is taken."""
    with pytest.raises(JournalError, match='while in use.*; nothing is recorded any more; end '
                       'this process, put the files back') as first:
        journal.barrier().result(5)
    assert journal.path in str(first.value)
    for refused in (lambda: journal.append(Entry('note')),
                    lambda: journal.append_many([Entry('note')]),
                    lambda: journal.compact(synced_to=0),
                    lambda: journal.barrier().result(5)):
        with pytest.raises(JournalError, match='while in use'):
            refused()


@pytest.mark.parametrize('damage', DAMAGES)
def test_barrier_fails_and_rows_are_refused_once_a_file_is_lost(path, damage):
    journal = Journal(path)
    journal._checkpoints.stop()
    journal.append(Entry('note'))
    assert journal.barrier().result(5) == 1
    DAMAGES[damage](path)
    with contextlib.suppress(JournalError):  # nobody has looked yet
        journal.append(Entry('note'))
    refuses_everything(journal)
    if damage not in IN_PLACE:
        assert [row.seq for row in journal.rows()] == [1, 2]
    journal.close()


@pytest.mark.parametrize('rows', [1, 40, 1500])
@pytest.mark.parametrize('copied', [False, True])
@pytest.mark.parametrize('damage', IN_PLACE)
def test_no_barrier_is_reached_without_the_row_that_was_written_last(path, damage, rows, copied):
    """`copied`: all rows are in the database, and the WAL has nothing that is not."""
    journal = Journal(path)
    journal._checkpoints.stop()  # it may write pages that it has in memory again
    journal.append_many([Entry('note', data={'text': 'x' * 300})] * rows)
    assert journal.barrier().result(5) == rows
    if copied:
        journal._checkpoint()
        touch(journal._writer)
    assert journal.barrier().result(5) == rows
    DAMAGES[damage](path)
    refuses_everything(journal)
    journal.close()


@pytest.mark.parametrize('change', [
    'DELETE FROM entry WHERE seq = 5', "UPDATE entry SET hash = '0' WHERE seq = 5",
    'DELETE FROM entry'])
def test_no_barrier_is_reached_when_another_program_has_changed_the_last_row(path, change):
    journal = Journal(path)
    journal.append_many([Entry('note')] * 5)
    assert journal.barrier().result(5) == 5
    stranger = sqlite3.connect(path)
    stranger.execute(change)
    stranger.commit()
    stranger.close()
    refuses_everything(journal)
    journal.close()


def test_checks_of_barriers_and_compaction_do_not_disturb_each_other(path):
    with Journal(path) as journal:
        done = threading.Event()

        def look():
            while not done.is_set():
                journal.check_files()

        lookers = [threading.Thread(target=look, daemon=True) for _ in range(2)]
        for looker in lookers:
            looker.start()
        for number in range(30):
            journal.append_many([Entry('note', final=True)] * 20)
            assert journal.barrier().result(20) >= 20 * number
            journal.compact(synced_to=journal.last_seq(), batch=7)
        done.set()
        for looker in lookers:
            looker.join(10)
        journal.check_files()


def test_a_lock_of_another_program_is_no_loss(path):
    with Journal(path) as journal:
        journal.append(Entry('note'))
        stranger = sqlite3.connect(path, isolation_level=None)
        stranger.execute('BEGIN IMMEDIATE')
        assert journal.barrier().result(10) == 1
        stranger.execute('ROLLBACK')
        stranger.execute('VACUUM')
        stranger.close()
        assert journal.barrier().result(10) == 1
        assert journal.append(Entry('note')).seq == 2


def test_folder_that_another_file_system_is_mounted_over_is_noticed(path, mounted_over):
    journal = Journal(path)
    journal.append(Entry('note'))
    mounted_over(path)
    refuses_everything(journal)
    journal.close()


@pytest.mark.parametrize('damage', DAMAGES)
def test_look_at_the_files_finds_out_without_a_barrier(path, damage):
    journal = Journal(path)
    journal._checkpoints.stop()
    journal.check_files()
    DAMAGES[damage](path)
    with pytest.raises(JournalError, match='while in use'):
        journal.check_files()
    with pytest.raises(JournalError, match='while in use'):
        journal.append(Entry('note'))
    journal.close()


def test_file_that_is_put_back_is_used_when_the_journal_is_opened_anew(path):
    journal = Journal(path)
    journal.append(Entry('note'))
    away = path.with_name('elsewhere')
    path.rename(away)
    with pytest.raises(JournalError, match='deleted or renamed'):
        journal.barrier().result(5)
    away.rename(path)
    with pytest.raises(JournalError, match='deleted or renamed'):  # rows may have got lost
        journal.append(Entry('note'))
    journal.close()
    with Journal(path) as journal:
        assert journal.append(Entry('note')).seq == 2
        assert journal.barrier().result(5) == 2


def test_backup_that_was_put_in_place_of_a_used_journal_is_not_changed(path, tmp_path):
    with Journal(path) as journal:
        journal.append_many([Entry('note')] * 5)
    backup = tmp_path / 'backup'
    shutil.copytree(path.parent, backup)
    other = subprocess.run(['python3', '-c', 'import os, sqlite3, sys\n'
                            'c = sqlite3.connect(sys.argv[1])\n'
                            'c.execute("PRAGMA wal_autocheckpoint = 0")\n'
                            'c.execute("UPDATE entry SET indexed = 0 WHERE seq = 1")\n'
                            'c.commit(); os._exit(0)', str(backup / path.name)])
    assert other.returncode == 0 and wal_of(backup / path.name).stat().st_size
    journal = Journal(path)
    journal.append(Entry('note'))
    for file in path.parent.iterdir():
        file.unlink()
    for file in backup.iterdir():
        shutil.copy(file, path.parent / file.name)
    with pytest.raises(JournalError, match='replaced'):
        journal.barrier().result(5)
    journal.close()
    for name in (path.name, f'{path.name}-wal'):
        assert (path.parent / name).read_bytes() == (backup / name).read_bytes()
    with JournalReader(path) as reader:
        assert reader.last_seq() == 5


def test_lost_wal_is_noticed_where_there_is_no_proc(path, monkeypatch):
    def no_link(name):
        raise FileNotFoundError(name)
    monkeypatch.setattr(journal_files.os, 'readlink', no_link)
    with Journal(path) as journal:
        assert journal.barrier().result(5) == 0
        wal_of(path).unlink()
        with pytest.raises(JournalError, match='WAL|-wal: the file was deleted'):
            journal.barrier().result(5)


def test_files_in_their_place_are_left_alone(path, tmp_path):
    """A reader, a copy, a link and a checkpoint change nothing of that."""
    link = tmp_path / 'link.journal'
    link.symlink_to(path)
    with Journal(link) as journal:
        for number in range(5):
            journal.append(Entry('note'))
            with JournalReader(path) as reader:
                assert reader.last_seq() == number + 1
            os.link(path, tmp_path / f'hard-{number}')
            stranger = sqlite3.connect(path)
            stranger.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()
            stranger.close()
            assert journal.barrier().result(5) == number + 1
