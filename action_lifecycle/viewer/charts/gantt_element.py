# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The element of a page that shows a Gantt chart, and sends only what has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import itertools
import math
import time
from typing import NamedTuple

from nicegui.element import Element
import nicegui.elements.echart  # noqa: F401  # makes ECharts known to the browser
from nicegui.events import GenericEventArguments

from .gantt import gantt_text, GanttRow, KINDS, Piece
from .palette import PALETTE


class GanttTime(NamedTuple):
    """
    The times of a chart, in ms since the flow began.

    `last`: of the last row, the chart reaches to it; `live`: it goes on; `moment`: of the row that
    is shown, where open pieces end, None if it is the last one.
    """

    last: int
    live: bool
    moment: int | None


class GanttElement(Element, component='gantt_chart.js', dependencies=['chart_base.js']):
    """
    A Gantt chart; times are in ms since the flow began.

    `pick(path)` is called when an action is chosen, `go(s since the flow began)` when a time is.
    """

    def __init__(self, *, pick: Callable[[str], None], go: Callable[[float], None]) -> None:
        super().__init__()
        self._rows: Sequence[GanttRow] = ()
        self._places: dict[str, int] = {}
        self._pieces: list[tuple[Piece, ...]] = []
        self._props.update(
            palette=PALETTE, kinds=[kind._asdict() for kind in KINDS], rows=(), pieces=(),
            zero=0, offset=0, shown=(0, False, None), chosen=None, label='', version=0)
        self._number = itertools.count(1)
        self.on('pick', lambda event: self._pick(event, pick), ['row'])
        self.on('go', lambda event: self._go(event, go), ['time'])

    def show(
        self, rows: Sequence[GanttRow], pieces: Mapping[str, Sequence[Piece]], zero: float,
        shown: GanttTime, chosen: str,
    ) -> None:
        """Show a flow anew; `zero`: wall time (s) of 0 ms; `chosen`: path of an action, or ''."""
        self._rows = rows
        self._places = {row.path: index for index, row in enumerate(rows)}
        self._pieces = [tuple(pieces.get(row.path, ())) for row in rows]
        with self._props.suspend_updates():  # tuples, as lists in props are watched for changes
            self._props.update(
                rows=tuple((row.label, row.depth) for row in rows),
                zero=round(zero * 1000), offset=1000 * time.localtime(zero).tm_gmtoff,
                version=next(self._number))
            self._keep(shown, chosen)
        self.update()

    def change(
        self, pieces: Mapping[str, Sequence[Piece]], shown: GanttTime, chosen: str
    ) -> None:
        """Replace the pieces of some actions; only those that differ are sent."""
        changed = []
        for path, own in pieces.items():
            place = self._places.get(path)
            if place is not None and self._pieces[place] != tuple(own):
                self._pieces[place] = tuple(own)
                changed.append((place, own))
        with self._props.suspend_updates():  # for a browser that shows the chart again
            place, label = self._keep(shown, chosen)
        self.run_method('change', changed, tuple(shown), place, label)

    def _keep(self, shown: GanttTime, chosen: str) -> tuple[int | None, str]:
        """Keep what is shown in the props; returns the chosen row and the label."""
        place, label = self._places.get(chosen), gantt_text(self._rows, self._pieces)
        self._props.update(
            pieces=tuple(self._pieces), shown=tuple(shown), chosen=place, label=label)
        return place, label

    def _pick(self, event: GenericEventArguments, pick: Callable[[str], None]) -> None:
        place = event.args.get('row')
        if isinstance(place, int) and 0 <= place < len(self._rows):
            pick(self._rows[place].path)

    def _go(self, event: GenericEventArguments, go: Callable[[float], None]) -> None:
        found = event.args.get('time')
        if isinstance(found, (int, float)) and math.isfinite(found):
            go(found / 1000)
