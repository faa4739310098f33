# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The player over the rows of a flow: a slider, steps, play, and what the row says."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from datetime import datetime

from nicegui import ui
from nicegui.events import KeyEventArguments, ValueChangeEventArguments

from .listening import listen_while_shown
from ..moment import Moment
from ..record.flow_record import FlowRecord
from ..robots import Robot
from ...journal.row_text import row_text, why_text
from ...lifecycle.text_format import printable

TICK = 0.1
"""Time (s) between two steps of playing."""
LONGEST_WAIT = 1.0
"""Longest time (s) for which nothing happens while it plays; longer waits are cut."""
SPEEDS = {1: '1×', 2: '2×', 5: '5×', 10: '10×', 60: '60×'}
LONGEST = 400
"""Maximum number of characters of a row."""
_OWN_KEYS = '(event) => event.key.startsWith("Arrow") && event.stopPropagation()'
"""Keys that the slider takes itself"""


class Player:
    """
    Moves a Moment over the rows of a flow.

    Keys: left and right a row, with shift 10 rows, Home the first row, End now.
    """

    def __init__(self, robot: Robot, moment: Moment) -> None:
        self._robot, self._moment = robot, moment
        self._record: FlowRecord | None = None
        self._stops: Sequence[tuple[int, float]] = ()
        self._setting = False
        self._time = 0.0  #: wall time (s) that is played
        with ui.element('div').classes('player') as self._root:
            with ui.element('div').classes('player-row'):
                self._button('skip_previous', 'First row (Home)', self._first)
                self._button('chevron_left', 'A row back (left arrow)', lambda: self._step(-1))
                self._play = self._button('play_arrow', 'Play', self._toggle)
                self._button('chevron_right', 'A row on (right arrow)', lambda: self._step(1))
                self._now = ui.button('Live', on_click=lambda: self._set(None), color=None).props(
                    'flat dense no-caps').classes('player-live')
                self._speed = ui.select(SPEEDS, value=1).props(
                    'dense borderless options-dense aria-label="Speed"').classes('player-speed')
                self._slider = ui.slider(
                    min=0, max=1, value=1, on_change=self._slid).classes('player-slider')
                self._slider.props['aria-label'] = 'Row of the journal'
                self._slider.on('keydown', js_handler=_OWN_KEYS)
            with ui.element('div').classes('player-said'):
                self._when = ui.label('').classes('player-when')
                with ui.element('div').classes('player-text'):
                    self._said = ui.label('')
                    self._why = ui.label('').classes('player-why')
        self._timer = ui.timer(TICK, self._advance, active=False)
        ui.keyboard(on_key=self._key, ignore=['input', 'select', 'textarea'])
        listen_while_shown(moment, self._root, self.update)

    def _button(self, icon: str, title: str, work: object) -> ui.button:
        button = ui.button(icon=icon, on_click=work, color=None).props(  # type: ignore[arg-type]
            'flat dense round size=sm')
        button.props['aria-label'] = button.props['title'] = title
        return button

    def show(self, record: FlowRecord) -> None:
        """Show the rows of a flow, or those that it has got since."""
        self._record, self._stops = record, record.seqs()
        self._now.set_text('Live' if self._robot.now.live else 'End')
        last = max(1, len(self._stops) - 1)
        if self._slider.props.get('max') != last:
            self._slider.props['max'] = last
        self.update()

    def wall(self, seq: int) -> float | None:
        """Return the wall time (s) of a row, or of the last one before it."""
        index = self._index(seq)
        return self._stops[index][1] if self._stops else None

    def go(self, wall: float) -> None:
        """Show the moment at a wall time (s)."""
        if self._record is not None:
            seq = self._record.at_time(wall)
            self._set(seq or (self._stops[0][0] if self._stops else None))

    def update(self) -> None:
        """Show the moment."""
        if not self._stops or self._record is None:
            return
        live, index = self._moment.live, self._index(self._moment.seq)
        self._setting = True
        self._slider.set_value(index)
        self._setting = False
        self._now.classes(add='player-here' if live else '', remove='' if live else 'player-here')
        seq, wall = self._stops[index]
        row = self._record.row(seq)
        at = datetime.fromtimestamp(wall).strftime('%H:%M:%S.%f')[:-4]
        self._when.set_text(
            f'{at}  +{wall - self._stops[0][1]:.1f} s  row {index + 1} of {len(self._stops)}')
        why = why_text(row) if row else ''
        self._said.set_text(printable(row_text(row), LONGEST) if row else '')
        self._why.set_text(printable(why, LONGEST))

    def _index(self, seq: int | None) -> int:
        """Return the place of a row, or of the last one before it."""
        if seq is None:
            return max(0, len(self._stops) - 1)
        return max(0, bisect.bisect_right(self._stops, (seq, float('inf'))) - 1)

    def _set(self, seq: int | None) -> None:
        """Show a row; the last one is now."""
        if seq is not None and self._stops and seq >= self._stops[-1][0]:
            seq = None
        if seq is None:
            self._stop()
        self._moment.set(seq)

    def _slid(self, event: ValueChangeEventArguments[float | None]) -> None:
        if not self._setting and self._stops and event.value is not None:
            self._stop()
            self._set(self._stops[max(0, min(len(self._stops) - 1, int(event.value)))][0])

    def _first(self) -> None:
        self._stop()
        if self._stops:
            self._set(self._stops[0][0])

    def _step(self, rows: int) -> None:
        self._stop()
        if self._stops:
            index = self._index(self._moment.seq) + rows
            self._set(self._stops[max(0, min(len(self._stops) - 1, index))][0])

    def _toggle(self) -> None:
        if self._timer.active:
            self._stop()
            return
        if not self._stops:
            return
        index = self._index(self._moment.seq)
        if self._moment.live or index == len(self._stops) - 1:
            index = 0
        self._time = self._stops[index][1]
        self._moment.set(self._stops[index][0])
        self._timer.activate()
        self._play.props('icon=pause')

    def _stop(self) -> None:
        if self._timer.active:
            self._timer.deactivate()
            self._play.props('icon=play_arrow')

    def _advance(self) -> None:
        """Play on by one tick."""
        if self._record is None or self._root.is_deleted:
            return
        speed = float(self._speed.value or 1)
        index = self._index(self._moment.seq)
        if index + 1 >= len(self._stops):
            self._set(None)
            return
        self._time = max(self._time + TICK * speed,
                         self._stops[index + 1][1] - LONGEST_WAIT * speed)
        while index + 1 < len(self._stops) and self._stops[index + 1][1] <= self._time:
            index += 1
        self._set(self._stops[index][0])

    def _key(self, event: KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt \
                or event.modifiers.meta:
            return
        far = 10 if event.modifiers.shift else 1
        if event.key.arrow_left:
            self._step(-far)
        elif event.key.arrow_right:
            self._step(far)
        elif event.key.home:
            self._first()
        elif event.key.end:
            self._set(None)
