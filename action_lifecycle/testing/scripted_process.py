# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One life of the process that runs flows on a scripted robot, until it is killed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Protocol

from .scripted_doing import Doing
from .scripted_facts import scripted_facts
from .scripted_servers import ScriptedServers
from .stepped_clock import Later, SteppedClock
from .stepped_world import Sender, SteppedWorld
from ..dialogue import OperatorDesk
from ..flow import JournalRecorder, Orchestrator
from ..graphs.packaged import packaged_graph
from ..journal import Journal
from ..lifecycle.ports import Handle, Operator
from ..lifecycle.states import ErrorCode
from ..lifecycle.verifiers import Verdict, VerifyRequest
from ..lifecycle.work import Ended, work_evidence, WorkRequest, WorkResult, WorkSpec
from ..work.bridge_work import BridgeWork
from ..work.motion_host import StepGoal
from ..world.facts.facts import FactSet


class Robot(Protocol):
    """What outlives the process."""

    facts: FactSet
    clock: SteppedClock
    servers: ScriptedServers
    works: ScriptedServers  #: what does jobs, tools and graphs, by action

    def verdict(self, service: str) -> str:
        """Return the next answer of a verification service."""


class _Life(SteppedClock):
    """The clock of one life of the process: nothing is called back after its end."""

    def __init__(self, clock: SteppedClock) -> None:
        self._clock = clock
        self.alive = True

    @property
    def time(self) -> float:  # type: ignore[override]
        return self._clock.time

    def now(self) -> float:
        return self._clock.time

    boot_time = wall_time = now

    def call_later(self, delay: float, callback: Callable[[], None]) -> Later:
        return self._clock.call_later(delay, lambda: callback() if self.alive else None)


class Process:
    """One life of the nodes: world model, orchestrator and open questions, on the journal."""

    node = None

    def __init__(self, robot: Robot, path: Path, asked: Callable[[], None]) -> None:
        self.robot = robot
        self.life = _Life(robot.clock)
        self.world = SteppedWorld(scripted_facts(robot.facts), self.life, robot.servers)
        self.journal = Journal(path, clock=self.life)
        self.answering: set[str] = set()  #: ids of questions that a person thinks about
        recorder = JournalRecorder(
            self.journal, self.life, self.life.call_soon, lambda action, row: None)
        recorder.synced = self.life.call_soon  # type: ignore[method-assign]
        self.desk = OperatorDesk(self.life, asked, self.journal, lambda: {})
        self.operator: Operator = self.desk
        self.orchestrator = Orchestrator(
            packaged_graph('action'), recorder, self.world, self.life, self.desk, self,
            lambda run: None, self)

    def kill(self) -> None:
        """End as kill -9 does."""
        self.life.alive = False
        self.journal.close()

    # lifecycle.verifiers.Verifier

    def in_thread(
        self, name: str, check: Callable[[], Any], done: Callable[..., None]
    ) -> Later:
        """Call the function at once."""
        try:
            found: tuple[Any, Exception | None] = check(), None
        except Exception as error:
            found = None, error
        if name.startswith('checker'):
            verdict = found[0] or Verdict('error', str(found[1]))
            return self.life.call_later(0.0, lambda: done(verdict))
        return self.life.call_later(0.0, lambda: done(*found))

    def call_service(
        self, spec: Any, request: VerifyRequest, verdict: Callable[[Verdict], None]
    ) -> Later:
        """Answer as the script says."""
        answer = Verdict(self.robot.verdict(spec.service), 'as scripted')
        return self.life.call_later(0.1, lambda: verdict(answer))

    def service_faults(self, spec: Any, parameters: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield nothing: services follow the script."""
        yield from ()

    # lifecycle.work.WorkHost

    def now(self) -> float:
        """Return the time (s)."""
        return self.life.time

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the same step."""
        self.life.call_soon(callback)

    def worker(self, kind: str) -> Process:
        """Return the worker of a kind: the process itself."""
        return self

    def faults(self, spec: Any, parameters: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield nothing: work follows the script."""
        yield from ()

    def start(self, spec: WorkSpec, request: WorkRequest, ended: Ended) -> Handle:
        """Do what the script says."""
        if isinstance(spec, BridgeWork):
            return _Apart(self.robot.servers.send(
                spec, spec.data, request.id, self._sender(request)), self.life, ended)
        return _Work(self.life, spec, self.robot.works.begin(
            request.action_id, None, request.id), ended)

    def _sender(self, request: WorkRequest) -> Sender:
        return self.world.sender(request.action_id, request.parameters)

    def resume(self, spec: WorkSpec, request: WorkRequest, ended: Ended) -> Handle:
        """
        Continue work of an earlier process.

        A graph goes on in the agent node. A job has lost its tasks: it begins again unless it has
        `repeat_lost: false`. Nobody knows the end of a tool.
        """
        if isinstance(spec, BridgeWork):
            return _Apart(self.robot.servers.follow(
                spec, request.id, self._sender(request)), self.life, ended)
        doing = self.robot.works.doing(request.id)
        if doing is not None and spec.kind == 'graph':
            return _Work(self.life, spec, doing, ended)
        if getattr(spec, 'repeat_lost', False):
            return self.start(spec, request, ended)
        return self.life.call_later(0.0, lambda: ended(WorkResult('not_running', self.life.time)))


class _Apart:
    """A call or a publication that moves nothing."""

    def __init__(self, goal: StepGoal, life: SteppedClock, ended: Ended) -> None:
        self._goal = goal
        goal.done.add_done_callback(lambda done: life.call_soon(
            lambda: ended(done.result().work_result(done.result().result))))

    def cancel(self) -> None:
        """Cancel it; nobody has to wait for the response of a call."""
        self._goal.cancel()
        if not self._goal.done.done():
            self._goal.give_up()


class _Work:
    """A job, a tool or a graph."""

    def __init__(self, life: SteppedClock, spec: WorkSpec, doing: Doing, ended: Ended) -> None:
        self._life = life
        self._spec = spec
        self._doing = doing
        self._ended: Ended | None = ended
        self._limit = float(getattr(spec, 'time_limit', 0.0))
        if self._limit:
            life.call_later(self._limit, self._time_is_up)
        doing.done.add_done_callback(lambda done: life.call_soon(
            lambda: self._end(done.result())))

    def cancel(self) -> None:
        """Cancel it."""
        self._doing.leave()

    def _time_is_up(self) -> None:
        if self._ended is not None:
            self._doing.leave('aborted')
            self._end('aborted', f'no result within {self._limit:g} s')

    def _end(self, said: str, why: str = '') -> None:
        ended, self._ended = self._ended, None
        if ended is None:
            return
        behaviour, now = self._doing.behaviour, self._life.time
        text = why or behaviour.text
        if said == 'succeeded':
            ended(WorkResult('executed', now, text or said, result=behaviour.values or None,
                             evidence=[work_evidence(self._spec.kind, text, now)], steps_done=1))
        elif said == 'canceled' and behaviour.result != 'canceled':
            ended(WorkResult('canceled', now, said))
        else:
            ended(WorkResult('failed', now, text or said, error_code=ErrorCode.WORK_FAILED,
                             error_msg=f'{self._spec.kind}: {text or said}'))
