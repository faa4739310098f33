# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Programs that are forked end, print and read as those that are started anew."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest

from .forked import Forked

SCRIPT = """
import atexit, os, sys
atexit.register(print, 'ended')
print(os.environ['GREETING'], sys.argv[1:], sys.stdin.readline().strip(), flush=True)
if sys.argv[1:] == ['fails']:
    raise RuntimeError('so it is')
sys.exit(int(sys.argv[1]))
"""


def start(folder: Path, *arguments: str) -> Forked:
    script = folder / 'script.py'
    script.write_text(SCRIPT)
    return Forked([sys.executable, str(script), *arguments], {**os.environ, 'GREETING': 'hello'},
                  subprocess.PIPE, stdin=subprocess.PIPE)


@pytest.mark.parametrize(('argument', 'code', 'last'), [
    ('0', 0, 'ended'), ('3', 3, 'ended'), ('fails', 1, 'RuntimeError: so it is')])
def test_it_gets_what_it_is_given_and_ends_with_its_code(
    tmp_path: Path, argument: str, code: int, last: str
) -> None:
    process = start(tmp_path, argument)
    assert process.poll() is None and process.stdin is not None
    process.stdin.write('and you\n')
    process.stdin.flush()
    output, _ = process.communicate(timeout=60)
    lines = output.splitlines()
    assert lines[0] == f"hello ['{argument}'] and you" and last in lines
    assert process.poll() == process.returncode == process.wait(1.0) == code


def test_what_the_nodes_import_is_there_before_it_begins(tmp_path: Path) -> None:
    script = tmp_path / 'script.py'
    script.write_text("import sys; print('action_lifecycle.nodes.composed' in sys.modules)")
    output, _ = Forked([sys.executable, str(script)], dict(os.environ),
                       subprocess.PIPE).communicate(timeout=60)
    assert output == 'True\n'


def test_a_signal_ends_it_and_a_wait_has_a_limit(tmp_path: Path) -> None:
    process = start(tmp_path, '0')
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)
    process.kill()
    assert process.wait(60.0) == -signal.SIGKILL
