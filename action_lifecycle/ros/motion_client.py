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
One goal at one ROS action server of any type, from waiting for the server to seeing it end.

The goal's id is given by the caller, who has written it down before: a server refuses an id that
it knows, so nothing is executed twice, and after a crash a goal is found again by its id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
import uuid

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from .lifecycle_node import ManagedNode
from .timers import Timeout
from .types import action_class
from ..lifecycle.states import ErrorCode

LOOK = 0.05  #: s between two looks whether a server has appeared
WATCH = 0.2  #: s between two looks whether a server is still there
ANSWER = 5.0  #: s within which a server has to accept or reject
SETTLE = 0.02  #: s for a second, different answer to the same goal to show up
ASK_TWICE = 0.5  #: s after which a server that does not know a goal is asked once more

_WORDS = {
    GoalStatus.STATUS_SUCCEEDED: 'succeeded', GoalStatus.STATUS_CANCELED: 'canceled',
    GoalStatus.STATUS_ABORTED: 'aborted'}


@dataclass(frozen=True)
class GoalEnd:
    """
    What became of a goal.

    `said`: the server's word (succeeded, canceled, aborted), empty when it said nothing.
    `stopped`: nothing of it moves, by the server's word or because nothing was started.
    """

    said: str
    code: ErrorCode
    message: str
    stopped: bool
    ended: float  #: ROS time in s
    result: Any = None
    sent: bool = True


class MotionClient(ActionClient):
    """An action client that also follows a goal by its id, and notices a second answer."""

    def __init__(self, node: ManagedNode, server: str, type_name: str) -> None:
        self.server = server
        self.on_second_answer: dict[bytes, Callable[[str], None]] = {}
        self.unwanted: dict[bytes, ClientGoalHandle] = {}
        """Goals that nobody waits for any more: one that starts all the same is canceled."""
        self._asked: dict[tuple[str, int], bytes] = {}  # goal ids by kind and number of request
        self._answers: dict[tuple[str, int], Any] = {}
        super().__init__(node, action_class(type_name), server)

    def send(self, goal: Any, goal_id: UUID, feedback: Callable[[Any], None]) -> Future:
        """Send a goal; the future is of its handle."""
        return self._noted('goal', goal_id, self._pending_goal_requests,
                           lambda: self.send_goal_async(goal, feedback, goal_id))

    def ask_result(self, goal_id: UUID, handle: ClientGoalHandle) -> Future:
        """Ask for the result; the future is done when the goal has ended, or is not known."""
        return self._noted('result', goal_id, self._pending_result_requests,
                           handle.get_result_async)

    def handle_of(self, goal_id: UUID, feedback: Callable[[Any], None]) -> ClientGoalHandle:
        """Return a handle of a goal that was sent, perhaps by an earlier process."""
        self._feedback_callbacks[bytes(goal_id.uuid)] = feedback
        return ClientGoalHandle(
            self, goal_id, self._action_type.Impl.SendGoalService.Response(accepted=True))

    def forget(self, goal_id: UUID) -> None:
        """Forget a goal that has ended."""
        key = bytes(goal_id.uuid)
        self.on_second_answer.pop(key, None)
        self._feedback_callbacks.pop(key, None)
        for request in [request for request, asked in self._asked.items() if asked == key]:
            del self._asked[request]
            self._answers.pop(request, None)

    async def execute(self, taken_data: dict[str, Any]) -> None:
        """Look at answers before rclpy does: it drops second ones, or raises for them."""
        for kind in ('goal', 'result'):
            if kind in taken_data and self._is_second(kind, *taken_data[kind]):
                del taken_data[kind]
        if self.unwanted and 'status' in taken_data:
            self._cancel_unwanted(taken_data['status'].status_list)
        await super().execute(taken_data)

    def _cancel_unwanted(self, statuses: Any) -> None:
        for status in statuses:
            if status.status in (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING):
                handle = self.unwanted.pop(bytes(status.goal_info.goal_id.uuid), None)
                if handle is not None:
                    self._logger.warning(
                        f"server '{self.server}' has started a goal that was given up; "
                        'it is canceled')
                    handle.cancel_goal_async()

    def _is_second(self, kind: str, number: int, answer: Any) -> bool:
        request = kind, number
        if request not in self._asked:
            return False
        if request not in self._answers:
            self._answers[request] = answer
            return False
        first = self._answers[request]
        told = self.on_second_answer.get(self._asked[request])
        if told is not None:
            if kind == 'goal':
                told('more than one server answered the goal')
            elif (first.status, first.result) != (answer.status, answer.result):
                told(f'first {_word(first.status)}, then {_word(answer.status)}')
        return True

    def _noted(
        self, kind: str, goal_id: UUID, pending: dict[int, Any], ask: Callable[[], Future]
    ) -> Future:
        """Ask, and note the number of the request."""
        before = set(pending)
        future = ask()
        for number in set(pending) - before:
            self._asked[kind, number] = bytes(goal_id.uuid)
        return future


class MotionGoal:
    """
    A goal under way; `done` is a future of its GoalEnd.

    `on_state` is told waiting_for_server, sent, executing, canceling; `on_feedback` the server's
    feedback messages.
    """

    def __init__(
        self, node: ManagedNode, client: MotionClient, goal_id: uuid.UUID, *,
        server_timeout: float, on_state: Callable[[str], None],
        on_feedback: Callable[[Any], None],
    ) -> None:
        self.done: Any = Future()
        self.sent = False
        self._node = node
        self._client = client
        self._goal_id = UUID(uuid=list(goal_id.bytes))
        self._limit = node.steady() + server_timeout
        self._on_state = on_state
        self._on_feedback = on_feedback
        self._handle: ClientGoalHandle | None = None
        self._canceling = False
        self._timer: Timeout | None = None
        self._asked_twice = False
        self._answered = False
        client.on_second_answer[bytes(self._goal_id.uuid)] = self._answered_twice

    # -- what the owner calls

    def send(self, goal: Any) -> None:
        """Send the goal as soon as the server is there."""
        self._when_ready(lambda: self._send(goal))

    def follow(self) -> None:
        """Follow the goal that an earlier process sent; nothing new is started."""
        self.sent = True
        self._when_ready(self._follow)

    def cancel(self) -> None:
        """Cancel it; `done` comes with the server's word."""
        if self._canceling or self.done.done():
            return
        self._canceling = True
        if not self.sent:
            self._end(GoalEnd('', ErrorCode.CANCELED, 'nothing was sent', True,
                              self._node.now(), sent=False))
            return
        self._on_state('canceling')
        if self._handle is not None:
            self._send_cancel()

    def give_up(self) -> None:
        """Wait no longer for the server's word."""
        self._fail(ErrorCode.STOP_UNCONFIRMED,
                   f"server '{self._client.server}' did not say that it stopped", stopped=False)

    # -- from the server to the result

    def _when_ready(self, then: Callable[[], None]) -> None:
        if self.done.done():
            return
        if self._client.server_is_ready():
            then()
        elif self._node.steady() >= self._limit:
            self._fail(ErrorCode.SERVER_MISSING,
                       f"no action server '{self._client.server}'", stopped=True)
        else:
            self._on_state('waiting_for_server')
            self._later(LOOK, lambda: self._when_ready(then))

    def _send(self, goal: Any) -> None:
        self.sent = True
        self._on_state('sent')
        self._later(ANSWER, self._unanswered)
        self._client.send(
            goal, self._goal_id, self._feedback).add_done_callback(
                self._node.guarded(self._accepted))

    def _accepted(self, future: Any) -> None:
        handle = future.result()
        if self.done.done() or self._handle is not None:  # too late: it must not run
            if handle.accepted:
                handle.cancel_goal_async()
            return
        if not handle.accepted:
            self._fail(ErrorCode.GOAL_REJECTED,
                       f"server '{self._client.server}' rejected the goal", stopped=True)
            return
        self._running(handle)

    def _unanswered(self) -> None:
        """Neither accepted nor rejected: it may be executed yet, so it is canceled."""
        self._handle = self._client.handle_of(self._goal_id, self._feedback)
        message = (f"server '{self._client.server}' neither accepted nor rejected the goal "
                   f'within {ANSWER:g} s')
        self._later(ANSWER, lambda: self._fail(
            ErrorCode.GOAL_UNANSWERED, message, stopped=False))
        self._handle.cancel_goal_async().add_done_callback(lambda future: self._fail(
            ErrorCode.GOAL_UNANSWERED, message,
            stopped=future.result().return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID))

    def _follow(self) -> None:
        self._running(self._client.handle_of(self._goal_id, self._feedback))

    def _running(self, handle: ClientGoalHandle) -> None:
        self._handle = handle
        self._on_state('executing')
        self._later(WATCH, self._watch)
        self._ask_result()
        if self._canceling:
            self._send_cancel()

    def _ask_result(self) -> None:
        assert self._handle is not None
        self._client.ask_result(self._goal_id, self._handle).add_done_callback(
            self._node.guarded(self._result))

    def _feedback(self, message: Any) -> None:
        if not self.done.done():
            self._on_feedback(message.feedback)

    def _result(self, future: Any) -> None:
        if self.done.done():
            return
        answer = future.result()
        ended = self._node.now()
        if answer.status not in _WORDS:
            self._unknown()
            return
        self._answered = True
        said = _WORDS[answer.status]
        code = {'succeeded': ErrorCode.NONE, 'canceled': ErrorCode.MOTION_CANCELED,
                'aborted': ErrorCode.MOTION_ABORTED}[said]
        end = GoalEnd(said, code, describe(said, answer.result), True, ended, answer.result)
        self._later(SETTLE, lambda: self._end(end))

    def _unknown(self) -> None:
        """Ask again: a goal that was on its way when its sender died may be known soon."""
        if not self._asked_twice:
            self._asked_twice = True
            self._later(ASK_TWICE, self._ask_result)
            return
        if self._handle is not None:
            self._client.unwanted[bytes(self._goal_id.uuid)] = self._handle
        self._fail(ErrorCode.GOAL_UNKNOWN,
                   f"server '{self._client.server}' does not know the goal", stopped=True)

    def _answered_twice(self, how: str) -> None:
        if self._handle is not None and not self._answered:
            self._send_cancel()
        self._fail(ErrorCode.RESULT_TWICE, f"server '{self._client.server}' answered twice: {how}",
                   stopped=self._answered)

    def _watch(self) -> None:
        if self._client.server_is_ready():
            self._later(WATCH, self._watch)
        else:
            self._fail(ErrorCode.SERVER_VANISHED,
                       f"server '{self._client.server}' went away during the motion",
                       stopped=False)

    def _send_cancel(self) -> None:
        assert self._handle is not None
        self._handle.cancel_goal_async()

    # -- ending

    def _later(self, delay: float, then: Callable[[], None]) -> None:
        """Set the one timer of this goal."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if self.done.done() else Timeout(self._node, delay, then)

    def _fail(self, code: ErrorCode, message: str, *, stopped: bool) -> None:
        self._end(GoalEnd('', code, message, stopped, self._node.now(), sent=self.sent))

    def _end(self, end: GoalEnd) -> None:
        if self.done.done():
            return
        if self._timer is not None:
            self._timer.cancel()
        if end.code is not ErrorCode.GOAL_UNANSWERED:  # whose acceptance may come yet
            self._client.forget(self._goal_id)
        self.done.set_result(end)


def describe(said: str, result: Any) -> str:
    """Return the server's word and what its result says of an error, in words."""
    code = getattr(result, 'error_code', None)
    text = getattr(result, 'error_string', '') or getattr(result, 'error_msg', '')
    extra = ', '.join(
        part for part in (f'error code {code}' if code else '', str(text)) if part)
    return f'{said} ({extra})' if extra else said


def _word(status: int) -> str:
    return _WORDS.get(status, f'status {status}')
