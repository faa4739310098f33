# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Style, types and import contracts; the rules are in pyproject.toml."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess

import pytest

CHECKS = {
    'types': ['mypy'],
    'import contracts': ['lint-imports', '--no-logo'],
    'style': ['ruff', 'check', '.'],
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
