# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""tools/pythons finds each Python that is there, and names those that are not."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import sys

from private_jazzy import ROOT
import pytest
from python_search import find_python

THIS = '{}.{}'.format(*sys.version_info)


def find(version: str, **environment: str) -> str:
    return find_python(version, environment['PATH'], environment)


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n{text}\n')
    path.chmod(0o755)
    return path


def test_one_on_the_path_comes_first(tmp_path: Path) -> None:
    link = script(tmp_path / f'bin/python{THIS}', f'exec {sys.executable} "$@"')
    script(tmp_path / f'.pyenv/versions/{THIS}.9/bin/python', f'exec {sys.executable} "$@"')
    assert find(THIS, PATH=str(link.parent), HOME=str(tmp_path)) == str(link)


def test_after_one_that_does_not_run_or_is_another_pyenv_is_asked(tmp_path: Path) -> None:
    script(tmp_path / f'bin/python{THIS}', 'exit 127')  # as the shims of pyenv end
    other = script(
        tmp_path / f'.pyenv/versions/{THIS}.1/bin/python', f'exec {sys.executable} "$@"')
    assert find(THIS, PATH=str(tmp_path / 'bin'), HOME=str(tmp_path)) == str(other)
    script(tmp_path / 'bin/python3.3', f'exec {sys.executable} "$@"')
    assert find('3.3', PATH=str(tmp_path / 'bin'), HOME=str(tmp_path)) == ''


def test_at_last_uv_is_asked(tmp_path: Path) -> None:
    script(tmp_path / 'bin/uv', f'test "$2 $3" = "find {THIS}" && echo {sys.executable}')
    assert find(THIS, PATH=str(tmp_path / 'bin'), HOME=str(tmp_path)) == sys.executable


def test_those_that_are_not_there_are_named(tmp_path: Path) -> None:
    shutil.copytree(ROOT / 'tools', tmp_path / 'tools',
                    ignore=shutil.ignore_patterns('__pycache__'))
    environment = {name: value for name, value in os.environ.items() if name != 'PYENV_ROOT'}
    done = subprocess.run(
        [sys.executable, tmp_path / 'tools/pythons', '--but=3.12'], text=True,
        capture_output=True, timeout=60,
        env={**environment, 'PATH': str(tmp_path), 'HOME': str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f'== LEFT OUT: Python {version}: there is none on PATH or under pyenv, and uv has none'
        for version in ('3.10', '3.11', '3.13')]


@pytest.mark.parametrize('option', ['-h', '--help'])
def test_it_says_how_to_call_it(option: str) -> None:
    done = subprocess.run([sys.executable, ROOT / 'tools/pythons', option], text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0 and 'usage: tools/pythons [--but=3.X]' in done.stdout
