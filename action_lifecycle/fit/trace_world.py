# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Judges conditions on the samples of a trace, by the world model and its watches.

Each fact of a topic or of tf reads the samples of its curve; constants, derived facts, windows and
`max_age` are those of the facts file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
import functools
import math
from typing import Any

import numpy as np

from ..lifecycle.ports import Condition
from ..traces import Confirmed, Curve, Trace
from ..world import FactSet, Kind, WatchResult, WorldModel
from ..world.expressions.functions import Text
from ..world.facts.arrays import Absent
from ..world.facts.facts import Fact, TfFact, TopicFact
from ..world.facts.facts_file import TF_TOPICS
from ..world.watches import Watch

EARLIER = 1.0  #: s before the samples that count, from where a trace is played
GRACE = 1e-3  #: s after the recorded end for which nothing else is taken to have arrived

UNDECIDED = 'undecided'

Samples = dict[str, tuple[float, Any]]
"""One message: stamp (s) and value of the facts that it has; a value of None is unknown."""


@dataclass(frozen=True)
class Run:
    """A labelled confirmation with its trace; `end`: time (s) up to which there are samples."""

    trace: Trace
    confirmed: Confirmed
    there: bool
    source: str
    end: float


@dataclass(frozen=True)
class Verdict:
    """A verdict: confirmed, refuted, timed_out, stale; undecided if the trace ends before."""

    outcome: str

    @property
    def confirmed(self) -> bool:
        """Return whether the outcome was confirmed."""
        return self.outcome == 'confirmed'


def traced(facts: FactSet) -> FactSet:
    """
    Return the facts, read from the samples of traces instead of messages.

    Without health: a trace has no value where a fact was unhealthy.
    """
    return replace(facts, health={}, facts={
        name: _traced(fact, facts.kinds[name]) for name, fact in facts.items()})


def _traced(fact: Fact, kind: Kind) -> Fact:
    if isinstance(fact, TfFact):
        return TopicFact(fact.name, fact.spec, TF_TOPICS[0], functools.partial(_value, fact.name),
                         functools.partial(_stamp, fact.name), 'latest', '')
    if isinstance(fact, TopicFact):
        read = functools.partial(_value, fact.name)
        return replace(fact, read=read if kind is not Kind.TRUTH else lambda m: bool(read(m)),
                       stamp_of=functools.partial(_stamp, fact.name), elements='latest',
                       frame_of=None)
    return fact


def _value(name: str, message: Samples) -> Any:
    value = message[name][1]
    if value is None:
        raise ValueError('the sample has no value')
    return value


def _stamp(name: str, message: Samples) -> float:
    if name not in message:
        raise Absent(name)
    return message[name][0]


def messages_of(
    trace: Trace, facts: FactSet, names: set[str], since: float
) -> list[tuple[float, str, Samples]]:
    """Return (arrival, topic, message) of the samples of these facts from `since` on, in order."""
    found: dict[tuple[float, str], Samples] = {}
    for name in sorted(names):
        curve, fact = curve_of(trace, name), facts[name]
        if curve is None:
            continue
        topic = fact.topic if isinstance(fact, TopicFact) else TF_TOPICS[0]
        first = int(np.searchsorted(curve.times, since))
        last = -math.inf
        for time, stamp, value in zip(
                curve.times[first:].tolist(), curve.stamps[first:].tolist(),
                _values(curve, first)):
            if value is not None or stamp > last or time < stamp + fact.spec.max_age:
                # else the last sample became too old, as it will here
                found.setdefault((time, topic), {})[name] = (stamp, value)
            last = stamp
    return [(time, topic, samples) for (time, topic), samples in
            sorted(found.items(), key=lambda item: item[0])]


def curve_of(trace: Trace, name: str) -> Curve | None:
    """Return the samples of a fact; None if the trace has none."""
    curve = trace.samples.get(name) or trace.curves.get(name)
    return curve if curve is not None and len(curve.times) else None


def _values(curve: Curve, first: int) -> list[Any]:
    if isinstance(curve.values, list):
        return [None if value is None else Text(value) if isinstance(value, str)
                else np.asarray(value) for value in curve.values[first:]]
    values = curve.values[first:]
    if values.ndim == 1:
        return [None if math.isnan(value) else value for value in values.tolist()]
    known = ~np.isnan(values).any(axis=1)
    return [value if fine else None for value, fine in zip(values, known)]


def measured_names(facts: FactSet, names: Sequence[str]) -> set[str]:
    """Return the facts with curves that facts of these names are made of."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        fact = facts.get(name := todo.pop())
        if isinstance(fact, (TopicFact, TfFact)):
            found.add(name)
        elif fact is not None:
            todo.extend(getattr(getattr(fact, 'expression', None), 'names', ()))
    return found


class Player:
    """Plays the samples of a run to a world model with open watches."""

    def __init__(self, run: Run, facts: FactSet, names: set[str]) -> None:
        self.run = run
        self.model = WorldModel(facts)
        start = run.confirmed.started
        if run.confirmed.after > 0:
            start = min(start, run.confirmed.after)
        self._messages = messages_of(run.trace, facts, names, start - EARLIER)

    def confirm(
        self, conditions: Sequence[Condition], on_update: Callable[[Watch, float], None] | None
    ) -> Verdict:
        """Return the verdict on conditions; `on_update(watch, now)`: after each evaluation."""
        model, confirmed = self.model, self.run.confirmed
        results: list[WatchResult] = []
        position = 0
        while position < len(self._messages) \
                and self._messages[position][0] < confirmed.started:
            received, topic, message = self._messages[position]
            model.ingest(topic, message, received)
            position += 1
        watch = model.confirm(
            conditions, confirmed.started, results.append, after=confirmed.after or -math.inf,
            names=confirmed.parameters,
            on_update=None if on_update is None else lambda one: on_update(one, model.now))
        for received, topic, message in self._messages[position:]:
            if results or received > self.run.end:
                break
            self._advance(received)
            model.ingest(topic, message, received)
        if not results:
            self._advance(self.run.end + GRACE)
        watch.cancel()
        return Verdict(results[0].outcome.name.lower() if results else UNDECIDED)

    def _advance(self, until: float) -> None:
        """Make the evaluations due until then, each with the time of the model at its due."""
        while (due := self.model.next_deadline()) <= until:
            self.model.advance(due)
        self.model.advance(until)


def judge(run: Run, facts: FactSet, conditions: Sequence[Condition], names: set[str]) -> Verdict:
    """Return the verdict of the watch on the samples of a run; `names`: the facts to play."""
    return Player(run, facts, names).confirm(conditions, None)


def data_end(trace: Trace, confirmed: Confirmed, following: float = math.inf) -> float:
    """Return until when the trace shows the scene that was judged; `following`: what came next."""
    last = max((float(curve.times[-1]) for curve in trace.curves.values() if len(curve.times)),
               default=confirmed.ended)
    return max(confirmed.ended, min(last, following))
