# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figures of a group of runs: of an action, a flow, a server, a journal or of all."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np

from .conditions import ConditionTally, Example, VERDICTS
from .intervals import fisher, poisson_interval, wilson
from .runs import ActionRun, Attempt, FlowEnd, NOT_SHOWN, PATHS

PARTS = 10
"""Number of parts of a trend of runs on few days."""
DAYS = 3
"""A trend is by day from this number of days on."""
MAX_DAYS = 400
MAX_ROWS = 20
"""Maximum number of rows that are named for a cause of failures."""
FLOW_ENDS = ('finished', 'failed', 'canceled', 'open')
WAITS = ('resources', 'locked', 'paused', 'operator')


class Tally:
    """Adds up runs; of a group by server, only the attempts that used it."""

    def __init__(self, *, conditions: bool = False) -> None:
        self._with_conditions = conditions
        self.counts: Counter[str] = Counter()
        self.claims: Counter[str] = Counter()
        self.paths: Counter[str] = Counter()
        self.labelled: Counter[tuple[str, Any]] = Counter()
        self.conditions: dict[tuple[str, str], ConditionTally] = {}
        self._causes: dict[tuple[str, str], tuple[list[int], list[tuple[int, int]]]] = {}
        self._states: dict[str, array[float]] = defaultdict(lambda: array('d'))
        self._waits: dict[str, array[float]] = defaultdict(lambda: array('d'))
        self._operating = 0.0
        self._first: array[float] = array('d')  # begin and first-try success, in pairs

    def add_open(self) -> None:
        """Count a run that has not ended."""
        self.counts['open'] += 1

    def add_flow(self, end: FlowEnd) -> None:
        """Count a flow."""
        self.counts[f"flows_{end.outcome or 'open'}"] += 1

    def add(self, run: ActionRun, attempts: Sequence[Attempt] | None = None) -> None:
        """
        Add an ended run; `attempts`: only these of it.

        Without its first attempt, its outcome does not count.
        """
        mine = run.attempts if attempts is None else attempts
        for attempt in mine:
            self._add_attempt(run, attempt)
        if attempts is None:
            for state, seconds in run.visits:
                self._states[state].append(seconds)
        else:
            for attempt in mine:
                for state, seconds in attempt.spent.items():
                    self._states[state].append(seconds)
        if attempts is None or (mine and mine[0] is run.attempts[0]):
            self._add_outcome(run)

    def _add_outcome(self, run: ActionRun) -> None:
        counts = self.counts
        counts['runs'] += 1
        counts[run.outcome] += 1
        if not run.attempts:
            counts['without_attempt'] += 1
        first, final = run.first_try, run.succeeded
        if first is not None:
            counts['first_n'] += 1
            counts['first_k'] += first
            self._first.extend((run.began, first))
        if final is not None:
            counts['final_n'] += 1
            counts['final_k'] += final
            if run.failed_attempts:
                counts['recovery_n'] += 1
                if final:
                    self.paths[run.attempts[-1].path or 'retry'] += 1
        for kind, seconds in run.waits.items():
            if seconds > 0:
                self._waits[kind].append(seconds)

    def _add_attempt(self, run: ActionRun, attempt: Attempt) -> None:
        counts = self.counts
        counts['attempts'] += 1
        counts[f'attempts_{attempt.ended or "open"}'] += 1
        self._operating += attempt.operating
        if attempt.claimed:
            self.claims['n'] += 1
            self.claims[attempt.false_success or (
                'confirmed' if attempt.sensors == 'confirmed' else 'not_judged')] += 1
            self.claims['refused_by_verifier'] += (
                attempt.sensors == 'confirmed' and attempt.ended == 'failed')
        if attempt.there is not None and attempt.sensors in ('confirmed', *NOT_SHOWN):
            self.labelled['there' if attempt.there else 'not_there', attempt.ended] += 1
            self.labelled['reported', attempt.claimed and not attempt.there] += attempt.claimed
        if attempt.ended == 'failed':
            where = run.journal, attempt.failed_seq
            cause = self._causes.setdefault((attempt.failure, attempt.unmet), ([0], []))
            cause[0][0] += 1
            if len(cause[1]) < MAX_ROWS:
                cause[1].append(where)
        if self._with_conditions:
            example = Example(run.journal, run.flow_id, run.action_id, attempt.number)
            for judged in attempt.judged:
                for each in judged.evidence:
                    key = str(each.get('condition', '')), str(each.get('expression', ''))
                    self.conditions.setdefault(key, ConditionTally()).add(
                        each, judged.seq, example)

    def figures(self) -> dict[str, Any]:
        """Return the figures as JSON-compatible data."""
        counts, claims = self.counts, self.claims
        false = sum(claims[verdict] for verdict in NOT_SHOWN)
        judged = counts['attempts_completed'] + counts['attempts_failed']
        recovered = sum(self.paths.values())
        return {
            'runs': {'ended': counts['runs'], 'open': counts['open'],
                     'succeeded': counts['succeeded'], 'failed': counts['failed'],
                     'canceled': counts['canceled'], 'skipped': counts['skipped'],
                     'without_attempt': counts['without_attempt']},
            'flows': {
                **{name: counts[f'flows_{name}'] for name in FLOW_ENDS},
                'success': wilson(counts['flows_finished'], counts['flows_finished']
                                  + counts['flows_failed'])._asdict()},
            'attempts': {'n': counts['attempts'], 'completed': counts['attempts_completed'],
                         'failed': counts['attempts_failed'],
                         'canceled': counts['attempts_canceled'],
                         'open': counts['attempts_open']},
            'first_try': wilson(counts['first_k'], counts['first_n'])._asdict(),
            'final': wilson(counts['final_k'], counts['final_n'])._asdict(),
            'per_attempt': wilson(counts['attempts_completed'], judged)._asdict(),
            'controller': {
                'reported_success': claims['n'], 'confirmed': claims['confirmed'],
                **{verdict: claims[verdict] for verdict in NOT_SHOWN},
                'not_judged': claims['not_judged'],
                'refused_by_verifier': claims['refused_by_verifier'],
                'false_success': wilson(false, claims['n'] - claims['not_judged'])._asdict()},
            'recovery': {
                **wilson(recovered, counts['recovery_n'])._asdict(),
                'by_path': {path: self.paths[path] for path in PATHS}},
            'failures': [
                {'error_code': code, 'condition': unmet, 'n': number[0], 'rows': rows}
                for (code, unmet), (number, rows) in sorted(
                    self._causes.items(), key=lambda item: (-item[1][0][0], item[0]))],
            'states': {state: _times(values) for state, values in sorted(
                self._states.items(), key=lambda item: -sum(item[1]))},
            'waits': {kind: _times(self._waits.get(kind, array('d'))) for kind in WAITS},
            'mtbf': self._mtbf(), 'trend': self._trend(),
            **({'labels': self._labels()} if self.labelled else {}),
            **({'conditions': [
                {'condition': name, 'expression': expression,
                 **{verdict: tally.verdicts[verdict] for verdict in VERDICTS},
                 'rows': tally.rows, 'examples': tally.examples(), 'facts': list(tally.facts())}
                for (name, expression), tally in sorted(self.conditions.items())]}
               if self._with_conditions else {})}

    def _labels(self) -> dict[str, Any]:
        """Return the errors of sensors and controllers, by the labels of judged attempts."""
        def share(which: str, error: str) -> dict[str, Any]:
            k, other = (self.labelled[which, ended] for ended in (
                error, 'failed' if error == 'completed' else 'completed'))
            return wilson(k, k + other)._asdict()

        wrong, right = (self.labelled['reported', is_wrong] for is_wrong in (True, False))
        return {'false_completion': share('not_there', 'completed'),
                'false_refutation': share('there', 'failed'),
                'controller_wrong': wilson(wrong, wrong + right)._asdict()}

    def _mtbf(self) -> dict[str, Any]:
        failures, hours = self.counts['attempts_failed'], self._operating / 3600
        low, high = poisson_interval(failures)
        return {'operating_h': hours, 'failures': failures,
                'hours': hours / failures if failures else None,
                'low': hours / high, 'high': hours / low if low else None}

    def _trend(self) -> dict[str, Any]:
        runs = np.frombuffer(self._first).reshape(-1, 2)
        runs = runs[np.argsort(runs[:, 0], kind='stable')]
        days = runs[:, 0] // 86400
        cuts = np.flatnonzero(np.diff(days)) + 1
        by_day = DAYS <= len(cuts) + 1 <= MAX_DAYS
        parts = np.split(runs, cuts) if by_day else \
            np.array_split(runs, min(PARTS, max(1, len(runs))))
        first, second = runs[:len(runs) // 2], runs[len(runs) // 2:]
        halves = [wilson(int(half[:, 1].sum()), len(half)) for half in (first, second)]
        return {
            'by': 'day' if by_day else 'part',
            'parts': [{'from': iso_time(part[0, 0]), 'to': iso_time(part[-1, 0]),
                       **wilson(int(part[:, 1].sum()), len(part))._asdict()}
                      for part in parts if len(part)],
            'halves': [half._asdict() for half in halves],
            'p': fisher(*halves[0][:2], *halves[1][:2])}


def _times(values: array[float]) -> dict[str, Any]:
    """Return number, median, 95th percentile and total (s)."""
    if not values:
        return {'n': 0, 'median_s': None, 'p95_s': None, 'total_s': 0.0}
    median, p95 = np.percentile(np.frombuffer(values), (50, 95))
    return {'n': len(values), 'median_s': float(median), 'p95_s': float(p95),
            'total_s': float(np.sum(np.frombuffer(values)))}


def iso_time(stamp: float) -> str:
    """Return a wall time as ISO 8601 in UTC; '' if it is not in the years of a calendar."""
    try:
        return datetime.fromtimestamp(stamp, timezone.utc).isoformat(timespec='seconds')
    except (OverflowError, OSError, ValueError):
        return ''
