# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Runs flows of the action_lifecycle node, awaited in an asyncio loop.

A flow with an id is never executed twice: if this process or the action node was restarted, the
flow with the id is followed, or its outcome is read from the journal of the action node.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
import json
import time
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.srv import ListActions

from .goal_call import CallEnd, Ending, GoalCall, GoalPolicy
from .goal_client import kept_goal_client
from .service_call import NoAnswer, RetryPolicy
from .threads import call_from_loop, start_call
from ..node.lifecycle_node import ManagedNode
from ...agents.sessions.detach import is_detached
from ...agents.tool_state import ToolError
from ...lifecycle.states import ErrorCode

ANSWER = 10.0
"""Maximum time (s) for the action node to accept a flow."""
STOP_LIMIT = 10.0
"""Maximum time (s) for a canceled flow to stop; then a warning is logged."""
PAUSE = 1.0
"""Delay (s) before a flow is looked for again."""
_POLICY = GoalPolicy(accept=ANSWER)
_FOLLOWED = GoalPolicy(accept=ANSWER, repeat=5.0, watch=1.0)  # of flows with an id
_NOT_NOW = (ErrorCode.INTERRUPTED, ErrorCode.NOT_READY)


@dataclass(frozen=True)
class FlowEnd:
    """How a flow ended; `codes`: the error codes of the flow and of its actions."""

    flow_id: str
    error_code: int
    error_msg: str
    summary: dict[str, Any]
    codes: frozenset[int]

    def require_success(self) -> None:
        """Raise ToolError if the flow has failed."""
        if self.error_code:
            raise ToolError(f'{self.error_msg} (error code {self.error_code})')


class _Late(ToolError):
    """There is no result within the time limit."""


class FlowCalls:
    """Client of `execute_flow` of the action node `action_node`; create it in `configure`."""

    def __init__(self, node: ManagedNode, action_node: str) -> None:
        self._node = node
        self._client = kept_goal_client(node, ExecuteFlow, f'{action_node}/execute_flow')
        self._actions = node.add_client(ListActions, f'{action_node}/list_actions')

    async def run(
        self, flow: str, source: str, *, user: str = '', time_limit: float, flow_id: str = '',
        again: bool = False,
    ) -> FlowEnd:
        """
        Run a flow (YAML text) and return its end; raises ToolError without one.

        `again`: an earlier process may have sent the flow with this id. At the time limit, or if
        this task is cancelled, the flow is canceled, and one with an id is waited for, see `stop`.
        But the flow is left alone if the session of a cancelled task is detached, see
        `agents.sessions.detach`.
        """
        new = ExecuteFlow.Goal(
            flow=flow, kind='yaml', source=source, requester=user, flow_id=flow_id)
        calls: list[GoalCall] = []
        try:
            return await self._run(new, time_limit, again, calls)
        except (asyncio.CancelledError, _Late) as error:
            if flow_id and (again or any(call.sent_at for call in calls)):
                await self._stop_after(error, flow_id)
            raise

    async def _run(
        self, new: ExecuteFlow.Goal, time_limit: float, sent: bool, calls: list[GoalCall]
    ) -> FlowEnd:
        """Do the same; `calls` gets the calls of goals that were not rejected."""
        flow_id = new.flow_id
        known = ExecuteFlow.Goal(flow_id=flow_id, requester=new.requester)
        deadline = time.monotonic() + time_limit
        while True:
            end = await self._call(known if sent else new, deadline, time_limit, calls)
            if end.how is Ending.REJECTED:
                calls.pop()
            result = end.result
            if not flow_id:
                return _end(end)
            if end.how is Ending.RESULT:
                code = result.error_code
                if sent and code == ErrorCode.NOT_FOUND:
                    found = await self._from_journal(flow_id)
                    if found is not None:
                        return found
                    sent = False  # the flow has never arrived
                    continue
                if not sent and code == ErrorCode.FLOW_RUNNING:
                    sent = True
                    continue
                if code not in _NOT_NOW:
                    return _end(end)
            sent = sent or end.how is not Ending.REJECTED
            if time.monotonic() + PAUSE > deadline:
                raise _Late(f'the action node is not there after {time_limit:g} s')
            await asyncio.sleep(PAUSE)

    async def _stop_after(self, error: BaseException, flow_id: str) -> None:
        """Stop a flow, also if this task is cancelled meanwhile; raises the last error."""
        while isinstance(error, _Late) or not is_detached():
            try:
                await self.stop(flow_id)
                break
            except asyncio.CancelledError as cancel:
                error = cancel
        raise error

    async def stop(self, flow_id: str) -> None:
        """
        Cancel a flow that may have been sent, and wait until it has ended or is not known.

        While the action node is away, this goes on, because that node would resume the flow.
        """
        while True:
            end = await self._stop(flow_id)
            if end.how is Ending.RESULT and end.result.error_code not in _NOT_NOW:
                break
            await asyncio.sleep(PAUSE)
        if ErrorCode.STOP_UNCONFIRMED in _end(end).codes:
            self._node.get_logger().error(f'flow {flow_id} is canceled: {end.result.error_msg}')

    async def _stop(self, flow_id: str) -> CallEnd:
        """Follow a flow and cancel it; returns the end of the call."""
        calls: list[GoalCall] = []

        def on_state(state: str) -> None:
            if state == 'executing':
                self._node.call_soon(calls[0].cancel)

        def make() -> GoalCall:
            calls.append(GoalCall(self._node, self._client, None, _FOLLOWED, on_state=on_state))
            return calls[0].send(ExecuteFlow.Goal(flow_id=flow_id))

        cancel, ended = start_call(self._node, make)
        try:
            if not (await asyncio.wait([ended], timeout=STOP_LIMIT))[0]:
                self._node.get_logger().warning(
                    f'flow {flow_id} is canceled, and has not stopped after {STOP_LIMIT:g} s, or '
                    'the action node is not there; waiting for its end')
            return await ended
        finally:
            cancel()

    async def _call(
        self, goal: ExecuteFlow.Goal, deadline: float, time_limit: float, calls: list[GoalCall]
    ) -> CallEnd:
        policy = _FOLLOWED if goal.flow_id else _POLICY

        def make() -> GoalCall:
            calls.append(GoalCall(self._node, self._client, None, policy))
            return calls[-1].send(goal)

        cancel, ended = start_call(self._node, make)
        try:
            left = max(0.0, deadline - time.monotonic())
            end: CallEnd = await asyncio.wait_for(asyncio.shield(ended), left)
            return end
        except (asyncio.TimeoutError, asyncio.CancelledError) as error:
            is_cancel = isinstance(error, asyncio.CancelledError)
            if is_cancel and is_detached():
                raise
            cancel()
            await asyncio.wait([ended], timeout=STOP_LIMIT)
            if is_cancel:
                raise
            if ended.done() and ended.result().how is Ending.CANCELED:
                raise _Late(f'the action node is not there after {time_limit:g} s') from None
            raise _Late(f'not done within {time_limit:g} s; it was canceled') from None

    async def _from_journal(self, flow_id: str) -> FlowEnd | None:
        """Return the end of a flow that the action node does not know any more, or None."""
        try:
            response = await call_from_loop(
                self._node, self._actions, ListActions.Request(flow_id=flow_id, limit=1000),
                RetryPolicy.tries(ANSWER, ANSWER))
        except NoAnswer as error:
            raise ToolError(f'what became of the flow {flow_id} is not known: {error}') from error
        actions = response.actions
        if response.error_code or not actions:
            return None
        outcomes = Counter(action.state.outcome for action in actions)
        done = outcomes['succeeded'] + outcomes['skipped'] == len(actions)
        code = ErrorCode.NONE if done else \
            ErrorCode.CANCELED if outcomes['canceled'] else ErrorCode.FLOW_FAILED
        return FlowEnd(
            flow_id, int(code), '; '.join(
                f'{action.action_id}: {action.error_msg}' for action in actions
                if action.state.outcome not in ('succeeded', 'skipped')),
            {'total': len(actions), **outcomes},
            frozenset({int(code), *(action.error_code for action in actions)}))


def _end(end: CallEnd) -> FlowEnd:
    if end.how is not Ending.RESULT:
        raise ToolError('the action node takes no flow now' if end.how is Ending.REJECTED
                        else 'the action node does not answer')
    result = end.result
    return FlowEnd(
        result.flow_id, result.error_code, result.error_msg or result.state,
        json.loads(result.summary_json or '{}'),
        frozenset({result.error_code, *(action.error_code for action in result.status.actions)}))
