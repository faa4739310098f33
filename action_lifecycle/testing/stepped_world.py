# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The lifecycle's world on a stepped clock: a world model, and servers that do the steps of motions.

It runs the motions of the bridge (`work.guarded_motion`) without ROS. Goals are mappings, which
are not checked against ROS types and limits.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol
import uuid

from .stepped_clock import Later, SteppedClock
from ..lifecycle.ports import (
    Condition,
    Confirmation,
    ConfirmRequest,
    Handle,
    MotionRequest,
    MotionStep,
    WorkResult,
)
from ..lifecycle.states import ErrorCode
from ..work.bridge_work import BridgeWork
from ..work.guarded_motion import GuardedMotion
from ..work.motion_host import StepGoal
from ..world.condition import WatchResult
from ..world.evidence import TruthValue
from ..world.facts.facts import FactSet
from ..world.model import WorldModel
from ..world.safety.safety import Safety, SafetyStatus
from ..world.unmet_conditions import confirmation, Topics, unmet_text


class Future:
    """A result that comes later; can be awaited by a coroutine that `start` runs."""

    def __init__(self) -> None:
        self._result: Any = None
        self._done = False
        self._callbacks: list[Callable[[Any], Any]] = []

    def done(self) -> bool:
        """Whether the result is there."""
        return self._done

    def result(self) -> Any:
        """Return the result."""
        return self._result

    def set_result(self, result: Any) -> None:
        """Set the result; only the first one counts."""
        if not self._done:
            self._result, self._done = result, True
            for callback in self._callbacks:
                callback(self)

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        """Call back with the future when the result is there."""
        callback(self) if self._done else self._callbacks.append(callback)

    def __await__(self) -> Generator[Future, None, Any]:
        if not self._done:
            yield self
        return self._result


def start(coroutine: Coroutine[Future, None, Any], clock: SteppedClock) -> None:
    """Run a coroutine that awaits futures; it continues in callbacks of the clock."""
    try:
        awaited = coroutine.send(None)
    except StopIteration:
        return
    awaited.add_done_callback(lambda done: clock.call_soon(lambda: start(coroutine, clock)))


Watch = Callable[[Condition, Callable[[Confirmation], None]], Handle]
"""Confirms the condition that ends a publication."""


@dataclass(frozen=True)
class Sender:
    """Who sends a step: its process, and what the step may use of it."""

    clock: SteppedClock  #: of the process: nothing is called back after its end
    action_id: str
    watch: Watch
    parameters: Mapping[str, Any]
    last_word: float = 0.0  #: s for which a canceled call waits for its response
    on_state: Callable[[str], None] = lambda state: None


class Server(Protocol):
    """Does the steps of motions."""

    def send(self, work: BridgeWork, goal: Any, key: str, sender: Sender) -> StepGoal:
        """Begin a step; `key` identifies it."""

    def follow(self, work: BridgeWork, key: str, sender: Sender) -> StepGoal:
        """Follow a step that an earlier process may have begun."""

    def foreign_goals(self, name: str) -> Sequence[str]:
        """Return the ids of the goals that other clients have at a server."""


class SteppedWorld:
    """A `lifecycle.ports.World`; samples are passed to its `model`."""

    def __init__(self, facts: FactSet, clock: SteppedClock, server: Server) -> None:
        self.model = WorldModel(facts)
        self.clock = clock
        self.server = server
        self.refusal: SafetyStatus | None = None  #: why no motion may run, such as an e-stop
        self.topics = Topics({}, lambda topic: '')
        self._motions: list[GuardedMotion] = []

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> _Running:
        """Execute the steps of a motion, or follow them (`resume`)."""
        return self._run(request, result)

    def confirm_stop(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> _Running:
        """Judge whether motions have stopped."""
        return self._run(request, result)

    def _run(self, request: MotionRequest, result: Callable[[WorkResult], None]) -> _Running:
        def ended(done: Future) -> None:
            self._motions.remove(motion)
            # Not at once: a coroutine that is dropped with its process ends, too.
            self.clock.call_soon(lambda: result(done.result()))

        motion = GuardedMotion(_Host(self), request)
        motion.done.add_done_callback(ended)
        motion.steps.on_progress.append(
            lambda at_once: request.told(motion.steps.progress.step, motion.steps.progress.state))
        self._motions.append(motion)
        self.clock.call_soon(lambda: start(motion.run(), self.clock))
        return _Running(motion)

    def stop(self, code: ErrorCode, message: str) -> None:
        """Stop all motions, and refuse others until `refusal` is None again."""
        self.refusal = SafetyStatus(Safety.STOPPED, code, message)
        for motion in list(self._motions):
            motion.stop(code, message)

    def sender(
        self, action_id: str, parameters: Mapping[str, Any], **options: Any
    ) -> Sender:
        """Return the sender of the steps of an action; `options`: fields of `Sender`."""
        return Sender(self.clock, action_id, lambda condition, judged: self.model.confirm(
            [condition], self.clock.time, lambda found: judged(self.confirmation(found)),
            names=parameters), parameters, **options)

    def confirmation(self, found: WatchResult) -> Confirmation:
        """Return the result of a watch for the lifecycle."""
        return confirmation(found, self.topics)

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Confirm conditions with samples measured after `request.after`."""
        return self.model.confirm(
            request.conditions, self.clock.time, lambda found: result(self.confirmation(found)),
            after=request.after or -1.0, names=request.parameters)

    def evaluate(
        self, request: ConfirmRequest, wait: float, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Evaluate conditions once; unknown facts are waited for, at most `wait` s."""
        def judged(found: WatchResult) -> None:
            verdicts = {entry.verdict for entry in found.evidence}
            verdict = 'refuted' if TruthValue.FALSE in verdicts else \
                'stale' if TruthValue.UNKNOWN in verdicts else 'confirmed'
            result(Confirmation(
                verdict, [entry.as_dict() for entry in found.evidence],
                note='' if verdict == 'confirmed' else unmet_text(found.evidence, self.topics)))

        return self.model.until_known(
            [dataclasses.replace(condition, hold=0.0, within=wait)
             for condition in request.conditions],
            self.clock.time, judged, names=request.parameters)


class _Running:
    """A running motion, as the lifecycle knows it."""

    def __init__(self, motion: GuardedMotion) -> None:
        self._motion = motion

    def cancel(self) -> None:
        """Stop the motion; its result follows."""
        self._motion.stop(ErrorCode.CANCELED, 'canceled')


class _Host:
    """The stepped world as a `work.motion_host.MotionHost`."""

    def __init__(self, world: SteppedWorld) -> None:
        self.model = world.model
        self.topics = world.topics
        self.now = self.steady = world.clock.now
        self.future = Future
        self._world = world

    def later(
        self, delay: float, callback: Callable[[], None], *, ros_time: bool = False
    ) -> Later:
        """Call back after `delay` (s)."""
        return self._world.clock.call_later(delay, callback)

    def log(self, text: str) -> None:
        """Log nothing."""

    def watch_opened(self) -> None:
        """Do nothing: the deadlines of the model are asked for in each step."""

    def trouble(self) -> SafetyStatus | None:
        """Return why no motion may start."""
        return self._world.refusal

    def motion_begins(self) -> None:
        """Do nothing: a stop is always latched."""

    def full_name(self, name: str) -> str:
        """Return the full name of an action server, a service or a topic; there is one robot."""
        return '/' + name.lstrip('/')

    def goal_of(self, step: MotionStep, work: BridgeWork, data: Any) -> tuple[Any, str]:
        """Return the fields of the goal."""
        return data, ''

    def foreign_goals(self, request: MotionRequest, work: BridgeWork) -> Sequence[str]:
        """Return the ids of the goals that other clients have at the server of a step."""
        return self._world.server.foreign_goals(work.name)

    def step_goal(
        self, request: MotionRequest, goal_id: uuid.UUID, work: BridgeWork, goal: Any | None,
        on_state: Callable[[str], None], on_feedback: Callable[[Any], None],
        refusal: Callable[[], str], last_word: float,
    ) -> StepGoal:
        """Send the goal of a step; None: follow that of an earlier process."""
        sender = self._world.sender(
            request.action_id, request.parameters, on_state=on_state, last_word=last_word)
        if goal is None:
            return self._world.server.follow(work, goal_id.hex, sender)
        return self._world.server.send(work, goal, goal_id.hex, sender)
