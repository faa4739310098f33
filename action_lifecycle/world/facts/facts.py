# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The facts of a checked facts file; loader.py loads one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
import os
import time
from typing import Any, NamedTuple

from .facts_file import FactSpec, TF_TOPICS, TF_TYPE, TfSpec
from .health_checks import Health
from .message_constants import Constants
from .safety_topics import SafetyTopic
from .selectors import Reader
from ..expressions.expression import Expression
from ..expressions.value_types import Kind
from ...lifecycle.ports import Condition


@dataclass(frozen=True)
class Fact:
    """A checked fact of a facts file."""

    name: str
    spec: FactSpec


@dataclass(frozen=True)
class TopicFact(Fact):
    """A fact read from a topic, with its compiled readers."""

    topic: str
    read: Reader
    stamp_of: Reader
    elements: str  #: reducer of a sample's elements
    over_time: str  #: reducer of the window; '': none
    ordered: bool = False  #: infinite values are numbers
    frame_of: Reader | None = None  #: gives the frame that is compared with the declared one


@dataclass(frozen=True)
class TfFact(Fact):
    """A fact from tf."""

    tf: TfSpec


@dataclass(frozen=True)
class ConstantFact(Fact):
    """A constant given in the file."""

    value: Any


@dataclass(frozen=True)
class DerivedFact(Fact):
    """An expression over other facts."""

    expression: Expression
    ordered: bool = False  #: infinite values are numbers


class LoadedFile(NamedTuple):
    """A file as it was when it was read; `changed`: its modification time (s since 1970)."""

    path: str
    changed: float

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> LoadedFile | None:
        """Return a file as it is now; None if it can't be read."""
        try:
            return cls(os.path.abspath(path), os.stat(path).st_mtime)
        except OSError:
            return None

    def since(self) -> str:
        """Return what was read, and what has become of the file since; '' if it is the same."""
        now = LoadedFile.at(self.path)
        if now == self:
            return ''
        said = f'the facts that are in use are those of {self}'
        return f'{said}, which is not there any more' if now is None else (
            f'{said}, which was changed at {_clock(now.changed)}; to use those: action_lifecycle '
            'reload')

    def __str__(self) -> str:
        return f'{self.path} of {_clock(self.changed)}'


def _clock(stamp: float) -> str:
    return time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(stamp))


@dataclass(frozen=True)
class FactSet(Mapping[str, Fact]):
    """A checked facts file: the facts by name, each after the facts that it needs."""

    facts: Mapping[str, Fact]
    kinds: Mapping[str, Kind]  #: of facts and constants
    limits: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    constants: Constants = Constants({}, {})  #: of the message types of facts
    safety: tuple[SafetyTopic, ...] = ()  #: the e-stop first
    health: Mapping[str, Health] = field(default_factory=dict)  #: of the facts that are checked
    stopped: Mapping[str, Condition | None] = field(default_factory=dict)
    #: what shows a standstill, by type or name of server, service or topic; None: nothing moves on
    file: LoadedFile | None = None  #: that they were read from

    def __getitem__(self, name: str) -> Fact:
        return self.facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    @cached_property
    def fixed(self) -> Mapping[str, Any]:
        """Return the values of the names that have one before any sample, such as constants."""
        found: dict[str, Any] = dict(self.constants.values)
        for name, fact in self.facts.items():
            if isinstance(fact, ConstantFact):
                found[name] = fact.value
            elif isinstance(fact, DerivedFact) and name not in self.health:
                value = fact.expression.evaluate([
                    found.get(read) for read in fact.expression.names])
                found.update({} if value is None else {name: value})
        return found

    @cached_property
    def ordered(self) -> frozenset[str]:
        """Return the names of the facts whose infinite values are numbers."""
        return frozenset(name for name, fact in self.facts.items()
                         if isinstance(fact, (TopicFact, DerivedFact)) and fact.ordered)

    def topics(self, names: Iterable[str]) -> set[str]:
        """Return the topics that these facts need, as written in the file; ignores other names."""
        topics: set[str] = set()
        todo = list(names)
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            fact = self.facts.get(name)
            if name in self.health:
                todo.extend(self.health[name].related)
            if isinstance(fact, DerivedFact):
                todo.extend(fact.expression.names)
            elif isinstance(fact, TopicFact):
                topics.add(fact.topic)
            elif isinstance(fact, TfFact):
                topics.update(TF_TOPICS)
        return topics

    def topic_types(self) -> dict[str, str]:
        """Return the message types of the topics of facts."""
        types = {fact.topic: str(fact.spec.type)
                 for fact in self.facts.values() if isinstance(fact, TopicFact)}
        if any(isinstance(fact, TfFact) for fact in self.facts.values()):
            types.update(dict.fromkeys(TF_TOPICS, TF_TYPE))
        return types
