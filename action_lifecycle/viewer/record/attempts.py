# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The attempts of one action, from its rows."""

from __future__ import annotations

from collections.abc import Sequence

from .shown import AttemptShown
from ...journal.action_rows import concerns_action, replay
from ...journal.durability import STEP
from ...journal.row import JournalError, Row
from ...journal.row_text import black_boxes
from ...lifecycle.action import Action
from ...lifecycle.states import ActionState
from ...report.run_reader import RunReader
from ...report.runs import Attempt
from ...report.servers import ServerFinder

_ENDS = (ActionState.COMPLETED.value, ActionState.ERROR.value, ActionState.TERMINATED.value)


def attempts_of(action: Action, rows: Sequence[Row]) -> list[AttemptShown]:
    """
    Return the attempts in `rows`, those of one action in order.

    `action`: new; the rows are applied to it. Rows before the first start, which compaction may
    have left, are an attempt of their own. Stops at a row that can't be used.
    """
    known = _read(rows)
    parts: list[list[Row]] = []
    for row in rows:
        if _begins(row) or not parts:
            parts.append([])
        parts[-1].append(row)
    found = []
    for part in parts:
        shown = _shown(action, part, known.get(part[0].seq, Attempt(part[0].attempt)))
        if shown is not None:
            found.append(shown)
    return found


def apply_row(action: Action, row: Row) -> None:
    """Apply a row to the action that it names; raises JournalError if it can't be used."""
    if concerns_action(row):
        replay(action, row)
        if row.kind == 'transition':
            action.dated(row.seq, row.ros_time or 0.0, row.to_state)
    elif row.kind == 'note' and row.event == STEP:
        try:
            action.begin_step(row.data)
        except (LookupError, TypeError, ValueError) as error:
            raise JournalError(
                f'row {row.seq}: the step of {row.action_id} has data that can not be used: '
                f'{error!r}') from error


def _begins(row: Row) -> bool:
    """Return whether a row begins an attempt; see `RunReader`."""
    return row.kind == 'transition' and row.event != 'resume' \
        and row.to_state == ActionState.IN_PROGRESS.value


def _work_after(row: Row) -> str:
    """Return how the work of an attempt ended, if a row says so; its words may be any text."""
    if row.kind != 'transition' or 'controller_said' not in row.data_or_empty:
        return ''
    if row.event in ('motion_done', 'request_verification'):
        return '' if row.data.get('interrupted') else 'done'
    if row.data['controller_said'] == 'succeeded':
        return 'done'
    ended = row.event == 'fail' and row.from_state in (
        ActionState.IN_PROGRESS.value, ActionState.EXECUTING_MOTION.value)
    return 'failed' if ended else ''


def _read(rows: Sequence[Row]) -> dict[int, Attempt]:
    """Return the attempts as the report reads them, by the rows that begin them."""
    reader = RunReader(0, ServerFinder())
    try:
        runs = list(reader.runs(rows))
    except JournalError:
        runs = []
    return {attempt.first_seq: attempt
            for run in (*runs, *reader.open_runs, *reader.cut_runs) for attempt in run.attempts}


def _shown(action: Action, rows: Sequence[Row], read: Attempt) -> AttemptShown | None:
    """Return an attempt; None if nothing of it was begun."""
    end: Row | None = None
    cause = ''
    evidence, required, said, sensors = [], [], '', ''
    boxes: list[str] = []
    work = ''
    for row in rows:
        if end is None and row.event != 'reassign':
            try:
                apply_row(action, row)
            except JournalError as error:
                cause = str(error)
                break
            evidence, required = action.evidence, action.required
            said, sensors = action.controller_said, action.sensors_said
            boxes += black_boxes(row.data)
            work = _work_after(row) or work
            if row.kind == 'transition' and row.to_state in _ENDS:
                end = row
                cause = (action.error_msg if row.event == 'fail' else '') or row.cause
        elif concerns_action(row):
            try:
                apply_row(action, row)
            except JournalError:
                break
    if not _begins(rows[0]) and not any(
            row.kind == 'transition' and row.attempt for row in rows):
        return None
    return AttemptShown(
        read.number, read.path, said, sensors, list(evidence), list(required), read.ended,
        read.failure, cause, rows[0].wall_time, None if end is None else end.wall_time,
        rows[0].seq, rows[-1].seq, tuple(boxes), work)
