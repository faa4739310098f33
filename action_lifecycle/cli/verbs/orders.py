# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs `cancel` and `clear-stop`."""

from __future__ import annotations

import argparse

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ErrorCode
from action_lifecycle_msgs.srv import CancelJob, ClearStop, SendEvent

from ..actor import who
from ..client import accepted, Client, connect, NODE
from ..exits import NotThere
from ..node_data import newest_safety, safety_line
from ...documents.errors import LifecycleError

STOPPING = 60.0
"""Maximum time (s) for a canceled flow to stop: the largest valid `stop_timeout`."""


def cancel(options: argparse.Namespace) -> None:
    """Cancel the flow, action or job that the arguments name."""
    if bool(options.target) == bool(options.job):
        raise LifecycleError('cancel: expected either FLOW_ID, FLOW_ID/ACTION or --job JOB_ID')
    flow_id, _, action_id = options.target.partition('/')
    if options.target and not action_id and options.reason:
        raise LifecycleError('--reason: is recorded for actions and jobs, not for a whole flow')
    with connect(options.namespace, options.wait) as client:
        if options.job:
            accepted(client.order(CancelJob, 'cancel_job', CancelJob.Request(
                id=options.job, actor=who(options), reason=options.reason)))
            print(f'job {options.job} canceled')
        elif action_id:
            answer = accepted(client.order(SendEvent, 'send_event', SendEvent.Request(
                flow_id=flow_id, action_id=action_id, event='cancel', actor=who(options),
                reason=options.reason)))
            print(f'{flow_id}/{action_id}: {answer.state}')
        else:
            _cancel_flow(client, options, flow_id)


def _cancel_flow(client: Client, options: argparse.Namespace, flow_id: str) -> None:
    """Cancel a flow through a goal that follows it, and wait until it has stopped."""
    handle = client.send(client.flow_action(), ExecuteFlow.Goal(
        flow_id=flow_id, requester=who(options)))
    if not handle.accepted:
        raise NotThere(f'{NODE} is not active')
    handle.cancel_goal_async()
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
                             f'({result.constellation_state})')
    print(f'flow {flow_id} canceled: {result.status.done} of {result.status.total} actions had '
          f'ended, {result.status.succeeded} succeeded')


def clear_stop(options: argparse.Namespace) -> None:
    """Clear a latched stop and print the state before."""
    with connect(options.namespace, options.wait) as client:
        before = newest_safety(client)
        accepted(client.order(ClearStop, 'clear_stop', ClearStop.Request(
            actor=who(options), reason=options.reason, resources=options.resources)))
    print(f'cleared: {safety_line(before)}')
