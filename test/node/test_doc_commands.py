# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The commands that the pages show, run as they stand there against the cell and the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import signal
import subprocess
from typing import Any

import pytest
from unit.docs.pages import examples, TUTORIAL

from .shown import commands, pattern
from .system import System

ROOT = Path(__file__).parents[2]
CONSOLE = [example for example in examples('console') if example.page not in TUTORIAL]
NODE = '/action_lifecycle'
STREAMS = re.compile(r'action_lifecycle (watch|view)|ros2 topic (echo (?!.*--once)|hz)')


@pytest.fixture(scope='module')
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    folder = tmp_path_factory.mktemp('pages')
    for name in ('config', 'tools'):
        (folder / name).symlink_to(ROOT / name)
    flow = next(example.text for example in examples('yaml')
                if example.page.name == 'README.md')
    (folder / 'my_flow.yaml').write_text(flow, encoding='utf-8')
    system = System(folder)
    try:
        system.start_all(boxes=True)
        _run(system, 'ros2 daemon start')  # else the first questions come before discovery
        run = system.run(folder / 'my_flow.yaml')
        output, _ = run.communicate(timeout=90)
        assert run.returncode == 0, output + system.logs()
        # The daemon learns names of nodes and of topics at different times.
        system.until(lambda: f'{NODE}/state_changes' in _run(system, 'ros2 topic list')[0]
                     and NODE in _run(system, 'ros2 node list')[0].split(), 30, 'discovery')
        yield system
    finally:
        _run(system, 'ros2 daemon stop')
        system.close()


@pytest.mark.long
@pytest.mark.xdist_group('pages')  # one after the other: later ones show what earlier ones did
@pytest.mark.parametrize('example', CONSOLE, ids=str)
def test_commands_print_what_the_page_shows(system: System, example: Any) -> None:
    for command, expected in commands(example.text):
        output, code = _run(system, command)
        assert code == 0 or STREAMS.search(command), f'{command}\n{output}'
        assert pattern(expected).search(output), f'{command}\n{output}\nexpected:\n{expected}'


def _run(system: System, command: str) -> tuple[str, int]:
    binaries = f'{ROOT}/install/action_lifecycle/lib/action_lifecycle'
    process = subprocess.Popen(
        ['bash', '-c', f'PATH={binaries}:$PATH; exec {command}' if STREAMS.search(command)
         else f'PATH={binaries}:$PATH; {command}'],
        cwd=system.folder, env={**system.environment, 'COLUMNS': '140'}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=8.0 if STREAMS.search(command) else 90.0)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
    return output, process.returncode
