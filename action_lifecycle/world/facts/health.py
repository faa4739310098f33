# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

# ruff: noqa: D102 (what overrides is documented at its base)
"""
Checks of the health of one fact: frozen, rate, range.

A check fails at a sample, or at a time after it without another sample. It counts as failed until
`recover` s have passed without a failure, so that a sensor that works now and then is not trusted
in between. Times are seconds of ROS time at which samples arrive; intervals between samples are
those of their stamps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
import math
from typing import Any

import numpy as np

from .arrays import equal
from .equal_samples import equal_probability, likely_run
from .fact_state import Source


class Check:
    """One check of a fact; `settle` is called before and `update` after each sample."""

    def __init__(self, recover: float) -> None:
        self.recover = recover
        self.until = -math.inf  #: end (s) of the time in which the last failure counts
        self.reason = ''  #: of the last failure

    def failing(self, now: float) -> bool:
        """Whether the check fails at `now`, given the samples up to now."""
        raise NotImplementedError

    def text(self, now: float) -> str:
        """Return why it fails."""
        raise NotImplementedError

    def sample(self, now: float, stamp: float, value: Any) -> None:
        """Process a sample that arrives at `now`; `value`: None if it has none."""

    def clear(self) -> None:
        """Drop all samples and failures."""
        self.until = -math.inf

    def settle(self, now: float) -> None:
        """Record a failure."""
        if self.failing(now):
            self.reason = self.text(now)
            self.until = now + self.recover

    def update(self, now: float) -> None:
        """Process that a message of one of the topics of its facts arrived."""
        self.settle(now)

    def failed(self, now: float) -> bool:
        """Whether the check fails, or did so less than `recover` ago."""
        return now < self.until or self.failing(now)

    def note(self, now: float) -> str:
        """Return why the fact is unhealthy; '' if it is healthy."""
        if self.failing(now):
            return self.text(now)
        if now < self.until:
            return f'{self.reason} (ended; counts for {self.recover:g} s)'
        return ''

    def changes(self, now: float) -> float:
        """Return the next time at which the result may change without a sample."""
        return self.until if self.until > now else math.inf


class Frozen(Check):
    """
    Fails when samples stay equal for longer than the noise of the sensor makes likely.

    Of a sensor with independent Gaussian noise of `noise` that rounds to `resolution`, a sample
    equals the one before with at most the probability p of the bin around the mean. A run of m
    equal samples has at most p^(m-1), whatever the sensor measures; it fails below CERTAIN. Of a
    vector, p is the product over its elements. Without noise, three samples are enough; the run
    must also last `least` s. A sample that arrives twice counts once, and a silence longer than
    the fact's `max_age` (no subscription, for example) ends a run: what it hides is not known.
    Infinite elements have no noise, and do not count.
    """

    def __init__(self, recover: float, noise: float, resolution: float, least: float,
                 clip: tuple[float, float] | None, source: Source) -> None:
        super().__init__(recover)
        self._equal = equal_probability(noise, resolution) if noise else 0.0
        self._least = least
        self._clip = clip
        self._max_age = source.max_age
        unit = source.unit and f' {source.unit}'
        self._noise = f'its noise {noise:g}{unit}' if noise else ''
        self.clear()

    def clear(self) -> None:
        super().clear()
        self._value: Any = None
        self._count = 0
        self._first = self._last = -math.inf
        self.likely = 2

    def sample(self, now: float, stamp: float, value: Any) -> None:
        before, self._last = self._last, stamp
        if self._count and stamp < before + self._max_age and equal(value, self._value):
            self._count += stamp != before
            return
        self._value, self._first = value, stamp
        size = _measured(value)
        self._count = 0 if value is None or not size or self._clipped(value) else 1
        self.likely = likely_run(self._equal, size)

    def _clipped(self, value: Any) -> bool:
        if self._clip is None:
            return False
        low, high = self._clip
        return bool(np.any((np.asarray(value) <= low) | (np.asarray(value) >= high)))

    def failing(self, now: float) -> bool:
        return self._count > self.likely and self._last - self._first >= self._least

    def text(self, now: float) -> str:
        end = f'{self._noise} makes at most {self.likely} likely' if self._noise \
            else f'expected a change within {self._least:g} s'
        return f'frozen: {self._count} equal samples in {self._last - self._first:.3g} s, {end}'


class Rate(Check):
    """
    Fails when the number of samples in the last `over` s is out of bounds.

    Samples are counted by their stamps, from that of the newest one on and the time since it
    arrived, so that a constant delay changes nothing. A silence longer than `over` and the fact's
    `max_age` begins a new measurement, as does a new subscription.
    """

    def __init__(self, recover: float, low: float, high: float, over: float, max_age: float
                 ) -> None:
        super().__init__(recover)
        self._low, self._high, self._over = low, high, over
        self._least = math.ceil(low * over - 1e-9)
        self._most = math.floor(high * over + 1e-9) if math.isfinite(high) else None
        self._silence = max(over, max_age)
        self._stamps: deque[float] = deque()
        self.clear()

    def clear(self) -> None:
        super().clear()
        self._stamps.clear()
        self._begun = -math.inf
        self._counts = self._over  #: s from the stamp of a sample for which it counts

    def sample(self, now: float, stamp: float, value: Any) -> None:
        stamps = self._stamps
        if not stamps or stamp > stamps[-1] + self._silence:
            stamps.clear()
            self._begun = stamp
        stamps.append(stamp)
        self._counts = now - stamp + self._over
        while stamps[0] + self._over <= stamp:
            stamps.popleft()

    def settle(self, now: float) -> None:
        # after a silence, the next sample begins a new measurement
        if self._stamps and now <= self._stamps[-1] + self._counts - self._over + self._silence:
            super().settle(now)

    def _count(self, now: float) -> int:
        counts = self._counts
        if now < self._stamps[0] + counts:
            return len(self._stamps)
        gone = bisect_right(self._stamps, now, key=lambda stamp: stamp + counts)
        return len(self._stamps) - gone

    def failing(self, now: float) -> bool:
        if not self._stamps or now < self._begun + self._counts:
            return False
        count = self._count(now)
        return count < self._least or (self._most is not None and count > self._most)

    def text(self, now: float) -> str:
        bounds = f'{self._low:g} to {self._high:g} Hz' if math.isfinite(self._high) \
            else f'at least {self._low:g} Hz'
        rate = self._count(now) / self._over
        return f'rate: {rate:.3g} Hz over {self._over:g} s; expected {bounds}'

    def changes(self, now: float) -> float:
        if not self._stamps:
            return super().changes(now)
        leaving = [self._begun]  # and the samples without which there are too few, or not too many
        if 0 < self._least <= len(self._stamps):
            leaving.append(self._stamps[-self._least])
        if self._most is not None and self._most < len(self._stamps):
            leaving.append(self._stamps[-self._most - 1])
        found = super().changes(now)
        for stamp in leaving:
            if now < stamp + self._counts < found:
                found = stamp + self._counts
        return found


class ValueCheck(Check):
    """A check of the values of facts, not of samples."""

    def compare(self, now: float) -> None:
        """Compare the values at `now`."""
        raise NotImplementedError

    def update(self, now: float) -> None:
        self.settle(now)
        self.compare(now)
        self.settle(now)


class Range(ValueCheck):
    """
    Fails when the value of a fact, or an element of it, is out of its bounds.

    The value over a window also changes between samples, when one leaves the window.
    """

    def __init__(self, recover: float, source: Source, bounds: Any) -> None:
        super().__init__(recover)
        self._source = source
        self._bounds = np.asarray(bounds, dtype=float).reshape(-1, 2)
        self._single = tuple(self._bounds[0].tolist()) if len(self._bounds) == 1 else None
        self._unit = source.unit and f' {source.unit}'
        self.clear()

    def clear(self) -> None:
        super().clear()
        self._outside = ''
        self._same = math.inf, math.inf  #: from when until when the value is the one compared

    def compare(self, now: float) -> None:
        self._same = math.inf, math.inf
        self._outside = self.text(now)
        self._same = now, self._source.changes(now, 0.0)

    def _found(self, value: Any) -> str:
        """Return what is out of bounds."""
        if value is None:
            return ''
        if isinstance(value, (float, int)) and self._single is not None:
            low, high = self._single
            return '' if low <= value <= high else self._text('', value, low, high)
        numbers = np.asarray(value, dtype=float).ravel()
        bounds = self._bounds
        if len(bounds) not in (1, numbers.size):
            return f'range: {numbers.size} numbers; expected {len(bounds)}'
        wrong = ~((numbers >= bounds[:, 0]) & (numbers <= bounds[:, 1]))
        if not wrong.any():
            return ''
        index = int(wrong.argmax())
        return self._text(
            f'element {index} is ' if numbers.size > 1 else '', numbers[index],
            *bounds[index if len(bounds) > 1 else 0])

    def _text(self, place: str, value: float, low: float, high: float) -> str:
        return (f'range: {place}{value:.4g}{self._unit}; '
                f'expected {low:g} to {high:g}{self._unit}')

    def failing(self, now: float) -> bool:
        return self.text(now) != ''

    def text(self, now: float) -> str:
        start, end = self._same
        # What is asked between samples is not kept, so that no result depends on who asks.
        return self._outside if start <= now < end else \
            self._found(self._source.read(now, -math.inf, 0.0))


def _measured(value: Any) -> int:
    """Return the number of elements with noise: an infinite one says that there is no return."""
    if isinstance(value, float):
        return int(math.isfinite(value))
    if isinstance(value, np.ndarray):
        return int(np.isfinite(value).sum()) if value.dtype.kind == 'f' else value.size
    return 1
