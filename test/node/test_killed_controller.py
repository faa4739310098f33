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

"""
The process of a controller killed in motion: noticed, and done again when it is back.

What misses it is the middleware, once the lease of the dead participant is over. DDS_LEASE=default
takes the middleware's own; without it, the files of config/dds shorten it.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import subprocess
import sys
import time

import pytest

from .system import System

DDS = Path(__file__).parents[2] / 'config' / 'dds'
DEFAULT = os.environ.get('DDS_LEASE') == 'default'
MIDDLEWARE = {  # the variable that names the file, the file, the lease (s) without and with it
    'rmw_fastrtps_cpp': ('FASTRTPS_DEFAULT_PROFILES_FILE', DDS / 'fastdds.xml', 20.0, 5.0),
    'rmw_cyclonedds_cpp': ('CYCLONEDDS_URI', f"file://{DDS / 'cyclonedds.xml'}", 10.0, 5.0)}
LATE = 3.0  # s more than the lease, for looks of the bridge and the load of the machine
FACTS = """\
estop: none
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[0]', max_age: 1.0}
  speed: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'velocity[0]',
          max_age: 1.0}
"""
FLOW = """\
flow: grip
actions:
  grip:
    idempotent: true
    motion:
      server: gripper
      type: control_msgs/action/GripperCommand
      server_timeout: 60.0
      goal: {command: {position: 0.0, max_effort: 5.0}}
    stopped: {condition: speed < 0.01}
    confirm: {condition: gap < 0.01, within: 5.0}
    retry: {times: 1, delay: 0.1}
"""


class Robot(System):
    """A gripper and its joint in processes of their own, and the nodes."""

    def part(self, role: str) -> None:
        with open(self.folder / f'{role}.log', 'ab') as log:
            self.processes[role] = subprocess.Popen(
                [sys.executable, '-m', 'node.gripper_process', role],
                cwd=Path(__file__).parents[1], env=self.environment, stdout=log,
                stderr=subprocess.STDOUT)


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Robot]:
    robot = Robot(tmp_path)
    yield robot
    robot.close()


@pytest.mark.parametrize('middleware', MIDDLEWARE)
def test_a_killed_controller_fails_the_motion_after_its_lease_and_a_new_one_gets_it_again(
    robot: Robot, tmp_path: Path, middleware: str
) -> None:
    variable, file, usual, short = MIDDLEWARE[middleware]
    robot.environment['RMW_IMPLEMENTATION'] = middleware
    if not DEFAULT:
        robot.environment[variable] = str(file)
    (tmp_path / 'facts.yaml').write_text(FACTS)
    (tmp_path / 'flow.yaml').write_text(FLOW)
    robot.part('joints')
    robot.part('unwilling')
    robot.start('world_model_bridge', facts_file=tmp_path / 'facts.yaml', use_sim_time=False)
    robot.start('action_lifecycle_node', use_sim_time=False)
    run = robot.run(tmp_path / 'flow.yaml')
    robot.until(lambda: 'moving' in (tmp_path / 'unwilling.log').read_text(), 30.0, 'it moves')
    robot.kill('unwilling')
    killed = time.monotonic()

    def failed() -> list[str]:
        return [row.data['error_code'] for row in robot.rows(action_id='grip')
                if row.event == 'fail']
    robot.until(failed, (usual if DEFAULT else short) + LATE, 'the bridge misses the controller')
    assert failed() == ['SERVER_VANISHED']
    print(f'{middleware}: missed after {time.monotonic() - killed:.1f} s')
    robot.part('willing')
    output, _ = run.communicate(timeout=60.0)
    assert run.returncode == 0, output + robot.logs()
    assert robot.until_state('grip', 'terminated').data['outcome'] == 'succeeded'
    assert (tmp_path / 'willing.log').read_text().count('moving') == 1
