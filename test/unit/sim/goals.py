# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals for the two controllers of the cell."""

from __future__ import annotations

from collections.abc import Mapping

from action_lifecycle.sim.messages import (
    Duration,
    FollowJointTrajectoryGoal,
    GripperCommand,
    GripperCommandGoal,
    JointTrajectory,
    JointTrajectoryPoint,
)


def trajectory_goal(*points: tuple[float, Mapping[str, float]]) -> FollowJointTrajectoryGoal:
    """Return a goal through `points`: (seconds from start, joint name to position), in order."""
    names = list(points[0][1])
    return FollowJointTrajectoryGoal(JointTrajectory(joint_names=names, points=[
        JointTrajectoryPoint(
            positions=[positions[name] for name in names],
            time_from_start=Duration(*divmod(round(seconds * 1e9), 1_000_000_000)))
        for seconds, positions in points]))


def gripper_goal(position: float, max_effort: float) -> GripperCommandGoal:
    """Return a goal for the gripper: gap in metres, force in newtons."""
    return GripperCommandGoal(GripperCommand(position, max_effort))
