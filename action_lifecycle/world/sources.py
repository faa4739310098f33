# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

# ruff: noqa: D102 (what overrides is documented at its base)
"""
What is known of each fact now: the newest samples, and whether they still count.

Every source answers the same questions. `now`, `after` and `max_age` are seconds of ROS time: only
samples stamped later than `after` count, and a sample is valid until its stamp plus `max_age` (or
the fact's own, when `max_age` is 0).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import math
from typing import Any

from .arrays import Absent
from .evidence import FactValue, Validity
from .expressions import Expression
from .facts import ConstantFact, TfFact, TopicFact
from .frames import Frames
from .functions import known
from .message_values import to_value
from .reducers import reduce_elements, reduce_window

AGE_STEP = 0.05  #: s; an age grows by itself, so whoever waits for it looks again after this time


class Source:
    """The state of one fact."""

    __slots__ = ('max_age', 'name', 'topic', 'unit')

    def __init__(self, name: str, topic: str, unit: str, max_age: float) -> None:
        self.name = name
        self.topic = topic
        self.unit = unit
        self.max_age = max_age

    def read(self, now: float, after: float, max_age: float) -> Any:
        """Return the value, None when it is not known."""
        raise NotImplementedError

    def stamp_at(self, now: float) -> float:
        """Return the stamp of the newest sample; -inf: none, inf: does not age."""
        raise NotImplementedError

    def changes(self, now: float, max_age: float) -> float:
        """Return the time at which, without a further sample, its value may change next."""
        stamp = self.stamp_at(now)
        expiry = stamp + (max_age or self.max_age)
        return expiry if expiry > now else math.inf

    def last(self, now: float) -> Any:
        """Return the value as it was last seen, however old."""
        return self.read(now, -math.inf, math.inf)

    def clear(self) -> None:
        """Forget all samples: time jumped back."""

    def describe(self, now: float, after: float = -math.inf, max_age: float = 0.0) -> FactValue:
        """Return value, stamp and validity for evidence."""
        stamp = self.stamp_at(now)
        value = self.read(now, after, max_age)
        if value is not None:
            validity = Validity.VALID
        elif math.isfinite(stamp) and now >= stamp + (max_age or self.max_age):
            validity = Validity.STALE
        else:
            validity = Validity.UNKNOWN
        return FactValue(
            self.name, self.last(now) if value is None else value,
            stamp if math.isfinite(stamp) else 0.0, self.topic, validity, self.unit,
            self.why_not() if value is None else '')

    def why_not(self) -> str:
        """Return why the newest sample has no value; empty: it has one, or there is no sample."""
        return ''


class TopicSource(Source):
    """The newest sample of a topic."""

    __slots__ = ('_elements', '_read', '_stamp_of', 'problem', 'stamp', 'value')

    def __init__(self, fact: TopicFact) -> None:
        super().__init__(fact.name, fact.topic, fact.spec.unit, fact.spec.max_age)
        self._read = fact.read
        self._stamp_of = fact.stamp_of
        self._elements = fact.elements
        self.clear()

    def clear(self) -> None:
        self.value: Any = None
        self.stamp = -math.inf
        self.problem = ''  #: why the newest sample has no value

    def take(self, message: Any, latest: float) -> None:
        """
        Take a message that was measured at `latest` at the latest.

        What does not hold the fact, or is older than the last, is no sample.
        """
        try:
            stamp = self._stamp_of(message)
            if stamp is None or stamp > latest:  # nothing is measured after it was sent
                stamp = latest
            if stamp < self.stamp:
                return
            try:
                value = self._read(message)
                if self._elements != 'latest':
                    value = known(reduce_elements(self._elements, value))
                    if value is None:
                        self.problem = 'no element is a number'
                elif value.__class__ is not int:
                    value = known(value)
            except (ValueError, TypeError) as error:  # not finite, or it can't be reduced
                value = None
                self.problem = str(error)
        except Absent:
            return
        self.stamp = stamp
        self.value = value
        self.keep()

    def keep(self) -> None:
        """Keep what the window needs."""

    def read(self, now: float, after: float, max_age: float) -> Any:
        stamp = self.stamp
        if stamp > after and now < stamp + (max_age or self.max_age):
            return self.value
        return None

    def stamp_at(self, now: float) -> float:
        return self.stamp

    def why_not(self) -> str:
        return self.problem if self.value is None else ''


class AgeSource(TopicSource):
    """For how long nothing has come."""

    __slots__ = ()

    def read(self, now: float, after: float, max_age: float) -> Any:
        return max(0.0, now - self.stamp) if self.stamp > after else None

    def changes(self, now: float, max_age: float) -> float:
        return now + AGE_STEP


class WindowSource(TopicSource):
    """The samples of a time window, reduced to one value."""

    __slots__ = ('_over_time', '_samples', '_timing', '_window')

    def __init__(self, fact: TopicFact) -> None:
        self._samples: deque[tuple[float, Any]] = deque()
        self._window = fact.window
        self._over_time = fact.over_time
        self._timing = fact.timing
        super().__init__(fact)

    def clear(self) -> None:
        super().clear()
        self._samples.clear()

    def keep(self) -> None:
        samples = self._samples
        if self.value is not None or self._timing:
            samples.append((self.stamp, self.value))
        while samples and self.stamp >= samples[0][0] + self._window:
            samples.popleft()

    def read(self, now: float, after: float, max_age: float) -> Any:
        stamp = self.stamp
        if stamp <= after or not (self._timing or now < stamp + (max_age or self.max_age)):
            return None
        window = self._window
        values = [value for stamp, value in self._samples
                  if now < stamp + window and stamp > after]
        if self._over_time == 'rate':
            return len(values) / window
        return _finite(reduce_window(self._over_time, values))

    def changes(self, now: float, max_age: float) -> float:
        leaves = (stamp + self._window for stamp, _ in self._samples)
        return min(super().changes(now, max_age),
                   next((time for time in leaves if time > now), math.inf))


class TfSource(Source):
    """A pose between two frames."""

    __slots__ = ('_frames', '_part', '_pose', '_source', '_target')

    def __init__(self, fact: TfFact, frames: Frames) -> None:
        super().__init__(fact.name, '', fact.spec.unit, fact.spec.max_age)
        self._frames = frames
        self._target = fact.tf.target.lstrip('/')
        self._source = fact.tf.source.lstrip('/')
        self._part = fact.tf.part
        self._pose: Any = None

    def refresh(self) -> None:
        """Look the pose up anew: a transform has come."""
        pose = self._frames.pose(self._target, self._source)
        self._pose = None if pose is None or _finite(pose[0]) is None else pose

    def clear(self) -> None:
        self._pose = None

    def read(self, now: float, after: float, max_age: float) -> Any:
        if self._pose is None:
            return None
        translation, rotation, stamp = self._pose
        if not (stamp > after and now < stamp + (max_age or self.max_age)):
            return None
        if self._part == 'translation':
            return translation
        return rotation if self._part == 'rotation' else to_value([*translation, *rotation])

    def stamp_at(self, now: float) -> float:
        return -math.inf if self._pose is None else float(self._pose[2])


class ConstantSource(Source):
    """What does not change: a constant of the facts file, or a parameter of a request."""

    __slots__ = ('_value',)

    def __init__(self, name: str, value: Any, unit: str = '') -> None:
        super().__init__(name, '', unit, math.inf)
        self._value = value

    @classmethod
    def of(cls, fact: ConstantFact) -> ConstantSource:
        """Return the source of a constant fact."""
        return cls(fact.name, fact.value, fact.spec.unit)

    def read(self, now: float, after: float, max_age: float) -> Any:
        return self._value

    def stamp_at(self, now: float) -> float:
        return math.inf


class DerivedSource(Source):
    """An expression over other facts; as old as the oldest of them."""

    __slots__ = ('_expression', 'parts')

    def __init__(self, name: str, unit: str, expression: Expression, parts: Sequence[Source]
                 ) -> None:
        super().__init__(name, '', unit, math.inf)
        self._expression = expression
        self.parts = tuple(parts)

    def read(self, now: float, after: float, max_age: float) -> Any:
        return _finite(self._expression.evaluate(
            [part.read(now, after, max_age) for part in self.parts]))

    def stamp_at(self, now: float) -> float:
        return min((part.stamp_at(now) for part in self.parts), default=math.inf)

    def changes(self, now: float, max_age: float) -> float:
        return min((part.changes(now, max_age) for part in self.parts), default=math.inf)

    def describe(self, now: float, after: float = -math.inf, max_age: float = 0.0) -> FactValue:
        described = super().describe(now, after, max_age)
        if described.validity == Validity.UNKNOWN and any(
                part.describe(now, after, max_age).validity == Validity.STALE
                for part in self.parts):
            return FactValue(described.name, described.value, described.stamp, described.topic,
                             Validity.STALE, described.unit)
        return described


def _finite(value: Any) -> Any:
    """Return the value; None if it is, or contains, a NaN or an infinity."""
    try:
        return known(value)
    except ValueError:
        return None
