# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action servers of the cell's two controllers."""

from __future__ import annotations

import abc
from collections.abc import Callable
import copy
from typing import Any

from control_msgs.action import FollowJointTrajectory, GripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.time import Time
from std_msgs.msg import UInt32
from trajectory_msgs.msg import JointTrajectoryPoint

from .cell import Cell
from .controllers import ArmController, GripperController, JOINTS
from .motion import ABORTED, ACTIVE, CANCELED, GoalRejected, Motion, SUCCEEDED
from ..ros.interfaces.qos import state_qos
from ..ros.node.rclpy_internals import not_called

RESULT_TIMEOUT = 3600  #: time (s) for which a result is kept


class DriveServer(abc.ABC):
    """
    One action server on one controller.

    `NAMESPACE/NAME` accepts goals as ros2_control does: an invalid goal is rejected and the reason
    logged, a new goal preempts the old one, a cancel is always accepted and ends at standstill.
    `NAMESPACE/motions_started` (std_msgs/UInt32, latched) counts the motions begun. No callback
    blocks: `poll`, called after each step of the cell, ends the goals whose motion has ended.
    """

    action: Any
    topic: str

    def __init__(self, node: Node, cell: Cell, controller: ArmController | GripperController,
                 shift: Callable[[], int]) -> None:
        """Serve `controller`; `shift()`: offset (ns) of stamps from the cell's time."""
        self.node = node
        self.cell = cell
        self.controller = controller
        self.shift = shift
        self._goals: list[tuple[Motion[Any], Any]] = []
        self._started = node.create_publisher(
            UInt32, self.topic.split('/')[0] + '/motions_started', state_qos())
        self._published = -1
        self._server = ActionServer(
            node, self.action, self.topic, execute_callback=not_called,
            goal_callback=self._check, handle_accepted_callback=self._accept,
            cancel_callback=self._cancel, result_timeout=RESULT_TIMEOUT)

    def poll(self) -> None:
        """End the goals whose motion has ended, and publish the number of motions begun."""
        if self.controller.motions_started != self._published:
            self._published = self.controller.motions_started
            self._started.publish(UInt32(data=self._published))
        over = [goal for goal in self._goals if goal[0].status != ACTIVE]
        for goal in over:
            self._goals.remove(goal)
            motion, handle = goal
            end = {SUCCEEDED: handle.succeed, ABORTED: handle.abort, CANCELED: handle.canceled}
            end[motion.status](self._result(motion.result))

    def publish_feedback(self) -> None:
        """Publish feedback of all active goals."""
        for _, handle in self._goals:
            handle.publish_feedback(self._feedback())

    def _check(self, goal: Any) -> GoalResponse:
        try:
            self.controller.check(self._local(goal), self.cell.time)
        except GoalRejected as refused:
            self.node.get_logger().warning(f'{self.topic}: goal rejected: {refused}')
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _accept(self, handle: Any) -> None:
        motion = self.controller.accept(self._local(handle.request), self.cell.time)
        handle.executing()
        self._goals.append((motion, handle))
        self.poll()

    def _cancel(self, handle: Any) -> CancelResponse:
        for motion, mine in self._goals:
            if mine is handle:
                motion.cancel()
        return CancelResponse.ACCEPT

    def _local(self, goal: Any) -> Any:
        """Return the goal with stamps converted to the cell's time."""
        return goal

    @abc.abstractmethod
    def _result(self, result: Any) -> Any:
        """Return the ROS result of a motion's result."""

    @abc.abstractmethod
    def _feedback(self) -> Any:
        """Return the current ROS feedback."""


class ArmServer(DriveServer):
    """`arm_controller/follow_joint_trajectory` (control_msgs/FollowJointTrajectory)."""

    action = FollowJointTrajectory
    topic = 'arm_controller/follow_joint_trajectory'

    def _local(self, goal: Any) -> Any:
        stamp = goal.trajectory.header.stamp
        if not (stamp.sec or stamp.nanosec):
            return goal
        local = copy.deepcopy(goal)
        moved = Time.from_msg(stamp).nanoseconds - self.shift()
        local.trajectory.header.stamp = Time(nanoseconds=max(moved, 1)).to_msg()
        return local

    def _result(self, result: Any) -> Any:
        return FollowJointTrajectory.Result(
            error_code=result.error_code, error_string=result.error_string)

    def _feedback(self) -> Any:
        desired, actual = self.cell.arm.desired, self.cell.joints[:, :len(JOINTS)]
        feedback = FollowJointTrajectory.Feedback(joint_names=JOINTS)
        feedback.header.stamp = Time(nanoseconds=self.cell.time_ns + self.shift()).to_msg()
        feedback.desired = JointTrajectoryPoint(positions=desired[0], velocities=desired[1])
        feedback.actual = JointTrajectoryPoint(positions=actual[0], velocities=actual[1])
        feedback.error = JointTrajectoryPoint(
            positions=desired[0] - actual[0], velocities=desired[1] - actual[1])
        return feedback


class GripperServer(DriveServer):
    """`gripper_controller/gripper_cmd` (control_msgs/GripperCommand)."""

    action = GripperCommand
    topic = 'gripper_controller/gripper_cmd'

    def _result(self, result: Any) -> Any:
        return GripperCommand.Result(
            position=result.position, effort=result.effort, stalled=result.stalled,
            reached_goal=result.reached_goal)

    def _feedback(self) -> Any:
        gap, _, effort = self.cell.joints[:, len(JOINTS)].tolist()
        return GripperCommand.Feedback(position=gap, effort=abs(effort))
