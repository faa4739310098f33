# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Requests about a running flow: edits, pauses, and what its actions are now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from action_lifecycle_msgs.msg import ErrorCode
from action_lifecycle_msgs.srv import ControlFlow, EditFlow, GetHistory, ListActions

from .followed_flow import REQUESTER
from ...documents.errors import LifecycleError
from ...documents.json_text import read_object
from ...flow.run.flow_run import HELD
from ...ros.calls.journaled_end import PAGE, SERVICES
from ...ros.calls.service_call import NoServer, RetryPolicy, ServiceCall
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import sleep
from ...vda5050.order_flow import DIGEST
from ...vda5050.progress import ActionNow

ONCE = RetryPolicy(appear=5.0, answer=15.0)
"""A request that changes something is sent once."""
READ = RetryPolicy(repeat=5.0)
"""A request that only reads is repeated until it is answered."""
AGAIN = 1.0
"""Delay (s) before a request that has failed is made again."""


class FlowOrders:
    """Clients of the action node; create it in `configure`, call it in the executor's thread."""

    def __init__(self, node: ManagedNode, action_node: str) -> None:
        self._node = node
        self.journal = {kind: node.add_client(kind, f'{action_node}/{name}')
                        for kind, name in SERVICES.items()}
        self._edits = node.add_client(EditFlow, f'{action_node}/edit_flow')
        self._controls = node.add_client(ControlFlow, f'{action_node}/control_flow')

    async def edit(self, flow_id: str, text: str, reason: str, *, again: bool) -> str:
        """
        Apply an edit once; returns '' or why it is refused.

        `reason` identifies it: what became of an edit whose response was lost (or, with `again`,
        that an earlier process may have sent) is read from the journal.
        """
        while True:
            if again and await self._was_applied(flow_id, reason):
                return ''
            call = ServiceCall(self._node, self._edits, lambda: EditFlow.Request(
                flow_id=flow_id, edit_yaml=text, author=REQUESTER, reason=reason), ONCE)
            try:
                answer = await call.done
            except NoServer:
                continue
            except LifecycleError:
                again = True
                await sleep(self._node, AGAIN)
                continue
            if answer.accepted:
                return ''
            if answer.error_code != ErrorCode.NOT_READY:
                return str(answer.error_msg)
            await sleep(self._node, AGAIN)

    async def control(self, flow_id: str, verb: str, *, hold: bool = False) -> str:
        """Pause or resume a flow; returns '' or why that is refused."""
        call = ServiceCall(self._node, self._controls, lambda: ControlFlow.Request(
            verb=verb, flow_id=flow_id, hold=hold, actor=REQUESTER,
            reason='instant action of the fleet manager'), RetryPolicy(answer=15.0, repeat=3.0))
        try:  # repeated: a second pause or resume changes nothing
            answer = await call.done
        except LifecycleError as error:
            return str(error)
        return '' if answer.accepted else str(answer.error_msg)

    async def now(self, flow_id: str) -> dict[str, ActionNow]:
        """Return the actions of a flow that have begun, from the journal."""
        found: dict[str, ActionNow] = {}
        while True:
            request = ListActions.Request(flow_id=flow_id, limit=PAGE, offset=len(found))
            page = await ServiceCall(
                self._node, self.journal[ListActions], lambda request=request: request, READ).done
            if page.error_code == ErrorCode.NOT_READY:
                await sleep(self._node, AGAIN)
                continue
            found.update(action_now(status) for status in page.actions)
            if len(page.actions) < PAGE:
                return found

    async def digest(self, flow_id: str) -> str | None:
        """Return the digest with which a flow was begun, '' if without; None if not known."""
        begun = await self._change(flow_id, lambda change: change.event == 'accepted')
        if begun is None:
            return None
        return str(read_object(begun.data_json, 'data_json').get('parameters', {}).get(DIGEST, ''))

    async def _was_applied(self, flow_id: str, reason: str) -> bool:
        """Return whether the journal has the edit."""
        return await self._change(flow_id, lambda change: change.event == 'edited'
                                  and change.cause == reason) is not None

    async def _change(self, flow_id: str, wanted: Callable[[Any], bool]) -> Any:
        """Return the first change of a flow in the journal that is wanted, or None."""
        after = 0
        while True:
            request = GetHistory.Request(flow_id=flow_id, after_seq=after, limit=PAGE)
            page = await ServiceCall(
                self._node, self.journal[GetHistory], lambda request=request: request, READ).done
            if page.error_code == ErrorCode.NOT_READY:
                await sleep(self._node, AGAIN)
                continue
            found = next(filter(wanted, page.flow_changes), None)
            if found is not None or not page.more:
                return found
            after = max(_numbers(page))


def _numbers(page: Any) -> Iterator[int]:
    for change in (*page.changes, *page.flow_changes):
        yield change.seq


def action_now(status: Any) -> tuple[str, ActionNow]:
    """Return name and state of an ActionStatus."""
    ended = status.state.value == 'terminated'
    return status.action_id, ActionNow(
        status.state.value, status.state.outcome, status.attempt,
        status.error_msg if ended and status.state.outcome != 'succeeded' else '',
        f': {HELD}' in status.blocked_reason, status.seq)
