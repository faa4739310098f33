# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

# ruff: noqa: D102 (what overrides is documented at its base)
"""The check that two facts have the same value."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
import math
from typing import Any

import numpy as np

from .fact_state import Source
from .health import ValueCheck
from ..expressions.expression import Expression


class Agreement(ValueCheck):
    """
    Fails when two facts differ by more than `within` for `lasting` s; it is a check of both.

    With a `lag`, the newest value of each is compared with the course of the other in the last
    `lag` s, linear between its samples; the lesser difference counts. While one of the facts has
    no value or is `faulty` by itself, or `when` is not true, nothing is compared: a failure stays,
    and a difference that has not lasted long enough is dropped, also if the values became stale
    without a message. After a failure they have to agree for `recover` s: any difference before
    counts at once.
    """

    def __init__(self, recover: float, sides: tuple[Source, Source], within: float,
                 lasting: float, lag: float, when: tuple[Expression, Sequence[Source]] | None,
                 faulty: Callable[[float], bool]) -> None:
        """`sides`: the sources of the two facts, without their health."""
        super().__init__(recover)
        self._sides = sides
        self._when = when
        self._faulty = faulty
        self._pause = min(lasting, lag or math.inf, *map(valid_for, sides)) / 4
        """s between comparisons"""
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
        self._expiries = [math.inf, math.inf]  #: of the values of the last comparison

    def compare(self, now: float) -> None:
        if now < self._next:
            return
        self._next = now + self._pause
        if self._faulty(now):
            for course in self._courses:
                course.clear()
            self._skip()
            return
        if not self._is_due(now):
            self._skip()
            return
        values = [side.read(now, -math.inf, 0.0) for side in self._sides]
        if now >= self._latest:
            self._skip()
        if self._lag:
            self._continue(now, values)
        if any(value is None for value in values):
            self._skip()
            return
        one, other = values
        difference = distance(one, other)
        if difference > self._within and self._lag:
            begin = now - self._lag
            difference = min(difference, nearest_on(one, self._courses[1], begin),
                             nearest_on(other, self._courses[0], begin))
        if difference <= self._within:
            self._since, self._failed = math.inf, False
            return
        self._failed = self._failed or now < self.until  # it has not recovered yet
        self._difference = difference
        self._latest = min(side.expiry(now) for side in self._sides)
        self._since = min(self._since, now)

    def _skip(self) -> None:
        """Nothing is compared."""
        if not self._failed:
            self._since = math.inf

    def _continue(self, now: float, values: Sequence[Any]) -> None:
        """Continue the courses of the last `lag` s; one without a value begins anew."""
        for index, (course, value) in enumerate(zip(self._courses, values)):
            if value is None or now >= self._expiries[index]:
                course.clear()
            if value is not None:
                course.append((now, value))
                while len(course) > 1 and course[1][0] <= now - self._lag:
                    course.popleft()
            self._expiries[index] = self._sides[index].expiry(now)

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


def valid_for(source: Source) -> float:
    """Return the time (s) for which samples of a fact, or of those that it reads, are valid."""
    return min(source.max_age, *map(valid_for, source.parts), math.inf)


def distance(one: Any, other: Any) -> float:
    """Return the length of the difference of two values; infinite for different shapes."""
    try:
        with np.errstate(invalid='ignore'):
            between = np.subtract(one, other, dtype=float)
        if np.isnan(between).any():  # of equal infinities
            between = np.where(np.equal(one, other), 0.0, between)
        return float(np.linalg.norm(between))
    except (ValueError, TypeError):
        return math.inf


def nearest_on(value: Any, course: Sequence[tuple[float, Any]], begin: float) -> float:
    """Return the least distance from a value to a course from `begin` on; see Agreement."""
    try:
        times = [time for time, _ in course]
        points = np.array([point for _, point in course], dtype=float).reshape(len(times), -1)
        at = np.asarray(value, dtype=float).reshape(1, -1)
        if len(times) > 1 and times[0] < begin:  # without what is before
            share = min(1.0, (begin - times[0]) / (times[1] - times[0]))
            points[0] += share * (points[1] - points[0])
        if at.shape[1] != points.shape[1]:
            return math.inf
        if at.shape[1] == 1:
            number = at[0, 0]
            return max(0.0, float(points.min() - number), float(number - points.max()))
        starts, along = points[:-1], np.diff(points, axis=0)
        lengths = np.einsum('ij,ij->i', along, along)
        shares = np.einsum('ij,ij->i', at - starts, along) / np.where(lengths > 0, lengths, 1.0)
        nearest = starts + np.clip(shares, 0.0, 1.0)[:, None] * along
        return float(np.linalg.norm(np.concatenate([nearest, points[-1:]]) - at, axis=1).min())
    except (ValueError, TypeError):  # of different shapes
        return math.inf
