# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Layered layout of a directed graph, from top to bottom (Sugiyama, Tagawa, Toda 1981).

Boxes get the layer after the lowest of those before them; layers have a maximum number of boxes,
so that many independent ones form rows. Orders within layers come from barycenter sweeps, x from
a least-squares fit to the neighbours. Equal input has equal output.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import ceil, sqrt

GAP_X, GAP_Y = 22.0, 34.0
"""Least distances of boxes in a layer, and of layers"""
SWEEPS = 6
MAX_BENDS = 20_000
"""Maximum number of places in layers that long edges pass; further ones are drawn straight"""
MIN_COLUMNS = 6

Point = tuple[float, float]
Edge = tuple[str, str]


@dataclass
class Layout:
    """Upper left corners of boxes, and the points of edges from bottom centre to top centre."""

    width: float = 0.0
    height: float = 0.0
    places: dict[str, Point] = field(default_factory=dict)
    routes: dict[Edge, list[Point]] = field(default_factory=dict)


def arrange(sizes: Mapping[str, Point], edges: Iterable[Edge]) -> Layout:
    """
    Return the layout of boxes of the given widths and heights.

    Edges from or to unknown boxes are left out, of a cycle those that go back in the order given.
    """
    if not sizes:
        return Layout()
    names = list(sizes)
    number = {name: index for index, name in enumerate(names)}
    pairs = [(number[source], number[target]) for source, target in dict.fromkeys(edges)
             if source in number and target in number and source != target]
    order, forward = _topological(len(names), pairs)
    levels = _levels(order, forward)
    rows = _Rows(levels, [sizes[name][0] for name in names], forward)
    rows.sort()
    x = rows.x()
    heights = [0.0] * len(rows.layers)
    for index, name in enumerate(names):
        heights[levels[index]] = max(heights[levels[index]], sizes[name][1])
    tops = _tops(rows, x, heights)
    left = min(x[index] - sizes[name][0] / 2 for index, name in enumerate(names))
    right = max(x[index] + sizes[name][0] / 2 for index, name in enumerate(names))
    bends = x[len(names):]
    left, right = min([left, *bends]), max([right, *bends])
    found = Layout(right - left, tops[-1] + heights[-1])
    centre = [round(each - left, 1) for each in x]
    for index, name in enumerate(names):
        found.places[name] = (centre[index] - sizes[name][0] / 2, tops[levels[index]])
    for source, target in forward:
        top = tops[levels[source]]
        points = [(centre[source], top + sizes[names[source]][1]),
                  (centre[source], top + heights[levels[source]])]
        for bend in rows.bends.get((source, target), ()):
            level = rows.level[bend]
            points += [(centre[bend], tops[level]), (centre[bend], tops[level] + heights[level])]
        points.append((centre[target], tops[levels[target]]))
        found.routes[names[source], names[target]] = list(dict.fromkeys(points))
    return found


def _topological(
    count: int, pairs: Sequence[tuple[int, int]]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return an order near to 0, 1, … that edges allow, and the edges that go on in it."""
    after: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for source, target in pairs:
        after[source].append(target)
        missing[target] += 1
    free = [index for index in range(count) if not missing[index]]
    heapify(free)
    left = dict.fromkeys(range(count))
    order: list[int] = []
    while left:
        if not free:  # a cycle: its first box begins
            free.append(next(iter(left)))
        index = heappop(free)
        if index not in left:
            continue
        del left[index]
        order.append(index)
        for target in after[index]:
            missing[target] -= 1
            if not missing[target] and target in left:
                heappush(free, target)
    at = {index: place for place, index in enumerate(order)}
    return order, [(source, target) for source, target in pairs if at[source] < at[target]]


def _levels(order: Sequence[int], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each box: after all before it, in one that is not full."""
    before: list[list[int]] = [[] for _ in order]
    for source, target in pairs:
        before[target].append(source)
    most = max(MIN_COLUMNS, ceil(0.8 * sqrt(len(order))))
    levels = [0] * len(order)
    filled: list[int] = []
    free_from: dict[int, int] = {}

    def first_free(level: int) -> int:
        path = []
        while level in free_from:
            path.append(level)
            level = free_from[level]
        for each in path:
            free_from[each] = level
        return level

    for index in order:
        level = first_free(max((levels[each] + 1 for each in before[index]), default=0))
        levels[index] = level
        filled.extend([0] * (level + 1 - len(filled)))
        filled[level] += 1
        if filled[level] >= most:
            free_from[level] = level + 1
    used = {level: place for place, level in enumerate(sorted(set(levels)))}
    return [used[level] for level in levels]


class _Rows:
    """The layers with their boxes and the bends of long edges, which share those of a source."""

    def __init__(
        self, levels: Sequence[int], widths: Sequence[float], pairs: Sequence[tuple[int, int]],
    ) -> None:
        self.count = len(levels)
        self.level = list(levels)
        self.widths = list(widths)
        self.bends: dict[tuple[int, int], list[int]] = {}
        self.upper: list[list[int]] = [[] for _ in levels]  #: neighbours in the layer above
        self.lower: list[list[int]] = [[] for _ in levels]
        shared: dict[tuple[int, int], int] = {}  #: bend by source and layer
        for source, target in sorted(pairs, key=lambda pair: levels[pair[1]] - levels[pair[0]]):
            between = range(levels[source] + 1, levels[target])
            if len(self.level) - self.count + len(between) > MAX_BENDS:
                continue
            last, path = source, []
            for level in between:
                bend = shared.get((source, level))
                if bend is None:
                    bend = shared[source, level] = self._bend(level)
                    self._join(last, bend)
                path.append(bend)
                last = bend
            self._join(last, target)
            self.bends[source, target] = path
        self.layers: list[list[int]] = [[] for _ in range(max(levels) + 1)]
        for item, level in enumerate(self.level):
            self.layers[level].append(item)

    def _bend(self, level: int) -> int:
        self.level.append(level)
        self.widths.append(0.0)
        self.upper.append([])
        self.lower.append([])
        return len(self.level) - 1

    def _join(self, upper: int, lower: int) -> None:
        self.lower[upper].append(lower)
        self.upper[lower].append(upper)

    def sort(self) -> None:
        """Order each layer by the barycenters of neighbours; the order with fewest crossings."""
        at = [0.0] * len(self.level)
        for layer in self.layers:
            for place, item in enumerate(layer):
                at[item] = float(place)
        best, fewest = [list(layer) for layer in self.layers], self._crossings(at)
        for sweep in range(SWEEPS):
            if not fewest:
                break
            down = sweep % 2 == 0
            near = self.upper if down else self.lower
            for layer in self.layers if down else reversed(self.layers):
                keys = {item: sum(at[each] for each in near[item]) / len(near[item])
                        if near[item] else at[item] for item in layer}
                layer.sort(key=keys.__getitem__)
                for place, item in enumerate(layer):
                    at[item] = float(place)
            crossings = self._crossings(at)
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best

    def _crossings(self, at: Sequence[float]) -> int:
        crossings = 0
        for layer in self.layers:
            ends: list[float] = []
            for _, lower in sorted((at[item], at[each]) for item in layer
                                   for each in self.lower[item]):
                crossings += len(ends) - bisect_right(ends, lower)
                insort(ends, lower)
        return crossings

    def x(self) -> list[float]:
        """Return the x of each centre: near to its neighbours, and apart within its layer."""
        x = [0.0] * len(self.level)
        for layer in self.layers:
            self._fit(layer, [0.0] * len(layer), x)
        for sweep in range(SWEEPS + 1):
            last = sweep == SWEEPS
            for layer in self.layers if sweep % 2 == 0 else reversed(self.layers):
                wanted = []
                for item in layer:
                    near = [*self.upper[item], *self.lower[item]] if last else (
                        self.upper if sweep % 2 == 0 else self.lower)[item]
                    wanted.append(sum(x[each] for each in near) / len(near) if near else x[item])
                self._fit(layer, wanted, x)
        return x

    def _fit(self, layer: Sequence[int], wanted: Sequence[float], x: list[float]) -> None:
        """Set x nearest to `wanted` (least squares) in the layer's order (pool adjacent)."""
        offset, offsets = 0.0, []
        for place, item in enumerate(layer):
            if place:
                offset += (self.widths[layer[place - 1]] + self.widths[item]) / 2 + GAP_X
            offsets.append(offset)
        blocks: list[tuple[float, float, int]] = []  # mean, weight, number of items
        for item, shift, at in zip(layer, offsets, wanted):
            mean, weight, items = at - shift, 1.0 if item < self.count else 2.0, 1
            while blocks and blocks[-1][0] > mean:
                before, heavy, more = blocks.pop()
                mean = (mean * weight + before * heavy) / (weight + heavy)
                weight, items = weight + heavy, items + more
            blocks.append((mean, weight, items))
        places = iter(zip(layer, offsets))
        for mean, _, items in blocks:
            for _ in range(items):
                item, shift = next(places)
                x[item] = mean + shift


def _tops(rows: _Rows, x: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Return the top of each layer; edges that go far aside get more height."""
    tops = [0.0]
    for level, layer in enumerate(rows.layers[:-1]):
        aside = max((abs(x[item] - x[each]) for item in layer for each in rows.lower[item]),
                    default=0.0)
        tops.append(round(tops[-1] + heights[level] + GAP_Y + min(60.0, aside / 12), 1))
    return tops
