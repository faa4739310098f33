# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A bounded series of points that keeps its shape."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

POINTS = 1024  #: maximum number of points of a curve
PINNED = POINTS // 4  #: maximum number of points that are never thinned


class Point(NamedTuple):
    """One value; times in s."""

    time: float  #: arrival
    stamp: float  #: measurement
    value: Any  #: None: unknown


class Piece(NamedTuple):
    """Points to be stored; they replace all that were stored from index `first` on."""

    first: int
    points: list[Point]


class GrowingCurve:
    """
    The points of one fact while they are recorded.

    Of each `width` points that follow one another, the lowest and the highest are kept, and all
    that are pinned. `width` is 1 until the curve is full, then 4; it is doubled whenever the curve
    is full again.
    """

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.width = 1
        self._start = 0  #: index from which the points are not thinned yet
        self._pinned: list[float] = []  #: times, ascending
        self._stored = 0  #: number of points that are stored for good

    def append(self, point: Point) -> None:
        """Add a point; points around a change of a discrete value are pinned."""
        # first, so that the last point may still be pinned
        if len(self.points) - self._start >= self.width:
            self._close()
        if len(self.points) >= POINTS - 1:
            self._thin()
        changed = bool(self.points) and _differs(self.points[-1].value, point.value)
        if changed:
            self.pin()
        self.points.append(point)
        if changed:
            self.pin()

    def pin(self) -> None:
        """Keep the last point for good."""
        if not self.points:
            return
        time = self.points[-1].time
        if not self._pinned or self._pinned[-1] != time:
            self._pinned.append(time)
        if len(self._pinned) > PINNED:  # of very many, the first and the newest are kept
            del self._pinned[PINNED // 4:PINNED // 2]
        self._close()

    def take_new(self) -> list[Piece]:
        """Return what has to be stored since the last call."""
        pieces = []
        if self._start > self._stored:
            pieces.append(Piece(self._stored, self.points[self._stored:self._start]))
        if len(self.points) > self._start:
            pieces.append(Piece(self._start, self.points[self._start:]))
        self._stored = self._start
        return pieces

    def _close(self) -> None:
        """Thin the points since `_start`, of which the last one may be pinned."""
        pinned = set(self._pinned[-1:])
        self.points[self._start:] = _extremes(self.points[self._start:], pinned)
        self._start = len(self.points)

    def _thin(self) -> None:
        """Halve the number of points."""
        self.width = max(2 * self.width, 4)
        pinned = set(self._pinned)
        kept: list[Point] = []
        group: list[Point] = []
        for point in self.points:
            group.append(point)
            if len(group) == 4 or point.time in pinned:
                kept += _extremes(group, pinned)
                group = []
        self.points = kept + _extremes(group, pinned)
        self._start = len(self.points)
        self._stored = 0


def _extremes(group: list[Point], pinned: set[float]) -> list[Point]:
    """Return the lowest and the highest point, and those that are pinned, in order of time."""
    if len(group) <= 2:
        return group
    sizes = [_size(point.value) for point in group]
    kept = {sizes.index(min(sizes)), sizes.index(max(sizes))}
    kept.update(index for index, point in enumerate(group) if point.time in pinned)
    return [group[index] for index in sorted(kept)]


def _differs(before: Any, value: Any) -> bool:
    """Whether a discrete value has changed, or a value has become known or unknown."""
    if before is None or value is None:
        return before is not value
    return isinstance(value, (str, bool, np.bool_)) and bool(before != value)


def _size(value: Any) -> float:
    """Return a number by which values of a fact are ordered: for vectors, their length."""
    if value.__class__ is float:  # the most frequent one; numbers of NumPy are slower
        return value
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return float(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in 'biuf':
        return float(np.linalg.norm(value.astype(float)))
    return 0.0
