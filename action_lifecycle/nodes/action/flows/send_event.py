# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service ~/send_event: events of an action from outside, and their data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
import uuid

from action_lifecycle_msgs.srv import SendEvent

from ....documents.errors import LifecycleError, TransitionNotAllowed
from ....documents.json_text import read_object
from ....documents.suggestions import nearest
from ....flow.control.orders import OrderRefused
from ....flow.orchestrator import FROM_OUTSIDE, Orchestrator
from ....lifecycle.action import Action
from ....lifecycle.states import ActionOutcome, ErrorCode
from ....ros.node.lifecycle_node import ManagedNode


class EventServer:
    """
    Offers `~/send_event`; to be created in `configure`.

    `running()` returns the orchestrator, or raises `LifecycleError`.
    """

    def __init__(self, node: ManagedNode, running: Callable[[], Orchestrator]) -> None:
        self._running = running
        node.add_service(SendEvent, '~/send_event', self._send)

    def _send(self, request: Any, response: Any) -> Any:
        orchestrator = self._running()
        flow_id, action_id = orchestrator.nested.find_run(request.flow_id, request.action_id)
        run = orchestrator.runs.get(flow_id)
        if run is None or action_id not in run.runners:
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = f"no running action '{request.flow_id}/{request.action_id}'"
            return response
        action = run.runners[action_id].action
        try:
            orchestrator.control.check_unchanged(
                request.event, flow_id, action_id, request.base_seq)
            data = event_data(request, action)
            orchestrator.fire(flow_id, action_id, request.event, **data)
            response.accepted = True
        except (OrderRefused, TransitionNotAllowed) as error:
            response.error_code = int(ErrorCode.NOT_ALLOWED)
            response.error_msg = str(error)
        response.state = action.state.value
        response.possible_events = list(action.machine.possible_events())
        response.seq = action.seq
        return response


def event_data(request: Any, action: Action) -> dict[str, Any]:
    """Return the event data of a SendEvent request; raises `LifecycleError` if not valid."""
    event = request.event
    if event not in FROM_OUTSIDE:
        raise LifecycleError(f"event: '{event}' can not be sent from outside"
                             + nearest(event, FROM_OUTSIDE)
                             + f" (known: {', '.join(FROM_OUTSIDE)})")
    if not request.actor:
        raise LifecycleError('actor: must say who sends the event')
    state = action.state.value
    if request.expected_state and request.expected_state != state:
        raise TransitionNotAllowed(event, state, action.machine.possible_events(),
                                   f"expected state '{request.expected_state}'")
    given = read_object(request.data_json, 'data_json')
    if not isinstance(given.get('parameters', {}), dict):
        raise LifecycleError('data_json: parameters: expected an object')
    allowed = ('parameters',) if event == 'receive_fallback' else ()
    for name in given:
        if name not in allowed:
            raise LifecycleError(f"data_json: '{event}' takes no '{name}'"
                                 + nearest(name, allowed))
    return {**_own(event, action), **given, 'actor': request.actor, 'cause': request.reason}


def _own(event: str, action: Action) -> dict[str, Any]:
    """Return the data that the event needs and only this node knows."""
    if event == 'repeat_motion':
        return {'goal_id': uuid.uuid4().hex}
    if event == 'receive_fallback':
        return {'strategy': 'retry', 'next_fallback': action.next_fallback + 1}
    if event == 'terminate':
        outcome = ActionOutcome.SUCCEEDED if action.passed_completed else ActionOutcome.FAILED
        return {'outcome': outcome.value}
    return {}
