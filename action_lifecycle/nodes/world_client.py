# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
The lifecycle's world: client of the actions of the WorldModelBridge node.

If the bridge goes away during a motion, the controller may go on with the motion. When the bridge
is back, it is asked to follow the same goal, never to start it again.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
from typing import Any
import uuid

from action_lifecycle_msgs.action import ConfirmOutcome, ExecuteMotion
from action_lifecycle_msgs.srv import Evaluate
from action_msgs.msg import GoalStatus
from unique_identifier_msgs.msg import UUID

from .bridge_heartbeat import PERIOD
from .clock import NodeClock
from ..lifecycle.ports import (
    Confirmation,
    ConfirmRequest,
    Handle,
    MotionRequest,
    MotionResult,
)
from ..lifecycle.spec import has_gaps
from ..lifecycle.states import ErrorCode
from ..ros.conversions.basic import json_or_text, to_uuid
from ..ros.conversions.motion import (
    confirm_request_to,
    confirmation_from,
    evaluation_from,
    evaluation_to,
    motion_request_to,
    motion_result_from,
)
from ..ros.goal_client import GoalClient
from ..ros.lifecycle_node import ManagedNode
from ..ros.service_call import RetryPolicy, ServiceCall

LOOK_AGAIN = 0.2
"""Polling period (s) for the bridge's presence."""
SILENCE = 4 * PERIOD
"""Time (s) without feedback after which the bridge counts as gone."""
OF_MOTION = 8
"""Number of leading bytes that an `execute_motion` goal shares with its action's goal id."""
ANSWER = 3.0
"""Time (s) for the response of `evaluate`, in addition to the bridge's wait for facts."""
PATIENCE = 3
"""Number of `SILENCE` periods without feedback of one goal, if other goals have feedback."""


class BridgeClient:
    """Client of the bridge `name` (relative to the node's namespace); `timeout` in s."""

    def __init__(self, node: ManagedNode, clock: NodeClock, name: str, timeout: float) -> None:
        self.node = node
        self.clock = clock
        self.guarded = node.guarded
        self.timeout = timeout
        self.safety_known = False  #: whether the bridge has received all its safety topics
        self.heard = 0.0  #: steady time (s) of its last response or feedback
        self.motion = GoalClient(node, ExecuteMotion, f'{name}/execute_motion')
        self.confirmation = GoalClient(node, ConfirmOutcome, f'{name}/confirm_outcome')
        self.evaluation = node.add_client(Evaluate, f'{name}/evaluate')

    def execute(
        self, request: MotionRequest, result: Callable[[MotionResult], None]
    ) -> Handle:
        """Start or follow a motion; see `lifecycle.ports.World`."""
        return _Motion(self, request, result)

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Confirm conditions; see `lifecycle.ports.World`."""
        return _Confirmation(self, request, result)

    def evaluate(
        self, request: ConfirmRequest, wait: float, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Evaluate conditions with the current facts; see `lifecycle.ports.World`."""
        question = evaluation_to(request, wait)
        return ServiceCall(
            self.node, self.evaluation, lambda: question,
            RetryPolicy.tries(self.timeout, wait + ANSWER),
        ).on_done(lambda done: result(_judged(done)))

    def destroy(self) -> None:
        """Destroy the clients."""
        self.motion.destroy()
        self.confirmation.destroy()


def _judged(done: Any) -> Confirmation:
    if error := done.exception():
        return Confirmation('stale', (), ErrorCode.NOT_READY, str(error))
    return evaluation_from(done.result())


class _Call:
    """One goal at the bridge, from waiting for the server to the result."""

    def __init__(self, bridge: BridgeClient, client: GoalClient) -> None:
        self.bridge = bridge
        self.client = client
        self.canceled = False
        self.over = False
        self.sent = False  #: a goal was sent; it may not have arrived
        self._timer: Handle | None = None
        self._goal_id: UUID | None = None  #: of the last goal sent, until it is dropped
        self._accepted = False
        self._heard = False
        self._silences = 0
        self._refused_for = 0.0
        self._last = bridge.node.steady()  #: steady time (s) of the last message about this goal
        self._missed = False
        self._away = 0.0  #: s

    @property
    def note(self) -> str:
        """How long the bridge was away during the goal, as text; '' if it was not."""
        return f'the world model bridge did not answer for {self._away:.1f} s' \
            if self._away else ''

    def send(self, waited: float = 0.0) -> None:
        """Send the goal when the server is there; `waited`: time (s) waited so far."""
        if self.over:
            return
        if self.client.server_is_ready() and (self.may_go() or waited >= self.bridge.timeout):
            self.sent = True
            self._give_up()
            goal_id = self._goal_id = to_uuid(self.new_id())
            self.client.send(
                self.goal(), goal_id, lambda feedback: self._sign(goal_id, feedback),
            ).add_done_callback(self.bridge.guarded(
                lambda future: self._answered(goal_id, future),
                what=f'answer of action {self.client.server}'))
            self._listen(waited)
        elif waited >= self.bridge.timeout:
            self.absent('the world model bridge is not there')
        else:
            self._timer = self.bridge.clock.call_later(
                LOOK_AGAIN, lambda: self.send(waited + LOOK_AGAIN))

    def _sign(self, goal_id: UUID, feedback: Any) -> None:
        self._hear()
        self._begun(goal_id)
        self.told(feedback)

    def _hear(self) -> None:
        self._heard = True
        self.bridge.heard = now = self.bridge.node.steady()
        if self._missed:
            self._missed = False
            self._away += now - self._last
        self._last = now

    def _listen(self, waited: float) -> None:
        """Start the check whether the bridge is still there."""
        self._heard = False
        self._timer = self.bridge.clock.call_later(SILENCE, lambda: self._still_there(waited))

    def _still_there(self, waited: float) -> None:
        if self._heard:
            self._silences = 0
            self._listen(0.0)
            return
        self._silences += 1
        if self._silences <= PATIENCE \
                and self.bridge.node.steady() < self.bridge.heard + SILENCE:
            self._listen(waited)
            return
        self._give_up()
        if waited >= self.bridge.timeout:
            self.absent('the world model bridge does not answer')
        else:
            self._missed = True
            self.vanished(waited + SILENCE)

    def _give_up(self) -> None:
        """Ignore all further messages about the last goal sent."""
        if self._goal_id is not None:
            self.client.forget(self._goal_id)
        self._goal_id = None
        self._accepted = False

    def _answered(self, goal_id: UUID, future: Any) -> None:
        accepted = future.result().accepted
        if goal_id is not self._goal_id:
            if accepted and (self.canceled or self.over):
                self.client.cancel(goal_id)
            return
        self._hear()
        if accepted:
            self._begun(goal_id)
        else:
            self._refused()

    def _begun(self, goal_id: UUID) -> None:
        """Ask for the result of an accepted goal; feedback shows it if the response was lost."""
        if self._accepted:
            return
        self._accepted = True
        self.client.ask_result(goal_id).add_done_callback(
            self.bridge.guarded(
                lambda future: self._result(goal_id, future),
                what=f'result of action {self.client.server}'))
        if self.canceled:
            self.client.cancel(goal_id)

    def _refused(self) -> None:
        """Repeat a rejected goal for `timeout` s: the bridge may not be active yet."""
        if self._timer is not None:
            self._timer.cancel()
        if self.insists() and self._refused_for < self.bridge.timeout:
            self._refused_for += LOOK_AGAIN
            self._timer = self.bridge.clock.call_later(LOOK_AGAIN, self.send)
        else:
            self.end()
            self.refused()

    def _result(self, goal_id: UUID, future: Any) -> None:
        if goal_id is not self._goal_id:
            return
        answer = future.result()
        if answer.status == GoalStatus.STATUS_UNKNOWN:
            self._heard, self._silences = False, PATIENCE
            return  # the bridge was restarted; the goal is sent again after SILENCE
        self._hear()
        if self.unanswered(answer.result):
            self._give_up()
            self._refused()
            return
        self.end()
        self.done(answer.result, answer.status)

    def end(self) -> None:
        self.over = True
        if self._timer is not None:
            self._timer.cancel()
        self._give_up()

    def cancel(self) -> None:
        self.canceled = True
        if self._accepted and self._goal_id is not None:
            self.client.cancel(self._goal_id)

    def new_id(self) -> str:
        """Return the id of the next goal, in hex."""
        return uuid.uuid4().hex

    def may_go(self) -> bool:
        return True

    def insists(self) -> bool:
        return True

    def told(self, feedback: Any) -> None:
        """Handle feedback."""

    def unanswered(self, result: Any) -> bool:
        """Whether this result does not count and the goal is to be sent again."""
        return False

    def goal(self) -> Any:
        raise NotImplementedError

    def done(self, result: Any, status: int) -> None:
        raise NotImplementedError

    def refused(self) -> None:
        raise NotImplementedError

    def absent(self, why: str) -> None:
        raise NotImplementedError

    def vanished(self, waited: float) -> None:
        raise NotImplementedError


class _Motion(_Call):
    def __init__(
        self, bridge: BridgeClient, request: MotionRequest,
        result: Callable[[MotionResult], None],
    ) -> None:
        super().__init__(bridge, bridge.motion)
        self.request = request
        self.result = result
        self.resume = request.resume
        self.goals: dict[str, Any] = {}
        self.send()

    def told(self, feedback: Any) -> None:
        """Keep the step's goal as sent, if facts were filled in."""
        if feedback.step_state == 'sent' and feedback.feedback_json \
                and has_gaps(self.request.steps[feedback.step].goal):
            self.goals[str(feedback.step)] = json_or_text(feedback.feedback_json)

    def new_id(self) -> str:
        """Return an id with the prefix of the motion's id, which assigns feedback to actions."""
        return self.request.goal_id[:2 * OF_MOTION] + super().new_id()[2 * OF_MOTION:]

    def may_go(self) -> bool:
        """Wait until a bridge that has just started has received its safety topics."""
        return self.resume or self.bridge.safety_known

    def insists(self) -> bool:
        """Repeat the goal, unless the motion never began and was canceled."""
        return self.resume or not self.canceled

    def goal(self) -> ExecuteMotion.Goal:
        return motion_request_to(dataclasses.replace(self.request, resume=self.resume))

    def done(self, result: ExecuteMotion.Result, status: int) -> None:
        self.result(motion_result_from(result, self.goals, self.note))

    def refused(self) -> None:
        self.result(MotionResult(
            'failed', self.bridge.clock.now(), stopped=not self.resume,
            error_code=ErrorCode.NOT_READY,
            error_msg='the world model bridge does not accept motions now'))

    def absent(self, why: str) -> None:
        self.end()
        self.result(MotionResult(
            'failed', self.bridge.clock.now(), stopped=not (self.resume or self.sent),
            error_code=ErrorCode.NOT_READY, error_msg=why))

    def vanished(self, waited: float) -> None:
        """Follow the goal when the bridge is back; a motion is never started twice."""
        self.resume = True
        self.send(waited)


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

    def unanswered(self, result: ConfirmOutcome.Result) -> bool:
        """Whether the bridge was deactivated before it had a verdict."""
        return bool(result.error_code == ErrorCode.INTERRUPTED)

    def done(self, result: ConfirmOutcome.Result, status: int) -> None:
        self.result(confirmation_from(result, self.note))

    def refused(self) -> None:
        self.result(Confirmation('failed', (), ErrorCode.NOT_READY,
                                 'the world model bridge does not accept questions now'))

    def absent(self, why: str) -> None:
        self.end()
        self.result(Confirmation('failed', (), ErrorCode.NOT_READY, why))

    def vanished(self, waited: float) -> None:
        self.send(waited)

        self.end()
