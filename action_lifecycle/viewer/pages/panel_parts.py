# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parts of the panel of an action: folded sections, texts, and tables of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from nicegui import ui
import yaml

from ..record.flow_record import FlowRecord
from ...documents.errors import LifecycleError
from ...journal.row import Row
from ...journal.row_text import row_text, why_text
from ...lifecycle.text_format import printable

MAX_ROWS = 200
"""Maximum number of rows of a history, the newest."""
MAX_TEXT = 40_000
"""Maximum number of characters of a text."""
LONGEST = 400


class Fold:
    """A section that is filled when it is opened, and again when its text has changed."""

    def __init__(
        self, title: str, fill: Callable[[], object], style: str = 'action-fold'
    ) -> None:
        self._fill = fill
        self._fold = ui.expansion(title, on_value_change=lambda: self.change()).props(
            'dense').classes(style)

    def change(self) -> None:
        """Fill it anew if it is open."""
        if self._fold.value and not self._fold.is_deleted:
            self._fold.clear()
            with self._fold:
                self._fill()


def clock(wall: float) -> str:
    """Return a wall time (s) as the robot's time of day."""
    return datetime.fromtimestamp(wall).strftime('%H:%M:%S.%f')[:-5]


def text_block(text: str) -> None:
    """Show a text as it is, with a button that copies it."""
    shown = printable(text, MAX_TEXT)
    with ui.element('div').classes('action-text'):
        copy = ui.button(icon='content_copy', on_click=lambda: ui.clipboard.write(text),
                         color=None).props('flat dense round size=sm')
        copy.props['aria-label'] = copy.props['title'] = 'Copy'
        ui.label(shown).classes('action-pre')


def work_text(record: FlowRecord, path: str, seq: int | None) -> str:
    """Return the steps of an action's work, with the goals as sent and the results, as YAML."""
    try:
        action = record.action(path, seq)
    except LifecycleError as error:
        return str(error)
    found: list[dict[str, Any]] = []
    for index, step in enumerate(action.spec.steps):
        fields = step.model_dump(exclude_defaults=True)
        fields.pop('kind', None)
        sent = action.goals.get(str(index))
        if sent is not None:
            fields['goal'] = sent
        part: dict[str, Any] = {step.kind: fields}
        if index < len(action.results):
            part['result'] = action.results[index]
        found.append(part)
    if not found:
        return 'No work is known.'
    said = {'goal_id': action.goal_id} if action.goal_id else {}
    return yaml.safe_dump([*([said] if said else []), *_plain(found)], sort_keys=False,
                          allow_unicode=True, width=100)


def _plain(value: Any) -> Any:
    """Return a value that YAML can have."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, bool, int, float, type(None))) else str(value)


def history_table(rows: Sequence[Row]) -> None:
    """Show rows with their times and causes, the newest last."""
    if len(rows) > MAX_ROWS:
        ui.label(f'{len(rows) - MAX_ROWS} earlier rows').classes('action-soft')
    with ui.element('ol').classes('action-history'):
        for row in rows[-MAX_ROWS:]:
            with ui.element('li'):
                ui.label(clock(row.wall_time)).classes('action-time')
                with ui.element('div'):
                    ui.label(printable(row_text(row, named=False), LONGEST))
                    if why := why_text(row):
                        ui.label(printable(why, LONGEST)).classes('action-soft')
