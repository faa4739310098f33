# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts messages to plain data with the keys that `--json` prints."""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs.msg import (
    ActionStateChange,
    FlowChange,
    Job,
    LedgerSync,
    Operation,
    OperatorRequest,
    SafetyState,
)

from .client import Client, NODE
from ..documents.json_text import read_json, read_object
from ..documents.stamps import to_seconds
from ..journal.row_text import named_boxes
from ..lifecycle.text_format import printable
from ..ros.conversions.plain_data import code_name, plain_fields

SAFETY = {SafetyState.NOT_READY: 'NOT_READY', SafetyState.READY: 'READY',
          SafetyState.STOPPED: 'STOPPED'}
SYNC = {LedgerSync.DISABLED: 'DISABLED', LedgerSync.CONNECTED: 'CONNECTED',
        LedgerSync.DISCONNECTED: 'DISCONNECTED', LedgerSync.REFUSED: 'REFUSED'}


def newest_safety(client: Client) -> dict[str, Any]:
    """Return the safety state that the action node publishes, as plain data."""
    return safety_data(client.latched(SafetyState, f'{NODE}/safety'))


def safety_data(state: SafetyState) -> dict[str, Any]:
    """Return a SafetyState as plain data."""
    return {'state': SAFETY.get(state.state, str(state.state)), 'since': _time(state.stamp),
            'error_code': code_name(state.error_code), 'reason': state.reason,
            'topic': state.topic, 'locked_resources': list(state.locked_resources),
            'cause': state.cause}


def safety_line(data: dict[str, Any]) -> str:
    """Return a safety state as one line of text."""
    words = _stop_and_locks(data)
    if data['state'] == 'STOPPED':
        words += f"; can't be cleared now: {printable(data['cause'])}" if data['cause'] else \
            '; check the robot, then: action_lifecycle clear-stop'
    return words


def cleared_line(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return what has been cleared, and the safety state now, as one line of text."""
    was = _stop_and_locks(before) if before['state'] == 'STOPPED' or before['locked_resources'] \
        else 'nothing was stopped or locked'
    return f'cleared ({was}); now {safety_line(now)}'


def _stop_and_locks(data: dict[str, Any]) -> str:
    words: str = data['state']
    if data['reason'] and data['state'] != 'READY':
        words += f": {printable(data['reason'])}"
    if data['locked_resources']:
        words += f"; locked: {', '.join(data['locked_resources'])}"
    return words


def sync_data(sync: LedgerSync) -> dict[str, Any]:
    """Return a LedgerSync as plain data."""
    return {'state': SYNC.get(sync.state, str(sync.state)), 'backlog': sync.backlog,
            'lag': sync.lag, 'last_error': sync.last_error}


def job_data(job: Job) -> dict[str, Any]:
    """Return a Job as plain data; times in s of the job's clock, null: none."""
    return {**plain_fields(job), 'next': _time(job.next), 'last': _time(job.last)}


def operation_data(operation: Operation) -> dict[str, Any]:
    """Return an Operation as plain data."""
    return {'trace_id': operation.trace_id, 'state': operation.state, 'owner': operation.owner,
            'updated': _time(operation.updated), 'active': operation.active,
            'metadata': read_json(operation.metadata_json, 'metadata_json')}


def change_data(change: ActionStateChange) -> dict[str, Any]:
    """Return an ActionStateChange as plain data."""
    return {'seq': change.seq, 'time': to_seconds(change.stamp), 'flow_id': change.flow_id,
            'action_id': change.action_id, 'attempt': change.attempt, 'event': change.event,
            'from': change.from_state, 'to': change.to_state, 'outcome': change.outcome,
            'error_code': code_name(change.error_code), 'cause': change.cause,
            'actor': change.actor,
            **named_boxes(read_object(change.data_json, 'data_json'))}


def flow_change_data(change: FlowChange) -> dict[str, Any]:
    """Return a FlowChange as plain data."""
    return {'seq': change.seq, 'time': to_seconds(change.stamp), 'flow_id': change.flow_id,
            'action_id': change.action_id, 'event': change.event, 'from': change.from_state,
            'to': change.to_state, 'stage': change.stage,
            'error_code': code_name(change.error_code), 'cause': change.cause,
            'actor': change.actor,
            'data': read_object(change.data_json, 'data_json')}


def question_data(asker: str, request: OperatorRequest, left: float | None) -> dict[str, Any]:
    """Return an OperatorRequest as plain data; `left`: s until its deadline, null: none."""
    return {'id': request.id, 'kind': request.kind, 'asker': asker, 'flow_id': request.flow_id,
            'action_id': request.action_id, 'question': request.question,
            'options': list(request.options), 'default': request.default_answer,
            'deadline': to_seconds(request.deadline), 'left': left, 'link': request.link}


def _time(stamp: Any) -> float | None:
    return to_seconds(stamp) or None
