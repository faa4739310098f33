# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The lifecycle's world on a stepped clock: a world model, and servers that do the steps of motions.

It does what the bridge does, without ROS: the same world model judges the same conditions, and a
motion is guarded, stopped and confirmed in the same order with the same error codes. Goals are
mappings; they are not checked against ROS types and limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol

from .stepped_clock import Later, SteppedClock
from ..lifecycle.ports import (
    Condition,
    Confirmation,
    ConfirmRequest,
    Evidence,
    Handle,
    MotionRequest,
    MotionStep,
    WorkResult,
)
from ..lifecycle.states import ErrorCode
from ..world.condition import WatchOutcome, WatchResult
from ..world.evidence import plain_value, TruthValue
from ..world.facts.facts import FactSet
from ..world.model import WorldModel
from ..world.unmet_conditions import confirmation, Topics, unmet_text

WAIT_STEP = 0.02  #: s between two looks for the facts of a goal
STOP_WAIT = 3600.0  #: s; the stop's own time limit comes first

CODES = {'aborted': ErrorCode.MOTION_ABORTED, 'canceled': ErrorCode.MOTION_CANCELED,
         'rejected': ErrorCode.GOAL_REJECTED, 'missing': ErrorCode.SERVER_MISSING}
"""The error codes of ends that have none of their own."""


@dataclass(frozen=True)
class StepEnd:
    """
    The end of a step.

    `said`: succeeded, aborted, canceled, rejected or missing (there is no server).
    """

    said: str
    text: str = ''
    result: Any = None
    code: ErrorCode = ErrorCode.NONE
    evidence: Sequence[Evidence] = ()


class Server(Protocol):
    """Does the steps of motions."""

    def begin(
        self, step: MotionStep, goal: Mapping[str, Any], key: str,
        ended: Callable[[StepEnd], None],
    ) -> Handle:
        """Begin a step; `ended` is called once, later. `key` identifies the goal."""

    def follow(self, key: str, ended: Callable[[StepEnd], None]) -> Handle | None:
        """Follow a goal that an earlier process has sent; None: it is not known."""


class SteppedWorld:
    """A `lifecycle.ports.World`; samples are passed to its `model`."""

    def __init__(self, facts: FactSet, clock: SteppedClock, server: Server) -> None:
        self.model = WorldModel(facts)
        self.clock = clock
        self.server = server
        self.refusal: tuple[ErrorCode, str] | None = None  #: why no motion may run, such as ESTOP
        self.topics = Topics({}, lambda topic: '')
        self._motions: list[SteppedMotion] = []

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> SteppedMotion:
        """Execute the steps of a motion, or follow them (`resume`)."""
        def ended(found: WorkResult) -> None:
            self._motions.remove(motion)
            result(found)

        motion = SteppedMotion(self, request, ended)
        self._motions.append(motion)
        self.clock.call_soon(motion.begin)
        return motion

    def stop(self, code: ErrorCode, message: str) -> None:
        """Stop all motions, and refuse others until `refusal` is None again."""
        self.refusal = code, message
        for motion in list(self._motions):
            motion.stop(code, message)

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


class SteppedMotion:
    """The steps of one motion, one after the other."""

    def __init__(
        self, world: SteppedWorld, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> None:
        self._world = world
        self._request = request
        self._on_result = result
        self._found = WorkResult('failed', 0.0)
        self._stop: tuple[ErrorCode, str, float] | None = None
        self._step: Handle | None = None  #: that is under way
        self._timers: list[Later] = []
        self._maintain: Handle | None = None
        self._watch: Handle | None = None
        self._sent = request.resume
        self._ended = False

    def begin(self) -> None:
        """Begin with the first step, or follow the last one that was sent."""
        if self._ended:
            return
        world, request = self._world, self._request
        if world.refusal is not None:
            self.stop(*world.refusal)
        elif request.maintain:
            self._maintain = world.model.maintain(
                request.maintain, world.clock.time, self._violated, names=request.parameters)
        if request.resume:
            self._follow()
        else:
            self._next(0, world.clock.time)

    def cancel(self) -> None:
        """Stop the motion; its result follows."""
        self.stop(ErrorCode.CANCELED, 'canceled')

    def stop(
        self, code: ErrorCode, message: str, evidence: Sequence[Evidence] = ()
    ) -> None:
        """Stop the motion; only the first call has an effect."""
        if self._stop is not None or self._ended:
            return
        self._stop = code, message, self._world.clock.time
        self._found.evidence = evidence
        if self._step is not None:
            self._timers.append(self._world.clock.call_later(
                self._request.stop_timeout, self._give_up))
            self._step.cancel()

    # -- steps

    def _next(self, index: int, since: float) -> None:
        """Begin a step when the facts that it needs are known; `since`: begin (s) of the wait."""
        request, world = self._request, self._world
        if self._ended:
            return
        if self._stop is not None:
            self._see_stopped()
        elif index == len(request.steps):
            self._found.outcome = 'executed'
            self._end()
        else:
            step = request.steps[index]
            missing: list[str] = []
            goal = self._filled(step.goal, missing)
            if not missing:
                self._begin(index, step, goal)
            elif world.clock.time >= since + step.server_timeout:
                self._fail(ErrorCode.GOAL_INVALID, '; '.join(missing))
            else:
                world.clock.call_later(WAIT_STEP, lambda: self._next(index, since))

    def _begin(self, index: int, step: MotionStep, goal: Mapping[str, Any]) -> None:
        self._request.told(index, 'executing')
        self._sent = True
        self._await(index, self._world.server.begin(
            step, goal, f'{self._request.goal_id}/{index}', lambda end: self._done(index, end)))

    def _await(self, index: int, step: Handle) -> None:
        given = self._request.steps[index]
        if given.timeout > 0:
            self._timers.append(self._world.clock.call_later(given.timeout, lambda: self.stop(
                ErrorCode.MOTION_TIMEOUT,
                f"server '{given.server}' gave no result within {given.timeout:g} s")))
        self._step = step

    def _done(self, index: int, end: StepEnd) -> None:
        found, world = self._found, self._world
        if self._ended:
            return
        self._step = None
        self._drop_timers()
        found.controller_said = end.text or end.said
        found.result = end.result
        found.results = [*found.results, end.result]
        found.ended = world.clock.time
        found.evidence = found.evidence or end.evidence
        if end.said == 'succeeded':
            found.steps_done = index + 1
            self._next(index + 1, world.clock.time)
        elif self._stop is not None:
            self._see_stopped()
        else:
            self._fail(end.code or CODES[end.said],
                       f"server '{self._request.steps[index].server}' {end.said}"
                       + (end.text and f': {end.text}'))

    def _follow(self) -> None:
        """Follow the last step that was sent; the steps after it were not."""
        server, request = self._world.server, self._request
        for index in reversed(range(len(request.steps))):
            def ended(end: StepEnd, index: int = index) -> None:
                if end.said == 'succeeded' and index + 1 < len(request.steps):
                    self._found.steps_done = index + 1
                    self._not_running('')
                else:
                    self._done(index, end)

            step = server.follow(f'{request.goal_id}/{index}', ended)
            if step is not None:
                self._await(index, step)
                if self._stop is not None:
                    step.cancel()
                return
        self._not_running('no server knows the goal')

    def _not_running(self, message: str) -> None:
        self._found.outcome, self._found.error_msg = 'not_running', message
        self._end()

    def _filled(self, data: Any, missing: list[str]) -> Any:
        """Return a goal with the values of its {fact: …} and {expr: …}."""
        if isinstance(data, dict):
            if len(data) == 1 and next(iter(data)) in ('fact', 'expr'):
                text = str(next(iter(data.values())))
                value, why = self._world.model.expression(
                    text, self._world.clock.time, self._request.parameters)
                if value is None:
                    missing.append(f'{text}: {why}')
                    return None
                return plain_value(value)
            return {key: self._filled(value, missing) for key, value in data.items()}
        if isinstance(data, list):
            return [self._filled(value, missing) for value in data]
        return data

    # -- the end

    def _violated(self, found: WatchResult) -> None:
        unmet = [entry for entry in found.evidence if entry.verdict is not TruthValue.TRUE]
        self.stop(ErrorCode.MAINTAIN_VIOLATED,
                  'not maintained: ' + unmet_text(unmet, self._world.topics),
                  [entry.as_dict() for entry in found.evidence])

    def _give_up(self) -> None:
        """End, since the stop was not seen in time."""
        if self._watch is not None:
            self._watch.cancel()
        assert self._stop is not None
        _, message, _ = self._stop
        self._found.stopped = False
        self._fail(ErrorCode.STOP_UNCONFIRMED,
                   f'{message}; not seen to stop within {self._request.stop_timeout:g} s',
                   stopped=False)

    def _see_stopped(self) -> None:
        """Confirm by the sensors that nothing moves."""
        assert self._stop is not None
        code, message, asked = self._stop
        condition = self._request.stopped
        if condition is None or not self._sent:
            self._fail(code, message)
            return
        clock = self._world.clock
        self._timers.append(clock.call_later(
            max(0.0, asked + self._request.stop_timeout - clock.time), self._give_up))

        def judged(found: WatchResult) -> None:
            if found.outcome is WatchOutcome.CONFIRMED:
                self._fail(code, message)

        self._watch = self._world.model.confirm(
            [Condition('stopped', condition.expression, condition.hold,
                       condition.hold + STOP_WAIT, condition.max_age)],
            clock.time, judged, after=asked, names=self._request.parameters)

    def _fail(self, code: ErrorCode, message: str, *, stopped: bool = True) -> None:
        found = self._found
        found.outcome = 'canceled' if code in (
            ErrorCode.CANCELED, ErrorCode.MOTION_CANCELED) else 'failed'
        found.error_code, found.error_msg, found.stopped = code, message, stopped
        self._end()

    def _drop_timers(self) -> None:
        """Cancel the time limits of a step that has ended."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _end(self) -> None:
        self._ended = True
        self._drop_timers()
        if self._maintain is not None:
            self._maintain.cancel()
        self._found.ended = self._found.ended or self._world.clock.time
        self._on_result(self._found)
