# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robot of the sample data: the cell, and the world model with its recorder of traces."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
from typing import Any

from _truth_cell import CellWorld, STEP
from action_lifecycle.lifecycle.ports import (
    Confirmation,
    ConfirmRequest,
    MotionRequest,
    WorkResult,
)
from action_lifecycle.sim.cell import Cell
from action_lifecycle.testing.stepped_clock import SteppedClock
from action_lifecycle.traces import Confirmed, TraceKey, TraceRecorder
from action_lifecycle.traces.store import TraceStore
from action_lifecycle.world import FactSet, WatchResult
from action_lifecycle.world.unmet_conditions import confirmation, Topics
from action_lifecycle.world.watches import Watch

from .bag import resolved, RunBag
from .plans import Plan, Sensors

POLL = 0.5  #: s between two writes of traces


class SampleWorld(CellWorld):
    """A bridge without ROS: it records the traces of all runs and the bag of the current one."""

    def __init__(self, facts: FactSet, clock: SteppedClock, store: TraceStore) -> None:
        super().__init__(None, facts, clock)  # type: ignore[arg-type]
        self._store = store
        self._changes: list[Callable[[TraceStore], None]] = []
        self._traces = TraceRecorder(self.model, self._changes.append)
        self._topics = Topics({topic: resolved(topic) for topic in self.model.facts.topics(
            self.model.facts)}, lambda topic: '')
        self._polled = 0.0

    def begin(self, plan: Plan, bag: RunBag) -> None:
        """Begin a run, with a new cell."""
        self.cell = Cell(plan.config)
        self.bag = bag
        self._begin = plan.begin
        self._sensors = Sensors(plan)

    def step(self) -> None:
        """Advance by one tick: physics, samples, deadlines."""
        samples = self.cell.step(STEP)
        now = (self._begin + self.cell.time_ns) / 1e9
        self.clock.run(now)
        for topic, message in self._sensors.poll(samples, self.cell.time_ns):
            self.bag.write(topic, message, now)
            self.model.ingest(topic, message, now)
        self.model.advance(now)
        if now >= self._polled + POLL:
            self._polled = now
            self.store()

    def store(self) -> None:
        """Write what the traces have gained."""
        self._traces.poll(self.clock.time)
        with self._store.transaction():
            for change in self._changes:
                change(self._store)
        self._changes.clear()

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Any:
        """Execute a motion, which begins the trace of its attempt."""
        key, traces = _key(request), self._traces
        traces.begin(key, [
            *request.maintain, *request.confirm, *([request.stopped] if request.stopped else [])],
            request.parameters, self.clock.time)
        traces.mark(key, self.clock.time, 'motion_started',
                    ', '.join(step.server for step in request.steps))

        def ended(answer: WorkResult) -> None:
            traces.waiting(key, self.clock.time, 'motion_ended', ': '.join(filter(
                None, (answer.outcome, answer.controller_said, answer.error_msg))))
            result(answer)

        return super().execute(request, ended)

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Watch:
        """Confirm conditions, and record the end of it."""
        key, started = _key(request), self.clock.time
        self._traces.begin(key, request.conditions, request.parameters, started)
        self._traces.confirming(key, started)
        watches: list[Watch] = []

        def answered(answer: WatchResult) -> None:
            for watch in watches:
                self._traces.judged(key, watch)
            judged = self._resolved(confirmation(answer, self._topics))
            self._traces.confirmed(key, Confirmed(
                started, request.after or -1.0, answer.stamp, request.conditions,
                request.parameters, judged.verdict, judged.evidence))
            self.bag.confirmed(request, started, answer.stamp, judged)
            result(judged)

        watches.append(self.model.confirm(
            request.conditions, started, answered, after=request.after or -1.0,
            names=request.parameters, on_update=lambda watch: self._traces.judged(key, watch)))
        return watches[0]

    def _resolved(self, answer: Confirmation) -> Confirmation:
        """Return a confirmation whose evidence names the topics as the graph does."""
        return dataclasses.replace(answer, evidence=[
            {**entry, 'facts': [{**fact, 'topic': self._topics.get(fact['topic'], fact['topic'])}
                                for fact in entry['facts']]} for entry in answer.evidence])


def _key(request: Any) -> TraceKey:
    return TraceKey(request.flow_id, request.action_id, request.attempt)
