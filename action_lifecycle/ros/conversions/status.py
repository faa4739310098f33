# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts the states of actions and flows, and questions to people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import json
from weakref import WeakKeyDictionary

from action_lifecycle_msgs import msg

from .basic import sec_nanosec, to_time, to_uuid
from .evidence import evidence_to
from ...dialogue.desk import OpenRequest
from ...documents.stamps import to_seconds
from ...flow.run.flow_run import FlowRun
from ...journal.action_rows import status_after
from ...journal.flow_rows import FlowEvent
from ...journal.row import Row
from ...lifecycle.action import Action
from ...lifecycle.flow_ids import shown
from ...lifecycle.states import ActionState, ErrorCode
from ...lifecycle.text_format import printable

LONGEST_QUESTION = 500
"""Maximum number of characters of a question that is formatted as a line."""
_NO_GOAL = to_uuid('')
_ended: WeakKeyDictionary[FlowRun, dict[Action, msg.ActionStatus]] = WeakKeyDictionary()
"""The statuses of ended actions in the last message of each flow; they change no more."""


def change_to(
    row: Row, previous_seq: int = 0, into: msg.ActionStateChange | None = None
) -> msg.ActionStateChange:
    """
    Return the event of a journal row of kind transition.

    `into`: a message to fill, all of it; this takes less time than to make a new one.
    """
    data = row.data if row.data_json != '{}' else {}
    ledger_status = status_after(row, data).ledger_status
    goal_id = data.pop('goal_id', '')
    event = into or msg.ActionStateChange()
    event.stamp.sec, event.stamp.nanosec = sec_nanosec(row.ros_time or 0.0)
    event.seq = row.seq
    event.previous_seq = previous_seq
    event.flow_id, event.action_id = shown(row.flow_id, row.action_id)
    event.attempt = row.attempt
    event.event = row.event
    event.from_state = row.from_state
    event.to_state = row.to_state
    event.outcome = str(data.pop('outcome', ''))
    event.ledger_status = ledger_status
    event.cause = row.cause
    event.actor = row.actor
    event.error_code = int(ErrorCode[data.pop('error_code', 'NONE')])
    event.goal_id = to_uuid(str(goal_id)) if goal_id else _NO_GOAL
    event.evidence = [evidence_to(item) for item in data.pop('evidence', ())]
    event.data_json = json.dumps(data, sort_keys=True) if data else '{}'
    return event


def flow_change_to(change: FlowEvent) -> msg.FlowChange:
    """Return the message of a change of a flow."""
    return msg.FlowChange(
        stamp=to_time(change.time), seq=change.seq, flow_id=change.flow_id,
        action_id=change.action_id, event=change.event, from_state=change.from_state,
        to_state=change.to_state, stage=change.stage, cause=change.cause, actor=change.actor,
        error_code=int(ErrorCode.__members__.get(change.error_code or 'NONE', ErrorCode.INTERNAL)),
        data_json=json.dumps(change.data, sort_keys=True))


def status_to(
    action: Action, resources: Iterable[str] = (), now: float = 0.0, blocked: str = '',
) -> msg.ActionStatus:
    """Return the status message of an action; `blocked`: why it waits, if not by its state."""
    blocked = blocked or action.blocked_reason
    flow_id, action_id = shown(action.flow_id, action.action_id)
    step, progress, text = action.progress
    steps = action.spec.steps
    return msg.ActionStatus(
        stamp=to_time(action.changed_at), seq=action.seq, flow_id=flow_id,
        action_id=action_id, description=action.spec.description,
        state=msg.ActionState(
            value=action.state.value, outcome=action.outcome.value if action.outcome else '',
            ledger_status=action.ledger_status.value, blocked_reason=blocked.partition(':')[0]),
        attempt=action.attempt, max_attempts=action.spec.retry.times + 1,
        error_code=int(action.error_code), error_msg=action.error_msg,
        controller_said=action.controller_said, sensors_said=action.sensors_said,
        evidence=[evidence_to(item) for item in action.evidence],
        goal_id=to_uuid(action.goal_id), resources=list(resources), blocked_reason=blocked,
        elapsed=max(0.0, (action.changed_at if action.outcome else now) - action.started_at)
        if action.attempt else 0.0,
        step=step, step_kind=steps[step].kind if step < len(steps) else '', progress=progress,
        progress_text=text)


def flow_to(
    run: FlowRun, now: float, blocked: Callable[[Action], str] = lambda action: '',
) -> msg.FlowStatus:
    """
    Return the status message of a flow; of many actions, only those that changed last.

    `blocked(action)` returns why an action waits, see `Orchestrator.blocked_for`.
    """
    counts = run.counts()
    return msg.FlowStatus(
        stamp=to_time(now), flow_id=run.flow_id, name=run.flow.name, stage=run.stage,
        state=run.state, parent='' if run.parent is None else run.parent.flow_id,
        constellation_state=run.constellation_state(), total=len(run.runners),
        done=counts['done'], running=counts['running'], succeeded=counts['succeeded'],
        failed=counts['failed'], skipped=counts['skipped'], canceled=counts['canceled'],
        error_code=int(run.error_code), error_msg=run.error_msg, planning=run.planning,
        paused=run.control.paused, paused_by=run.control.paused_by,
        breakpoints=sorted(run.control.breakpoints),
        actions=_statuses_of(run, now, blocked))


def _statuses_of(
    run: FlowRun, now: float, blocked: Callable[[Action], str]
) -> list[msg.ActionStatus]:
    """Return the statuses of the shown actions; those of ended ones are made once."""
    known, shown = _ended.get(run, {}), run.shown()
    found = []
    for action in shown:
        status = known.get(action)
        if status is None or status.seq != action.seq:
            status = status_to(action, now=now, blocked=blocked(action))
        found.append(status)
    _ended[run] = {action: status for action, status in zip(shown, found)
                   if action.state is ActionState.TERMINATED}
    return found


def request_to(request: OpenRequest) -> msg.OperatorRequest:
    """Return the message of an open question to a person."""
    question = request.question
    flow_id, action_id = shown(question.flow_id, question.action_id) if question.action_id \
        else (question.flow_id, '')
    return msg.OperatorRequest(
        id=request.id, kind=question.kind, stamp=to_time(request.asked_at),
        deadline=to_time(request.deadline), flow_id=flow_id,
        action_id=action_id, question=question.text, link=question.link,
        options=list(question.options), default_answer=question.default,
        evidence=[evidence_to(item) for item in question.evidence])


def at_time_limit(flow: msg.FlowStatus | None) -> str:
    """Return what a flow did and waited for at its time limit, to append to an error's text."""
    if flow is None:
        return ''
    told = [flow.error_msg or flow.planning, f'paused by {flow.paused_by}' if flow.paused else '']
    for action in flow.actions:
        if action.state.outcome or not (action.attempt or action.blocked_reason):
            continue
        kind, _, why = action.blocked_reason.partition(': ')
        why = why or kind or action.error_msg or action.progress_text
        told.append(f'{action.action_id} is {action.state.value}' + (f' ({why})' if why else ''))
    words = '; '.join(filter(None, told))
    return f"; at the time limit: {printable(' '.join(words.split()), LONGEST_QUESTION)}" \
        if words else ''


def asked_in_words(request: msg.OperatorRequest) -> str:
    """Return an open question as one line: action, question, options, deadline, how to answer."""
    about = '/'.join(filter(None, (request.flow_id, request.action_id))) or request.kind
    options = f" ({', '.join(request.options)})" if request.options else ''
    seconds = to_seconds(request.deadline) - to_seconds(request.stamp)
    limit = f', within {seconds:.0f} s' if seconds > 0 else ''
    if limit and request.default_answer:
        limit += f" (then '{request.default_answer}')"
    text = printable(' '.join(request.question.split()), LONGEST_QUESTION)
    return f"{about} asks a person: '{text}'{options}{limit}; answer: action_lifecycle operator"
