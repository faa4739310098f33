# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Style, types and import contracts (rules in pyproject.toml), and licences (REUSE.toml)."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess

import pytest

CHECKS = {
    'types': ['mypy'],
    'import contracts': ['lint-imports', '--no-logo'],
    'style': ['ruff', 'check', '.'],
    'licences': ['reuse', 'lint', '--lines'],
}


@pytest.mark.timeout(400)
@pytest.mark.parametrize('what', CHECKS)
def test_it_is_as_the_rules_say(what: str) -> None:
    program, *arguments = CHECKS[what]
    if not shutil.which(program):
        pytest.skip(f'no {program} here: pip install -r tools/requirements-dev.txt')
    done = subprocess.run(
        [program, *arguments], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=390)
    assert done.returncode == 0, done.stdout
