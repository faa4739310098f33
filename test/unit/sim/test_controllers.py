# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arm and gripper controllers: what they refuse, how they stop, what they report."""

from __future__ import annotations

import math

from action_lifecycle.sim.messages import (
    Duration,
    FollowJointTrajectoryResult,
    JointTolerance,
    Time,
)
from action_lifecycle.sim.motion import ABORTED, ACTIVE, CANCELED, GoalRejected, SUCCEEDED
import numpy as np
import pytest

from .goals import gripper_goal, trajectory_goal

Codes = FollowJointTrajectoryResult


def _refusal(rig, goal):
    before = rig.cell.motions_started
    with pytest.raises(GoalRejected) as refused:
        rig.cell.move(goal)
    rig.step(0.1)
    assert rig.cell.motions_started == before
    return refused.value.code, str(refused.value)


def test_unknown_joint_is_refused_with_the_nearest_name(rig):
    code, text = _refusal(rig, trajectory_goal((1.0, {'z_jont': 0.2})))
    assert code == Codes.INVALID_JOINTS
    assert "did you mean 'z_joint'" in text


def test_joint_named_twice_or_none_is_refused(rig):
    goal = trajectory_goal((1.0, {'x_joint': 0.1}))
    goal.trajectory.joint_names = ['x_joint', 'x_joint']
    assert _refusal(rig, goal)[0] == Codes.INVALID_JOINTS
    goal.trajectory.joint_names = []
    assert _refusal(rig, goal)[0] == Codes.INVALID_JOINTS


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_number_that_is_not_finite_is_refused(rig, value):
    code, text = _refusal(rig, trajectory_goal((1.0, {'x_joint': 0.1, 'y_joint': value})))
    assert code == Codes.INVALID_GOAL
    assert 'points[0].positions of y_joint' in text


def test_position_outside_the_range_is_refused(rig):
    code, text = _refusal(rig, trajectory_goal((3.0, {'x_joint': 0.36})))
    assert code == Codes.INVALID_GOAL
    assert 'x_joint would go to 0.36; expected -0.35 to 0.35' in text


def test_speed_above_the_limit_is_refused(rig):
    code, text = _refusal(rig, trajectory_goal((0.2, {'x_joint': 0.3})))
    assert code == Codes.INVALID_GOAL
    assert 'x_joint would move at' in text


def test_wrong_number_of_positions_or_no_points_is_refused(rig):
    goal = trajectory_goal((1.0, {'x_joint': 0.1, 'y_joint': 0.1}))
    goal.trajectory.points[0].positions = [0.1]
    assert _refusal(rig, goal)[0] == Codes.INVALID_GOAL
    goal.trajectory.points = []
    assert _refusal(rig, goal)[0] == Codes.INVALID_GOAL


@pytest.mark.parametrize('times', [(1.0, 1.0), (2.0, 1.0), (0.0, 1.0), (-1.0, 1.0)])
def test_times_that_do_not_rise_are_refused(rig, times):
    goal = trajectory_goal(*((time, {'x_joint': 0.1}) for time in times))
    assert _refusal(rig, goal)[0] == Codes.INVALID_GOAL


def test_stamp_in_the_past_is_refused(rig):
    rig.step(1.0)
    goal = trajectory_goal((1.0, {'x_joint': 0.1}))
    goal.trajectory.header.stamp = Time(0, 500_000_000)
    assert _refusal(rig, goal)[0] == Codes.OLD_HEADER_TIMESTAMP


def test_stamp_in_the_future_waits_and_counts_as_started_then(rig):
    goal = trajectory_goal((0.5, {'x_joint': 0.1}))
    goal.trajectory.header.stamp = Time(0, 400_000_000)
    motion = rig.cell.move(goal)
    rig.step(0.38)
    assert rig.cell.motions_started['arm_controller'] == 0
    assert rig.samples['joint_states'][-1].position[0] == pytest.approx(0.0, abs=1e-4)
    assert rig.finish(motion).status == SUCCEEDED
    assert rig.cell.motions_started['arm_controller'] == 1
    assert rig.cell.time == pytest.approx(0.9, abs=0.1)


def test_waypoints_are_passed_on_time_and_other_joints_stay(rig):
    motion = rig.cell.move(
        trajectory_goal((0.6, {'x_joint': 0.1}), (1.2, {'x_joint': 0.1}), (2.0, {'x_joint': -0.1}))
    )
    rig.step(0.6)
    assert rig.samples['joint_states'][-1].position[0] == pytest.approx(0.1, abs=1e-3)
    rig.finish(motion)
    assert rig.cell.time == pytest.approx(2.0, abs=0.05)
    np.testing.assert_allclose(
        rig.samples['joint_states'][-1].position[:4], [-0.1, 0.0, 0.25, 0.0], atol=1e-3
    )


def test_cancel_decelerates_and_reports_only_at_standstill(rig):
    motion = rig.cell.move(trajectory_goal((1.0, {'x_joint': 0.3})))
    rig.step(0.5)
    fast = rig.samples['joint_states'][-1].velocity[0]
    assert fast > 0.5
    motion.cancel()
    rig.step(0.016)
    assert motion.status == ACTIVE
    since = len(rig.samples['joint_states'])
    assert rig.finish(motion).status == CANCELED
    speeds = [state.velocity[0] for state in rig.samples['joint_states'][since:]]
    assert abs(speeds[-1]) < 0.01
    assert np.abs(np.diff(speeds)).max() < 0.008 * 12.0  # gently: below 12 m/s^2
    where = rig.samples['joint_states'][-1].position[0]
    rig.step(0.5)
    assert rig.samples['joint_states'][-1].position[0] == pytest.approx(where, abs=1e-3)


def test_new_goal_preempts_in_motion_without_a_jump(rig):
    first = rig.cell.move(trajectory_goal((1.0, {'x_joint': 0.3})))
    rig.step(0.5)
    second = rig.cell.move(trajectory_goal((1.0, {'x_joint': 0.0})))
    assert first.status == ABORTED
    assert first.result.error_code == Codes.INVALID_GOAL
    assert rig.finish(second).status == SUCCEEDED
    speeds = [state.velocity[0] for state in rig.samples['joint_states']]
    assert np.abs(np.diff(speeds)).max() < 0.1
    assert rig.cell.motions_started['arm_controller'] == 2


def test_driving_into_the_tray_violates_the_path_tolerance_and_holds(rig):
    rig.go(0.8, x=-0.2, y=-0.085)
    motion = rig.finish(rig.cell.move(trajectory_goal((0.8, {'z_joint': 0.03}))))
    assert motion.status == ABORTED
    assert motion.result.error_code == Codes.PATH_TOLERANCE_VIOLATED
    assert 'z_joint' in motion.result.error_string
    rig.step(0.5)
    assert abs(rig.samples['joint_states'][-1].effort[2]) < 60.0


def test_goal_tolerance_that_cannot_be_met_is_violated_after_its_time(rig):
    rig.pick('part_b', 30.0)
    goal = trajectory_goal((0.5, {'z_joint': 0.22}))
    goal.goal_tolerance = [JointTolerance('z_joint', 5e-5)]  # the load bends the drive by more
    goal.goal_time_tolerance = Duration(0, 300_000_000)
    started = rig.cell.time
    motion = rig.finish(rig.cell.move(goal))
    assert motion.status == ABORTED
    assert motion.result.error_code == Codes.GOAL_TOLERANCE_VIOLATED
    assert rig.cell.time - started == pytest.approx(0.86, abs=0.05)


def test_tolerance_of_an_unknown_joint_is_refused(rig):
    goal = trajectory_goal((0.5, {'x_joint': 0.1}))
    goal.path_tolerance = [JointTolerance('w_joint', 0.1)]
    assert _refusal(rig, goal)[0] == Codes.INVALID_JOINTS


def test_estop_stops_and_refuses_until_released(rig):
    motion = rig.cell.move(trajectory_goal((1.0, {'x_joint': 0.3})))
    rig.step(0.5)
    rig.cell.estop = True
    rig.step(0.2)
    assert motion.status == ABORTED
    assert motion.result.error_code == Codes.PATH_TOLERANCE_VIOLATED
    assert 'e-stop' in motion.result.error_string
    assert abs(rig.samples['joint_states'][-1].velocity[0]) < 0.01
    assert 'e-stop' in _refusal(rig, trajectory_goal((1.0, {'x_joint': 0.0})))[1]
    with pytest.raises(GoalRejected):
        rig.cell.grip(gripper_goal(0.0, 10.0))
    rig.cell.estop = False
    rig.go(1.0, x=0.0)


def test_gripper_reaches_its_goal_on_nothing(rig):
    result = rig.grip(0.0, 10.0)
    assert result.reached_goal
    assert not result.stalled
    assert result.position == pytest.approx(0.0, abs=1e-3)
    assert rig.cell.time == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ('position', 'effort'), [(-0.01, 5.0), (0.09, 5.0), (0.0, -1.0), (0.0, 61.0), (math.nan, 5.0)]
)
def test_gripper_command_outside_its_limits_is_refused(rig, position, effort):
    with pytest.raises(GoalRejected, match='expected 0 to'):
        rig.cell.grip(gripper_goal(position, effort))
    assert rig.cell.motions_started['gripper_controller'] == 0


def test_gripper_cancel_holds_the_gap(rig):
    motion = rig.cell.grip(gripper_goal(0.0, 10.0))
    rig.step(0.5)
    motion.cancel()
    assert rig.finish(motion).status == CANCELED
    gap = rig.gap()
    assert 0.03 < gap < 0.05
    rig.step(1.0)
    assert rig.gap() == pytest.approx(gap, abs=1e-3)


def test_new_gripper_goal_preempts_the_old_one(rig):
    first = rig.cell.grip(gripper_goal(0.0, 10.0))
    rig.step(0.3)
    second = rig.cell.grip(gripper_goal(0.08, 10.0))
    assert first.status == ABORTED
    assert rig.finish(second).result.reached_goal
