# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A flow as SVG: a box for each action or group, with symbol and colour of its state.

The live page changes classes and texts of this SVG; as it is, it is also part of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from .cells import action_cell, Cell, fitting, group_cell
from .grouping import ACTION, CHAIN, grouped, Item, LIMIT, PARALLEL
from .layers import arrange, Edge, Layout, Point
from ..looks import look_of
from ..record.shown import Node, Shown
from ...lifecycle.text_format import printable

BOX: Point = (200.0, 46.0)
PAD, HEAD = 14.0, 47.0  #: of the frame of an open group
MARGIN = 16.0
NAME_SIZE, NAME_LEFT, NAME_RIGHT, TOGGLE = 12.5, 36.0, 8.0, 22.0  #: of the name in a box, px
LABEL_WIDTH = 14.0  #: of the label of an edge, em


@dataclass
class Box:
    """A box of the drawing; those of groups that are open are frames around others."""

    id: str  # noqa: A003
    item: Item
    place: Point
    size: Point
    frame: bool


Lookup = Callable[[str], Shown]  #: what an action is, by its path


class Drawing:
    """Boxes and edges of a flow in the order in which they are drawn, and what they show."""

    def __init__(
        self, nodes: Mapping[str, Node], shown: Lookup, opened: Mapping[str, bool] | None = None,
        limit: int = LIMIT,
    ) -> None:
        self.nodes = nodes
        self.items = grouped(nodes, opened, limit)
        self.now = {path: shown(path) for path in nodes}
        self.looks = Counter(look_of(each).name for each in self.now.values())
        """Number of actions by look"""
        self.boxes: list[Box] = []
        self.by_id: dict[str, Box] = {}
        self.shown_in: dict[str, str] = {}
        """Id of the innermost box that shows an action, by path"""
        self._within: dict[str, list[str]] = {}  #: ids of all boxes that depend on an action
        self._edges: list[tuple[str, str, str, list[Point]]] = []
        self._inner: dict[str, Counter[str]] = {}  #: looks of the actions in a box, by id
        layout, inner = _measured(self.items)
        self.size = (layout.width + 2 * MARGIN, layout.height + 2 * MARGIN)
        self._place(self.items, layout, inner, (MARGIN, MARGIN))

    def _place(
        self, items: Sequence[Item], layout: Layout, inner: Mapping[str, _Measured], at: Point
    ) -> None:
        ids = {}
        for item in items:
            x, y = layout.places[item.key]
            measured = inner.get(item.key)
            box = Box(f'a-{len(self.boxes)}', item, (at[0] + x, at[1] + y),
                      _size(measured), measured is not None)
            self.boxes.append(box)
            self.by_id[box.id] = box
            ids[item.key] = box.id
            paths = list(item.actions())
            if item.inner:
                self._inner[box.id] = Counter(
                    look_of(self.now[path]).name for path in paths if path != item.key)
            for path in paths:
                self.shown_in[path] = box.id
                self._within.setdefault(path, []).append(box.id)
            if measured is not None:
                self._place(item.inner, *measured,
                            (box.place[0] + (box.size[0] - measured[0].width) / 2,
                             box.place[1] + HEAD))
        for item in items:
            for other, label in item.after.items():
                points = layout.routes.get((other, item.key))
                if points:
                    self._edges.append((ids[other], ids[item.key], label, [
                        (at[0] + x, at[1] + y) for x, y in points]))

    def take(self, shown: Lookup, paths: Iterable[str] | None = None) -> tuple[set[str], set[str]]:
        """
        Take over what the actions (None: all) are now.

        Returns the paths of those that have changed, and the ids of the boxes that show it.
        """
        changed: set[str] = set()
        boxes: set[str] = set()
        for path in self.nodes if paths is None else paths:
            old = self.now.get(path)
            if old is None or (new := shown(path)) == old:
                continue
            self.now[path] = new
            changed.add(path)
            boxes.update(self._within[path])
            was, is_now = look_of(old).name, look_of(new).name
            if was != is_now:
                for counts in (self.looks, *(
                        self._inner[key] for key in self._within[path]
                        if key in self._inner and self.by_id[key].item.key != path)):
                    counts[is_now] += 1
                    counts[was] -= 1
        return changed, boxes

    def cell(self, box: Box) -> Cell:
        """Return what a box shows."""
        item, inner = box.item, self._inner.get(box.id)
        if item.kind == ACTION:
            return action_cell(self.nodes[item.key], self.now[item.key], inner)
        return group_cell(self.title(item), inner or Counter())

    def title(self, item: Item) -> str:
        """Return the name of an action without those around it, or what a group consists of."""
        if item.kind == ACTION:
            return item.key.rpartition('/')[2]
        paths = list(item.actions())
        how = {CHAIN: 'in a row', PARALLEL: 'in parallel'}.get(item.kind, 'actions')
        return f"{len(paths)} {how}: {paths[0].rpartition('/')[2]} …"

    def svg(self, label: str, *, every_tab: bool = True, style: str = '') -> str:
        """
        Return the SVG element.

        `every_tab`: whether the Tab key stops at each box; else only at the first, and a script
        moves on. `style`: CSS that the element brings along.
        """
        width, height = self.size
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" class="flow" role="group" '
                 f'aria-label={quoteattr(printable(label, 300))} width="{width:g}" '
                 f'height="{height:g}" viewBox="0 0 {width:g} {height:g}">',
                 f'<style>{style}</style>' if style else '', '<defs>',
                 '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
                 'markerHeight="7" orient="auto"><path class="arrow" d="M0 .8 7.5 4 0 7.2Z"/>'
                 '</marker>',
                 '</defs><g class="view">']
        frames = [box for box in self.boxes if box.frame]
        plain = [box for box in self.boxes if not box.frame]
        first = self.boxes[0].id if self.boxes else ''
        for box in frames:
            parts.append(self._box(box, every_tab or box.id == first))
        for source, target, text, points in self._edges:
            parts.append(_edge(source, target, text, points))
        for box in plain:
            parts.append(self._box(box, every_tab or box.id == first))
        return ''.join([*parts, '</g></svg>'])

    def _box(self, box: Box, tab: bool) -> str:
        item, cell = box.item, self.cell(box)
        (x, y), (width, height) = box.place, box.size
        path = f' data-path={quoteattr(printable(item.key, 1000))}' if item.kind == ACTION else ''
        node = self.nodes.get(item.key)
        about = f'{item.key}: {node.description}' if node and node.description else (
            item.key if node else self.title(item))
        room = width - NAME_LEFT - NAME_RIGHT - (TOGGLE if item.inner else 0.0)
        parts = [
            f'<g id="{box.id}"{path} class="box{" frame" if box.frame else ""} {cell.css}" '
            f'tabindex="{0 if tab else -1}" role="button" aria-label={quoteattr(cell.label)} '
            f'transform="translate({x:g},{y:g})"><title>{escape(printable(about, 500))}</title>'
            f'<rect class="card" width="{width:g}" height="{height:g}" rx="7"/>'
            f'<path class="symbol" transform="translate(11,{12 if box.frame else 15})" '
            f'd="{cell.symbol}"/>'
            f'<text class="name" x="36" y="19">'
            f'{escape(fitting(self.title(item), room / NAME_SIZE))}</text>'
            f'<text class="detail" x="36" y="35">{escape(cell.detail)}</text>']
        if item.inner:
            word, sign = ('Close', 'M5 12l5-5 5 5') if item.open else ('Open', 'M5 8l5 5 5-5')
            parts.append(
                f'<g class="toggle" role="button" tabindex="-1" aria-label={quoteattr(word)} '
                f'transform="translate({width - 26:g},4)"><title>{word}</title>'
                f'<rect width="20" height="20" rx="4"/><path d="{sign}"/></g>')
        return ''.join([*parts, '</g>'])


_Measured = tuple[Layout, 'dict[str, _Measured]']


def _measured(items: Sequence[Item]) -> _Measured:
    """Return the layout of a level, and those within its open items by key."""
    inner = {item.key: _measured(item.inner) for item in items if item.open}
    sizes = {item.key: _size(inner.get(item.key)) for item in items}
    return arrange(sizes, _pairs(items)), inner


def _pairs(items: Sequence[Item]) -> Iterator[Edge]:
    for item in items:
        for other in item.after:
            yield other, item.key


def _size(measured: _Measured | None) -> Point:
    if measured is None:
        return BOX
    layout = measured[0]
    return max(layout.width + 2 * PAD, BOX[0]), layout.height + HEAD + PAD


def _edge(source: str, target: str, text: str, points: Sequence[Point]) -> str:
    path = [f'M{points[0][0]:g} {points[0][1]:g}']
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        middle = (y0 + y1) / 2
        path.append(f'V{y1:g}' if abs(x0 - x1) < 0.5 else
                    f'C{x0:g} {middle:g} {x1:g} {middle:g} {x1:g} {y1:g}')
    parts = [f'<path class="edge{" if" if text else ""}" data-from="{source}" data-to="{target}" '
             f'marker-end="url(#arrow)" d="{"".join(path)}"/>']
    if text:
        (x0, y0), (x1, y1) = points[-2:]
        parts.append(f'<text class="edge-label" x="{(x0 + x1) / 2:g}" y="{(y0 + y1) / 2 + 3:g}">'
                     f'{escape(fitting(text, LABEL_WIDTH))}<title>'
                     f'{escape(printable(text, 500))}</title></text>')
    return ''.join(parts)
