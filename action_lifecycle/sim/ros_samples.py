# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Publishes the cell's samples as ROS messages and on tf."""

from __future__ import annotations

from collections.abc import Iterable
import math
from typing import Any

from geometry_msgs.msg import PoseStamped, TransformStamped, WrenchStamped
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
                self._part_frame(topic.split('/')[1], message)
            elif isinstance(plain, messages.JointState):
                self._joint_states += 1
                if self._joint_states % TOOL_FRAME_EVERY == 0:
                    self._tool_frame(message)

    def _part_frame(self, part: str, seen: PoseStamped) -> None:
        frame = TransformStamped(header=seen.header, child_frame_id=part)
        at = seen.pose.position
        frame.transform.translation.x = at.x
        frame.transform.translation.y = at.y
        frame.transform.translation.z = at.z
        frame.transform.rotation = seen.pose.orientation
        self._tf.publish(TFMessage(transforms=[frame]))

    def _tool_frame(self, joints: JointState) -> None:
        frame = TransformStamped(child_frame_id='gripper_tool')
        frame.header.stamp = joints.header.stamp
        frame.header.frame_id = 'world'
        x, y, z, yaw, _ = joints.position
        frame.transform.translation.x = x
        frame.transform.translation.y = y
        frame.transform.translation.z = z
        frame.transform.rotation.z = math.sin(yaw / 2)
        frame.transform.rotation.w = math.cos(yaw / 2)
        self._tf.publish(TFMessage(transforms=[frame]))


def _fill(message: Any, plain: Any) -> None:
    """Copy the attributes of a plain message into the ROS message of the same type."""
    for name in plain.__slots__:
        value = getattr(plain, name)
        if hasattr(value, '__slots__'):
            _fill(getattr(message, name), value)
        else:
            setattr(message, name, value)
