# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows on the simulated cell, over real DDS, with processes that really die."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import signal
import time

import pytest

from .forked import Forked
from .system import System

ARM = """\
      server: arm_controller/follow_joint_trajectory
      type: control_msgs/action/FollowJointTrajectory
      goal:
        trajectory:
          joint_names: [x_joint]
          points: [{positions: [X], time_from_start: {sec: SECONDS}}]
"""
MOVE = """\
flow: move
defaults: {resources: [arm], stopped: {condition: speed < 0.01, hold: 0.1}}
actions:
  move:
    motion:
""" + ARM + """\
    confirm: {condition: 'abs(tool[0] - X) < 0.01', hold: 0.2, within: WITHIN}
"""


def flow_file(folder: Path, text: str = MOVE, x: float = 0.3, seconds: int = 1,
              within: float = 20.0) -> Path:
    path = folder / 'flow.yaml'
    for key, value in (('X', x), ('SECONDS', seconds), ('WITHIN', within)):
        text = text.replace(key, str(value))
    path.write_text(text)
    return path


def finish(run: Forked, timeout: float = 60.0) -> tuple[int, str]:
    output, _ = run.communicate(timeout=timeout)
    return run.returncode, output


def test_a_flow_begins_when_the_time_is_known(system: System, tmp_path: Path) -> None:
    system.start('world_model_bridge')
    system.start('action_lifecycle_node', bridge_timeout=3.0)
    code, output = finish(system.run(flow_file(tmp_path)))
    assert code != 0 and 'use_sim_time is set, but no time came on /clock' in output, output
    assert not system.rows(kind='flow')
    system.kill('action_lifecycle_node')
    system.start('action_lifecycle_node', bridge_timeout=30.0)
    # The first request to a server just found may be lost, so it is tried again.
    again = MOVE + '    idempotent: true\n    retry: {times: 3, delay: 0}\n'
    run = system.run(flow_file(tmp_path, again), '--verbose')
    assert run.stdout is not None
    told = next(line for line in run.stdout if '/clock' in line)
    assert 'waiting for up to 30 s for the time on /clock' in told
    system.start('sim_cell')
    code, output = finish(run)
    assert code == 0, output + system.logs()
    assert 'move             step 1 of 1, executing' in output, output
    assert re.search(r'^move {13}#\d succeeded after ', output, re.MULTILINE), output
    assert {row.data['error_code'] for row in system.rows(action_id='move')
            if row.event == 'fail'} <= {'GOAL_UNANSWERED'}
    assert all(row.ros_time > 0.0 for row in system.rows(action_id='move'))


def test_an_outcome_that_is_there_after_a_crash_of_all_needs_no_second_motion(
    system: System, tmp_path: Path
) -> None:
    system.start_all()
    run = system.run(flow_file(tmp_path, seconds=4))
    system.until_state('move', 'executing_motion')
    system.until(lambda: system.motions.get('arm_controller'), 10, 'the arm moves')
    system.kill('action_lifecycle_node')
    system.kill('world_model_bridge')
    run.kill()
    run.wait()
    system.until(lambda: 'speed' and _at_rest(system), 15, 'the arm has arrived')
    system.start('world_model_bridge')
    system.start('action_lifecycle_node')
    system.until_state('move', 'terminated')
    assert system.rows(action_id='move')[-1].data['outcome'] == 'succeeded'
    assert system.motions['arm_controller'] == 1


def _at_rest(system: System) -> bool:
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState
    if not hasattr(system, 'joints'):
        system.joints = []
        system.node.create_subscription(
            JointState, 'joint_states', system.joints.append, qos_profile_sensor_data)
    return bool(system.joints) and abs(system.joints[-1].position[0] - 0.3) < 0.001


def test_interrupted_in_motion_the_node_stops_it_and_leaves_the_action_as_it_is(
    system: System, tmp_path: Path
) -> None:
    system.start_all()
    run = system.run(flow_file(tmp_path, seconds=20, within=2.0))
    system.until_state('move', 'executing_motion')
    system.until(lambda: system.motions.get('arm_controller'), 10, 'the arm moves')
    seconds = system.stop('action_lifecycle_node', signal.SIGINT, 20.0)
    assert seconds < 15.0, system.logs()
    assert finish(run)[0] != 0
    rows = system.rows(action_id='move')
    assert rows[-1].to_state == 'executing_motion', [row.event for row in rows]
    listed = system.shell('list', '--journal', str(system.journal_path))
    assert 'executing_motion' in listed.stdout
    # The motion was stopped short of its goal, so the next start asks a person.
    system.start('action_lifecycle_node')
    system.until_state('move', 'fallback_requested')
    assert system.motions['arm_controller'] == 1


def test_ctrl_c_on_all_nodes_at_once_leaves_the_action_as_it_is(
    system: System, tmp_path: Path
) -> None:
    system.start_all()
    run = system.run(flow_file(tmp_path, seconds=20))
    system.until_state('move', 'executing_motion')
    system.until(lambda: system.motions.get('arm_controller'), 10, 'the arm moves')
    nodes = [system.processes.pop(name)
             for name in ('world_model_bridge', 'ledger', 'action_lifecycle_node')]
    started = time.monotonic()
    for node in nodes:
        node.send_signal(signal.SIGINT)
    assert [node.wait(20.0) for node in nodes] == [0, 0, 0], system.logs()
    assert time.monotonic() - started < 15.0
    finish(run)
    assert system.rows()[-1].to_state in ('executing_motion', 'sensor_confirm'), system.logs()
    assert not [row for row in system.rows() if row.kind == 'lock']


def test_ctrl_c_on_run_cancels_and_waits_until_it_stands(
    system: System, tmp_path: Path
) -> None:
    system.start_all()
    run = system.run(flow_file(tmp_path, seconds=20))
    system.until_state('move', 'executing_motion')
    system.until(lambda: system.motions.get('arm_controller'), 10, 'the arm moves')
    run.send_signal(signal.SIGINT)
    code, output = finish(run, 30.0)
    assert code == 1, output
    row = system.rows(action_id='move')[-1]
    assert row.to_state == 'terminated' and row.data['outcome'] == 'canceled'
    events = [row.data.get('error_code') for row in system.rows(action_id='move')]
    assert 'CANCELED' in events


@pytest.mark.parametrize(('old', 'new', 'expected'), [
    ('arm_controller/follow_joint', 'arm_controler/follow_joint',
     "did you mean '/arm_controller/follow_joint_trajectory'"),
    ('action/FollowJointTrajectory', 'action/FolowJointTrajectory', 'FollowJointTrajectory'),
    ('joint_names:', 'joint_name:', "did you mean 'joint_names'"),
    ('positions: [X]', 'positions: [fast]', 'goal.trajectory.points.0.positions.0'),
    ('abs(tool[0]', 'abs(tol[0]', "did you mean 'tool'"),
])
def test_what_is_not_there_is_refused_before_anything_moves(
    shared: System, tmp_path: Path, old: str, new: str, expected: str
) -> None:
    text = MOVE.replace(old, new)
    assert text != MOVE
    text = text.replace('      server:', '      server_timeout: 1.0\n      server:')
    path = flow_file(tmp_path, text)
    before = len(shared.rows())
    code, output = finish(shared.run(path))
    assert code == 2, output + shared.logs()
    plain = ' '.join(output.split())
    assert expected in plain and 'flow.yaml:' in output.replace('\n', '')
    assert len(shared.rows()) == before
    assert not shared.motions.get('arm_controller')


@pytest.fixture(scope='module')
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    system = System(tmp_path_factory.mktemp('shared'))
    system.start_all()
    system.until(lambda: system.node.count_publishers('action_lifecycle/flow'), 30, 'the nodes')
    yield system
    system.close()
