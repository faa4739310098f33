# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A curve stays small and keeps its extremes, its pinned points and an even density."""

from __future__ import annotations

import math

from action_lifecycle.traces.curve import GrowingCurve, PINNED, Point, POINTS
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np


def grown(values, pinned=()):
    curve, stored = GrowingCurve(), []
    for index, value in enumerate(values):
        curve.append(Point(float(index), index - 0.5, value))
        if index in pinned:
            curve.pin()
        if index % 50 == 0:
            store(curve, stored)
    store(curve, stored)
    return curve, stored


def store(curve, stored):
    for piece in curve.take_new():
        assert piece.points
        assert piece.first <= len(stored)
        stored[piece.first:] = piece.points


@given(st.lists(st.floats(-10, 10) | st.none(), max_size=300))
def test_short_curve_has_every_point(values):
    curve, stored = grown(values)
    assert [point.value for point in curve.points] == values
    assert stored == curve.points


@settings(max_examples=30)
@given(st.integers(1, 20_000), st.integers(0, 2**32),
       st.sets(st.integers(0, 19_999), max_size=20))
def test_long_curve_is_bounded_and_keeps_extremes_and_pinned_points(count, seed, pinned):
    values = np.random.default_rng(seed).normal(size=count).tolist()
    curve, stored = grown(values, pinned)
    assert len(curve.points) < POINTS
    assert stored == curve.points
    times = [point.time for point in curve.points]
    assert times == sorted(set(times))
    found = [point.value for point in curve.points]
    assert min(found) == min(values) and max(found) == max(values)
    assert {time for time in pinned if time < count} <= set(times)
    assert all(values[int(point.time)] == point.value for point in curve.points)


def test_density_is_even():
    curve, _ = grown([math.sin(index / 7) for index in range(60_000)])
    counts, _ = np.histogram([point.time for point in curve.points], bins=10, range=(0, 60_000))
    assert counts.min() > 0.3 * counts.max()


def test_changes_of_discrete_values_are_kept():
    values = ['idle'] * 3000 + ['open'] * 10 + ['idle'] * 3000
    curve, _ = grown(values)
    kept = {point.time: point.value for point in curve.points}
    assert {2999.0: 'idle', 3000.0: 'open', 3009.0: 'open', 3010.0: 'idle'}.items() <= kept.items()


def test_value_that_becomes_unknown_is_kept():
    curve, _ = grown([1.0] * 2500 + [None] + [1.0] * 2500)
    assert any(point.value is None for point in curve.points)


def test_value_that_flickers_stays_bounded():
    curve, stored = grown([index % 2 == 0 for index in range(20_000)])
    assert len(curve.points) < POINTS and stored == curve.points
    assert len([point for point in curve.points if point.time > 19_000]) >= PINNED // 4


def test_vectors_keep_the_longest():
    values = [np.array([math.sin(index), 1.0, 0.0]) for index in range(5000)]
    values[2345] = np.array([50.0, 0.0, 0.0])
    curve, _ = grown(values)
    assert any(point.value[0] == 50.0 for point in curve.points)
