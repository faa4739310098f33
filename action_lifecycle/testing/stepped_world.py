# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The lifecycle's world on a stepped clock: a world model, and servers that do the steps of motions.

It does what the bridge does, without ROS: the same world model judges the same conditions, and a
motion is guarded, stopped, followed and confirmed as by `nodes.bridge.motion.BridgeMotion`, with
the same error codes. Goals are mappings; they are not checked against ROS types and limits.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from .stepped_clock import Later, SteppedClock
from ..lifecycle.ports import (
    Condition,
    Confirmation,
    ConfirmRequest,
    Evidence,
    Handle,
    MotionRequest,
    WorkResult,
)
from ..lifecycle.states import ErrorCode
from ..work.bridge_work import BridgeWork, work_of_step
from ..work.call import CallSpec
from ..work.publish import PublishSpec
from ..world.condition import WatchOutcome, WatchResult
from ..world.evidence import plain_value, TruthValue
from ..world.facts.facts import FactSet
from ..world.model import WorldModel
from ..world.unmet_conditions import confirmation, Topics, unmet_text

POLL_PERIOD = 0.02  #: s between two looks for the facts of a goal
STOP_WAIT = 3600.0  #: s; the time limit of the stop comes first
PATIENCE = 0.5
"""Part of `stop_timeout` for which a canceled call waits for its response, before the sensors."""


class Future:
    """A result that comes later; can be awaited by a coroutine that `start` runs."""

    def __init__(self) -> None:
        self._result: Any = None
        self._done = False
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        """Whether the result is there."""
        return self._done

    def result(self) -> Any:
        """Return the result."""
        return self._result

    def set_result(self, result: Any = None) -> None:
        """Set the result; only the first one counts."""
        if not self._done:
            self._result, self._done = result, True
            for callback in self._callbacks:
                callback()

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        """Call back when the result is there."""
        callback() if self._done else self._callbacks.append(callback)

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
    awaited.add_done_callback(lambda: clock.call_soon(lambda: start(coroutine, clock)))


@dataclass(frozen=True)
class StepEnd:
    """
    The end of a step; as `ros.calls.goal_end.GoalEnd`.

    `said`: succeeded, canceled or aborted, '' if there is no result. `stopped`: nothing moves.
    `unknown`: it was sent, and may have been carried out or not.
    """

    said: str
    code: ErrorCode = ErrorCode.NONE
    message: str = ''
    stopped: bool = True
    result: Any = None
    sent: bool = True
    unknown: bool = False
    evidence: Sequence[Evidence] = ()


class StepGoal(Protocol):
    """A goal, a call or a publication; `done` is a future of its `StepEnd`."""

    done: Future

    def cancel(self) -> None:
        """Cancel it; `done` is still set."""

    def give_up(self) -> None:
        """Stop waiting for its end."""


Watch = Callable[[Condition, Callable[[Confirmation], None]], Handle]
"""Confirms the condition that ends a publication."""


@dataclass(frozen=True)
class Sender:
    """Who sends a step: its process, and what the step may use of it."""

    clock: SteppedClock  #: of the process: nothing is called back after its end
    action_id: str
    watch: Watch
    parameters: Mapping[str, Any]
    last_word: float  #: s for which a canceled call waits for its response


class Server(Protocol):
    """Does the steps of motions."""

    def send(self, work: BridgeWork, goal: Any, key: str, sender: Sender) -> StepGoal:
        """Begin a step; `key` identifies it."""

    def follow(self, work: BridgeWork, key: str, sender: Sender) -> StepGoal:
        """Follow a step that an earlier process may have begun."""


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
        self.clock.call_soon(lambda: start(motion.run(), self.clock))
        return motion

    def stop(self, code: ErrorCode, message: str) -> None:
        """Stop all motions, and refuse others until `refusal` is None again."""
        self.refusal = code, message
        for motion in list(self._motions):
            motion.stop(code, message)

    def sender(
        self, action_id: str, parameters: Mapping[str, Any], last_word: float
    ) -> Sender:
        """Return the sender of the steps of an action."""
        return Sender(self.clock, action_id, lambda condition, judged: self.model.confirm(
            [condition], self.clock.time, lambda found: judged(self.confirmation(found)),
            names=parameters), parameters, last_word)

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


@dataclass(frozen=True)
class _Stop:
    code: ErrorCode
    message: str
    asked: float  #: s
    evidence: Sequence[Evidence] = ()


class SteppedMotion:
    """One motion, from its first step to its end."""

    def __init__(
        self, world: SteppedWorld, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> None:
        self._world = world
        self._clock = world.clock
        self._request = request
        self._on_result = result
        self._works = list(map(work_of_step, request.steps))
        self._found = WorkResult('failed', 0.0)
        self._stop: _Stop | None = None
        self._open: dict[int, StepGoal] = {}
        self._sent = False
        self._known = Future()
        self._too_late = Future()
        self._deadline: Later | None = None
        self._ended = False

    async def run(self) -> None:
        """Execute the motion, or follow the one already sent, to its end."""
        world, request, maintain = self._world, self._request, None
        if request.resume:
            if world.refusal is not None:
                self.stop(*world.refusal)
            self._follow_all()
        await self._until_known(request.maintain)
        if self._stop is None and request.maintain:
            maintain = world.model.maintain(
                request.maintain, self._clock.time, self._violated, names=request.parameters)
        if request.resume:
            await self._follow()
        else:
            await self._run_steps()
        if self._stop is not None or not self._found.stopped:
            await self._confirm_stop()
        for part in (maintain, self._deadline):
            if part is not None:
                part.cancel()
        self._ended = True
        self._found.ended = self._found.ended or self._clock.time
        self._on_result(self._found)

    def cancel(self) -> None:
        """Stop the motion; its result follows."""
        self.stop(ErrorCode.CANCELED, 'canceled')

    def stop(
        self, code: ErrorCode, message: str, evidence: Sequence[Evidence] = ()
    ) -> None:
        """Stop the motion; only the first call has an effect."""
        if self._stop is not None or self._ended:
            return
        self._stop = _Stop(code, message, self._clock.time, evidence)
        for goal in list(self._open.values()):
            goal.cancel()
        self._set_deadline()
        self._known.set_result()

    # -- the steps

    async def _run_steps(self) -> None:
        for index, step in enumerate(self._request.steps):
            if self._stop is not None:
                return
            if self._world.refusal is not None:
                self._fail(*self._world.refusal)
                return
            goal = await self._filled(step.goal, step.server_timeout)
            if goal is None or self._stop is not None or not await self._until_is_known(index):
                return
            self._request.told(index, 'executing')
            self._open[index] = self._world.server.send(
                self._works[index], goal, self._key(index), self._sender())
            if not self._record_end(await self._end_of(index)):
                return
        self._found.outcome = 'executed'

    def _key(self, index: int) -> str:
        return f'{self._request.goal_id}/{index}'

    def _sender(self) -> Sender:
        request = self._request
        return self._world.sender(
            request.action_id, request.parameters, float('inf') if request.stopped is None
            else PATIENCE * request.stop_timeout)

    async def _end_of(self, index: int) -> StepEnd:
        """Await the end of a step; the time limit of a motion counts from now."""
        step, limit = self._request.steps[index], None
        if step.timeout > 0 and self._works[index].has_id:
            limit = self._clock.call_later(step.timeout, lambda: self.stop(
                ErrorCode.MOTION_TIMEOUT,
                f"server '{step.server}' gave no result within {step.timeout:g} s"))
        end: StepEnd = await self._open[index].done
        del self._open[index]
        if limit is not None:
            limit.cancel()
        self._sent = self._sent or end.sent
        return end

    def _record_end(self, end: StepEnd) -> bool:
        """Record the end of a step; returns whether the next step may follow."""
        found = self._found
        found.controller_said = end.message or found.controller_said
        found.result = end.result
        found.results = [*found.results, end.result]
        found.evidence = end.evidence or found.evidence
        found.ended = self._clock.time
        found.stopped = end.stopped
        if end.said == 'succeeded':
            found.steps_done += 1
            return True
        if self._stop is None:
            # If it is unknown whether it was carried out, only the sensors can show a stop.
            self._fail(end.code, end.message, stopped=end.stopped or (
                end.unknown and self._request.stopped is None))
            if end.unknown:
                found.outcome = 'not_running'
        return False

    async def _filled(self, goal: Any, wait: float) -> Any:
        """Return the goal with the values of its {fact: …} and {expr: …}; None: it has none."""
        limit = self._clock.time + max(wait, POLL_PERIOD)
        while True:
            missing: list[str] = []
            filled = self._resolved(goal, missing)
            if not missing:
                return filled
            if self._stop is not None or self._clock.time >= limit:
                self._fail(ErrorCode.GOAL_INVALID, '; '.join(missing))
                return None
            pause = Future()
            self._clock.call_later(POLL_PERIOD, pause.set_result)
            await pause

    def _resolved(self, data: Any, missing: list[str]) -> Any:
        if isinstance(data, dict):
            if len(data) == 1 and next(iter(data)) in ('fact', 'expr'):
                text = str(next(iter(data.values())))
                value, why = self._world.model.expression(
                    text, self._clock.time, self._request.parameters)
                if value is None:
                    missing.append(f'{text}: {why}')
                    return None
                return plain_value(value)
            return {key: self._resolved(value, missing) for key, value in data.items()}
        if isinstance(data, list):
            return [self._resolved(value, missing) for value in data]
        return data

    # -- following after a restart

    def _follow_all(self) -> None:
        """Ask for all steps, so that a stop reaches the one that moves."""
        self._sent = True
        for index, work in enumerate(self._works):
            self._open[index] = self._world.server.follow(work, self._key(index), self._sender())
            if self._stop is not None:
                self._open[index].cancel()
        for index, goal in list(self._open.items()):
            goal.done.add_done_callback(partial(self._rule_out_later, index, goal))

    def _rule_out_later(self, index: int, ended: StepGoal) -> None:
        """Wait no longer for later steps if a step has not succeeded: none of them was sent."""
        if ended.done.result().said not in ('', 'succeeded'):
            for other, goal in list(self._open.items()):
                if other > index:
                    goal.give_up()

    async def _follow(self) -> None:
        """Await the end of the last step that was begun; see BridgeMotion."""
        found, sensors = self._found, self._request.stopped is not None
        all_ended, unknown = True, None
        for index, work in reversed(list(enumerate(self._works))):
            end = await self._end_of(index)
            if end.said:
                found.results = [None] * index
                found.steps_done = index
                if not self._record_end(end):
                    found.stopped &= not (sensors and end.said == 'canceled')
                    return
                break
            found.controller_said = end.message
            if not work.has_id:
                all_ended &= not sensors and (end.stopped or isinstance(work, CallSpec))
            elif end.code is not ErrorCode.GOAL_UNKNOWN:
                all_ended, unknown = False, unknown or end
        found.outcome = 'executed' if found.steps_done == len(self._works) else 'not_running'
        found.stopped = all_ended
        if unknown is not None and unknown.code is not ErrorCode.SERVER_MISSING:
            self._fail(unknown.code, unknown.message, stopped=False)
        elif unknown is not None:
            found.error_msg = unknown.message

    # -- conditions

    async def _until_known(self, conditions: Sequence[Condition]) -> WatchResult | None:
        """Wait until conditions are known, at most their time limit; None: stopped, or none."""
        if not conditions or self._stop is not None:
            return None
        self._known = known = Future()
        watch = self._world.model.until_known(
            conditions, self._clock.time, known.set_result, names=self._request.parameters)
        result: WatchResult | None = await known
        watch.cancel()
        return result

    async def _until_is_known(self, index: int) -> bool:
        """Wait until the condition that ends a publication is known; nothing is sent before."""
        work = self._works[index]
        if not (isinstance(work, PublishSpec) and work.until):
            return True
        judged = await self._until_known([dataclasses.replace(
            work.until_condition(), hold=0.0, within=work.server_timeout)])
        if judged is None:
            return False
        if any(entry.verdict is TruthValue.UNKNOWN for entry in judged.evidence):
            self._fail(ErrorCode.UNTIL_TIMEOUT, 'nothing was sent: '
                       + unmet_text(judged.evidence, self._world.topics))
            return False
        return True

    def _violated(self, found: WatchResult) -> None:
        unmet = [entry for entry in found.evidence if entry.verdict is not TruthValue.TRUE]
        self.stop(ErrorCode.MAINTAIN_VIOLATED,
                  'not maintained: ' + unmet_text(unmet, self._world.topics),
                  [entry.as_dict() for entry in found.evidence])

    # -- stopping

    def _set_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self._clock.call_later(
                self._request.stop_timeout, self._stop_time_is_up)

    def _stop_time_is_up(self) -> None:
        self._too_late.set_result()
        for goal in list(self._open.values()):
            goal.give_up()

    async def _confirm_stop(self) -> None:
        """Confirm by the sensors that nothing moves; sets the end of a stopped motion."""
        stop, found, request = self._stop, self._found, self._request
        if stop is not None:
            found.outcome = 'canceled' if stop.code is ErrorCode.CANCELED else 'failed'
            found.error_code, found.error_msg = stop.code, stop.message
            found.evidence = stop.evidence
        if not self._sent:
            found.stopped = True
            return
        if request.stopped is not None and not self._too_late.done():
            self._set_deadline()
            found.stopped, why = await self._sensors_confirm_stop(
                request.stopped, self._clock.time if stop is None else stop.asked)
        else:
            why = 'the server gave no word'
        if not found.stopped:
            found.error_msg += f'; not seen to stop within {request.stop_timeout:g} s: {why}'
            if stop is not None:
                found.error_code = ErrorCode.STOP_UNCONFIRMED

    async def _sensors_confirm_stop(self, condition: Condition, after: float) -> tuple[bool, str]:
        judged = Future()
        watch = self._world.model.confirm(
            [Condition('stopped', condition.expression, condition.hold,
                       condition.hold + STOP_WAIT, condition.max_age)],
            self._clock.time, judged.set_result, after=after, names=self._request.parameters)
        self._too_late.add_done_callback(judged.set_result)
        result: WatchResult | None = await judged
        watch.cancel()
        topics = self._world.topics
        if result is None:
            return False, unmet_text(watch.evidence(self._clock.time), topics)
        return result.outcome is WatchOutcome.CONFIRMED, unmet_text(result.evidence, topics)

    def _fail(self, code: ErrorCode, message: str, *, stopped: bool = True) -> None:
        found = self._found
        found.outcome = 'canceled' if code is ErrorCode.MOTION_CANCELED else 'failed'
        found.error_code, found.error_msg, found.stopped = code, message, stopped
