# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fits the conditions of a flow to labelled runs, and measures the errors before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .flow_text import Change, FitError, FlowText, Place
from .intervals import Errors
from .search import Fit, HOLDS, rounded, Search
from .series import ConditionOnRuns
from .terms import Term, with_numbers
from .trace_world import Run
from .windows import Array, Series, Windows
from ..world import FactSet

FOLDS = 5
FEWEST = 20
"""Fewest runs of each class to fit a condition to."""


@dataclass(frozen=True)
class Options:
    """`fewest`: runs of each class that are needed; `by_errors`: all errors count the same."""

    fewest: int = FEWEST
    by_errors: bool = False


@dataclass
class TermFit:
    """A term before and after; `there`, `not_there`: the best level that each run held."""

    term: Term
    old: str
    new: str
    there: Array
    not_there: Array


@dataclass
class ConditionFit:
    """What was found about one condition of the flow file."""

    place: Place
    notes: list[str] = field(default_factory=list)
    terms: list[TermFit] = field(default_factory=list)
    old_hold: float = 0.0
    new_hold: float = 0.0
    changes: list[Change] = field(default_factory=list)
    before: Errors | None = None
    after: Errors | None = None  #: of the runs that it was fitted to
    unseen: Errors | None = None  #: of each fold, fitted to the others
    skipped: dict[str, int] = field(default_factory=dict)

    @property
    def fitted(self) -> bool:
        """Return whether there were enough runs to fit it."""
        return self.unseen is not None


def fit_place(
    text: FlowText, place: Place, facts: FactSet, runs: Sequence[Run], options: Options
) -> ConditionFit:
    """Fit one condition of a flow file to the labelled runs of its actions."""
    on_runs = ConditionOnRuns(text, place, facts)
    result = ConditionFit(place, list(on_runs.split.left_alone), old_hold=on_runs.hold,
                          new_hold=on_runs.hold)
    usable = []
    for run in runs:
        why = on_runs.unusable(run)
        if why:
            result.skipped[why] = result.skipped.get(why, 0) + 1
        else:
            usable.append(run)
    there = sum(run.there for run in usable)
    few = _too_few(there, len(usable) - there, options.fewest) or _one_flow(usable)
    if usable:
        result.before = on_runs.errors(usable)
    if few or not on_runs.split.terms:
        result.notes.append(few or 'no number in it is compared with facts')
        return result
    series = [on_runs.series(run) for run in usable]
    _Fitter(on_runs, usable, series, options, result).fit()
    return result


def _too_few(there: int, missing: int, fewest: int) -> str:
    """Return what has to be collected; '' if there are enough runs."""
    if min(there, missing) >= fewest:
        return ''
    wanted = [f'{max(0, fewest - count)} more where the outcome was {name}'
              for count, name in ((there, 'there'), (missing, 'not there')) if count < fewest]
    return (f'too few labelled runs: {there} where the outcome was there and {missing} where it '
            f'was not; collect {" and ".join(wanted)} (or accept fewer with --fewest)')


def _one_flow(runs: Sequence[Run]) -> str:
    """Return why no error rate of unseen runs can be measured; '' if it can."""
    if len({run.trace.key.flow_id for run in runs}) > 1:
        return ''
    return ('all labelled attempts are of one flow, so that the error rate of unseen flows can '
            'not be measured; collect attempts of more flows')


class _Fitter:
    """The fit of one condition."""

    def __init__(
        self, on_runs: ConditionOnRuns, runs: Sequence[Run], series: Sequence[Series],
        options: Options, result: ConditionFit,
    ) -> None:
        self.on_runs = on_runs
        self.runs = runs
        self.series = series
        self.options = options
        self.result = result
        self.terms = on_runs.split.terms
        self.place = on_runs.place

    def fit(self) -> None:
        result, everything = self.result, range(len(self.runs))
        search = self._search(everything)
        assert result.before is not None
        for fit in self._candidates(search):
            numbers = self._numbers(search, fit)
            after = self._errors(everything, numbers, fit.hold)
            if not self._worse(after, result.before, search.most):
                break
        else:
            result.notes.append('nothing better was found')
            numbers, after = self._old(), result.before
            fit = Fit(tuple(term.level for term in self.terms), result.old_hold, ())
        result.after, result.new_hold = after, fit.hold
        for index, (term, number) in enumerate(zip(self.terms, numbers)):
            best = search.windows.best(index, fit.hold, None)
            result.terms.append(TermFit(term, self._written(term), number,
                                        best[search.there], best[~search.there]))
            if number != self._written(term):
                result.changes.append(self.on_runs.text.change_of(self.place, term, number))
        if fit.hold != result.old_hold:
            assert self.place.hold_path is not None
            result.changes.append(Change(self.place.hold_path, 0, f'{fit.hold:g}'))
        result.unseen = self._unseen()
        self._remarks(search, after)

    def _search(self, indices: Sequence[int]) -> Search:
        windows = Windows([self.series[index] for index in indices],
                          [self.runs[index].there for index in indices])
        return Search(windows, [term.level for term in self.terms], self.result.old_hold,
                      self.options.by_errors)

    def _fit(self, search: Search) -> Fit:
        within = self.on_runs.within
        return search.run([hold for hold in HOLDS if hold <= within / 2]
                          if self.place.hold_path is not None else [])

    def _candidates(self, search: Search) -> Iterator[Fit]:
        """Yield the best fit, then the same with one threshold as it was: those may hold."""
        best = self._fit(search)
        yield best
        for index, term in enumerate(self.terms):
            if len(self.terms) > 1 and best.levels[index] != term.level:
                yield replace(best, levels=(
                    *best.levels[:index], term.level, *best.levels[index + 1:]))

    def _numbers(self, search: Search, fit: Fit) -> list[str]:
        """Return the numbers of a fit as text; unchanged ones as they are written."""
        found = []
        for index, (term, level) in enumerate(zip(self.terms, fit.levels)):
            if level == term.level:
                found.append(self._written(term))
                continue
            bounds = sorted(term.number_at(one) for one in search.room(index, fit))
            found.append(rounded(term.number_at(level), *bounds))
        return found

    def _written(self, term: Term) -> str:
        return self.place.text[term.start:term.end]

    def _old(self) -> list[str]:
        return [self._written(term) for term in self.terms]

    def _errors(self, indices: Sequence[int], numbers: Sequence[str], hold: float) -> Errors:
        return self.on_runs.errors([self.runs[index] for index in indices],
                                   with_numbers(self.place.text, self.terms, numbers), hold)

    def _worse(self, new: Errors, old: Errors, most: int) -> bool:
        """
        Return whether the watch finds more errors than before, against the aim.

        `most`: number of false refutations that are accepted for fewer false completions.
        """
        completions, before = new.false_completions.errors, old.false_completions.errors
        if self.options.by_errors:
            completions += new.false_refutations.errors
            before += old.false_refutations.errors
            return completions > before
        return completions > before or new.false_refutations.errors > max(
            most, old.false_refutations.errors)

    def _unseen(self) -> Errors:
        """Return the errors of each fold with what is fitted to the others."""
        total: Errors | None = None
        for fold in folds(self.runs):
            kept = set(fold)
            search = self._search([index for index in range(len(self.runs))
                                   if index not in kept])
            fit = self._fit(search)
            errors = self._errors(fold, self._numbers(search, fit), fit.hold)
            total = errors if total is None else total + errors
        assert total is not None
        return total

    def _remarks(self, search: Search, after: Errors) -> None:
        notes = self.result.notes
        if after.false_completions.errors or after.false_refutations.errors:
            notes.append('the runs can not be separated by these facts: '
                         f'{after.false_completions.errors} false completions and '
                         f'{after.false_refutations.errors} false refutations remain; check their '
                         'labels, or add a fact that tells them apart')
        for fit in self.result.terms:
            values = np.concatenate((fit.there, fit.not_there))
            values = values[np.isfinite(values)]
            if not len(values) or float(np.ptp(values)) == 0.0:
                notes.append(f"'{fit.term.side}' never varied: nothing is known about its "
                             'threshold')
        if after.undecided:
            notes.append(f'{after.undecided} traces end before a verdict; they count as refuted')
        full = sum(any(len(curve.times) >= FULL for curve in run.trace.curves.values())
                   for run in self.runs)
        if full:
            notes.append(f'{full} traces are decimated ({FULL} points): short breaks of a hold '
                         'may be missing in them')


FULL = 1024
"""Number of points of a curve from which a trace is decimated."""


def folds(runs: Sequence[Run]) -> list[list[int]]:
    """
    Return the indices of the runs in FOLDS parts; all attempts of a flow are in one part.

    Flows with an outcome that was not there are spread evenly.
    """
    missing = {run.trace.key.flow_id for run in runs if not run.there}
    order = sorted({run.trace.key.flow_id for run in runs},
                   key=lambda flow_id: (flow_id not in missing, flow_id))
    part = {flow_id: index % FOLDS for index, flow_id in enumerate(order)}
    found: list[list[int]] = [[] for _ in range(FOLDS)]
    for index, run in enumerate(runs):
        found[part[run.trace.key.flow_id]].append(index)
    return [one for one in found if one]


def apply_all(text: FlowText, fits: Sequence[ConditionFit]) -> str:
    """Return the diff of the flow file with all changes; '' if there are none."""
    changes = [change for fit in fits for change in fit.changes]
    return text.diff(text.with_changes(changes)) if changes else ''


def as_dict(fit: ConditionFit, path: str) -> dict[str, Any]:
    """Return JSON-compatible data."""
    errors = {'before': fit.before, 'after': fit.after, 'unseen': fit.unseen}
    return {
        'file': path, 'line': fit.place.at[0], 'condition': fit.place.text,
        'actions': fit.place.actions, 'fitted': fit.fitted,
        'hold': {'old': fit.old_hold, 'new': fit.new_hold},
        'terms': [{'expression': one.term.side, 'comparison': '>' if one.term.sign > 0 else '<',
                   'old': one.old, 'new': one.new} for one in fit.terms],
        **{name: None if one is None else one.as_dict() for name, one in errors.items()},
        'notes': fit.notes, 'skipped': fit.skipped}


__all__ = ['ConditionFit', 'FitError', 'Options', 'TermFit', 'apply_all', 'as_dict', 'fit_place',
           'folds']
