# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The files of docs/testing.md run as they stand there, by the verb and by pytest."""

from __future__ import annotations

import os
from pathlib import Path
import re
import subprocess
import sys
from xml.etree import ElementTree

from action_lifecycle.cli import main
import pytest

from ..docs.pages import blocks, ROOT

PAGE = ROOT / 'docs' / 'testing.md'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for block in blocks(PAGE):
        name = re.match(r'# (\S+\.yaml)\n', block.text)
        if name:
            (tmp_path / name[1]).write_text(block.text, encoding='utf-8')
        elif block.language == 'python':
            (tmp_path / 'test_drive.py').write_text(block.text, encoding='utf-8')
    return tmp_path


def test_the_verb_runs_the_cases(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['test', str(folder)]) == 0
    output = capsys.readouterr().out
    assert output.count('  ok  ') == 4 and output.endswith('4 passed, 0 failed\n')


def test_a_part_of_the_name_chooses_cases(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['test', str(folder), '-k', 'Half a metre']) == 0
    assert '1 passed, 0 failed' in capsys.readouterr().out
    assert main(['test', str(folder), '-k', 'no such']) == 3


def test_a_failed_case_tells_what_happened(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = folder / 'go_to.cases.yaml'
    cases.write_text(cases.read_text().replace('{to: [4, -1.5, 0]}', '{to: [3, -1.5, 0]}'))
    assert main(['test', str(cases), '-k', 'arrives']) == 1
    output = capsys.readouterr().out
    line = cases.read_text().splitlines().index('  it arrives:') + 1
    assert f'{cases}:{line}: flow: expected succeeded, got open' not in output
    assert f'{cases}:{line}: the flow has not ended after 3600 s' in output
    assert 'in_progress → executing_motion → sensor_confirm → error' in output
    assert 'REFUTED: confirm: dist(at[:2], [x, y]) < 0.25' in output
    assert 'asked: …. Drive on?' in output


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with the plugin, as it is loaded where the package is installed."""
    return subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'action_lifecycle.pytest_plugin', '-p',
         'no:cacheprovider', *arguments], cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1'})


def test_pytest_collects_the_cases_and_the_fixture(folder: Path) -> None:
    cases = folder / 'go_to.cases.yaml'
    cases.write_text(cases.read_text().replace('REFUTED', 'ESTOP'))
    done = run_pytest(folder, '--junitxml', 'results.xml', '.')
    assert '1 failed, 4 passed' in done.stdout, done.stdout + done.stderr
    assert "action 'go': expected error ESTOP, got REFUTED" in done.stdout
    assert 'Traceback' not in done.stdout
    (failure,) = ElementTree.parse(folder / 'results.xml').iter('failure')
    assert 'expected error ESTOP' in (failure.text or '')


def test_pytest_tells_of_a_file_that_is_not_valid(folder: Path) -> None:
    cases = folder / 'go_to.cases.yaml'
    cases.write_text(cases.read_text().replace('speed: 0.0', 'sped: 0.0'))
    done = run_pytest(folder, cases.name)
    assert done.returncode == 2
    assert re.search(r"go_to.cases.yaml:5:\d+: there is no fact 'sped'; did you mean 'speed'\?",
                     done.stdout)
    assert 'Traceback' not in done.stdout
