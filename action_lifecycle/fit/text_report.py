# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The result of a fit as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .fitting import ConditionFit, TermFit
from .windows import Array

BINS = 40
_HEIGHTS = ' .:-=+*#%@'


def report(fits: Sequence[ConditionFit], path: str) -> Iterator[str]:
    """Yield the lines about each condition."""
    for fit in fits:
        yield f'{path}:{fit.place.at[0]}: {", ".join(fit.place.actions)}'
        yield f'  {" ".join(fit.place.text.split())}'
        for one in fit.terms:
            yield from _term(one)
        if fit.terms:
            yield f'  hold: {fit.old_hold:g} s ' + (
                'as it is' if fit.new_hold == fit.old_hold else f'-> {fit.new_hold:g} s')
        for name, errors in (('now', fit.before), ('fitted', fit.after),
                             ('fitted, unseen runs', fit.unseen)):
            if errors is not None:
                yield (f'  {name}: false completions {errors.false_completions}, '
                       f'false refutations {errors.false_refutations}')
        for note in fit.notes:
            yield f'  note: {note}'
        for why, count in sorted(fit.skipped.items()):
            yield f'  note: {count} runs not used: {why}'
        yield ''


def _term(one: TermFit) -> Iterator[str]:
    sign = '>' if one.term.sign > 0 else '<'
    old, new = (one.term.factor * float(number) for number in (one.old, one.new))
    change = f'{old:g} as it is' if one.old == one.new else f'{old:g} -> {new:g}'
    yield f'  {one.term.side} {sign} {change}'
    ends = _ends(one)
    if ends is None:
        return
    low, high = ends
    threshold = one.term.factor * float(one.new)
    for name, values in (('not there', one.not_there), ('there', one.there)):
        yield f'    {name:>9} |{_bars(one.term.sign * values, low, high)}| n = {len(values)}'
    place = min(BINS - 1, max(0, int(BINS * (threshold - low) / (high - low))))
    yield f'    {"":>9}  {" " * place}^{threshold:g}' + \
        f'   ({low:.4g} to {high:.4g}; the best value held in each run)'


def _ends(one: TermFit) -> tuple[float, float] | None:
    """Return the range of a histogram: that of the runs there, and three times it beside."""
    there = one.there[np.isfinite(one.there)] * one.term.sign
    others = one.not_there[np.isfinite(one.not_there)] * one.term.sign
    values = np.concatenate((there, others))
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    if len(there):
        width = float(np.ptp(there)) or abs(float(there[0])) or 1.0
        low, high = max(low, there.min() - 3 * width), min(high, there.max() + 3 * width)
    return (low, high) if high > low else None


def _bars(values: Array, low: float, high: float) -> str:
    """Return a histogram in one line; values beyond its ends are in the first or last column."""
    counts, _ = np.histogram(np.clip(values[np.isfinite(values)], low, high), BINS, (low, high))
    most = max(1, int(counts.max()))
    steps = np.ceil(counts / most * (len(_HEIGHTS) - 1)).astype(int)
    return ''.join(_HEIGHTS[step] for step in steps)
