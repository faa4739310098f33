# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Records the facts of an attempt from its start until its verdict.

It never raises because of a file: what it records goes to `put` as functions of a `TraceStore`,
which a `TraceWriter` calls in its own thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import dataclasses
import functools
import math
from typing import Any

import numpy as np

from .contents import Confirmed, SAMPLES, TraceKey
from .curve import GrowingCurve, Piece, Point
from .store import CHANGE, CONFIRMED, MARK, TraceStore
from ..documents.errors import DocumentError
from ..lifecycle.ports import Condition
from ..world.facts.fact_state import Source
from ..world.facts.topic_state import WindowSource
from ..world.model import WorldModel
from ..world.watches import Observation, Watch

PATIENCE = 10.0  #: s from the end of a motion until a trace without a confirmation ends
LARGEST = 4096  #: numbers or characters of a value; facts with larger ones are not recorded
CHANGES = 1000  #: maximum number of recorded changes of verdicts of one attempt
Put = Callable[[Callable[[TraceStore], None]], None]


class TraceRecorder:
    """The traces that are being recorded; `now` in all methods: ROS time in s."""

    def __init__(self, model: WorldModel, put: Put) -> None:
        self._model = model
        self._put = put
        self._open: dict[TraceKey, _Recording] = {}

    @property
    def recording(self) -> bool:
        """Whether a trace is being recorded; then `poll` must be called every half second."""
        return bool(self._open)

    def begin(
        self, key: TraceKey, conditions: Iterable[Condition], parameters: Mapping[str, Any],
        now: float,
    ) -> None:
        """
        Record the facts of these conditions, too, in the trace of this attempt.

        Traces of earlier attempts of the action end. A request without ids is not recorded.
        """
        if not (key.flow_id and key.action_id):
            return
        for other in list(self._open):
            if other[:2] == key[:2] and other != key:
                self.mark(other, now, 'next_attempt', str(key.attempt))
                self.end(other, now)
        recording = self._open.get(key)
        if recording is None:
            recording = self._open[key] = _Recording(self._model, key, self._put)
            self._put(lambda store: store.begin(key, now))
        recording.observe(conditions, parameters, now)

    def mark(self, key: TraceKey, now: float, name: str, detail: str = '') -> None:
        """Note that something happened."""
        recording = self._open.get(key)
        if recording is not None:
            recording.mark(now, name, detail)

    def judged(self, key: TraceKey, watch: Watch) -> None:
        """Note the verdicts of a watch that have changed."""
        recording = self._open.get(key)
        if recording is not None:
            recording.judged(watch)

    def waiting(self, key: TraceKey, now: float, name: str, detail: str = '') -> None:
        """Note the end of a motion or question; if nothing follows, the trace ends soon."""
        recording = self._open.get(key)
        if recording is not None:
            recording.mark(now, name, detail)
            recording.limit = now + PATIENCE

    def confirming(self, key: TraceKey, now: float) -> None:
        """Note that a confirmation has begun."""
        recording = self._open.get(key)
        if recording is not None:
            recording.mark(now, 'confirm_started')
            recording.limit = math.inf

    def confirmed(self, key: TraceKey, confirmation: Confirmed) -> None:
        """Note the verdict of a confirmation, with which the trace ends."""
        recording = self._open.get(key)
        if recording is not None:
            recording.confirmed(confirmation)
            self.end(key, confirmation.ended)

    def end(self, key: TraceKey, now: float) -> None:
        """End a trace."""
        recording = self._open.pop(key, None)
        if recording is not None:
            recording.close()
            recording.flush()
            self._put(lambda store: store.end(key, now))

    def poll(self, now: float) -> None:
        """Store what was recorded since the last call, and end traces that nobody continues."""
        for key, recording in list(self._open.items()):
            if now >= recording.limit or recording.jumped:
                self.end(key, now)
            else:
                recording.flush()

    def close(self, now: float) -> None:
        """End all traces, as the bridge is ending."""
        for key in list(self._open):
            self.mark(key, now, 'cut', 'the bridge ended')
            self.end(key, now)


class _Recording:
    """The trace of one attempt."""

    def __init__(self, model: WorldModel, key: TraceKey, put: Put) -> None:
        self.limit = math.inf  #: ROS time (s) at which the trace ends
        self.jumped = False  #: whether time has jumped back
        self._model = model
        self._key = key
        self._put = put
        self._last = -math.inf
        self._observations: list[Observation] = []
        self._observed: set[tuple[str, ...]] = set()
        self._curves: dict[str, tuple[Source, GrowingCurve]] = {}
        self._too_large: set[str] = set()  #: curves that are left out
        self._verdicts: dict[tuple[str, str], str] = {}
        self._changes = 0

    def observe(
        self, conditions: Iterable[Condition], parameters: Mapping[str, Any], now: float
    ) -> None:
        """Record the facts of these conditions; those that can't be compiled are left out."""
        for condition in conditions:
            key = condition.name, condition.expression
            if key in self._observed:
                continue
            self._observed.add(key)
            timeless = dataclasses.replace(condition, hold=0.0, within=0.0)
            try:
                observation = self._model.observe([timeless], now, self._seen, names=parameters)
            except DocumentError:  # who judges it reports it
                continue
            self._observations.append(observation)
            self._seen(observation)  # also the values from before the start

    def _seen(self, watch: Watch) -> None:
        now = self._model.now
        if now < self._last:
            if not self.jumped:
                self.jumped = True
                self.mark(self._last, 'cut', 'time jumped back')
            return
        self._last = now
        for condition in watch.conditions:
            for name, source in condition.sources().items():
                self._take(name, source, now)

    def _take(self, name: str, source: Source, now: float) -> None:
        stamp = source.stamp_at(now)
        if not math.isfinite(stamp):  # no sample yet, or a constant
            return
        self._append(name, source, Point(now, stamp, source.read(now, -math.inf, 0.0)))
        unchecked = source.unchecked
        if isinstance(unchecked, WindowSource):
            self._append(name + SAMPLES, source, Point(now, stamp, unchecked.value))

    def _append(self, name: str, source: Source, point: Point) -> None:
        size = _size(point.value)
        if size > LARGEST or name in self._too_large:
            if name not in self._too_large:
                self._too_large.add(name)
                self.mark(point.time, 'not_recorded',
                          f"fact '{source.name}': {size} numbers or characters, at most {LARGEST}")
            return
        if name not in self._curves:
            self._curves[name] = source, GrowingCurve()
        curve = self._curves[name][1]
        if curve.points:
            last = curve.points[-1]
            if point.stamp == last.stamp and _same(point.value, last.value):
                return
        curve.append(point)

    def judged(self, watch: Watch) -> None:
        """Note changed verdicts, and keep the points at which they changed."""
        for judged in watch.conditions:
            condition, verdict = judged.condition, judged.verdict.name.lower()
            key = condition.name, condition.expression
            if self._verdicts.get(key) == verdict:
                continue
            self._verdicts[key] = verdict
            for name in judged.sources():
                for curve in (name, name + SAMPLES):
                    if curve in self._curves:
                        self._curves[curve][1].pin()
            self._changes += 1
            if self._changes <= CHANGES:
                self._event(judged.since if math.isfinite(judged.since) else self._model.now,
                            CHANGE, condition.name,
                            {'expression': condition.expression, 'verdict': verdict})

    def mark(self, now: float, name: str, detail: str = '') -> None:
        """Note that something happened."""
        self._event(now, MARK, name, detail)

    def confirmed(self, confirmation: Confirmed) -> None:
        """Note the verdict of a confirmation."""
        data = dataclasses.asdict(dataclasses.replace(
            confirmation, parameters=dict(confirmation.parameters)))
        self._event(data.pop('ended'), CONFIRMED, data.pop('verdict'), data)

    def flush(self) -> None:
        """Store the new points."""
        for name, (source, curve) in self._curves.items():
            for piece in curve.take_new():
                self._put(functools.partial(_store_points, self._key, name, source, piece))

    def close(self) -> None:
        """Stop to observe."""
        for observation in self._observations:
            observation.cancel()
        if self._changes > CHANGES:
            self.mark(self._last, 'changes_left_out', str(self._changes - CHANGES))

    def _event(self, time: float, kind: str, name: str, data: Any) -> None:
        self._put(lambda store: store.event(self._key, time, kind, name, data))


def _store_points(
    key: TraceKey, name: str, source: Source, piece: Piece, store: TraceStore
) -> None:
    store.points(key, name, source.unit, source.topic, piece)


def _size(value: Any) -> int:
    """Return the number of numbers or characters of a value."""
    if isinstance(value, np.ndarray):
        return value.size * (1 if value.dtype.kind in 'biuf' else value.itemsize)
    return len(value) if isinstance(value, str) else 1


def _same(value: Any, other: Any) -> bool:
    if value is None or other is None:
        return value is other
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(value, other))
    return bool(value is other or (not hasattr(value, '__len__') and value == other))
