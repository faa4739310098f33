# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals of motions at a robot's action servers of any type; see `GoalCall`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
import uuid

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from .duplicate_responses import Answers
from .goal_call import CallEnd, Ending, GoalCall, GoalPolicy
from .goal_client import GoalClient
from .goal_end import GoalEnd
from ..interfaces.limits import RESULT_BYTES
from ..interfaces.qos import state_qos
from ..interfaces.type_hashes import other_receiver
from ..interfaces.types import action_class, constants_of
from ..node.bounded_responses import TooLarge
from ..node.lifecycle_node import ManagedNode
from ..node.timers import Timeout
from ...lifecycle.states import ErrorCode

WATCH = 0.2  #: polling period (s) for the presence of a server during a goal
ANSWER = 5.0  #: maximum time (s) for a server to accept or reject a goal
SECOND_RESULT = 0.3
"""Time (s) to wait for the result of another server, if there are several of the name."""
LATE_RESULT = 2.0  #: time (s) for which a second answer to an ended goal is logged
ASK_AGAIN = 5.0
"""First delay (s) before a result is requested again, as it may be lost; then doubled."""
MOVEIT_SUCCESS = 1  #: moveit_msgs/msg/MoveItErrorCodes; in other results 0 is success
UNANSWERED = 8
"""Maximum number of unanswered goals; a server's default queue has ten and drops more."""

_WORDS = {
    GoalStatus.STATUS_SUCCEEDED: 'succeeded', GoalStatus.STATUS_CANCELED: 'canceled',
    GoalStatus.STATUS_ABORTED: 'aborted'}
_CODES = {
    GoalStatus.STATUS_SUCCEEDED: ErrorCode.NONE,
    GoalStatus.STATUS_CANCELED: ErrorCode.MOTION_CANCELED,
    GoalStatus.STATUS_ABORTED: ErrorCode.MOTION_ABORTED}


class MotionClient(GoalClient):
    """A client of a robot's server: detects duplicate responses and cancels abandoned goals."""

    def __init__(self, node: ManagedNode, server: str, type_name: str) -> None:
        super().__init__(
            node, action_class(type_name), server, unanswered=UNANSWERED, local=False,
            limit=RESULT_BYTES)
        self.type = type_name
        self.full_name = node.resolve_topic_name(server)
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
        """Drop the data of an ended goal; a second answer is logged for LATE_RESULT s more."""
        super().forget(goal_id)
        self.on_second_answer[bytes(goal_id.uuid)] = self._log_late
        Timeout(self.node, LATE_RESULT, lambda: self._forget_answers(goal_id))

    def _forget_answers(self, goal_id: UUID) -> None:
        self.on_second_answer.pop(bytes(goal_id.uuid), None)
        self._answers.forget(goal_id)
        self._ends.forget(goal_id)

    def _log_late(self, how: str) -> None:
        self.node.get_logger().error(
            f"server '{self.server}' answered twice, after its motion had ended: {how}; there may "
            'be two servers of this name')

    def cancel_if_started(self, goal_id: UUID) -> None:
        """Cancel an abandoned goal if the server executes it, now or later."""
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
                    f"server '{self.server}' executes a goal that was given up; it is canceled")
                self.cancel(goal_id)

    def _second_goal_answer(self, key: bytes, first: Any, second: Any) -> None:
        self._report_second(key, 'more than one server answered the goal')

    def _second_result(self, key: bytes, first: Any, second: Any) -> None:
        if (first.status, first.result) != (second.status, second.result):
            self._report_second(key, f'first {_word(first.status)}, then {_word(second.status)}')

    def _report_second(self, key: bytes, how: str) -> None:
        callback = self.on_second_answer.get(key)
        if callback is not None:
            callback(how)


class MotionGoal(GoalCall):
    """A goal of a motion; `done` is a future of its GoalEnd."""

    def __init__(
        self, node: ManagedNode, client: MotionClient, goal_id: uuid.UUID, *,
        server_timeout: float, on_state: Callable[[str], None],
        on_feedback: Callable[[Any], None],
    ) -> None:
        super().__init__(node, client, goal_id, GoalPolicy(
            appear=server_timeout, accept=ANSWER, repeat=ASK_AGAIN, watch=WATCH),
            on_state=on_state, on_feedback=on_feedback)
        self._motions = client
        client.on_second_answer[goal_id.bytes] = self._answered_twice

    def _send(self, goal: Any) -> None:
        client = self._motions
        other = other_receiver(self._node, 'motion', client.full_name, client.type)
        if other:
            self._fail_with(ErrorCode.GOAL_INVALID, f'was sent nothing: {other}', stopped=True)
        else:
            super()._send(goal)

    def outcome(self, end: CallEnd) -> GoalEnd:
        """Convert the end of the call to a GoalEnd."""
        server = f"server '{self._client.server}'"
        if end.how is Ending.RESULT:
            said = _WORDS[end.status]
            unread = isinstance(end.result, TooLarge)
            return GoalEnd(said, _CODES[end.status], describe(said, end.result), True, end.time,
                           None if unread else end.result)
        if self.sent_at and end.how in (Ending.ABSENT, Ending.UNKNOWN, Ending.VANISHED):
            self._motions.cancel_if_started(self._goal_id)
        code, message = {
            Ending.CANCELED: (ErrorCode.CANCELED, 'nothing was sent'),
            Ending.ABSENT: (ErrorCode.SERVER_MISSING, f'no action {server}'),
            Ending.REJECTED: (ErrorCode.GOAL_REJECTED, f'{server} rejected the goal'),
            Ending.UNANSWERED: (
                ErrorCode.GOAL_UNANSWERED, f'{server} neither accepted nor rejected the goal '
                f'within {self._policy.accept:g} s'),
            Ending.UNKNOWN: (ErrorCode.GOAL_UNKNOWN, f'{server} does not know the goal'),
            Ending.VANISHED: (
                ErrorCode.SERVER_VANISHED, f'{server} went away during the motion'),
        }[end.how]
        return GoalEnd('', code, message, end.stopped, end.time, sent=bool(self.sent_at))

    def result_wait(self) -> float:
        """Return a time (s) if there are several servers, which may say different things."""
        return SECOND_RESULT if len(self._servers | self._client.servers) > 1 else 0.0

    def give_up(self) -> None:
        """Stop waiting for the server's result."""
        if not (self._running or self.done.done()):
            self._motions.cancel_if_started(self._goal_id)
        self._fail_with(ErrorCode.STOP_UNCONFIRMED, 'did not say that it stopped', stopped=False)

    def _answered_twice(self, how: str) -> None:
        if (self._running or self._given_up) and not self._answered:
            self._client.cancel(self._goal_id)
        self._fail_with(ErrorCode.RESULT_TWICE, f'answered twice: {how}', stopped=self._answered)

    def _fail_with(self, code: ErrorCode, what: str, *, stopped: bool) -> None:
        self.end(GoalEnd('', code, f"server '{self._client.server}' {what}", stopped,
                         self._node.now(), sent=bool(self.sent_at)))


def describe(said: str, result: Any) -> str:
    """Return the status, followed by the error code and error string of the result."""
    if isinstance(result, TooLarge):
        return f'{said}; its result was dropped: {result}'
    owner, code = result, getattr(result, 'error_code', None)
    text = getattr(result, 'error_string', '') or getattr(result, 'error_msg', '')
    if hasattr(code, 'val'):  # moveit_msgs/msg/MoveItErrorCodes
        owner, code = code, 0 if code.val == MOVEIT_SUCCESS else code.val
        text = text or getattr(owner, 'message', '')
    names = [name for name, value in constants_of(type(owner)).items() if value == code]
    number = f'error code {code}' + (f' {names[0]}' if len(names) == 1 else '') if code else ''
    extra = ', '.join(part for part in (number, str(text)) if part)
    return f'{said} ({extra})' if extra else said


def _word(status: int) -> str:
    return _WORDS.get(status, f'status {status}')
