# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The journal refuses rows of an action for a while, and a stop, a pause, an answer or a kill comes.

Nothing moves that is not recorded, that a pause holds, or that a person has canceled; a resource
of something that may still move is not free; the flow ends. REFUSED_ROUNDS (60): how many random
cases are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib
from dataclasses import dataclass
import functools
import itertools
import os
from pathlib import Path
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import FlowRun, LoadedFlow, parse_flow
from action_lifecycle.flow.orchestrator import BEGINNING
from action_lifecycle.journal import Entry, verify_journal
from action_lifecycle.lifecycle.running.work_states import step_id
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .robot import Clock, Motion, Process, Robot

ROUNDS = int(os.environ.get('REFUSED_ROUNDS', '60'))
MORE = ('    resources: [arm]\n    stop_timeout: 2\n    on_resume: retry\n'
        '    retry: {times: 1, delay: 1, jitter: 0}\n    fallback: [{strategy: retry}]\n')
ARM = 'motion: {server: arm, type: a/action/B}'
FLOWS = {
    'motion': f'    {ARM}\n    require: z < 9\n    confirm: z > 0\n{MORE}',
    'steps': f'    steps: [{{{ARM}}}, {{tool: {{name: t}}}}, {{{ARM}}}]\n'
             f'    confirm: z > 0\n{MORE}',
    'tools': f'    steps: [{{tool: {{name: t}}}}, {{tool: {{name: u}}}}]\n{MORE}'}
ENDS = ('executed', 'aborted', 'estop', 'unseen')
STOPS = ('canceled', 'executed', 'unseen', 'silent')
EVENTS = ('nothing', 'cancel', 'cancel flow', 'hold', 'pause', 'skip', 'timeout', 'deadline',
          'kill')
FULL = 2.5
"""For how long (s) the disk is full; a row is repeated each second."""


class Moving(Robot):
    """A robot that knows what may move, and notes what must not."""

    def __init__(self, clock: Clock, ends: str, stops: str) -> None:
        super().__init__(clock)
        self.by_hand |= {'motion', 'tool'}
        self.ends, self.stops = ends, stops
        self.process: Process | None = None
        # By goal id:
        self.open: dict[str, Motion] = {}
        self.moving: dict[str, Motion] = {}
        self.results: dict[str, dict[str, Any]] = {}
        self.ordered: set[ActionOutcome] = set()  #: how the action is to end
        self.was_killed = False
        self.wrong: list[str] = []

    def execute(self, request: Any, result: Any) -> Any:
        motion = super().execute(request, result)
        return self._begun(motion, request.goal_id, request.resume, True)

    def start(self, spec: Any, request: Any, ended: Any, resumed: bool = False) -> Any:
        work = super().start(spec, request, ended, resumed)
        return self._begun(work, request.id, resumed, False)

    def _begun(self, motion: Motion, goal: str, resume: bool, physical: bool) -> Motion:
        canceled = motion.cancel

        def cancel() -> None:
            canceled()
            if goal in self.open and self.stops != 'silent':
                self.clock.call_later(0.3, lambda: self._end(goal, self.stops))

        motion.cancel = cancel  # type: ignore[method-assign]
        if resume:
            if goal in self.open:
                self.open[goal] = motion
            else:
                found = self.results.get(goal, {'outcome': 'not_running'})
                if found['outcome'] == 'executed' and not self.was_killed:
                    self.wrong.append(f'{goal} has ended, and is asked for again')
                self.clock.call_later(0.1, lambda: motion.end(**found))
            return motion
        self._check_begin(goal)
        self.open[goal] = motion
        if physical:
            self.moving[goal] = motion
        # The first two end in this way, so that the flow comes to its end.
        outcome = self.ends if len(self.open) + len(self.results) <= 2 else 'executed'
        self.clock.call_later(1.0, lambda: self._end(goal, outcome))
        return motion

    def _check_begin(self, goal: str) -> None:
        assert self.process is not None
        run = self.process.orchestrator.runs['f']
        recorded: set[str] = set()
        for row in self.process.journal.rows(flow_id='f'):
            if row.action_id == 'a' and 'goal_id' in row.data:
                first, index = row.data['goal_id'], len(row.data.get('results', ()))
                recorded = {step_id(first, index), *([] if index else [first])}
        if goal not in recorded:
            self.wrong.append(f'{goal} is not recorded')
        if self.ordered or run.control.hold:
            self.wrong.append(f'{goal} begins: {self.ordered or "held"}')

    def _end(self, goal: str, outcome: str) -> None:
        motion = self.open.pop(goal, None)
        if motion is None:
            return
        stopped = outcome != 'unseen'
        if stopped:
            self.moving.pop(goal, None)
        self.results[goal] = {
            'outcome': outcome if outcome in ('executed', 'canceled') else 'failed',
            'stopped': stopped, 'error_msg': outcome, 'code': {
                'aborted': ErrorCode.MOTION_ABORTED, 'estop': ErrorCode.ESTOP,
                'unseen': ErrorCode.SERVER_VANISHED}.get(outcome, ErrorCode.NONE)}
        motion.end(**self.results[goal])


@functools.cache
def parsed(flow: str) -> LoadedFlow:
    return parse_flow(f'flow: f\nactions:\n  a:\n{FLOWS[flow]}', 'f.yaml')


@dataclass
class Case:
    """One run of a flow; `row`: number of the action's row from which on the disk is full."""

    flow: str
    ends: str
    stops: str
    row: int
    events: Sequence[tuple[float, str]] = ()  #: time (s) after that row, and what happens
    full: float = FULL
    lasts: float = 0.4  #: time (s) from a pause to its resume

    def run(self, path: Path) -> int:
        """Run it; returns the number of rows."""
        clock = self.clock = Clock()
        self.path, self.rows, self.end = path, 0, -1.0
        self.robot = Moving(clock, self.ends, self.stops)
        with contextlib.ExitStack() as self.until_end:
            process = self._process()
            self.flow_run = process.orchestrator.submit(parsed(self.flow), 'f')
            for _ in range(600):
                clock.run(0.1)
                self._check_resources()
                if self.flow_run.ended and clock.time > self.end + 3.0:  # later than all answers
                    break
        self._check_end(self.flow_run)
        self.process.journal.close()
        assert verify_journal(path) == []
        return self.rows

    def _process(self) -> Process:
        process = self.process = self.robot.process = Process(self.path, self.clock, self.robot)
        self.until_end.enter_context(process.full_disk(self._refuse))
        return process

    def _kill(self) -> None:
        """Kill the process and start the next; what the robot does goes on."""
        robot, paused = self.robot, self.flow_run.paused
        self.process.kill()
        robot.was_killed = True
        robot.ordered -= {ActionOutcome.FAILED}  # nothing of it was recorded
        for goal in robot.open:
            self.clock.call_later(1.0, lambda goal=goal: robot._end(goal, 'executed'))
        restored = self._process().orchestrator.restore()
        self.flow_run = restored[0] if restored else self.flow_run
        if paused:
            self.clock.call_later(self.lasts, lambda: self._happen('resume'))

    def _refuse(self, entry: Entry) -> bool:
        if entry.action_id != 'a' or entry.kind == 'lock':
            return False
        self.rows += 1
        if self.rows == self.row:
            self.end = self.clock.time + self.full
            for after, event in self.events:
                self.clock.call_later(after, lambda event=event: self._happen(event))
        if self.clock.time < self.end:
            return True
        if entry.event in BEGINNING and self.flow_run.paused:
            self.robot.wrong.append(f'{entry.event} in a pause')
        return False

    def _happen(self, event: str) -> None:
        run, orchestrator = self.flow_run, self.process.orchestrator
        runner = run.runners['a']
        ended = run.ended or runner.action.state in (ActionState.COMPLETED, ActionState.TERMINATED)
        try:
            if event == 'cancel':
                orchestrator.fire('f', 'a', 'cancel', actor='anna', cause='enough')
            elif event == 'cancel flow':
                orchestrator.cancel('f', 'anna', 'enough')
            elif event in ('hold', 'pause'):
                orchestrator.control.pause('f', 'anna', hold=event == 'hold')
                self.clock.call_later(self.lasts, lambda: self._happen('resume'))
            elif event == 'resume':
                orchestrator.control.resume('f', 'anna')
            elif event == 'skip':
                orchestrator.control.skip('f', 'a', 'anna')
            elif event == 'deadline':
                orchestrator.dispatcher.withdraw(run, 'a')
                runner.expire(ErrorCode.DEADLINE_EXCEEDED, 'too late', 'clock')
            elif event == 'kill' and not run.ended:
                self._kill()
            elif event == 'timeout':
                runner._timed_out(runner.action.attempt)
        except LifecycleError:
            return  # an order that is refused
        if ended:
            return
        ordered = self.robot.ordered
        if event.startswith('cancel'):  # after a skip, either is right
            ordered -= {ActionOutcome.FAILED}
            ordered.add(ActionOutcome.CANCELED)
        elif event == 'skip':
            ordered.clear()
            ordered.add(ActionOutcome.SKIPPED)
        elif event == 'deadline' and not ordered:
            ordered.add(ActionOutcome.FAILED)

    def _check_resources(self) -> None:
        if self.robot.moving and self.process.orchestrator.resources.free('arm'):
            self.robot.wrong.append('arm is free, and moves')

    def _check_end(self, run: FlowRun) -> None:
        action, robot = run.runners['a'].action, self.robot
        assert robot.wrong == []
        assert run.ended, (action.state, run.blocked_by(action), run.runners['a'].held)
        assert all(motion.canceled or self.ends == 'unseen' for motion in robot.moving.values())
        assert action.error_code is not ErrorCode.INTERNAL, action.error_msg
        if robot.ordered:
            assert action.outcome in robot.ordered
        if action.outcome is not ActionOutcome.SUCCEEDED:
            assert action.error_msg or action.cause


def cases(flow: str) -> Iterator[Case]:
    """Yield what may happen once, while the disk is full from any row on."""
    for ends, stops in zip(ENDS, STOPS):
        for event in EVENTS:
            yield Case(flow, ends, stops, 0, [(0.6, event)])
        for after in (0.0, 1.2):  # resumed after the disk is free again
            yield Case(flow, ends, stops, 0, [(after, 'hold')], lasts=5.0)


@pytest.mark.long
@pytest.mark.parametrize('flow', FLOWS)
def test_each_event_while_each_row_is_refused(tmp_path: Path, flow: str) -> None:
    number = itertools.count()
    for case in cases(flow):
        case.row, rows = 1, 1
        while case.row <= rows:
            path = tmp_path / str(next(number))
            try:
                rows = case.run(path)
            except AssertionError as error:
                raise AssertionError(f'{case}') from error
            path.unlink()
            case.row += 1


EVENT = st.tuples(st.sampled_from([0.0, 0.3, 0.6, 1.0, 1.2, 2.0, 3.0]), st.sampled_from(EVENTS))
RANDOM = st.builds(
    Case, st.sampled_from(sorted(FLOWS)), st.sampled_from(ENDS), st.sampled_from(STOPS),
    st.integers(1, 14), st.lists(EVENT, max_size=4), st.sampled_from([0.5, 2.5, 6.0]),
    st.sampled_from([0.1, 0.4, 1.5, 5.0]))


@settings(max_examples=ROUNDS, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(case=RANDOM)
def test_events_while_rows_are_refused(
    tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    case.run(tmp_path_factory.mktemp('refused') / 'journal')
