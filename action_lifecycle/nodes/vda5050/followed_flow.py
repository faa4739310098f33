# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One flow of the action node, of an order or an instant action."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from rclpy.task import Future

from ...lifecycle.futures import settle
from ...lifecycle.states import ErrorCode
from ...ros.calls.flow_call import FlowCall, FlowEnd
from ...ros.calls.goal_client import GoalClient
from ...ros.node.lifecycle_node import ManagedNode

REQUESTER = 'vda5050'


class FollowedFlow:
    """
    A flow that is started, or followed if the action node has it.

    `text`: the flow; '' if it has begun, so that it is not sent again if the action node has lost
    its journal. `begun` is a future of '' or of why the flow is refused; `done` one of its
    FlowEnd, or of None if that is not known, in `unknown` the reason if it is another than that
    nothing is known of the flow. `on_status` gets each FlowStatus.
    """

    def __init__(
        self, node: ManagedNode, client: GoalClient, journal: Mapping[type, Any], flow_id: str,
        text: str, source: str, on_status: Callable[[Any], None],
        on_away: Callable[[bool], None],
    ) -> None:
        self.flow_id = flow_id
        self.begun: Any = Future(executor=node.executor)
        self.done: Any = Future(executor=node.executor)
        self.unknown = ''
        self._on_status = on_status
        goal = ExecuteFlow.Goal(flow_id=flow_id, requester=REQUESTER)
        if text:
            goal.flow, goal.kind, goal.source = text, 'yaml', source
        # `sent`: a process before this one may have sent it
        self._call = FlowCall(node, client, journal, goal, sent=True, on_status=self._told,
                              on_away=on_away)
        self._call.done.add_done_callback(node.guarded(self._ended, what=f'flow {flow_id}'))

    @property
    def is_running(self) -> bool:
        """Return whether it has not ended, as far as is known."""
        return not self.done.done()

    def cancel(self) -> None:
        """Cancel the flow; `done` is set when everything has stopped."""
        self._call.cancel()

    def _told(self, status: Any) -> None:
        if status.total:  # else it is being checked
            settle(self.begun, '')
            self._on_status(status)

    def _ended(self, done: Any) -> None:
        if done.exception() is not None:
            end, self.unknown = None, str(done.exception())
            why = self.unknown
        else:
            end = done.result()
            why = '' if end.outcomes else end.error_msg or 'the action node has refused the flow'
        settle(self.begun, why)
        settle(self.done, None if end is None or is_lost(end) else end)


def is_lost(end: FlowEnd) -> bool:
    """Return whether the action node knows nothing of a flow."""
    return not end.outcomes and end.error_code == ErrorCode.NOT_FOUND
