# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The timeline of a flow: a player over its rows, and a Gantt chart of its actions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
import logging
import time

from nicegui import background_tasks, ui

from .player import Player
from .styles import add_style
from ..charts.gantt import gantt_rows, KINDS, kinds_shown, PieceKind, pieces_of
from ..charts.gantt_element import GanttElement
from ..looks import LOOKS
from ..moment import Moment
from ..record.flow_record import FlowRecord
from ..record.shown import STRUCTURE
from ..robots import Heard, Robot, ROWS
from ...lifecycle.text_format import printable

PERIOD = 0.5
"""Shortest time (s) between two updates of a page."""
_LOG = logging.getLogger(__name__)


def timeline_page(
    robot: Robot, flow_id: str, moment: Moment, pick: Callable[[str], None],
) -> None:
    """Make the timeline of a flow in the current container; `pick(path)` opens an action."""
    Timeline(robot, flow_id, moment, pick).build()


class Timeline:
    """One timeline in one tab of a browser; it sends what has changed, at most twice a second."""

    def __init__(
        self, robot: Robot, flow_id: str, moment: Moment, pick: Callable[[str], None],
    ) -> None:
        self._robot, self._flow_id, self._moment, self._pick = robot, flow_id, moment, pick
        self._record: FlowRecord | None = None
        self._chart: GanttElement | None = None
        self._zero = 0.0  #: wall time (s) of the flow's first row
        self._changed: set[str] = set()
        self._waiting: asyncio.TimerHandle | None = None
        self._updated = 0.0
        self._legend: list[PieceKind] = []
        self._chosen = str(getattr(pick, 'path', ''))

    def build(self) -> None:
        """Make the elements; what needs the journal follows."""
        add_style('timeline.css')
        with ui.element('section').classes('timeline') as self._root:
            self._fault = ui.label('').classes('timeline-fault').props('role=status')
            self._fault.set_visibility(False)
            self._player = Player(self._robot, self._moment)
            self._key = ui.element('div').classes('timeline-key')
            self._key.props['aria-hidden'] = 'true'
        ends = [self._robot.listen(self._heard), self._moment.listen(self._point)]
        if hasattr(self._pick, 'listen'):
            ends.append(self._pick.listen(self._point))
        for end in ends:
            self._root.client.on_delete(end)
        self._ends = ends
        background_tasks.create(self._load(), context=self._root)

    async def _load(self) -> None:
        """Read the flow; on failure again with the next rows."""
        try:
            record = await self._robot.record.flow(self._flow_id)
        except Exception as error:  # of one reading
            _LOG.warning('%s: %s', self._robot.name, error)
            self._say(f"The flow can't be read: {error}")
            return
        if self._root.is_deleted:
            return
        self._record = record
        if not record.seqs():
            self._say('The journal has no row of this flow.')
            return
        self._say('')
        self._player.show(record)
        if self._chart is None:  # with its first data, so that they are sent once
            with self._root:
                self._chart = GanttElement(
                    pick=self._picked, go=self._go).classes('timeline-chart')
        self._show_all()

    def _say(self, fault: str) -> None:
        if not self._root.is_deleted:
            self._fault.set_text(printable(fault, 500))
            self._fault.set_visibility(bool(fault))

    def _heard(self, heard: Heard) -> None:
        if self._gone() or heard.kind != ROWS or heard.update is None:
            return
        if self._chart is None:
            background_tasks.create_lazy(self._load(), name=f'timeline {self._root.client.id}')
            return
        paths = heard.update.flows.get(self._flow_id)
        if paths:
            self._changed |= paths
            self._soon()

    def _gone(self) -> bool:
        if self._root.is_deleted:
            for end in self._ends:
                end()
        return bool(self._root.is_deleted)

    def _soon(self) -> None:
        if self._waiting is None:
            wait = max(0.0, self._updated + PERIOD - time.monotonic())
            self._waiting = asyncio.get_running_loop().call_later(wait, self._update)

    def _update(self) -> None:
        """Send what has changed since the last time."""
        self._waiting, self._updated = None, time.monotonic()
        if self._gone() or self._record is None or self._chart is None:
            return
        changed, self._changed = self._changed, set()
        self._player.show(self._record)
        if STRUCTURE in changed:
            self._show_all()
            return
        pieces = pieces_of(self._record.bars(paths=changed), self._zero)
        self._chart.change(pieces, self._now(), live=self._live())
        self._show_key({kind.name for kind in self._legend} | {
            kind.name for kind in kinds_shown(pieces)})

    def _show_all(self) -> None:
        record, chart = self._record, self._chart
        assert record is not None and chart is not None
        stops = record.seqs()
        self._zero = stops[0][1] if stops else self._zero
        bars = record.bars()
        rows = gantt_rows(record.nodes(), bars)
        pieces = pieces_of(bars, self._zero)
        chart.show(rows, pieces, self._zero, self._now(), live=self._live())
        self._show_key({kind.name for kind in kinds_shown(pieces)})
        self._point()

    def _show_key(self, names: set[str]) -> None:
        """Show the kinds of pieces that there are, with their colours and patterns."""
        kinds = [kind for kind in KINDS if kind.name in names]
        if kinds == self._legend:
            return
        self._legend = kinds
        self._key.clear()
        with self._key:
            for kind in kinds:
                with ui.element('span').classes(f'timeline-kind timeline-{kind.shape}') as key:
                    key.style(f'--light:{kind.light};--dark:{kind.dark}')
                    if kind.shape == 'end':
                        ui.icon(LOOKS[kind.name].icon, size='14px')
                    else:
                        ui.element('span').classes('timeline-swatch')
                    ui.label(kind.label)

    def _live(self) -> bool:
        """Whether open pieces go on now."""
        return self._robot.now.live and self._record is not None \
            and self._record.head.ended is None

    def _now(self) -> int:
        """Return the end of open pieces (ms)."""
        last = self._record.seqs()[-1][1] if self._record and self._record.seqs() else self._zero
        return round(1000 * (max(last, time.time() if self._live() else last) - self._zero))

    def _point(self) -> None:
        """Mark the moment and the action that are shown."""
        if self._gone() or self._chart is None:
            return
        self._chosen = str(getattr(self._pick, 'path', self._chosen))
        seq = self._moment.seq
        wall = None if seq is None else self._player.wall(seq)
        self._chart.point(None if wall is None else round(1000 * (wall - self._zero)),
                          self._chosen)

    def _picked(self, path: str) -> None:
        self._chosen = path
        self._pick(path)
        self._point()

    def _go(self, seconds: float) -> None:
        """Show the moment at a time that was clicked."""
        if self._record is not None:
            self._player.go(self._zero + seconds)
