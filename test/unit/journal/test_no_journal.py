# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where there is no journal, or this user can't read it, one sentence says why."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
from pathlib import Path
import shutil
import tempfile

from action_lifecycle.cli import main
from action_lifecycle.journal import Entry, Journal, JournalError, JournalReader, verify_journal
import pytest

Capture = pytest.CaptureFixture[str]
NOBODY = 65534
COMMANDS = {
    'report {}': 2, 'journal verify {}': 2, 'journal export {}': 2, 'view {}': 3,
    'list --journal {}': 3, 'history x --journal {}': 3, 'dialogue x --journal {}': 3,
    'ledger rebuild {} --url redis://localhost:1/0 --robot r': 2}
"""Commands that read a journal, with their exit code if there is none."""


def _empty(path: Path) -> None:
    path.touch()


def _text(path: Path) -> None:
    path.write_text('this is a text, ' * 500)


def _parent_is_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text('')


def _no_parents(path: Path) -> None:
    shutil.rmtree(path.parent.parent)


NO_JOURNAL = {
    'missing': (lambda path: None, '{path}: there is no journal at this path'),
    'missing folders': (_no_parents, '{path}: there is no journal at this path: there is no '
                        'folder {path.parent.parent}'),
    'a file as folder': (_parent_is_file, '{path}: there is no journal at this path: '
                         '{path.parent} is not a folder'),
    'folder': (Path.mkdir, '{path}: is a folder; expected the file of a journal'),
    'pipe': (os.mkfifo, '{path}: is not a regular file; expected the file of a journal')}
NO_CONTENT = {
    'empty': (_empty, '{path}: is empty; its writer makes it a journal when it opens it'),
    'text': (_text, '{path}: not a journal, or damaged: file is not a database; '
             "'A damaged journal' in docs/journal.md says what to do")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a path whose folders exist."""
    path = tmp_path / 'some' / 'folder' / 'robot.journal'
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize('case', [*NO_JOURNAL, *NO_CONTENT])
def test_each_command_says_why_there_is_no_journal(
    case: str, path: Path, capsys: Capture
) -> None:
    make, said = {**NO_JOURNAL, **NO_CONTENT}[case]
    make(path)
    for command, code in COMMANDS.items():
        wanted = 2 if case in NO_CONTENT and command == 'view {}' else code
        assert main(command.format(path).split()) == wanted, command
        assert capsys.readouterr().err == f'action_lifecycle: {said.format(path=path)}\n', command


@pytest.mark.parametrize('case', ['missing folders', 'a file as folder', 'folder', 'pipe'])
def test_the_writer_says_the_same_and_leaves_nothing(case: str, path: Path) -> None:
    make, said = NO_JOURNAL[case]
    make(path)
    with pytest.raises(JournalError) as refused:
        Journal(path)
    assert str(refused.value) == said.format(path=path)
    assert not Path(f'{path}.lock').exists()


def test_the_file_at_the_end_of_a_link_is_named(path: Path) -> None:
    link = path.with_name('link')
    link.symlink_to(path)
    with pytest.raises(JournalError, match=f'^{path}: there is no journal'):
        JournalReader(link)
    with Journal(link) as journal:  # the writer creates it there
        journal.append(Entry('note'))
    assert verify_journal(path) == []


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Run a block with the permissions of another user."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def closed() -> Iterator[Path]:
    """Return a closed journal of root in a folder that each user can search."""
    if os.geteuid():
        pytest.skip('only root can act as another user')
    # the folders of pytest, and what TMPDIR may name, are closed to others
    with tempfile.TemporaryDirectory(dir='/tmp') as folder:
        os.chmod(folder, 0o755)
        path = Path(folder) / 'some' / 'folder' / 'robot.journal'
        path.parent.mkdir(parents=True)
        with Journal(path) as journal:
            journal.append(Entry('note'))
        yield path


def refusal(path: Path) -> str:
    """Return why another user can't read a journal."""
    with as_nobody(), pytest.raises(JournalError) as refused:
        JournalReader(path)
    text = str(refused.value)
    assert text.startswith(f'{path}: ')
    return text.removeprefix(f'{path}: ')


def test_a_file_without_permission_is_named(closed: Path) -> None:
    closed.chmod(0o600)
    assert refusal(closed) == "user 'nobody' has no permission to read this file"
    closed.chmod(0o644)


@pytest.mark.parametrize('name', ['robot.journal', 'missing'])
def test_the_outermost_folder_without_permission_is_named(closed: Path, name: str) -> None:
    path = closed.with_name(name)
    for folder in (closed.parent, closed.parent.parent):
        folder.chmod(0o700)
        assert refusal(path) == (
            f"user 'nobody' has no permission to look for a journal in the folder {folder}")


def test_a_folder_in_which_sqlite_can_not_create_its_files_is_named(closed: Path) -> None:
    text = refusal(closed)
    assert text.endswith(
        f": user 'nobody' can't write to the folder {closed.parent}, where SQLite needs a file "
        'beside the journal; copy the journal to another folder')
    closed.parent.chmod(0o777)
    with as_nobody(), JournalReader(closed) as reader:
        assert reader.last_seq() == 1


def test_a_wal_without_permission_is_named(closed: Path) -> None:
    wal = Path(f'{closed}-wal')
    with Journal(closed) as journal:
        journal.append(Entry('note'))
        wal.chmod(0o600)
        assert refusal(closed).endswith(f": user 'nobody' has no permission to read {wal}")
        wal.chmod(0o644)
        with as_nobody(), JournalReader(closed) as reader:
            assert reader.last_seq() == 2


def test_a_writer_names_what_it_may_not_write(closed: Path) -> None:
    with as_nobody(), pytest.raises(JournalError, match='Permission denied') as refused:
        Journal(closed)
    assert f'{closed}.lock: ' in str(refused.value)
    closed.parent.chmod(0o777)
    Path(f'{closed}.lock').chmod(0o666)
    with as_nobody(), pytest.raises(JournalError) as refused:
        Journal(closed)
    assert str(refused.value).endswith("user 'nobody' can't write to this file")
