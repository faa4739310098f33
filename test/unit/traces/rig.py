# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A recorder of traces, and an attempt that it records."""

from __future__ import annotations

from action_lifecycle.traces import Confirmed, TraceKey, TraceRecorder
from action_lifecycle.traces.store import TraceStore
from action_lifecycle.world import Condition, WorldModel

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
