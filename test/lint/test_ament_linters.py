# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The linters of ament, as `colcon test` of a ROS package runs them, over all that we wrote."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[2]
CODE = [name for name in ('action_lifecycle', 'action_lifecycle_msgs', 'bench', 'docs', 'launch',
                          'setup.py', 'test', 'tools') if (ROOT / name).exists()]


@pytest.mark.timeout(400)
@pytest.mark.parametrize('linter', [
    'flake8', pytest.param('pep257', marks=pytest.mark.long)])  # ruff has all of pep257's rules
def test_python_passes(linter: str) -> None:
    _run(linter, CODE)


@pytest.mark.skipif(shutil.which('xmllint') is None,
                    reason='no xmllint here: apt-get install libxml2-utils')
def test_xml_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('XML_CATALOG_FILES', str(ROOT / 'test/lint/catalog.xml'))
    _run('xmllint', ['package.xml', *(name for name in CODE if '.' not in name)])


def _run(linter: str, places: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', f'ament_{linter}.main', *places], cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=390)
    assert done.returncode == 0, '\n'.join(
        line for line in done.stdout.splitlines()
        if line and line[0] != '*' and not line.startswith('checking'))
