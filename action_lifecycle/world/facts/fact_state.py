# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

# ruff: noqa: D102 (what overrides is documented at its base)
"""
The current state of each fact: its newest samples and their validity; of topics: topic_state.py.

All sources have the same methods. `now`, `after` and `max_age` are seconds of ROS time: only
samples with a stamp later than `after` count, and a sample is valid until its stamp plus `max_age`
(0: the fact's own `max_age`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
from typing import Any

from .facts import TfFact
from .frames import Frames
from .message_values import to_value
from ..evidence import FactValue, Validity
from ..expressions.expression import Expression
from ..expressions.functions import known, ordered


class Source:
    """The state of one fact."""

    __slots__ = ('distrusted', 'max_age', 'name', 'topic', 'unit')
    parts: Sequence[Source] = ()  #: the facts that it is computed from
    tf = False  #: whether it is read from tf

    def __init__(self, name: str, topic: str, unit: str, max_age: float) -> None:
        self.distrusted = ''  #: why the messages of its topic do not count
        self.name = name
        self.topic = topic
        self.unit = unit
        self.max_age = max_age

    @property
    def unchecked(self) -> Source:
        """Return the fact without checks of its health."""
        return self

    def read(self, now: float, after: float, max_age: float) -> Any:
        """Return the value; None if it is unknown."""
        raise NotImplementedError

    def stamp_at(self, now: float) -> float:
        """Return the stamp of the newest sample; -inf: no sample, inf: it does not age."""
        raise NotImplementedError

    def arrival(self, now: float) -> float:
        """Return when the newest sample came; -inf: no sample."""
        return self.stamp_at(now)

    def changes(self, now: float, max_age: float) -> float:
        """Return the next time at which the value may change without a new sample."""
        stamp = self.stamp_at(now)
        expiry = stamp + (max_age or self.max_age)
        return expiry if expiry > now else math.inf

    def expiry(self, now: float) -> float:
        """Return when the value at `now` becomes stale."""
        return self.stamp_at(now) + self.max_age

    def clear(self) -> None:
        """Drop all samples, after time jumped back."""

    def distrust(self, reason: str) -> None:
        """Drop all samples for a reason; '': the next ones count again."""
        self.clear()
        self.distrusted = reason

    def describe(self, now: float, after: float = -math.inf, max_age: float = 0.0) -> FactValue:
        """Return value, stamp and validity for evidence."""
        stamp = self.stamp_at(now)
        value, late = self.read(now, after, max_age), 0.0
        if value is not None:
            validity = Validity.VALID
        elif math.isfinite(stamp) and now >= stamp + (max_age or self.max_age):
            validity = Validity.STALE
            late = self.arrival(now) - stamp
        else:
            validity = Validity.UNKNOWN
        return FactValue(
            self.name, self.read(now, -math.inf, math.inf) if value is None else value,
            stamp if math.isfinite(stamp) else 0.0, self.topic, validity, self.unit,
            self.distrusted or self.why_not(now) if value is None else '',
            late if late >= (max_age or self.max_age) else 0.0, self.tf)

    def why_not(self, now: float) -> str:
        """Return why the newest sample has no value; '' if it has one or there is no sample."""
        return ''


class TfSource(Source):
    """A pose between two frames."""

    __slots__ = ('_frames', '_part', '_pose', '_source', '_target')
    tf = True

    def __init__(self, fact: TfFact, frames: Frames) -> None:
        super().__init__(fact.name, '', fact.spec.unit, fact.spec.max_age)
        self._frames = frames
        self._target = fact.tf.target.lstrip('/')
        self._source = fact.tf.source.lstrip('/')
        self._part = fact.tf.part
        self._pose: Any = None

    def refresh(self, now: float) -> None:
        """Update the pose after a new transform."""
        pose = self._frames.pose(self._target, self._source)
        self._pose = None if pose is None or finite(pose[0]) is None else pose

    def read(self, now: float, after: float, max_age: float) -> Any:
        if self._pose is None:
            return None
        translation, rotation, stamp, _ = self._pose
        if not (stamp > after and now < stamp + (max_age or self.max_age)):
            return None
        if self._part == 'translation':
            return translation
        return rotation if self._part == 'rotation' else to_value([*translation, *rotation])

    def stamp_at(self, now: float) -> float:
        return -math.inf if self._pose is None else float(self._pose[2])

    def arrival(self, now: float) -> float:
        return -math.inf if self._pose is None else float(self._pose[3])

    def why_not(self, now: float) -> str:
        return self._frames.why_apart(self._target, self._source) if self._pose is None else ''


class ConstantSource(Source):
    """A constant of the facts file, or a parameter of a request."""

    __slots__ = ('_value',)

    def __init__(self, name: str, value: Any, unit: str = '') -> None:
        super().__init__(name, '', unit, math.inf)
        self._value = value

    def read(self, now: float, after: float, max_age: float) -> Any:
        return self._value

    def stamp_at(self, now: float) -> float:
        return math.inf


class DerivedSource(Source):
    """An expression over other facts; its stamp is the oldest of theirs."""

    __slots__ = ('_expression', '_ordered', 'parts')
    parts: Sequence[Source]

    def __init__(self, name: str, unit: str, expression: Expression, parts: Sequence[Source],
                 *, infinite: bool = False) -> None:
        super().__init__(name, '', unit, math.inf)
        self._ordered = infinite
        self._expression = expression
        self.parts = tuple(parts)

    def with_parts(self, parts: Sequence[Source]) -> DerivedSource:
        """Return the same expression over other sources of its facts."""
        return DerivedSource(
            self.name, self.unit, self._expression, parts, infinite=self._ordered)

    def read(self, now: float, after: float, max_age: float) -> Any:
        return finite(self._expression.evaluate(
            [part.read(now, after, max_age) for part in self.parts]), self._ordered)

    def stamp_at(self, now: float) -> float:
        return min((part.stamp_at(now) for part in self.parts), default=math.inf)

    def changes(self, now: float, max_age: float) -> float:
        return min((part.changes(now, max_age) for part in self.parts), default=math.inf)

    def expiry(self, now: float) -> float:
        return min((part.expiry(now) for part in self.parts), default=math.inf)

    def why_not(self, now: float) -> str:
        notes = ((part.name, part.describe(now).note) for part in self.parts)
        found = next((f"'{name}' is unknown: {note}" for name, note in notes if note), '')
        if found:
            return found
        values = [part.read(now, -math.inf, 0.0) for part in self.parts]
        if any(value is None for value in values):
            return ''
        try:
            (ordered if self._ordered else known)(self._expression.evaluate(values))
        except ValueError as error:
            return str(error)
        return self._expression.error

    def describe(self, now: float, after: float = -math.inf, max_age: float = 0.0) -> FactValue:
        described = super().describe(now, after, max_age)
        if described.validity is Validity.VALID:
            return described
        stale = [found.late for part in self.parts
                 for found in [part.describe(now, after, max_age)]
                 if found.validity is Validity.STALE]
        return replace(described, validity=Validity.STALE, late=max(stale)) if stale else described


def finite(value: Any, infinite: bool = False) -> Any:
    """Return the value; None if it is or contains a NaN or, unless `infinite`, an infinity."""
    try:
        return ordered(value) if infinite else known(value)
    except ValueError:
        return None
