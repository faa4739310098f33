# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The actions in a journal: the entry of a change, and the replay of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .row import Entry, JournalError, Row
from ..documents.errors import LifecycleError
from ..lifecycle.action import Action
from ..lifecycle.states import ActionState


def entry_of(
    action: Action, event: str, source: str, target: str, data: Mapping[str, Any],
    ros_time: float | None = None,
) -> Entry:
    """Return the entry of a change; `cause` and `actor` in `data` become its columns."""
    kept = dict(data)
    cause, actor = str(kept.pop('cause', '')), str(kept.pop('actor', ''))
    return Entry(
        kind='transition', flow_id=action.flow_id, action_id=action.action_id,
        attempt=action.attempt_after(event), event=event, from_state=source, to_state=target,
        cause=cause, actor=actor, data=kept, final=target == ActionState.TERMINATED,
        ros_time=ros_time)


def replay(action: Action, row: Row) -> None:
    """
    Apply a row of kind 'transition' to its action, without effects outside of it.

    Raises `JournalError` if the row can't be used; then the action can't be used either.
    """
    try:
        action.apply(row.event, row.to_state, row.data)
        action.machine.restore(row.to_state)
    except Exception as error:  # a row may have any content
        said = error if isinstance(error, LifecycleError) else repr(error)
        raise JournalError(
            f"row {row.seq}: '{row.event}' of {row.action_id} has data that can not be used: "
            f'{said}') from error
