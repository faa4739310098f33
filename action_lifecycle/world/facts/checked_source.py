# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

# ruff: noqa: D102 (what overrides is documented at its base)
"""The state of a fact with health: unknown while one of its checks counts as failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
import functools
import math
from typing import Any

from .agreement import Agreement
from .fact_state import DerivedSource, Source, TfSource
from .facts import DerivedFact, FactSet
from .facts_file import FrozenSpec, HealthSpec, RateSpec
from .health import Check, Frozen, Range, Rate
from .topic_state import TopicSource
from ..evidence import FactValue, Validity


class CheckedSource(Source):
    """A source with checks. The other methods of a source are those of `source`."""

    __slots__ = ('checks', 'needs', 'sampled', 'source')

    def __init__(self, source: Source) -> None:
        super().__init__(source.name, source.topic, source.unit, source.max_age)
        self.source = source
        self.sampled: list[Check] = []  #: checks of its samples
        self.checks: list[Check] = []  #: all checks
        self.needs: Sequence[Source] = ()

    @property
    def parts(self) -> Sequence[Source]:  # type: ignore[override]
        """Return the facts that it is computed from."""
        return self.source.parts

    @property
    def unchecked(self) -> Source:
        return self.source

    def take(self, message: Any, latest: float) -> bool:
        """Process a message; see TopicSource."""
        assert isinstance(self.source, TopicSource)
        sampled = self.sampled
        for check in sampled:
            check.settle(latest)
        if not self.source.take(message, latest):
            return False
        for check in sampled:
            check.sample(latest, self.source.stamp, self.source.value)
        return True

    def refresh(self, now: float) -> None:
        """Update the pose after a new transform; see TfSource."""
        assert isinstance(self.source, TfSource)
        before = self.source.stamp_at(now)
        for check in self.sampled:
            check.settle(now)
        self.source.refresh(now)
        stamp = self.source.stamp_at(now)
        if math.isfinite(stamp) and stamp != before:
            for check in self.sampled:
                check.sample(now, stamp, self.source.read(now, -math.inf, math.inf))

    def note(self, now: float) -> str:
        """Return why the fact is unhealthy; '' if it is healthy."""
        for check in self.checks:
            if check.failed(now):
                return check.note(now)
        for need in self.needs:
            if need.read(now, -math.inf, 0.0) is None:
                found = need.describe(now)
                return f"needs '{need.name}', which is {found.validity.name.lower()}" \
                    + (found.note and f': {found.note}')
        return ''

    def healthy(self, now: float) -> bool:
        """Whether no check counts as failed, and all facts that it needs are valid."""
        for check in self.checks:
            if check.failed(now):
                return False
        return all(need.read(now, -math.inf, 0.0) is not None for need in self.needs)

    def read(self, now: float, after: float, max_age: float) -> Any:
        return self.source.read(now, after, max_age) if self.healthy(now) else None

    def stamp_at(self, now: float) -> float:
        return self.source.stamp_at(now)

    def arrival(self, now: float) -> float:
        return self.source.arrival(now)

    def expiry(self, now: float) -> float:
        return self.source.expiry(now)

    def changes(self, now: float, max_age: float) -> float:
        found = self.source.changes(now, max_age)
        for check in self.checks:
            found = min(found, check.changes(now))
        for need in self.needs:
            found = min(found, need.changes(now, 0.0))
        return found

    def clear(self) -> None:
        self.source.clear()
        for check in self.checks:
            check.clear()

    def distrust(self, reason: str) -> None:
        self.source.distrust(reason)
        for check in self.checks:
            check.clear()

    def describe(self, now: float, after: float = -math.inf, max_age: float = 0.0) -> FactValue:
        found = self.source.describe(now, after, max_age)
        if found.validity is Validity.STALE or self.source.distrusted:
            return found
        note = self.note(now)
        return replace(found, validity=Validity.UNKNOWN, note=note) if note else found


def connect_checks(
    facts: FactSet, sources: Mapping[str, Source], part: Callable[[str], Source]
) -> dict[str, list[Check]]:
    """
    Make the checks of all facts; returns them by topic.

    `part` returns the source of a name in an expression.
    """
    by_topic: dict[str, list[Check]] = {}

    def add(check: Check, names: Iterable[str]) -> None:
        for topic in facts.topics(names):
            by_topic.setdefault(topic, []).append(check)

    for name, health in facts.health.items():
        spec, checked = health.spec, sources[name]
        assert isinstance(checked, CheckedSource)
        if spec is None:  # the other side of an agreement
            continue
        recover = max(spec.recover, _window(facts, name))
        for check in _sampled(spec, recover, checked.source):
            checked.sampled.append(check)
            checked.checks.append(check)
            add(check, [name])
        if spec.range is not None:
            in_range = Range(recover, checked.source, spec.range)
            checked.sampled.append(in_range)  # its value before a sample counts, too
            checked.checks.append(in_range)
            add(in_range, [name])
        for agree, when in health.agree:
            other = sources[agree.with_]
            sides = (_without_health(checked), _without_health(other))
            agreement = Agreement(
                max(recover, _window(facts, agree.with_)), sides, agree.within, agree.for_,
                agree.lag,
                None if when is None else (when, [part(read) for read in when.names]),
                functools.partial(_one_is_faulty, (checked, other)))
            for side in (checked, other):
                if isinstance(side, CheckedSource):
                    side.checks.append(agreement)
            add(agreement, [name])
        checked.needs = [sources[need] for need in spec.needs]
    return by_topic


def _window(facts: FactSet, name: str) -> float:
    """Return the longest window of a fact and of those that are unknown when it is unhealthy."""
    found = [name]
    for one in found:
        for other, fact in facts.items():
            health = facts.health.get(other)
            if other not in found and (
                    isinstance(fact, DerivedFact) and one in fact.expression.names
                    or health is not None and health.spec is not None
                    and one in health.spec.needs):
                found.append(other)
    return max(facts[one].spec.window for one in found)


def _one_is_faulty(sources: Iterable[Source], now: float) -> bool:
    return any(is_faulty(source, now) for source in sources)


def is_faulty(source: Source, now: float) -> bool:
    """Whether a check counts as failed, of a fact or of one it reads or needs; not agreements."""
    if isinstance(source, CheckedSource):
        if any(not isinstance(check, Agreement) and check.failed(now) for check in source.checks):
            return True
        if any(is_faulty(need, now) for need in source.needs):
            return True
    return any(is_faulty(part, now) for part in source.parts)


def _without_health(source: Source) -> Source:
    """Return a source that has a value, too, while it or a fact that it reads is unhealthy."""
    source = source.unchecked
    return source.with_parts([_without_health(part) for part in source.parts]) \
        if isinstance(source, DerivedSource) else source


def _sampled(spec: HealthSpec, recover: float, source: Source) -> Iterable[Check]:
    """Yield the checks of samples."""
    frozen, rate = spec.frozen, spec.rate
    if isinstance(frozen, FrozenSpec):
        yield Frozen(recover, frozen.noise, frozen.resolution, frozen.for_, frozen.clip,
                     source)
    elif frozen is not None:
        yield Frozen(recover, 0.0, 0.0, frozen, None, source)
    if isinstance(rate, RateSpec):
        yield Rate(recover, rate.min, math.inf if rate.max is None else rate.max, rate.over,
                   source.max_age)
    elif rate is not None:
        yield Rate(recover, *rate, 1.0, source.max_age)
