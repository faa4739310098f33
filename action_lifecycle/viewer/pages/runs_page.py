# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page `Runs`: the report of the robot's journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
import math
from pathlib import Path
from typing import Any

from nicegui import background_tasks, ui

from .listening import listen_while_shown
from .now_page import STYLE as NOW_STYLE
from .runs.details import ActionDetails
from .runs.overview import show_cards, show_picture
from .runs.reports import as_csv, as_html, as_json, drawn, Report, reports_of
from .runs.tables import show_table
from ..looks import style_sheet
from ..robots import Heard, Robot, ROWS
from ...documents.errors import LifecycleError
from ...lifecycle.text_format import printable
from ...report.pictures import pictures
from ...report.report import Window
from ...report.wording import between

STYLE = Path(__file__).parent / 'runs' / 'runs.css'
LEVELS = ('action', 'flow', 'server')
MAX_FLOWS = 500
"""Maximum number of names of flows to choose from."""
FILES: Mapping[str, tuple[Callable[[Mapping[str, Any]], bytes], str]] = {
    'csv': (as_csv, 'text/csv'), 'json': (as_json, 'application/json'),
    'html': (as_html, 'text/html')}


def runs_page(robot: Robot) -> None:
    """Build the page in the current container; the report follows when it is made."""
    ui.add_css(style_sheet())
    ui.add_css(NOW_STYLE.read_text(encoding='utf-8'))
    ui.add_css(STYLE.read_text(encoding='utf-8'))
    _RunsPage(robot)


class _RunsPage:

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._reports = reports_of(robot)
        self._report: Report | None = None
        self._making = self._looking = False
        with ui.element('div').classes('runs') as self._root:
            with ui.element('div').classes('now-card runs-filter').props(
                    'role=search aria-label="Filter of the runs"'):
                self._build_filter()
            self._status = ui.label('The report is being made …').classes('now-soft foreign')
            self._status.props['role'] = 'status'
            self._body = ui.element('div').classes('runs-body')
        listen_while_shown(robot, self._root, self._heard)
        self._make()

    def _build_filter(self) -> None:
        self._since = ui.input('Began since').props(
            'type=datetime-local dense outlined stack-label')
        self._until = ui.input('Began before').props(
            'type=datetime-local dense outlined stack-label')
        self._flows = ui.select([], label='Flows', multiple=True, clearable=True).props(
            'dense outlined use-chips').classes('runs-flows')
        ui.button('Show', icon='filter_alt', color=None, on_click=self._make).props(
            'outline no-caps')
        ui.space()
        self._new = ui.button('', icon='refresh', color=None, on_click=self._make).props(
            'flat no-caps data-new')
        self._new.set_visibility(False)
        for kind in FILES:
            ui.button(kind.upper(), icon='download', color=None,
                      on_click=lambda kind=kind: self._download(kind)).props(
                f'flat no-caps dense padding="4px 8px" data-download={kind}').props[
                'title'] = f'Download this report as {kind.upper()}'

    def _window(self) -> Window:
        """Return what the filter says; raises LifecycleError."""
        return Window(_stamp(self._since.value, 'since', -math.inf),
                      _stamp(self._until.value, 'before', math.inf),
                      tuple(sorted(self._flows.value or ())))

    def _make(self) -> None:
        if not self._making:
            self._making = True
            background_tasks.create(self._show(), context=self._root)

    async def _show(self) -> None:
        """Make the report, and show it or why there is none."""
        try:
            self._status.set_text('The report is being made …')
            report = await self._reports.report(self._window())
        except LifecycleError as error:
            if not self._root.is_deleted:
                self._body.clear()
                self._status.set_text(f'There is no report: {printable(str(error), 500)}')
            return
        finally:
            self._making = False
        if self._root.is_deleted:
            return
        self._report = report
        self._new.set_visibility(False)
        self._show_report(report)
        await self._draw(report)

    def _show_report(self, report: Report) -> None:
        groups = report.figures['groups']
        levels = {level: [group for group in groups if group['level'] == level]
                  for level in ('all', *LEVELS)}
        journal = report.figures['journals'][0]
        notes = '' if journal['complete_from'] == 1 else (
            f"; compacted: complete from row {journal['complete_from']} on, "
            f"{journal['cut_actions']} actions cut off are not counted")
        self._status.set_text(f"{journal['path']}: {journal['rows']} rows, "
                              f"{between(journal['first'], journal['last'])}{notes}")
        if not self._flows.options:
            self._flows.set_options([
                group['flow'] for group in levels['flow'] if group['flow']][:MAX_FLOWS])
        self._body.clear()
        with self._body:
            show_cards(levels['all'][0])
            self._pictures = ui.element('div').classes('runs-pictures')
            with ui.tabs().props('dense no-caps align=left inline-label') as tabs:
                for level in LEVELS:
                    ui.tab(level, label=f'{level.capitalize()}s ({len(levels[level])})')
            with ui.tab_panels(tabs, value='action', animated=False).classes('runs-panels'):
                for level in LEVELS:
                    with ui.tab_panel(level):
                        show_table(level, levels[level], (
                            lambda index: self._pick(levels['action'][index])
                        ) if level == 'action' else None)
            self._details = ui.element('div').classes('runs-picked')
            with self._details:
                ui.label('Choose an action to see its refutations with their evidence, its '
                         'causes of failures, recovery and times.').classes('now-empty')

    async def _draw(self, report: Report) -> None:
        try:
            found = await drawn(lambda: pictures(report.figures))
        except LifecycleError as error:
            if not self._root.is_deleted:
                with self._pictures:
                    ui.label(printable(str(error), 500)).classes('now-soft')
            return
        if self._root.is_deleted or report is not self._report:
            return
        with self._pictures:
            for name, svg in found.items():
                show_picture(name, svg)

    def _pick(self, group: Mapping[str, Any]) -> None:
        if self._report is None:
            return
        self._details.clear()
        with self._details:
            ActionDetails(self._robot, self._report, group)
        self._details.run_method('scrollIntoView', {'block': 'nearest'})

    async def _download(self, kind: str) -> None:
        if self._report is None:
            ui.notify('There is no report yet.', type='warning')
            return
        make, media_type = FILES[kind]
        figures = self._report.figures
        try:
            content = await drawn(lambda: make(figures))
        except LifecycleError as error:
            ui.notify(printable(str(error), 500), type='negative')
            return
        ui.download.content(content, f'report.{kind}', media_type)

    def _heard(self, heard: Heard) -> None:
        if heard.kind != ROWS or self._making:
            return
        if self._report is None:
            self._make()
        elif not self._looking:
            self._looking = True
            background_tasks.create(self._count(), context=self._root)

    async def _count(self) -> None:
        """Say how many rows are newer than the report."""
        try:
            last = await self._reports.last_seq()
        except LifecycleError:
            return
        finally:
            self._looking = False
        if self._report is None or self._root.is_deleted:
            return
        more = last - self._report.seq
        self._new.set_text('1 new row' if more == 1 else f'{more} new rows')
        self._new.set_visibility(more != 0)


def _stamp(text: Any, name: str, default: float) -> float:
    """Return the wall time (s) of a local time."""
    if not text:
        return default
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (OverflowError, OSError, ValueError) as error:
        raise LifecycleError(f"{name}: '{text}' is no date and time ({error})") from error
