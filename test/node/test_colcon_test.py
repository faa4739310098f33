# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""`colcon test` runs the tests that are not long, and `colcon test-result` finds the results."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which('colcon'), reason='there is no colcon here'),
    pytest.mark.skipif(not (ROOT / 'build').is_dir(), reason='the workspace is not built'),
]


def colcon(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('PYTEST')}
    return subprocess.run(
        ['colcon', '--log-base', folder / 'log', *map(str, arguments), '--test-result-base',
         folder / 'results'], cwd=ROOT, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=110)


def results_of(folder: Path, chosen: str) -> tuple[int, str]:
    """Run the tests with these words in their names; returns their number, and the summary."""
    done = colcon(folder, 'test', '--packages-select', 'action_lifecycle',
                  '--return-code-on-test-failure', '--pytest-args', '-k', chosen)
    assert done.returncode == 0, done.stdout
    summary = colcon(folder, 'test-result', '--all')
    assert summary.returncode == 0, summary.stdout
    (file,) = (folder / 'results').glob('*/pytest.xml')
    return len(list(ElementTree.parse(file).iter('testcase'))), summary.stdout


def test_results_of_a_subset_are_found(tmp_path: Path) -> None:
    count, summary = results_of(tmp_path, 'test_each_argument_has_help')
    assert count > 30
    assert f'Summary: {count} tests, 0 errors, 0 failures, 0 skipped' in summary


def test_long_tests_are_left_out(tmp_path: Path) -> None:
    count, summary = results_of(tmp_path, 'test_long_tests_are_left_out')
    assert count == 0 and 'Summary: 0 tests, 0 errors, 0 failures, 0 skipped' in summary
