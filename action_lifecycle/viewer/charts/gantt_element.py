# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The element of a page that shows a Gantt chart, and sends only what has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import itertools
import math
import time

from nicegui.element import Element
import nicegui.elements.echart  # noqa: F401  # makes ECharts known to the browser
from nicegui.events import GenericEventArguments

from .gantt import gantt_text, GanttRow, KINDS, Piece
from .palette import PALETTE


class GanttElement(Element, component='gantt_chart.js', dependencies=['chart_base.js']):
    """
    A Gantt chart; times are in ms since the flow began.

    `pick(path)` is called when an action is chosen, `go(s since the flow began)` when a time is.
    """

    def __init__(self, *, pick: Callable[[str], None], go: Callable[[float], None]) -> None:
        super().__init__()
        self._paths: list[str] = []
        self._places: dict[str, int] = {}
        self._pieces: list[tuple[Piece, ...]] = []
        self._props.update(
            palette=PALETTE, kinds=[kind._asdict() for kind in KINDS], rows=(), pieces=(),
            zero=0, offset=0, now=0, live=False, moment=None, chosen=None, label='', version=0)
        self._number = itertools.count(1)
        self.on('pick', lambda event: self._pick(event, pick), ['row'])
        self.on('go', lambda event: self._go(event, go), ['time'])

    def show(
        self, rows: Sequence[GanttRow], pieces: Mapping[str, Sequence[Piece]], zero: float,
        now: int, *, live: bool,
    ) -> None:
        """Show a flow anew; `zero`: wall time (s) of 0 ms; `now`: end of open pieces."""
        self._paths = [row.path for row in rows]
        self._places = {path: index for index, path in enumerate(self._paths)}
        self._pieces = [tuple(pieces.get(path, ())) for path in self._paths]
        with self._props.suspend_updates():  # tuples, as lists in props are watched for changes
            self._props.update(
                rows=tuple((row.label, row.depth) for row in rows), pieces=tuple(self._pieces),
                zero=round(zero * 1000), offset=1000 * time.localtime(zero).tm_gmtoff,
                now=now, live=live, label=gantt_text(rows, pieces),
                version=next(self._number))
        self.update()

    def change(self, pieces: Mapping[str, Sequence[Piece]], now: int, *, live: bool) -> None:
        """Replace the pieces of some actions; only those that differ are sent."""
        changed = []
        for path, own in pieces.items():
            place = self._places.get(path)
            if place is not None and self._pieces[place] != tuple(own):
                self._pieces[place] = tuple(own)
                changed.append((place, own))
        with self._props.suspend_updates():  # for a browser that shows the chart again
            self._props.update(pieces=tuple(self._pieces), now=now, live=live)
        self.run_method('change', changed, now, live)

    def point(self, moment: int | None, chosen: str = '') -> None:
        """Mark a moment (ms; None: live) and an action ('': none)."""
        place = self._places.get(chosen)
        with self._props.suspend_updates():
            self._props.update(moment=moment, chosen=place)
        self.run_method('point', moment, place)

    def _pick(self, event: GenericEventArguments, pick: Callable[[str], None]) -> None:
        place = event.args.get('row')
        if isinstance(place, int) and 0 <= place < len(self._paths):
            pick(self._paths[place])

    def _go(self, event: GenericEventArguments, go: Callable[[float], None]) -> None:
        found = event.args.get('time')
        if isinstance(found, (int, float)) and math.isfinite(found):
            go(found / 1000)
