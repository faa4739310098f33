# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Intervals and tests of the report's figures; all of 95 % confidence unless said otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from statistics import NormalDist
from typing import NamedTuple

Z = NormalDist().inv_cdf(0.975)
TAIL = 0.025


class Share(NamedTuple):
    """`k` of `n`, with the Wilson score interval (Wilson 1927); `share` None if `n` is 0."""

    k: int
    n: int
    share: float | None
    low: float
    high: float


def wilson(k: int, n: int) -> Share:
    """Return the share `k` of `n` with its Wilson interval, [0, 1] if `n` is 0."""
    if n == 0:
        return Share(k, n, None, 0.0, 1.0)
    p, z2 = k / n, Z * Z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return Share(k, n, p, 0.0 if k == 0 else max(0.0, centre - half),
                 1.0 if k == n else min(1.0, centre + half))


def poisson_interval(k: int) -> tuple[float, float]:
    """Return the exact interval of the mean of a Poisson count `k` (Garwood 1936)."""
    low = 0.0 if k == 0 else _root(lambda mean: _tail(k, mean, 1) - TAIL, 0.0, float(k))
    return low, _root(lambda mean: TAIL - _tail(k, mean, -1), float(k),
                      k + 10.0 + 5 * math.sqrt(k))


def _tail(k: int, mean: float, step: int) -> float:
    """
    Return the probability of a Poisson count of `k` or beyond it, in the direction of `step`.

    `mean` lies on the other side of `k`, so that the terms decrease.
    """
    if mean <= 0.0:
        return float(k == 0)
    term = math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))
    total, i = 0.0, k
    while i >= 0 and term > 1e-17 * total:
        total += term
        term *= mean / (i + 1) if step > 0 else i / mean
        i += step
    return total


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero of an increasing function between `low` and `high`, by bisection."""
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2


def fisher(k1: int, n1: int, k2: int, n2: int) -> float:
    """
    Return the two-sided p value of Fisher's exact test of `k1` of `n1` against `k2` of `n2`.

    All tables with the same margins that are not more probable than the given one count.
    """
    successes = k1 + k2
    low, high = max(0, successes - n2), min(successes, n1)
    if low >= high:
        return 1.0
    logs = [_log_choose(n1, k) + _log_choose(n2, successes - k) for k in range(low, high + 1)]
    limit = logs[k1 - low] + 1e-7
    most = max(logs)
    total = math.fsum(math.exp(log - most) for log in logs)
    extreme = math.fsum(math.exp(log - most) for log in logs if log <= limit)
    return min(1.0, extreme / total)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values corrected for their number (Holm 1979), in the given order."""
    corrected, least = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        least = max(least, min(1.0, p_values[index] * (len(p_values) - rank)))
        corrected[index] = least
    return corrected
