# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The actions of a flow as a list: sortable, filtered by state and text, walked by arrow keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from ..graph.cells import WARNING
from ..looks import look_of
from ..record.shown import Node, Shown
from ...lifecycle.text_format import printable
from ...report.looks import ACTION_LOOKS, LOOKS

LONGEST = 300  #: characters of a cell
_TIME = ("p => p.value ? new Date(p.value * 1000).toLocaleTimeString([], {hour12: false}) : ''")
_TRY = f"p => p.value ? p.value + (p.data.failures ? '{WARNING}' : '') : ''"
_ENTER = "p => { if (p.event.key === 'Enter') p.event.target.click(); }"


class ActionList:
    """Rows of actions; `pick` is called with the path of one."""

    def __init__(self, pick: Callable[[str], None]) -> None:
        self._pick = pick
        self._rows: dict[str, dict[str, Any]] = {}
        self._ready = False
        self._looks: frozenset[str] = frozenset()
        self._text = ''
        self._chosen = ''
        self._grid = ui.aggrid({
            'columnDefs': [
                {'headerName': 'Action', 'field': 'path', 'flex': 1, 'minWidth': 84,
                 'tooltipField': 'about'},
                {'headerName': 'State', 'field': 'look', 'width': 126,
                 'tooltipField': 'waits', ':valueFormatter': 'p => p.data.state',
                 ':comparator': '(a, b, one, other) => one.data.rank - other.data.rank',
                 ':getQuickFilterText': "p => p.data.state + ' ' + p.data.waits",
                 'filter': 'agTextColumnFilter', 'suppressHeaderFilterButton': True,
                 'filterParams': {'maxNumConditions': len(ACTION_LOOKS)},
                 'cellClass': 'look-icon',
                 'cellClassRules': {LOOKS[name].css: f"x === '{name}'"
                                    for name in ACTION_LOOKS}},
                {'headerName': 'Try', 'field': 'attempt', 'width': 58, 'maxWidth': 58,
                 ':valueFormatter': _TRY, 'tooltipField': 'tries'},
                {'headerName': 'Since', 'field': 'since', 'width': 78, 'maxWidth': 78,
                 ':valueFormatter': _TIME}],
            'defaultColDef': {'sortable': True, 'resizable': True, 'suppressMovable': True},
            'rowData': [], ':getRowId': 'p => p.data.path', 'suppressFieldDotNotation': True,
            'rowHeight': 30, 'headerHeight': 30, 'tooltipShowDelay': 600, 'animateRows': False,
            'rowSelection': {'mode': 'singleRow', 'checkboxes': False,
                             'enableClickSelection': True},
            # Tab leaves the list; arrow keys move in it.
            ':tabToNextCell': '() => false', ':tabToNextHeader': '() => false',
            ':onCellKeyDown': _ENTER, 'overlayNoRowsTemplate': 'No actions',
        }).classes('action-list').props('role=region aria-label="List of actions"')
        self._grid.on('gridReady', self._send_all, args=[])
        self._grid.on('cellClicked', self._clicked, args=['rowId'])

    def show(self, nodes: Mapping[str, Node], now: Mapping[str, Shown]) -> None:
        """Replace all rows."""
        rows = {path: _row(node, now[path]) for path, node in nodes.items()}
        if rows != self._rows:
            self._rows = rows
            if self._ready:
                self._send_all()

    def change(
        self, nodes: Mapping[str, Node], now: Mapping[str, Shown], paths: Iterable[str]
    ) -> None:
        """Send the rows of some actions."""
        rows = []
        for path in paths:
            row = _row(nodes[path], now[path])
            if row != self._rows.get(path):
                self._rows[path] = row
                rows.append(row)
        if rows and self._ready:
            self._grid.run_grid_method('applyTransaction', {'update': rows})

    def filter(self, looks: Collection[str], text: str) -> None:  # noqa: A003
        """Show those with one of the looks (none: all) that have the text in a column."""
        self._looks, self._text = frozenset(looks), text
        if self._ready:
            self._send_filter()

    def choose(self, path: str) -> None:
        """Mark the row of an action; '': of none."""
        self._chosen = path
        if self._ready and path in self._rows:
            self._grid.run_row_method(path, 'setSelected', True, True)
        elif self._ready:
            self._grid.run_grid_method('deselectAll')

    def _send_all(self) -> None:
        self._ready = True
        self._grid.run_grid_method('setGridOption', 'rowData', list(self._rows.values()))
        if self._looks or self._text:
            self._send_filter()
        if self._chosen:
            self.choose(self._chosen)

    def _send_filter(self) -> None:
        conditions = [{'filterType': 'text', 'type': 'equals', 'filter': name}
                      for name in ACTION_LOOKS if name in self._looks]
        model: dict[str, Any] | None = None
        if len(conditions) == 1:
            model = {'look': conditions[0]}
        elif conditions:
            model = {'look': {'filterType': 'text', 'operator': 'OR', 'conditions': conditions}}
        self._grid.run_grid_method('setFilterModel', model)
        self._grid.run_grid_method('setGridOption', 'quickFilterText', self._text)

    def _clicked(self, event: GenericEventArguments) -> None:
        path = event.args.get('rowId') if isinstance(event.args, dict) else event.args
        if path in self._rows:
            self._pick(path)


def _row(node: Node, now: Shown) -> dict[str, Any]:
    look = look_of(now)
    about = f'{node.path}: {node.description}' if node.description else node.path
    return {'path': node.path, 'about': printable(about, LONGEST), 'look': look.name,
            'state': look.label, 'rank': ACTION_LOOKS.index(look.name),
            'attempt': now.attempt or None, 'failures': now.failures,
            'tries': f'{now.failures} failed' if now.failures else '', 'since': now.since or None,
            'waits': printable(now.waits_for or look.label, LONGEST)}
