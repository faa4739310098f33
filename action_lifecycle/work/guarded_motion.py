# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The motion of one action: does its steps in order, guards them, confirms their stop.

Whatever ends it, only a success counts by the server's word, as `confirm` judges it. After every
other end, the sensors must show `stopped`.

The bridge runs it with ROS (`nodes.bridge.motion`), the kit for tests on a stepped clock
(`testing.stepped_world`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import dataclasses
from dataclasses import dataclass
from typing import Any

from .bridge_work import BridgeWork
from .call import CallSpec
from .goal_values import LATER, resolve
from .motion import MotionSpec
from .motion_host import MotionHost, StepEnd
from .motion_steps import MotionSteps
from .publish import PublishSpec
from .standstill import standstill_of
from ..documents.errors import DocumentError, LifecycleError
from ..lifecycle.futures import settle
from ..lifecycle.ports import (
    Condition,
    Handle,
    knows,
    MotionRequest,
    MotionStep,
    UNSEEN,
    WorkResult,
)
from ..lifecycle.states import ErrorCode, FOREIGN_GOAL
from ..lifecycle.text_format import joined
from ..world.condition import compile_condition, WatchOutcome, WatchResult
from ..world.evidence import Evidence, TruthValue
from ..world.safety.safety import Safety
from ..world.unmet_conditions import unmet_text, unseen_text
from ..world.watches import Watch

FOREIGN_PERIOD = 0.1  #: polling period (s) for the end of other clients' goals
FOLLOWED_UNGUARDED = 2.0
"""Maximum time (s) for which a motion is followed after a restart while `maintain` is unknown: its
topics have to be discovered first."""
POLL_PERIOD = 0.02  #: polling period (s) for safety to be READY and for the facts of a goal


@dataclass(frozen=True)
class _Stop:
    code: ErrorCode
    message: str
    asked: float  #: ROS time in s
    evidence: Sequence[Evidence] = ()


class GuardedMotion:
    """A running motion; `done` is a future of its WorkResult."""

    def __init__(self, host: MotionHost, request: MotionRequest) -> None:
        self.request = request
        self.done: Any = host.future()
        self.noted: Callable[[Watch], None] | None = None  #: notes the verdicts of `maintain`
        self.callers: set[bytes] = set()  #: who has asked for it, and follows it; for the process
        self.standstill = standstill_of(request, host.model.facts, host.full_name)
        self.steps = MotionSteps(host, request, lambda message: self.stop(
            ErrorCode.MOTION_TIMEOUT, message), self.standstill.whole)
        self._host = host
        self._stop: _Stop | None = None
        self._ended = False  #: by itself; the sensors judge whether it stands
        self._too_late: Any = host.future()
        self._known: Any = host.future()
        self._deadline: Handle | None = None
        self._unguarded: Handle | None = None
        self._result = WorkResult('failed', 0.0)

    # -- called by the process

    async def run(self) -> WorkResult:
        """
        Execute the motion, or follow the one already sent (`resume`), to its end.

        Without a goal id, only judge whether what its steps have set going stands.
        """
        maintain, resume = None, self.request.resume
        try:
            if not self.request.goal_id:
                return await self._only_confirm_stop()
            if resume:
                self._guard_resumed()
                fault = self.steps.follow()
                if fault:
                    self.stop(ErrorCode.INVALID_REQUEST, fault)
            await self._until_guarded()
            if self._stop is None and self.request.maintain:
                maintain = self._host.model.maintain(
                    self.request.maintain, self._host.now(), self._violated,
                    names=self.request.parameters, on_update=self.noted)
                self._host.watch_opened()
            if resume:
                await self._follow()
            else:
                await self._run_steps()
            if self._stop is not None or self._result.outcome not in ('executed', 'not_running') \
                    or not self._result.stopped:
                await self._confirm_stop()
        except LifecycleError as error:
            self._fail(ErrorCode.INVALID_REQUEST, str(error), stopped=not self.steps.sent)
        except Exception as error:
            self._fail(ErrorCode.INTERNAL, repr(error), stopped=not self.steps.sent)
            raise
        finally:
            self.steps.cancel()
            if maintain is not None:
                maintain.cancel()
            for timeout in (self._deadline, self._unguarded):
                if timeout is not None:
                    timeout.cancel()
            self._result.ended = self._result.ended or self._host.now()
            self.done.set_result(self._result)
        return self._result

    def stop(
        self, code: ErrorCode, message: str | Callable[[], str],
        evidence: Sequence[Evidence] = (),
    ) -> None:
        """
        Stop the motion; only the first call has an effect.

        `message`: a function is called after the cancel has been sent.
        """
        if self._stop is not None or self._ended or self.done.done():
            return
        self._stop = stop = _Stop(code, '', self._host.now(), evidence)
        self.steps.cancel()
        self._stop = dataclasses.replace(
            stop, message=message if isinstance(message, str) else message())
        self._deadline = self._host.later(
            self.request.stop_timeout, self._stop_time_is_up)
        settle(self._known)

    # -- the steps

    async def _run_steps(self) -> None:
        for index in range(len(self.request.steps)):
            end = await self._run_step(index)
            if end is None or not self._record_end(end):
                return
        self._result.outcome = 'executed'

    async def _run_step(self, index: int) -> StepEnd | None:
        """Send the goal of a step when it may be sent; None: it was not sent."""
        step = self.request.steps[index]
        limit = self._host.steady() + step.server_timeout
        goal = None
        while goal is None or self._host.trouble() is not None or self.steps.foreign(index):
            if self._foreign(index):
                if not await self._until_free(index):
                    return None
                limit = self._host.steady() + step.server_timeout
            if not await self._until_ready(index, limit):
                return None
            if self.steps.progress.state:  # of the step before, or of another wait
                self.steps.show(index, 'waiting_for_server')
            goal = await self._filled(step, self.steps.works[index])
            if goal is None or self._stop is not None \
                    or not await self._until_is_known(index):
                return None
        self._host.motion_begins()
        end = await self.steps.run(index, goal)
        if end.code is FOREIGN_GOAL and not end.sent and self._waits_for_others(index) \
                and self._stop is None:  # heard of when its server was found
            return await self._run_step(index)
        return end

    def _waits_for_others(self, index: int) -> bool:
        work = self.steps.works[index]
        return isinstance(work, MotionSpec) and work.foreign_goals == 'wait'

    def _foreign(self, index: int) -> str:
        """Return which goal forbids to send that of a step; of the first one, any later's too."""
        last = len(self.steps.works) if index == 0 else index + 1
        return next(filter(None, map(self.steps.foreign, range(index, last))), '')

    async def _until_free(self, index: int) -> bool:
        """Wait until other clients' goals have ended, or fail; returns whether to go on."""
        while self._stop is None and (foreign := self._foreign(index)):
            if not self._waits_for_others(index):
                self._fail(FOREIGN_GOAL, f'nothing was sent: {foreign}')
                return False
            waits = f'waits for its end: {foreign}'
            if self.steps.progress.state != waits:
                self._host.log(f'motion {self.request.goal_id}: {waits}')
                self.steps.show(index, waits)
            await self._sleep(FOREIGN_PERIOD)
        waits = 'waits for standstill: ' + ' and '.join(
            condition.expression for condition in self.standstill.conditions)
        while self.standstill.conditions and self._stop is None:
            self.steps.show(index, waits)
            judged = await self._until_judged(
                lambda then: self._stands(self._host.now(), then))
            if judged is not None and judged.outcome is WatchOutcome.CONFIRMED:
                break
        return self._stop is None

    async def _until_ready(self, index: int, limit: float) -> bool:
        """Wait for safety to be READY until `limit` (steady time, s); returns whether it is."""
        host = self._host
        while self._stop is None:
            trouble = host.trouble()
            if trouble is None:
                return True
            if trouble.state is Safety.STOPPED or host.steady() >= limit:
                self._fail(trouble.code, trouble.message)
                return False
            waits = f'waits for READY: {trouble.reason}'
            if self.steps.progress.state != waits:
                host.log(f'motion {self.request.goal_id}: {waits}')
                self.steps.show(index, waits)
            await self._sleep(POLL_PERIOD)
        return False

    def _record_end(self, end: StepEnd) -> bool:
        """Record the end of a step; returns whether the next step may follow."""
        result = self._result
        if end.said or end.message:
            result.controller_said = end.message
        result.result = end.plain_result()
        result.results = [*result.results, result.result]
        result.evidence = end.evidence or result.evidence
        result.ended = end.ended
        result.stopped = end.stopped
        if end.said == 'succeeded':
            result.steps_done += 1
            return True
        if self._stop is None:
            # If it is unknown whether it was carried out, only the sensors can show a stop.
            self._fail(end.code, end.message, stopped=end.stopped or (
                end.unknown and not self.standstill.whole))
            if end.unknown:
                result.outcome = 'not_running'
        return False

    async def _filled(self, step: MotionStep, work: BridgeWork) -> Any | None:
        """Return the goal with the current facts filled in; None if it can't be sent."""
        host = self._host
        limit = host.steady() + max(step.server_timeout, POLL_PERIOD)
        while True:
            missing: list[str] = []

            def value_of(text: str, path: str, missing: list[str] = missing) -> Any:
                value, why = host.model.expression(text, host.now(), self.request.parameters)
                if value is None:
                    missing.append(f'{path}: {text}: {why}')
                    return LATER
                return value

            try:
                data = resolve(step.goal, value_of, work.data_field)
            except DocumentError as error:
                self._fail(ErrorCode.GOAL_INVALID, str(error))
                return None
            if not missing:
                goal, fault = host.goal_of(step, work, data)
                if fault:
                    self._fail(ErrorCode.GOAL_INVALID, fault)
                return None if fault else goal
            if self._stop is not None or host.steady() >= limit:
                self._fail(ErrorCode.GOAL_INVALID, '; '.join(missing))
                return None
            await self._sleep(POLL_PERIOD)

    # -- following after a restart

    def _guard_resumed(self) -> None:
        """
        Stop a resumed motion if safety is STOPPED, or does not become READY in time.

        A bridge that has just started has not received its safety topics yet.
        """
        def stop_unless_ready() -> None:
            trouble = self._host.trouble()
            if trouble is not None:
                self.stop(trouble.code, trouble.message)

        self._host.motion_begins()
        trouble = self._host.trouble()
        if trouble is not None and trouble.state is Safety.STOPPED:
            self.stop(trouble.code, trouble.message)
        elif trouble is not None:
            patience = max(step.server_timeout for step in self.request.steps)
            self._unguarded = self._host.later(patience, stop_unless_ready)

    async def _follow(self) -> None:
        """
        Await the end of the last step that was begun.

        A step is begun only when the one before it has succeeded. If it is not known whether a
        step moves, since its server is not there or went away, it may have been begun, unless one
        before it has not succeeded. Nobody knows calls and publications of an earlier process: the
        sensors are asked.
        """
        result, sensors = self._result, self.standstill.whole
        all_ended, unknown = True, None
        for index, work in reversed(list(enumerate(self.steps.works))):
            end = await self.steps.end_of(index)
            if end.said:
                result.results = [None] * index
                result.steps_done = index
                if not self._record_end(end):
                    return
                break
            result.controller_said = end.message
            if not work.has_id:
                all_ended &= not sensors and (end.stopped or isinstance(work, CallSpec))
            elif end.code is not ErrorCode.GOAL_UNKNOWN:
                all_ended, unknown = False, unknown or end
        result.outcome = 'executed' if result.steps_done == len(self.steps.works) \
            else 'not_running'
        result.stopped = all_ended
        if unknown is not None and unknown.code is not ErrorCode.SERVER_MISSING:
            self._fail(unknown.code, unknown.message, stopped=False)
        elif unknown is not None:
            result.error_msg = unknown.message

    # -- conditions

    async def _until_known(self, conditions: Sequence[Condition]) -> WatchResult | None:
        """Wait until conditions are known, at most their time limit; None: stopped, or none."""
        if not conditions or self._stop is not None:
            return None
        return await self._until_judged(lambda then: self._host.model.until_known(
            conditions, self._host.now(), then, names=self.request.parameters))

    async def _until_judged(
        self, watched: Callable[[Callable[[WatchResult], None]], Watch]
    ) -> WatchResult | None:
        """Open a watch and await its result; None: stopped."""
        self._known = known = self._host.future()
        watch = watched(lambda result: settle(known, result))
        self._host.watch_opened()
        result: WatchResult | None = await known
        watch.cancel()
        return result

    async def _until_guarded(self) -> None:
        """Wait until it is known whether `maintain` holds; without that, nothing is sent."""
        patience = FOLLOWED_UNGUARDED if self.request.resume \
            else max(step.server_timeout for step in self.request.steps)
        judged = await self._until_known([
            dataclasses.replace(condition, hold=0.0, within=max(condition.within, patience))
            for condition in self.request.maintain])
        if judged is not None and not self.request.resume and any(
                entry.verdict is TruthValue.UNKNOWN for entry in judged.evidence):
            self._violated(judged)

    async def _until_seen(self) -> bool:
        """Wait until the facts that will show the outcome have values; nothing is sent before."""
        request, facts = self.request, self._host.model.facts
        patience = request.steps[0].server_timeout
        judged = await self._until_known([
            Condition('confirm', knows(name), within=patience, max_age=condition.max_age)
            for condition in request.confirm if condition.name != UNSEEN
            for name in compile_condition(condition.expression, facts, request.parameters).names
            if name in facts and name not in facts.fixed])
        unseen = '' if judged is None else unseen_text(judged.evidence, self._host.topics)
        if unseen:
            self._fail(ErrorCode.REQUIRE_UNKNOWN, 'nothing was sent: the outcome could not be '
                       f'confirmed: {unseen}. If it is only seen after the motion, write '
                       '`confirm_unseen: allow`')
        return not unseen and self._stop is None

    async def _until_is_known(self, index: int) -> bool:
        """Wait until the conditions that show its end are known; nothing is sent before."""
        if index == 0 and not await self._until_seen():
            return False
        work = self.steps.works[index]
        if not (isinstance(work, PublishSpec) and work.until):
            return True
        judged = await self._until_known([dataclasses.replace(
            work.until_condition(), hold=0.0, within=work.server_timeout)])
        if judged is None:
            return False
        if any(entry.verdict is TruthValue.UNKNOWN for entry in judged.evidence):
            self._fail(ErrorCode.UNTIL_TIMEOUT, 'nothing was sent: '
                       + unmet_text(judged.evidence, self._host.topics))
            return False
        return True

    def _violated(self, result: WatchResult) -> None:
        def message() -> str:
            return 'not maintained: ' + unmet_text(
                [entry for entry in result.evidence if entry.verdict is not TruthValue.TRUE],
                self._host.topics)

        self.stop(ErrorCode.MAINTAIN_VIOLATED, message, result.evidence)

    # -- stopping

    def _stop_time_is_up(self) -> None:
        settle(self._too_late)
        self.steps.give_up()

    async def _confirm_stop(self) -> None:
        """Confirm by the sensors that nothing moves; sets the end of a stopped motion."""
        stop = self._stop
        result = self._result
        self._ended = True
        if stop is not None:
            result.outcome = 'canceled' if stop.code is ErrorCode.CANCELED else 'failed'
            result.error_code, result.error_msg = stop.code, stop.message
            result.evidence = [entry.as_dict() for entry in stop.evidence]
        if not self.steps.sent:
            result.stopped = True
            return
        said = result.controller_said
        if result.stopped or said in result.error_msg:
            said = ''
        why = said or 'the server gave no word'
        if self.standstill.conditions and not self._too_late.done():
            if self._deadline is None:
                self._deadline = self._host.later(
                    self.request.stop_timeout, self._stop_time_is_up)
            stands, unmet = await self._sensors_confirm_stop(
                stop.asked if stop is not None else result.ended or self._host.now())
            result.stopped = stands and (self.standstill.whole or result.stopped)
            why = why if stands else joined(unmet, said)
        if not result.stopped:
            late = f'not seen to stop within {self.request.stop_timeout:g} s: {why}'
            result.error_msg = joined(result.error_msg, late)
            if stop is not None:
                result.error_code = ErrorCode.STOP_UNCONFIRMED

    async def _only_confirm_stop(self) -> WorkResult:
        """Judge a motion whose end is known."""
        result = self._result
        self.steps.sent = True
        await self._confirm_stop()
        if result.stopped:
            result.outcome = 'not_running'
        else:
            result.error_code = ErrorCode.STOP_UNCONFIRMED
        return result

    def _stands(self, after: float, then: Callable[[WatchResult], None]) -> Watch:
        """Watch until all that shows a standstill is true, with samples from after `after`."""
        return self._host.model.confirm(
            map(_patient, self.standstill.conditions), self._host.now(), then, after=after,
            names=self.standstill.names)

    async def _sensors_confirm_stop(self, after: float) -> tuple[bool, str]:
        host = self._host
        judged: Any = host.future()
        watch = self._stands(after, lambda result: settle(judged, result))
        host.watch_opened()
        self._too_late.add_done_callback(lambda future: settle(judged))
        result = await judged
        watch.cancel()
        if result is None:
            return False, unmet_text(watch.evidence(host.now()), self._host.topics)
        return result.outcome is WatchOutcome.CONFIRMED, unmet_text(
            result.evidence, self._host.topics)

    # -- helpers

    async def _sleep(self, seconds: float) -> None:
        over = self._host.future()
        self._host.later(seconds, lambda: settle(over))
        await over

    def _fail(self, code: ErrorCode, message: str, *, stopped: bool = True) -> None:
        result = self._result
        result.outcome = 'canceled' if code is ErrorCode.MOTION_CANCELED else 'failed'
        result.error_code, result.error_msg, result.stopped = code, message, stopped


def _patient(condition: Condition) -> Condition:
    """Return the condition of a standstill with a long time limit."""
    return dataclasses.replace(condition, name='stopped', within=condition.hold + 3600.0)
