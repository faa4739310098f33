# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs that give orders about flows, actions and jobs: cancel, retry."""

from __future__ import annotations

import argparse
from typing import Any

from ..arguments import add_actor, add_nodes, add_verb, NODE, who
from ..exits import DONE
from ...documents.errors import LifecycleError

STOPPING = 60.0
"""Maximum time (s) for a canceled flow to stop: the largest valid `stop_timeout`."""


def add_parser(commands: Any) -> None:
    """Add the verbs."""
    cancel = add_verb(
        commands, 'cancel', cancel_one, help='stop a flow, an action or a job',
        description='Stop a flow or an action and wait until nothing moves, or remove a '
        'scheduled job; a run of the job that has started goes on.',
        example='cancel pick-1f2e3d4c\ncancel pick-1f2e3d4c/grasp --reason "wrong part"\n'
        'cancel --job nightly')
    cancel.add_argument('target', metavar='FLOW_ID[/ACTION]', nargs='?', default='',
                        help='the flow, or an action of it')
    cancel.add_argument('--job', default='', metavar='JOB_ID', help='a scheduled job instead')

    retry = add_verb(
        commands, 'retry', retry_one, help='try an action again that has failed',
        description='Start another attempt of an action in the state `error`, without waiting '
        'for its delay.', example='retry pick-1f2e3d4c/grasp --reason "part is dry now"')
    retry.add_argument('action', metavar='ACTION', help='its id, or FLOW_ID/ID')
    retry.add_argument('--flow', default='', metavar='FLOW_ID',
                       help='its flow (default: the newest that has such an action)')
    add_actor(cancel, reason='why; recorded with the cancel of an action or a job')
    add_actor(retry)
    for parser in (cancel, retry):
        add_nodes(parser)


def cancel_one(options: argparse.Namespace) -> int:
    """Cancel the flow, action or job that the arguments name."""
    from ..client import connect
    if bool(options.target) == bool(options.job):
        raise LifecycleError('cancel: expected either FLOW_ID, FLOW_ID/ACTION or --job JOB_ID')
    flow_id, _, action_id = options.target.partition('/')
    if options.target and not action_id and options.reason:
        raise LifecycleError('--reason: is recorded for actions and jobs, not for a whole flow')
    with connect(options.namespace) as client:
        if options.job:
            from action_lifecycle_msgs.srv import CancelJob
            client.order(CancelJob, f'{NODE}/cancel_job', CancelJob.Request(
                id=options.job, actor=who(options), reason=options.reason), options.wait)
            print(f'job {options.job} canceled')
        elif action_id:
            _send_event(client, options, flow_id, action_id, 'cancel')
        else:
            _cancel_flow(client, options, flow_id)
    return DONE


def retry_one(options: argparse.Namespace) -> int:
    """Start another attempt of an action."""
    from action_lifecycle_msgs.srv import GetAction

    from ..client import accepted, connect
    flow_id, _, action_id = options.action.rpartition('/')
    flow_id = flow_id or options.flow
    with connect(options.namespace) as client:
        if not flow_id:
            found = accepted(client.call(GetAction, f'{NODE}/get_action', GetAction.Request(
                action_id=action_id), options.wait))
            flow_id = found.status.flow_id
        _send_event(client, options, flow_id, action_id, 'retry')
    return DONE


def _send_event(
    client: Any, options: argparse.Namespace, flow_id: str, action_id: str, event: str
) -> None:
    from action_lifecycle_msgs.srv import SendEvent
    answer = client.order(SendEvent, f'{NODE}/send_event', SendEvent.Request(
        flow_id=flow_id, action_id=action_id, event=event, actor=who(options),
        reason=options.reason), options.wait)
    print(f'{flow_id}/{action_id}: {answer.state}')


def _cancel_flow(client: Any, options: argparse.Namespace, flow_id: str) -> None:
    """Cancel a flow through a goal that follows it, and wait until it has stopped."""
    from action_lifecycle_msgs.action import ExecuteFlow
    from action_lifecycle_msgs.msg import ErrorCode

    from ..client import accepted
    from ..exits import NotThere
    handle = client.send(client.flow_action(options.wait), ExecuteFlow.Goal(
        flow_id=flow_id, requester=who(options)), options.wait)
    if not handle.accepted:
        raise NotThere(f'{NODE} is not active')
    handle.cancel_goal_async()
    ended = handle.get_result_async()
    client.until(ended.done, STOPPING + options.wait,
                 f'flow {flow_id} is canceled, but was not seen to stop')
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
