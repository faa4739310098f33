# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The link of the web node to one robot: it subscribes, and sends requests.

Callbacks run in the executor's thread and only hand over; messages are converted in the viewer's
loop, so a page can never block the executor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from action_lifecycle_msgs.action import ExecuteMotion
from action_lifecycle_msgs.msg import (
    ActionStateChange,
    ActionStatusArray,
    FlowChange,
    OperatorRequestArray,
    SafetyState,
    WorldState,
)
from action_lifecycle_msgs.srv import GetRows, GetTrace
from rclpy.qos import QoSProfile, QoSReliabilityPolicy

from .frames import Frames
from .handover import Handover
from .images import RosImages
from .live import Live
from .names import ACTION_NODE, ANSWERING, BRIDGE, LEDGER, NEEDED, NODES
from .node_watch import NodeWatch
from .orders import RosOrders
from .remote_rows import RemoteRows
from .remote_traces import RemoteTraces
from .rows import RobotRows
from ..action.bridge_client import MOTION_PREFIX
from ...ros.interfaces.qos import state_qos
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.subscriptions import SILENT, unspun
from ...viewer.follower import Follower
from ...viewer.record.robot_record import RobotRecord
from ...viewer.record.sources import LocalRows
from ...viewer.robots import NODES as SEEN
from ...viewer.robots import NodeSeen, Robot

FACTS_PERIOD = 0.2
"""Minimum time (s) between two deliveries of facts, motions and transforms."""
COMPARE_AGAIN = 1.0
"""Delay (s) before the journal is compared again."""
INACTIVE = 'the web node is not active'
ASK_PERIOD = 0.5
"""Time (s) between two looks whether a page shows all facts."""
KEPT_FEEDBACK = 100
"""Number of motions whose newest feedback is kept."""


class RobotLink:
    """
    The subscriptions and clients of one namespace, for one robot; create it in `configure`.

    `local`: the rows of the journal if it is on this machine. The robot gets its record, orders
    and images here.
    """

    def __init__(
        self, node: ManagedNode, namespace: str, robot: Robot, local: LocalRows
    ) -> None:
        self.robot = robot
        self._node = node
        self._namespace = namespace
        self._handover = Handover()
        self._motions: dict[bytes, Any] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._all_facts: Any = None  #: a subscription
        self._following: asyncio.Future[None] | None = None
        self._comparing: asyncio.Future[None] | None = None
        node.defer(self.close)
        self._add_topics()
        clients = [node.add_client(GetRows, self.name_of(f'{asked}/get_rows'))
                   for asked in (LEDGER, ACTION_NODE)]
        traces = RemoteTraces(node, node.add_client(GetTrace, self.name_of(f'{BRIDGE}/get_trace')),
                              lambda: self._live.absent(BRIDGE))
        self._rows = RobotRows(local, RemoteRows(node, robot.name, clients, traces))
        robot.record = RobotRecord(self._rows)
        self._follower = Follower(robot)
        self._live = Live(robot, self._follower, self._compare_soon)
        robot.orders = RosOrders(node, self.name_of, self._live.absent)
        robot.images = RosImages(node, self.name_of(''), self._is_watched, self._put_images,
                                 lambda: robot.now.images)
        Frames(node, self.name_of, self._is_watched, self._put_frames)
        self.watch = NodeWatch(
            node, self.name_of, NODES, NEEDED, self._put_nodes, self._put_left)
        self.watch.tell()

    def name_of(self, name: str) -> str:
        """Return the full name of a name in this robot's namespace."""
        return full_name(self._node, self._namespace, name)

    def open(self, loop: asyncio.AbstractEventLoop) -> None:  # noqa: A003
        """Deliver to this loop, and follow the journal in it."""
        self._loop = loop
        loop.call_soon_threadsafe(self._begin)
        self._handover.open(loop)

    def close(self) -> None:
        """Deliver nothing more."""
        self._handover.close()
        loop, self._loop = self._loop, None
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._end)

    def _begin(self) -> None:
        self._following = asyncio.ensure_future(self._follower.run())
        self.robot.change(SEEN, live=True, lost='')
        if self._live.is_active():
            self._compare_soon()

    def _end(self) -> None:
        for task in (self._following, self._comparing):
            if task is not None:
                task.cancel()
        self.robot.change(SEEN, lost=INACTIVE)

    def _compare_soon(self) -> None:
        """Choose the source of the rows again; the journal is followed meanwhile."""
        if self._comparing is None or self._comparing.done():
            self._comparing = asyncio.ensure_future(self._compare())

    async def _compare(self) -> None:
        while not await self._rows.compare() and self._live.is_active():
            await asyncio.sleep(COMPARE_AGAIN)
        self._follower.soon()

    def _is_watched(self) -> bool:
        """Whether a page shows this robot."""
        return self.robot.heard_by > 0

    # Callbacks in the executor's thread

    def _add_topics(self) -> None:
        node = self._node
        put = self._handover.put
        bell = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
        for kind, topic in ((ActionStateChange, 'state_changes'), (FlowChange, 'flow_changes')):
            node.add_subscription(  # only a sign of new rows: the rows are read from the journal
                kind, self.name_of(f'{ACTION_NODE}/{topic}'),
                lambda _: put('rows', self._live.take_rows, None), bell, raw=True)
        node.add_subscription(
            SafetyState, self.name_of(f'{ACTION_NODE}/safety'),
            lambda message: put('safety', self._live.take_safety, message), state_qos())
        node.add_subscription(
            ActionStatusArray, self.name_of(f'{ACTION_NODE}/actions'),
            lambda message: put('actions', self._live.take_actions, message), state_qos())
        node.add_subscription(
            WorldState, self.name_of(f'{BRIDGE}/facts'), lambda message: put(
                'facts', self._live.take_facts, message, FACTS_PERIOD), state_qos())
        node.add_timer(ASK_PERIOD, self._ask_for_facts)
        node.defer(self._end_asking)
        node.add_subscription(
            ExecuteMotion.Impl.FeedbackMessage,
            self.name_of(f'{BRIDGE}/execute_motion/_action/feedback'), self._take_feedback,
            QoSProfile(depth=10))
        for asked in ANSWERING:
            node.add_subscription(
                OperatorRequestArray, self.name_of(f'{asked}/operator_requests'),
                lambda message, asked=asked: put(
                    ('questions', asked), self._live.take_questions, (asked, message)),
                state_qos())

    def _ask_for_facts(self) -> None:
        """Have the bridge read all facts while a page shows them; they come on `facts`, too."""
        if not self.robot.facts_shown.heard_by:
            self._end_asking()
        elif self._all_facts is None:
            self._all_facts = unspun(self._node).create_subscription(
                WorldState, self.name_of(f'{BRIDGE}/all_facts'), lambda _: None, state_qos(),
                event_callbacks=SILENT)

    def _end_asking(self) -> None:
        if self._all_facts is not None:
            unspun(self._node).destroy_subscription(self._all_facts)
            self._all_facts = None

    def _take_feedback(self, message: Any) -> None:
        key = bytes(message.goal_id.uuid)[:MOTION_PREFIX]
        self._motions.pop(key, None)
        self._motions[key] = message.feedback
        if len(self._motions) > KEPT_FEEDBACK:
            del self._motions[next(iter(self._motions))]
        self._handover.put(
            'feedback', self._live.take_feedback, dict(self._motions), FACTS_PERIOD)

    def _put_nodes(self, seen: Mapping[str, NodeSeen], offset: float) -> None:
        self._handover.put('nodes', self._live.take_nodes, (seen, offset))

    def _put_left(self, name: str) -> None:
        self._handover.put(('left', name), self._live.take_left, name)

    def _put_frames(self, frames: Any) -> None:
        self._handover.put('frames', self._live.take_frames, frames, FACTS_PERIOD)

    def _put_images(self, topics: Any) -> None:
        self._handover.put('images', self._live.take_images, topics)


def full_name(node: ManagedNode, namespace: str, name: str) -> str:
    """Return the full name of a name in a namespace; '': that of `node`, or relative to it."""
    outer = '' if namespace.startswith('/') else node.get_namespace()
    return '/' + '/'.join(part.strip('/') for part in (outer, namespace, name) if part.strip('/'))
