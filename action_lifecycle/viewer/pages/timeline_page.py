# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The timeline of a flow: a player over its rows, and a Gantt chart of its actions."""

from __future__ import annotations

from collections.abc import Collection
import time

from nicegui import ui

from .followed_flow import FollowedFlow, Paths
from .listening import listen_while_shown
from .panel_parts import clock
from .player import Player
from .styles import add_style
from ..charts.gantt import gantt_rows, KINDS, kinds_shown, PieceKind, pieces_of
from ..charts.gantt_element import GanttElement, GanttTime
from ..moment import Moment
from ..pick import Pick
from ..record.flow_record import FlowRecord
from ..record.shown import StateEntered, STRUCTURE
from ..robots import Robot
from ..words import state_times
from ...lifecycle.text_format import printable
from ...report.looks import LOOKS

PERIOD = 0.5
"""Shortest time (s) between two updates of a page."""


def timeline_page(robot: Robot, flow_id: str, moment: Moment, pick: Pick) -> None:
    """Make the timeline of a flow in the current container."""
    Timeline(robot, flow_id, moment, pick).build()


class Timeline:
    """One timeline in one tab of a browser; it sends what has changed, at most twice a second."""

    def __init__(self, robot: Robot, flow_id: str, moment: Moment, pick: Pick) -> None:
        self._robot, self._flow_id, self._moment, self._pick = robot, flow_id, moment, pick
        self._record: FlowRecord | None = None
        self._chart: GanttElement | None = None
        self._zero = 0.0  #: wall time (s) of the flow's first row
        self._seq: int | None = None  #: the moment that the chart shows
        self._legend: list[PieceKind] = []
        self._entered: list[StateEntered] = []

    def build(self) -> None:
        """Make the elements; what needs the journal follows."""
        add_style('timeline.css')
        with ui.element('section').classes('timeline') as self._root:
            self._fault = ui.label('').classes('timeline-fault').props('role=status')
            self._fault.set_visibility(False)
            self._player = Player(self._robot, self._moment)
            self._states = ui.element('div').classes('timeline-states').props(
                'role=group aria-label="States of the flow"')
            self._key = ui.element('div').classes('timeline-key')
            self._key.props['aria-hidden'] = 'true'
        FollowedFlow(self._robot, self._flow_id, self._root, self._update, self._say,
                     period=PERIOD)
        listen_while_shown(self._moment, self._root, self._moved)
        listen_while_shown(self._pick, self._root, lambda: self._change(()))

    def _say(self, fault: str) -> None:
        self._fault.set_text(printable(fault, 500))
        self._fault.set_visibility(bool(fault))

    def _update(self, record: FlowRecord, changed: Paths | None) -> None:
        """Send what has changed since the last time."""
        self._record = record
        self._player.show(record)
        if self._chart is None:  # with its first data, so that they are sent once
            self._chart = GanttElement(pick=self._pick, go=self._go).classes('timeline-chart')
        if changed is None:
            self._show_all()
        else:
            self._change(changed)

    def _moved(self) -> None:
        """Show another moment: what the rows between it and the last one have changed."""
        if self._record is not None:
            now, seq = self._record.last_seq, self._moment.seq
            first, last = sorted((now if self._seq is None else self._seq,
                                  now if seq is None else seq))
            self._change(self._record.changed(first, last))

    def _change(self, paths: Collection[str]) -> None:
        """Send what has changed of these actions."""
        if self._chart is None or self._record is None:
            return
        if STRUCTURE in paths:
            self._show_all()
            return
        self._seq = self._moment.seq
        self._show_states()
        pieces = dict.fromkeys(paths, ()) | pieces_of(
            self._record.bars(self._seq, paths), self._zero)
        self._chart.change(pieces, self._time(), self._pick.path)
        self._show_key({kind.name for kind in self._legend} | {
            kind.name for kind in kinds_shown(pieces)})

    def _show_all(self) -> None:
        if self._chart is None or self._record is None:
            return
        record, self._seq = self._record, self._moment.seq
        self._show_states()
        stops = record.seqs()
        self._zero = stops[0][1] if stops else self._zero
        bars = record.bars(self._seq)
        pieces = pieces_of(bars, self._zero)
        self._chart.show(gantt_rows(record.nodes(self._seq), bars), pieces, self._zero,
                         self._time(), self._pick.path)
        self._show_key({kind.name for kind in kinds_shown(pieces)})

    def _show_states(self) -> None:
        """Show the states that the flow has entered up to the moment."""
        entered = [] if self._record is None else self._record.entered(self._seq)
        if entered == self._entered:
            return
        self._entered = entered
        self._states.clear()
        with self._states:
            for one, text in zip(entered, state_times(entered)):
                look = LOOKS.get(one.state, LOOKS['waiting'])
                ui.label(printable(text, 60)).classes(f'look-icon {look.css}').props['title'] = \
                    f'since {clock(one.time)}'

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
                    if kind.hatch:
                        key.classes(f'timeline-{kind.hatch}')
                    if kind.shape == 'end':
                        ui.icon(LOOKS[kind.name].icon, size='14px')
                    else:
                        ui.element('span').classes('timeline-swatch')
                    ui.label(kind.label)

    def _live(self) -> bool:
        """Whether open pieces go on now."""
        return self._robot.now.live and self._record is not None \
            and self._record.head.ended is None

    def _time(self) -> GanttTime:
        """Return the times of the chart."""
        last = self._record.seqs()[-1][1] if self._record and self._record.seqs() else self._zero
        wall = None if self._seq is None else self._player.wall(self._seq)
        return GanttTime(
            round(1000 * (max(last, time.time() if self._live() else last) - self._zero)),
            self._live(), None if wall is None else round(1000 * (wall - self._zero)))

    def _go(self, seconds: float) -> None:
        """Show the moment at a time that was clicked."""
        if self._record is not None:
            self._player.go(self._zero + seconds)
