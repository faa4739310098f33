# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robots of a fleet as a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from nicegui import ui

from ...fleet_words import (
    claims_words,
    doing,
    lag_words,
    needs_attention,
    seen_words,
    streams_words,
    sync_words,
)
from ...place import FLOW, Place
from ....fleet.robot_status import RobotStatus
from ....lifecycle.text_format import printable

MAX_TEXT = 300
LONGEST = 1000
"""Maximum number of characters of a long text."""
ROWS = 25
"""Rows of a page of the table."""
COLUMNS = (('robot', 'Robot'), ('seen', 'Last report'), ('sync', 'Ledger'), ('lag', 'Behind by'),
           ('does', 'Does'), ('claims', 'Claims'), ('streams', 'Takes work from'))
TEXTS = ('sync', 'does')
"""Columns with long texts: two lines of each are shown, and all of it when one points at it."""

# Vue templates; `{{ }}` and `:href` escape what the rows have
_ROBOT = """
<q-td :props="props"><span v-if="props.row.attention" class="fleet-warning" role="img"
aria-label="needs attention"><q-icon name="warning" size="18px"></q-icon></span>
<a v-if="props.row.url" :href="props.row.url">{{ props.value }}</a>
<span v-else>{{ props.value }}</span></q-td>
"""
_TEXTS = """
<q-td :props="props"><div v-if="props.value.length"><div v-for="line in props.value"
class="foreign fleet-short" :title="line">{{ line }}</div></div></q-td>
"""


class RobotsTable:
    """Made in the current container; robots in `known` are links to their pages."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._robots: Sequence[RobotStatus] = ()
        with ui.row().classes('now-head'):
            self._title = ui.label('Robots').classes('now-title')
            self._only = ui.switch(
                'Only those that need attention', on_change=self._update).props('dense')
            self._filter = ui.input(placeholder='Filter').props(
                'dense outlined clearable aria-label="Filter of the robots"').classes(
                'fleet-filter')
        self._none = ui.label().classes('now-empty')
        self._table = ui.table(
            rows=[], row_key='robot', pagination=ROWS, columns=[
                {'name': name, 'label': label, 'field': name, 'align': 'left'}
                for name, label in COLUMNS]).classes('fleet-table fleet-robots').props(
            'flat dense wrap-cells')
        self._table.props['aria-label'] = 'Robots of the fleet'
        self._table.add_slot('body-cell-robot', _ROBOT)
        for name in TEXTS:
            self._table.add_slot(f'body-cell-{name}', _TEXTS)
        self._filter.bind_value_to(self._table, 'filter')

    def show(self, robots: Sequence[RobotStatus]) -> None:
        """Show these robots."""
        self._robots = robots
        self._update()

    def _update(self) -> None:
        attention = sum(map(needs_attention, self._robots))
        self._title.set_text(f'Robots ({len(self._robots)}, {attention} that need'
                             f"{'s' * (attention == 1)} attention)")
        rows = [self._row(one) for one in self._robots
                if needs_attention(one) or not self._only.value]
        self._none.set_text('' if rows else 'No robot needs attention.' if self._robots
                            else 'No robot has reported to this ledger.')
        self._none.set_visibility(not rows)
        self._table.set_visibility(bool(rows))
        if rows != self._table.rows:
            self._table.rows = rows

    def _row(self, one: RobotStatus) -> dict[str, Any]:
        words = {'robot': one.robot, 'seen': seen_words(one), 'lag': lag_words(one),
                 'claims': claims_words(one), 'streams': streams_words(one)}
        texts = {'sync': [sync_words(one)], 'does': doing(one)}
        return {**{name: printable(text, MAX_TEXT) for name, text in words.items()},
                **{name: [printable(line, LONGEST) for line in texts[name]] for name in TEXTS},
                'attention': needs_attention(one),
                'url': Place(one.robot).url(FLOW) if one.robot in self._known else ''}
