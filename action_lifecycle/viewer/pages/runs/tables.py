# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figures of each action, flow and server, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from ....lifecycle.text_format import printable
from ....report.wording import hours, subject, wrong_reports

MAX_GROUPS = 2000
MAX_NAME = 200
ROWS = 20
"""Rows of a page of a table."""
SHARES = (('first_try', 'first try'), ('final', 'in the end'), ('wrong', 'false successes'),
          ('recovery', 'recovered'))

# Vue templates; `{{ }}` and `:title` escape what the rows have
_SHARE = """
<q-td :props="props"><span v-if="props.value < 0">–</span><template v-else>
<span class="runs-share">{{ (100 * props.value).toFixed(0) }} %</span>
<span class="runs-of">{{ props.row[props.col.name + '_of'] }}</span>
<span class="runs-interval" :title="props.row[props.col.name + '_ci']" aria-hidden="true">
<i :style="{left: 100 * props.row[props.col.name + '_low'] + '%', width: 100 *
 (props.row[props.col.name + '_high'] - props.row[props.col.name + '_low']) + '%'}"></i>
<b :style="{left: 100 * props.value + '%'}"></b></span></template></q-td>
"""
_NAME = """
<q-td :props="props"><button type="button" class="runs-name"
@click="() => $parent.$emit('pick', props.row.key)"
>{{ props.value }}</button></q-td>
"""
_TREND = """
<q-td :props="props"><span
:class="'runs-' + props.row.trend_kind">{{ props.row.trend_text }}</span></q-td>
"""


def show_table(
    level: str, groups: Sequence[Mapping[str, Any]], picked: Callable[[int], None] | None = None
) -> None:
    """Show the groups of a level; `picked` gets the index of the one that was chosen."""
    rows = [_row(index, group) for index, group in enumerate(groups[:MAX_GROUPS])]
    columns = [
        {'name': 'name', 'label': level, 'field': 'name', 'align': 'left', 'sortable': True,
         'classes': 'runs-names foreign'},
        _number('runs', 'runs'), _number('open', 'open'),
        *({**_number(name, label), 'classes': 'runs-shares'} for name, label in (
            *([('flows', 'flows finished')] if level == 'flow' else []), *SHARES)),
        {'name': 'which', 'label': 'which', 'field': 'which', 'align': 'left'},
        _number('failed', 'failed attempts'),
        {'name': 'mtbf', 'label': 'time between failures', 'field': 'mtbf', 'align': 'left'},
        {'name': 'trend', 'label': 'trend', 'field': 'trend', 'align': 'left', 'sortable': True}]
    table = ui.table(rows=rows, columns=columns, row_key='key', pagination=ROWS).classes(
        'runs-table now-card').props('flat dense wrap-cells')
    table.props['aria-label'] = f'Figures of each {level}'
    for name in ('flows', *(name for name, _ in SHARES)):
        table.add_slot(f'body-cell-{name}', _SHARE)
    table.add_slot('body-cell-trend', _TREND)
    if picked is not None:
        table.add_slot('body-cell-name', _NAME)
        table.on('pick', lambda event: picked(int(event.args)))
    if len(rows) > ROWS:
        with table.add_slot('top'):
            ui.input(placeholder=f'Filter {level}s').props(
                'dense borderless clearable aria-label=Filter').bind_value_to(table, 'filter')
    if len(groups) > MAX_GROUPS:
        ui.label(f'The first {MAX_GROUPS} of {len(groups)}; the CSV file has all.').classes(
            'now-soft')


def _number(name: str, label: str) -> dict[str, Any]:
    return {'name': name, 'label': label, 'field': name, 'align': 'left', 'sortable': True}


def _row(index: int, group: Mapping[str, Any]) -> dict[str, Any]:
    controller, trend, attempts = group['controller'], group['trend'], group['attempts']
    row: dict[str, Any] = {
        'key': index, 'name': printable(subject(group), MAX_NAME),
        'runs': group['runs']['ended'], 'open': group['runs']['open'],
        'which': wrong_reports(controller), 'failed': attempts['failed'], 'mtbf': hours(
            group['mtbf']),
        'trend': trend['p_corrected'], 'trend_kind': 'same', 'trend_text': '–'}
    if trend['differs']:
        worse = trend['halves'][1]['share'] < trend['halves'][0]['share']
        row['trend_kind'] = 'bad' if worse else 'good'
        row['trend_text'] = (f"{'↓ worse' if worse else '↑ better'} "
                             f"(p = {trend['p_corrected']:.2g})")
    for name, figure in (('flows', group['flows']['success']), ('first_try', group['first_try']),
                         ('final', group['final']), ('wrong', controller['false_success']),
                         ('recovery', group['recovery'])):
        row |= _share(name, figure)
    return row


def _share(name: str, figure: Mapping[str, Any]) -> dict[str, Any]:
    if figure['share'] is None:
        return {name: -1}
    return {
        name: figure['share'], f'{name}_of': f"{figure['k']}/{figure['n']}",
        f'{name}_low': figure['low'], f'{name}_high': figure['high'],
        f'{name}_ci': f"95 %: {100 * figure['low']:.1f} to {100 * figure['high']:.1f} %"}
