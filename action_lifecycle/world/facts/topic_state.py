# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The current state of a fact from a topic: its newest sample, its age, or a window of samples."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
import math
from typing import Any

from .arrays import Absent
from .fact_state import finite, Source
from .facts import TopicFact
from .rivals import Publishers, Rivals
from ..evidence import Loss
from ..expressions.functions import known, NoValue, ordered
from ..expressions.reducers import reduce_elements, reduce_window, REDUCERS

AGE_STEP = 0.05  #: interval (s) at which conditions on a growing age are evaluated again


class TopicSource(Source):
    """The newest sample of a topic."""

    __slots__ = ('_declared', '_elements', '_frame', '_frame_of', '_known', '_read', '_stamp_of',
                 'arrived', 'passed_over', 'problem', 'rival', 'stamp', 'value')

    def __init__(self, fact: TopicFact) -> None:
        super().__init__(fact.name, fact.topic, fact.spec.unit, fact.spec.max_age)
        self._read = fact.read
        self._stamp_of = fact.stamp_of
        self._elements = fact.elements
        self._known = ordered if fact.ordered else known
        self._declared = fact.spec.publishers
        self._frame = fact.spec.frame.lstrip('/')
        self._frame_of = fact.frame_of
        self.rival: Rivals | None = None
        self.clear()

    @property
    def contested(self) -> bool:
        return self.rival is not None

    @property
    def rivals(self) -> Iterable[Rivals]:
        return () if self.rival is None else (self.rival,)

    def clear(self) -> None:
        self.value: Any = None
        self.stamp = -math.inf
        self.arrived = -math.inf  #: when the first message of this stamp came
        self.passed_over = -math.inf  #: when the last message came whose stamp is not newer
        self.problem = ''  #: why the newest sample has no value

    def take(self, message: Any, latest: float) -> bool:
        """
        Process a message that was measured at or before `latest`; returns whether it is a sample.

        A message without the fact, or older than the last sample, is ignored.
        """
        if self.distrusted:
            return False
        try:
            stamp = self._stamp_of(message)
            if stamp is None or stamp > latest:  # a measurement can't be later than its message
                stamp = latest
            older = stamp < self.stamp
            if older and self.rival is None:
                self.passed_over = latest
                return False
            try:
                value = self._read(message)
                if self._elements != 'latest':
                    value = self._known(reduce_elements(self._elements, value))
                    if value is None:
                        self.problem = 'no element is a number (NaN)'
                elif value.__class__ is not int:
                    value = self._known(value)
                if self._frame_of is not None:
                    self._compare_frame(message)
            except Absent:
                raise
            except Exception as error:  # not finite, or not reducible
                value = None
                self.problem = str(error)
        except Absent:
            if self.rival is not None:
                self.rival.other(message, latest)
            return False
        if older:  # of another publisher, whose samples come later: it may contradict
            assert self.rival is not None
            self.rival.late(value, latest)
            return False
        if stamp > self.stamp:
            self.arrived = latest
        else:
            self.passed_over = latest
        self.stamp = stamp
        self.value = value
        if self.rival is not None:
            self.rival.sample(value, latest)
        self.keep()
        return True

    def _compare_frame(self, message: Any) -> None:
        """Raise NoValue if the frame of a message is not the declared one."""
        assert self._frame_of is not None
        found = self._frame_of(message)
        if found is not None and found != self._frame:
            raise NoValue(
                (f"it is in the frame '{found}'" if found else 'its header names no frame')
                + f", the facts file says '{self._frame}', and nothing is transformed: read a tf "
                'fact, or a topic in that frame')

    def keep(self) -> None:
        """Keep the sample for a window."""

    def set_publishers(self, publishers: Publishers, now: float) -> None:
        """Take note of the publishers; see WorldModel.set_publishers."""
        before = 1 if self.rival is None else len(self.rival.nodes)
        self.rival = publishers.rivals(self._declared, self.max_age, now)
        if len(publishers.nodes) < before:
            self.clear()  # the newest sample may be of the one that left
        elif self.rival is not None and self.stamp != -math.inf:
            self.rival.sample(self.value, now)

    def read(self, now: float, after: float, max_age: float) -> Any:
        stamp = self.stamp
        if stamp > after and now < stamp + (max_age or self.max_age):
            return self.value
        return None

    def stamp_at(self, now: float) -> float:
        return self.stamp

    def arrival(self, now: float) -> float:
        return self.arrived

    def why_not(self, now: float) -> str:
        return self.problem if self.value is None else ''

    def why_stale(self, now: float) -> str:
        if self.passed_over > self.arrived and now < self.passed_over + max(1.0, self.max_age):
            return 'messages arrive, but none has a newer stamp: a publisher repeats its ' \
                'stamps, or its clock was set back'
        return ''


class AgeSource(TopicSource):
    """The time since the last sample."""

    __slots__ = ()

    def read(self, now: float, after: float, max_age: float) -> Any:
        return max(0.0, now - self.stamp) if self.stamp > after else None

    def changes(self, now: float, max_age: float) -> float:
        return now + AGE_STEP


class WindowSource(TopicSource):
    """
    The samples of a time window, reduced to one value.

    The newest sample also counts after it has left the window, until it is older than `max_age`.
    While a sample of the window was lost, a reducer that needs every sample has no value.
    """

    __slots__ = ('_loss', '_over_time', '_reduced', '_samples', '_timing', '_whole', '_window')

    def __init__(self, fact: TopicFact) -> None:
        self._samples: deque[tuple[float, Any]] = deque()
        self._window = fact.spec.window
        self._over_time = fact.over_time
        reducer = REDUCERS.find(fact.over_time)
        self._timing = reducer.timing
        self._whole = reducer.whole
        super().__init__(fact)

    def clear(self) -> None:
        super().clear()
        self._samples.clear()
        self._loss: Loss | None = None  #: the last one
        self._reduced: tuple[float, float, Any] | None = None  #: now, after and their value

    def keep(self) -> None:
        self._reduced = None
        samples = self._samples
        if self.value is not None or self._timing:
            samples.append((self.stamp, self.value))
        while samples and self.stamp >= samples[0][0] + self._window:
            samples.popleft()

    def lose(self, loss: Loss) -> None:
        """Process that messages of the topic were lost."""
        if self._whole:
            self._loss = loss
            self._reduced = None

    def _incomplete(self, now: float) -> bool:
        return self._loss is not None and now < self._loss.now + self._window

    def why_not(self, now: float) -> str:
        if self._loss is not None and self._incomplete(now):
            return f'{self._loss.text(now)}, less than its window of {self._window:g} s'
        return super().why_not(now)

    def read(self, now: float, after: float, max_age: float) -> Any:
        stamp = self.stamp
        if self._loss is not None and self._incomplete(now):
            return None
        if stamp <= after or not (self._timing or now < stamp + (max_age or self.max_age)):
            return None
        if self._samples and after < self._samples[0][0]:
            after = -math.inf  # all samples count
        reduced = self._reduced
        if reduced is not None and reduced[0] == now and reduced[1] == after:
            return reduced[2]
        value = self._reduce(now, after)
        self._reduced = now, after, value
        return value

    def _reduce(self, now: float, after: float) -> Any:
        window, samples = self._window, self._samples
        if samples and now < samples[0][0] + window and samples[0][0] > after:
            values = [value for _, value in samples]
        else:
            values = [value for stamp, value in samples
                      if now < stamp + window and stamp > after]
        if self._over_time == 'rate':
            return len(values) / window
        if not (values or self._timing) and samples and samples[-1][0] == self.stamp:
            values = [samples[-1][1]]
        return finite(reduce_window(self._over_time, values), self._known is ordered)

    def begins(self, now: float) -> float:
        """Return when the newest sample leaves the window if it is the only one; else infinity."""
        samples, window = self._samples, self._window
        if not samples or (len(samples) > 1 and now < samples[-2][0] + window):
            return math.inf
        leaves = samples[-1][0] + window
        return leaves if leaves > now else math.inf

    def changes(self, now: float, max_age: float) -> float:
        leaves = (stamp + self._window for stamp, _ in self._samples)
        found = min(super().changes(now, max_age),
                    next((time for time in leaves if time > now), math.inf))
        return min(found, self._loss.now + self._window) \
            if self._loss is not None and self._incomplete(now) else found
