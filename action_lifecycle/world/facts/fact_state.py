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

from collections.abc import Iterable, Sequence
from dataclasses import replace
import math
from typing import Any

from .facts import TfFact
from .frames import Frames
from .message_values import to_value
from .rivals import Publishers, Rivals
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
    def contested(self) -> bool:
        """Return whether its topic has more publishers than it should."""
        return False

    @property
    def rivals(self) -> Iterable[Rivals]:
        """Return what is known of these publishers, for each frame if it is read from tf."""
        return ()

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
        value, late, note = self.read(now, after, max_age), 0.0, ''
        if value is not None:
            note = next((each.reason for each in self.rivals if each.alternate(now)), '')
            validity = Validity.UNKNOWN if note else Validity.VALID
        elif math.isfinite(stamp) and now >= stamp + (max_age or self.max_age):
            validity = Validity.STALE
            note = self.distrusted or self.why_stale(now)
            late = self.arrival(now) - stamp
        else:
            validity = Validity.UNKNOWN
            note = self.distrusted or self.why_not(now)
        return FactValue(
            self.name, self.read(now, -math.inf, math.inf) if value is None else value,
            stamp if math.isfinite(stamp) else 0.0, self.topic, validity, self.unit, note,
            late if late >= (max_age or self.max_age) / 2 else 0.0, self.tf)

    def why_not(self, now: float) -> str:
        """Return why the newest sample has no value; '' if it has one or there is no sample."""
        return ''

    def why_stale(self, now: float) -> str:
        """Return why the newest sample is too old, as far as the samples show it."""
        return ''


class TfSource(Source):
    """A pose between two frames."""

    __slots__ = ('_declared', '_frames', '_part', '_pose', '_publishers', '_rivals', '_source',
                 '_target')
    tf = True

    def __init__(self, fact: TfFact, frames: Frames) -> None:
        super().__init__(fact.name, '', fact.spec.unit, fact.spec.max_age)
        self._frames = frames
        self._target = fact.tf.target.lstrip('/')
        self._source = fact.tf.source.lstrip('/')
        self._part = fact.tf.part
        self._declared = fact.spec.publishers
        self._pose: Any = None
        self._publishers: dict[bool, Publishers] = {}  #: of /tf and, key True, /tf_static
        self._rivals: dict[tuple[bool, str], Rivals] = {}  #: by frame, too

    @property
    def contested(self) -> bool:
        return bool(self._publishers)

    @property
    def rivals(self) -> Iterable[Rivals]:
        return self._rivals.values()

    def set_publishers(self, static: bool, publishers: Publishers, now: float) -> None:
        """Take note of the publishers of /tf or /tf_static; see WorldModel.set_publishers."""
        self._publishers.pop(static, None)
        self._rivals = {key: rivals for key, rivals in self._rivals.items() if key[0] != static}
        if publishers.rivals(self._declared, self.max_age, now) is not None:
            self._publishers[static] = publishers
            steps = self._frames.between(self._target, self._source)
            self.compare(static, {frame for frame, step in steps.items()
                                  if (step.stamp == math.inf) is static}, now)

    def compare(self, static: bool, moved: set[str], now: float) -> None:
        """Compare a message, whose frames are `moved`, with those of other publishers."""
        publishers = self._publishers.get(static)
        if publishers is None:
            return
        for frame, step in self._frames.between(self._target, self._source).items():
            rivals = self._rivals.get((static, frame))
            if frame in moved:
                if rivals is None:
                    rivals = publishers.rivals(
                        self._declared, math.inf if static else self.max_age, now, frame)
                    assert rivals is not None
                    self._rivals[static, frame] = rivals
                rivals.sample((step.parent, *step.translation, *step.rotation), now)
            elif rivals is not None:
                rivals.other(None, now)

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
        if self._pose is not None:
            return ''
        rival = next((each.reason for each in self.rivals if each.alternate(now)), '')
        return rival or self._frames.why_apart(self._target, self._source)

    def why_stale(self, now: float) -> str:
        return self._frames.oldest(self._target, self._source)


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
        missing = [found for part in self.parts for found in [part.describe(now, after, max_age)]
                   if found.validity is not Validity.VALID]
        stale = [found for found in missing if found.validity is Validity.STALE]
        if stale:
            return replace(described, validity=Validity.STALE, of=stale[0])
        return replace(described, of=missing[0]) if missing and not described.note else described


def finite(value: Any, infinite: bool = False) -> Any:
    """Return the value; None if it is or contains a NaN or, unless `infinite`, an infinity."""
    try:
        return ordered(value) if infinite else known(value)
    except ValueError:
        return None
