# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Values of facts as functions of time, in place of the messages of sensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import dataclasses
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from .script import Course, Ramp
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest
from ..world.expressions.constant_values import as_value
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

    return TopicFact(name, fact.spec, topic, read, lambda samples: samples.stamp, 'latest', '')


def topic_of(fact: Fact) -> str:
    """Return the topic of a fact that is measured; '' if it is not."""
    return fact.topic if isinstance(fact, TopicFact) else \
        TF_TOPICS[0] if isinstance(fact, TfFact) else ''


class Signals:
    """The present courses of the facts."""

    def __init__(self, facts: FactSet) -> None:
        self._facts = facts
        self._courses: dict[str, _Course] = {}

    def check(self, names: Iterable[str]) -> None:
        """Raise LifecycleError for a name whose value can't be given."""
        for name in names:
            fact = self._facts.facts.get(name)
            if fact is None:
                raise LifecycleError(f"there is no fact '{name}'" + nearest(name, self._facts))
            if isinstance(fact, DerivedFact):
                reads = ', '.join(fact.expression.names)
                raise LifecycleError(
                    f"fact '{name}' is an expression; give the facts that it reads: {reads}")
            if isinstance(fact, ConstantFact):
                raise LifecycleError(f"fact '{name}' is a constant of the facts file")

    def begin(self, courses: Mapping[str, Course], now: float, over: float) -> None:
        """Begin new courses at `now`; `over`: time (s) of a ramp that gives none."""
        for name, course in courses.items():
            if isinstance(course, Ramp):
                self._courses[name] = _ramp(name, self.value(name, now), course, now, over)
            else:
                self._courses[name] = _Course(None if course is None else as_value(course))

    def course(self, name: str) -> Any:
        """Return the present course of a fact, to be compared and put back; None: silent."""
        return self._courses.get(name)

    def settle(self, name: str, begun: Any, before: Any, now: float) -> None:
        """
        End the course `begun`, unless the fact has got another one since.

        A ramp stays where it is; of others, the fact takes the course `before` again.
        """
        if self._courses.get(name) is not begun:
            return
        if begun.target is not None or begun.is_jump:
            self._courses[name] = _Course(begun.value(now))
        elif before is None:
            del self._courses[name]
        else:
            self._courses[name] = before

    def value(self, name: str, now: float) -> Any:
        """Return the value of a fact; None: its sensor is silent."""
        course = self._courses.get(name)
        return None if course is None else course.value(now)

    def samples(self, now: float) -> dict[str, Samples]:
        """Return the messages of all topics at `now`."""
        values: dict[str, dict[str, Any]] = {}
        for name, course in self._courses.items():
            value = course.value(now)
            if value is not None:
                values.setdefault(topic_of(self._facts[name]), {})[name] = value
        return {topic: Samples(now, found) for topic, found in values.items()}


@dataclass(frozen=True)
class _Course:
    start: Any
    target: Any = None  #: of a ramp
    begun: float = 0.0
    end: float = 0.0
    is_jump: bool = False  #: a ramp that takes no time

    def value(self, now: float) -> Any:
        if now >= self.end:
            return self.start if self.target is None else self.target
        share = (now - self.begun) / (self.end - self.begun)
        return self.start + (self.target - self.start) * share


def _ramp(name: str, start: Any, ramp: Ramp, now: float, over: float) -> _Course:
    target = as_value(ramp.to)
    if start is None:
        raise LifecycleError(f"fact '{name}': a ramp begins at its value, and it has none yet")
    if np.shape(start) != np.shape(target) or isinstance(start, (str, bool)):
        raise LifecycleError(f"fact '{name}': no ramp leads from {start} to {ramp.to}")
    seconds = ramp.over or over
    return _Course(start, target, now, now + seconds) if seconds and math.isfinite(seconds) \
        else _Course(target, is_jump=True)
