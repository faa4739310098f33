# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Orders of people to one robot: each is a request to a service, which journals its actor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from action_lifecycle_msgs.msg import ErrorCode
from action_lifecycle_msgs.srv import ClearStop, ControlFlow, GetRows, Respond, SendEvent
from rclpy.time import Time

from .names import ACTION_NODE, ANSWERING
from ...documents.errors import LifecycleError
from ...ros.calls.order_call import OrderCall, SETTLED
from ...ros.calls.service_call import NoAnswer, NoServer
from ...ros.calls.threads import in_executor
from ...ros.interfaces.limits import message_fault
from ...ros.node.lifecycle_node import ManagedNode
from ...viewer.robots import Answer, QuestionNow, SafetyNow

APPEAR, LIMIT = 2.0, SETTLED
"""Time (s) for a node to be there, and for what became of an order; see `OrderCall`."""


class RosOrders:
    """
    Sends orders from the viewer's loop; see `viewer.robots.Orders`.

    `name_of` returns the full name of a name in the robot's namespace; `absent(node)`: why a node
    can't take orders now, '' if it can. Create it in `configure`.
    """

    def __init__(
        self, node: ManagedNode, name_of: Callable[[str], str], absent: Callable[[str], str],
    ) -> None:
        self._node = node
        self._absent = absent

        def client(kind: type, asked: str, service: str) -> Any:
            return node.add_client(kind, name_of(f'{asked}/{service}'))

        self._control = client(ControlFlow, ACTION_NODE, 'control_flow')
        self._event = client(SendEvent, ACTION_NODE, 'send_event')
        self._clear = client(ClearStop, ACTION_NODE, 'clear_stop')
        self._respond = {asker: client(Respond, asker, 'respond') for asker in ANSWERING}
        self._rows = client(GetRows, ACTION_NODE, 'get_rows')

    async def control(
        self, verb: str, flow_id: str, path: str = '', *, hold: bool = False, clear: bool = False,
        actor: str, reason: str = '', seen: int = 0,
    ) -> Answer:
        """Pause, resume, skip, retry, or set a breakpoint; see ControlFlow.srv."""
        return await self._order(ACTION_NODE, self._control, ControlFlow.Request, {
            'verb': verb, 'flow_id': flow_id, 'action_id': path, 'hold': hold, 'clear': clear,
            'actor': actor, 'reason': reason, 'base_seq': seen})

    async def cancel(
        self, flow_id: str, path: str = '', *, actor: str, reason: str = '', seen: int = 0,
    ) -> Answer:
        """Cancel a flow or one action."""
        if not path:
            return await self.control('cancel', flow_id, actor=actor, reason=reason, seen=seen)
        return await self._order(ACTION_NODE, self._event, SendEvent.Request, {
            'event': 'cancel', 'flow_id': flow_id, 'action_id': path, 'actor': actor,
            'reason': reason, 'base_seq': seen})

    async def respond(
        self, question: QuestionNow, answer: str, *, actor: str, comment: str = '',
    ) -> Answer:
        """Answer a question."""
        if question.node not in self._respond:
            return Answer(False, f"there is no node '{question.node}' that takes answers")
        return await self._order(
            question.node, self._respond[question.node], Respond.Request, {
                'id': question.id, 'answer': answer, 'actor': actor, 'comment': comment})

    async def clear_stop(
        self, resources: Sequence[str], seen: SafetyNow, *, actor: str, reason: str = ''
    ) -> Answer:
        """Clear the stop that the person saw, and unlock these resources."""
        return await self._order(ACTION_NODE, self._clear, ClearStop.Request, {
            'resources': list(resources), 'actor': actor, 'reason': reason,
            'seen': Time(nanoseconds=seen.stamp).to_msg()})

    async def _order(
        self, asked: str, client: Any, kind: Callable[..., Any], fields: dict[str, Any]
    ) -> Answer:
        if not fields['actor'].strip():
            return Answer(False, 'not sent: an order needs the name of the person who gives it')
        try:
            for text in fields.values():
                str(text).encode()  # raises if it has surrogates
            request = kind(**fields)
            fault = message_fault(request)
        except (AssertionError, UnicodeError) as error:  # what a field can't take
            fault = str(error)
        if fault := fault or self._absent(asked):
            return Answer(False, f'not sent: {fault}')
        try:
            has_rows = asked == ACTION_NODE and self._rows.service_is_ready()
            call = OrderCall(self._node, client, self._rows if has_rows else None,
                             appear=APPEAR, limit=LIMIT)
            answer, seq = await in_executor(self._node, lambda: call.start(request))
        except NoServer as error:
            return Answer(False, f'not sent: {error}')
        except NoAnswer as error:
            return Answer(False, f'it is not known whether the order was taken: {error}; look at '
                                 'what has happened before you give it again')
        except LifecycleError as error:
            return Answer(False, f'not sent: {error}')
        if answer.error_code != ErrorCode.NONE or not answer.accepted:
            return Answer(False, answer.error_msg or f'refused (error code {answer.error_code})')
        said = getattr(answer, 'error_msg', '')
        return Answer(True, '; '.join(filter(None, (seq and f'row {seq}', said))))
