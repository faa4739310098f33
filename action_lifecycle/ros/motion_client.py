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
One goal at a ROS action server of any type, from waiting for the server to the end of the goal.

The caller gives the goal's id, which it has journaled before. A server refuses an id that it
knows, so no goal is executed twice, and after a crash a goal is found again by its id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any
import uuid

from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from .goal_client import GoalClient
from .lifecycle_node import ManagedNode
from .line import Line, Turn
from .qos import state_qos
from .second_answers import Answers
from .timers import Timeout
from .types import action_class, constants_of
from ..lifecycle.states import ErrorCode

LOOK = 0.05  #: polling period (s) for a server to appear
WATCH = 0.2  #: polling period (s) for the presence of a server during a goal
ANSWER = 5.0  #: maximum time (s) for a server to accept or reject a goal
SETTLE = 0.02  #: time (s) to wait for a second, different result of the same goal
ASK_TWICE = 0.5  #: delay (s) before a server that does not know a goal is asked again
ASK_AGAIN = 5.0
"""First delay (s) before a result is requested again, as it may be lost; then doubled."""
MOVEIT_SUCCESS = 1  #: moveit_msgs/msg/MoveItErrorCodes; in other results 0 is success
UNANSWERED = 8
"""Maximum number of unanswered goals; a server's default queue has ten and drops more."""

_WORDS = {
    GoalStatus.STATUS_SUCCEEDED: 'succeeded', GoalStatus.STATUS_CANCELED: 'canceled',
    GoalStatus.STATUS_ABORTED: 'aborted'}


@dataclass(frozen=True)
class GoalEnd:
    """
    The end of a goal.

    `said`: the status from the server (succeeded, canceled, aborted), '' if there is none.
    `stopped`: nothing moves, because the server has ended the goal or nothing was started.
    """

    said: str
    code: ErrorCode
    message: str
    stopped: bool
    ended: float  #: ROS time in s
    result: Any = None
    sent: bool = True


class MotionClient(GoalClient):
    """A client of a robot's server: detects duplicate responses and cancels abandoned goals."""

    def __init__(self, node: ManagedNode, server: str, type_name: str) -> None:
        super().__init__(node, action_class(type_name), server)
        self.line = Line(UNANSWERED)
        self.on_second_answer: dict[bytes, Callable[[str], None]] = {}
        self._answers = Answers(self.goals, self._second_goal_answer)
        self._ends = Answers(self.results, self._second_result)
        self._unwanted: set[bytes] = set()
        self._status: Any = None

    def send(self, goal: Any, goal_id: UUID, feedback: Callable[[Any], None]) -> Future:
        """Send a goal; see GoalClient."""
        return self._answers.expect(goal_id, super().send(goal, goal_id, feedback))

    def ask_result(self, goal_id: UUID) -> Future:
        """Ask for the result; see GoalClient."""
        return self._ends.expect(goal_id, super().ask_result(goal_id))

    def forget(self, goal_id: UUID) -> None:
        """Drop the data of an ended goal."""
        super().forget(goal_id)
        self.on_second_answer.pop(bytes(goal_id.uuid), None)
        self._answers.forget(goal_id)
        self._ends.forget(goal_id)

    def cancel_if_started(self, goal_id: UUID) -> None:
        """Cancel an abandoned goal if the server starts it later."""
        self._unwanted.add(bytes(goal_id.uuid))
        if self._status is None:
            self._status = self.node.create_subscription(
                GoalStatusArray, f'{self.server}/_action/status',
                self.node.guarded(self._cancel_unwanted, what=f'status of action {self.server}'),
                state_qos())

    def _cancel_unwanted(self, message: GoalStatusArray) -> None:
        for status in message.status_list if self._unwanted else ():
            goal_id = status.goal_info.goal_id
            if status.status in (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING) \
                    and bytes(goal_id.uuid) in self._unwanted:
                self._unwanted.discard(bytes(goal_id.uuid))
                self.node.get_logger().warning(
                    f"server '{self.server}' has started a goal that was given up; it is canceled")
                self.cancel(goal_id)

    def _second_goal_answer(self, key: bytes, first: Any, second: Any) -> None:
        self._tell_second(key, 'more than one server answered the goal')

    def _second_result(self, key: bytes, first: Any, second: Any) -> None:
        if (first.status, first.result) != (second.status, second.result):
            self._tell_second(key, f'first {_word(first.status)}, then {_word(second.status)}')

    def _tell_second(self, key: bytes, how: str) -> None:
        told = self.on_second_answer.get(key)
        if told is not None:
            told(how)


class MotionGoal:
    """
    A goal in progress; `done` is a future of its GoalEnd.

    `on_state` is called with waiting_for_server, sent, executing, canceling; `on_feedback` with
    the server's feedback messages.
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
        self._what = f'answer of action {client.server}'
        self._goal_id = UUID(uuid=list(goal_id.bytes))
        self._limit = node.steady() + server_timeout
        self._on_state = on_state
        self._on_feedback = on_feedback
        self._may_run = False  #: accepted, or without a response
        self._servers: frozenset[bytes] = frozenset()  #: DDS ids that may have it
        self._turn: Turn | None = None
        self._canceling = False
        self._timer: Timeout | None = None
        self._asked_twice = False
        self._pause = ASK_AGAIN
        self._ask_at = math.inf
        self._answered = False
        client.on_second_answer[bytes(self._goal_id.uuid)] = self._answered_twice

    # -- called by the owner

    def send(self, goal: Any) -> None:
        """Send the goal when the server is there and has answered earlier goals."""
        self._turn = Turn(self._client.line, lambda: self._when_ready(lambda: self._send(goal)))
        self._when_ready(self._turn.wait)

    def follow(self) -> None:
        """Follow a goal sent by an earlier process; starts nothing."""
        self.sent = True
        self._when_ready(self._follow)

    def cancel(self) -> None:
        """Cancel the goal; `done` is set with the server's result."""
        if self._canceling or self.done.done():
            return
        self._canceling = True
        if not self.sent:
            self._end(GoalEnd('', ErrorCode.CANCELED, 'nothing was sent', True,
                              self._node.now(), sent=False))
            return
        self._on_state('canceling')
        self._client.cancel(self._goal_id).add_done_callback(
            self._node.guarded(self._cancel_answered, what=self._what))

    def give_up(self) -> None:
        """Stop waiting for the server's result."""
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
                self._node.guarded(self._goal_answered, what=self._what))

    def _goal_answered(self, future: Any) -> None:
        self._leave_line()
        accepted = future.result().accepted
        if self.done.done() or self._may_run:  # accepted too late: it must not run
            if accepted:
                self._client.cancel(self._goal_id)
        elif accepted:
            self._running()
        else:
            self._fail(ErrorCode.GOAL_REJECTED,
                       f"server '{self._client.server}' rejected the goal", stopped=True)

    def _cancel_answered(self, future: Any) -> None:
        """Treat the goal as accepted if the server cancels it and its response was lost."""
        canceled = [bytes(info.goal_id.uuid) for info in future.result().goals_canceling]
        if bytes(self._goal_id.uuid) in canceled and not (self._may_run or self.done.done()):
            self._leave_line()
            self._running()

    def _unanswered(self) -> None:
        """Cancel a goal that was neither accepted nor rejected, as it may still be executed."""
        self._leave_line()
        self._may_run = True
        message = (f"server '{self._client.server}' neither accepted nor rejected the goal "
                   f'within {ANSWER:g} s')
        self._later(ANSWER, lambda: self._fail(
            ErrorCode.GOAL_UNANSWERED, message, stopped=False))
        self._client.cancel(self._goal_id).add_done_callback(lambda future: self._fail(
            ErrorCode.GOAL_UNANSWERED, message,
            stopped=future.result().return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID))

    def _follow(self) -> None:
        self._client.listen(self._goal_id, self._feedback)
        self._running()

    def _running(self) -> None:
        self._may_run = True
        self._servers = self._client.servers
        self._on_state('executing')
        self._ask_result()
        if self._canceling:  # the first cancel may have come before the goal was known
            self._client.cancel(self._goal_id)

    def _ask_result(self) -> None:
        self._ask_at = self._node.steady() + self._pause
        self._pause *= 2
        self._later(WATCH, self._watch)
        self._client.ask_result(self._goal_id).add_done_callback(
            self._node.guarded(self._result, what=self._what))

    def _feedback(self, feedback: Any) -> None:
        if not self.done.done():
            self._on_feedback(feedback)

    def _result(self, future: Any) -> None:
        if self.done.done() or self._answered:
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
        """Ask again once: a goal sent just before a crash may arrive later."""
        if not self._asked_twice:
            self._asked_twice = True
            self._later(ASK_TWICE, self._ask_result)
            return
        self._client.cancel_if_started(self._goal_id)
        self._fail(ErrorCode.GOAL_UNKNOWN,
                   f"server '{self._client.server}' does not know the goal", stopped=True)

    def _answered_twice(self, how: str) -> None:
        if self._may_run and not self._answered:
            self._client.cancel(self._goal_id)
        self._fail(ErrorCode.RESULT_TWICE, f"server '{self._client.server}' answered twice: {how}",
                   stopped=self._answered)

    def _watch(self) -> None:
        """Check that the server is there; a restarted server does not know the goal."""
        if not (self._client.server_is_ready() and self._client.servers & self._servers):
            self._fail(ErrorCode.SERVER_VANISHED,
                       f"server '{self._client.server}' went away during the motion",
                       stopped=False)
        elif self._node.steady() >= self._ask_at:
            self._ask_result()
        else:
            self._later(WATCH, self._watch)

    # -- ending

    def _leave_line(self) -> None:
        if self._turn is not None:
            self._turn.leave()

    def _later(self, delay: float, then: Callable[[], None]) -> None:
        """Set the timer of this goal, which replaces the last one."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if self.done.done() else Timeout(self._node, delay, then)

    def _fail(self, code: ErrorCode, message: str, *, stopped: bool) -> None:
        self._end(GoalEnd('', code, message, stopped, self._node.now(), sent=self.sent))

    def _end(self, end: GoalEnd) -> None:
        if self.done.done():
            return
        self._leave_line()
        if self._timer is not None:
            self._timer.cancel()
        if end.code is not ErrorCode.GOAL_UNANSWERED:  # it may still be accepted
            self._client.forget(self._goal_id)
        self.done.set_result(end)


def describe(said: str, result: Any) -> str:
    """Return the status with the error code and text of the result, as text."""
    owner, code = result, getattr(result, 'error_code', None)
    text = getattr(result, 'error_string', '') or getattr(result, 'error_msg', '')
    if hasattr(code, 'val'):  # moveit_msgs/msg/MoveItErrorCodes
        owner, code = code, 0 if code.val == MOVEIT_SUCCESS else code.val
        text = text or getattr(owner, 'message', '')
    names = [name for name, value in constants_of(type(owner)).items() if value == code]
    told = f'error code {code}' + (f' {names[0]}' if len(names) == 1 else '') if code else ''
    extra = ', '.join(part for part in (told, str(text)) if part)
    return f'{said} ({extra})' if extra else said


def _word(status: int) -> str:
    return _WORDS.get(status, f'status {status}')
