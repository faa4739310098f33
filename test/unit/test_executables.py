# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The executables end with their own exit code, whenever a signal comes."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys

from action_lifecycle import executables
import pytest

ROOT = str(Path(executables.__file__).parents[1])
KILL = 'import os; os.kill(os.getpid(), {})'


def ended(folder: Path, module: str) -> int:
    """Run a module that has a `main` as the executables are run; return the exit code."""
    (folder / 'module_of_test.py').write_text(module)
    return subprocess.run(
        [sys.executable, '-c', 'import sys; from action_lifecycle.executables import _executable\n'
         "sys.exit(_executable('module_of_test')())"], timeout=60,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join((ROOT, str(folder)))}).returncode


@pytest.mark.parametrize('number', executables.SIGNALS)
def test_a_signal_during_the_imports_ends_it_with_0(tmp_path: Path, number: int) -> None:
    assert ended(tmp_path, f'{KILL.format(int(number))}\ndef main(): return 3\n') == 0


@pytest.mark.parametrize('number', executables.SIGNALS)
def test_a_signal_after_its_work_does_not_change_the_exit_code(
    tmp_path: Path, number: int
) -> None:
    assert ended(tmp_path, 'import atexit, os\ndef main():\n'
                 f'    atexit.register(os.kill, os.getpid(), {int(number)})\n'
                 '    return 3\n') == 3
