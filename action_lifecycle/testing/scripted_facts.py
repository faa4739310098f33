# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Values of facts as functions of time, in place of the messages of sensors."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from .script import Course, Ramp
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest
from ..world.expressions.constant_values import as_value
from ..world.expressions.value_types import Kind, kind_of
from ..world.facts.arrays import Absent
from ..world.facts.facts import ConstantFact, DerivedFact, Fact, FactSet, TfFact, TopicFact
from ..world.facts.facts_file import TF_TOPICS
from ..world.facts.health_checks import Health


@dataclass(frozen=True)
class Samples:
    """A message of a topic: the values of the facts that are read from it."""

    stamp: float  #: s
    values: Mapping[str, Any]


def scripted_facts(facts: FactSet) -> FactSet:
    """
    Return the facts with values that come from `Samples` instead of messages.

    A value is that of the fact itself, after its reducers, so windows have no effect. Of the
    checks of health, `range`, `agree` and `needs` remain; scripted sensors have no noise and no
    rate of their own.
    """
    health = {name: _without_samples(entry) for name, entry in facts.health.items()}
    return dataclasses.replace(
        facts, facts={name: _scripted(fact) for name, fact in facts.items()}, health=health)


def _without_samples(health: Health) -> Health:
    if health.spec is None:
        return health
    fields = {'frozen': None, 'rate': None}
    spec = health.spec.copy(update=fields) if not hasattr(health.spec, 'model_copy') \
        else health.spec.model_copy(update=fields)
    return dataclasses.replace(health, spec=spec)


def _scripted(fact: Fact) -> Fact:
    topic = topic_of(fact)
    if not topic:
        return fact
    name = fact.name

    def read(samples: Samples) -> Any:
        value = samples.values.get(name)
        if value is None:
            raise Absent
        return value

    return TopicFact(name, fact.spec, topic, read, lambda samples: samples.stamp, 'latest', '',
                     isinstance(fact, TopicFact) and fact.ordered)


def topic_of(fact: Fact) -> str:
    """Return the topic of a fact that is measured; '' if it is not."""
    return fact.topic if isinstance(fact, TopicFact) else \
        TF_TOPICS[0] if isinstance(fact, TfFact) else ''


class Signals:
    """
    The present courses of the facts.

    A goal puts its courses on top of those that are there, and takes them away at its end.
    """

    def __init__(self, facts: FactSet) -> None:
        self._facts = facts
        self._courses: dict[str, list[_Course]] = {}

    def check(self, courses: Mapping[str, Course]) -> None:
        """Raise LifecycleError for a name or a value that can't be given."""
        for name, course in courses.items():
            fact = self._facts.facts.get(name)
            if fact is None:
                raise LifecycleError(f"there is no fact '{name}'" + nearest(name, self._facts))
            if isinstance(fact, DerivedFact):
                reads = ', '.join(fact.expression.names)
                raise LifecycleError(
                    f"fact '{name}' is an expression; give the facts that it reads: {reads}")
            if isinstance(fact, ConstantFact):
                raise LifecycleError(f"fact '{name}' is a constant of the facts file")
            self._check_value(name, course)

    def _check_value(self, name: str, course: Course) -> None:
        if course is None:
            return
        given = course.to if isinstance(course, Ramp) else course
        try:
            kind = kind_of(as_value(
                given, name in self._facts.ordered and not isinstance(course, Ramp)))
        except ValueError as error:
            raise LifecycleError(f"fact '{name}': {error}") from error
        wanted = self._facts.kinds.get(name, Kind.ANY)
        if isinstance(self._facts[name], TfFact) and kind is not Kind.VECTOR:
            raise LifecycleError(f"fact '{name}': expected a list of numbers, got {given!r}")
        if wanted is not Kind.ANY and kind is not wanted and {kind, wanted} != {
                Kind.NUMBER, Kind.TRUTH}:
            raise LifecycleError(f"fact '{name}': expected {wanted.value}, got {given!r}")

    def begin(
        self, courses: Mapping[str, Course], now: float, over: float, owner: object = None
    ) -> None:
        """
        Begin new courses at `now`; `over`: time (s) of a ramp that gives none.

        Without an `owner`, they replace all that there are.
        """
        for name, course in courses.items():
            if isinstance(course, Ramp):
                begun = _ramp(name, self.value(name, now), course, now, over, owner)
            else:
                begun = _Course(None if course is None else as_value(course, True), owner=owner)
            if owner is None:
                self._courses[name] = [begun]
            else:
                self._courses.setdefault(name, [_Course(None)]).append(begun)

    def settle(self, owner: object, now: float) -> None:
        """End the courses of an owner: a ramp stays where it is, others are taken away."""
        for courses in self._courses.values():
            for course in [one for one in courses if one.owner is owner]:
                if course is courses[-1] and course.is_ramp:
                    courses[:] = [_Course(course.value(now))]
                else:
                    courses.remove(course)

    def value(self, name: str, now: float) -> Any:
        """Return the value of a fact; None: its sensor is silent."""
        courses = self._courses.get(name)
        return courses[-1].value(now) if courses else None

    def samples(self, now: float) -> dict[str, Samples]:
        """Return the messages of all topics at `now`."""
        values: dict[str, dict[str, Any]] = {}
        for name, courses in self._courses.items():
            value = courses[-1].value(now)
            if value is not None:
                values.setdefault(topic_of(self._facts[name]), {})[name] = value
        return {topic: Samples(now, found) for topic, found in values.items()}


@dataclass(frozen=True, eq=False)
class _Course:
    start: Any
    target: Any = None  #: of a ramp
    begun: float = 0.0
    end: float = 0.0
    owner: object = None

    @property
    def is_ramp(self) -> bool:
        return self.target is not None

    def value(self, now: float) -> Any:
        if now >= self.end:
            return self.start if self.target is None else self.target
        share = (now - self.begun) / (self.end - self.begun)
        return self.start + (self.target - self.start) * share


def _ramp(
    name: str, start: Any, ramp: Ramp, now: float, over: float, owner: object
) -> _Course:
    target = as_value(ramp.to)
    if start is None:
        raise LifecycleError(f"fact '{name}': a ramp begins at the value of the fact, and it has "
                             'none: give one under `facts` of the robot')
    if np.shape(start) != np.shape(target) or isinstance(start, (str, bool)) \
            or not np.isfinite(start).all():
        raise LifecycleError(f"fact '{name}': no ramp leads from {start!r} to {ramp.to}")
    seconds = ramp.over or over
    return _Course(start, target, now, now + (seconds if math.isfinite(seconds) else 0.0), owner)
