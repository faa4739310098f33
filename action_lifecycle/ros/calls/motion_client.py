# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals of motions at a robot's action servers of any type; see `GoalCall`."""

from __future__ import annotations

from collections.abc import Callable, Collection
import math
from typing import Any
import uuid

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from .duplicate_responses import Answers
from .goal_call import CallEnd, ENDED, Ending, GoalCall, GoalPolicy
from .goal_client import GoalClient
from .goal_end import GoalEnd
from ..interfaces.limits import RESULT_BYTES
from ..interfaces.qos import status_qos
from ..interfaces.type_hashes import other_receiver
from ..interfaces.types import action_class, constants_of
from ..node.bounded_responses import TooLarge
from ..node.lifecycle_node import ManagedNode
from ..node.timers import Timeout
from ...lifecycle.states import ErrorCode, FOREIGN_GOAL
from ...work.motion_host import foreign_text

WATCH = 0.2  #: polling period (s) for the presence of a server during a goal
ANSWER = 5.0  #: maximum time (s) for a server to accept or reject a goal
SECOND_RESULT = 0.3
"""Time (s) to wait for the result of another server, if there are several of the name."""
LATE_STATUS = 0.1
"""Time (s) to wait for the status topic, to say whether another client has ended a goal."""
LATE_RESULT = 2.0  #: time (s) for which a second answer to an ended goal is logged
ASK_AGAIN = 5.0
"""First delay (s) before a result is requested again, as it may be lost; then doubled."""
MOVEIT_SUCCESS = 1  #: moveit_msgs/msg/MoveItErrorCodes; in other results 0 is success
UNANSWERED = 8
"""Maximum number of unanswered goals; a server's default queue has ten and drops more."""

UNDER_WAY = (
    GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_WORDS = {
    GoalStatus.STATUS_SUCCEEDED: 'succeeded', GoalStatus.STATUS_CANCELED: 'canceled',
    GoalStatus.STATUS_ABORTED: 'aborted'}
_CODES = {
    GoalStatus.STATUS_SUCCEEDED: ErrorCode.NONE,
    GoalStatus.STATUS_CANCELED: ErrorCode.MOTION_CANCELED,
    GoalStatus.STATUS_ABORTED: ErrorCode.MOTION_ABORTED}


class MotionClient(GoalClient):
    """
    A client of a robot's server: detects duplicate responses and cancels abandoned goals.

    It hears the server's status topic, which lists the goals of all clients at each change. While
    it has no goal of its own, messages are kept as they come, and only read when asked for.
    """

    def __init__(self, node: ManagedNode, server: str, type_name: str) -> None:
        self._status: Any = None  #: subscription
        self._unread = b''  #: last message of the status topic, serialized
        self._listed: dict[bytes, int] = {}  #: status of each goal in the last message
        self._own: set[bytes] = set()  #: goals of this client that may still be executed
        self._own_ends: dict[bytes, int] = {}
        self._unwanted: set[bytes] = set()
        self._others: dict[bytes, float] = {}
        """Goals of other clients that were under way: steady time (s) at which they were heard."""
        self._listed_by: frozenset[bytes] = frozenset()  #: DDS ids of the servers at that time
        super().__init__(
            node, action_class(type_name), server, unanswered=UNANSWERED, local=False,
            limit=RESULT_BYTES)
        self.type = type_name
        self.full_name = node.resolve_topic_name(server)
        self.on_second_answer: dict[bytes, Callable[[str], None]] = {}
        self._answers = Answers(self.goals, self._second_goal_answer)
        self._ends = Answers(self.results, self._second_result)

    def _connect(self) -> None:
        # First, so that the latched message comes before the server's first answer.
        self._status = self.node.create_subscription(
            GoalStatusArray, f'{self.server}/_action/status',
            self.node.guarded(self._note_status, what=f'status of action {self.server}'),
            status_qos(), raw=True)
        super()._connect()

    def destroy(self) -> None:
        """Destroy the entities."""
        super().destroy()
        if self._status is not None:
            self.node.destroy_subscription(self._status)

    def listen(self, goal_id: UUID, feedback: Callable[[Any], None]) -> None:
        """Pass the feedback of a goal, which is ours from now on; see GoalClient."""
        self._own.add(bytes(goal_id.uuid))
        super().listen(goal_id, feedback)

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
        self._read_status()
        self._cancel_unwanted()

    def _cancel_unwanted(self) -> None:
        for key in [key for key in self._unwanted if self._listed.get(key) in (
                GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING)]:
            self._unwanted.discard(key)
            self.node.get_logger().warning(
                f"server '{self.server}' executes a goal that was given up; it is canceled")
            self.cancel(UUID(uuid=list(key)))

    def status_of(self, goal_id: UUID) -> int:
        """Return what the server last said of a goal of this client, a constant of GoalStatus."""
        self._read_status()
        key = bytes(goal_id.uuid)
        return self._own_ends.get(key) or self._listed.get(key, GoalStatus.STATUS_UNKNOWN)

    def _note_status(self, message: bytes) -> None:
        self._unread = message
        if self._listeners or self._unwanted:
            self._read_status()

    def _read_status(self) -> None:
        if not self._unread:
            return
        message = deserialize_message(self._unread, GoalStatusArray)
        self._unread = b''
        self._listed = {bytes(one.goal_info.goal_id.uuid): one.status
                        for one in message.status_list}
        self._own &= self._listed.keys() | self._listeners.keys() | self._unwanted
        self._own_ends = {key: status for key, status in (self._own_ends | self._listed).items()
                          if key in self._own and status in ENDED}
        now, kept = self.node.steady(), self._others if self._listeners else {}
        self._others = {**kept, **{key: self._others.get(key, now) for key in self._foreign()}}
        self._listed_by = self.servers
        self._cancel_unwanted()

    def _foreign(self, for_others: Collection[bytes] = ()) -> list[bytes]:
        return [key for key, status in self._listed.items()
                if status in UNDER_WAY and (key not in self._own or key in for_others)]

    def foreign_goals(
        self, since: float = math.inf, for_others: Collection[bytes] = ()
    ) -> list[str]:
        """
        Return the ids of the goals that other clients have at the server.

        `for_others`: goals that this client has sent, but for somebody else. If there are none,
        return those that were under way and have begun after `since` (steady time, s). What a
        server that is gone has said last does not count.
        """
        self._read_status()
        found: list[bytes] = []
        if self.server_is_there():
            self._listed_by = self._listed_by or self.servers
            found = self._foreign(for_others) if self._listed_by & self.servers else []
        found = found or [key for key, heard in self._others.items() if heard > since]
        return [str(uuid.UUID(bytes=key)) for key in found]

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
    """
    A goal of a motion; `done` is a future of its GoalEnd.

    `refusal`: see `work.motion_host.MotionHost.step_goal`. `shared`: the server executes goals of
    several clients at once, so another goal is no reason that this one ends.
    """

    def __init__(
        self, node: ManagedNode, client: MotionClient, goal_id: uuid.UUID, *,
        server_timeout: float, on_state: Callable[[str], None],
        on_feedback: Callable[[Any], None], refusal: Callable[[], str] = lambda: '',
        shared: bool = False,
    ) -> None:
        super().__init__(node, client, goal_id, GoalPolicy(
            appear=server_timeout, accept=ANSWER, repeat=ASK_AGAIN, watch=WATCH),
            on_state=on_state, on_feedback=on_feedback)
        self._motions = client
        self._refusal = refusal
        self._shared = shared
        self._halted = False
        client.on_second_answer[goal_id.bytes] = self._answered_twice

    def _send(self, goal: Any) -> None:
        client = self._motions
        other = other_receiver(self._node, 'motion', client.full_name, client.type)
        if other:
            self._fail_with(ErrorCode.GOAL_INVALID, f'was sent nothing: {other}', stopped=True)
        elif refused := self._refusal():
            self.end(GoalEnd('', FOREIGN_GOAL, f'nothing was sent: {refused}', True,
                             self._node.now(), sent=False))
        elif self._halted:
            self._fail(Ending.CANCELED, stopped=True)
        else:
            super()._send(goal)

    def outcome(self, end: CallEnd) -> GoalEnd:
        """Convert the end of the call to a GoalEnd."""
        server = f"server '{self._client.server}'"
        if end.how is Ending.RESULT:
            said = _WORDS[end.status]
            words = f'{said} (no result: the server keeps none)' if end.result is None \
                else describe(said, end.result)
            code = _CODES[end.status]
            if self._may_be_preempted(end.status) and (foreign := foreign_text(
                    self._client.server, self._motions.foreign_goals(self.sent_at))):
                code, words = FOREIGN_GOAL, f'{words}; {foreign}'
            unread = isinstance(end.result, TooLarge)
            return GoalEnd(said, code, words, True, end.time, None if unread else end.result)
        if self.sent_at and end.how in (
                Ending.ABSENT, Ending.UNKNOWN, Ending.NOT_KEPT, Ending.VANISHED):
            self._motions.cancel_if_started(self._goal_id)
        code, message = {
            Ending.CANCELED: (ErrorCode.CANCELED, 'nothing was sent'),
            Ending.ABSENT: (ErrorCode.SERVER_MISSING, f'no action {server}'),
            Ending.REJECTED: (ErrorCode.GOAL_REJECTED, f'{server} rejected the goal'),
            Ending.UNANSWERED: (
                ErrorCode.GOAL_UNANSWERED, f'{server} neither accepted nor rejected the goal '
                f'within {self._policy.accept:g} s'),
            Ending.UNKNOWN: (ErrorCode.GOAL_UNKNOWN, f'{server} does not know the goal'),
            Ending.NOT_KEPT: (
                ErrorCode.GOAL_UNKNOWN, f'{server} keeps no results: how the goal ended is '
                'unknown; set its result_timeout to some seconds'),
            Ending.VANISHED: (
                ErrorCode.SERVER_VANISHED, f'{server} went away during the motion'),
        }[end.how]
        return GoalEnd('', code, message, end.stopped, end.time, sent=bool(self.sent_at),
                       unknown=end.how is Ending.NOT_KEPT)

    def result_wait(self, status: int) -> float:
        """
        Return a time (s) to wait for other servers of the name, or for the status topic.

        The latter says whether another client has ended the goal.
        """
        if len(self._servers | self._client.servers) > 1:
            return SECOND_RESULT
        told = self._motions.status_of(self._goal_id) in ENDED
        return LATE_STATUS if self._may_be_preempted(status) and not told else 0.0

    def _may_be_preempted(self, status: int) -> bool:
        return not (self._shared or self._canceling) and status != GoalStatus.STATUS_SUCCEEDED

    def halt(self) -> None:
        """Send a cancel, or keep the goal from being sent; in any thread, before `cancel`."""
        self._halted = True
        if self.sent_at and not self.done.done():
            self._motions.cancel_at_once(self._goal_id)

    def give_up(self) -> None:
        """Stop waiting for the server's result."""
        if not (self._running or self.done.done()):
            self._motions.cancel_if_started(self._goal_id)
        refused = 'refused to cancel the goal, and ' if self._refused else ''
        self._fail_with(
            ErrorCode.STOP_UNCONFIRMED, f'{refused}did not say that it stopped', stopped=False)

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
