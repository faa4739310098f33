# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The two controllers of the cell, which behave like those of ros2_control: arm and gripper.

They use neither ROS nor the physics: each accepts goals (plain or ROS messages), is updated once
per control period with the encoder values, and sets set-points for the drives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math

import numpy as np

from .messages import (
    FollowJointTrajectoryGoal,
    FollowJointTrajectoryResult,
    GripperCommandGoal,
    GripperCommandResult,
    JointTolerance,
)
from .motion import ABORTED, ACTIVE, CANCELED, GoalRejected, Motion, SUCCEEDED
from .trajectory import Array, Trajectory
from ..documents.stamps import to_seconds
from ..documents.suggestions import nearest

ArmMotion = Motion[FollowJointTrajectoryResult]
GripperMotion = Motion[GripperCommandResult]

JOINTS = ('x_joint', 'y_joint', 'z_joint', 'yaw_joint')
HOME = (0.0, 0.0, 0.25, 0.0)
# (lowest, highest, greatest speed, deceleration for a stop): m, m, m/s, m/s^2; yaw in rad
LIMITS = np.array([
    [-0.35, 0.35, 1.0, 4.0],
    [-0.22, 0.22, 1.0, 4.0],
    [0.03, 0.30, 0.8, 4.0],
    [-1.8, 1.8, 3.0, 12.0],
])
PATH_TOLERANCE = np.array([0.02, 0.02, 0.02, 0.1])  # m, yaw in rad
GOAL_TOLERANCE = np.array([0.002, 0.002, 0.002, 0.01])  # m, yaw in rad
STANDSTILL = np.array([0.005, 0.005, 0.005, 0.02])  # m/s, yaw in rad/s
GOAL_TIME_TOLERANCE = 1.0  # s
SAMPLED_PERIODS = 25

MAX_GAP = 0.08  # m
MAX_EFFORT = 60.0  # N
GRIPPER_SPEED = 0.08  # m/s, of the gap
GAP_TOLERANCE = 0.001  # m
STALL_SPEED = 0.002  # m/s, of the gap
STALL_TIME = 0.3  # s

PREEMPTED = 'preempted by a new goal'
ESTOP = 'the e-stop is pressed: the drives hold'

Codes = FollowJointTrajectoryResult


class ArmController:
    """
    Joint trajectory controller: accepts FollowJointTrajectory goals, one at a time.

    A goal may name some of the joints; the others keep their set-points. It starts from the
    current set-point, also during a motion: a new goal preempts the old one, which is aborted. A
    cancel, a violated tolerance and the e-stop decelerate within LIMITS; the result comes at
    standstill.

    A trajectory with a stamp of zero starts at once, otherwise at its stamp. Position tolerances
    are as in ros2_control: zero is the default, negative is no tolerance. `motions_started` counts
    the goals whose motion has begun.
    """

    def __init__(self, period: float, steps: int) -> None:
        """Make set-points for each of `steps` physics steps in a control `period` (s)."""
        self.motions_started = 0
        self.estop = False
        self.desired = np.array([HOME, np.zeros(len(JOINTS)), np.zeros(len(JOINTS))])
        self.motion: ArmMotion | None = None
        self._moments: Array = np.arange(1.0, SAMPLED_PERIODS * steps + 1) * (period / steps)
        self._sampled: Iterator[Array] = iter(())
        self._trajectory: Trajectory | None = None
        self._start = 0.0
        self._waiting = False
        self._ending: tuple[str, int, str] | None = None
        self._path_tolerance = PATH_TOLERANCE
        self._goal_tolerance = GOAL_TOLERANCE
        self._goal_time_tolerance = GOAL_TIME_TOLERANCE

    def check(
        self, goal: FollowJointTrajectoryGoal, now: float
    ) -> tuple[Trajectory, float, Array, Array]:
        """
        Return the trajectory of `goal`, its start (s), and its path and goal tolerances.

        Raises GoalRejected if `goal` can't be accepted at time `now` (s).
        """
        if self.estop:
            raise GoalRejected(ESTOP)
        start = to_seconds(goal.trajectory.header.stamp) or now
        trajectory = self._plan(goal)
        if start < now:
            raise GoalRejected(
                f'trajectory.header.stamp is {now - start:.3f} s in the past',
                Codes.OLD_HEADER_TIMESTAMP,
            )
        if start > now and np.any(self.desired[1]):
            raise GoalRejected('a later start needs a standing arm')
        return (
            trajectory, start,
            _tolerance('path_tolerance', goal.path_tolerance, PATH_TOLERANCE),
            _tolerance('goal_tolerance', goal.goal_tolerance, GOAL_TOLERANCE),
        )

    def accept(self, goal: FollowJointTrajectoryGoal, now: float) -> ArmMotion:
        """Start `goal` at time `now` (s) and return its motion, or raise GoalRejected."""
        self._trajectory, self._start, self._path_tolerance, self._goal_tolerance = (
            self.check(goal, now))
        if self.motion and self.motion.status == ACTIVE:
            self.motion.finish(ABORTED, Codes(Codes.INVALID_GOAL, PREEMPTED))
        self.motion = ArmMotion()
        self._goal_time_tolerance = to_seconds(goal.goal_time_tolerance) or GOAL_TIME_TOLERANCE
        self._waiting, self._ending = True, None
        self._sampled = iter(())
        return self.motion

    def update(self, now: float, positions: Array, velocities: Array) -> Array:
        """
        Advance one control period and return its set-points, shape (3, steps, joints).

        They are positions, velocities and accelerations at the end of each physics step.
        `positions` and `velocities`: encoder values at `now` (s), shape (joints,).
        """
        motion = self.motion
        if motion and motion.status == ACTIVE:
            self._judge(motion, now, positions, velocities)
        setpoints = next(self._sampled, None)
        if setpoints is None:
            self._sampled = self._sample(now)
            setpoints = next(self._sampled)
        self.desired = setpoints[:, -1]
        return setpoints

    def _sample(self, now: float) -> Iterator[Array]:
        """Return the set-points of several periods at once, which is faster with numpy."""
        if self._trajectory is None:
            ahead = np.repeat(self.desired[:, None], len(self._moments), axis=1)
        else:
            ahead = self._trajectory.sample(now - self._start + self._moments)
        return iter(np.split(ahead, SAMPLED_PERIODS, axis=1))

    def _judge(self, motion: ArmMotion, now: float, positions: Array, velocities: Array) -> None:
        """Decide whether the active motion begins, continues, must stop or has ended."""
        assert self._trajectory is not None
        elapsed = now - self._start
        if self._waiting and elapsed >= 0.0:
            self._waiting = False
            self.motions_started += 1
        error = np.abs(positions - self.desired[0])
        late = elapsed - self._trajectory.duration
        standing = late >= 0.0 and bool(np.all(np.abs(velocities) < STANDSTILL))
        stopping = self._ending is not None
        if self._ending:
            if standing:
                status, code, reason = self._ending
                motion.finish(status, Codes(code, reason))
        elif self.estop:
            self._ending = ABORTED, Codes.PATH_TOLERANCE_VIOLATED, ESTOP
        elif motion.cancel_requested:
            self._ending = CANCELED, Codes.SUCCESSFUL, 'canceled'
        elif late < 0.0:
            if np.any(error > self._path_tolerance):
                reason = _off(error, self._path_tolerance)
                self._ending = ABORTED, Codes.PATH_TOLERANCE_VIOLATED, reason
        elif standing and np.all(error < self._goal_tolerance):
            motion.finish(SUCCEEDED, Codes(Codes.SUCCESSFUL, ''))
        elif late > self._goal_time_tolerance:
            reason = _off(error, self._goal_tolerance)
            self._ending = ABORTED, Codes.GOAL_TOLERANCE_VIOLATED, reason
        if self._ending and not stopping:
            self._stop(now, positions, velocities)

    def _stop(self, now: float, positions: Array, velocities: Array) -> None:
        """Decelerate all joints to standstill, from their actual positions and velocities."""
        span = max(0.05, float(np.max(np.abs(velocities) / LIMITS[:, 3])))
        target = np.clip(positions + velocities * span / 2, LIMITS[:, 0], LIMITS[:, 1])
        still = np.zeros((1, len(JOINTS)))
        self.desired = np.stack((positions, velocities, still[0]))
        self._trajectory = Trajectory(self.desired, np.array([span]), target[None], still, still)
        self._start, self._waiting = now, False
        self._sampled = iter(())

    def _plan(self, goal: FollowJointTrajectoryGoal) -> Trajectory:
        """Return the checked trajectory from the current set-point through the goal's points."""
        names, points = list(goal.trajectory.joint_names), goal.trajectory.points
        columns = _columns(names)
        if not points:
            raise GoalRejected('trajectory.points is empty')
        times = np.array([to_seconds(point.time_from_start) for point in points])
        if times[0] <= 0.0 or np.any(np.diff(times) <= 0.0):
            raise GoalRejected('time_from_start must be above zero and rise from point to point')
        tables: list[Array | None] = []
        for row, what in enumerate(('positions', 'velocities', 'accelerations')):
            values = [getattr(point, what) for point in points]
            if row and not any(len(value) for value in values):
                tables.append(None)
                continue
            table = np.repeat(self.desired[:1] * (row == 0), len(points), axis=0)
            table[:, columns] = [_row(value, names, what, k) for k, value in enumerate(values)]
            tables.append(table)
        positions, velocities, accelerations = tables
        assert positions is not None
        trajectory = Trajectory(self.desired, times, positions, velocities, accelerations)
        _check_limits(trajectory)
        return trajectory


class GripperController:
    """
    Gripper action controller with stalling allowed: closing on an object is a success.

    The position is the gap between the pads in m, 0 to 0.08; max_effort is the force of each pad
    in N, zero for the maximum. The gap's set-point moves at 0.08 m/s. The goal succeeds with
    reached_goal if the gap is within 1 mm of it, with stalled if the gap has not moved for 0.3 s;
    the force stays on afterwards. A cancel and the e-stop hold the gap at its set-point. A new
    goal preempts the old one, which is aborted.
    """

    def __init__(self) -> None:
        """Create the controller with an open gripper."""
        self.motions_started = 0
        self.estop = False
        self.setpoint = MAX_GAP
        self.max_effort = MAX_EFFORT
        self.motion: GripperMotion | None = None
        self._goal = MAX_GAP
        self._gap = MAX_GAP
        self._moved = 0.0

    def check(self, goal: GripperCommandGoal, now: float) -> None:
        """Raise GoalRejected if `goal` can't be accepted at time `now` (s)."""
        if self.estop:
            raise GoalRejected(ESTOP)
        command = goal.command
        for name, value, high in (
            ('position', command.position, MAX_GAP),
            ('max_effort', command.max_effort, MAX_EFFORT),
        ):
            if not 0.0 <= value <= high:
                raise GoalRejected(f'command.{name} is {value:g}; expected 0 to {high:g}')

    def accept(self, goal: GripperCommandGoal, now: float) -> GripperMotion:
        """Start `goal` at time `now` (s) and return its motion, or raise GoalRejected."""
        self.check(goal, now)
        if self.motion and self.motion.status == ACTIVE:
            self.motion.finish(ABORTED, GripperCommandResult(position=self._gap))
        self.motion = GripperMotion()
        self.motions_started += 1
        self._goal = goal.command.position
        # While squeezing, the set-point is inside the object: start at the gap instead.
        ahead = max if self._goal > self._gap else min
        self.setpoint = ahead(self.setpoint, self._gap)
        self.max_effort = goal.command.max_effort or MAX_EFFORT
        self._moved = now
        return self.motion

    def update(self, now: float, period: float, gap: float, speed: float, effort: float) -> None:
        """
        Advance one control period (s): moves `setpoint` (m) and updates the motion.

        `gap` (m), its `speed` (m/s) and the drive's `effort` (N) are the current encoder values.
        """
        motion = self.motion
        self._gap = gap
        if motion and motion.status == ACTIVE:
            if abs(speed) > STALL_SPEED:
                self._moved = now
            reached = abs(gap - self._goal) < GAP_TOLERANCE
            result = GripperCommandResult(gap, abs(effort), False, reached)
            if self.estop or motion.cancel_requested:
                self._goal = self.setpoint
                if abs(speed) < STALL_SPEED:
                    motion.finish(ABORTED if self.estop else CANCELED, result)
            elif reached and self.setpoint == self._goal:
                motion.finish(SUCCEEDED, result)
            elif now - self._moved >= STALL_TIME:
                result.stalled = True
                motion.finish(SUCCEEDED, result)
        step = GRIPPER_SPEED * period
        self.setpoint = min(self.setpoint + step, max(self.setpoint - step, self._goal))


def _columns(names: list[str]) -> list[int]:
    """Return the index of each named joint."""
    if not names:
        raise GoalRejected('trajectory.joint_names is empty', Codes.INVALID_JOINTS)
    for name in names:
        if name not in JOINTS:
            raise GoalRejected(
                f"no joint named '{name}'{nearest(name, JOINTS)}", Codes.INVALID_JOINTS
            )
        if names.count(name) > 1:
            raise GoalRejected(f"joint '{name}' is named twice", Codes.INVALID_JOINTS)
    return [JOINTS.index(name) for name in names]


def _row(values: Sequence[float], names: list[str], what: str, index: int) -> list[float]:
    """Return the numbers of one point; raises GoalRejected if the count or a number is wrong."""
    if len(values) != len(names):
        raise GoalRejected(
            f'points[{index}].{what} has {len(values)} numbers for {len(names)} joints')
    for name, value in zip(names, values, strict=True):
        if not math.isfinite(value):
            raise GoalRejected(f'points[{index}].{what} of {name} is not a finite number')
    return list(values)


def _check_limits(trajectory: Trajectory) -> None:
    """Raise GoalRejected if the trajectory leaves a joint's range or exceeds its speed."""
    positions, velocities, _ = trajectory.dense()
    for joint, (low, high, speed, _deceleration) in enumerate(LIMITS):
        for reached in (positions[:, joint].min(), positions[:, joint].max()):
            if not low - 1e-6 <= reached <= high + 1e-6:
                raise GoalRejected(
                    f'{JOINTS[joint]} would go to {reached:.4g}; expected {low:g} to {high:g}')
        fastest = np.abs(velocities[:, joint]).max()
        if fastest > speed + 1e-6:
            raise GoalRejected(
                f'{JOINTS[joint]} would move at {fastest:.3g} per second; its limit is {speed:g}')


def _tolerance(field: str, tolerances: Sequence[JointTolerance], default: Array) -> Array:
    """Return the position tolerances of all joints: `default` updated by those of the goal."""
    limits: Array = default.copy()
    for tolerance in tolerances:
        if tolerance.name not in JOINTS:
            raise GoalRejected(
                f"{field}: no joint named '{tolerance.name}'{nearest(tolerance.name, JOINTS)}",
                Codes.INVALID_JOINTS,
            )
        if tolerance.position:
            limit = tolerance.position if tolerance.position > 0.0 else math.inf
            limits[JOINTS.index(tolerance.name)] = limit
    return limits


def _off(error: Array, tolerance: Array) -> str:
    """Return a message on the joint that is furthest outside its tolerance."""
    joint = int(np.argmax(error / tolerance))
    return f'{JOINTS[joint]} is off by {error[joint]:.4f}, tolerance {tolerance[joint]:.4f}'
