# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
One goal at an action server: waits for the server, sends the goal, requests the result, cancels.

The caller gives the goal's id. A server refuses an id that it knows, so no goal is executed twice.
`follow` finds a goal of a controller again after a crash, by the id that was journaled before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import auto, Enum
import math
from typing import Any
import uuid

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from .goal_client import GoalClient
from .slot_queue import Turn
from ..node.lifecycle_node import ManagedNode
from ..node.timers import Timeout

POLL_PERIOD = 0.1  #: polling period (s) for a server to appear
ASK_TWICE = 0.5  #: delay (s) before a server that does not know a goal is asked again
LATE_STATUS = 2.0
"""Time (s) for which a goal counts as executed that its server does not know, but lists so."""
BUSY = 4
"""Factor of `silence` while messages about other goals arrive from the same server."""

ENDED = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)


class Ending(Enum):
    """How a call of an action ended."""

    RESULT = auto()  #: the server has given a result
    CANCELED = auto()  #: canceled before the goal was sent
    ABSENT = auto()  #: the server did not appear
    REJECTED = auto()  #: the server rejected the goal
    UNANSWERED = auto()  #: the server neither accepted nor rejected the goal
    REPLACED = auto()  #: nor did it before another server appeared; see `GoalPolicy.replaced`
    UNKNOWN = auto()  #: the server does not know the goal of an earlier process
    NOT_KEPT = auto()  #: the server has accepted the goal, and does not know it any more
    VANISHED = auto()  #: the server went away, is silent, or has been restarted


@dataclass(frozen=True)
class CallEnd:
    """
    The end of a call.

    `status` (a constant of GoalStatus) and `result` are those of the server; the result is None
    if it has kept none. `stopped`: the goal is not executed, because the server has ended it or
    nothing was started. `time`: ROS time (s).
    """

    how: Ending
    time: float
    stopped: bool
    status: int = GoalStatus.STATUS_UNKNOWN
    result: Any = None


@dataclass(frozen=True)
class GoalPolicy:
    """
    The time limits of a goal, in s.

    `appear` limits the wait for the server. `accept` limits the wait until the goal is accepted or
    rejected; then the goal is canceled, as it may still be executed. `repeat`: delay after which
    the result is requested again, since a response may be lost; it doubles each time. The server
    counts as gone if it is no longer discovered, which is checked every `watch` s, or after
    `silence` s without a response or feedback. `replaced`: a goal that is neither accepted nor
    rejected ends when another server appears (a killed one is discovered for up to 20 s more); for
    goals that are looked for, or may be sent, again.
    """

    appear: float = math.inf
    accept: float = math.inf
    repeat: float = math.inf
    watch: float = math.inf
    silence: float = math.inf
    replaced: bool = False


class GoalCall:
    """
    One goal at an action server, in the executor's thread of `node`.

    `done` is a future of `outcome(end)`, by default the `CallEnd`. `goal_id`: random if None.

    `ready`: whether the goal may be sent, by default whether the server is there. `server_heard`
    returns the steady time (s) of the last message from the server, also about other goals.
    `on_state` is called with waiting_for_server, sent, executing, canceling; `on_feedback` with
    the server's feedback messages.
    """

    def __init__(
        self, node: ManagedNode, client: GoalClient, goal_id: uuid.UUID | None,
        policy: GoalPolicy, *,
        on_state: Callable[[str], None] = lambda state: None,
        on_feedback: Callable[[Any], None] = lambda feedback: None,
        ready: Callable[[], bool] | None = None,
        server_heard: Callable[[], float] | None = None,
    ) -> None:
        self.done: Any = Future()
        self.sent_at = 0.0  #: steady time (s); 0 before the goal is sent
        self.first_heard = 0.0  #: steady time (s) of the server's first message; 0 before
        self.last_heard = 0.0  #: steady time (s) of its last message, or when the goal was sent
        self._node = node
        self._client = client
        self._what = f'answer of action {client.server}'
        self._goal_id = UUID(uuid=list((goal_id or uuid.uuid4()).bytes))
        self._policy = policy
        self._on_state = on_state
        self._on_feedback = on_feedback
        self._ready: Callable[[], bool] = ready or client.server_is_ready
        self._server_heard = server_heard or (lambda: client.heard)
        self._limit = node.steady() + policy.appear
        self._accept_by = self._ask_at = math.inf
        self._pause = policy.repeat
        self._turn: Turn | None = None
        self._timer: Timeout | None = None
        self._servers: frozenset[bytes] = frozenset()  #: DDS ids that may have the goal
        self._canceling = False
        self._refused = False  #: the last answer to its cancel was no
        self._running = False  #: accepted
        self._given_up = False  #: canceled, because it was neither accepted nor rejected
        self._unknown_since = math.inf  #: steady time (s)
        self._answered = False  #: there is a result
        self._vanished = False  #: the server was silent; another call may follow the goal

    def outcome(self, end: CallEnd) -> Any:
        """Return the result of `done`; to be overridden."""
        return end

    def result_wait(self, status: int) -> float:
        """Return how long (s) to wait for other words after a result; to be overridden."""
        return 0.0

    # -- called by the owner

    def send(self, goal: Any) -> GoalCall:
        """Send the goal when the server is there and has answered earlier goals; returns self."""
        self._turn = Turn(self._client.line, lambda: self._when_ready(lambda: self._send(goal)))
        self._when_ready(self._turn.wait)
        return self

    def follow(self) -> None:
        """Follow a goal sent by an earlier process; starts nothing."""
        self.sent_at = self._node.steady()
        self._when_ready(self._follow)

    def cancel(self) -> None:
        """
        Cancel the goal; `done` is set with the server's result.

        If the call has ended already, the goal is canceled if the server accepts it later.
        """
        again, self._canceling = self._canceling, True
        if again or self.done.done():
            return
        if self.sent_at:
            answered = self._client.cancel(self._goal_id)  # first of all
            self._on_state('canceling')
            answered.add_done_callback(self._guarded(self._cancel_answered))
        else:
            self._fail(Ending.CANCELED, stopped=True)

    def end(self, outcome: Any) -> None:
        """End the call; only the first call has an effect."""
        if self.done.done():
            return
        self._leave_line()
        if self._timer is not None:
            self._timer.cancel()
        if not self._given_up:  # else it may still be accepted
            self._client.forget(self._goal_id)
        self.done.set_result(outcome)

    # -- from the server to the result

    def _when_ready(self, then: Callable[[], None]) -> None:
        if self.done.done():
            return
        if self._ready():
            then()
        elif self._node.steady() >= self._limit:
            self._fail(Ending.ABSENT, stopped=True)
        else:
            self._on_state('waiting_for_server')
            self._later(POLL_PERIOD, lambda: self._when_ready(then))

    def _send(self, goal: Any) -> None:
        self.sent_at = self.last_heard = self._node.steady()
        self._accept_by = self.sent_at + self._policy.accept
        self._servers = self._client.servers
        self._on_state('sent')
        self._wait()
        self._client.send(goal, self._goal_id, self._feedback).add_done_callback(
            self._guarded(self._goal_answered))

    def _follow(self) -> None:
        self.last_heard = self._node.steady()
        self._client.listen(self._goal_id, self._feedback)
        self._run()

    def _goal_answered(self, future: Any) -> None:
        self._leave_line()
        accepted = future.result().accepted
        if self.done.done() or self._given_up:  # too late: it must not run
            if accepted and (self._canceling or not self._vanished):
                self._client.cancel(self._goal_id)
            return
        self._note_message()
        if accepted and not self._running:  # else feedback has come before
            self._run()
        elif not self._running:
            self._fail(Ending.REJECTED, stopped=True)

    def _feedback(self, feedback: Any) -> None:
        if self.done.done():
            return
        self._note_message()
        if not (self._running or self._given_up):  # its acceptance is late or was lost
            self._run()
        self._on_feedback(feedback)

    def _cancel_answered(self, future: Any) -> None:
        """Treat the goal as accepted if the server cancels it and its response was lost."""
        answer = future.result()
        canceled = bytes(self._goal_id.uuid) in (
            bytes(info.goal_id.uuid) for info in answer.goals_canceling)
        self._refused = not canceled and answer.return_code in (
            CancelGoal.Response.ERROR_NONE, CancelGoal.Response.ERROR_REJECTED)
        if canceled and not (self._running or self._given_up or self.done.done()):
            self._run()

    def _give_up(self) -> None:
        """Cancel a goal that was neither accepted nor rejected, as it may still be executed."""
        self._leave_line()
        self._given_up = True
        self._later(self._policy.accept, lambda: self._fail(Ending.UNANSWERED, stopped=False))
        self._client.cancel(self._goal_id).add_done_callback(lambda future: self._fail(
            Ending.UNANSWERED,
            stopped=future.result().return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID))

    def _run(self) -> None:
        self._leave_line()
        self._running = True
        self._accept_by = math.inf
        self._servers = self._client.servers
        self._on_state('executing')
        self._ask_result()
        if self._canceling:  # the first cancel may have come before the goal was known
            self._client.cancel(self._goal_id).add_done_callback(
                self._guarded(self._cancel_answered))

    def _ask_result(self) -> None:
        self._ask_at = self._node.steady() + self._pause
        self._pause *= 2
        self._client.ask_result(self._goal_id).add_done_callback(self._guarded(self._result))
        self._wait()

    def _result(self, future: Any) -> None:
        if self.done.done() or self._answered:
            return
        answer = future.result()
        if answer.status in ENDED:
            self._note_message()
            self._ended(answer.status, answer.result)
        elif not self._ended_by_status():
            self._unknown()

    def _ended_by_status(self) -> bool:
        """End the call if the server has told the end of the goal, but gives no result."""
        status = self._client.status_of(self._goal_id)
        if status in ENDED:
            self._ended(status, None)
        return status in ENDED

    def _ended(self, status: int, result: Any) -> None:
        self._answered = True
        end = CallEnd(Ending.RESULT, self._node.now(), True, status, result)
        if wait := self.result_wait(status):
            self._later(wait, lambda: self.end(self.outcome(end)))
        else:
            self.end(self.outcome(end))

    def _unknown(self) -> None:
        """
        Ask again: a goal sent just before a crash may arrive later, and so may a status.

        A server that lists a goal as executed and does not know it, or that has appeared since
        it was accepted, is another one. If it is the same, it keeps no results.
        """
        now = self._node.steady()
        self._unknown_since = min(self._unknown_since, now)
        listed = self._client.status_of(self._goal_id) != GoalStatus.STATUS_UNKNOWN
        if now < self._unknown_since + (LATE_STATUS if listed else ASK_TWICE):
            self._later(ASK_TWICE, self._ask_result)
        elif self._turn is None and not listed:
            self._fail(Ending.UNKNOWN, stopped=True)
        elif listed or self._policy.watch == math.inf or self._is_gone() \
                or self._client.servers - self._servers:
            self._fail(Ending.VANISHED, stopped=False)
        else:
            self._fail(Ending.NOT_KEPT, stopped=False)

    # -- silence

    def _note_message(self) -> None:
        self.last_heard = self._client.heard = self._node.steady()
        self.first_heard = self.first_heard or self.last_heard

    def _wait(self) -> None:
        """Set the timer to the next time limit."""
        now = self._node.steady()
        watch = now + self._policy.watch if self._running or self._policy.replaced else math.inf
        self._later(
            min(self._accept_by, self._ask_at, self._silent_at(), watch) - now, self._check)

    def _silent_at(self) -> float:
        """Return the steady time (s) at which the server counts as gone."""
        silence = self._policy.silence
        busy = min(self._server_heard(), self.last_heard + (BUSY - 1) * silence)
        return max(self.last_heard, busy) + silence

    def _check(self) -> None:
        now = self._node.steady()
        if now >= self._silent_at() or self._is_gone():
            if not self._ended_by_status():
                self._vanished = True
                self._fail(Ending.VANISHED, stopped=False)
        elif self._is_replaced():
            self._vanished = True
            self._fail(Ending.REPLACED, stopped=False)
        elif now >= self._accept_by:
            self._give_up()
        elif now >= self._ask_at:
            self._ask_result()
        else:
            self._wait()

    def _is_gone(self) -> bool:
        """Whether the server is not there; a restarted server does not know the goal."""
        return self._running and self._policy.watch < math.inf and not (
            self._client.server_is_there() and self._client.servers & self._servers)

    def _is_replaced(self) -> bool:
        """Whether there is a server that can't have the goal, which nobody has accepted."""
        return self._policy.replaced and not (self._running or self._given_up) \
            and self._client.server_is_there() and bool(self._client.servers - self._servers)

    # -- helpers

    def _guarded(self, callback: Callable[[Any], None]) -> Callable[..., Any]:
        return self._node.guarded(callback, what=self._what)

    def _leave_line(self) -> None:
        if self._turn is not None:
            self._turn.leave()

    def _later(self, delay: float, then: Callable[[], None]) -> None:
        """Set the timer of this call, which replaces the last one."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if self.done.done() or delay == math.inf \
            else Timeout(self._node, delay, then)

    def _fail(self, how: Ending, *, stopped: bool) -> None:
        if not self.done.done():
            self.end(self.outcome(CallEnd(how, self._node.now(), stopped)))
