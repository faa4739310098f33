# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A recorder of traces, and an attempt that it records."""

from __future__ import annotations

from action_lifecycle.traces import Confirmed, TraceKey, TraceRecorder
from action_lifecycle.traces.curve import Piece, Point
from action_lifecycle.traces.store import TraceStore
from action_lifecycle.world import Condition, WorldModel
import numpy as np

from ..world.gripper import FACTS, gap

KEY = TraceKey('flow', 'grasp', 1)
HELD = Condition('confirm', 'gap > 0.01 and gap_mm < 50', 0.1, 1.0)


class Rig:
    """A recorder whose changes are written at once."""

    def __init__(self, path, limit=0):
        self.model = WorldModel(FACTS)
        self.store = TraceStore(path, limit)
        self.recorder = TraceRecorder(self.model, self._put)

    def _put(self, change):
        with self.store.transaction():
            change(self.store)

    def attempt(self, key=KEY, start=10.0, value=0.02, samples=40, verdict='confirmed'):
        recorder, model = self.recorder, self.model
        recorder.begin(key, [HELD], {'force': 3.0}, start)
        recorder.mark(key, start, 'motion_started', 'gripper')
        watch = model.confirm([HELD], start, lambda result: None, after=start - 1.0,
                              on_update=lambda watch: recorder.judged(key, watch))
        for index in range(samples):
            now = start + 0.01 * index
            gap(model, value if index > samples // 2 else 0.0, now - 0.002, now)
        watch.cancel()
        recorder.confirmed(key, Confirmed(
            start, start - 1.0, now, [HELD], {'force': 3.0}, verdict,
            [entry.as_dict() for entry in watch.evidence(now)]))


def long_trace(path, key, width=1, points=1024, facts=1):
    """Store a trace whose curves have points of `width` numbers."""
    store = TraceStore(path)
    try:
        with store.transaction():
            store.begin(key, 5.0)
            for fact in range(facts):
                store.points(key, f'fact_{fact}', 'm', 'topic', Piece(0, [
                    Point(5.0 + index, 4.9 + index, np.arange(width) / 7 + index + fact)
                    for index in range(points)]))
            store.event(key, 5.0, 'mark', 'motion_started', 'gripper')
            store.end(key, 5.0 + points)
    finally:
        store.close()


def assert_same(one, other):
    """Assert that two traces are equal, value for value."""
    for name in ('key', 'started', 'ended', 'changes', 'marks', 'confirmations'):
        assert getattr(one, name) == getattr(other, name), name
    for name in ('curves', 'samples'):
        curves, others = getattr(one, name), getattr(other, name)
        assert list(curves) == list(others)
        for fact, curve in curves.items():
            found = others[fact]
            assert (curve.fact, curve.unit, curve.topic, curve.kind) == (
                found.fact, found.unit, found.topic, found.kind)
            for part in ('times', 'stamps', 'values'):
                np.testing.assert_array_equal(getattr(curve, part), getattr(found, part))
