# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Camera pictures of a robot; a topic is subscribed while a page shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.task import Future

from .pictures import picture
from ...documents.errors import LifecycleError
from ...lifecycle.futures import settle
from ...ros.calls.threads import in_executor
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.subscriptions import Subscriptions, TopicNeed, TopicReader
from ...ros.node.timers import Timeout
from ...world.facts.facts_file import QosSpec

KINDS = ('sensor_msgs/msg/CompressedImage', 'sensor_msgs/msg/Image')
"""Types of topics with pictures."""
RATE = 4.0
"""Maximum rate (Hz) at which a topic is read."""
LINGER = 5.0
"""Time (s) that a topic stays subscribed after a page has asked for a picture."""
WAIT = 3.0
"""Maximum time (s) for the first picture."""
LOOK = 3.0
"""Polling period (s) of the names of topics."""


class RosImages:
    """
    The pictures of one robot; see `viewer.robots.Images`.

    `inside`: the robot's namespace; topics of other robots are not shown. `known()` returns the
    topics that may be read. `told(topics)` gets the names of the topics with pictures.
    """

    def __init__(
        self, node: ManagedNode, inside: str, watched: Callable[[], bool],
        told: Callable[[tuple[str, ...]], None], known: Callable[[], Sequence[str]],
    ) -> None:
        self._node = node
        self._inside = inside.rstrip('/') + '/'
        self._watched = watched
        self._told = told
        self._known = known
        self._newest: dict[str, Any] = {}
        self._waiting: dict[str, Any] = {}
        self._types: dict[str, str] = {}
        self._made: dict[str, tuple[Any, tuple[bytes, str]]] = {}
        self._topics = Subscriptions(node, (), linger=lambda: LINGER)
        node.defer(self._topics.destroy)
        node.add_timer(LOOK, self._look)

    async def image(self, topic: str) -> tuple[bytes, str]:
        """Return the newest picture and its media type; raises LifecycleError if none came."""
        if topic not in self._known():
            raise LifecycleError(f"there is no picture on '{topic}'")
        message = await in_executor(self._node, lambda: self._read(topic))
        if message is None:
            raise LifecycleError(f"no picture on '{topic}' within {WAIT:g} s")
        made = self._made.get(topic)
        if made is None or made[0] is not message:
            made = message, await asyncio.to_thread(picture, message)
            self._made[topic] = made
        return made[1]

    # In the executor's thread

    def _look(self) -> None:
        if not self._watched():
            return
        self._types = {
            name: kinds[0] for name, kinds in self._node.get_topic_names_and_types()
            if len(kinds) == 1 and kinds[0] in KINDS and name.startswith(self._inside)}
        self._told(tuple(sorted(self._types)))

    def _read(self, topic: str) -> Any:
        """Return a future of the newest message, None if there is none in time."""
        reader = self._topics.readers.get(topic)
        kind = self._types.get(topic, '')
        if kind and (reader is None or reader.need.type != kind):
            self._topics.readers[topic] = TopicReader(self._node, TopicNeed(
                topic, kind, QosSpec(), lambda message: self._take(topic, message), RATE))
        if topic in self._topics.readers:
            if not self._topics.readers[topic].subscribed:
                self._newest.pop(topic, None)  # from when it was shown before
            self._topics.hold([topic])()
        future = Future()
        if topic in self._newest:
            future.set_result(self._newest[topic])
            return future
        self._waiting.setdefault(topic, []).append(future)
        Timeout(self._node, WAIT, lambda: self._give_up(topic, future))
        return future

    def _give_up(self, topic: str, future: Any) -> None:
        if not future.done():
            self._waiting[topic].remove(future)
            settle(future)

    def _take(self, topic: str, message: Any) -> None:
        self._newest[topic] = message
        for future in self._waiting.pop(topic, ()):
            settle(future, message)
