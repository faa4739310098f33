# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

# ruff: noqa: D102 (what overrides is documented at its base)
"""The check that two facts have the same value."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import math
from typing import Any

import numpy as np

from .fact_state import Source
from .health import Check
from ..expressions.expression import Expression


class Agreement(Check):
    """
    Fails when two facts differ by more than `within` for `lasting` s; it is a check of both.

    With a `lag`, the newest value of each is compared with the course of the other in the last
    `lag` s, linear between its samples; the lesser difference counts. While one of the facts has
    no value, or `when` is not true, nothing is compared: a failure stays, and one that has not
    lasted long enough is dropped.
    """

    def __init__(self, recover: float, sides: tuple[Source, Source], within: float,
                 lasting: float, lag: float, when: tuple[Expression, Sequence[Source]] | None
                 ) -> None:
        """`sides`: the sources of the two facts, without their health."""
        super().__init__(recover)
        self._sides = sides
        self._when = when
        self._pause = (min(lasting, lag) if lag else lasting) / 4  #: s between comparisons
        self._within, self._lasting, self._lag = within, lasting, lag
        self._unit = sides[0].unit and f' {sides[0].unit}'
        self.clear()

    def clear(self) -> None:
        super().clear()
        self._since = math.inf  #: from which time they differ
        self._latest = math.inf  #: when the older of the values compared is stale
        self._next = -math.inf
        self._failed = False
        self._difference = 0.0
        self._courses: tuple[deque[tuple[float, Any]], ...] = (deque(), deque())

    def compare(self, now: float) -> None:
        if now < self._next:
            return
        self._next = now + self._pause
        if not self._is_due(now):
            self._skip()
            return
        values = [side.read(now, -math.inf, 0.0) for side in self._sides]
        for course, value in zip(self._courses, values):
            if value is None:
                course.clear()
            elif self._lag:
                course.append((now, value))
                while len(course) > 1 and course[1][0] <= now - self._lag:
                    course.popleft()
        if any(value is None for value in values):
            self._skip()
            return
        one, other = values
        difference = distance(one, other)
        if difference > self._within and self._lag:
            difference = min(difference, nearest_on(one, self._courses[1]),
                             nearest_on(other, self._courses[0]))
        if difference <= self._within:
            self._since, self._failed = math.inf, False
            return
        self._difference = difference
        self._latest = min(side.expiry(now) for side in self._sides)
        self._since = min(self._since, now)

    def _skip(self) -> None:
        """Nothing is compared."""
        if not self._failed:
            self._since = math.inf

    def _is_due(self, now: float) -> bool:
        if self._when is None:
            return True
        expression, parts = self._when
        return expression.evaluate(
            [part.read(now, -math.inf, 0.0) for part in parts]) is True

    def settle(self, now: float) -> None:
        super().settle(now)
        self._failed = self._failed or self.failing(now)

    def failing(self, now: float) -> bool:
        return self._failed or (
            now >= self._since + self._lasting and self._since + self._lasting < self._latest)

    def text(self, now: float) -> str:
        one, other = (side.name for side in self._sides)
        return (f"agree: '{one}' and '{other}' differ by {self._difference:.3g}{self._unit}; "
                f'expected at most {self._within:g}{self._unit}')

    def changes(self, now: float) -> float:
        fails = self._since + self._lasting
        return min(super().changes(now), fails if fails > now else math.inf)


def distance(one: Any, other: Any) -> float:
    """Return the length of the difference of two values; infinite for different shapes."""
    try:
        return float(np.linalg.norm(np.subtract(one, other, dtype=float)))
    except (ValueError, TypeError):
        return math.inf


def nearest_on(value: Any, course: Sequence[tuple[float, Any]]) -> float:
    """Return the least distance from a value to a course that is linear between its samples."""
    points = [np.atleast_1d(np.asarray(point, dtype=float)) for _, point in course]
    at = np.atleast_1d(np.asarray(value, dtype=float))
    if not points or any(point.shape != at.shape for point in points):
        return math.inf
    best = min(float(np.linalg.norm(point - at)) for point in points)
    for begin, end in zip(points, points[1:]):
        along = end - begin
        length = float(along @ along)
        if length:
            share = min(1.0, max(0.0, float((at - begin) @ along) / length))
            best = min(best, float(np.linalg.norm(begin + share * along - at)))
    return best
