# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The terms of a condition over time, for all runs: what thresholds and a hold would confirm.

This only proposes candidates; what is proposed is judged by the watch (trace_world.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_TINY = 1e-9  # s, rounding of times


@dataclass(frozen=True)
class Series:
    """
    The terms of one run at each evaluation of the watch.

    `times` (n,) in s from its start; `levels` (terms, n), -inf where unknown; `rest` (n,): all
    other parts of the confirmation are true; `end`: last time (s) for a verdict.
    """

    times: Array
    levels: Array
    rest: Flags
    end: float


class Windows:
    """The series of labelled runs, one after the other on one time axis."""

    def __init__(self, series: Sequence[Series], there: Sequence[bool]) -> None:
        self.there = np.array(there, dtype=bool)
        counts = np.array([len(one.times) for one in series])
        self._first = np.concatenate(([0], np.cumsum(counts)[:-1])).astype(int)
        self._last = self._first + counts  # exclusive
        self._run = np.repeat(np.arange(len(series)), counts)
        length = 2.0 + max((max(one.end, float(one.times[-1])) for one in series), default=0.0)
        offsets = length * np.arange(len(series))
        self._times = np.concatenate([one.times for one in series]) + offsets[self._run]
        self._ends = np.array([one.end for one in series]) + offsets
        self._levels = np.concatenate([one.levels for one in series], axis=1)
        self._rest = np.concatenate([one.rest for one in series])

    @property
    def terms(self) -> int:
        """Return the number of terms."""
        return int(self._levels.shape[0])

    def confirmed(self, levels: Array, hold: float) -> Flags:
        """Return for each run whether all terms are above their levels for `hold` (s)."""
        fine = self._rest & (self._levels > levels[:, None]).all(axis=0)
        size = len(fine)
        before = np.zeros(size, dtype=bool)
        before[1:] = fine[:-1]
        before[self._first] = False
        starts = np.flatnonzero(fine & ~before)
        bad = np.append(np.flatnonzero(~fine), size)
        after = np.minimum(bad[np.searchsorted(bad, starts)], self._last[self._run[starts]])
        runs = self._run[starts]
        inside = after < self._last[runs]
        times = np.append(self._times, 0.0)
        until = self._times[starts] + hold
        # what ends at the very end of the hold is seen by the evaluation at that time
        held = ~inside | (times[after] > until + _TINY) if hold else np.full(len(runs), True)
        found = np.zeros(len(self.there), dtype=bool)
        found[runs[held & (until <= self._ends[runs] + _TINY)]] = True
        return found

    def best(self, term: int, hold: float, levels: Array | None) -> Array:
        """
        Return for each run the highest level of a term that would be confirmed.

        `levels`: of the other terms, which must be true, too; None: they do not matter. -inf: no
        level would do.
        """
        values = self._levels[term]
        if levels is not None:
            others = [index for index in range(self.terms) if index != term]
            fine = self._rest & (self._levels[others] > levels[others, None]).all(axis=0)
            values = np.where(fine, values, -np.inf)
        least = self._least(values, hold)
        return np.asarray(np.maximum.reduceat(least, self._first), dtype=float)

    def _least(self, values: Array, hold: float) -> Array:
        """Return the least value in the `hold` from each evaluation on; -inf: it ends before."""
        until = self._times + hold
        stop = np.arange(len(values)) + 1
        if hold:
            stop = np.maximum(stop, np.minimum(np.searchsorted(
                self._times, until + _TINY, side='right'), self._last[self._run]))
        pairs = np.column_stack((np.arange(len(values)), stop)).ravel()
        least = np.minimum.reduceat(np.append(values, np.inf), pairs)[::2]
        return np.where(until <= self._ends[self._run] + _TINY, least, -np.inf)

    def noise(self, term: int) -> float:
        """Return the typical standard deviation of a term's samples, without slow changes."""
        found = []
        for run in np.flatnonzero(self.there):
            part = self._levels[term, self._first[run]:self._last[run]]
            steps = np.diff(part[np.isfinite(part)])
            steps = np.abs(steps[steps != 0.0])  # 0: the same sample, evaluated again
            if len(steps):
                found.append(1.4826 * float(np.median(steps)) / 2 ** 0.5)
        return float(np.median(found)) if found else 0.0
