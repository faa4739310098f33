# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service `~/control_flow`: orders of people to running flows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_lifecycle_msgs.srv import ControlFlow

from ....documents.errors import LifecycleError
from ....documents.suggestions import nearest
from ....flow.control.orders import Control, Ordered, OrderRefused
from ....flow.orchestrator import Orchestrator
from ....journal.row import JournalError
from ....lifecycle.states import ErrorCode
from ....ros.node.lifecycle_node import ManagedNode

Request = ControlFlow.Request
VERBS = (Request.PAUSE, Request.RESUME, Request.SKIP, Request.RETRY, Request.BREAKPOINT,
         Request.CANCEL)
OF_ACTION = (Request.SKIP, Request.RETRY, Request.BREAKPOINT)
"""The verbs that need an action."""


class ControlServer:
    """
    Offers `~/control_flow`; to be created in `configure`.

    `running()` returns the orchestrator, or raises `LifecycleError`.
    """

    def __init__(self, node: ManagedNode, running: Callable[[], Orchestrator]) -> None:
        self._running = running
        node.add_service(ControlFlow, '~/control_flow', self._control)

    def _control(self, request: Any, response: Any) -> Any:
        orchestrator = self._running()
        check(request)
        request.flow_id, request.action_id = orchestrator.nested.find_run(
            request.flow_id, request.action_id)
        run = orchestrator.runs.get(request.flow_id)
        if run is None:
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = f"there is no flow '{request.flow_id}'" \
                + nearest(request.flow_id, orchestrator.runs)
            return response
        if request.action_id and request.action_id not in run.runners:
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = f"flow '{request.flow_id}' has no action '{request.action_id}'" \
                + nearest(request.action_id, run.runners)
            return response
        try:
            orchestrator.control.check_unchanged(
                request.verb, request.flow_id, request.action_id, request.base_seq)
            ordered = carry_out(orchestrator.control, request)
        except OrderRefused as error:
            response.error_code, response.error_msg = int(ErrorCode.NOT_ALLOWED), str(error)
        except JournalError as error:
            response.error_code = int(ErrorCode.JOURNAL_FAILED)
            response.error_msg = f'the order can not be recorded: {error}'
        else:
            response.accepted = True
            response.seq, response.error_msg = ordered
        return response


def check(request: Any) -> None:
    """Check the fields of a request; raises `LifecycleError`."""
    verb = request.verb
    if verb not in VERBS:
        raise LifecycleError(f"verb: '{verb}' is none{nearest(verb, VERBS)} "
                             f"(known: {', '.join(VERBS)})")
    if not request.actor.strip():
        raise LifecycleError('actor: must say who gives the order')
    if verb in OF_ACTION and not request.action_id:
        raise LifecycleError(f"action_id: '{verb}' needs an action")
    if verb == Request.PAUSE and request.action_id:
        raise LifecycleError("action_id: 'pause' is for a whole flow; set a breakpoint for one "
                             'action')
    if verb == Request.CANCEL and request.action_id:
        raise LifecycleError("action_id: 'cancel' is for a whole flow; for one action, use "
                             '~/send_event')
    if request.hold and verb != Request.PAUSE:
        raise LifecycleError("hold: is only for 'pause'")
    if request.clear and verb != Request.BREAKPOINT:
        raise LifecycleError("clear: is only for 'breakpoint'")


def carry_out(control: Control, request: Any) -> Ordered:
    """Give the order of a checked request; see `Control` for what it raises."""
    flow_id, action_id = request.flow_id, request.action_id
    actor, reason = request.actor, request.reason
    if request.verb == Request.PAUSE:
        return control.pause(flow_id, actor, reason, hold=request.hold)
    if request.verb == Request.RESUME:
        return control.resume(flow_id, actor, reason, action_id=action_id)
    if request.verb == Request.SKIP:
        return control.skip(flow_id, action_id, actor, reason)
    if request.verb == Request.RETRY:
        return control.retry(flow_id, action_id, actor, reason)
    if request.verb == Request.CANCEL:
        return control.cancel(flow_id, actor, reason)
    if request.clear:
        return control.clear_breakpoint(flow_id, action_id, actor, reason)
    return control.set_breakpoint(flow_id, action_id, actor, reason)
