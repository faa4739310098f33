# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Verbs write where a person says, but never onto an input, through a link or in part."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path

from action_lifecycle.cli.main import main
from action_lifecycle.cli.output_file import HTML, OutputFile
from action_lifecycle.documents.errors import LifecycleError
import pytest

from ..report.test_report_files import PICK, write

VERBS = {
    'view': (['view', 'J'], '--html'),
    'report': (['report', 'J'], '--html'),
    'export': (['journal', 'export', 'J'], '--output'),
    'fit': (['fit', 'J', '--flow', 'flow.yaml', '--facts', 'facts.yaml', '--labels', 'l.csv'],
            '--diff'),
    'run': (['run', 'flow.yaml'], '--json'),
}
KEPT = 'kept as it is'


def linked(folder: Path) -> Path:
    (folder / 'link').symlink_to('robot.journal')
    return folder / 'link'


def linked_elsewhere(folder: Path) -> Path:
    (folder / 'link').symlink_to('not_there.html')
    return folder / 'link'


def hard_linked(folder: Path) -> Path:
    os.link(folder / 'robot.journal', folder / 'other_name')
    return folder / 'other_name'


def boxed(folder: Path) -> Path:
    (folder / 'robot.boxes').mkdir()
    return folder / 'robot.boxes/box.mcap'


def piped(folder: Path) -> Path:
    os.mkfifo(folder / 'pipe')
    return folder / 'pipe'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / 'robot.journal', PICK)
    (tmp_path / 'flow.yaml').write_text(KEPT)
    return tmp_path


def command(verb: str, target: Path) -> list[str]:
    words, option = VERBS[verb]
    return [*(word.replace('J', 'robot.journal') for word in words), option, str(target)]


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob('*')
            if path.is_file() and path.suffix != '.lock'}


@pytest.mark.parametrize('target, why', [
    (lambda folder: folder / 'robot.journal', "is the input 'robot.journal', or belongs to it"),
    (lambda folder: folder / 'robot.journal-wal', 'belongs to it'),
    (lambda folder: folder / 'robot.traces', 'belongs to it'),
    (boxed, 'belongs to it'),
    (linked, 'belongs to it'),
    (hard_linked, 'belongs to it'),
    (linked_elsewhere, "is a symbolic link, to 'not_there.html'"),
    (lambda folder: folder, 'is no regular file'),
    (piped, 'is no regular file'),
    (lambda folder: Path('/dev/null'), 'is no regular file'),
], ids=lambda case: '' if isinstance(case, str) else getattr(case, '__name__', ''))
@pytest.mark.parametrize('force', [[], ['--force']], ids=['', 'force'])
@pytest.mark.parametrize('verb', ['view', 'report', 'export', 'fit'])
def test_no_verb_writes_onto_an_input_or_what_is_no_file(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str, force: list[str],
    target: Callable[[Path], Path], why: str,
) -> None:
    path = target(folder)
    before = content(folder)
    assert main([*command(verb, path), *force]) == 2
    assert why in capsys.readouterr().err.replace('\n', ' ')
    assert content(folder) == before


@pytest.mark.parametrize('verb', ['fit', 'run'])
def test_a_flow_is_an_input(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    if verb == 'run':
        pytest.importorskip('rclpy')
    assert main([*command(verb, folder / 'flow.yaml'), '--force']) == 2
    assert 'is the input' in capsys.readouterr().err
    assert (folder / 'flow.yaml').read_text() == KEPT


@pytest.mark.parametrize('verb', ['view', 'export'])
def test_a_file_of_another_kind_is_replaced_by_force_only(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    target = folder / 'notes'
    target.write_text(KEPT)
    assert main(command(verb, target)) == 2
    assert 'is there, with other content; give another name, or --force' in capsys.readouterr().err
    assert target.read_text() == KEPT
    assert main([*command(verb, target), '--force']) == 0
    first = target.read_text()
    assert KEPT not in first
    assert main(command(verb, target)) == 0  # of the same kind now
    assert target.read_text() == first


def test_what_stood_there_stays_if_the_new_content_is_not_whole(tmp_path: Path) -> None:
    target = tmp_path / 'page.html'
    target.write_text('<!DOCTYPE html> old')
    file = OutputFile('--html', str(target), HTML)
    with pytest.raises(ZeroDivisionError), file.open() as stream:
        stream.write('<!DOCTYPE html> new')
        raise ZeroDivisionError
    assert target.read_text() == '<!DOCTYPE html> old'
    assert [each.name for each in tmp_path.iterdir()] == ['page.html']


def test_a_name_that_became_a_link_meanwhile_is_refused(tmp_path: Path) -> None:
    file = OutputFile('--html', str(tmp_path / 'page.html'), HTML)
    (tmp_path / 'page.html').symlink_to('elsewhere')
    with pytest.raises(LifecycleError, match='is a symbolic link'):
        file.write('<!DOCTYPE html>')
    assert not (tmp_path / 'elsewhere').exists()
