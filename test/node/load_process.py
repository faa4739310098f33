# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What goes on beside a bridge, each in a process of its own: `python load_process.py ROLE`.

planner: answers compute_path_to_pose with 75,000 poses (5.4 MB)
path: publishes 30,000 poses (2.2 MB) on `planned`, at 10 Hz
echo: says on `echo` at once that the e-stop is set, as fast as a bare node can
"""

from __future__ import annotations

import sys
from typing import Any

from action_lifecycle.ros.interfaces.types import action_class
from action_lifecycle.ros.node.executor import make_executor
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
import rclpy
from rclpy.action import ActionServer
from rclpy.serialization import serialize_message
from std_msgs.msg import Bool, Empty


def planner(node: Any) -> None:
    """Serve the action."""
    plan_path = action_class('nav2_msgs/action/ComputePathToPose')
    result = plan_path.Result(path=Path(poses=[PoseStamped()] * 75_000))

    def plan(handle: Any) -> Any:
        handle.succeed()
        return result
    ActionServer(node, plan_path, 'compute_path_to_pose', plan)


def path(node: Any) -> None:
    """Publish the path; it is serialized once."""
    data = serialize_message(Path(poses=[PoseStamped()] * 30_000))
    publisher = node.create_publisher(Path, 'planned', 1)
    node.create_timer(0.1, lambda: publisher.publish(data))


def echo(node: Any) -> None:
    """Answer each e-stop that is set."""
    publisher = node.create_publisher(Empty, 'echo', 10)
    node.create_subscription(
        Bool, 'estop', lambda message: message.data and publisher.publish(Empty()), 10)


def main(role: str) -> None:
    """Run until it is killed."""
    rclpy.init()
    node = rclpy.create_node(role)
    {'planner': planner, 'path': path, 'echo': echo}[role](node)
    executor = make_executor()
    executor.add_node(node)
    executor.spin()


if __name__ == '__main__':
    main(sys.argv[1])
