# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
An action server for hundreds of concurrent goals, over DDS and on the same executor.

It uses the services and topics of the action directly. rclpy's ActionServer publishes the status
of all goals of the last seconds at each change, visits their futures at each request, and formats
goal ids for its debug log: at 50 goals/s this was half of the CPU time of a node.

A client on the same executor calls `send`, `ask_result` and `cancel`, which pass on the message
objects themselves. Nothing is copied, so neither side may change a message that it has passed on.
These goals are on the topics of the action, too, their feedback only if somebody subscribes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import math
from typing import Any
import uuid

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from builtin_interfaces.msg import Time
from rclpy.action import CancelResponse, GoalResponse
from rclpy.qos import qos_profile_action_status_default
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from .guarded_node import GuardedNode
from .rclpy_internals import drop_late_responses
from .timers import Throttle
from ..interfaces.qos import event_qos
from ...lifecycle.futures import settle

RESULT_TIMEOUT = 30.0  #: time (s) for which the result of an ended goal is kept
STATUS_PERIOD = 0.2  #: minimum period (s) of messages on the status topic
STATUS_TIMEOUT = 1.0  #: time (s) for which an ended goal is in these messages
_ACTIVE = (GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)


class ServerGoal:
    """One goal, with the attributes and methods of rclpy's ServerGoalHandle."""

    def __init__(
        self, request: Any, info: GoalInfo, feedback: Callable[[Any], None],
        changed: Callable[[], None],
    ) -> None:
        self.request = request
        self.info = info
        self.publish_feedback = feedback
        self.status: int = GoalStatus.STATUS_EXECUTING
        self.ended: Any = Future()  #: of the response to a request for the result
        self._changed = changed

    @property
    def goal_id(self) -> UUID:
        """Return the id of the goal."""
        return self.info.goal_id

    @property
    def is_active(self) -> bool:
        """Whether the goal has not ended."""
        return self.status in _ACTIVE

    @property
    def is_cancel_requested(self) -> bool:
        """Whether the goal is to be canceled."""
        return self.status == GoalStatus.STATUS_CANCELING

    def succeed(self) -> None:
        """End the goal as succeeded."""
        self.enter(GoalStatus.STATUS_SUCCEEDED)

    def abort(self) -> None:
        """End the goal as aborted."""
        self.enter(GoalStatus.STATUS_ABORTED)

    def canceled(self) -> None:
        """End the goal as canceled."""
        self.enter(GoalStatus.STATUS_CANCELED)

    def enter(self, status: int) -> None:
        """Change the status (a constant of GoalStatus)."""
        self.status = status
        self._changed()


class GoalServer:
    """
    An action server of `node`; `name` is relative to the node.

    `execute(goal)` is a coroutine function that returns the result; `on_goal(request)` and
    `on_cancel(goal)` decide, as for rclpy's ActionServer. They run in the executor's thread.
    """

    def __init__(
        self, node: GuardedNode, action: Any, name: str, execute: Callable[[ServerGoal], Any],
        on_goal: Callable[[Any], GoalResponse], on_cancel: Callable[[ServerGoal], CancelResponse],
    ) -> None:
        self.gid = uuid.uuid4().bytes  #: tells it from other servers, as DDS ids do
        self.topic = node.resolve_topic_name(f'{name}/_action/feedback')
        self._node = node
        self._action = action
        self._execute = execute
        self._on_goal = on_goal
        self._on_cancel = on_cancel
        self._goals: dict[bytes, ServerGoal] = {}
        self._ended: deque[tuple[float, bytes]] = deque()  #: steady time (s), id
        self._shown: dict[ServerGoal, float] = {}
        """The goals of the status topic, and when they ended: steady time (s)."""
        self._services = [
            node.create_service(
                service, f'{name}/_action/{part}', answer, qos_profile=event_qos())
            for service, part, answer in (
                (action.Impl.SendGoalService, 'send_goal', self._answer_goal),
                (action.Impl.GetResultService, 'get_result', self._answer_result),
                (CancelGoal, 'cancel_goal', self._answer_cancel))]
        for entity in self._services:
            drop_late_responses(entity)
        self._feedback = node.create_publisher(
            action.Impl.FeedbackMessage, f'{name}/_action/feedback', event_qos())
        self._status = node.create_publisher(
            GoalStatusArray, f'{name}/_action/status', qos_profile_action_status_default)
        self._throttle = Throttle(node, STATUS_PERIOD, self._publish_status)
        self._destroyed = False

    def destroy(self) -> None:
        """Destroy the entities; goals that have not ended are not answered."""
        self._destroyed = True
        self._throttle.cancel()
        for service in self._services:
            self._node.destroy_service(service)
        for publisher in (self._feedback, self._status):
            self._node.destroy_publisher(publisher)

    # -- from the same executor

    def send(self, request: Any, goal_id: UUID, feedback: Callable[[Any], None]) -> Future:
        """Send a goal; returns a future of the response (`accepted`)."""
        answered = Future()
        give = self._node.guarded(feedback)

        def both(feedback: Any) -> None:
            if not self._destroyed and self._feedback.get_subscription_count():
                self._publish(goal_id, feedback)
            give(feedback)

        self._node.spawn(self._serve, request, goal_id, both, answered)
        return answered

    async def _serve(
        self, request: Any, goal_id: UUID, feedback: Callable[[Any], None], answered: Any
    ) -> None:
        goal = self._accept(request, goal_id, feedback)
        answered.set_result(
            self._action.Impl.SendGoalService.Response(accepted=goal is not None))
        if goal is not None:
            await self._run(goal)

    def active(self) -> bool:
        """Whether a goal has not ended."""
        return any(goal.is_active for goal in self._goals.values())

    def ask_result(self, goal_id: UUID) -> Future:
        """Return a future of `status` and `result`, done when the goal ends or is unknown."""
        goal = self._goals.get(bytes(goal_id.uuid))
        answered = Future()
        if goal is None:
            answered.set_result(self._action.Impl.GetResultService.Response(
                status=GoalStatus.STATUS_UNKNOWN))
        else:
            goal.ended.add_done_callback(lambda ended: settle(answered, ended.result()))
        return answered

    def cancel(self, goal_id: UUID) -> Future:
        """Cancel a goal; returns a future of the response (`return_code`)."""
        answered = Future()
        self._node.spawn(lambda: answered.set_result(
            self._cancel(GoalInfo(goal_id=goal_id), CancelGoal.Response())))
        return answered

    # -- over DDS

    def _answer_goal(self, request: Any, response: Any) -> Any:
        goal = self._accept(request.goal, request.goal_id,
                            lambda feedback: self._publish(request.goal_id, feedback))
        response.accepted = goal is not None
        if goal is not None:
            response.stamp = goal.info.stamp
            self._node.spawn(self._run, goal)
        return response

    async def _answer_result(self, request: Any, response: Any) -> Any:
        return await self.ask_result(request.goal_id)

    def _answer_cancel(
        self, request: CancelGoal.Request, response: CancelGoal.Response
    ) -> CancelGoal.Response:
        return self._cancel(request.goal_info, response)

    # -- both

    def _accept(
        self, request: Any, goal_id: UUID, feedback: Callable[[Any], None]
    ) -> ServerGoal | None:
        self._forget_ended()
        key = bytes(goal_id.uuid)
        if key in self._goals or self._on_goal(request) != GoalResponse.ACCEPT:
            return None
        stamp = self._node.get_clock().now().to_msg()
        goal = self._goals[key] = ServerGoal(
            request, GoalInfo(goal_id=goal_id, stamp=stamp), feedback, self._show_soon)
        self._shown[goal] = math.inf
        self._show_soon()
        return goal

    def _publish(self, goal_id: UUID, feedback: Any) -> None:
        if not self._destroyed:
            self._feedback.publish(self._action.Impl.FeedbackMessage(
                goal_id=goal_id, feedback=feedback))

    def _show_soon(self) -> None:
        if not self._destroyed:
            self._throttle.call_soon()

    async def _run(self, goal: ServerGoal) -> None:
        result = await self._execute(goal)
        if goal.is_active:
            goal.abort()
        now = self._node.steady()
        self._ended.append((now, bytes(goal.goal_id.uuid)))
        self._shown[goal] = now
        goal.ended.set_result(self._action.Impl.GetResultService.Response(
            status=goal.status, result=result))

    def _cancel(self, info: GoalInfo, response: CancelGoal.Response) -> CancelGoal.Response:
        """Cancel the goals that `info` selects; see action_msgs/srv/CancelGoal."""
        named = self._goals.get(bytes(info.goal_id.uuid))
        if named is None and any(info.goal_id.uuid):
            response.return_code = CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID
        elif named is not None and not named.is_active:
            response.return_code = CancelGoal.Response.ERROR_GOAL_TERMINATED
        for goal in self._selected(info, named):
            if self._on_cancel(goal) == CancelResponse.ACCEPT and goal.is_active:
                goal.enter(GoalStatus.STATUS_CANCELING)
                response.goals_canceling.append(goal.info)
        return response

    def _selected(self, info: GoalInfo, named: ServerGoal | None) -> list[ServerGoal]:
        until = _ns(info.stamp)
        everything = not until and not any(info.goal_id.uuid)
        if not (until or everything):
            return [named] if named is not None and named.is_active else []
        return [goal for goal in self._goals.values() if goal.is_active and (
            everything or goal is named or _ns(goal.info.stamp) <= until)]

    def _forget_ended(self) -> None:
        limit = self._node.steady() - RESULT_TIMEOUT
        while self._ended and self._ended[0][0] < limit:
            del self._goals[self._ended.popleft()[1]]

    def _publish_status(self) -> None:
        limit = self._node.steady() - STATUS_TIMEOUT
        self._shown = {goal: ended for goal, ended in self._shown.items() if ended > limit}
        self._status.publish(GoalStatusArray(status_list=[
            GoalStatus(goal_info=goal.info, status=goal.status) for goal in self._shown]))


def _ns(stamp: Time) -> int:
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def server_beside(node: GuardedNode, topic: str) -> GoalServer | None:
    """
    Return the server of an action if its node is on the same executor.

    `topic`: full name of the action's feedback topic.
    """
    for other in node.executor.get_nodes() if node.executor is not None else ():
        found: GoalServer | None = getattr(other, 'goal_servers', {}).get(topic)
        if found is not None:
            return found
    return None
