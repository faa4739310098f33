# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs `cancel` and `clear-stop`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ErrorCode, SafetyState
from action_lifecycle_msgs.srv import CancelJob, ClearStop, ControlFlow, SendEvent

from ..actor import who, why
from ..client import accepted, Client, connect, NODE
from ..exits import NotThere
from ..node_data import cleared_line, newest_safety, safety_data
from ...documents.errors import LifecycleError
from ...lifecycle.text_format import flow_state_in_words
from ...ros.interfaces.qos import state_qos

STOPPING = 60.0
"""Maximum time (s) for a canceled flow to stop: the largest valid `stop_timeout`."""
RECORDED = 2.0
"""Maximum time (s) for the order with the reason of a cancel, before the cancel without it."""
CLEARED = 3.0
"""Maximum time (s) for the safety state to be published after a stop was cleared."""


def cancel(options: argparse.Namespace) -> None:
    """Cancel the flow, action or job that the arguments name."""
    if bool(options.target) == bool(options.job):
        raise LifecycleError('cancel: expected either FLOW_ID, FLOW_ID/ACTION or --job JOB_ID')
    flow_id, _, action_id = options.target.partition('/')
    with connect(options.namespace, options.wait) as client:
        if options.job:
            answer, seq = client.order(CancelJob, 'cancel_job', CancelJob.Request(
                id=options.job, actor=who(options), reason=why(options)))
            accepted(answer)
            print(f'job {options.job} canceled, row {seq}')
        elif action_id:
            answer, seq = client.order(SendEvent, 'send_event', SendEvent.Request(
                flow_id=flow_id, action_id=action_id, event='cancel', actor=who(options),
                reason=why(options)))
            accepted(answer)
            print(f'{flow_id}/{action_id}: {answer.state}, row {seq}')
        else:
            _cancel_flow(client, options, flow_id)


def _cancel_flow(client: Client, options: argparse.Namespace, flow_id: str) -> None:
    """Cancel a flow through a goal that follows it, and wait until it has stopped."""
    handle = client.send(client.flow_action(), ExecuteFlow.Goal(
        flow_id=flow_id, requester=who(options)))
    if not handle.accepted:
        raise NotThere(f'{NODE} is not active')
    seq = _order_with_reason(client, options, flow_id)
    handle.cancel_goal_async()  # whatever became of the reason
    ended = handle.get_result_async()
    client.wait += STOPPING
    client.until(ended.done, f'flow {flow_id} is canceled, but was not seen to stop')
    result = ended.result().result
    if result.error_code == ErrorCode.NOT_FOUND:
        raise NotThere(f"there is no flow '{flow_id}' that runs")
    if not result.flow_id:
        accepted(result)
    if result.error_code != ErrorCode.CANCELED:
        raise LifecycleError(f"flow '{flow_id}' has ended already: {result.state} "
                             f'({flow_state_in_words(result.constellation_state)})')
    print(f'flow {flow_id} canceled: {result.status.done} of {result.status.total} actions had '
          f'ended, {result.status.succeeded} succeeded' + (f', row {seq}' if seq else ''))


def _order_with_reason(client: Client, options: argparse.Namespace, flow_id: str) -> int:
    """
    Order the cancel of a flow with its reason, which the cancel of a goal does not have.

    Returns the row of the order; 0 if it has none, such as of a flow that is planned or checked.
    """
    wait, client.wait = client.wait, min(client.wait, RECORDED)
    try:
        answer, seq = client.order(ControlFlow, 'control_flow', ControlFlow.Request(
            verb=ControlFlow.Request.CANCEL, flow_id=flow_id, actor=who(options),
            reason=why(options)), limit=client.wait)
        accepted(answer)
        return seq
    except LifecycleError as error:
        if why(options):
            print(f'action_lifecycle: the reason is not recorded: {error}', file=sys.stderr)
        return 0
    finally:
        client.wait = wait


def clear_stop(options: argparse.Namespace) -> None:
    """Clear a latched stop; print what was cleared, and the state after it."""
    told: list[Any] = []
    with connect(options.namespace, options.wait) as client:
        before = newest_safety(client)
        client.node.create_subscription(
            SafetyState, f'{NODE}/safety', lambda state: told.append(safety_data(state)),
            state_qos())
        answer, seq = client.order(ClearStop, 'clear_stop', ClearStop.Request(
            actor=who(options), reason=why(options), resources=options.resources))
        accepted(answer)
        if before['state'] == 'STOPPED' or before['locked_resources']:
            client.spin(CLEARED, lambda: told and told[-1] != before
                        and told[-1]['state'] != 'STOPPED')
        now = told[-1] if told else before
    print(f'{cleared_line(before, now)}, row {seq}')
