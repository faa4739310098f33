# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs `list` and `history`: from the nodes, or from a journal file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from ..exits import NotThere
from ..table import arrow, console, date_of, print_json, print_rows
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...graphs.packaged import packaged_graph
from ...journal.flow_rows import event_data, event_text, flow_event, history_of
from ...journal.projection import Projection
from ...journal.reader import JournalReader
from ...journal.row import JournalError
from ...journal.row_text import change_text, named_boxes
from ...lifecycle.flow_ids import shown, stored
from ...lifecycle.states import ActionState, ErrorCode
from ...lifecycle.text_format import printable

SHOWN = {'flow': 'flow_id', 'action': 'action_id', 'state': 'state', 'outcome': 'outcome',
         'attempt': 'attempt', 'why': 'why'}
"""Columns of the table of actions, and their keys in the data."""
ON_THE_WAY = ('in_progress', 'executing_motion', 'sensor_confirm',
              'status_verification_requested', 'pending', 'completed')
LATCHED = 3.0
"""Maximum time (s) to wait for the flows of an action node, which may be inactive."""
DISCOVERY = 1.0
"""Time (s) after which an action node that was not discovered is taken to be absent."""
KNOWN = 500
"""Maximum number of actions whose names are compared with a mistyped name."""


def list_actions(options: argparse.Namespace) -> None:
    """Print the actions that match the filters."""
    known = [state.value for state in ActionState]
    for state in options.state:
        if state not in known:
            raise LifecycleError(f"--state: '{state}' is no state of an action"
                                 + nearest(state, known) + f" (known: {', '.join(known)})")
    if options.limit < 1:
        raise LifecycleError(f'--limit {options.limit}: expected 1 or more')
    found, notes = (list(_from_journal(options)), []) if options.journal \
        else _from_nodes(options)
    if options.json:
        print_json(found)
        return
    print_rows(SHOWN, ([row[key] for key in SHOWN.values()] for row in found))
    for note in notes:
        print(note)


def _from_journal(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    reader = _reader(options.journal)
    found = Projection(reader, packaged_graph('action')).find(
        flow_id=options.flow, states=options.state, open_only=options.open)
    for action in found[:options.limit]:
        last = next(reader.rows(after=action.seq - 1, limit=1), None)
        flow_id, action_id = shown(action.flow_id, action.action_id)
        yield _with_reason({
            'flow_id': flow_id, 'action_id': action_id,
            'state': action.state.value,
            'outcome': action.outcome.value if action.outcome else '', 'attempt': action.attempt,
            'error_code': action.error_code.name if action.error_code != ErrorCode.NONE else '',
            'error_msg': action.error_msg, 'controller_said': action.controller_said,
            'sensors_said': action.sensors_said, 'seq': action.seq,
            'blocked_reason': action.blocked_reason}, last.cause if last else '')


def _from_nodes(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the actions, and lines about flows that people have paused."""
    from action_lifecycle_msgs.msg import FlowStatusArray
    from action_lifecycle_msgs.srv import GetHistory, ListActions

    from ..client import accepted, connect, NODE
    from ..table import control_words
    from ...ros.conversions.plain_data import action_data
    from ...ros.interfaces.qos import state_qos
    found: list[dict[str, Any]] = []
    status: list[Any] = []
    with connect(options.namespace, options.wait) as client:
        client.node.create_subscription(
            FlowStatusArray, f'{NODE}/flow', status.append, state_qos())
        answer = accepted(client.call(ListActions, 'ledger/list_actions', ListActions.Request(
            flow_id=options.flow, states=options.state, open_only=options.open,
            limit=options.limit)))
        for action in answer.actions:
            last = client.call(GetHistory, 'ledger/get_history', GetHistory.Request(
                flow_id=action.flow_id, action_id=action.action_id, after_seq=action.seq - 1,
                limit=1))
            found.append(_with_reason(
                action_data(action), last.changes[0].cause if last.changes else ''))
        if client.spin(DISCOVERY, lambda: client.node.count_publishers(f'{NODE}/flow')):
            client.spin(LATCHED, lambda: status)
    return found, [f"flow {flow.flow_id}: {', '.join(control_words(flow))}"
                   for flow in (status[-1].flows if status else [])
                   if options.flow in ('', flow.flow_id) and control_words(flow)]


def _with_reason(row: dict[str, Any], cause: str) -> dict[str, Any]:
    """Add `why`: the cause of the last change, else the error, else the sensors' verdict."""
    # The error of an earlier attempt does not explain a later state.
    failed = row['error_code'] and row['outcome'] != 'succeeded' and row['state'] not in ON_THE_WAY
    return {**row, 'why': cause or (row['error_msg'] if failed else row['sensors_said'])}


def show_history(options: argparse.Namespace) -> None:
    """Print every change of an action, or of all actions of a flow, in order."""
    flow_id, name = stored(
        '' if options.name.startswith(f'{options.flow}/') else options.flow, options.name)
    if not name and not flow_id:
        raise LifecycleError('history: expected ACTION, FLOW_ID/ACTION, FLOW_ID or --flow FLOW_ID')
    changes = list(_changes(options, flow_id, name))
    of_flow = not name
    if not changes and not flow_id:
        changes, of_flow = list(_changes(options, name, '')), True
    if not changes:
        raise _unknown(options, flow_id, name)
    if options.json:
        print_json(changes)
    else:
        _print_changes(changes, of_flow=of_flow)


def _print_changes(changes: list[dict[str, Any]], *, of_flow: bool) -> None:
    out = console()
    for change in changes:
        line = f"{date_of(change['time'])}  #{change['seq']} {change['flow_id']}"
        if 'attempt' in change:
            line += (f"/{change['action_id']}" if of_flow else '') + (
                f' {change_text(change, arrow())}')
        else:
            line += ' ' + event_text(change, arrow())
        why = _why(change['cause'], change['actor'])
        out.print(Text(line + (f'   {printable(why)}' if why else '')), soft_wrap=True)
        for name in change.get('black_boxes', ()):
            out.print(Text(f'    black box: {printable(name)}'), soft_wrap=True)


def _unknown(options: argparse.Namespace, flow_id: str, name: str) -> NotThere:
    """Return the error for an unknown flow or action, with the most similar known name."""
    known = _known(options, flow_id)
    if not name:
        return NotThere(f"the journal has no flow '{flow_id}'"
                        + nearest(flow_id, {flow for flow, _ in known}))
    names = {action for _, action in known} | (set() if flow_id else {flow for flow, _ in known})
    return NotThere(f"the journal has no action '{name}'"
                    + (f" of flow '{flow_id}'" if flow_id else '') + nearest(name, names))


def _known(options: argparse.Namespace, flow_id: str) -> set[tuple[str, str]]:
    """Return known pairs (flow id, action id); those of `flow_id` only if there are any."""
    if options.journal:
        found = {(row.flow_id, row.action_id) for row in _reader(options.journal).rows(
            kind='transition')}
    else:
        from action_lifecycle_msgs.srv import ListActions

        from ..client import connect
        with connect(options.namespace, options.wait) as client:
            answer = client.call(ListActions, 'ledger/list_actions', ListActions.Request(
                limit=KNOWN))
            found = {(action.flow_id, action.action_id) for action in answer.actions}
    return {pair for pair in found if pair[0] == flow_id} or found


def _changes(
    options: argparse.Namespace, flow_id: str, action_id: str
) -> Iterator[dict[str, Any]]:
    """
    Yield the changes, oldest first; an empty id matches all flows or all actions.

    Without an action id, the changes of flows are among them; they have no `attempt`.
    """
    if options.journal:
        yield from _changes_in(_reader(options.journal), flow_id, action_id)
        return
    from action_lifecycle_msgs.msg import FlowChange

    from ..client import connect
    from ..node_data import change_data, flow_change_data
    with connect(options.namespace, options.wait) as client:
        for change in client.history('ledger', flow_id, action_id):
            yield (flow_change_data if isinstance(change, FlowChange) else change_data)(change)


def _changes_in(reader: JournalReader, flow_id: str, action_id: str) -> Iterator[dict[str, Any]]:
    for row in reader.rows(flow_id=flow_id or None, action_id=action_id, kind='transition') \
            if action_id else history_of(reader, flow_id):
        if row.kind != 'transition':
            yield event_data(flow_event(row))
            continue
        code = row.data.get('error_code', '')
        shown_flow, shown_action = shown(row.flow_id, row.action_id)
        yield {
            'seq': row.seq, 'time': row.ros_time or row.wall_time, 'flow_id': shown_flow,
            'action_id': shown_action, 'attempt': row.attempt, 'event': row.event,
            'from': row.from_state, 'to': row.to_state, 'outcome': row.data.get('outcome', ''),
            'error_code': '' if code == 'NONE' else code, 'cause': row.cause, 'actor': row.actor,
            **named_boxes(row.data)}


def _why(cause: str, actor: str) -> str:
    return cause if not actor or actor in cause else f'{cause} [{actor}]'.strip()


def _reader(path: str) -> JournalReader:
    try:
        return JournalReader(path)
    except JournalError as error:
        raise NotThere(str(error)) from error
