# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The changes of flows in a journal: which rows they are, and their content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .durability import STEP
from .reader import JournalReader, PAGE
from .row import Row

PLAN = 'plan'
"""Kind of the rows of a request to a planner; their `action_id` is the id of the future flow."""
PLANNING = 'planning'
"""Event and stage of the changes that are rows of this kind."""
ACCEPTED = 'accepted'
"""Event of the row of kind 'flow' that begins a flow, in its first state."""
STAGE = 'stage'
"""Event of a row of kind 'flow' that only enters another stage."""

NO_CHANGES: Mapping[str, frozenset[str]] = {
    'flow': frozenset({'text'}),  # further parts of the text of an accepted flow
    'note': frozenset({
        'dialogue', 'question_answered', 'question_asked', 'question_expired', STEP}),
    PLAN: frozenset(),
}
"""The kinds of rows that are changes of flows; of each, the events that are none."""

TEXT_LIMIT = 10_000
"""Maximum number of characters of each string in the data of a change; the journal has all."""


class FlowEvent(NamedTuple):
    """
    A change of a flow.

    `from_state`: empty if the state has not changed. `stage`: empty if the stage has not changed.
    `error_code`: name, empty for none. `action_id`: the action that it concerns, if any.
    """

    seq: int
    time: float  #: ROS time (s); without a ROS clock, in s since 1970
    flow_id: str
    action_id: str
    event: str
    from_state: str
    to_state: str
    stage: str
    cause: str
    actor: str
    error_code: str
    data: Mapping[str, Any]


def is_flow_change(row: Row) -> bool:
    """Return whether a row is a change of a flow."""
    others = NO_CHANGES.get(row.kind)
    return others is not None and row.event not in others and (
        row.flow_id != '' or row.kind == PLAN)


def flow_event(row: Row) -> FlowEvent:
    """Return the change of a flow in a row; long strings are cut, the content is left out."""
    data = row.data
    for name in ('text', 'action_names'):
        data.pop(name, None)
    flow_id, action_id, event = row.flow_id, row.action_id, row.event
    stage = str(data.pop('stage', ''))
    if row.kind == PLAN:
        flow_id, action_id, event, stage = row.action_id, '', PLANNING, PLANNING
        data['step'] = row.event
    elif not action_id and isinstance(data.get('action'), str):
        action_id = data.pop('action')
    code = str(data.pop('error_code', ''))
    return FlowEvent(
        row.seq, row.wall_time if row.ros_time is None else row.ros_time, flow_id, action_id,
        event, row.from_state if row.from_state != row.to_state else '', row.to_state, stage,
        row.cause, row.actor, '' if code == 'NONE' else code,
        {name: _cut(value) for name, value in data.items()})


def event_data(event: FlowEvent) -> dict[str, Any]:
    """Return a change of a flow as plain data, with the keys that `history --json` prints."""
    data = event._asdict()
    data['from'], data['to'] = data.pop('from_state'), data.pop('to_state')
    return data


def event_text(data: Mapping[str, Any], arrow: str = '→') -> str:
    """Return a change of a flow, as plain data, in one line."""
    words = [data['event'], data['stage'] if data['event'] == STAGE else '',
             data['data']['step'] if data['event'] == PLANNING else '', data['action_id']]
    line = ' '.join(filter(None, words))
    if data['event'] == ACCEPTED and data['to']:
        return f"{line}: {data['to']}"
    return f"{line}: {data['from']} {arrow} {data['to']}" if data['from'] else line


def history_of(reader: JournalReader, flow_id: str) -> Iterator[Row]:
    """Yield the changes of a flow and of its actions in order; an empty id: of all flows."""
    after: int | None = 0
    while after is not None:
        changes, after = history_page(reader, flow_id, after, PAGE)
        yield from changes


def history_page(
    reader: JournalReader, flow_id: str, after: int, rows: int
) -> tuple[list[Row], int | None]:
    """
    Return the changes among the next `rows` rows above `after`, and where to continue.

    The rows are those of the flow, of the flows that its actions run, and of its request to a
    planner; `None`: there are no more.
    """
    page = list(reader.rows(flow_id=flow_id or None, after=after, limit=rows))
    if flow_id:
        page += reader.rows(flow_id='', action_id=flow_id, kind=PLAN, after=after, limit=rows)
        page += reader.rows(within=flow_id, after=after, limit=rows)
        page = sorted(page)[:rows]
    return ([row for row in page if row.kind == 'transition' or is_flow_change(row)],
            page[-1].seq if len(page) == rows else None)


def _cut(value: Any) -> Any:
    """Return data with long strings cut."""
    if isinstance(value, str):
        return value if len(value) <= TEXT_LIMIT else value[:TEXT_LIMIT - 1] + '…'
    if isinstance(value, dict):
        return {name: _cut(item) for name, item in value.items()}
    return list(map(_cut, value)) if isinstance(value, list) else value
