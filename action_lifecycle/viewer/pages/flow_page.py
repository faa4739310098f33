# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a flow: its graph, how far it is, what it waits for, and a list of its actions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nicegui import ui

from .action_list import ActionList
from .flow_progress import FlowProgress, waiting
from .followed_flow import FollowedFlow, Paths
from .listening import listen_while_shown
from .styles import add_looks, add_style
from ..graph.drawing import Drawing
from ..graph.flow_graph import FlowGraph
from ..graph.grouping import LIMIT
from ..looks import look_of
from ..moment import Moment
from ..pick import Pick
from ..record.flow_record import FlowRecord
from ..record.shown import STRUCTURE
from ..robots import Robot
from ...lifecycle.text_format import printable
from ...report.looks import ACTIVE

PERIOD = 0.05
"""Least time (s) between two updates of a page."""
EVERYTHING = 5_000
"""Maximum number of actions that are drawn without groups."""
LONGEST = 500
"""Maximum number of characters of a fault."""


def flow_page(
    robot: Robot, flow_id: str, moment: Moment, pick: Pick
) -> None:
    """
    Fill the present container with the page of a flow at a moment.

    The page follows robot, moment and the picked action until its elements are deleted, which they
    are when the client has gone.
    """
    add_looks()
    add_style('flow_page.css')
    _FlowPage(robot, flow_id, moment, pick)


class _FlowPage:

    def __init__(
        self, robot: Robot, flow_id: str, moment: Moment, pick: Pick
    ) -> None:
        self._flow_id, self._moment, self._pick = flow_id, moment, pick
        self._opened: dict[str, bool] = {}
        self._whole = False
        self._follow = True
        self._text = ''
        self._looks: frozenset[str] = frozenset()
        root = self._build()
        self._flow = FollowedFlow(
            robot, flow_id, root, self._update, self._say, period=PERIOD, moment=moment)
        listen_while_shown(pick, root, lambda: self._mark(pick.path))
        self._mark(pick.path)

    def _mark(self, path: str) -> None:
        """Mark the action that is picked; '': none."""
        self._graph.choose(path)
        self._list.choose(path)

    def _build(self) -> ui.element:
        with ui.element('div').classes('flow-page') as root:
            with ui.element('div').classes('flow-top'):
                self._lost = ui.label('').classes('flow-lost').props('role=alert')
                self._lost.set_visibility(False)
                self._progress = FlowProgress(self._filtered_looks, self._choose)
            with ui.element('div').classes('flow-main flow-empty') as self._main:
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
                    self._graph = FlowGraph(self._pick, self._toggle, self._leave)
        return root

    def _update(self, record: FlowRecord, due: Paths | None) -> None:
        seq = self._moment.seq
        shown = partial(record.shown, seq=seq)
        drawing = self._graph.drawing
        if drawing is None or due is None or STRUCTURE in due:
            nodes = record.nodes(seq)
            if drawing is None or nodes != drawing.nodes:
                self._draw(record, keep=drawing is not None)
                drawing, due = self._graph.drawing, frozenset()
        assert drawing is not None
        self._main.classes(remove='flow-empty')
        paths = self._graph.apply(shown, due)
        self._list.change(drawing.nodes, drawing.now, paths)
        self._progress.show(record.flow(seq), drawing.looks, waiting(drawing.now))
        if self._follow:
            self._reveal_active(paths)

    def _draw(self, record: FlowRecord, *, keep: bool) -> None:
        nodes = record.nodes(self._moment.seq)
        shown = partial(record.shown, seq=self._moment.seq)
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

    def _say(self, fault: str) -> None:
        self._lost.set_visibility(bool(fault))
        self._lost.set_text(printable(fault, LONGEST))

    # what people do

    def _choose(self, path: str) -> None:
        """Pick an action that was chosen outside of the graph."""
        self._graph.reveal(path)
        self._pick(path)

    def _toggle(self, key: str) -> None:
        record, drawing = self._flow.record, self._graph.drawing
        if record is not None and drawing is not None:
            is_open = next(box.frame for box in drawing.boxes if box.item.key == key)
            self._opened[key] = not is_open
            self._draw(record, keep=True)

    def _toggle_whole(self) -> None:
        self._whole = not self._whole
        self._opened.clear()
        _press(self._whole_tool, self._whole)
        if self._flow.record is not None:
            self._draw(self._flow.record, keep=False)

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
