# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A client of one action server for hundreds of concurrent goals.

It uses the services and the feedback topic of the action directly. rclpy's ActionClient also
subscribes to the status topic, which lists all goals of the last minutes at each change, and the
EventsExecutor visits all its open futures at each event. With some hundred goals these two would
dominate the CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any
import uuid

from action_msgs.srv import CancelGoal
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from .slot_queue import Line
from ..interfaces.qos import event_qos
from ..node.guarded_node import GuardedNode
from ..node.timers import settle, Timeout

FRESH = 0.05  #: s for which the result of the check for the server is reused
CANCEL_AGAIN = 0.5  #: delay (s) before a cancel without a response is repeated
CANCELS = 10  #: maximum number of requests to cancel a goal
PROBE = 1.0  #: maximum time (s) for a new server to answer a request for an unknown goal


class GoalClient:
    """
    Sends goals to one server, with goal ids given by the caller.

    `unanswered`: maximum number of goals that are neither accepted nor rejected, by default the
    queue size of this package's servers; goals beyond wait in `line`.
    """

    def __init__(
        self, node: GuardedNode, action: Any, server: str, *, unanswered: int = 1000
    ) -> None:
        self.server = server
        self.node = node
        self.line = Line(unanswered)
        self.heard = -math.inf  #: steady time (s) of the last message about a goal
        self._action = action
        self._destroyed = False
        self._listeners: dict[bytes, Callable[[Any], None]] = {}
        self.servers: frozenset[bytes] = frozenset()
        """DDS ids of the servers at the last check."""
        self._is_there = False
        self._checked = 0.0
        self._probed: frozenset[bytes] = frozenset()  #: DDS ids of the servers of the last probe
        self._probes: list[Future] = []  #: unanswered
        self._probe_at = self._probe_until = -math.inf
        qos = event_qos()
        parts = f'{server}/_action'
        self.goals = node.create_client(
            action.Impl.SendGoalService, f'{parts}/send_goal', qos_profile=qos)
        self.results = node.create_client(
            action.Impl.GetResultService, f'{parts}/get_result', qos_profile=qos)
        self.cancels = node.create_client(CancelGoal, f'{parts}/cancel_goal', qos_profile=qos)
        self._feedback = node.create_subscription(
            action.Impl.FeedbackMessage, f'{parts}/feedback', node.guarded(
                self._pass_feedback, what=f'feedback of action {server}'), qos)

    def server_is_there(self) -> bool:
        """Return whether the server is discovered; checked at most every FRESH s."""
        now = self.node.steady()
        if now >= self._checked + FRESH:
            self._checked = now
            self.servers = frozenset(
                bytes(info.endpoint_gid) for info in self.node.get_publishers_info_by_topic(
                    self._feedback.topic_name))
            self._is_there = bool(self.servers) and all(
                client.service_is_ready() for client in (self.goals, self.results, self.cancels))
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
        if not self.servers <= self._probed:
            self._probed = self.servers
            self._end_probes()
            self._probe_at, self._probe_until = self._checked, self._checked + PROBE
        if self._checked >= self._probe_until:
            self._end_probes()
            return True
        if self._checked >= self._probe_at:
            probe = self.results.call_async(self._action.Impl.GetResultService.Request(
                goal_id=UUID(uuid=list(uuid.uuid4().bytes))))
            probe.add_done_callback(self.node.guarded(self._end_probes, what=self.server))
            self._probes.append(probe)
            self._probe_at = self._checked + FRESH * 2.0 ** len(self._probes)
        return False

    def _end_probes(self, answered: Future | None = None) -> None:
        self._probe_until = -math.inf
        for probe in self._probes:
            self.results.remove_pending_request(probe)
        self._probes.clear()

    def send(self, goal: Any, goal_id: UUID, feedback: Callable[[Any], None]) -> Future:
        """Send a goal; returns a future of the response (`accepted`)."""
        self.listen(goal_id, feedback)
        return self.goals.call_async(
            self._action.Impl.SendGoalService.Request(goal_id=goal_id, goal=goal))

    def listen(self, goal_id: UUID, feedback: Callable[[Any], None]) -> None:
        """Pass the feedback of a goal to a callback, until `forget`."""
        self._listeners[bytes(goal_id.uuid)] = feedback

    def ask_result(self, goal_id: UUID) -> Future:
        """Return a future of `status` and `result`, done when the goal ends or is unknown."""
        return self.results.call_async(
            self._action.Impl.GetResultService.Request(goal_id=goal_id))

    def cancel(self, goal_id: UUID) -> Future:
        """
        Cancel a goal; returns a future of the response (`return_code`).

        The request is repeated until there is a response, as it may be lost.
        """
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

    def forget(self, goal_id: UUID) -> None:
        """Drop the data of an ended goal."""
        self._listeners.pop(bytes(goal_id.uuid), None)

    def destroy(self) -> None:
        """Destroy the entities."""
        self._destroyed = True
        for client in (self.goals, self.results, self.cancels):
            self.node.destroy_client(client)
        self.node.destroy_subscription(self._feedback)

    def _pass_feedback(self, message: Any) -> None:
        listener = self._listeners.get(bytes(message.goal_id.uuid))
        if listener is not None:
            listener(message.feedback)


def kept_goal_client(node: GuardedNode, action: type, server: str) -> GoalClient:
    """Return the client of an action server, made at the first call; see `GuardedNode.keep`."""
    client: GoalClient = node.keep(
        ('client', server, action), lambda: GoalClient(node, action, server))
    return client
