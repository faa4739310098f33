# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows of the journal as lines for people."""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

from .action_rows import BLOCKED, UNBLOCKED
from .durability import STEP
from .flow_rows import event_data, event_text, flow_event, is_flow_change
from .row import JournalError, Row
from ..lifecycle.flow_ids import shown
from ..lifecycle.states import wait_text
from ..lifecycle.text_format import joined

_NOTES = {
    'question_asked': ('asked', 'text'), 'question_answered': ('answered', 'answer'),
    'question_expired': ('no answer in time', 'answer'), 'dialogue': ('said', 'text')}
"""Notes of people and dialogues: a word, and the name of what it is about."""


def change_text(change: Mapping[str, Any], arrow: str = '→') -> str:
    """Return a change of an action, as `history --json` prints it, in one line."""
    return f"attempt {change['attempt']}: {change['from']} {arrow} {change['to']}" + (
        f" ({change['outcome']})" if change['outcome'] else '')


def black_boxes(data: Mapping[str, Any]) -> list[str]:
    """Return the names of the black boxes in the data of a change; see docs/black_box.md."""
    names = data.get('black_boxes')
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def named_boxes(data: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return `black_boxes` of the data of a change, as JSON of the change has it, if any."""
    names = black_boxes(data)
    return {'black_boxes': names} if names else {}


def row_text(row: Row, *, named: bool = True) -> str:
    """
    Return what happened in a row, in one line without its cause; `named`: with the action.

    Never raises: a row may have any data.
    """
    try:
        said = _said(row)
    except (JournalError, LookupError, TypeError, ValueError, AttributeError):
        said = f'{row.kind} {row.event} with data that can not be used'
    path = shown(row.flow_id, row.action_id)[1] if row.action_id else 'flow'
    return f'{path} {said}' if named else said


def why_text(row: Row) -> str:
    """Return why and by whom, in one line; '' if the row does not say."""
    cause = ' '.join(row.cause.split())
    if row.kind == 'note' and row.event in (BLOCKED, UNBLOCKED):
        cause = ''  # the text has it
    if row.kind == 'note' and row.event == 'dialogue':
        return ''  # so has the actor
    return cause if not row.actor or row.actor in cause else f'{cause} [{row.actor}]'.strip()


def _said(row: Row) -> str:
    if row.kind == 'transition':
        data = row.data
        end = change_text({'attempt': row.attempt, 'from': row.from_state, 'to': row.to_state,
                           'outcome': str(data.get('outcome', ''))})
        code = data.get('error_code', '')
        return joined(end, *(f'{who}: {data[key]}' for who, key in (
            ('controller', 'controller_said'), ('sensors', 'sensors_said')) if data.get(key)),
            '' if code in ('', 'NONE') else str(code))
    if row.kind == 'note' and row.event == BLOCKED:
        return f'waits: {wait_text(row.cause)}'
    if row.kind == 'note' and row.event == UNBLOCKED:
        return 'waits no longer'
    if row.kind == 'note' and row.event == STEP:
        return f"step {len(row.data['results']) + 1} begins"
    if row.kind == 'note' and row.event in _NOTES:
        word, name = _NOTES[row.event]
        said = row.data.get(name, '')
        if row.event == 'dialogue' and row.actor not in ('', 'assistant'):
            word = f'{row.actor} {word}'
        return f'{word}: {said}' if said else word
    if is_flow_change(row):
        change = event_data(flow_event(row))
        change['action_id'] = ''
        return event_text(change)
    return f'{row.kind} {row.event}' + (
        f' {json.dumps(row.data, ensure_ascii=False)}' if row.data_json != '{}' else '')
