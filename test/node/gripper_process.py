# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A gripper that never ends a motion or does at once, and its joint: processes to be killed."""

from __future__ import annotations

import sys
from typing import Any

from control_msgs.action import GripperCommand
import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node
from sensor_msgs.msg import JointState


class Gripper(Node):
    """Takes a goal and says so."""

    def __init__(self, willing: bool) -> None:
        super().__init__('gripper')
        self.willing = willing
        self.server = ActionServer(
            self, GripperCommand, 'gripper', self.execute, handle_accepted_callback=self.accepted,
            cancel_callback=lambda handle: CancelResponse.ACCEPT)

    def accepted(self, handle: Any) -> None:
        print('moving', flush=True)
        if self.willing:
            handle.execute()

    def execute(self, handle: Any) -> GripperCommand.Result:
        handle.succeed()
        return GripperCommand.Result(reached_goal=True)


class Joints(Node):
    """Publishes a joint that stands."""

    def __init__(self) -> None:
        super().__init__('joints')
        self.joints = self.create_publisher(JointState, 'joint_states', 10)
        self.create_timer(0.05, self.sample)

    def sample(self) -> None:
        message = JointState(name=['gripper'], position=[0.0], velocity=[0.0])
        message.header.stamp = self.get_clock().now().to_msg()
        self.joints.publish(message)


if __name__ == '__main__':
    rclpy.init()
    role = sys.argv[1]
    rclpy.spin(Joints() if role == 'joints' else Gripper(role == 'willing'))
