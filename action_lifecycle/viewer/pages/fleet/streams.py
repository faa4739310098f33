# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The requests that robots of a fleet share: those that wait, run, or are tried again."""

from __future__ import annotations

from collections.abc import Sequence
import time
from typing import Any

from nicegui import ui

from ...fleet_words import flow_words, request_words
from ....fleet.work_status import Request, StreamWork
from ....lifecycle.text_format import printable

MAX_TEXT = 200
MAX_ROWS = 200
ROWS = 10
"""Rows of a page of the table."""
COLUMNS = (('trace', 'Request'), ('flow', 'Flow'), ('state', 'State'), ('submitted', 'Submitted'),
           ('stream', 'Stream'))


class Streams:
    """Made in the current container: the numbers of each stream, and its requests."""

    def __init__(self) -> None:
        ui.label('Work').classes('now-title')
        self._none = ui.label('No robot takes requests from a stream.').classes('now-empty')
        self._numbers = ui.element('ul').classes('fleet-streams')
        self._lines: dict[tuple[str, str], ui.label] = {}
        self._table = ui.table(
            rows=[], row_key='key', pagination=ROWS, columns=[
                {'name': name, 'label': label, 'field': name, 'align': 'left',
                 'classes': 'foreign'} for name, label in COLUMNS]).classes(
            'fleet-table fleet-requests').props('flat dense wrap-cells')
        self._table.props['aria-label'] = 'Requests that wait or run'

    def show(self, work: Sequence[StreamWork]) -> None:
        """Show these streams."""
        self._none.set_visibility(not work)
        self._numbers.set_visibility(bool(work))
        wanted = {(one.stream, one.group): one for one in work}
        if wanted.keys() != self._lines.keys():
            self._numbers.clear()
            self._lines = {}
            with self._numbers:
                for key in wanted:
                    with ui.element('li'):
                        self._lines[key] = ui.label()
        for key, one in wanted.items():
            failed = f'{one.failed} to try again, ' if one.failed else ''
            self._lines[key].set_text(printable(
                f'{one.stream}: {one.waiting} waiting, {one.running} running, {failed}{one.dead} '
                f"dead letter{'' if one.dead == 1 else 's'} (group {one.group})", MAX_TEXT))
        rows = [_row(one, request) for one in work
                for request in (*one.runs, *one.fails, *one.waits)][:MAX_ROWS]
        self._table.set_visibility(bool(rows))
        if rows != self._table.rows:
            self._table.rows = rows


def _row(one: StreamWork, request: Request) -> dict[str, Any]:
    when = time.strftime('%d %b %H:%M:%S', time.localtime(request.submitted))
    texts = {'trace': request.trace_id, 'flow': flow_words(request),
             'state': request_words(request), 'submitted': when, 'stream': one.stream}
    return {'key': f'{one.stream} {one.group} {request.request_id}',
            **{name: printable(text, MAX_TEXT) for name, text in texts.items()}}
