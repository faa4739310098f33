# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Publishes the cell's samples as ROS messages and on tf."""

from __future__ import annotations

from collections.abc import Iterable
import math
from typing import Any

from geometry_msgs.msg import (
    PoseStamped,
    Quaternion,
    TransformStamped,
    Vector3,
    WrenchStamped,
)
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from . import messages
from .sensors import TOPICS

TOOL_FRAME_EVERY = 4  #: joint states for each transform of the tool
KINDS = {'joint_states': JointState, 'gripper/wrench': WrenchStamped}


class SamplePublisher:
    """
    One publisher for each topic of the sensors, and /tf.

    Joint states and wrench are reliable, as ros2_control's broadcasters are; the camera is
    best effort. On tf: world to gripper_tool from the encoders, world to each part that is seen.
    """

    def __init__(self, node: Node) -> None:
        """Create the publishers of `node`."""
        self._messages: dict[str, Any] = {}
        self._publishers: dict[str, Any] = {}
        for topic in TOPICS:
            kind = KINDS.get(topic, PoseStamped)
            qos = qos_profile_sensor_data if kind is PoseStamped else QoSProfile(depth=10)
            self._messages[topic] = kind()
            self._publishers[topic] = node.create_publisher(kind, topic, qos)
        self._tf = node.create_publisher(TFMessage, '/tf', QoSProfile(depth=100))
        self._joint_states = 0

    def publish(self, samples: Iterable[messages.Sample], shift: int) -> None:
        """Publish `samples` in order; `shift` (ns) is added to their stamps."""
        for topic, plain in samples:
            message = self._messages[topic]
            stamp = plain.header.stamp
            plain.header.stamp = messages.Time(*divmod(
                stamp.sec * 1_000_000_000 + stamp.nanosec + shift, 1_000_000_000))
            _fill(message, plain)
            self._publishers[topic].publish(message)
            if isinstance(plain, messages.PoseStamped):
                at = plain.pose.position
                self._publish_frame(
                    message, topic.split('/')[1], (at.x, at.y, at.z), message.pose.orientation)
            elif isinstance(plain, messages.JointState):
                self._joint_states += 1
                if self._joint_states % TOOL_FRAME_EVERY == 0:
                    x, y, z, yaw, _ = plain.position
                    turn = Quaternion(z=math.sin(yaw / 2), w=math.cos(yaw / 2))
                    self._publish_frame(message, 'gripper_tool', (x, y, z), turn)

    def _publish_frame(
        self, measured: Any, child: str, at: tuple[float, float, float], turn: Quaternion
    ) -> None:
        """Publish the transform from world to `child`, with the stamp of a measurement."""
        frame = TransformStamped(child_frame_id=child)
        frame.header.stamp = measured.header.stamp
        frame.header.frame_id = 'world'
        frame.transform.translation = Vector3(x=at[0], y=at[1], z=at[2])
        frame.transform.rotation = turn
        self._tf.publish(TFMessage(transforms=[frame]))


def _fill(message: Any, plain: Any) -> None:
    """Copy the attributes of a plain message into the ROS message of the same type."""
    for name in plain.__slots__:
        value = getattr(plain, name)
        if hasattr(value, '__slots__'):
            _fill(getattr(message, name), value)
        else:
            setattr(message, name, value)
