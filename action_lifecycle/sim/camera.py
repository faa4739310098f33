# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pictures of the cell on a topic, as a camera driver publishes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import tempfile
import time

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CompressedImage

from .picture import PictureProcess
from .trajectory import Array

TOPIC = 'camera/image/compressed'
FRAME = 'overview_camera'
WIDTH = 600  #: pixels
SHARE = 0.1  #: of a core that the drawing may use at most; it slows down to this


class CameraPublisher:
    """
    Publishes JPEG pictures at `rate` (Hz of wall time) while somebody subscribes.

    They are drawn in a process of their own, which ends with the last subscription.
    """

    def __init__(self, node: Node, rate: float, slippery: str) -> None:
        self._node = node
        self._period = 1.0 / rate
        self._slippery = slippery
        self._publisher = node.create_publisher(
            CompressedImage, TOPIC, qos_profile_sensor_data)
        self._folder = tempfile.TemporaryDirectory(prefix='action_lifecycle_camera_')
        self._process: PictureProcess | None = None
        self._stamp: Time | None = None  # of the state that is being drawn
        self._next = 0.0

    def turn(self, state: Callable[[], tuple[Array, Time]]) -> None:
        """Publish a picture that is done, and begin the next one if it is due; often called."""
        if self._stamp is not None:
            self._finish()
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + self._period
            if self._publisher.get_subscription_count():
                self._begin(*state())
            else:
                self._end_process()

    def _begin(self, qpos: Array, stamp: Time) -> None:
        try:
            if self._process is None:
                self._process = PictureProcess(
                    self._slippery, Path(self._folder.name) / 'picture.jpeg', WIDTH)
        except OSError as error:
            self._give_up(str(error))
            return
        self._process.draw(qpos)
        self._stamp = stamp

    def _finish(self) -> None:
        assert self._process is not None and self._stamp is not None
        fault = self._process.poll()
        if fault is None:
            return
        if fault:
            self._process = None
            self._give_up(fault)
            return
        message = CompressedImage(format='jpeg', data=self._process.path.read_bytes())
        message.header.stamp, message.header.frame_id = self._stamp, FRAME
        self._publisher.publish(message)
        self._stamp = None
        self._next = max(self._next, time.monotonic() + self._process.cost / SHARE)

    def _give_up(self, fault: str) -> None:
        self._node.get_logger().warning(f"no pictures on '{TOPIC}': {fault}")
        self._stamp = None
        self._next = float('inf')

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def end(self) -> None:
        """End the drawing, and remove its files."""
        self._end_process()
        self._folder.cleanup()
