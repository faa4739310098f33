# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A condition of the flow file on the runs: its conditions, verdicts, and terms over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import functools
import math
from typing import Any

import numpy as np

from .flow_text import FlowText, Place
from .intervals import Errors, Rate
from .terms import shape, Split, split
from .trace_world import curve_of, GRACE, judge, measured_names, Player, Run, traced, UNDECIDED
from .windows import Series
from ..documents.errors import LifecycleError
from ..documents.templates.template import render
from ..lifecycle.ports import Condition
from ..world import compile_condition, FactSet
from ..world.condition import compile_over
from ..world.expressions.constant_values import ConditionParameters
from ..world.expressions.expression import compile_expression, Expression
from ..world.watches import Watch


class ConditionOnRuns:
    """One condition of a flow file, with the facts of the bridge."""

    def __init__(self, text: FlowText, place: Place, facts: FactSet) -> None:
        self.text = text
        self.place = place
        self.facts = facts
        self._traced = traced(facts)
        self._parameters = {**text.flow.actions[place.actions[0]].parameters,
                            'action': place.actions[0]}
        self.split: Split = split(place.text, self._reads_fact)

    @property
    def hold(self) -> float:
        """Return how long (s) it must be true, as the file says."""
        return float(self._spec(self.place.actions[0]).hold)

    @property
    def within(self) -> float:
        """Return the time limit (s)."""
        return float(self._spec(self.place.actions[0]).within)

    def _spec(self, action: str) -> Any:
        return self.text.flow.actions[action].confirm[self.place.index]

    def _reads_fact(self, text: str) -> bool:
        try:
            names = compile_expression(render(text, self._parameters), None).names
        except (LifecycleError, ValueError):
            return False
        return bool(measured_names(self.facts, names))

    def conditions(
        self, run: Run, text: str | None = None, hold: float | None = None
    ) -> list[Condition]:
        """Return the conditions of a run's action, this one with another text and hold."""
        action = run.trace.key.action_id
        names = {**run.confirmed.parameters, 'action': action}
        found = []
        for place, spec in zip(self.text.confirm_of(action),
                               self.text.flow.actions[action].confirm):
            mine = place is self.place
            found.append(Condition(
                'confirm', str(render(text if mine and text is not None else place.text, names)),
                hold if mine and hold is not None else spec.hold, spec.within, spec.max_age))
        return found

    def unusable(self, run: Run) -> str:
        """Return why a run can not be judged by the conditions of the file; '' if it can."""
        try:
            conditions = self.conditions(run)
            names = self._names(run, conditions)
        except LifecycleError as error:
            return f'the conditions do not fit its parameters ({str(error).splitlines()[0]})'
        given = [shape(condition.expression) for condition in run.confirmed.conditions]
        if given != [shape(condition.expression) for condition in conditions]:
            return 'recorded with another condition'
        missing = sorted(name for name in names if curve_of(run.trace, name) is None)
        return f"no samples of {', '.join(missing)} in its trace" if missing else ''

    def _names(self, run: Run, conditions: Sequence[Condition]) -> set[str]:
        return measured_names(self.facts, [
            name for condition in conditions
            for name in compile_condition(
                condition.expression, self.facts, run.confirmed.parameters).names])

    def errors(
        self, runs: Sequence[Run], text: str | None = None, hold: float | None = None
    ) -> Errors:
        """Return the errors on runs, judged by the watch, with another text and hold."""
        completions = refutations = undecided = there = 0
        for run in runs:
            conditions = self.conditions(run, text, hold)
            verdict = judge(run, self._traced, conditions, self._names(run, conditions))
            undecided += verdict.outcome == UNDECIDED
            there += run.there
            completions += verdict.confirmed and not run.there
            refutations += run.there and not verdict.confirmed
        return Errors(Rate(completions, len(runs) - there), Rate(refutations, there), undecided)

    def series(self, run: Run) -> Series:
        """Return the terms of a run at each evaluation of the watch."""
        parameters = ConditionParameters.of(run.confirmed.parameters)
        names = {**run.confirmed.parameters, 'action': run.trace.key.action_id}
        fill = functools.partial(_compiled, facts=self.facts, parameters=parameters, names=names)
        terms = [(term.sign, fill(term.side)) for term in self.split.terms]
        rest = fill(' and '.join(f'({part})' for part in self.split.rest) or 'true')
        conditions = [Condition(one.name, one.expression, max(one.within, GRACE),
                                max(one.within, GRACE), one.max_age)
                      for one in self.conditions(run)]
        mine = self.text.confirm_of(run.trace.key.action_id).index(self.place)
        start = run.confirmed.started
        times: list[float] = []
        levels: list[list[float]] = []
        fine: list[bool] = []

        def look(watch: Watch, now: float) -> None:
            judged = watch.conditions[mine]
            known = {part.name: part.read(now, watch.after, judged.condition.max_age)
                     for part in judged.parts}
            times.append(now - start)
            levels.append([_level(sign, expression, known) for sign, expression in terms])
            fine.append(all(other.verdict.name == 'TRUE' for other in watch.conditions
                            if other is not judged)
                        and bool(rest.evaluate([known[name] for name in rest.names])))

        Player(run, self._traced, self._names(run, conditions)).confirm(conditions, look)
        end = min(self.within, run.end + GRACE - start)
        kept = np.array(times) <= end
        return Series(np.array(times)[kept], np.array(levels).T.reshape(len(terms), -1)[:, kept],
                      np.array(fine, dtype=bool)[kept], end)


def _compiled(
    text: str, facts: FactSet, parameters: ConditionParameters, names: Mapping[str, Any]
) -> Expression:
    return compile_over(str(render(text, names)), facts, parameters)


def _level(sign: int, expression: Expression, known: Mapping[str, Any]) -> float:
    """Return the value of a term's side times its sign; -inf if it is unknown or no number."""
    value = expression.evaluate([known[name] for name in expression.names])
    try:
        level = sign * float(value)
    except (TypeError, ValueError):
        return -math.inf
    return -math.inf if math.isnan(level) else level
