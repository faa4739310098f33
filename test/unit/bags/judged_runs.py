# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Runs of flows on a stepped clock that leave a journal, traces, and a bag of the sensor alone.

A gripper is the robot: a motion moves its gap. The flow, the journal and the world model are the
real ones; requests take some milliseconds, as over DDS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from action_lifecycle.bags import BagWriter, read_bag
from action_lifecycle.bags.replay import Comparison, JournaledRuns, replay, TopicNames
from action_lifecycle.bags.replay.clock import spans_of
from action_lifecycle.bags.replay.flow_conditions import FlowConditions
from action_lifecycle.bags.replay.journaled_times import with_traces
from action_lifecycle.flow import load_flow
from action_lifecycle.lifecycle.ports import (
    Confirmation,
    ConfirmRequest,
    MotionRequest,
    WorkResult,
)
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.traces import Confirmed, trace_path, TraceKey, TraceRecorder
from action_lifecycle.traces.store import TraceStore
from action_lifecycle.world import parse_facts, WorldModel

from .bag_files import gap as gap_message
from .bag_files import TYPES
from ..flow.robot import Clock, Motion, Process, Robot

START, PERIOD, TICK, WAY = 1_700_000_000.0, 0.02, 0.001, 0.007  #: s
FACTS = 'estop: none\nfacts:\n' \
    '  gap: {topic: gap, type: cell_msgs/msg/Gap, field: x, max_age: 0.2, unit: m}\n'


class GapMessage:

    def __init__(self, x: float) -> None:
        self.x, self.state = x, 'open'


class Gripper(Robot):
    """
    Judges with a world model.

    `slips`: what the gap becomes, and how long (s) after the begin of a motion; None: no samples.
    """

    def __init__(self, clock: Clock, path: Path) -> None:
        super().__init__(clock)
        self.model = WorldModel(parse_facts(FACTS))
        self.gap = 0.0
        self.slips: dict[str, list[tuple[float, float | None]]] = {}
        self.bag = BagWriter(path)
        self.bag.__enter__()
        self.bag.add_topic('/gap', *TYPES['/gap'])
        self.changes: list[Callable[[TraceStore], None]] = []
        self.traces = TraceRecorder(self.model, self.changes.append)
        self.silent = False
        self.late = 0.0  #: s from the arrival at the bridge to that at the recorder
        self.blinding: set[str] = set()  #: actions after whose motion no more samples come
        self._next = START
        clock.call_later(0.0, self._tick)

    def _tick(self) -> None:
        now = self.clock.time
        if now >= self._next:
            self._next += PERIOD
            if not self.silent:
                self.bag.write('/gap', gap_message(self.gap), now + self.late)
                self.model.ingest('gap', GapMessage(self.gap), now)
        self.model.advance(now)
        self.clock.call_later(TICK, self._tick)

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Motion:
        motion = GripperMotion(self, request, result)
        self.motions.append(motion)
        self.clock.call_later(WAY, motion.begin)
        return motion

    def confirm(self, request: ConfirmRequest, result: Callable[[Confirmation], None]) -> Any:
        key = TraceKey(request.flow_id, request.action_id, request.attempt)
        asked = Asked()

        def ask() -> None:
            started = self.clock.time
            self.traces.begin(key, request.conditions, request.parameters, started)
            self.traces.confirming(key, started)

            def answered(answer: Any) -> None:
                found = Confirmation(answer.outcome.name.lower(),
                                     [entry.as_dict() for entry in answer.evidence])
                self.traces.confirmed(key, Confirmed(
                    started, request.after or -1.0, answer.stamp, request.conditions,
                    request.parameters, found.verdict, found.evidence))
                self.clock.call_later(WAY, lambda: asked.canceled or result(found))

            if not asked.canceled:
                asked.watch = self.model.confirm(
                    request.conditions, started, answered, after=request.after or -1.0,
                    names=request.parameters)

        self.clock.call_later(WAY, ask)
        return asked

    def evaluate(
        self, request: ConfirmRequest, wait: float, result: Callable[[Confirmation], None]
    ) -> Any:
        asked = Asked()

        def answered(answer: Any) -> None:
            known = all(entry.verdict.name == 'TRUE' for entry in answer.evidence)
            said = Confirmation('confirmed' if known else 'refuted',
                                [entry.as_dict() for entry in answer.evidence])
            self.clock.call_later(WAY, lambda: asked.canceled or result(said))

        self.clock.call_later(WAY, lambda: self.model.until_known(
            request.conditions, self.clock.time, answered, names=request.parameters))
        return asked


class Asked:
    """A question that can be canceled."""

    canceled = False
    watch: Any = None

    def cancel(self) -> None:
        self.canceled = True
        if self.watch is not None:
            self.watch.cancel()


class GripperMotion(Motion):
    """It reaches the gap of its last step after 0.5 s, and stops 0.1 s after a violation."""

    def __init__(
        self, robot: Gripper, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> None:
        super().__init__(request, result, robot.clock)
        self.robot = robot
        self.watch: Any = None
        self.over = False
        self.key = TraceKey(request.flow_id, request.action_id, request.attempt)

    def begin(self) -> None:
        """Begin as work/guarded_motion.py does."""
        robot, model, request, now = self.robot, self.robot.model, self.request, self.clock.time
        robot.traces.begin(self.key, [*request.maintain, *request.confirm],
                           request.parameters, now)
        robot.traces.mark(self.key, now, 'motion_started')
        if request.maintain:
            model.until_known(request.maintain, now, lambda known: self.clock.call_soon(
                self._maintain), names=request.parameters)
        for delay, gap in robot.slips.get(request.action_id, []):
            self.clock.call_later(delay, lambda gap=gap: self._slip(gap))
        self.clock.call_later(0.5, self._arrive)

    def _maintain(self) -> None:
        if not self.over:
            self.watch = self.robot.model.maintain(
                self.request.maintain, self.clock.time, self._violated,
                names=self.request.parameters)

    def _slip(self, gap: float | None) -> None:
        self.robot.silent = gap is None
        self.robot.gap = self.robot.gap if gap is None else gap

    def _violated(self, result: Any) -> None:
        evidence = [entry.as_dict() for entry in result.evidence]
        self.clock.call_later(0.1, lambda: self.finish(
            'failed', ErrorCode.MAINTAIN_VIOLATED, evidence=evidence, error_msg='not maintained'))

    def _arrive(self) -> None:
        goal = self.request.steps[-1].goal
        if 'abort' in goal:
            self.finish('failed', ErrorCode.MOTION_ABORTED, error_msg='blocked')
            return
        self.robot.gap = goal.get('gap', self.robot.gap)
        self.finish(result=goal.get('result'))

    def cancel(self) -> None:
        self.finish('canceled', ErrorCode.CANCELED)

    def finish(self, outcome: str = 'executed', code: ErrorCode = ErrorCode.NONE, **data: Any
               ) -> None:
        if self.over or (self.watch is not None and not self.watch.open
                         and code is not ErrorCode.MAINTAIN_VIOLATED):
            return
        self.over = True
        self.robot.silent = self.request.action_id in self.robot.blinding
        if self.watch is not None:
            self.watch.cancel()
        found = WorkResult(outcome, self.clock.time, error_code=code, **data)
        self.robot.traces.waiting(self.key, self.clock.time, 'motion_ended', outcome)
        self.clock.call_later(WAY, lambda: self.result(found))


class Runs:
    """A folder with the journal, the traces and the bag of runs."""

    def __init__(self, folder: Path, flow: str) -> None:
        self.folder = folder
        self.flow = folder / 'flow.yaml'
        self.flow.write_text(flow)
        self.journal, self.bag = folder / 'run.journal', folder / 'run.mcap'
        (folder / 'facts.yaml').write_text(FACTS)
        clock = Clock()
        clock.time = START
        self.robot = Gripper(clock, self.bag)
        self.process = Process(self.journal, clock, self.robot)

    def run(self, flow_id: str = 'f', seconds: float = 20.0, **parameters: Any) -> Any:
        """Run the flow to its end."""
        self.process.clock.run(0.5)
        run = self.process.orchestrator.submit(load_flow(self.flow, **parameters), flow_id)
        left = seconds
        while not run.ended and left > 0:
            self.process.clock.run(0.1)
            left -= 0.1
        assert run.ended
        self.process.clock.run(0.5)
        return run

    def close(self) -> None:
        """End the recording."""
        self.process.journal.close()
        self.robot.bag.__exit__(None, None, None)
        self.robot.traces.close(self.process.clock.time)
        store = TraceStore(trace_path(self.journal))
        with store.transaction():
            for change in self.robot.changes:
                change(store)
        store.close()

    def replayed(
        self, flow: str = '', *, traces: bool = False, journal: bool = True,
        tolerance: float = 0.005, **given: Any,
    ) -> dict[tuple[str, str], list[Comparison]]:
        """Return what the journal has, judged again, by (flow/action, kind)."""
        with read_bag(self.bag) as bag:
            runs = JournaledRuns(str(self.journal), spans_of(bag))
            recorded = list(with_traces(runs.recorded, trace_path(self.journal))) if traces \
                else runs.recorded
            question = None
            if flow:
                path = self.folder / 'changed.yaml'
                path.write_text(flow)
                question = FlowConditions(path, given, runs if journal else None)
            found = replay(bag, parse_facts(FACTS), recorded, TopicNames(), question=question,
                           tolerance=tolerance)
        answers: dict[tuple[str, str], list[Comparison]] = {}
        for one in found:
            key = f'{one.recorded.flow_id}/{one.recorded.action_id}', one.recorded.kind
            answers.setdefault(key, []).append(one)
        return answers


def statuses(
    found: Mapping[tuple[str, str], list[Comparison]]
) -> dict[tuple[str, str], list[str]]:
    return {key: [one.status.value for one in each] for key, each in found.items()}
