# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
One flow of the action node, from its goal to its end, in the executor's thread.

A flow with an id is never executed twice: if this process or the action node was restarted, the
flow with the id is followed, or its outcome is read from the journal of the action node.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from rclpy.task import Future

from .goal_call import CallEnd, Ending, GoalCall, GoalPolicy
from .goal_client import GoalClient
from .journaled_end import FlowOpen, journaled_end
from .service_call import RetryPolicy, ServiceCall
from ..node.timers import Timeout
from ...agents.tool_state import ToolError
from ...documents.json_text import read_object
from ...lifecycle.futures import settle
from ...lifecycle.states import ErrorCode

ANSWER = 10.0
"""Maximum time (s) for the action node to accept a flow."""
PAUSE = 1.0
"""Delay (s) before a flow is looked for again."""
_POLICY = GoalPolicy(accept=ANSWER)
_FOLLOWED = GoalPolicy(accept=ANSWER, repeat=5.0, watch=0.5, replaced=True)  # with an id
_NOT_NOW = (ErrorCode.INTERRUPTED, ErrorCode.NOT_READY)


@dataclass(frozen=True)
class FlowEnd:
    """
    How a flow ended.

    `error_code`: a constant of `ErrorCode`; 0 if it succeeded. `codes`: the error codes of the
    flow and of its actions. `outcomes`: succeeded, failed, canceled or skipped, by action.
    """

    flow_id: str
    error_code: int
    error_msg: str
    summary: dict[str, Any]
    codes: frozenset[int]
    outcomes: Mapping[str, str] = field(default_factory=dict)

    def require_success(self) -> None:
        """Raise ToolError if the flow has failed."""
        if self.error_code:
            raise ToolError(f'{self.error_msg} (error code {self.error_code})')

    @classmethod
    def of(cls, result: ExecuteFlow.Result) -> FlowEnd:
        """Return the end that a result of the action node says."""
        actions = result.status.actions
        return cls(
            result.flow_id, result.error_code, result.error_msg or result.state,
            read_object(result.summary_json, 'summary_json'),
            frozenset({result.error_code, *(action.error_code for action in actions)}),
            {action.action_id: action.state.outcome for action in actions})


class FlowCall:
    """
    A flow that is sent, or followed if `sent`: an earlier process may have sent it.

    `done` is a future of its `FlowEnd`; it raises ToolError if there is none. While the action
    node is away, a flow with an id is waited for, also after `cancel`, because that node resumes
    it. `journal`: clients of `journaled_end.SERVICES`. `on_status` is called with each
    `FlowStatus`, `on_away` when the action node has gone with the flow (True) and when it is back
    (False).
    """

    def __init__(
        self, node: Any, client: GoalClient, journal: Mapping[type, Any],
        goal: ExecuteFlow.Goal, *, sent: bool = False,
        on_status: Callable[[Any], None] = lambda status: None,
        on_away: Callable[[bool], None] = lambda away: None,
    ) -> None:
        self.done: Any = Future()
        self._sent = sent
        self._node = node
        self._client = client
        self._journal = journal
        self._goal = goal
        self.status: Any = None  #: the last FlowStatus; None before the first
        self._on_status = on_status
        self._on_away = on_away
        self._away = False
        self._canceling = False
        self._call: GoalCall | None = None
        self._try()

    @property
    def sent(self) -> bool:
        """Return whether the action node may have the flow."""
        return self._sent or self._call is not None and bool(self._call.sent_at)

    def cancel(self) -> None:
        """Cancel the flow; `done` is set when everything has stopped."""
        if self.done.done() or self._canceling:
            return
        self._canceling = True
        if self._call is not None:
            self._call.cancel()
        elif not self._sent:
            self._end_unsent()

    def _try(self) -> None:
        if self.done.done():
            return
        if self._canceling and not self._sent:
            self._end_unsent()
            return
        goal = ExecuteFlow.Goal(flow_id=self._goal.flow_id, requester=self._goal.requester) \
            if self._sent else self._goal
        call = GoalCall(
            self._node, self._client, None, _FOLLOWED if goal.flow_id else _POLICY,
            on_state=self._state, on_feedback=self._told)
        self._call = call
        call.done.add_done_callback(self._node.guarded(
            lambda done: self._ended(call, done.result()), what='the end of a flow'))
        call.send(goal)

    def _told(self, message: Any) -> None:
        self.status = message.status
        self._on_status(message.status)

    def _state(self, state: str) -> None:
        if state == 'executing':
            self._say_away(False)
            if self._canceling and self._call is not None:
                self._node.call_soon(self._call.cancel)

    def _ended(self, call: GoalCall, end: CallEnd) -> None:
        was_sent, result = self._sent, end.result
        self._sent = self.sent and (was_sent or end.how is not Ending.REJECTED)
        self._call = None
        if not self._goal.flow_id:
            self._finish(end)
        elif self._canceling and not self._sent:
            self._end_unsent()
        elif end.how is Ending.REPLACED:
            self._try()
        elif end.how is not Ending.RESULT or result.error_code in _NOT_NOW:
            if self._sent:
                self._say_away(True)
            Timeout(self._node, PAUSE, self._try)
        elif was_sent and result.error_code == ErrorCode.NOT_FOUND and not self._canceling:
            self._look_in_journal()
        elif not was_sent and result.error_code == ErrorCode.FLOW_RUNNING:
            self._try()
        else:
            self._finish(end)

    def _look_in_journal(self) -> None:
        """Find out what became of a flow that the action node does not run."""
        self._read_on(journaled_end(self._goal.flow_id))

    def _read_on(self, reading: Generator[tuple[type, Any], Any, Any], page: Any = None) -> None:
        """Pass a response of the action node on to the reader and send the next request."""
        try:
            kind, request = reading.send(page)
        except StopIteration as read:
            self._found(read.value)
        except FlowOpen as error:
            self.done.set_exception(ToolError(str(error)))
        else:
            ServiceCall(self._node, self._journal[kind], lambda: request,
                        RetryPolicy.tries(ANSWER, ANSWER)).on_done(
                lambda done: self._answered(reading, done))

    def _answered(self, reading: Generator[tuple[type, Any], Any, Any], done: Any) -> None:
        page, error = None, done.exception()
        if error is None:
            page = done.result()
            error = page.error_code and page.error_msg
        if not error:
            self._read_on(reading, page)
        elif page is not None and page.error_code in _NOT_NOW:
            Timeout(self._node, PAUSE, self._try)
        else:
            self.done.set_exception(ToolError(
                f'what became of the flow {self._goal.flow_id} is not known: {error}'))

    def _found(self, result: ExecuteFlow.Result | None) -> None:
        if result is not None:
            self.done.set_result(FlowEnd.of(result))
            return
        self._sent = False  # the flow has never arrived
        if self._goal.flow:
            self._try()
        else:
            self._end_unsent(ErrorCode.NOT_FOUND, 'the action node does not know the flow')

    def _finish(self, end: CallEnd) -> None:
        if end.how is Ending.RESULT:
            self.done.set_result(FlowEnd.of(end.result))
        elif end.how is Ending.CANCELED:
            self._end_unsent()
        else:
            self.done.set_exception(ToolError(
                'the action node takes no flow now' if end.how is Ending.REJECTED
                else 'the action node does not answer'))

    def _end_unsent(
        self, code: int = ErrorCode.CANCELED, message: str = 'canceled before it was sent',
    ) -> None:
        settle(self.done, FlowEnd(
            self._goal.flow_id, int(code), message, {}, frozenset({int(code)})))

    def _say_away(self, away: bool) -> None:
        if away is not self._away:
            self._away = away
            self._on_away(away)
