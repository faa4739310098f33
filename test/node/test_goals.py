# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals of any action type from plain data: what does not fit is named by its field."""

from __future__ import annotations

from typing import Any

from action_lifecycle.ros.interfaces.message_fields import fill, limit_faults
from action_lifecycle.ros.interfaces.types import action_class
from action_lifecycle.work.goal_values import LATER, resolve
import numpy as np
import pytest

TRAJECTORY = 'control_msgs/action/FollowJointTrajectory'
NAVIGATE = 'nav2_msgs/action/NavigateToPose'
GRIPPER = 'control_msgs/action/GripperCommand'


def faults(type_name: str, data: Any) -> list[str]:
    return [str(fault) for fault in fill(action_class(type_name).Goal(), data)]


def point(**fields: Any) -> dict[str, Any]:
    return {'trajectory': {'joint_names': ['x'], 'points': [fields]}}


@pytest.mark.parametrize(('type_name', 'data', 'words'), [
    (TRAJECTORY, {'trajectory': {'joint_name': ['x']}},
     "goal.trajectory.joint_name: unknown field 'joint_name'; did you mean 'joint_names'?"),
    (TRAJECTORY, {'trajectory': {'joint_names': 'x'}},
     "goal.trajectory.joint_names: expected a list, got 'x'"),
    (TRAJECTORY, {'trajectory': {'joint_names': [1]}},
     'goal.trajectory.joint_names.0: expected a text, got 1'),
    (TRAJECTORY, point(positions=[0.1, 'far']),
     "goal.trajectory.points.0.positions.1: expected a number, got 'far'"),
    (TRAJECTORY, point(positions=[float('nan')]),
     'goal.trajectory.points.0.positions.0: nan is not finite'),
    (TRAJECTORY, point(positions=[True]),
     'goal.trajectory.points.0.positions.0: expected a number, got True'),
    (TRAJECTORY, point(time_from_start={'sec': 1.5}),
     'goal.trajectory.points.0.time_from_start.sec: expected a whole number (int32), got 1.5'),
    (TRAJECTORY, point(time_from_start={'sec': 2 ** 40}),
     'is out of the range of int32'),
    (TRAJECTORY, point(time_from_start={'nanosec': -1}), 'is out of the range of uint32'),
    (TRAJECTORY, point(time_from_start=float('inf')),
     'goal.trajectory.points.0.time_from_start: inf is not finite'),
    (TRAJECTORY, point(time_from_start=1e308),
     'goal.trajectory.points.0.time_from_start: 1e+308 s is beyond a Duration'),
    (TRAJECTORY, {'trajectory': {'joint_names': ['a\ud800']}},
     'goal.trajectory.joint_names.0: a lone surrogate is not valid text'),
    (TRAJECTORY, {'trajectory': [1, 2]}, 'goal.trajectory: expected a mapping of fields'),
    (TRAJECTORY, {'trajectory': None}, 'expected a mapping of fields, got nothing'),
    (TRAJECTORY, {1: 2}, "goal.1: unknown field '1'"),
    (NAVIGATE, {'pose': {'pose': {'position': [1, 2]}}},
     'goal.pose.pose.position: expected a mapping of fields, or 3 numbers, got 2'),
    (NAVIGATE, {'pose': {'pose': {'position': [1, 2, 'z']}}},
     "goal.pose.pose.position.z: expected a number, got 'z'"),
    (NAVIGATE, {'behavior_tree': 5}, 'goal.behavior_tree: expected a text, got 5'),
    (GRIPPER, {'command': {'position': [0.1]}}, 'goal.command.position: expected a number'),
])
def test_what_does_not_fit_is_named_by_its_field(
    type_name: str, data: Any, words: str,
) -> None:
    found = faults(type_name, data)
    assert len(found) == 1 and words in found[0], found


def test_a_list_of_the_wrong_length_is_named() -> None:
    from geometry_msgs.msg import PoseWithCovariance
    found = [str(fault) for fault in fill(PoseWithCovariance(), {'covariance': [0.0] * 35})]
    assert found == ['goal.covariance: expected 36 values, got 35']


def test_what_fits_is_filled_in() -> None:
    goal = action_class(NAVIGATE).Goal()
    assert not list(fill(goal, {'pose': {'header': {'frame_id': 'map'},
                                         'pose': {'position': [1, 2, 0.5],
                                                  'orientation': [0, 0, 0, 1]}}}))
    assert (goal.pose.pose.position.y, goal.pose.pose.orientation.w) == (2.0, 1.0)
    goal = action_class(TRAJECTORY).Goal()
    assert not list(fill(goal, point(positions=[1], time_from_start=1.25)))
    assert goal.trajectory.points[0].time_from_start.nanosec == 250_000_000


def test_facts_are_filled_in_where_they_stand_and_a_pose_at_once() -> None:
    values = {'place': np.array([1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0]), 'up': 0.5}
    data = resolve({'pose': {'pose': {'fact': 'place'}}}, lambda text, path: values[text])
    goal = action_class(NAVIGATE).Goal()
    assert not list(fill(goal, data)) and goal.pose.pose.position.x == 1.0
    later = resolve({'pose': {'pose': {'fact': 'place'}}}, lambda text, path: LATER)
    assert not list(fill(action_class(NAVIGATE).Goal(), later))
    paths: list[str] = []
    resolve(point(positions=[{'fact': 'up'}]), lambda text, path: paths.append(path))
    assert paths == ['goal.trajectory.points.0.positions.0']


def test_limits_reach_into_arrays_and_name_the_field() -> None:
    goal = action_class(TRAJECTORY).Goal()
    assert not list(fill(goal, {'trajectory': {'joint_names': ['x', 'y'], 'points': [
        {'positions': [0.1, 0.2]}, {'positions': [0.1, 9.0]}]}}))
    found = list(limit_faults(goal, {'trajectory.points[*].positions': (-1.0, 1.0)}))
    assert [str(fault) for fault in found] == [
        'goal.trajectory.points: 9 is out of its limits, -1 to 1']
    assert not list(limit_faults(goal, {'trajectory.points[*].velocities': (-1.0, 1.0)}))
