# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The client of docs/python.md runs its flow with real nodes, on a scripted base with Nav2."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('nav2_msgs')

from action_lifecycle.flow import load_flow  # noqa: E402, I100
from action_lifecycle.testing import Behaviour, Ramp, RobotScript, ScriptedNode  # noqa: E402
from node.launched import Launch  # noqa: E402, I100
from node.system import System  # noqa: E402
from unit.docs.pages import blocks, ROOT  # noqa: E402

FACTS = ROOT / 'config' / 'stacks' / 'nav2' / 'facts.yaml'
STILL = {'at': [0.0, 0.0, 0.0], 'heading': [0.0, 0.0, 0.0, 1.0], 'speed': 0.0, 'turning': 0.0,
         'variance': 0.01, 'battery': 0.8, 'battery_status': 2}


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    system = System(tmp_path)
    system.launches = []  # type: ignore[attr-defined]
    yield system
    system.close()


@pytest.mark.long
def test_the_client_of_the_page_runs_its_flow(system: System, tmp_path: Path) -> None:
    go_to, _, _, client = (block.text for block in blocks(ROOT / 'docs' / 'python.md')
                           if block.language == 'python')
    (tmp_path / 'go_to.py').write_text(go_to, encoding='utf-8')
    (tmp_path / 'client.py').write_text(client + '\n\nmain()\n', encoding='utf-8')
    environment = {**system.environment,
                   'PYTHONPATH': os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    written = subprocess.run([sys.executable, 'go_to.py'], cwd=tmp_path, env=environment,
                             capture_output=True, text=True, check=True)
    (tmp_path / 'go_to.yaml').write_text(written.stdout, encoding='utf-8')
    robot = ScriptedNode(load_flow(tmp_path / 'go_to.yaml'), FACTS, RobotScript(
        facts=STILL, servers={'navigate_to_pose': Behaviour(takes=2.0, during={
            'at': Ramp(to=[2.0, 0.5, 0.0]), 'speed': 0.4})}), context=system.context)
    system.executor.add_node(robot)
    launch = Launch(system, 'bringup.launch.py', {  # type: ignore[arg-type]
        'facts_file': FACTS, 'journal_path': system.journal_path})
    try:
        with (tmp_path / 'client.out').open('w') as out:
            run = subprocess.Popen([sys.executable, 'client.py'], cwd=tmp_path, env=environment,
                                   stdout=out, stderr=out)
        system.until(lambda: run.poll() is not None, 90.0, 'the client ends')
    finally:
        launch.end()
        system.executor.remove_node(robot)
        robot.destroy_node()
    assert (tmp_path / 'client.out').read_text() == "{'go': 'succeeded'} FINISH\n", system.logs()
    assert robot.goals[0].goal['pose']['pose']['position'] == {'x': 2.0, 'y': 0.5, 'z': 0.0}
