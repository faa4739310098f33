# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The sources of all facts of a file: messages update them, then their checks."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from .checked_source import CheckedSource, connect_checks
from .fact_state import ConstantSource, DerivedSource, Source, TfSource
from .facts import ConstantFact, DerivedFact, Fact, FactSet, TfFact, TopicFact
from .facts_file import TF_STATIC, TF_TOPICS
from .frames import Frames
from .rivals import Publishers
from .topic_state import AgeSource, TopicSource, WindowSource
from ..evidence import Loss


class FactSources:
    """The source of each fact, connected to those that it reads or is checked with."""

    def __init__(self, facts: FactSet) -> None:
        self._facts = facts
        self._frames = Frames()
        self._sources: dict[str, Source] = {}
        self._by_topic: dict[str, list[TopicSource | CheckedSource]] = {}
        self._windows: dict[str, list[WindowSource]] = {}
        self._tf: list[TfSource | CheckedSource] = []
        self._distrusted: dict[str, str] = {}  #: reasons by topic of tf
        self._broadcasters: dict[str, int] = {}  #: number of publishers by topic of tf
        for fact in facts.values():
            self._sources[fact.name] = self._source(fact)
        self._checks = connect_checks(facts, self._sources, lambda name: self.part(name, {}))

    def _source(self, fact: Fact) -> Source:
        if isinstance(fact, ConstantFact):
            return ConstantSource(fact.name, fact.value, fact.spec.unit)
        checked = fact.name in self._facts.health
        if isinstance(fact, DerivedFact):
            derived = DerivedSource(fact.name, fact.spec.unit, fact.expression,
                                    [self.part(name, {}) for name in fact.expression.names],
                                    infinite=fact.ordered)
            return CheckedSource(derived) if checked else derived
        if isinstance(fact, TfFact):
            pose = TfSource(fact, self._frames)
            self._tf.append(CheckedSource(pose) if checked else pose)
            return self._tf[-1]
        assert isinstance(fact, TopicFact)
        kind = (AgeSource if fact.over_time == 'age' else
                WindowSource if fact.over_time else TopicSource)
        newest = kind(fact)
        if isinstance(newest, WindowSource):
            self._windows.setdefault(fact.topic, []).append(newest)
        source = CheckedSource(newest) if checked else newest
        self._by_topic.setdefault(fact.topic, []).append(source)
        return source

    def __getitem__(self, name: str) -> Source:
        """Return the source of a fact."""
        return self._sources[name]

    def part(self, name: str, parameters: Mapping[str, Any]) -> Source:
        """Return the source of a name in an expression; `parameters` hide facts."""
        if name in parameters:
            return ConstantSource(name, parameters[name])
        source = self._sources.get(name)
        return source or ConstantSource(name, self._facts.constants.values[name])

    def take(self, topic: str, message: Any, now: float, age: float) -> None:
        """Process a message that arrives at `now`; see WorldModel.ingest."""
        for source in self._by_topic.get(topic, ()):
            source.take(message, now - age)
        if topic in TF_TOPICS and self._tf:
            static = topic == TF_STATIC
            moved = self._frames.ingest(message, now, static=static)
            for pose in self._tf:
                if moved:
                    pose.refresh(now)
                transform = pose.unchecked
                if transform.contested:
                    assert isinstance(transform, TfSource)
                    transform.compare(static, moved, now)
        for check in self._checks.get(topic, ()):
            check.update(now)

    def distrust(self, topic: str, reason: str, now: float) -> None:
        """Drop the samples of a topic; see WorldModel.distrust."""
        for source in self._by_topic.get(topic, ()):
            source.distrust(reason)
        if topic in TF_TOPICS:
            self._frames.forget()
            self._distrusted[topic] = reason
            reason = next(filter(None, self._distrusted.values()), '')
            for pose in self._tf:
                pose.distrust(reason)
                pose.refresh(now)

    def set_publishers(self, topic: str, publishers: Publishers, now: float) -> None:
        """Take note of the publishers of a topic; see WorldModel.set_publishers."""
        for source in self._by_topic.get(topic, ()):
            newest = source.unchecked
            assert isinstance(newest, TopicSource)
            newest.set_publishers(publishers, now)
        if topic in TF_TOPICS:
            static = topic == TF_STATIC
            if len(publishers.nodes) < self._broadcasters.get(topic, 0):
                self._frames.clear(static=static)  # the newest may be of the one that left
            self._broadcasters[topic] = len(publishers.nodes)
            for pose in self._tf:
                transform = pose.unchecked
                assert isinstance(transform, TfSource)
                pose.refresh(now)
                transform.set_publishers(static, publishers, now)

    def lose(self, loss: Loss) -> None:
        """Process that messages of a topic were lost; see WorldModel.lost."""
        for source in (*self._by_topic.get(loss.topic, ()),
                       *(self._tf if loss.topic in TF_TOPICS else ())):
            for rivals in source.unchecked.rivals:
                rivals.forget()
        for window in self._windows.get(loss.topic, ()):
            window.lose(loss)

    def changes(self, topic: str, now: float) -> float:
        """Return when a check or a window on this topic may change next without a sample."""
        found = math.inf
        for check in self._checks.get(topic, ()):
            found = min(found, check.changes(now))
        for window in self._windows.get(topic, ()):
            found = min(found, window.begins(now))
        return found

    def clear(self, now: float) -> None:
        """Drop all samples, after time jumped back to `now`."""
        self._frames.clear()
        for source in self._sources.values():
            source.clear()
        for pose in self._tf:
            pose.refresh(now)
