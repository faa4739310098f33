# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A node killed at any moment of a flow on the cell: nothing is executed twice without being asked.

KILL_ROUNDS rounds; none by default, for test_kill_matrix.py kills in each phase.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import random
import time

import pytest

from .system import System

NODES = ('world_model_bridge', 'action_lifecycle_node', 'ledger')
FLOW = """\
flow: there_and_back
defaults: {resources: [arm], stopped: {condition: speed < 0.01, hold: 0.1}}
actions:
  there: &move
    parameters: {x: 0.25}
    motion: &steps
      - server: arm_controller/follow_joint_trajectory
        type: control_msgs/action/FollowJointTrajectory
        goal:
          trajectory:
            joint_names: [x_joint]
            points: [{positions: ['{{ x }}'], time_from_start: {sec: 2}}]
      - server: gripper_controller/gripper_cmd
        type: control_msgs/action/GripperCommand
        goal: {command: {position: 0.04, max_effort: 20.0}}
    confirm: {condition: 'abs(tool[0] - x) < 0.01 and abs(gap - 0.04) < 0.005', hold: 0.2,
              within: 2.0}
  back: {<<: *move, parameters: {x: -0.25}, after: there}
"""


@pytest.fixture(params=[False, True], ids=['apart', 'composed'])
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[System]:
    system = System(tmp_path, composed=request.param)
    yield system
    system.close()


@pytest.mark.parametrize('number', range(int(os.environ.get('KILL_ROUNDS', '0'))))
def test_a_node_killed_at_any_moment_repeats_no_motion(
    system: System, tmp_path: Path, number: int,
) -> None:
    rng = random.Random(number)
    path = tmp_path / 'flow.yaml'
    path.write_text(FLOW)
    system.start_all()
    run = system.run(path)
    system.until(lambda: system.rows(kind='transition'), 40.0, 'the flow begins')
    moment = time.monotonic() + rng.uniform(0.0, 7.0)
    victim = rng.choice(NODES)
    system.until(lambda: time.monotonic() >= moment, 20.0, 'the moment')
    system.kill(victim)
    system.start(victim)

    def over() -> bool:
        """Whether each action has ended, or asks a person (back then waits for there)."""
        last = {row.action_id: row.to_state for row in system.rows(kind='transition')}
        return (last.get('back') == 'terminated' or last.get('there') == 'fallback_requested'
                or last.get('back') == 'fallback_requested')

    system.until(over, 60.0, f'all is over after {victim} was killed')
    run.kill()
    run.wait()
    rows = system.rows(kind='transition')
    sent = sum(row.to_state == 'executing_motion' for row in rows)
    assert sent == len({row.data['goal_id'] for row in rows
                        if row.to_state == 'executing_motion'})
    for controller, count in system.motions.items():
        assert count <= sent, (victim, controller, [row.event for row in rows])
    succeeded = {row.action_id for row in rows
                 if row.to_state == 'terminated' and row.data.get('outcome') == 'succeeded'}
    for name in succeeded:
        evidence = [row for row in rows if row.action_id == name and row.data.get('evidence')]
        assert evidence, f'{name} succeeded without evidence'
