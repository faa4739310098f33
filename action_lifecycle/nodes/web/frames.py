# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The transforms of a robot, read while a page shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from .conversions import frames_now
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.rclpy_internals import take_message
from ...ros.node.subscriptions import SILENT, unspun
from ...viewer.robots import FrameNow

PERIOD = 0.2
"""Polling period (s) of the transforms."""
NEWEST = 50
"""Number of messages that are read at once; of more, the newest."""
MOST = 500
"""Maximum number of transforms."""


class Frames:
    """
    Polls `tf` and `tf_static` while `watched()`; calls `told(frames)` after a change.

    The middleware keeps the messages until they are polled, so a fast publisher does not wake this
    process.
    """

    def __init__(
        self, node: ManagedNode, name_of: Callable[[str], str], watched: Callable[[], bool],
        told: Callable[[tuple[FrameNow, ...]], None],
    ) -> None:
        self._topics = {
            name_of('tf'): QoSProfile(depth=NEWEST),
            name_of('tf_static'): QoSProfile(
                depth=NEWEST, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)}
        self._watched = watched
        self._told = told
        self._frames: dict[str, FrameNow] = {}
        self._owner: Node = unspun(node)
        self._subscriptions: list[Any] = []
        node.add_timer(PERIOD, self._poll)
        node.defer(self._unsubscribe)

    def _poll(self) -> None:
        if not self._watched():
            self._unsubscribe()
            return
        if not self._subscriptions:
            self._subscriptions = [
                self._owner.create_subscription(
                    TFMessage, topic, lambda message: None, qos, event_callbacks=SILENT)
                for topic, qos in self._topics.items()]
        changed = False
        for subscription in self._subscriptions:
            for _ in range(NEWEST):
                found = take_message(subscription)
                if found is None:
                    break
                changed |= self._take(found[0])
        if changed:
            self._told(tuple(self._frames.values()))

    def _take(self, message: Any) -> bool:
        changed = False
        for frame in frames_now(message.transforms):
            known = self._frames.get(frame.child)
            if known != frame and (known is not None or len(self._frames) < MOST):
                self._frames[frame.child] = frame
                changed = True
        return changed

    def _unsubscribe(self) -> None:
        for subscription in self._subscriptions:
            self._owner.destroy_subscription(subscription)
        self._subscriptions.clear()
