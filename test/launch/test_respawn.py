# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""`use_respawn`: a node that is killed comes back by itself, and its open action goes on."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import signal

from node.launched import Robot
import pytest

PARAMETERS = """\
/**:
  action_lifecycle:
    ros__parameters: {bridge_timeout: 60.0}
"""


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Robot]:
    robot = Robot(tmp_path)
    yield robot
    robot.close()


@pytest.mark.parametrize(('front_end', 'compose', 'victims'), [
    ('py', 'false', (('world_model_bridge', 'ledger'), ('action_lifecycle_node',))),
    pytest.param('xml', 'true', (('composed',),), marks=pytest.mark.long)])
def test_a_killed_process_is_back_active_and_goes_on_with_the_motion(
    robot: Robot, front_end: str, compose: str, victims: tuple[tuple[str, ...], ...]
) -> None:
    parameters = robot.folder / 'parameters.yaml'
    parameters.write_text(PARAMETERS)
    launch = robot.launch(f'bringup.launch.{front_end}', use_respawn='true', compose=compose,
                          params_file=parameters)
    robot.until_active()
    robot.begin()
    for together in victims:
        robot.until(lambda together=together: all(map(launch.pids, together)), 15.0,
                    'the launch has told of all')
        before = {name: launch.pids(name) for name in together}
        for pids in before.values():
            os.kill(pids[-1], signal.SIGKILL)
        robot.until(lambda before=before: all(
            len(launch.pids(name)) > len(pids) for name, pids in before.items()), 15.0,
            f'{together} are started again')
        robot.until_active()
    robot.finish()
    assert launch.end() == 128 + signal.SIGINT
    assert [len(launch.pids(name)) for together in victims for name in together] == [
        2 for together in victims for name in together]
