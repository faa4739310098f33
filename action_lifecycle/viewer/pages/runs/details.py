# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One action: its refutations with their evidence and curves, causes, recovery, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import background_tasks, ui

from .overview import show_svg
from .reports import drawn, Report
from ...place import FLOW, Place
from ...robots import Robot
from ....documents.errors import LifecycleError
from ....lifecycle.flow_ids import shown
from ....lifecycle.text_format import number_in_words, printable
from ....report.looks import MET_WORDS
from ....report.runs import PATHS
from ....report.trace_pictures import trace_pictures
from ....report.wording import duration, percent, subject

MAX_CONDITIONS = 20
MAX_LINKS = 20


class ActionDetails:
    """What the report has of one action, in the current container."""

    def __init__(self, robot: Robot, report: Report, group: Mapping[str, Any]) -> None:
        self._robot, self._report, self._group = robot, report, group
        self._curves: dict[tuple[str, str], ui.element] = {}
        with ui.element('section').classes('now-card runs-details') as self._root:
            self._root.props['aria-label'] = 'Action'
            ui.label(printable(subject(group), 200)).classes('runs-subject foreign')
            self._conditions()
            self._causes()
            self._recovery()
            self._times()
        background_tasks.create(self._draw(), context=self._root)

    def _conditions(self) -> None:
        found = [each for each in self._group.get('conditions', ())
                 if each['false'] + each['unknown']]
        ui.label('Refutations and their evidence').classes('now-title')
        if not found:
            ui.label('Each condition was met each time.').classes('now-empty')
        for condition in found[:MAX_CONDITIONS]:
            with ui.element('article').classes('runs-condition'):
                with ui.row().classes('runs-condition-head'):
                    ui.label(condition['expression']).classes('code foreign')
                    ui.label(
                        f"{condition['condition']}: true {condition['true']}, false "
                        f"{condition['false']}, unknown {condition['unknown']}").classes(
                        'now-soft foreign')
                place = condition['condition'], condition['expression']
                with ui.element('div').classes('runs-evidence'):
                    _facts(condition['facts'])
                    self._curves[place] = ui.element('div').classes('runs-curves')
                self._attempts(condition['examples']['not_met'])
                self._rows('Not met in', condition['rows'])

    def _attempts(self, examples: Sequence[Any]) -> None:
        """Link the newest attempts that did not meet a condition."""
        with ui.row().classes('runs-links'):
            ui.label('Newest attempts that did not meet it:').classes('now-soft')
            for _, flow_id, action_id, attempt in list(examples)[-MAX_LINKS:]:
                flow_id, path = shown(flow_id, action_id)
                place = Place(self._robot.name, flow_id, None, path)
                ui.link(f'{flow_id}, attempt {attempt}', place.url(FLOW)).classes('foreign')

    def _rows(self, title: str, rows: Sequence[tuple[int, int]]) -> None:
        """Link rows of the journal; each opens the flow as it was then."""
        seqs = [seq for _, seq in rows][:MAX_LINKS]
        with ui.row().classes('runs-links') as line:
            ui.label(title).classes('now-soft')
        background_tasks.create(self._link_rows(line, seqs), context=line)

    async def _link_rows(self, line: ui.element, seqs: Sequence[int]) -> None:
        for seq in seqs:
            try:
                rows = await self._robot.record.source.rows(after=seq - 1, limit=1)
            except LifecycleError:
                rows = []
            if line.is_deleted:
                return
            with line:
                if not rows or rows[0].seq != seq:
                    ui.label(f'row {seq}')
                    continue
                flow_id, path = shown(rows[0].flow_id, rows[0].action_id)
                ui.link(f'row {seq}', Place(self._robot.name, flow_id, seq, path).url(FLOW))

    def _causes(self) -> None:
        if not self._group['failures']:
            return
        ui.label('Causes of failed attempts').classes('now-title')
        for cause in self._group['failures'][:MAX_CONDITIONS]:
            with ui.row().classes('runs-condition-head'):
                ui.label(f"{cause['n']} ×").classes('runs-count')
                ui.label(cause['error_code']).classes('foreign')
                ui.label(cause['condition']).classes('code foreign')
            self._rows('in', cause['rows'])

    def _recovery(self) -> None:
        recovery = self._group['recovery']
        if not recovery['n']:
            return
        ui.label('Recovery').classes('now-title')
        paths = ', '.join(f"{recovery['by_path'][path]} by {path}" for path in PATHS
                          if recovery['by_path'][path])
        ui.label(f'{percent(recovery)} of the runs with a failed attempt'
                 + (f': {paths}' if paths else ''))

    def _times(self) -> None:
        rows = [
            (('waits: ' if which == 'waits' else '') + name.replace('_', ' '), str(times['n']),
             *(duration(times[key]) for key in ('median_s', 'p95_s', 'total_s')))
            for which in ('states', 'waits') for name, times in self._group[which].items()
            if times['n']]
        if rows:
            ui.label('Time per state and waits').classes('now-title')
            plain_table(('state or wait', 'count', 'median', '95 % below', 'total'), rows)

    async def _draw(self) -> None:
        """Add the curves of the conditions, from the traces beside the journal."""
        group = self._group
        try:
            curves, faults = await drawn(
                lambda: trace_pictures(self._report.figures['journals'], [group]))
        except LifecycleError as error:
            curves, faults = {}, [str(error)]
        if self._root.is_deleted:
            return
        for (_, _, name, expression), svg in curves.items():
            element = self._curves.get((name, expression))
            if element is not None:
                with element:
                    ui.label(f'The newest attempts; {MET_WORDS}').classes('now-soft')
                    show_svg(svg)
        for fault in faults:
            with self._root:
                ui.label(f'No curves: {fault}').classes('now-soft foreign')


def _facts(facts: Sequence[Mapping[str, Any]]) -> None:
    rows = []
    for fact in facts:
        name = f"{fact['fact']} ({fact['unit']})" if fact['unit'] else fact['fact']
        for verdict, values in fact['by_verdict'].items():
            if 'texts' in values:
                texts = ', '.join(f'{text} × {count}' for text, count in values['texts'].items())
                rows.append((name, verdict, str(values['n']), printable(texts, 200), '', ''))
            else:
                rows.append((name, verdict, str(values['n']), *(
                    number_in_words(values[key]) for key in ('median', 'min', 'max'))))
    if rows:
        plain_table(('fact', 'condition', 'n', 'median', 'minimum', 'maximum'), rows)


def plain_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Show a small table of strings."""
    with ui.element('div').classes('runs-scroll'), ui.element('table').classes('runs-plain'):
        with ui.element('thead'), ui.element('tr'):
            for title in titles:
                with ui.element('th').props('scope=col'):
                    ui.label(title)
        with ui.element('tbody'):
            for row in rows:
                with ui.element('tr'):
                    for cell in row:
                        with ui.element('td'):
                            ui.label(cell).classes('foreign')
