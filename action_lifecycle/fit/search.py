# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Searches thresholds and hold of a condition: fewest false completions, then false refutations.

Deterministic. A threshold that is right stays as it is; another one is moved no nearer to the
values of either class than their noise and the spread of their extremes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from .windows import Array, Windows

MOST_REFUTED = 0.1
"""A fit refutes at most this share of the outcomes that were there, or as many as before."""
EDGE = 0.02  #: share of a class whose spread estimates how far unseen values may lie beyond it
NOISES = 3.0  #: standard deviations of a sample
ROUNDS = 8
HOLDS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)

Score = tuple[float, ...]


@dataclass(frozen=True)
class Fit:
    """Levels of the terms and the hold (s), with its score on the runs it was fitted to."""

    levels: tuple[float, ...]
    hold: float
    score: Score


class Search:
    """The search on the windows of some runs, from the levels and hold of the flow file."""

    def __init__(
        self, windows: Windows, levels: Sequence[float], hold: float, by_errors: bool = False
    ) -> None:
        self.windows = windows
        self.start = np.array(levels, dtype=float)
        self.hold = hold
        self.by_errors = by_errors
        self.there = windows.there
        refuted = int((self.there & ~windows.confirmed(self.start, hold)).sum())
        self.most = max(refuted, int(MOST_REFUTED * self.there.sum()))
        self.noise = [NOISES * windows.noise(term) for term in range(windows.terms)]

    def run(self, holds: Sequence[float]) -> Fit:
        """Return the best fit; of equally good holds the one nearest to that of the file."""
        best: tuple[Score, Fit] | None = None
        for hold in sorted({self.hold, *holds}, key=lambda one: (abs(one - self.hold), one)):
            fit = self._at_hold(hold)
            score = (*fit.score[:2], abs(hold - self.hold))
            if best is None or score < best[0]:
                best = score, fit
            if best[0][:2] == (0, 0):
                break
        assert best is not None
        return best[1]

    def room(self, term: int, fit: Fit) -> tuple[float, float]:
        """Return between which levels a term of a fit may be rounded."""
        level = fit.levels[term]
        values = self.windows.best(term, fit.hold, np.array(fit.levels))
        above = values[self.there & (values > level)]
        below = values[~self.there & (values <= level) & np.isfinite(values)]
        up = 0.25 * (float(above.min()) - level) if len(above) else 0.0
        down = 0.25 * (level - float(below.max())) if len(below) else up
        return level - min(down, up or down), level + min(up or down, down)

    def _at_hold(self, hold: float) -> Fit:
        alone = [self.windows.best(term, hold, None) for term in range(self.windows.terms)]
        own = [self._own(term, values) for term, values in enumerate(alone)]
        front = np.array([gap.level for gap in own])
        fits = [self._improve(levels, hold, own) for levels in (self.start, front)]
        return min(fits, key=lambda fit: fit.score)

    def _own(self, term: int, values: Array) -> Gap:
        """Return the threshold of a term on its own, in the widest gap below the runs there."""
        there = np.sort(values[self.there])
        there = there[np.isfinite(there)]
        if not len(there):
            return Gap(float(self.start[term]))
        high = float(there[int(0.01 * len(there))])
        others = np.sort(values[~self.there & np.isfinite(values)])
        low = np.unique(others[others < high])
        if not len(low):
            return self._in_gap(term, -math.inf, high, there)
        edges = np.append(low, high)
        rejected = np.searchsorted(others, low, side='right')
        widest = int(np.argmax(np.diff(edges) * np.sqrt(rejected)))
        return self._in_gap(term, float(edges[widest]), float(edges[widest + 1]), there)

    def _in_gap(self, term: int, low: float, high: float, there: Array) -> Gap:
        """Return the level between two values that is nearest to the one in the file."""
        start = float(self.start[term])
        tail = float(there[int(EDGE * len(there))] - there[0])
        margin = max(self.noise[term], tail)
        if not math.isfinite(low):
            return Gap(min(start, high - (margin or 0.1 * abs(high))))
        margin = min(max(margin, 0.25 * (high - low)), 0.5 * (high - low))
        if low + margin <= start <= high - margin:
            return Gap(start, low + margin, high - margin)
        return Gap((low + high) / 2 if start < low + margin else high - margin,
                   low + margin, high - margin)

    def _improve(self, levels: Array, hold: float, own: list[Gap]) -> Fit:
        """Change one level after the other, always the one that helps most."""
        levels = levels.copy()
        score = self._score(levels, hold, own)
        for _ in range(ROUNDS):
            moves = []
            for term in range(self.windows.terms):
                for level in self._choices(term, levels, hold, own):
                    moved = levels.copy()
                    moved[term] = level
                    moves.append((self._score(moved, hold, own), term, level))
            if not moves or min(moves)[0] >= score:
                break
            score, term, level = min(moves)
            levels[term] = level
        return Fit(tuple(map(float, levels)), hold, score)

    def _choices(self, term: int, levels: Array, hold: float, own: list[Gap]) -> list[float]:
        """Return levels of a term to try, with those of the other terms."""
        values = self.windows.best(term, hold, levels)
        there = np.sort(values[self.there & np.isfinite(values)])
        choices = {float(self.start[term]), own[term].level}
        if len(there):
            others = np.sort(values[~self.there & np.isfinite(values)])
            given_up = {0, 1, 2, *(int(share * len(there)) for share in (0.01, 0.02, 0.05))}
            for index in sorted(given_up):
                if index < min(len(there), self.most + 1):
                    high = float(there[index])
                    below = others[others < high]
                    low = float(below[-1]) if len(below) else -math.inf
                    choices.add(self._in_gap(term, low, high, there[index:]).level)
        return sorted(choices - {float(levels[term])})

    def _score(self, levels: Array, hold: float, own: list[Gap]) -> Score:
        """
        Return what counts, most important first.

        False completions, false refutations, both if the samples had more noise, terms whose
        level is at the edge of their own gap, and changes.
        """
        completed, refuted = self._errors(levels, hold)
        noise = np.array(self.noise)
        nearly_completed = self._errors(levels - noise, hold)[0]
        nearly_refuted = self._errors(levels + noise, hold)[1]
        at_edge = sum(not gap.low <= level <= gap.high for level, gap in zip(levels, own))
        changed = float((levels != self.start).sum())
        first: tuple[float, ...] = (completed, refuted)
        if self.by_errors:
            first = (completed + refuted, completed)
        elif refuted > self.most:
            first = (math.inf, refuted)
        return (*first, nearly_completed, nearly_refuted, at_edge, changed)

    def _errors(self, levels: Array, hold: float) -> tuple[int, int]:
        confirmed = self.windows.confirmed(levels, hold)
        return int((confirmed & ~self.there).sum()), int((~confirmed & self.there).sum())


@dataclass(frozen=True)
class Gap:
    """A level between the values of both classes; `low` to `high` is far enough from both."""

    level: float
    low: float = -math.inf
    high: float = math.inf


def rounded(number: float, low: float, high: float) -> str:
    """Return the shortest decimal number near to `number` that is between two others."""
    for digits in range(1, 17):
        text = f'{number:.{digits}g}'
        if low <= float(text) <= high:
            break
    value = float(text)
    return f'{value:.12f}'.rstrip('0').rstrip('.') + ('.0' if value == int(value) else '') \
        if 1e-6 <= abs(value) < 1e9 or value == 0 else text
