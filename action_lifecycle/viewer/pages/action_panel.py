# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The panel of an action: what it is, what each attempt showed, its goal, history and text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nicegui import background_tasks, ui

from .attempt_view import AttemptView
from .controls import Controls
from .followed_flow import FollowedFlow, Paths
from .orders import page_orders
from .panel_parts import clock, Fold, history_table, text_block, work_text
from .styles import add_looks, add_style
from ..looks import look_of
from ..moment import Moment
from ..place import NOW, Place
from ..record.flow_record import FlowRecord
from ..record.shown import AttemptShown, FLOW, Node, Shown, STRUCTURE
from ..robots import Robot
from ...lifecycle.flow_ids import stored
from ...lifecycle.text_format import printable
from ...report.looks import LOOKS, state_look
from ...traces import Trace, TraceKey

PERIOD = 0.25
"""Shortest time (s) between two updates of a panel."""
TRACE_PERIOD = 2.0
"""Time (s) between two readings of the trace of an attempt that goes on, or that failed."""
PATIENCE = 0.3
"""Time (s) for the trace until an attempt is shown without curves."""
MAX_TABS = 12
"""Maximum number of attempts that are shown, the newest."""
LONGEST = 500
_ENDS = {'completed': 'completed', 'failed': 'error', 'canceled': 'canceled'}


def action_panel(robot: Robot, flow_id: str, path: str, moment: Moment) -> None:
    """Make the panel of an action in the current container; it follows robot and moment."""
    add_looks()
    add_style('action_panel.css')
    ActionPanel(robot, flow_id, path, moment).build()


class ActionPanel:
    """The panel of one action in one tab of a browser."""

    def __init__(self, robot: Robot, flow_id: str, path: str, moment: Moment) -> None:
        self._robot, self._flow_id, self._path, self._moment = robot, flow_id, path, moment
        self._controls: Controls | None = None
        self._chosen: int | None = None  #: number of the attempt that somebody has chosen
        self._tabs: list[tuple[int, str, str, str]] = []
        self._drawn: object = None  #: what the shown attempt depends on
        self._shown: object = None  #: attempt and what is said instead of its curves; '': curves
        self._no_traces = ''  #: why they can't be read now

    def build(self) -> None:
        """Make the elements; what needs the journal follows."""
        with ui.element('article').classes('action-panel') as self._root:
            self._root.props['aria-label'] = f'Action {printable(self._path, 100)}'
            with ui.element('header').classes('action-head'):
                self._icon = ui.icon(LOOKS['waiting'].icon, size='22px').props('aria-hidden=true')
                with ui.element('div').classes('action-names'):
                    outer, _, name = self._path.rpartition('/')
                    if outer:
                        ui.label(printable(outer, LONGEST)).classes('action-outer')
                    ui.label(printable(name, LONGEST)).classes('action-name')
                self._state = ui.label('').classes('action-state')
            self._about = ui.label('').classes('action-about')
            self._when = ui.label('').classes('action-when')
            self._waits = ui.label('').classes('action-waits').props('role=status')
            with ui.element('div').classes('action-waits') as self._asked:
                self._question = ui.label('').classes('foreign')
                ui.link('Answer', Place(self._robot.name).url(NOW))
            self._asked.set_visibility(False)
            if self._robot.orders is not None:
                self._controls = Controls(
                    self._robot, page_orders(), self._flow_id, self._path,
                    self._path.rpartition('/')[2])
            self._fault = ui.label('').classes('action-fault').props('role=status')
            self._attempts = ui.element('div').classes('action-attempts')
            self._attempts.props['role'] = 'group'
            self._attempts.props['aria-label'] = 'Attempts'
            journal = self._robot.record.source.path
            self._view = AttemptView(journal and journal.with_suffix('.boxes'))
            self._folds = [
                self._fold('Goal as sent, and results', self._fill_work),
                self._fold('History', self._fill_history), self._fold('YAML', self._fill_text)]
        for element in (self._about, self._waits, self._fault):
            element.set_visibility(False)
        self._timer = ui.timer(TRACE_PERIOD, self._again, active=False)
        self._flow = FollowedFlow(
            self._robot, self._flow_id, self._root, self._changed, self._say, period=PERIOD,
            moment=self._moment)

    def _fold(self, title: str, fill: Callable[[FlowRecord], object]) -> Fold:
        return Fold(title, lambda: self._flow.record and fill(self._flow.record))

    def _say(self, fault: str) -> None:
        self._fault.set_text(printable(fault, LONGEST))
        self._fault.set_visibility(bool(fault))

    def _changed(self, _: FlowRecord, paths: Paths | None) -> None:
        if paths is None or paths & {self._path, FLOW, STRUCTURE}:
            self._update()

    def _update(self) -> None:
        """Show the action at the moment; only what differs is sent."""
        record, seq = self._flow.record, self._moment.seq
        if record is None or self._root.is_deleted:
            return
        shown, node = record.shown(self._path, seq), record.nodes(seq).get(self._path)
        self._show_head(shown, node)
        if self._controls is not None:
            self._controls.update(record)
        attempts = record.attempts(self._path, seq)
        self._show_tabs(attempts)
        attempt = next((one for one in attempts if one.number == self._chosen),
                       attempts[-1] if attempts else None)
        self._timer.active = attempt is not None and self._robot.now.live and (
            bool(self._no_traces) or (not attempt.ended and self._moment.live))
        self._draw(record, attempt)
        for fold in self._folds:
            fold.change()

    def _show_head(self, shown: Shown, node: Node | None) -> None:
        look = look_of(shown)
        self._icon.set_name(look.icon)
        for element in (self._icon, self._state):
            element.classes(replace=f'{look.css} look-text' + (
                ' action-state' if element is self._state else ''))
        self._state.set_text(look.label)
        about = node.description if node else 'not part of the flow at this moment'
        self._about.set_text(printable(about, LONGEST))
        self._about.set_visibility(bool(about))
        told = [node.kind if node else '', f'attempt {shown.attempt}' if shown.attempt else '']
        if shown.since:
            told.append(f'since {clock(shown.since)}')
        self._when.set_text(' · '.join(filter(None, told)))
        self._waits.set_text(f'Waits: {printable(shown.waits, LONGEST)}')
        self._waits.set_visibility(bool(shown.waits_for))
        question = next((one for one in self._robot.record.questions() if self._moment.live and (
            one.flow_id, one.action_id) == stored(self._flow_id, self._path)), None)
        self._question.set_text(f'A person is asked: {printable(question.question, LONGEST)}'
                                if question else '')
        self._asked.set_visibility(question is not None)

    def _show_tabs(self, attempts: list[AttemptShown]) -> None:
        """Show a button for each attempt, if there are several."""
        shown = attempts[-MAX_TABS:]
        number = self._chosen if any(one.number == self._chosen for one in shown) else (
            shown[-1].number if shown else None)
        tabs = [(one.number, one.path, one.ended, 'true' if one.number == number else 'false')
                for one in shown]
        if tabs == self._tabs:
            return
        self._tabs = tabs
        self._attempts.clear()
        self._attempts.set_visibility(len(tabs) > 1)
        with self._attempts:
            if len(attempts) > len(shown):
                ui.label(f'{len(attempts) - len(shown)} earlier')
            for one, (_, _, _, here) in zip(shown, tabs):
                self._tab(one, here)

    def _tab(self, attempt: AttemptShown, here: str) -> None:
        look = state_look(_ENDS.get(attempt.ended, 'in_progress'))
        button = ui.button(on_click=lambda: self._choose(attempt.number), color=None).props(
            'flat dense no-caps').classes('action-attempt')
        button.props['aria-pressed'] = here
        with button:
            ui.icon(look.icon, size='14px').classes(f'{look.css} look-text').props(
                'aria-hidden=true')
            ui.label(f'#{attempt.number}' + (f' {attempt.path}' if attempt.path else ''))
        button.props['aria-label'] = f'Attempt {attempt.number}: {attempt.ended or "goes on"}'

    def _choose(self, number: int) -> None:
        self._chosen = number
        self._update()

    def _again(self) -> None:
        """Read the trace again."""
        self._drawn = None
        self._update()

    def _draw(self, record: FlowRecord, attempt: AttemptShown | None) -> None:
        until = self._until(record, attempt)
        if (attempt, until) != self._drawn:
            self._drawn = attempt, until
            background_tasks.create(self._show_attempt(attempt, until), context=self._root)

    def _until(self, record: FlowRecord, attempt: AttemptShown | None) -> float | None:
        """Return the ROS time (s) at which the curves of an attempt end; None: all of them."""
        seq = self._moment.seq
        if seq is None or attempt is None or attempt.ended:
            return None
        rows = [row for row in record.history(self._path, seq) if row.ros_time is not None]
        here = record.row(seq)
        found = here.ros_time if here is not None else None
        return found if found is not None else rows[-1].ros_time if rows else None

    async def _show_attempt(self, attempt: AttemptShown | None, until: float | None) -> None:
        """Show an attempt; without curves as long as its trace is being read."""
        reading = asyncio.ensure_future(self._trace(attempt))
        done, _ = await asyncio.wait({reading}, timeout=PATIENCE)
        if not done and self._shown != (attempt, until, ''):
            self._show(attempt, None, until, self._no_traces or 'The traces are being read …')
        trace, self._no_traces = await reading
        self._show(attempt, trace, until, self._no_traces)
        if self._no_traces and self._robot.now.live and not self._root.is_deleted:
            self._timer.activate()

    def _show(
        self, attempt: AttemptShown | None, trace: Trace | None, until: float | None, note: str
    ) -> None:
        if self._root.is_deleted or self._drawn != (attempt, until):
            return  # another one is shown meanwhile
        shown = attempt, until, note
        if not note or self._shown != shown:
            self._shown = shown
            self._view.show(attempt, trace, until, note)

    async def _trace(self, attempt: AttemptShown | None) -> tuple[Trace | None, str]:
        """Return the trace of an attempt, and why it can't be read."""
        if attempt is None:
            return None, ''
        flow_id, action_id = stored(self._flow_id, self._path)
        try:
            return await self._robot.record.source.traces.find(
                TraceKey(flow_id, action_id, attempt.number)), ''
        except Exception as error:  # of one reading
            return None, f'Traces are not available: {error}'

    def _fill_work(self, record: FlowRecord) -> None:
        text_block(work_text(record, self._path, self._moment.seq))

    def _fill_history(self, record: FlowRecord) -> None:
        history_table(record.history(self._path, self._moment.seq))

    def _fill_text(self, record: FlowRecord) -> None:
        text_block(record.text(self._path, self._moment.seq)
                   or 'The journal does not have the text of this action.')
