# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The files of config/stacks: their cases pass, and their goals fit the message types."""

from __future__ import annotations

from math import cos, sin
from pathlib import Path
import re
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.flow import load_flow
from action_lifecycle.testing import Behaviour, Cases, RobotScript, ScriptedRobot
from action_lifecycle.testing.case_report import failure_text
from action_lifecycle.testing.cases import merged
import pytest

ROOT = Path(__file__).parents[3]
STACKS = ROOT / 'config' / 'stacks'
FILES = sorted(STACKS.rglob('*.cases.yaml'))
ALL = [(path, name) for path in FILES for name in Cases(path).names]
PAGE = (ROOT / 'docs' / 'stacks.md').read_text(encoding='utf-8')


@pytest.mark.parametrize(('path', 'name'), ALL, ids=[
    f'{path.parent.name}/{path.name.partition(".")[0]}: {name}' for path, name in ALL])
def test_each_case_ends_as_it_says(path: Path, name: str) -> None:
    result = Cases(path).run(name)
    assert not result.faults, failure_text(path, result)


OPEN, LOW = {'gap': 0.08, 'finger_speed': 0.0}, 0.001
JOINTS = 'follow_joint_trajectory'
HELD = {'gap': 0.03, 'effort': -9.5}
ENDS = [  # stack/flow, server, parameters, facts when it says success, whether they are the goal
    ('nav2/go_to', 'navigate_to_pose', {}, {'at': [4.0, -1.251, 0]}, True),
    ('nav2/go_to', 'navigate_to_pose', {}, {'at': [4.0, -1.249, 0]}, False),
    ('nav2/go_to', 'navigate_to_pose', {'near': 0.05}, {'at': [4.049, -1.5, 0]}, True),
    ('nav2/go_to', 'navigate_to_pose', {'near': 0.05}, {'at': [4.051, -1.5, 0]}, False),
    ('nav2/go_to', 'navigate_to_pose', {'yaw': 1.0},
     {'at': [4, -1.5, 0], 'heading': [0, 0, sin(0.624), cos(0.624)]}, True),
    ('nav2/go_to', 'navigate_to_pose', {'yaw': 1.0},
     {'at': [4, -1.5, 0], 'heading': [0, 0, sin(0.626), cos(0.626)]}, False),
    ('nav2/go_to', 'navigate_to_pose', {}, {'at': [4, -1.5, 0], 'speed': 0.02}, False),
    ('nav2/go_to', 'navigate_to_pose', {}, {'at': [4, -1.5, 0], 'turning': 0.03}, False),
    ('nav2/dock', 'dock_robot', {}, {'battery_status': 1}, True),
    ('nav2/dock', 'dock_robot', {}, {'battery_status': 3}, False),
    ('nav2/dock', 'dock_robot', {}, {'battery_status': 1, 'speed': 0.02}, False),
    ('turtlebot4/go_to', 'navigate_to_pose', {'x': 3, 'y': 0}, {'at': [3.249, 0, 0]}, True),
    ('turtlebot4/go_to', 'navigate_to_pose', {'x': 3, 'y': 0}, {'at': [3.251, 0, 0]}, False),
    ('turtlebot4/go_to', 'navigate_to_pose', {'x': 3, 'y': 0},
     {'at': [3.0, 0, 0], 'speed': 0.02}, False),
    ('turtlebot4/dock', 'dock', {}, {'docked': True, 'current': 0.06}, True),
    ('turtlebot4/dock', 'dock', {}, {'docked': True, 'current': 0.04}, False),
    ('turtlebot4/dock', 'dock', {}, {'docked': False, 'current': 0.9}, False),
    ('turtlebot4/undock', 'undock', {}, {'docked': False, 'current': -0.5}, True),
    ('turtlebot4/undock', 'undock', {}, {'docked': True, 'current': -0.5}, False),
    ('turtlebot4/undock', 'undock', {}, {'docked': False, 'current': 0.1}, False),
    ('moveit/move_to_joints', 'move_action', {}, {'q1': 0.0049}, True),
    ('moveit/move_to_joints', 'move_action', {}, {'q1': 0.0051}, False),
    ('moveit/move_to_joints', 'move_action', {}, {'q1': 0, 'q6': -0.0051}, False),
    ('moveit/move_to_joints', 'move_action', {'tolerance': LOW}, {'q1': 0.0011}, False),
    ('moveit/move_to_joints', 'move_action', {}, {'q1': 0, 'joint_speed': 0.02}, False),
    ('ur/move', f'scaled_joint_trajectory_controller/{JOINTS}', {}, {'q1': 0.009}, True),
    ('ur/move', f'scaled_joint_trajectory_controller/{JOINTS}', {}, {'q1': 0.011}, False),
    ('ur/move', f'scaled_joint_trajectory_controller/{JOINTS}', {}, {'q1': 0, 'q6': .011}, False),
    ('ur/vacuum', 'io_and_status_controller/set_io', {}, {'gripped': True}, True),
    ('ur/vacuum', 'io_and_status_controller/set_io', {}, {'gripped': False}, False),
    ('franka/move_joints', f'fr3_arm_controller/{JOINTS}', {}, {'q1': 0.019}, True),
    ('franka/move_joints', f'fr3_arm_controller/{JOINTS}', {}, {'q1': 0.021}, False),
    ('franka/move_joints', f'fr3_arm_controller/{JOINTS}', {}, {'q1': 0, 'q7': 0.81}, False),
    ('franka/grasp', 'franka_gripper/grasp', {}, {'width': 0.0349}, True),
    ('franka/grasp', 'franka_gripper/grasp', {}, {'width': 0.0351}, False),
    ('franka/grasp', 'franka_gripper/grasp', {}, {'width': 0.0249}, False),
    ('franka/grasp', 'franka_gripper/grasp', {'tolerance': LOW}, {'width': 0.0311}, False),
    ('franka/home', 'franka_gripper/move', {}, {'width': 0.0785}, True),
    ('franka/home', 'franka_gripper/move', {}, {'width': 0.0775}, False),
    ('ros2_control/move_joints', f'joint_trajectory_controller/{JOINTS}', {},
     {'q1': 0.009, 'q2': -1.57, 'q3': 1.57}, True),
    ('ros2_control/move_joints', f'joint_trajectory_controller/{JOINTS}', {},
     {'q1': 0, 'q2': -1.57, 'q3': 1.581}, False),
    ('ros2_control/grip', 'gripper_controller/gripper_cmd', {}, [OPEN, HELD], True),
    ('ros2_control/grip', 'gripper_controller/gripper_cmd', {},
     [{**OPEN, 'gap': 0.0749}, HELD], False),
    ('ros2_control/grip', 'gripper_controller/gripper_cmd', {},
     [{**OPEN, 'gap': 0.0851}, HELD], False),
    ('ros2_control/grip', 'gripper_controller/gripper_cmd', {},
     [{**OPEN, 'finger_speed': 0.01}, HELD], False),
    ('ros2_control/grip', 'gripper_controller/gripper_cmd', {},
     [OPEN, {**HELD, 'gap': 0.0049}], False),
    ('ros2_control/grip', 'gripper_controller/gripper_cmd', {},
     [OPEN, {**HELD, 'effort': -4.9}], False),
]


@pytest.mark.parametrize(('flow', 'server', 'parameters', 'after', 'is_goal'), ENDS)
def test_success_that_is_not_what_the_goal_asks_is_refuted(
    flow: str, server: str, parameters: dict[str, Any], after: Any, is_goal: bool
) -> None:
    cases = Cases(STACKS / f'{flow}.cases.yaml')
    moves = [Behaviour(takes=1.0, after=one) for one in (
        after if isinstance(after, list) else [after])]
    script = merged(cases.spec.robot, RobotScript(
        servers={server: moves if len(moves) > 1 else moves[0]}))
    report = ScriptedRobot(cases.facts, script).run(load_flow(
        cases.flow_path, **{**cases.spec.parameters, **parameters}))
    assert (report.outcome == 'succeeded') is is_goal, report.actions


def test_each_flow_has_an_end_that_is_its_goal_and_one_that_is_not() -> None:
    names = {f'{path.parent.name}/{path.name.partition(".")[0]}' for path in FILES}
    assert {(flow, is_goal) for flow, _, _, _, is_goal in ENDS} == {
        (name, is_goal) for name in names for is_goal in (True, False)}


def test_each_flow_has_cases_and_each_stack_its_page() -> None:
    flows = {path for path in STACKS.rglob('*.yaml')
             if path.name != 'facts.yaml' and not path.name.endswith('.cases.yaml')}
    assert {Cases(path).flow_path for path in FILES} == flows
    assert set(re.findall(r'config/stacks/(\w+)/README.md', PAGE)) == {
        path.parent.name for path in flows}


@pytest.mark.parametrize('stack', ['nav2', 'ros2_control'])
def test_goals_and_facts_fit_the_message_types(
    stack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip('nav2_msgs')
    files = list((STACKS / stack).glob('*.yaml'))
    assert main(['validate', '--facts', str(STACKS / stack / 'facts.yaml'),
                 *map(str, files)]) == 0, capsys.readouterr().err
