# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A client of one action server for hundreds of concurrent goals.

Goals to a node on the same executor do not go over DDS (ros/node/goal_server.py).

It uses the services and the feedback topic of the action directly. rclpy's ActionClient also
subscribes to the status topic, which lists all goals of the last minutes at each change, and the
EventsExecutor visits all its open futures at each event. With some hundred goals these two would
dominate the CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import math
from typing import Any
import uuid

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from .slot_queue import Line
from ..interfaces.qos import event_qos
from ..node.bounded_responses import bound_responses, HEADER, TooLarge
from ..node.goal_server import GoalServer, server_beside
from ..node.guarded_node import GuardedNode
from ..node.timers import Timeout
from ...lifecycle.futures import settle

FRESH = 0.05  #: s after which a missing server is looked for again
THERE = 0.2  #: s for which a server that was there counts as there
CANCEL_AGAIN = 0.5  #: delay (s) before a cancel without a response is repeated
CANCELS = 10  #: maximum number of requests to cancel a goal
PROBE = 1.0  #: maximum time (s) for a new server to answer a request for an unknown goal


class UnreadResult:
    """Stands for a response with a result that is too large; the status is its first field."""

    def __init__(self, unread: TooLarge) -> None:
        self.status = unread.begin[0]
        self.result = unread


class GoalClient:
    """
    Sends goals to one server, with goal ids given by the caller.

    `unanswered`: maximum number of goals that are neither accepted nor rejected, by default the
    queue size of this package's servers; goals beyond wait in `line`. `local`: whether goals to a
    node on the same executor go without DDS. `limit`: serialized size (bytes) from which on
    results are not read (see `TooLarge`), and feedback is passed on as None.
    """

    def __init__(
        self, node: GuardedNode, action: Any, server: str, *, unanswered: int = 1000,
        local: bool = True, limit: float = math.inf,
    ) -> None:
        self.server = server
        self.node = node
        self.line = Line(unanswered)
        self.heard = -math.inf  #: steady time (s) of the last message about a goal
        self._action = action
        self._destroyed = False
        self._limit = limit
        self._told_size = False
        self._listeners: dict[bytes, Callable[[Any], None]] = {}
        self.servers: frozenset[bytes] = frozenset()
        """DDS ids of the servers at the last check."""
        self._is_there = False
        self._checked = 0.0
        self._probed: frozenset[bytes] = frozenset()  #: DDS ids of the servers of the last probe
        self._probes: list[Future] = []  #: unanswered
        self._probe_at = self._probe_until = -math.inf
        self._feedback_topic = node.resolve_topic_name(f'{server}/_action/feedback')
        self._feedback: Any = None  #: subscription; None: the entities have not been created
        self._may_be_local = local
        self._local: GoalServer | None = None
        self.server_is_there()

    def _connect(self) -> None:
        """Create the entities for a server that is reached over DDS."""
        node, action, qos, parts = self.node, self._action, event_qos(), f'{self.server}/_action'
        self.goals = node.create_client(
            action.Impl.SendGoalService, f'{parts}/send_goal', qos_profile=qos)
        self.results = node.create_client(
            action.Impl.GetResultService, f'{parts}/get_result', qos_profile=qos)
        if self._limit < math.inf:
            bound_responses(node, self.results, int(self._limit), UnreadResult)
        self.cancels = node.create_client(CancelGoal, f'{parts}/cancel_goal', qos_profile=qos)
        self._feedback = node.create_subscription(
            action.Impl.FeedbackMessage, f'{parts}/feedback', node.guarded(
                self._pass_feedback, what=f'feedback of action {self.server}'), qos, raw=True)

    def server_is_there(self) -> bool:
        """Return whether the server is discovered; checked at most every FRESH or THERE s."""
        now = self.node.steady()
        if now >= self._checked + (THERE if self._is_there else FRESH):
            self._checked = now
            self._local = server_beside(self.node, self._feedback_topic) \
                if self._may_be_local else None
            if self._local is not None:
                self.servers, self._is_there = frozenset((self._local.gid,)), True
            else:
                if self._feedback is None:
                    self._connect()
                self.servers = frozenset(
                    bytes(info.endpoint_gid) for info in self.node.get_publishers_info_by_topic(
                        self._feedback_topic))
                self._is_there = bool(self.servers) and all(
                    client.service_is_ready()
                    for client in (self.goals, self.results, self.cancels))
        return self._is_there

    def server_is_ready(self) -> bool:
        """
        Return whether the server is discovered and has answered a request.

        Fast DDS loses the requests to a server that has not discovered this client yet
        (https://github.com/ros2/rmw_fastrtps/issues/392). So a new server is asked for the result
        of an unknown goal until it answers, for at most PROBE s and with doubled delays.
        """
        if not self.server_is_there():
            return False
        if self._local is not None:
            return True
        now = self.node.steady()
        if not self.servers <= self._probed:
            self._probed = self.servers
            self._end_probes()
            self._probe_at, self._probe_until = now, now + PROBE
        if now >= self._probe_until:
            self._end_probes()
            return True
        if now >= self._probe_at:
            probe = self.results.call_async(self._action.Impl.GetResultService.Request(
                goal_id=UUID(uuid=list(uuid.uuid4().bytes))))
            probe.add_done_callback(self.node.guarded(self._end_probes, what=self.server))
            self._probes.append(probe)
            self._probe_at = now + FRESH * 2.0 ** len(self._probes)
        return False

    def _end_probes(self, answered: Future | None = None) -> None:
        self._probe_until = -math.inf
        for probe in self._probes:
            self.results.remove_pending_request(probe)
        self._probes.clear()

    def send(self, goal: Any, goal_id: UUID, feedback: Callable[[Any], None]) -> Future:
        """Send a goal; returns a future of the response (`accepted`)."""
        self.listen(goal_id, feedback)
        if self._local is not None:
            return self._local.send(
                goal, goal_id, functools.partial(self._pass_on, bytes(goal_id.uuid)))
        return self.goals.call_async(
            self._action.Impl.SendGoalService.Request(goal_id=goal_id, goal=goal))

    def listen(self, goal_id: UUID, feedback: Callable[[Any], None]) -> None:
        """Pass the feedback of a goal to a callback, until `forget`."""
        self._listeners[bytes(goal_id.uuid)] = feedback

    def ask_result(self, goal_id: UUID) -> Future:
        """Return a future of `status` and `result`, done when the goal ends or is unknown."""
        if self._local is not None:
            return self._local.ask_result(goal_id)
        return self.results.call_async(
            self._action.Impl.GetResultService.Request(goal_id=goal_id))

    def status_of(self, goal_id: UUID) -> int:
        """Return what the server last said of a goal, a constant of GoalStatus; here: unknown."""
        return int(GoalStatus.STATUS_UNKNOWN)

    def cancel(self, goal_id: UUID) -> Future:
        """
        Cancel a goal; returns a future of the response (`return_code`).

        The request is repeated until there is a response, as it may be lost.
        """
        if self._local is not None:
            return self._local.cancel(goal_id)
        request = CancelGoal.Request()
        request.goal_info.goal_id = goal_id
        answered = Future()
        sent: list[Future] = []

        def ask() -> None:
            if self._destroyed or answered.done() or len(sent) == CANCELS:
                for future in sent:
                    self.cancels.remove_pending_request(future)
                return
            sent.append(self.cancels.call_async(request))
            sent[-1].add_done_callback(lambda done: settle(answered, done.result()))
            Timeout(self.node, CANCEL_AGAIN, ask)

        ask()
        return answered

    def cancel_at_once(self, goal_id: UUID) -> None:
        """Send one request to cancel a goal, in any thread; its response is not awaited."""
        if self._feedback is None or self._destroyed:
            return
        request = CancelGoal.Request()
        request.goal_info.goal_id = goal_id
        with self.cancels.handle:
            self.cancels.handle.send_request(request)

    def forget(self, goal_id: UUID) -> None:
        """Drop the data of an ended goal."""
        self._listeners.pop(bytes(goal_id.uuid), None)

    def destroy(self) -> None:
        """Destroy the entities."""
        self._destroyed = True
        if self._feedback is None:
            return
        for client in (self.goals, self.results, self.cancels):
            self.node.destroy_client(client)
        self.node.destroy_subscription(self._feedback)

    def _pass_feedback(self, data: bytes) -> None:
        """Read a serialized message; its first field is the id of the goal, of 16 bytes."""
        listener = self._listeners.get(data[HEADER:HEADER + 16])
        if listener is None:
            return
        if len(data) <= self._limit:
            listener(deserialize_message(data, self._action.Impl.FeedbackMessage).feedback)
            return
        listener(None)
        if not self._told_size:
            self._told_size = True
            self.node.get_logger().warning(
                f"feedback of server '{self.server}' is not read: {len(data)} bytes; at most "
                f'{self._limit:g} are read')

    def _pass_on(self, key: bytes, feedback: Any) -> None:
        listener = self._listeners.get(key)
        if listener is not None:
            listener(feedback)


def kept_goal_client(node: GuardedNode, action: type, server: str) -> GoalClient:
    """Return the client of an action server, made at the first call; see `GuardedNode.keep`."""
    client: GoalClient = node.keep(
        ('client', server, action), lambda: GoalClient(node, action, server))
    return client
