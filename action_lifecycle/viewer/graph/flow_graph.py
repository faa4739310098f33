# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The graph of a flow as an element of NiceGUI: drawn once, then only what changes is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nicegui.element import Element
from nicegui.events import GenericEventArguments

from .cells import Cell
from .drawing import Box, Drawing, Lookup
from .grouping import ACTION
from .style import graph_style


class FlowGraph(Element, component='flow_graph.js'):
    """
    A drawing that people pan, zoom and walk through by arrow keys.

    `pick` is called with the path of an action, `toggle` with the key of an item to be opened or
    closed, `leave` when people move the view.
    """

    def __init__(
        self, pick: Callable[[str], None], toggle: Callable[[str], None],
        leave: Callable[[], None],
    ) -> None:
        super().__init__()
        self._pick, self._toggle = pick, toggle
        self._drawing: Drawing | None = None
        self._label = ''
        self._cells: dict[str, Cell] = {}
        self._ready = False
        self._marked = ''
        self.on('ready', self._show_again)
        self.on('pick', self._picked)
        self.on('toggle', self._toggled)
        self.on('leave', leave, args=[])

    @property
    def drawing(self) -> Drawing | None:
        """Return what is shown."""
        return self._drawing

    def show(self, drawing: Drawing, label: str, *, keep: bool = False) -> None:
        """Replace the drawing; `keep`: the view stays where people have moved it."""
        self._drawing, self._label = drawing, label
        self._cells = {box.id: drawing.cell(box) for box in drawing.boxes}
        if self._ready:
            self._send(keep)

    def _show_again(self) -> None:
        self._ready = True
        if self._drawing is not None:
            self._send(False)

    def _send(self, keep: bool) -> None:
        assert self._drawing is not None
        self.run_method('show', self._drawing.svg(
            self._label, every_tab=False, style=graph_style('.dark')), keep)
        if self._marked:
            self.choose(self._marked)

    def apply(self, shown: Lookup, paths: Iterable[str] | None = None) -> set[str]:
        """Send what has changed of the actions (None: of all); returns their paths."""
        drawing = self._drawing
        if drawing is None:
            return set()
        paths, boxes = drawing.take(shown, paths)
        changes = []
        for key in boxes:
            cell, old = drawing.cell(drawing.by_id[key]), self._cells[key]
            if cell != old:
                self._cells[key] = cell
                changes.append([key, *(new if new != was else None
                                       for new, was in zip(cell, old))])
        if changes and self._ready:
            self.run_method('apply', changes)
        return paths

    def choose(self, path: str) -> None:
        """Mark the box that shows an action as the picked one; '': none."""
        self._marked = path
        if self._drawing is not None and self._ready:
            self.run_method('mark', self._drawing.shown_in.get(path, ''))

    def reveal(self, path: str) -> None:
        """Move the view so that the box that shows an action is seen."""
        if self._drawing is not None and path in self._drawing.shown_in:
            self.run_method('reveal', self._drawing.shown_in[path])

    def fit(self) -> None:
        """Show all of the drawing."""
        self.run_method('fit')

    def zoom(self, factor: float) -> None:
        """Enlarge the drawing."""
        self.run_method('zoom', factor)

    def _box(self, event: GenericEventArguments) -> Box | None:
        return self._drawing.by_id.get(str(event.args)) if self._drawing else None

    def _picked(self, event: GenericEventArguments) -> None:
        box = self._box(event)
        if box and box.item.kind == ACTION:
            self._marked = box.item.key
            self._pick(box.item.key)

    def _toggled(self, event: GenericEventArguments) -> None:
        box = self._box(event)
        if box and box.item.inner:
            self._toggle(box.item.key)
