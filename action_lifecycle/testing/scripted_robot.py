# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A scripted robot on which flows run without ROS and without waiting.

The engine, the journal, the conditions and the questions are the real ones; only the sensors, the
servers and the people follow a script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
import tempfile
from typing import Any

from .script import Behaviour, Event, RobotScript
from .scripted_doing import SentGoal
from .scripted_facts import Signals
from .scripted_process import Process
from .scripted_servers import ScriptedServers
from .stepped_clock import Later, SteppedClock
from ..documents.errors import LifecycleError
from ..flow import FlowRun, LoadedFlow
from ..journal import Row
from ..lifecycle.states import ErrorCode
from ..world.facts.facts import FactSet

PERIOD = 0.05  #: s between two samples of a sensor
ANSWER_TIME = 1.0  #: s until a person answers
DOWN_TIME = 1.0  #: s from a kill until the process is back
FLOW_ID = 'case'


@dataclass(frozen=True)
class ActionReport:
    """How an action ended; `states`: those that it entered, in order."""

    outcome: str
    error: str  #: name of the error code of the last failure; NONE
    cause: str
    attempts: int
    states: Sequence[str]


@dataclass(frozen=True)
class RunReport:
    """How a flow ended; `outcome`: succeeded, failed, canceled, or open (out of time)."""

    outcome: str
    error_code: ErrorCode
    error_msg: str
    duration: float  #: s
    actions: Mapping[str, ActionReport]
    goals: Sequence[SentGoal]
    asked: Sequence[tuple[str, str]]  #: action and text of each question
    rows: Sequence[Row] = field(repr=False)
    missed: int = 0  #: events whose time did not come
    unused: Mapping[str, Sequence[str]] = field(default_factory=dict)  #: answers, by action


class ScriptedRobot:
    """
    A robot that follows a script.

        robot = ScriptedRobot(load_facts('facts.yaml'), RobotScript(facts={'gap': 0.08}))
        report = robot.run(load_flow('grip.yaml'), answers={'close': ['give_up']})
        assert report.actions['close'].error == 'REFUTED'

    `clock` starts at 0. A second flow finds the robot as the first one has left it. Raises
    LifecycleError if the script names what is not there.
    """

    def __init__(self, facts: FactSet, script: RobotScript | None = None) -> None:
        self.facts = facts
        self.script = script = script or RobotScript()
        self.clock = SteppedClock()
        self.signals = Signals(facts)
        for courses in courses_of(script):
            self.signals.check(courses)
        self.signals.begin(script.facts, 0.0, 0.0)
        self.servers = ScriptedServers(self.clock, self.signals, script.servers)
        self.works = ScriptedServers(self.clock, self.signals, script.work)
        self._verdicts = {service: [given] if isinstance(given, str) else list(given)
                          for service, given in script.verdicts.items()}

    def verdict(self, service: str) -> str:
        """Return the next answer of a verification service; the last one stays."""
        given = self._verdicts.get(service) or ['completed']
        return given.pop(0) if len(given) > 1 else given[0]

    def run(
        self, flow: LoadedFlow, *, events: Sequence[Event] = (),
        answers: Mapping[str, Sequence[str]] | None = None, within: float = 3600.0,
    ) -> RunReport:
        """
        Run a flow until it ends, at most `within` s of the clock; returns how it ended.

        Raises LifecycleError if an event or an answer can't be carried out.
        """
        for event in events:
            self.signals.check(event.facts)
        if not isinstance(flow, LoadedFlow):
            raise LifecycleError(f'expected a flow, as load_flow returns it, got {flow!r}')
        for name, given in (answers or {}).items():
            if isinstance(given, str):
                raise LifecycleError(f"answers of '{name}': expected a list, got '{given}'")
        with tempfile.TemporaryDirectory() as folder:
            return _Run(self, flow, Path(folder) / 'journal', events, answers or {}).to_end(within)


def courses_of(script: RobotScript) -> Iterator[Mapping[str, Any]]:
    """Yield all courses of facts that a script gives."""
    yield script.facts
    for behaviours in (*script.servers.values(), *script.work.values()):
        for one in [behaviours] if isinstance(behaviours, Behaviour) else behaviours:
            yield one.during
            yield one.after


class _Run:
    """One flow on the robot, over the lives of the process."""

    def __init__(
        self, robot: ScriptedRobot, flow: LoadedFlow, path: Path, events: Sequence[Event],
        answers: Mapping[str, Sequence[str]],
    ) -> None:
        self._robot = robot
        self._flow = flow
        self._path = path
        self._answers = {name: list(given) for name, given in answers.items()}
        self._given: set[str] = set()
        self._asked: list[tuple[str, str]] = []
        self._process: Process | None = None
        self._estop = False
        self._cleared = False  #: while the process was down
        self._begun = robot.clock.time
        self._canceled = False
        self._waiting = [robot.clock.call_later(event.at, partial(self._happen, event))
                         for event in events]
        self._happened = 0
        self._return = Later()  #: of the process that was killed

    def to_end(self, within: float) -> RunReport:
        """Run until the flow has ended, or the time is up."""
        clock, limit = self._robot.clock, self._robot.clock.time + within
        try:
            self._process = Process(self._robot, self._path, self._look_at_questions)
            self._sample()
            self._process.orchestrator.submit(self._flow, FLOW_ID)
            while not self._ended() and clock.time < limit:
                clock.run(min(self._next_time(), limit))
                self._sample()
            return self._report()
        finally:
            for later in (*self._waiting, self._return):
                later.cancel()
            if self._process is not None:
                self._process.kill()

    def _ended(self) -> bool:
        run = self._run()
        return run is not None and run.ended

    def _run(self) -> FlowRun | None:
        return None if self._process is None else self._process.orchestrator.runs.get(FLOW_ID)

    def _next_time(self) -> float:
        """Return the time of the next deadline, or of a sample that can change something."""
        clock, process = self._robot.clock, self._process
        due = clock.next_due()
        if process is None:
            return due
        model = process.world.model
        if model.watched or self._robot.facts.health:
            due = min(due, clock.time + PERIOD)
        return min(due, max(model.next_deadline(), clock.time))

    def _sample(self) -> None:
        """Pass the present values to the world model, and judge what is due."""
        now = self._robot.clock.time
        if self._process is not None:
            model = self._process.world.model
            for topic, samples in self._robot.signals.samples(now).items():
                model.ingest(topic, samples, now)
            model.advance(now)

    # -- events and people

    def _happen(self, event: Event) -> None:
        robot = self._robot
        self._happened += 1
        robot.signals.begin(event.facts, robot.clock.time, 0.0)
        for server, seconds in event.operator_goals.items():
            robot.servers.begin_foreign(server, seconds)
        if event.estop is not None:
            self._estop = event.estop
            self._apply_estop()
        if event.cancel:
            self._canceled = True
            if self._process is not None and not self._ended():
                self._process.orchestrator.cancel(FLOW_ID, 'case', 'canceled by the case')
        if event.kill and self._process is not None:
            self._process.kill()
            self._process = None
            self._return = robot.clock.call_later(DOWN_TIME, self._start_again)

    def _apply_estop(self) -> None:
        """Stop, or clear the stop; in the down time, when the process is back."""
        if self._process is None:
            self._cleared = not self._estop
            return
        world = self._process.world
        if self._estop:
            world.stop(ErrorCode.ESTOP, 'e-stop')
        else:
            world.refusal = None
            self._process.orchestrator.clear_locks(
                list(self._process.orchestrator.resources.locked), 'case', 'cleared by the case')

    def _start_again(self) -> None:
        self._process = Process(self._robot, self._path, self._look_at_questions)
        if self._estop:
            self._apply_estop()
        self._sample()
        self._process.orchestrator.restore()
        if self._cleared:
            self._cleared = False
            self._apply_estop()
        self._look_at_questions()
        if self._canceled and self._run() is not None:
            self._process.orchestrator.cancel(FLOW_ID, 'case', 'canceled by the case')

    def _look_at_questions(self) -> None:
        """Note new questions; answer those for which the case has answers."""
        process = self._process
        if process is None:
            return
        for request in list(process.desk.open.values()):
            action = request.question.action_id
            if request.id not in self._given:
                self._given.add(request.id)
                self._asked.append((action, request.question.text))
            if self._answers.get(action) and request.id not in process.answering:
                process.answering.add(request.id)
                process.life.call_later(ANSWER_TIME, partial(self._answer, request.id, action))

    def _answer(self, request_id: str, action: str) -> None:
        """Give the next answer of an action; one that a kill prevents is given afterwards."""
        if self._process is not None and request_id in self._process.desk.open \
                and self._answers[action]:
            self._process.desk.respond(request_id, self._answers[action].pop(0), 'case')

    # -- the report

    def _report(self) -> RunReport:
        run, clock = self._run(), self._robot.clock
        rows: list[Row] = []
        if self._process is not None:
            rows = list(self._process.journal.rows())
        if run is None:
            raise LifecycleError('the process was killed and is not back: give the case more time')
        return RunReport(
            _outcome(run), run.error_code, run.error_msg, clock.time - self._begun,
            {name: self._action(run, name, rows) for name in run.flow.actions},
            [*self._robot.servers.goals, *self._robot.works.goals], self._asked, rows,
            len(self._waiting) - self._happened,
            {name: left for name, left in self._answers.items() if left})

    @staticmethod
    def _action(run: FlowRun, name: str, rows: Sequence[Row]) -> ActionReport:
        action = run.runners[name].action
        states = [row.to_state for row in rows if row.action_id == name
                  and row.flow_id == run.flow_id and row.kind == 'transition']
        return ActionReport(action.outcome.value if action.outcome else '',
                            action.error_code.name, action.error_msg, action.attempt, states)


def _outcome(run: FlowRun) -> str:
    if not run.ended:
        return 'open'
    if run.is_good():
        return 'succeeded'
    return 'canceled' if run.error_code is ErrorCode.CANCELED else 'failed'
