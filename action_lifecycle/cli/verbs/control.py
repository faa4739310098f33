# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs `pause`, `resume`, `skip`, `retry` and `breakpoint`: orders to running flows."""

from __future__ import annotations

import argparse
from typing import Any

from action_lifecycle_msgs.msg import ErrorCode, FlowStatusArray
from action_lifecycle_msgs.srv import ControlFlow, GetAction

from .orders import STOPPING
from ..actor import who, why
from ..client import accepted, Client, connect, NODE
from ..exits import FLOW_FAILED
from ...documents.errors import LifecycleError
from ...lifecycle.flow_ids import is_within
from ...ros.interfaces.qos import state_qos

STOPPED = 'approval_required: stopped'
"""How `blocked_reason` of an action begins whose motion was seen to stop."""


def pause(options: argparse.Namespace) -> int | None:
    """Pause a flow; with `--hold`, wait until nothing of it moves."""
    with connect(options.namespace, options.wait) as client:
        received: list[Any] = []
        client.node.create_subscription(
            FlowStatusArray, f'{NODE}/flow', received.append, state_qos())
        _order(client, options, options.flow, '', 'paused', hold=options.hold)
        return _until_stopped(client, options.flow, received) if options.hold else None


def _until_stopped(client: Client, flow_id: str, received: list[Any]) -> int | None:
    """Wait until each motion of a held flow has stopped; returns the exit code."""
    client.wait += STOPPING

    def actions() -> list[Any] | None:
        flows = {flow.flow_id: flow for flow in received[-1].flows} if received else {}
        flow = flows.get(flow_id)
        if flow is None or not (flow.paused or flow.error_code):
            return None
        return [action for other in flows.values() if is_within(other.flow_id, flow_id)
                for action in other.actions]

    def stopped() -> bool:
        found = actions()
        return found is not None and all(
            action.state.value != 'executing_motion' or action.blocked_reason.startswith(STOPPED)
            for action in found)

    client.until(stopped, f'flow {flow_id} is paused, but was not seen to stop')
    lost = [action for action in actions() or ()
            if action.error_code == ErrorCode.STOP_UNCONFIRMED]
    for action in lost:
        print(f'{action.action_id}: {action.error_msg}')
    if not lost:
        print('nothing of it moves')
    return FLOW_FAILED if lost else None


def resume(options: argparse.Namespace) -> None:
    """Resume a flow, or one of its actions at its breakpoint."""
    _give(options, 'resumed')


def skip(options: argparse.Namespace) -> None:
    """End an action as skipped."""
    _give(options, 'skipped')


def retry(options: argparse.Namespace) -> None:
    """Run an ended action again, or begin the next attempt of one in error."""
    if not options.action and '/' not in options.target:
        options.target, options.action = options.flow, options.target
    _give(options, 'retried')


def set_breakpoint(options: argparse.Namespace) -> None:
    """Set or clear a breakpoint."""
    _give(options, 'breakpoint cleared' if options.clear else 'breakpoint set',
          clear=options.clear)


def _give(options: argparse.Namespace, done: str, **more: Any) -> None:
    """Give an order about the flow or action that the arguments name."""
    flow_id, action_id = options.target, options.action
    if not action_id:
        flow_id, _, action_id = options.target.partition('/')
    if options.verb != 'resume' and not action_id:
        raise LifecycleError(f'{options.verb}: expected an action, as FLOW_ID ACTION or '
                             'FLOW_ID/ACTION')
    with connect(options.namespace, options.wait) as client:
        if not flow_id:
            found = accepted(client.call(GetAction, f'{NODE}/get_action', GetAction.Request(
                action_id=action_id)))
            flow_id = found.status.flow_id
        _order(client, options, flow_id, action_id, done, **more)


def _order(
    client: Client, options: argparse.Namespace, flow_id: str, action_id: str, done: str,
    **more: Any,
) -> None:
    """Call the service and print what was done, with the row of the journal."""
    answer, seq = client.order(ControlFlow, 'control_flow', ControlFlow.Request(
        verb=options.verb, flow_id=flow_id, action_id=action_id, actor=who(options),
        reason=why(options), **more))
    accepted(answer)
    about = f'{flow_id}/{action_id}' if action_id else flow_id
    note = f'; {answer.error_msg}' if answer.error_msg else ''
    print(f'{about}: {done}, row {seq}{note}' if seq
          else f'{about}: {answer.error_msg}')
