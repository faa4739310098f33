# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The commands of docs/testing.md that need ROS, with the files of the page."""

from __future__ import annotations

import os
import re
import signal
import subprocess

import pytest
from unit.docs.pages import blocks, ROOT

from .system import System

PAGE = ROOT / 'docs' / 'testing.md'


@pytest.mark.long
def test_a_newcomer_runs_the_flow_with_the_launch_file(system: System) -> None:
    pytest.importorskip('nav2_msgs')
    for block in blocks(PAGE):
        name = re.match(r'# (\S+\.yaml)\n', block.text)
        if name:
            (system.folder / name[1]).write_text(block.text, encoding='utf-8')
    (shown,) = (block.text for block in blocks(PAGE) if 'scripted_robot' in block.text
                and block.language == 'bash')
    robot, launch, run = shown.strip().splitlines()
    launch = launch.replace('ros2 launch', f'{ROOT}/tools/launch')  # not in the private Jazzy
    assert 'tools/launch' in launch
    running = []
    try:
        for command in (robot, f'{launch} journal_path:={system.journal_path}'):
            with open(system.folder / f'{len(running)}.log', 'wb') as log:
                running.append(subprocess.Popen(
                    ['bash', '-c', f'exec {command}'], cwd=system.folder,
                    env=system.environment, stdout=log, stderr=subprocess.STDOUT,
                    start_new_session=True))
        flow = subprocess.run(
            ['bash', '-c', f'{run} --plain --wait 30'], cwd=system.folder, timeout=60,
            env=system.environment, capture_output=True, text=True)
        assert flow.returncode == 0 and 'verified 1 of 1' in flow.stdout, \
            flow.stdout + flow.stderr + system.logs()
    finally:
        for process in reversed(running):
            os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does; `ros2 run` only waits
            process.wait(20.0)
