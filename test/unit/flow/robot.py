# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A world that answers as a test tells it to, on a clock that the test steps.

It stands in for a robot and its sensors, which do not exist here; the journal, the engine and the
orchestrator are the real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from pathlib import Path
from typing import Any

from action_lifecycle.dialogue import OperatorDesk
from action_lifecycle.engine import load_graph
from action_lifecycle.flow import FlowRun, JournalRecorder, LoadedFlow, Orchestrator, parse_flow
from action_lifecycle.journal import Entry, Journal, JournalError, Row
from action_lifecycle.lifecycle.ports import (
    Confirmation,
    ConfirmRequest,
    MotionRequest,
    Verdict,
    VerifyRequest,
    WorkResult,
)
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.lifecycle.verifier_kinds import ServiceVerify
from action_lifecycle.testing.stepped_clock import Later, SteppedClock

MOTION = 'motion: {server: arm, type: a/action/B}, confirm: z > 0'
GRAPH = load_graph(Path(__file__).parents[3] / 'config' / 'graphs' / 'action.yaml')


def one(extra: str = '') -> str:
    """Return a flow of one action."""
    return f'flow: one\nactions:\n  pick: {{{MOTION}{extra}}}\n'


class Clock(SteppedClock):
    """Steps from one deadline to the next; the journal reads its times here too."""

    def __init__(self) -> None:
        super().__init__(1000.0)

    def run(self, seconds: float = 1000.0) -> None:
        """Let time pass."""
        super().run(self.time + seconds)


class Motion:
    """A motion that is under way."""

    def __init__(
        self, request: MotionRequest, result: Callable[[WorkResult], None], clock: Clock
    ) -> None:
        self.request = request
        self.result = result
        self.clock = clock
        self.canceled = False

    def cancel(self) -> None:
        self.canceled = True

    def end(self, outcome: str = 'executed', code: ErrorCode = ErrorCode.NONE, **data: Any
            ) -> None:
        self.result(WorkResult(outcome, self.clock.time, outcome.upper(), error_code=code,
                               **data))


class Work(Motion):
    """Work in the process that is under way; `request` is a `WorkRequest`."""

    spec: Any
    resumed = False


class Question:
    """Conditions that are being judged."""

    def __init__(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None], clock: Clock
    ) -> None:
        self.request = request
        self.result = result
        self.clock = clock
        self.canceled = False

    def cancel(self) -> None:
        self.canceled = True

    def answer(self, verdict: str) -> None:
        truth = {'confirmed': 'true', 'refuted': 'false'}.get(verdict, 'unknown')
        self.result(Confirmation(verdict, [
            {'condition': self.request.name, 'expression': condition.expression,
             'verdict': truth, 'stamp': self.clock.time, 'held': condition.hold,
             'facts': [{'name': 'z', 'stamp': self.clock.time, 'topic': '/z',
                        'validity': 'valid', 'numbers': [0.5], 'unit': 'm'}]}
            for condition in self.request.conditions]))


class Robot:
    """Motions end and conditions hold at once, unless the test takes them in hand."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.motions: list[Motion] = []
        self.stops_judged: list[Motion] = []
        self.works: list[Work] = []
        self.node = None
        self.questions: list[Question] = []
        self.by_hand: set[str] = set()
        self.verdicts: dict[tuple[str, str], list[str]] = {}
        self.answers: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.facts: dict[str, Any] = {}
        self.desk: OperatorDesk | None = None

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Motion:
        motion = Motion(request, result, self.clock)
        self.motions.append(motion)
        if 'motion' not in self.by_hand:
            self.clock.call_later(1.0, motion.end)
        return motion

    def confirm_stop(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Motion:
        stop = Motion(request, result, self.clock)
        self.stops_judged.append(stop)
        if 'stop' not in self.by_hand:
            self.clock.call_later(
                0.0, lambda: None if stop.canceled else stop.end('not_running'))
        return stop

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Question:
        question = Question(request, result, self.clock)
        self.questions.append(question)
        if request.name not in self.by_hand:
            verdicts = self.verdicts.get((request.action_id, request.name), [])
            verdict = verdicts.pop(0) if verdicts else 'confirmed'
            self.clock.call_later(
                0.1, lambda: None if question.canceled else question.answer(verdict))
        return question

    def evaluate(
        self, request: ConfirmRequest, wait: float, result: Callable[[Confirmation], None]
    ) -> Question:
        return self.confirm(request, result)

    now = property(lambda self: self.clock.now)
    call_soon = property(lambda self: self.clock.call_soon)

    def worker(self, kind: str) -> Robot:
        return self

    def faults(self, spec: Any, parameters: Any) -> Iterator[tuple[str, str]]:
        yield from ()

    def start(
        self, spec: Any, request: Any, ended: Callable[[WorkResult], None], resumed: bool = False
    ) -> Work:
        work = Work(request, ended, self.clock)
        work.spec, work.resumed = spec, resumed
        self.works.append(work)
        if spec.kind not in self.by_hand:
            self.clock.call_later(1.0, work.end)
        return work

    def resume(self, spec: Any, request: Any, ended: Callable[[WorkResult], None]) -> Work:
        return self.start(spec, request, ended, resumed=True)

    @staticmethod
    def unknown() -> Confirmation:
        return Confirmation('stale', ())

    @property
    def operator(self) -> OperatorDesk:
        assert self.desk is not None
        return self.desk

    def in_thread(
        self, name: str, check: Callable[[], Verdict], verdict: Callable[[Verdict], None]
    ) -> Any:
        self.asked.append(name.removeprefix('checker '))
        said = check()
        self.clock.call_later(0.1, lambda: verdict(said))
        return Later()

    def call_service(
        self, spec: ServiceVerify, request: VerifyRequest, verdict: Callable[[Verdict], None]
    ) -> Any:
        self.asked.append(spec.service)
        answers = self.answers.get(spec.service, [])
        if answers:
            answer = Verdict(answers.pop(0), 'as told')
            self.clock.call_later(0.1, lambda: verdict(answer))
        return Later()

    def executed(self, action_id: str) -> int:
        """Return how often motions of an action were started (not followed)."""
        return sum(motion.request.action_id == action_id and not motion.request.resume
                   for motion in self.motions)


class Killed(BaseException):
    """The process is gone."""


class Process:
    """One life of the action node: the orchestrator on a journal, until it is killed."""

    def __init__(self, path: Path, clock: Clock, robot: Robot) -> None:
        self.clock = clock
        self.robot = robot
        self.journal = Journal(path, clock=clock)
        self.changes: list[tuple[str, str, str]] = []
        self.flow_rows: list[Row] = []
        recorder = JournalRecorder(
            self.journal, clock, clock.call_soon, self._changed, self.flow_rows.append)
        recorder.synced = clock.call_soon  # type: ignore[method-assign]
        self.desk = OperatorDesk(clock, lambda: None, self.journal, lambda: dict(robot.facts))
        robot.desk = self.desk
        self.orchestrator = Orchestrator(
            GRAPH, recorder, robot, clock, self.desk, robot, lambda run: None, robot)

    def _changed(self, action: Any, row: Any) -> None:
        assert action.state.value == row.to_state
        self.changes.append((action.action_id, row.from_state, row.to_state))

    def parse(self, text: str) -> LoadedFlow:
        return parse_flow(text, 'f.yaml')

    def submit(self, text: str, flow_id: str = 'f', **options: Any) -> FlowRun:
        return self.orchestrator.submit(self.parse(text), flow_id, **options)

    @contextlib.contextmanager
    def full_disk(
        self, full: Callable[[Entry], bool] = lambda entry: True
    ) -> Iterator[list[Entry]]:
        """Have the journal refuse rows meanwhile, those that are `full`; gives what it refused."""
        refused: list[Entry] = []
        check = self.journal._check

        def check_disk(entry: Entry) -> None:
            if full(entry):
                refused.append(entry)
                raise JournalError('disk full')
            check(entry)

        self.journal._check = check_disk  # type: ignore[method-assign]
        yield refused
        self.journal._check = check  # type: ignore[method-assign]

    def die_after(self, rows: int) -> None:
        """Raise `Killed` right after so many more rows are written one by one."""
        append = self.journal.append
        left = rows

        def append_and_die(entry: Entry) -> Row:
            nonlocal left
            row = append(entry)
            left -= 1
            if left == 0:
                raise Killed
            return row

        self.journal.append = append_and_die  # type: ignore[method-assign]

    def kill(self) -> None:
        """End without a word, as kill -9 does; what the robot does goes on by itself."""
        self.clock.drop_all()
        self.journal.close()

    def states(self, action_id: str) -> list[str]:
        return [to for name, _, to in self.changes if name == action_id]


Start = Callable[[], Process]
