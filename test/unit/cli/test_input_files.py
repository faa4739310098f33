# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Verbs neither wait for a FIFO nor read a device, and any name of a file gets a sentence."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
from pathlib import Path
import socket

from action_lifecycle.cli.main import main
from action_lifecycle.documents.input_file import open_input, read_text
import pytest

from ..report.test_report_files import PICK, write

Capture = pytest.CaptureFixture[str]
NO_FILE = 'expected a regular file, not '
VERBS = (
    'validate {}.yaml', 'validate --facts {}.yaml flow.yaml', 'validate --flow {}.yaml {}.yaml',
    'graph {}.yaml', 'run ./{}.yaml', 'edit x {}.yaml', 'test {}.yaml', 'journal verify {}',
    'journal export {}', 'report {}', 'report robot.journal --labels {}', 'view {} --html o.html',
    'list --journal {}', 'history x --journal {}', 'dialogue x --journal {}',
    'fit robot.journal --flow {}.yaml --facts {}.yaml', 'replay {}.mcap', 'replay {}.db3',
    'replay {}.db3.zstd', 'replay folder', 'view robot.journal --token-file {}')

NEEDED = {'run': 'rclpy', 'edit': 'rclpy', 'replay {}.mcap': 'mcap',
          'replay {}.db3.zstd': 'zstandard'}
"""Modules without which a verb ends before it opens a file."""


def needs(words: str) -> None:
    for verb, module in NEEDED.items():
        if words.startswith(verb):
            pytest.importorskip(module)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / 'robot.journal', PICK)
    (tmp_path / 'flow.yaml').write_text('flow: f\nactions: {a: {motion: {frame: b}}}\n')
    (tmp_path / 'folder').mkdir()
    yield tmp_path


@pytest.mark.timeout(60)
@pytest.mark.parametrize('words', VERBS)
def test_no_verb_waits_for_a_fifo(words: str, folder: Path, capsys: Capture) -> None:
    needs(words)
    for ending in ('', '.yaml', '.mcap', '.db3', '.db3.zstd'):
        os.mkfifo(folder / f'pipe{ending}')
    os.mkfifo(folder / 'folder/metadata.yaml')
    assert main(words.format(*['pipe'] * 2).split()) in (2, 3)
    text = ''.join(capsys.readouterr())
    assert 'regular file' in text or 'no test file' in text


@pytest.mark.timeout(60)
@pytest.mark.parametrize('end', ['-wal', '-shm', '.lock'])
def test_no_reader_waits_for_a_fifo_beside_a_journal(end: str, folder: Path) -> None:
    (folder / f'robot.journal{end}').unlink(missing_ok=True)
    os.mkfifo(folder / f'robot.journal{end}')
    assert main(['journal', 'verify', 'robot.journal']) in (0, 2)


@pytest.mark.timeout(60)
def test_traces_that_are_a_fifo_are_refused(folder: Path, capsys: Capture) -> None:
    os.mkfifo(folder / 'robot.traces')
    assert main(['journal', 'export', 'robot.journal', '--traces']) == 2
    assert f'{NO_FILE}a FIFO' in capsys.readouterr().err


@pytest.mark.parametrize('words', [words for words in VERBS if not words.startswith('run')])
def test_a_name_that_is_not_utf_8_gives_a_sentence(
    words: str, folder: Path, capsys: Capture
) -> None:
    needs(words)
    name = os.fsdecode(b'\xff')
    assert main([word.format(*[name] * 2) for word in words.split()]) in (2, 3)
    assert ''.join(capsys.readouterr())


def test_files_with_such_names_are_read(folder: Path, capsys: Capture) -> None:
    pytest.importorskip('matplotlib')
    name = os.fsdecode(b'\xff')
    (folder / 'robot.journal').rename(folder / name)
    assert main(['journal', 'verify', name]) == 0
    assert main(['report', name, '--html', 'o.html']) == 0
    assert main(['history', name, '--journal', name]) == 2
    assert r"'\udcff': is not UTF-8" in capsys.readouterr().err


def test_what_is_no_regular_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo('pipe')
    Path('folder').mkdir()
    Path('link').symlink_to('pipe')
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind('socket')
        for name, kind in (('pipe', 'a FIFO'), ('folder', 'a folder'), ('link', 'a FIFO'),
                           ('socket', 'a socket'), ('/dev/zero', 'a device')):
            with pytest.raises(OSError, match=f'{NO_FILE}{kind}'):
                open_input(name)
    with pytest.raises(OSError, match='null'):
        open_input('a\0b')


def test_lines_of_a_text_end_as_in_python(tmp_path: Path) -> None:
    (tmp_path / 'a').write_bytes(b'a\r\nb\rc\n\xc3\xa4\r')
    assert read_text(tmp_path / 'a') == 'a\nb\nc\nä\n'
