# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The lifecycle's world: client of the actions and of `evaluate` of the world_model_bridge node.

If the bridge goes away during a motion, the controller may continue the motion. When the bridge is
back, it gets a request to follow the same goal, never to start it again.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
from typing import Any
import uuid

from action_lifecycle_msgs.action import ConfirmOutcome, ExecuteMotion
from action_lifecycle_msgs.srv import Evaluate

from ..shared.heartbeat import PERIOD
from ...documents.json_text import json_or_text
from ...lifecycle.ports import (
    Confirmation,
    ConfirmRequest,
    Handle,
    has_gaps,
    MotionRequest,
    WorkResult,
)
from ...lifecycle.states import ErrorCode
from ...ros.calls.goal_call import CallEnd, Ending, GoalCall, GoalPolicy
from ...ros.calls.goal_client import GoalClient
from ...ros.calls.service_call import RetryPolicy, ServiceCall
from ...ros.conversions.motion import (
    CALLER,
    confirm_request_to,
    confirmation_from,
    evaluation_from,
    evaluation_to,
    motion_request_to,
    motion_result_from,
)
from ...ros.node.lifecycle_node import ManagedNode

RETRY = 0.2
"""Delay (s) before a rejected goal is sent again."""
SILENCE = 4 * PERIOD
"""Time (s) without feedback after which the bridge counts as gone; see `GoalPolicy`."""
MOTION_PREFIX = 8
"""Number of leading bytes that an `execute_motion` goal shares with its action's goal id."""
ANSWER = 3.0
"""Time (s) for the response of `evaluate`, in addition to the bridge's wait for facts."""


class BridgeClient:
    """Client of the bridge `name` (relative to the node's namespace); `timeout` in s."""

    def __init__(self, node: ManagedNode, name: str, timeout: float) -> None:
        self.node = node
        self.guarded = node.guarded
        self.timeout = timeout
        self.safety_known = False  #: whether the bridge has received all its safety topics
        self.caller = uuid.uuid4().bytes[CALLER].hex()
        """Tells the bridge whose motions they are: not those of an earlier process."""
        self.motion = GoalClient(node, ExecuteMotion, f'{name}/execute_motion')
        self.confirmation = GoalClient(node, ConfirmOutcome, f'{name}/confirm_outcome')
        self.evaluation = node.add_client(Evaluate, f'{name}/evaluate')

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Handle:
        """Start or follow a motion; see `lifecycle.ports.World`."""
        return _Motion(self, request, result)

    def confirm_stop(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Handle:
        """Judge whether motions have stopped; see `lifecycle.ports.World`."""
        return _Motion(self, dataclasses.replace(request, resume=True), result)

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Confirm conditions; see `lifecycle.ports.World`."""
        return _Confirmation(self, request, result)

    def evaluate(
        self, request: ConfirmRequest, wait: float, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Evaluate conditions with the current facts; see `lifecycle.ports.World`."""
        return self.call_evaluate(request, wait).on_done(lambda done: result(_judged(done)))

    def call_evaluate(self, request: ConfirmRequest, wait: float) -> ServiceCall:
        """Call the service `evaluate`."""
        question = evaluation_to(request, wait)
        return ServiceCall(self.node, self.evaluation, lambda: question,
                           RetryPolicy.tries(self.timeout, wait + ANSWER))

    def heard(self) -> float:
        """Return the steady time (s) of the last message about a goal."""
        return max(self.motion.heard, self.confirmation.heard)

    def destroy(self) -> None:
        """Destroy the clients."""
        self.motion.destroy()
        self.confirmation.destroy()


def _judged(done: Any) -> Confirmation:
    if error := done.exception():
        return Confirmation('stale', (), ErrorCode.NOT_READY, str(error))
    return evaluation_from(done.result())


class _Call:
    """
    A request to the bridge: one goal, or several one after another if the bridge goes away.

    The bridge may be away for `timeout` s after the last message about the goal.
    """

    def __init__(self, bridge: BridgeClient, client: GoalClient) -> None:
        self.bridge = bridge
        self.client = client
        self.canceled = False
        self.over = False
        self.resume = False  #: whether the goal was begun before
        self._calls: list[GoalCall] = []  #: those whose goal may still be executed
        self._refused_for = 0.0  #: s
        self._last = bridge.node.steady()  #: steady time (s) of the last message about this goal
        self._missed = False
        self._away = 0.0  #: s

    @property
    def note(self) -> str:
        """How long the bridge was away during the goal, for messages; '' if it was not."""
        return f'the world model bridge did not answer for {self._away:.1f} s' \
            if self._away else ''

    def send(self) -> None:
        """Send the goal when the server is there."""
        if self.over:
            return
        bridge = self.bridge
        limit = self._last + bridge.timeout

        def is_ready() -> bool:
            return self.client.server_is_ready() and (
                self.may_go() or bridge.node.steady() >= limit)

        def entered(state: str) -> None:
            if state == 'sent' and self.canceled:
                call.cancel()

        call = GoalCall(
            bridge.node, self.client, self.new_id(),
            GoalPolicy(appear=limit - bridge.node.steady(), silence=SILENCE), on_state=entered,
            on_feedback=self.on_feedback, ready=is_ready, server_heard=bridge.heard)
        self._calls.append(call)
        call.done.add_done_callback(bridge.guarded(
            lambda done: self._ended(call, done.result()),
            what=f'result of action {self.client.server}'))
        call.send(self.goal())

    def _ended(self, call: GoalCall, end: CallEnd) -> None:
        if self.over:
            return
        if call.first_heard:
            if self._missed:
                self._away += call.first_heard - self._last
            self._last, self._missed = call.last_heard, False
        if end.how is Ending.ABSENT:
            self._fail('is not there')
        elif end.how in (Ending.VANISHED, Ending.UNKNOWN):
            if call.sent_at >= self._last + self.bridge.timeout:
                self._fail('does not answer')
            else:  # follow the goal when the bridge is back; it is never started twice
                self._missed = self.resume = True
                self.send()
        elif end.how is Ending.REJECTED or self.is_interrupted(end.result):
            self._calls.remove(call)
            self._send_again()
        else:
            self.close()
            self.finished(end.result)

    def _send_again(self) -> None:
        """
        Repeat a rejected goal for `timeout` s: the bridge may not be active yet.

        A goal that was canceled and never began is not repeated.
        """
        if (self.resume or not self.canceled) and self._refused_for < self.bridge.timeout:
            self._refused_for += RETRY
            self.bridge.node.call_later(RETRY, self.send)
        else:
            self._fail('does not accept goals now')

    def _fail(self, why: str) -> None:
        self.close()
        self.failed(f'the world model bridge {why}')

    def close(self) -> None:
        """Ignore further messages; a goal that is accepted later is canceled."""
        self.over = True
        for call in self._calls:
            call.cancel()

    def cancel(self) -> None:
        self.canceled = True
        for call in self._calls:
            if call.sent_at:
                call.cancel()

    def new_id(self) -> uuid.UUID | None:
        """Return the id of the next goal; None: a random one."""
        return None

    def may_go(self) -> bool:
        return True

    def on_feedback(self, feedback: Any) -> None:
        """Handle feedback."""

    def is_interrupted(self, result: Any) -> bool:
        """Whether this result does not count and the goal is to be sent again."""
        return False

    def goal(self) -> Any:
        raise NotImplementedError

    def finished(self, result: Any) -> None:
        raise NotImplementedError

    def failed(self, why: str) -> None:
        raise NotImplementedError


class _Motion(_Call):
    def __init__(
        self, bridge: BridgeClient, request: MotionRequest,
        result: Callable[[WorkResult], None],
    ) -> None:
        super().__init__(bridge, bridge.motion)
        self.request = request
        self.result = result
        self.resume = request.resume
        self.goals: dict[str, Any] = {}
        self.send()

    def on_feedback(self, feedback: Any) -> None:
        """Report the step; keep its goal as sent, if facts were filled in."""
        self.request.told(feedback.step, feedback.step_state)
        if feedback.step_state == 'sent' and feedback.feedback_json \
                and has_gaps(self.request.steps[feedback.step].goal):
            self.goals[str(feedback.step)] = json_or_text(feedback.feedback_json)

    def new_id(self) -> uuid.UUID:
        """
        Return an id with the prefix of the motion's id, which assigns feedback to actions.

        The caller's id follows; the other digits tell goals for the same motion apart.
        """
        if not self.request.goal_id:
            return uuid.uuid4()
        begin = self.request.goal_id[:2 * MOTION_PREFIX] + self.bridge.caller
        return uuid.UUID(begin + uuid.uuid4().hex[len(begin):])

    def may_go(self) -> bool:
        """Return False until a bridge that has just started has received its safety topics."""
        return self.resume or self.bridge.safety_known

    def goal(self) -> ExecuteMotion.Goal:
        return motion_request_to(dataclasses.replace(self.request, resume=self.resume))

    def finished(self, result: ExecuteMotion.Result) -> None:
        self.result(motion_result_from(result, self.goals, self.note))

    def failed(self, why: str) -> None:
        self.result(WorkResult(
            'failed', self.bridge.node.now(), stopped=not self._sent,
            error_code=ErrorCode.NOT_READY, error_msg=why))

    def cancel(self) -> None:
        """Cancel the motion; it ends at once if the bridge did not get its goal."""
        if self.over:
            return
        super().cancel()
        if not self._sent:
            self.close()
            self.bridge.node.call_later(0.0, lambda: self.result(WorkResult(
                'canceled', self.bridge.node.now(), 'nothing was sent', sent=False)))

    @property
    def _sent(self) -> bool:
        return self.resume or any(call.sent_at for call in self._calls)


class _Confirmation(_Call):
    def __init__(
        self, bridge: BridgeClient, request: ConfirmRequest,
        result: Callable[[Confirmation], None],
    ) -> None:
        super().__init__(bridge, bridge.confirmation)
        self.request = request
        self.result = result
        self.send()

    def goal(self) -> ConfirmOutcome.Goal:
        return confirm_request_to(self.request)

    def is_interrupted(self, result: ConfirmOutcome.Result) -> bool:
        """Whether the bridge was deactivated before it had a verdict."""
        return bool(result.error_code == ErrorCode.INTERRUPTED)

    def finished(self, result: ConfirmOutcome.Result) -> None:
        self.result(confirmation_from(result, self.note))

    def failed(self, why: str) -> None:
        self.result(Confirmation('failed', (), ErrorCode.NOT_READY, why))

    def cancel(self) -> None:
        self.close()
