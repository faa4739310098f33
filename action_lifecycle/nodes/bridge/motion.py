# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The motion of one action: runs its steps in order, guards them, stops them and confirms the stop.

The goal id of step n is uuid5(goal_id, str(n)), so the journaled goal_id stands for all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import dataclasses
from dataclasses import dataclass
from typing import Any
import uuid

from rclpy.task import Future

from .check import beyond_limits
from .facts import Facts
from .safety_guard import SafetyGuard
from .step_goals import step_goal, StepGoal
from .unmet_conditions import unmet_text
from ...documents.errors import DocumentError, LifecycleError
from ...lifecycle.ports import Condition, MotionRequest, MotionStep, WorkResult
from ...lifecycle.states import ErrorCode
from ...ros.calls.goal_end import GoalEnd
from ...ros.interfaces.message_fields import fill, LATER, resolve
from ...ros.interfaces.types import sent_class
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import settle, sleep, Timeout
from ...work.bridge_work import BridgeWork, work_of_step
from ...work.call import CallSpec
from ...work.publish import PublishSpec
from ...world.condition import WatchOutcome, WatchResult
from ...world.evidence import Evidence, TruthValue
from ...world.safety.safety import Safety

POLL_PERIOD = 0.02  #: polling period (s) for safety to be READY and for the facts of a goal


@dataclass(frozen=True)
class _Stop:
    code: ErrorCode
    message: str
    asked: float  #: ROS time in s
    evidence: Sequence[Evidence] = ()


@dataclass
class MotionProgress:
    """The current step of a motion, its state and its last feedback."""

    step: int = 0
    state: str = ''
    feedback: Any = None


class BridgeMotion:
    """A running motion; `done` is a future of its WorkResult."""

    def __init__(
        self, node: ManagedNode, facts: Facts, guard: SafetyGuard, request: MotionRequest
    ) -> None:
        self.request = request
        self.done: Any = Future()
        self.progress = MotionProgress()
        self.on_progress: list[Callable[..., None]] = []  #: called with at_once=True or False
        self._node = node
        self._facts = facts
        self._guard = guard
        self._goal: StepGoal | None = None
        self._stop: _Stop | None = None
        self._sent = False
        self._too_late: Any = Future()
        self._known: Any = Future()
        self._deadline: Timeout | None = None
        self._limit: Timeout | None = None
        self._unguarded: Timeout | None = None
        self._goal_id = uuid.UUID(request.goal_id)
        self._works = list(map(work_of_step, request.steps))
        self._result = WorkResult('failed', 0.0)

    # -- called by the node

    async def run(self) -> WorkResult:
        """Execute the motion, or follow the one already sent (`resume`), to its end."""
        maintain, resume = None, self.request.resume
        try:
            ended = True
            if resume:
                self._guard_resumed()
                ended = await self._end_publications()
            await self._until_known(self.request.maintain)
            if self._stop is None and self.request.maintain:
                maintain = self._facts.model.maintain(
                    self.request.maintain, self._node.now(), self._violated,
                    names=self.request.parameters)
                self._facts.changed()
            if resume:
                await self._follow(ended)
            else:
                await self._steps()
            if self._stop is not None or not self._result.stopped:
                await self._confirm_stop()
        except LifecycleError as error:
            self._fail(ErrorCode.INVALID_REQUEST, str(error), stopped=not self._sent)
        except Exception as error:
            self._fail(ErrorCode.INTERNAL, repr(error), stopped=not self._sent)
            raise
        finally:
            if self._goal is not None:
                self._goal.cancel()
            if maintain is not None:
                maintain.cancel()
            for timeout in (self._deadline, self._unguarded):
                if timeout is not None:
                    timeout.cancel()
            self._result.ended = self._result.ended or self._node.now()
            self.done.set_result(self._result)
        return self._result

    def stop(self, code: ErrorCode, message: str, evidence: Sequence[Evidence] = ()) -> None:
        """Stop the motion; only the first call has an effect."""
        if self._stop is not None or self.done.done():
            return
        self._stop = _Stop(code, message, self._node.now(), evidence)
        self._deadline = Timeout(self._node, self.request.stop_timeout, self._stop_time_is_up)
        settle(self._known)
        if self._goal is not None:
            self._goal.cancel()

    # -- the steps

    async def _steps(self) -> None:
        for index, step in enumerate(self.request.steps):
            limit = self._node.steady() + step.server_timeout
            goal = None
            while goal is None or self._guard.trouble() is not None:
                if not await self._until_ready(index, limit):
                    return
                self._set_progress(index, 'waiting_for_server')
                goal = await self._filled(step, self._works[index])
                if goal is None or self._stop is not None \
                        or not await self._until_is_known(index):
                    return
            self._guard.note_motion(True)
            if not self._record_end(await self._run_step(index, step, goal)):
                return
        self._result.outcome = 'executed'

    async def _until_ready(self, index: int, limit: float) -> bool:
        """Wait for safety to be READY until `limit` (steady time, s); returns whether it is."""
        node = self._node
        while self._stop is None:
            trouble = self._guard.trouble()
            if trouble is None:
                return True
            if trouble.state is Safety.STOPPED or node.steady() >= limit:
                self._fail(trouble.code, trouble.message)
                return False
            waits = f'waits for READY: {trouble.reason}'
            if self.progress.state != waits:
                node.get_logger().info(f'motion {self._goal_id}: {waits}')
                self._set_progress(index, waits)
            await sleep(node, POLL_PERIOD)
        return False

    async def _run_step(self, index: int, step: MotionStep, goal: Any | None) -> GoalEnd:
        """Send the goal of a step (None: follow the one already sent) and await its end."""
        self._goal = doing = step_goal(
            self._node, self._facts, self.request, uuid.uuid5(self._goal_id, str(index)),
            self._works[index], goal, lambda state: self._entered(index, step, state, goal),
            lambda feedback: self._set_progress(index, self.progress.state, feedback))
        if self._stop is not None:
            doing.cancel()
        end: GoalEnd = await doing.done
        if self._limit is not None:
            self._limit.cancel()
        self._goal = self._limit = None
        self._sent = self._sent or end.sent
        return end

    def _entered(self, index: int, step: MotionStep, state: str, goal: Any | None) -> None:
        """Publish a state of the step, with the goal when sent; starts the step's timeout."""
        if self._limit is None and step.timeout > 0 and self._works[index].has_id \
                and state in ('sent', 'executing'):
            self._limit = Timeout(
                self._node, step.timeout, lambda: self.stop(
                    ErrorCode.MOTION_TIMEOUT, f"server '{step.server}' gave no result within "
                    f'{step.timeout:g} s'), ros_time=True)
        self._set_progress(index, state, goal if state == 'sent' else None)

    def _record_end(self, end: GoalEnd) -> bool:
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
                end.unknown and self.request.stopped is None))
            if end.unknown:
                result.outcome = 'not_running'
        return False

    async def _filled(self, step: MotionStep, work: BridgeWork) -> Any | None:
        """Return the goal message with the current facts filled in; None if it can't be sent."""
        node, model = self._node, self._facts.model
        limit = node.steady() + max(step.server_timeout, POLL_PERIOD)
        while True:
            missing: list[str] = []

            def value_of(text: str, path: str, missing: list[str] = missing) -> Any:
                value, why = model.expression(text, node.now(), self.request.parameters)
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
                break
            if self._stop is not None or node.steady() >= limit:
                self._fail(ErrorCode.GOAL_INVALID, '; '.join(missing))
                return None
            await sleep(node, POLL_PERIOD)
        label = work.data_field
        goal = sent_class(step.kind, step.type)()
        faults = [*fill(goal, data, label)]
        if not faults:
            faults.extend(beyond_limits(node, model.facts, step, goal, label))
        if faults:
            self._fail(ErrorCode.GOAL_INVALID, '; '.join(map(str, faults)))
            return None
        return goal

    # -- following after a restart

    def _guard_resumed(self) -> None:
        """
        Stop a resumed motion if safety is STOPPED, or does not become READY in time.

        A bridge that has just started has not received its safety topics yet.
        """
        def stop_unless_ready() -> None:
            trouble = self._guard.trouble()
            if trouble is not None:
                self.stop(trouble.code, trouble.message)

        self._guard.note_motion(True)
        trouble = self._guard.trouble()
        if trouble is not None and trouble.state is Safety.STOPPED:
            self.stop(trouble.code, trouble.message)
        elif trouble is not None:
            patience = max(step.server_timeout for step in self.request.steps)
            self._unguarded = Timeout(self._node, patience, stop_unless_ready)

    async def _end_publications(self) -> bool:
        """End publications of an earlier process by `finally`; returns whether all have ended."""
        ended = True
        for index, work in enumerate(self._works):
            if isinstance(work, PublishSpec):
                end = await self._run_step(index, self.request.steps[index], None)
                self._result.controller_said = end.message
                ended = ended and end.stopped
        return ended

    async def _follow(self, ended: bool) -> None:
        """
        Find the last goal that a server knows and follow it; all goals before it have ended.

        An earlier process may have sent it, so if a server is not there it is unknown whether the
        robot moves. Nobody knows calls of an earlier process: the sensors are asked. `ended`:
        whether its publications have ended.
        """
        self._sent = True
        steps = self.request.steps
        all_asked = ended
        for index in reversed(range(len(steps))):
            if not self._works[index].has_id:
                all_asked = all_asked and self.request.stopped is None
                if isinstance(self._works[index], CallSpec):
                    end = await self._run_step(index, steps[index], None)
                    self._result.controller_said = end.message
                continue
            self._result.results = [None] * index
            end = await self._run_step(index, steps[index], None)
            if end.code in (ErrorCode.GOAL_UNKNOWN, ErrorCode.SERVER_MISSING):
                all_asked = all_asked and end.code is ErrorCode.GOAL_UNKNOWN
                self._result.controller_said = end.message
                continue
            if self._record_end(end):
                self._result.steps_done = index + 1
                self._result.outcome = 'executed' if index + 1 == len(steps) else 'not_running'
            return
        self._result.stopped = all_asked
        if self._stop is None:
            self._result.outcome = 'not_running'

    # -- conditions

    async def _until_known(self, conditions: Sequence[Condition]) -> WatchResult | None:
        """Wait until conditions are known, at most their time limit; None: stopped, or none."""
        if not conditions or self._stop is not None:
            return None
        self._known = known = Future()
        watch = self._facts.model.until_known(
            conditions, self._node.now(), lambda result: settle(known, result),
            names=self.request.parameters)
        self._facts.changed()
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
                       + unmet_text(judged.evidence, self._facts.names))
            return False
        return True

    def _violated(self, result: WatchResult) -> None:
        broken = [entry for entry in result.evidence if entry.verdict is not TruthValue.TRUE]
        self.stop(ErrorCode.MAINTAIN_VIOLATED,
                  'not maintained: ' + unmet_text(broken, self._facts.names), result.evidence)

    # -- stopping

    def _stop_time_is_up(self) -> None:
        settle(self._too_late)
        if self._goal is not None:
            self._goal.give_up()

    async def _confirm_stop(self) -> None:
        """Confirm by the sensors that nothing moves; sets the end of a stopped motion."""
        stop = self._stop
        result = self._result
        if stop is not None:
            result.outcome = 'canceled' if stop.code is ErrorCode.CANCELED else 'failed'
            result.error_code, result.error_msg = stop.code, stop.message
            result.evidence = [entry.as_dict() for entry in stop.evidence]
        if not self._sent:
            result.stopped = True
            return
        if self.request.stopped is not None and not self._too_late.done():
            if self._deadline is None:
                self._deadline = Timeout(
                    self._node, self.request.stop_timeout, self._stop_time_is_up)
            result.stopped, why = await self._sensors_confirm_stop(
                self.request.stopped, self._node.now() if stop is None else stop.asked)
        else:
            why = 'the server gave no word'
        if not result.stopped:
            result.error_msg += f'; not seen to stop within {self.request.stop_timeout:g} s: {why}'
            if stop is not None:
                result.error_code = ErrorCode.STOP_UNCONFIRMED

    async def _sensors_confirm_stop(self, condition: Condition, after: float) -> tuple[bool, str]:
        model, node = self._facts.model, self._node
        judged: Any = Future()
        patient = Condition('stopped', condition.expression, condition.hold,
                            condition.hold + 3600.0, condition.max_age)
        watch = model.confirm([patient], node.now(), lambda result: settle(judged, result),
                              after=after, names=self.request.parameters)
        self._facts.changed()
        self._too_late.add_done_callback(lambda future: settle(judged))
        result = await judged
        watch.cancel()
        if result is None:
            return False, unmet_text(watch.evidence(node.now()), self._facts.names)
        return result.outcome is WatchOutcome.CONFIRMED, unmet_text(
            result.evidence, self._facts.names)

    # -- helpers

    def _fail(self, code: ErrorCode, message: str, *, stopped: bool = True) -> None:
        result = self._result
        result.outcome = 'canceled' if code is ErrorCode.MOTION_CANCELED else 'failed'
        result.error_code, result.error_msg, result.stopped = code, message, stopped

    def _set_progress(self, step: int, state: str, feedback: Any = None) -> None:
        new = (step, state) != (self.progress.step, self.progress.state)
        if new or feedback is not None:
            self.progress = MotionProgress(step, state, feedback)
            for publish in self.on_progress:
                publish(at_once=new)
