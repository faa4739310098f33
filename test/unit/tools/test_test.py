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


class Checkout:
    """A checkout with two tests."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(TOOLS, root / 'tools', ignore=shutil.ignore_patterns('__pycache__'))
        (root / 'test_both.py').write_text(
            'def test_good():\n    pass\n\n\ndef test_bad():\n    assert 0\n')

    def test(self, which: str, **environment: str) -> tuple[int, str]:
        """Return the exit code and the last line."""
        done = subprocess.run(
            [sys.executable, self.root / 'tools/test', f'test_both.py::test_{which}'],
            env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr.splitlines()[-1]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_it_names_what_was_left_out_and_the_command_that_installs_it(checkout: Checkout) -> None:
    assert checkout.test('good', REDIS_SERVER='nowhere/redis-server') == (0, LEFT_OUT)
    code, last = checkout.test('good', REDIS_SERVER=sys.executable)
    assert code == 0 and 'LEFT OUT' not in last


def test_it_names_the_checks_that_were_left_out(checkout: Checkout) -> None:
    assert checkout.test('good', REDIS_SERVER=sys.executable, PATH=str(checkout.root)) == (
        0, '== LEFT OUT: the check of style, for want of ruff: '
           'pip install -r tools/requirements-dev.txt')


def test_it_fails_if_a_test_fails(checkout: Checkout) -> None:
    assert checkout.test('bad') == (1, '== FAILED: tests')
