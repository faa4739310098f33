# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The actions in a journal: the entry of a change, the replay of a row, and its task status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .row import Entry, JournalError, Row
from ..documents.errors import LifecycleError
from ..lifecycle.action import Action
from ..lifecycle.states import (
    ActionOutcome,
    ActionState,
    blocked_text,
    task_status,
    TaskStatus,
)

BLOCKED, UNBLOCKED = 'blocked', 'unblocked'
"""Events of notes that an action waits for locked resources or people, or no longer."""

_ENDED = frozenset({ActionState.RECIPE_RECEIVED.value, ActionState.TERMINATED.value})


def entry_of(
    action: Action, event: str, source: str, target: str, data: Mapping[str, Any],
    ros_time: float | None = None,
) -> Entry:
    """Return the entry of a change; `cause` and `actor` in `data` become its columns."""
    kept = dict(data)
    cause, actor = str(kept.pop('cause', '')), str(kept.pop('actor', ''))
    if target == ActionState.RECIPE_RECEIVED and action.passed_completed:
        kept['passed_completed'] = True
    return Entry(
        kind='transition', flow_id=action.flow_id, action_id=action.action_id,
        attempt=action.attempt_after(event), event=event, from_state=source, to_state=target,
        cause=cause, actor=actor, data=kept, final=target == ActionState.TERMINATED,
        ros_time=ros_time)


def waits_entry(
    flow_id: str, action_id: str, reason: str, ros_time: float, action: Action | None = None
) -> Entry:
    """
    Return the note of what an action waits for, see `blocked_text`; '': no longer.

    Without an `action`, it has not begun.
    """
    state = cause = ''
    if action is not None and action.state is not ActionState.ASSIGNED:
        state = action.state.value
        cause = action.cause if action.reason_of_state else ''
    return Entry(
        kind='note', flow_id=flow_id, action_id=action_id, from_state=state, to_state=state,
        event=BLOCKED if reason else UNBLOCKED, cause=reason or cause, final=True,
        ros_time=ros_time)


def concerns_action(row: Row) -> bool:
    """Return whether `replay` can apply a row to the action that it names."""
    return row.kind == 'transition' or (
        row.kind == 'note' and row.event in (BLOCKED, UNBLOCKED) and row.action_id != '')


def status_after(row: Row, data: Mapping[str, Any] | None = None) -> TaskStatus:
    """
    Return the status of an action after a row that concerns it, from the row alone.

    `data`: the row's data, if it is parsed already. Never raises; see `task_status`.
    """
    if row.kind == 'note':
        found = task_status(row.to_state or ActionState.ASSIGNED.value, row.cause)
        return found if row.event == UNBLOCKED else TaskStatus(
            found.ledger_status, blocked_text(row.cause).partition(':')[0])
    outcome = ''
    if row.to_state in _ENDED:
        data = row.data_or_empty if data is None else data
        outcome = str(data.get('outcome', ''))
        if data.get('passed_completed') is True:
            outcome = ActionOutcome.SUCCEEDED.value
    return task_status(row.to_state, row.cause, outcome)


def replay(action: Action, row: Row) -> None:
    """
    Apply a row that concerns an action to it, without effects outside of it.

    Raises `JournalError` if the row can't be used; then the action can't be used either.
    """
    if row.kind == 'note':
        action.waits_for = row.cause if row.event == BLOCKED else ''
        return
    try:
        action.apply(row.event, row.to_state, row.data, row.cause)
        action.machine.restore(row.to_state)
    except Exception as error:  # a row may have any content
        said = error if isinstance(error, LifecycleError) else repr(error)
        raise JournalError(
            f"row {row.seq}: '{row.event}' of {row.action_id} has data that can not be used: "
            f'{said}') from error
