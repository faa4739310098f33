# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is seen of a running ROS graph: topics with their messages and rates, frames, servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
import re
from typing import Any

from rclpy.action import get_action_names_and_types
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSDurabilityPolicy

from ...ros.interfaces.qos import sensor_qos
from ...ros.interfaces.types import message_class, UnknownType
from ...world.facts.facts_file import TF_TOPICS, TF_TYPE

DISCOVERY = 0.5
"""Time (s) in which most of the graph is discovered, first of all /clock."""
KEPT = 200
"""Maximum number of messages kept of a topic, the newest."""
HIDDEN = re.compile(r'/_|^/(rosout|parameter_events|diagnostics|clock)$')


@dataclass
class SeenTopic:
    """A topic; `messages` with the times (s) at which they arrived."""

    name: str
    type: str  # noqa: A003
    latched: bool = False  #: all publishers latch
    count: int = 0
    messages: list[tuple[float, Any]] = field(default_factory=list)

    def rate(self) -> float:
        """Return the rate in Hz; 0 if fewer than three messages came."""
        times = [at for at, _ in self.messages]
        return (len(times) - 1) / (times[-1] - times[0]) \
            if len(times) > 2 and times[-1] > times[0] else 0.0


@dataclass
class SeenGraph:
    """`topics` that are published, by full name; `servers`: types of action servers by name."""

    namespace: str = '/'
    topics: dict[str, SeenTopic] = field(default_factory=dict)
    servers: dict[str, str] = field(default_factory=dict)
    frames: dict[str, str] = field(default_factory=dict)  #: parent of each frame of tf
    simulated: bool = False  #: time comes from /clock

    def name_in_files(self, full: str) -> str:
        """Return a name relative to the namespace, if it is in it."""
        inside = self.namespace.rstrip('/') + '/'
        return full.removeprefix(inside) if full.startswith(inside) else full


def look_at(
    node: Node, wanted: Callable[[str, str], bool], spin: Callable[[float], Any], listen: float,
    now: Callable[[], float],
) -> SeenGraph:
    """
    Look at the graph for `listen` s.

    `wanted(name, type)`: whether the messages of a topic are read. `spin(seconds)` runs the
    callbacks of `node`; `now` is ROS time (s), which follows /clock if somebody publishes it.
    """
    seen = SeenGraph(node.get_namespace())
    spin(DISCOVERY)
    subscriptions: dict[str, Any] = {}
    rounds = max(2, round(listen / 0.5))
    for _ in range(rounds):
        if not seen.simulated and node.count_publishers('/clock'):
            seen.simulated = True
            node.set_parameters([Parameter('use_sim_time', value=True)])
            for topic in seen.topics.values():  # what came has times of another clock
                topic.messages.clear()
        for name, types in node.get_topic_names_and_types():
            publishers = node.get_publishers_info_by_topic(name)
            if name in seen.topics or len(types) != 1 or not publishers or HIDDEN.search(name):
                continue
            topic = seen.topics[name] = SeenTopic(name, types[0], all(
                one.qos_profile.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL
                for one in publishers))
            if wanted(name, topic.type) or topic.type == TF_TYPE:
                subscribed = _subscribed(node, topic, publishers, now)
                if subscribed is not None:
                    subscriptions[name] = subscribed
        spin(listen / rounds)
    for subscription in subscriptions.values():
        node.destroy_subscription(subscription)
    seen.servers = {name: types[0] for name, types in get_action_names_and_types(node)
                    if len(types) == 1 and not types[0].startswith('action_lifecycle_msgs/')
                    and node.count_services(f'{name}/_action/send_goal')}
    seen.frames = {transform.child_frame_id: transform.header.frame_id
                   for name in TF_TOPICS if name in seen.topics
                   for _, message in seen.topics[name].messages
                   for transform in message.transforms}
    return seen


def _subscribed(
    node: Node, topic: SeenTopic, publishers: Iterable[Any], now: Callable[[], float],
) -> Any:
    """Subscribe to a topic; returns None if its type is not installed."""
    def take(message: Any) -> None:
        topic.count += 1
        if at := now():  # 0 before the first /clock
            topic.messages.append((at, message))
            del topic.messages[:-KEPT]

    try:
        kind = message_class(topic.type)
    except UnknownType:
        return None
    qos = sensor_qos(publishers, depth=100)
    if topic.latched:
        qos.durability = QoSDurabilityPolicy.TRANSIENT_LOCAL
    return node.create_subscription(kind, topic.name, take, qos)
