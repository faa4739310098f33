# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

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

from isolation import as_it_comes
import pytest

from .system import System

pytestmark = pytest.mark.long

DDS = Path(__file__).parents[2] / 'config' / 'dds'
DEFAULT = os.environ.get('DDS_LEASE') == 'default'
MIDDLEWARE = {  # the variable that names the file, the file, the lease (s) without and with it
    'rmw_fastrtps_cpp': ('FASTRTPS_DEFAULT_PROFILES_FILE', DDS / 'fastdds.xml', 20.0, 5.0),
    'rmw_cyclonedds_cpp': ('CYCLONEDDS_URI', f"file://{DDS / 'cyclonedds.xml'}", 10.0, 5.0)}
LATE = 8.0  # s more than the lease, for looks of the bridge and the load of the machine
UNANSWERED = 'GOAL_UNANSWERED'
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
    retry: {times: 3, delay: 1.0}  # the first request to a server just found may be lost
"""


class Robot(System):
    """A gripper and its joint in processes of their own, and the nodes."""

    def part(self, role: str) -> None:
        with open(self.folder / f'{role}.log', 'ab') as log:
            self.processes[role] = subprocess.Popen(
                [sys.executable, '-m', 'node.gripper_process', role],
                cwd=Path(__file__).parents[1], env=self.environment, stdout=log,
                stderr=subprocess.STDOUT)

    def log(self, role: str) -> str:
        return (self.folder / f'{role}.log').read_text()

    def begin(self, middleware: str) -> subprocess.Popen[str]:
        """Start everything and the flow; returns the command that runs it, once it moves."""
        variable, file, _, _ = MIDDLEWARE[middleware]
        self.environment = {
            **as_it_comes(self.environment), 'RMW_IMPLEMENTATION': middleware}
        if not DEFAULT:
            self.environment[variable] = str(file)
        (self.folder / 'facts.yaml').write_text(FACTS)
        (self.folder / 'flow.yaml').write_text(FLOW)
        self.part('joints')
        self.part('unwilling')
        self.start('world_model_bridge', facts_file=self.folder / 'facts.yaml',
                   use_sim_time=False)
        self.start('action_lifecycle_node', use_sim_time=False)
        run = self.run(self.folder / 'flow.yaml')
        self.until(lambda: 'moving' in self.log('unwilling'), 30.0, 'it moves')
        return run

    def missed(self, middleware: str) -> None:
        """Wait until the motion has failed, as long as that may take."""
        _, _, usual, short = MIDDLEWARE[middleware]
        begin = time.monotonic()

        def failed() -> list[str]:
            return [code for code in self.failures() if code != UNANSWERED]
        self.until(failed, (usual if DEFAULT else short) + LATE, 'the controller is missed')
        assert failed() == ['SERVER_VANISHED']
        print(f'{middleware}: missed after {time.monotonic() - begin:.1f} s')

    def failures(self) -> list[str]:
        return [row.data['error_code'] for row in self.rows(action_id='grip')
                if row.event == 'fail']

    def moved_once(self) -> None:
        """Check that the new one got the goal once, or again when its answer was lost."""
        assert 1 <= self.log('willing').count('moving') <= 1 + self.failures().count(UNANSWERED)


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Robot]:
    robot = Robot(tmp_path)
    yield robot
    robot.close()


@pytest.mark.parametrize('middleware', MIDDLEWARE)
def test_a_killed_controller_fails_the_motion_after_its_lease_and_a_new_one_gets_it_again(
    robot: Robot, middleware: str
) -> None:
    run = robot.begin(middleware)
    robot.kill('unwilling')
    robot.missed(middleware)
    robot.part('willing')
    output, _ = run.communicate(timeout=60.0)
    assert run.returncode == 0, output + robot.logs()
    assert robot.until_state('grip', 'terminated').data['outcome'] == 'succeeded'
    robot.moved_once()


def test_a_controller_started_anew_before_its_lease_is_over_is_another(robot: Robot) -> None:
    """The new one knows nothing of the motion, and would never end it."""
    run = robot.begin('rmw_fastrtps_cpp')
    robot.kill('unwilling')
    robot.part('willing')
    robot.missed('rmw_fastrtps_cpp')
    output, _ = run.communicate(timeout=60.0)
    assert run.returncode == 0, output + robot.logs()
    robot.moved_once()
