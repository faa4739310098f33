# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action ~/execute_motion: executes requests as motions, each goal id at most once."""

from __future__ import annotations

from collections import OrderedDict
import dataclasses
import functools
from typing import Any

from action_lifecycle_msgs.action import ExecuteMotion

from .black_box import BlackBox
from .check import full_name
from .facts import Facts
from .motion import BridgeHost
from .safety_guard import SafetyGuard
from .step_goals import name_fault_of
from .traces import Traces
from ..shared.heartbeat import GoalFeedback
from ...documents.errors import LifecycleError
from ...lifecycle.ports import MotionRequest, WorkResult
from ...lifecycle.states import ErrorCode
from ...ros.conversions.basic import from_uuid, to_json
from ...ros.conversions.motion import CALLER, motion_request_from, motion_result_to
from ...ros.node.diagnostics import Health, OK
from ...ros.node.lifecycle_node import ManagedNode
from ...work.bridge_work import work_of_step
from ...work.goal_values import LATER, resolve
from ...work.guarded_motion import GuardedMotion
from ...work.motion_steps import MotionProgress
from ...work.publish import PublishSpec
from ...work.standstill import Standstill
from ...world.condition import compile_over, condition_faults
from ...world.expressions.constant_values import ConditionParameters
from ...world.facts.facts import FactSet
from ...world.facts.facts_file import TOPIC

REMEMBERED = 100  #: number of ended motions whose result a goal with `resume` still gets
STOP_TIMEOUT = 3.0  #: s, if the request gives none


class MotionServer:
    """The running motions and those that ended last, by the caller's goal id."""

    def __init__(
        self, node: ManagedNode, facts: Facts, guard: SafetyGuard, traces: Traces, box: BlackBox
    ) -> None:
        self._node = node
        self._box = box
        self._facts = facts
        self._host = BridgeHost(node, facts, guard)
        self._host.goals_of_others = self._goals_of_others
        self._traces = traces
        self._motions: OrderedDict[str, GuardedMotion] = OrderedDict()
        self._handles: dict[bytes, GuardedMotion] = {}
        node.add_action_server(
            ExecuteMotion, '~/execute_motion', self._execute, accept=lambda goal: node.timed(),
            cancel=self._cancel)

    # -- called by the node

    def running(self) -> list[GuardedMotion]:
        """Return the motions that have not ended."""
        return [motion for motion in self._motions.values() if not motion.done.done()]

    def health(self) -> Health:
        """Return the running motions for the diagnostics."""
        running = [motion.steps.progress for motion in self.running()]
        return Health(OK, f'{len(running)} under way' if running else 'none', {
            'under way': len(running),
            **{f'motion {number}': f'step {progress.step}, {progress.state}'
               for number, progress in enumerate(running, 1)}})

    def stop_all(self, code: ErrorCode, message: str) -> None:
        """Stop every motion."""
        for motion in self.running():
            motion.stop(code, message)

    # -- the action

    async def _execute(self, handle: Any) -> ExecuteMotion.Result:
        goal: ExecuteMotion.Goal = handle.request
        goal_id = from_uuid(goal.goal_id if any(goal.goal_id.uuid) else handle.goal_id)
        motion = self._motions.get(goal_id.hex)
        try:
            if motion is None:
                result = await self._run(handle, goal, goal_id.hex)
            elif goal.resume:
                result = await self._join(handle, motion)
            else:
                raise LifecycleError(
                    f'goal id {goal_id} was used before; it is not executed again')
        except LifecycleError as error:
            result = WorkResult(
                'failed', self._node.now(), stopped=not goal.resume,
                error_code=ErrorCode.INVALID_REQUEST, error_msg=str(error))
        finally:
            self._handles.pop(bytes(handle.goal_id.uuid), None)
        if result.outcome == 'executed':
            handle.succeed()
        elif handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return motion_result_to(result, self._facts.names)

    async def _run(self, handle: Any, goal: ExecuteMotion.Goal, key: str) -> WorkResult:
        request, facts = checked_request(goal), self._facts.model.facts
        self._check_names(request)
        motion = GuardedMotion(self._host, request)
        try:
            check_conditions(request, facts)
            topics = self._topics(request, motion.standstill)
        except LifecycleError as error:
            if not request.resume:
                raise
            topics = facts.topics(facts)  # of `stopped`, at least
            motion.stop(ErrorCode.INVALID_REQUEST, str(error))  # the facts have changed
        release = self._facts.hold(topics)
        self._motions[key] = motion
        while len(self._motions) > REMEMBERED:
            oldest, ended = next(iter(self._motions.items()))
            if not ended.done.done():
                break
            del self._motions[oldest]
        feedback = self._attach(handle, motion)
        if not request.goal_id:  # its end is known, only its stop is judged
            try:
                return await motion.run()
            finally:
                release()
                feedback.close()
        motion.noted = self._traces.motion_begins(request, motion.standstill)
        try:
            return self._box.motion_ended(request, await motion.run())
        finally:
            self._traces.motion_ended(request, motion.done.result())
            release()
            feedback.close()

    async def _join(self, handle: Any, motion: GuardedMotion) -> WorkResult:
        """Let another goal follow a motion that runs or has ended."""
        feedback = self._attach(handle, motion)
        try:
            if not motion.done.done():
                await motion.done
        finally:
            feedback.close()
        result: WorkResult = motion.done.result()
        return result

    def _goals_of_others(self, request: MotionRequest) -> set[bytes]:
        """
        Return the ids of the goals of running motions that nobody follows who asks for this one.

        Their caller may have ended, and its journal may be gone.
        """
        callers = next(motion.callers for motion in self.running() if motion.request is request)
        return {goal_id.bytes for motion in self.running() if callers.isdisjoint(motion.callers)
                for goal_id in motion.steps.goal_ids()}

    def _attach(self, handle: Any, motion: GuardedMotion) -> GoalFeedback:
        """Connect a goal to a motion: progress becomes feedback, a cancel stops the motion."""
        motion.callers.add(bytes(handle.goal_id.uuid)[CALLER])
        self._handles[bytes(handle.goal_id.uuid)] = motion
        if handle.is_cancel_requested:
            motion.stop(ErrorCode.CANCELED, 'canceled')
        feedback = GoalFeedback(
            self._node, handle, self._handles, lambda: _feedback_of(motion.steps.progress))
        motion.steps.on_progress.append(feedback.changed)
        return feedback

    def _cancel(self, handle: Any) -> None:
        motion = self._handles.get(bytes(handle.goal_id.uuid))
        if motion is not None:
            motion.stop(ErrorCode.CANCELED, 'canceled')

    def _check_names(self, request: MotionRequest) -> None:
        """Raise LifecycleError for a service or topic that a flow may not use."""
        node, facts = self._node, self._facts.model.facts
        for index, step in enumerate(request.steps):
            work = work_of_step(step)
            fault = '' if request.resume else name_fault_of(
                work, full_name(node, step.server), facts, functools.partial(full_name, node),
                [node.get_fully_qualified_name()])
            if fault:
                raise LifecycleError(f'steps.{index}.server: {fault}')

    def _topics(self, request: MotionRequest, standstill: Standstill) -> set[str]:
        """Return the topics that the motion and its later confirmation need."""
        model = self._facts.model
        parameters = ConditionParameters.of(request.parameters)
        needed: set[str] = set()

        def note(text: str, path: str) -> Any:
            needed.update(compile_over(text, model.facts, parameters).names)
            return LATER

        watched = [*request.maintain, *request.confirm]
        for step in request.steps:
            resolve(step.goal, note)
            work = work_of_step(step)
            if isinstance(work, PublishSpec) and work.until:
                watched.append(work.until_condition())
        return model.facts.topics(needed.intersection(model.facts)) | model.topics(
            watched, parameters) | model.topics(standstill.conditions, standstill.names)


def _feedback_of(progress: MotionProgress) -> ExecuteMotion.Feedback:
    return ExecuteMotion.Feedback(
        step=progress.step, step_state=progress.state,
        feedback_json='' if progress.feedback is None else to_json(progress.feedback))


def checked_request(goal: ExecuteMotion.Goal) -> MotionRequest:
    """Return the motion of a goal; raises LifecycleError if a value is not valid."""
    request = motion_request_from(goal)
    if not (request.goal_id or request.resume):
        raise LifecycleError('goal_id: expected the id that the caller has journaled, got zeros')
    if not (goal.steps or not request.goal_id):
        raise LifecycleError('steps: expected at least one')
    for index, step in enumerate(request.steps):
        if not TOPIC.match(step.server):
            raise LifecycleError(f"steps.{index}.server: '{step.server}' is no name of a server")
    stop_timeout = request.stop_timeout or STOP_TIMEOUT
    if not 0 < stop_timeout <= 60:
        raise LifecycleError(f'stop_timeout {stop_timeout}: expected seconds, at most 60')
    return dataclasses.replace(request, stop_timeout=stop_timeout)


def check_conditions(request: MotionRequest, facts: FactSet) -> None:
    """Raise LifecycleError if the conditions of a motion do not fit the facts."""
    works = map(work_of_step, request.steps)
    for label, conditions in (
            ('maintain', request.maintain), ('confirm', request.confirm),
            ('stopped', [request.stopped] if request.stopped else []),
            ('until', [work.until_condition() for work in works
                       if isinstance(work, PublishSpec) and work.until])):
        # `hold` may exceed `within` here
        timeless = [dataclasses.replace(condition, name=label, hold=0.0)
                    for condition in conditions]
        wrong = [f'{label}: {fault}'
                 for _, fault in condition_faults(
                     timeless, facts, request.parameters, request.parameters)]
        if wrong:
            raise LifecycleError('; '.join(wrong))
