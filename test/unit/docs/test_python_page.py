# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The examples of docs/python.md run, and have the results that the page gives.

test/launch/test_python_page_run.py runs that of a client, with real nodes.
"""

from __future__ import annotations

import os
from pathlib import Path
import re
import subprocess
import sys
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.flow import load_flow
import pytest

from .pages import blocks, ROOT

PAGE = ROOT / 'docs' / 'python.md'
EXAMPLES = [block for block in blocks(PAGE) if block.language == 'python']


def test_the_flow_of_the_page_is_that_of_the_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'go_to.py').write_text(EXAMPLES[0].text, encoding='utf-8')
    done = subprocess.run(
        [sys.executable, 'go_to.py'], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join([str(ROOT), *sys.path])})
    (tmp_path / 'go_to.yaml').write_text(done.stdout, encoding='utf-8')
    monkeypatch.chdir(tmp_path)
    assert main(['validate', 'go_to.yaml']) == 0
    go = load_flow('go_to.yaml', x=2.0).actions['go']
    assert go.confirm[0].condition == 'dist(at[:2], [x, y]) < 0.25 and speed < 0.02'
    assert go.motion[0].goal['pose']['pose']['position'] == {'x': 2.0, 'y': -1.5}


def test_a_message_is_a_goal() -> None:
    pytest.importorskip('control_msgs')
    names: dict[str, Any] = {}
    exec(EXAMPLES[1].text, names)
    step, = names['flow'].load().actions['grip'].steps
    assert (step.type, step.goal) == (
        'control_msgs/action/GripperCommand', {'command': {'position': 0.01}})


def test_values_are_written_as_the_page_says() -> None:
    code, names, checked = EXAMPLES[2].text, {}, 0
    exec(code, names)
    for line in code.splitlines():
        if found := re.match(r'(\S.*\S) +# (.*)', line):
            assert eval(found[1], names) == eval(found[2]), line
            checked += 1
    assert checked == 4
