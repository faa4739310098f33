# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""tools/test ends by saying what failed or was left out."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

TOOLS = Path(__file__).parents[3] / 'tools'
LEFT_OUT = '== LEFT OUT: the tests with Redis, for want of a redis-server: ' \
           'apt-get install redis-server'
KEPT = '== temporary files are kept: '


class Checkout:
    """A checkout with two tests."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(TOOLS, root / 'tools', ignore=shutil.ignore_patterns('__pycache__'))
        (root / 'test_both.py').write_text(
            'import tempfile\n\n\ndef test_good():\n    with open("where", "w") as where:\n'
            '        where.write(tempfile.gettempdir())\n\n\n'
            'def test_bad(tmp_path):\n    assert 0\n')

    def run(self, which: str, **environment: str) -> tuple[int, list[str]]:
        """Return the exit code and what is printed to stderr."""
        known = {name: value for name, value in os.environ.items() if name != 'TMPDIR'}
        done = subprocess.run(
            [sys.executable, self.root / 'tools/test', f'test_both.py::test_{which}'],
            env={**known, **environment}, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr.splitlines()

    def test(self, which: str, **environment: str) -> tuple[int, str]:
        """Return the exit code and the last line."""
        code, lines = self.run(which, **environment)
        return code, lines[-1]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_it_names_what_was_left_out_and_the_command_that_installs_it(checkout: Checkout) -> None:
    code, lines = checkout.run('good', REDIS_SERVER='nowhere/redis-server')
    assert code == 0 and LEFT_OUT in lines
    code, lines = checkout.run('good', REDIS_SERVER=sys.executable)
    assert code == 0 and not any('Redis' in line for line in lines)


def test_it_names_the_checks_that_were_left_out(checkout: Checkout) -> None:
    assert checkout.test('good', REDIS_SERVER=sys.executable, PATH=str(checkout.root)) == (
        0, '== LEFT OUT: the check of style, for want of ruff: '
           'pip install -r tools/requirements-dev.txt')


def test_it_fails_if_a_test_fails(checkout: Checkout) -> None:
    assert checkout.test('bad') == (1, '== FAILED: tests')


def test_failures_of_several_runs_are_named_at_the_end(checkout: Checkout) -> None:
    folder = checkout.root / 'test'
    folder.mkdir()
    for name in ('conftest.py', 'isolation.py'):
        shutil.copy(TOOLS.parent / 'test' / name, folder)
    (checkout.root / 'test_both.py').rename(folder / 'test_both.py')
    for name in ('oldest', 'pythons', 'kilted'):  # without what they install
        (checkout.root / 'tools' / name).write_text(
            'import subprocess, sys\nsys.exit(subprocess.call('
            '[sys.executable, "-m", "pytest", "test/test_both.py::test_bad"]))\n')
    done = subprocess.run(
        [sys.executable, checkout.root / 'tools/test', '--long'],
        env={**os.environ, 'TMPDIR': str(checkout.root)}, capture_output=True, text=True,
        timeout=200)
    end = [line for line in done.stderr.splitlines() if line.startswith('== FAILED: ')]
    assert done.returncode == 1
    assert end[:3] == ['== FAILED: test/test_both.py::test_bad (call)'] * 3
    assert end[3].startswith('== FAILED: tests without nodes, with the oldest versions, ')


@pytest.mark.skipif(
    not os.access('/dev/shm', os.W_OK) or shutil.disk_usage('/dev/shm').free < 2 * 1024 ** 3,
    reason='there is no memory for temporary files')
def test_temporary_files_are_in_memory_and_kept_if_a_test_fails(
    checkout: Checkout, tmp_path: Path
) -> None:
    where = tmp_path / 'where'
    checkout.run('good')
    assert where.read_text().startswith('/dev/shm/') and not Path(where.read_text()).exists()
    code, lines = checkout.run('bad')
    (kept,) = (line.removeprefix(KEPT) for line in lines if line.startswith(KEPT))
    assert code == 1 and list(Path(kept).glob('**/test_bad0'))
    shutil.rmtree(kept)
    checkout.run('good', TMPDIR=str(tmp_path))
    assert where.read_text() == str(tmp_path)
