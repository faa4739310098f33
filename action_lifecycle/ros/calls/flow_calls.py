# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs flows of the action_lifecycle node, awaited in an asyncio loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from action_lifecycle_msgs.action import ExecuteFlow

from .flow_call import FlowCall, FlowEnd
from .goal_client import kept_goal_client
from .journaled_end import SERVICES
from .threads import start_call
from ..conversions.status import at_time_limit
from ..node.lifecycle_node import ManagedNode
from ...agents.sessions.detach import is_detached
from ...agents.tool_state import ToolError
from ...lifecycle.states import ErrorCode

STOP_LIMIT = 10.0
"""Maximum time (s) for a canceled flow to stop; then a warning is logged."""


class FlowCalls:
    """Client of `execute_flow` of the action node `action_node`; create it in `configure`."""

    def __init__(self, node: ManagedNode, action_node: str) -> None:
        self._node = node
        self._client = kept_goal_client(node, ExecuteFlow, f'{action_node}/execute_flow')
        self._journal = {kind: node.add_client(kind, f'{action_node}/{name}')
                         for kind, name in SERVICES.items()}

    async def run(
        self, flow: str, source: str, *, user: str = '', time_limit: float, flow_id: str = '',
        again: bool = False,
    ) -> FlowEnd:
        """
        Run a flow (YAML text) and return its end; raises ToolError without one.

        `again`: an earlier process may have sent the flow with this id. At the time limit, or if
        this task is canceled, the flow is canceled, and one with an id is waited for, see `stop`.
        But the flow is left alone if the session of a canceled task is detached, see
        `agents.sessions.detach`.
        """
        followed, cancel, ended = self._follow(ExecuteFlow.Goal(
            flow=flow, kind='yaml', source=source, requester=user, flow_id=flow_id), again)
        try:
            return await asyncio.wait_for(asyncio.shield(ended), time_limit)
        except (asyncio.TimeoutError, asyncio.CancelledError) as error:
            late = isinstance(error, asyncio.TimeoutError)
            if not late and is_detached():
                raise
            last = followed[0].status if followed else None
            cancel()
            if flow_id:
                await self._until_stopped(flow_id, ended, None if late else error)
            else:
                await asyncio.wait([ended], timeout=STOP_LIMIT)
            if not late:
                raise
            was_sent = any(one.sent for one in followed)
            raise ToolError(
                f'not done within {time_limit:g} s; it was canceled{at_time_limit(last)}'
                if was_sent else f'the action node is not there after {time_limit:g} s') from None

    async def stop(self, flow_id: str) -> None:
        """
        Cancel a flow that may have been sent, and wait until it has ended or is not known.

        While the action node is away, this goes on, because that node would resume the flow.
        """
        _, cancel, ended = self._follow(ExecuteFlow.Goal(flow_id=flow_id), True)
        cancel()
        await self._until_stopped(flow_id, ended, None)

    def _follow(self, goal: ExecuteFlow.Goal, sent: bool) -> tuple[
        list[FlowCall], Callable[[], None], asyncio.Future[FlowEnd]
    ]:
        """Start to follow a flow; returns it, what cancels it, and a future of its end."""
        followed: list[FlowCall] = []

        def make() -> FlowCall:
            followed.append(FlowCall(
                self._node, self._client, self._journal, goal, sent=sent))
            return followed[0]

        return followed, *start_call(self._node, make)

    async def _until_stopped(
        self, flow_id: str, ended: asyncio.Future[FlowEnd], error: BaseException | None,
    ) -> None:
        """Wait for the end of a canceled flow, also if this task is canceled; raises `error`."""
        while error is None or not is_detached():
            try:
                if not (await asyncio.wait([ended], timeout=STOP_LIMIT))[0]:
                    self._node.get_logger().warning(
                        f'flow {flow_id} is canceled, and has not stopped after '
                        f'{STOP_LIMIT:g} s, or the action node is not there; waiting for its end')
                end = await asyncio.shield(ended)
                break
            except asyncio.CancelledError as cancel:
                if ended.cancelled():
                    raise
                error = cancel
        else:
            raise error
        if ErrorCode.STOP_UNCONFIRMED in end.codes:
            self._node.get_logger().error(f'flow {flow_id} is canceled: {end.error_msg}')
        if error is not None:
            raise error
