# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a flow: its graph, how far it is, what it waits for, and a list of its actions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
import logging
from pathlib import Path
from typing import Any
from weakref import WeakSet

from nicegui import background_tasks, Client, ui

from .action_list import ActionList
from .flow_progress import FlowProgress, waiting
from ..graph.drawing import Drawing
from ..graph.flow_graph import FlowGraph
from ..graph.grouping import LIMIT
from ..looks import ACTIVE, look_of, style_sheet
from ..moment import Moment
from ..record.shown import Shown, STRUCTURE
from ..robots import Heard, Robot, ROWS
from ...documents.errors import LifecycleError
from ...lifecycle.text_format import printable

PERIOD = 0.05
"""Least time (s) between two updates of a page."""
RETRY = 2.0
"""Time (s) until a record that could not be read is read again."""
EVERYTHING = 5_000
"""Maximum number of actions that are drawn without groups."""
_styled: WeakSet[Client] = WeakSet()


def flow_page(
    robot: Robot, flow_id: str, moment: Moment, pick: Callable[[str], None]
) -> None:
    """
    Fill the present container with the page of a flow at a moment.

    `pick` is called with the path of an action that somebody has chosen. The page follows robot
    and moment until its elements are deleted, which they are when the client has gone.
    """
    client = ui.context.client
    if client not in _styled:
        _styled.add(client)
        ui.add_css(style_sheet())
        ui.add_css(Path(__file__).with_suffix('.css'))
    _FlowPage(robot, flow_id, moment, pick)


class _FlowPage:

    def __init__(
        self, robot: Robot, flow_id: str, moment: Moment, pick: Callable[[str], None]
    ) -> None:
        self._robot, self._flow_id, self._moment, self._pick = robot, flow_id, moment, pick
        self._loop = asyncio.get_running_loop()
        self._record: Any = None
        self._due: set[str] | None = set()  #: paths to be shown anew; None: everything
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0
        self._opened: dict[str, bool] = {}
        self._whole = False
        self._follow = True
        self._text = ''
        self._looks: frozenset[str] = frozenset()
        self._gone = False
        self._build()
        self._stops = [robot.listen(self._heard), moment.listen(self._moved)]
        background_tasks.create(self._load(), name=f'load {flow_id}')

    def _build(self) -> None:
        with ui.element('div').classes('flow-page'):
            with ui.element('div').classes('flow-top'):
                self._lost = ui.label('').classes('flow-lost').props('role=alert')
                self._lost.set_visibility(False)
                self._progress = FlowProgress(self._filtered_looks, self._choose)
            with ui.element('div').classes('flow-main'):
                with ui.element('div').classes('flow-side'):
                    search = ui.input(placeholder='Filter actions').classes('flow-search').props(
                        'dense outlined clearable type=search debounce=150 '
                        'aria-label="Filter the list of actions"')
                    search.on_value_change(lambda event: self._filtered_text(event.value or ''))
                    self._list = ActionList(self._choose)
                with ui.element('div').classes('flow-left'):
                    with ui.element('div').classes('flow-tools').props(
                            'role=toolbar aria-label="View of the graph"'):
                        self._follow_tool = _tool(
                            'my_location', 'Follow the active action', self._toggle_follow, True)
                        self._whole_tool = _tool(
                            'unfold_more', 'Open all groups', self._toggle_whole, False)
                        _tool('fit_screen', 'Show all (0)', lambda: self._graph.fit())
                        _tool('add', 'Zoom in (+)', lambda: self._graph.zoom(1.25))
                        _tool('remove', 'Zoom out (-)', lambda: self._graph.zoom(0.8))
                    self._graph = FlowGraph(
                        self._picked, self._toggle, self._leave, self._end)

    # following

    def _end(self) -> None:
        self._gone = True
        for stop in self._stops:
            stop()
        if self._timer is not None:
            self._timer.cancel()

    async def _load(self) -> None:
        while not self._gone:
            try:
                record = await self._robot.record.flow(self._flow_id)
            except LifecycleError as error:
                self._say_lost(str(error))
                await asyncio.sleep(RETRY)
                continue
            self._record = record
            self._say_fault('')
            self._show_anew(None)
            return

    def _heard(self, heard: Heard) -> None:
        if heard.kind != ROWS or heard.update is None:
            return
        if self._record is not None:
            self._say_fault(heard.update.lost)
        paths = heard.update.flows.get(self._flow_id)
        if paths and self._moment.live:
            self._show_anew(paths)

    def _moved(self) -> None:
        self._show_anew(None)

    def _show_anew(self, paths: frozenset[str] | None) -> None:
        """Show some actions (None: everything), but not too often."""
        if paths is None:
            self._due = None
        elif self._due is not None:
            self._due |= paths
        if self._timer is None and not self._gone:
            delay = max(0.0, self._last + PERIOD - self._loop.time())
            self._timer = self._loop.call_later(delay, self._show_due)

    def _show_due(self) -> None:
        self._timer = None
        self._last = self._loop.time()
        due, self._due = self._due, set()
        if self._record is None:
            return
        try:
            self._show(due)
        except LifecycleError as error:
            self._say_lost(str(error))
        except Exception:
            logging.getLogger('action_lifecycle').exception(
                'the page of flow %s could not be updated', self._flow_id)
            self._say_lost('this page could not be updated; see the log')

    def _show(self, due: set[str] | None) -> None:
        at = self._moment.seq
        shown = partial(self._record.shown, at=at)
        drawing = self._graph.drawing
        if drawing is None or due is None or STRUCTURE in due:
            nodes = self._record.nodes(at)
            if drawing is None or nodes != drawing.nodes:
                self._draw(shown, keep=drawing is not None)
                drawing = self._graph.drawing
                due = set()
        assert drawing is not None
        paths = self._graph.apply(shown, due)
        self._list.change(drawing.nodes, drawing.now, paths)
        self._progress.show(self._record.flow(at), drawing.looks, waiting(drawing.now))
        if self._follow:
            self._reveal_active(paths)

    def _draw(self, shown: Callable[[str], Shown], *, keep: bool) -> None:
        nodes = self._record.nodes(self._moment.seq)
        drawing = Drawing(nodes, shown, self._opened, EVERYTHING if self._whole else LIMIT)
        self._graph.show(drawing, f'Flow {self._flow_id}, {len(nodes)} actions', keep=keep)
        self._list.show(nodes, drawing.now)

    def _reveal_active(self, paths: set[str] | None = None) -> None:
        """Show, of the active ones of some actions (None: all), the one that has changed last."""
        drawing = self._graph.drawing
        if drawing is None:
            return
        active = [path for path in (drawing.now if paths is None else paths)
                  if look_of(drawing.now[path]).name in ACTIVE]
        if active:
            self._graph.reveal(max(active, key=lambda path: drawing.now[path].seq))

    def _say_fault(self, lost: str) -> None:
        if not lost and not self._record.last_seq:
            lost = f'the journal has no flow {printable(self._flow_id, 200)} yet'
        fault = self._record.fault
        self._say_lost(lost or (f"the text of the flow can't be read: {fault}" if fault else ''))

    def _say_lost(self, why: str) -> None:
        self._lost.set_visibility(bool(why))
        if self._lost.text != why:
            self._lost.set_text(why)

    # what people do

    def _picked(self, path: str) -> None:
        self._list.choose(path)
        self._pick(path)

    def _choose(self, path: str) -> None:
        """Pick an action that was chosen outside of the graph."""
        self._graph.choose(path)
        self._graph.reveal(path)
        self._list.choose(path)
        self._pick(path)

    def _toggle(self, key: str) -> None:
        drawing = self._graph.drawing
        if self._record is not None and drawing is not None:
            is_open = next(box.frame for box in drawing.boxes if box.item.key == key)
            self._opened[key] = not is_open
            self._draw(partial(self._record.shown, at=self._moment.seq), keep=True)

    def _toggle_whole(self) -> None:
        self._whole = not self._whole
        self._opened.clear()
        _press(self._whole_tool, self._whole)
        if self._record is not None:
            self._draw(partial(self._record.shown, at=self._moment.seq), keep=False)

    def _leave(self) -> None:
        """Let the view be where people have moved it."""
        if self._follow:
            self._toggle_follow()

    def _toggle_follow(self) -> None:
        self._follow = not self._follow
        _press(self._follow_tool, self._follow)
        if self._follow:
            self._reveal_active()

    def _filtered_looks(self, looks: frozenset[str]) -> None:
        self._looks = looks
        self._list.filter(looks, self._text)

    def _filtered_text(self, text: str) -> None:
        self._text = text
        self._list.filter(self._looks, text)


def _tool(icon: str, label: str, click: Callable[[], None], pressed: bool | None = None
          ) -> ui.element:
    with ui.element('button').props(f'type=button aria-label="{label}" title="{label}"') as tool:
        ui.icon(icon, size='19px').props('aria-hidden=true')
    if pressed is not None:
        _press(tool, pressed)
    tool.on('click', click, args=[])
    return tool


def _press(tool: ui.element, pressed: bool) -> None:
    tool.props(f'aria-pressed={str(pressed).lower()}')
