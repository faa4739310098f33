# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Intervals and tests have published values, and the properties that define them."""

from __future__ import annotations

import math

from action_lifecycle.report.intervals import fisher, holm, poisson_interval, wilson, Z
from hypothesis import given
from hypothesis import strategies as st
import pytest

COUNTS = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize('k, n, low, high', [
    # Newcombe 1998, Statistics in Medicine 17, table I, method 3
    (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611),
    (1, 29, 0.0061, 0.1718)])
def test_wilson_has_the_published_values(k: int, n: int, low: float, high: float) -> None:
    assert wilson(k, n)[3:] == pytest.approx((low, high), abs=5e-5)


@given(COUNTS)
def test_wilson_ends_are_where_the_score_test_rejects(count: tuple[int, int]) -> None:
    k, n = count
    found = wilson(k, n)
    assert 0.0 <= found.low <= k / n <= found.high <= 1.0
    for end in (found.low, found.high):
        if 0.0 < end < 1.0:
            assert abs(k / n - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / n), rel=1e-6)


def test_nothing_counted_is_not_known() -> None:
    assert wilson(0, 0) == (0, 0, None, 0.0, 1.0)


@pytest.mark.parametrize('k, low, high', [
    # Garwood 1936, Biometrika 28, table 1, as in Ulm 1990, Am. J. Epidemiol. 131
    (0, 0.0, 3.689), (1, 0.0253, 5.572), (2, 0.2422, 7.225), (5, 1.623, 11.668),
    (10, 4.795, 18.390), (20, 12.217, 30.888), (100, 81.364, 121.627)])
def test_poisson_has_the_published_values(k: int, low: float, high: float) -> None:
    assert poisson_interval(k) == pytest.approx((low, high), abs=6e-4)


@given(st.integers(0, 20_000))
def test_poisson_interval_holds_the_count_and_grows(k: int) -> None:
    low, high = poisson_interval(k)
    assert low <= k < high
    after = poisson_interval(k + 1)
    assert after[0] > low and after[1] > high


def test_fisher_has_the_published_values() -> None:
    assert fisher(3, 4, 1, 4) == pytest.approx(0.4857, abs=5e-5)  # the lady tasting tea
    assert fisher(10, 15, 2, 15) == pytest.approx(0.0078, abs=5e-5)
    # Fisher 1935: twins of criminals, convicted or not
    assert fisher(10, 13, 2, 17) == pytest.approx(0.0005367, rel=1e-3)


@given(COUNTS, COUNTS)
def test_fisher_is_symmetric_and_a_probability(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    p = fisher(*one, *other)
    assert 0.0 <= p <= 1.0
    assert fisher(*other, *one) == pytest.approx(p, rel=1e-6)
    assert fisher(one[1] - one[0], one[1], other[1] - other[0], other[1]) == pytest.approx(
        p, rel=1e-6)


def test_halves_without_runs_do_not_differ() -> None:
    assert fisher(0, 0, 1, 1) == fisher(0, 0, 0, 0) == fisher(3, 3, 4, 4) == 1.0


def test_holm_has_the_values_of_its_definition() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1)))
def test_holm_lies_between_the_p_value_and_bonferroni(values: list[float]) -> None:
    for corrected, p in zip(holm(values), values):
        assert p <= corrected <= 1.0
    if values:
        assert min(holm(values)) == min(1.0, min(values) * len(values))
