# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Plain equivalents of the ROS messages of the cell, for use without ROS.

Each class has the name and the attributes of its ROS message (of std_msgs, geometry_msgs,
sensor_msgs, trajectory_msgs, control_msgs), so the same code can read both. Units and frames are
those of REP 103: metres, radians, newtons, seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(slots=True)
class Time:
    """A stamp in simulated time (builtin_interfaces/Time)."""

    sec: int = 0
    nanosec: int = 0


@dataclass(slots=True)
class Duration:
    """A span of time (builtin_interfaces/Duration)."""

    sec: int = 0
    nanosec: int = 0


@dataclass(slots=True)
class Header:
    """Time and frame of a measurement (std_msgs/Header)."""

    stamp: Time = field(default_factory=Time)
    frame_id: str = ''


@dataclass(slots=True)
class Vector3:
    """geometry_msgs/Vector3, and geometry_msgs/Point, which has the same attributes."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass(slots=True)
class Quaternion:
    """geometry_msgs/Quaternion."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    w: float = 1.0


@dataclass(slots=True)
class Pose:
    """geometry_msgs/Pose."""

    position: Vector3 = field(default_factory=Vector3)
    orientation: Quaternion = field(default_factory=Quaternion)


@dataclass(slots=True)
class PoseStamped:
    """geometry_msgs/PoseStamped."""

    header: Header = field(default_factory=Header)
    pose: Pose = field(default_factory=Pose)


@dataclass(slots=True)
class Wrench:
    """geometry_msgs/Wrench: newtons and newton metres."""

    force: Vector3 = field(default_factory=Vector3)
    torque: Vector3 = field(default_factory=Vector3)


@dataclass(slots=True)
class WrenchStamped:
    """geometry_msgs/WrenchStamped."""

    header: Header = field(default_factory=Header)
    wrench: Wrench = field(default_factory=Wrench)


@dataclass(slots=True)
class JointState:
    """sensor_msgs/JointState: lists of equal length, with one element for each joint."""

    header: Header = field(default_factory=Header)
    name: list[str] = field(default_factory=list)
    position: list[float] = field(default_factory=list)
    velocity: list[float] = field(default_factory=list)
    effort: list[float] = field(default_factory=list)


Message = JointState | PoseStamped | WrenchStamped


class Sample(NamedTuple):
    """A message of a topic, returned when the sensor delivers it."""

    topic: str
    message: Message


@dataclass(slots=True)
class JointTrajectoryPoint:
    """trajectory_msgs/JointTrajectoryPoint: empty velocities or accelerations are filled in."""

    positions: Sequence[float] = ()
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    time_from_start: Duration = field(default_factory=Duration)


@dataclass(slots=True)
class JointTrajectory:
    """trajectory_msgs/JointTrajectory; with a stamp of zero it starts at once."""

    header: Header = field(default_factory=Header)
    joint_names: Sequence[str] = ()
    points: Sequence[JointTrajectoryPoint] = ()


@dataclass(slots=True)
class JointTolerance:
    """control_msgs/JointTolerance: zero is the controller's default, negative is no limit."""

    name: str = ''
    position: float = 0.0


@dataclass(slots=True)
class FollowJointTrajectoryGoal:
    """The goal of control_msgs/FollowJointTrajectory."""

    trajectory: JointTrajectory = field(default_factory=JointTrajectory)
    path_tolerance: Sequence[JointTolerance] = ()
    goal_tolerance: Sequence[JointTolerance] = ()
    goal_time_tolerance: Duration = field(default_factory=Duration)


@dataclass(slots=True)
class FollowJointTrajectoryResult:
    """The result of control_msgs/FollowJointTrajectory."""

    error_code: int = 0
    error_string: str = ''

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


@dataclass(slots=True)
class GripperCommand:
    """control_msgs/GripperCommand: gap between the pads (m), force of each pad (N)."""

    position: float = 0.0
    max_effort: float = 0.0


@dataclass(slots=True)
class GripperCommandGoal:
    """The goal of control_msgs/GripperCommand."""

    command: GripperCommand = field(default_factory=GripperCommand)


@dataclass(slots=True)
class GripperCommandResult:
    """The result of control_msgs/GripperCommand."""

    position: float = 0.0
    effort: float = 0.0
    stalled: bool = False
    reached_goal: bool = False
