# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A share of the fuzzed inputs with a fixed seed, and what the supervisor notices."""

from __future__ import annotations

from importlib.util import find_spec
import json
import os
from pathlib import Path
import subprocess
import sys

from fuzz.case import MODULES, NEED_ROS
import pytest

ROOT = Path(__file__).resolve().parents[3]
COUNTS = {
    'goals': 500, 'messages': 500, 'schedules': 100, 'conditions': 300, 'requests': 200,
    'templates': 150, 'facts': 100, 'flows': 60, 'files': 60, 'edits': 30, 'journals': 30,
    'hostile': 200}
LEAST_ACCEPTED = 0.2
FIELDS = ('inputs', 'rate', 'accepted', 'foreign', 'hangs', 'growth', 'crashes')


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program that forks workers, in a process without threads of pytest."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / 'test'), os.environ.get('PYTHONPATH', '')])
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True,
                          env={**os.environ, 'PYTHONPATH': paths}, check=False)


@pytest.mark.parametrize('name', sorted(MODULES))
def test_inputs_of_each_class_are_accepted_or_refused(name: str, tmp_path: Path) -> None:
    if name in NEED_ROS and not find_spec('rclpy'):
        pytest.skip('no ROS')
    done = run(str(ROOT / 'tools' / 'fuzz'), '--class', name, '--count', str(COUNTS[name]),
               '--seed', '1', '--records', str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    cells = [cell.strip() for cell in done.stdout.splitlines()[2].strip('| ').split('|')][1:]
    row = dict(zip(FIELDS, cells))
    assert int(row['inputs'].replace(',', '')) == COUNTS[name]
    assert float(row['accepted'].rstrip(' %')) / 100 >= LEAST_ACCEPTED
    assert [row[field] for field in FIELDS[3:]] == ['0'] * 4


@pytest.mark.long  # its hangs take their time
def test_the_supervisor_counts_what_goes_wrong_and_goes_on(tmp_path: Path) -> None:
    done = run(str(Path(__file__).with_name('planted.py')), str(tmp_path))
    assert done.returncode == 0, done.stderr
    tally = json.loads(done.stdout)
    assert tally['inputs'] == 70
    assert (tally['foreign'], tally['hangs'], tally['crashes']) == (1, 2, 1)
    assert tally['grown'] == 2
    assert tally['growth_mb'] > 200
    assert sorted(tally['records'], key=lambda entry: entry[1]) == [
        ['foreign', 10], ['hang', 20], ['hang', 30], ['growth', 40], ['crash', 50],
        ['growth', 60]]
    assert 20 < tally['accepted'] < 60


def test_an_input_is_repeated_by_its_index() -> None:
    first, second = (run(str(ROOT / 'tools' / 'fuzz'), '--class', 'conditions', '--index', '77')
                     for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert first.stdout.splitlines()[-1].startswith(('accepted', 'refused'))
