# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The work of an action: its steps, one after the other, started once, followed or stopped.

Physical steps that follow one another are one request to the bridge; other steps are done by the
process. A row is journaled before each request, so that a restart continues with the right step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
import json
from typing import Any
import uuid

from .runner_base import RunnerBase
from ..journal_retry import until_recorded
from ..ports import conditions_of, Handle, MotionRequest, WorkRequest, WorkResult
from ..states import ActionState, ErrorCode
from ..text_format import joined
from ..work import WorkSpec
from ...documents.errors import ContentRefused, LifecycleError

MAX_RESULT = 16_384
"""Maximum length of a journaled result, in characters of JSON; longer ones are dropped."""
TO_REQUEST = 0.5
"""Time (s) in addition to `stop_timeout` for the result of work that is stopped."""


class Working(RunnerBase):
    """
    Does the steps of an action and calls `_work_done` when all have succeeded.

    Subclasses implement `_work_done` and `_work_interrupted`.
    """

    _halted: Callable[[], None] | None = None
    _following = False
    _sent = True  #: the request may have been sent, also by an earlier process

    def _work_done(self, result: WorkResult, said: Mapping[str, Any]) -> None:
        """Handle the end of the last step; `said`: data of the event that follows."""
        raise NotImplementedError

    def _work_interrupted(self, result: WorkResult) -> None:
        """Handle that work of an earlier process is not running any more."""
        raise NotImplementedError

    def _begin_steps(
        self, goal_id: str, results: Sequence[Any] = (), data: Mapping[str, Any] = {}
    ) -> None:
        """Journal that the next steps begin, then begin them; `data`: further data of the row."""
        action = self.action
        self._sent = False

        def record() -> None:
            try:
                action.recorder.step(action, {
                    'goal_id': goal_id, 'results': list(results), **data})
            except ContentRefused as error:
                self._internal(error)
                return
            if action.spec.physical:
                action.recorder.barrier(self._unless_changed(self._next_step))
            else:
                self._next_step()

        until_recorded(self._later, f'{action.machine.name}: its step {len(results)}', record)

    def _next_step(self, resume: bool = False) -> None:
        """Begin the next step, or the next ones if the bridge does them; or follow them."""
        action = self.action
        if self._canceled_by is not None and not resume:
            self._step_ended(0, WorkResult('canceled', self.clock.now(), 'nothing was sent'))
            return
        index = len(action.results)
        bridge_steps = _bridge_steps(action.spec.steps[index:])
        number = max(1, len(bridge_steps))
        self._following, self._sent = resume, True
        self._request += 1
        ended = self._unless_changed(partial(self._ended_once, self._request, number))
        try:
            handle = self._execute(index, bridge_steps, resume, ended) if bridge_steps \
                else self._start(index, resume, ended)
        except Exception as error:  # of a kind of work from outside
            self.log.exception('%s', action.machine.name)
            code = ErrorCode.INVALID_REQUEST if isinstance(error, LifecycleError) \
                else ErrorCode.INTERNAL
            ended(WorkResult('failed', self.clock.now(), error_code=code,
                             error_msg=f'{type(error).__name__}: {error}'))
            return
        if self._open_request:
            self._motion = handle
            if self._canceled_by is not None:  # canceled before it was followed
                self._cancel_motion(handle)

    @property
    def _open_request(self) -> bool:
        return self._request != self._ended_request

    def _ended_once(self, request: int, number: int, result: WorkResult) -> None:
        if request == self._request and self._open_request:
            self._ended_request = request
            self._step_ended(number, result)

    def _execute(
        self, index: int, steps: Sequence[WorkSpec], resume: bool,
        ended: Callable[[WorkResult], None],
    ) -> Handle:
        action, spec = self.action, self.action.spec
        return self.world.execute(MotionRequest(
            flow_id=action.flow_id, action_id=action.action_id, attempt=action.attempt,
            goal_id=step_id(action.goal_id, index) if index else action.goal_id,
            steps=[step.bridge_step() for step in steps], parameters=spec.parameters,
            maintain=conditions_of(spec.maintain, 'maintain'),
            confirm=conditions_of(spec.confirm, 'confirm'),
            stopped=conditions_of([spec.stopped], 'stopped')[0] if spec.stopped else None,
            stop_timeout=spec.stop_timeout, resume=resume,
            told=lambda step, state: self._told(index + step, -1.0, state)), ended)

    def _start(
        self, index: int, resume: bool, ended: Callable[[WorkResult], None]
    ) -> Handle:
        action = self.action
        step: WorkSpec = action.spec.steps[index]
        request = WorkRequest(
            action.flow_id, action.action_id, action.attempt, index,
            step_id(action.goal_id, index), action.spec.parameters, partial(self._told, index))
        self._told(index, -1.0, '')
        if self.host is None:
            raise LifecycleError(f"nobody does work of the kind '{step.kind}' here")
        return (step.resume if resume else step.start)(request, self.host, ended)

    def _told(self, index: int, progress: float, text: str) -> None:
        if self.action.progress != (index, progress, text):
            self.action.progress = index, progress, text
            self.progressed()

    def _step_ended(self, number: int, result: WorkResult) -> None:
        """Handle the end of a request with `number` steps."""
        self._motion = None
        if self._halted is not None:
            self._end_halt(result, self._halted)
            return
        action = self.action
        said: dict[str, Any] = {'controller_said': result.controller_said}
        first = len(action.results)
        if result.goals or action.goals:
            said['goals'] = {**action.goals, **{
                str(first + int(step)): goal for step, goal in result.goals.items()}}
        if self._canceled_by is not None:
            self._fail_stopped(result, *self._canceled_by)
        elif result.outcome == 'executed':
            ended = list(result.results) or [None] * (number - 1) + [result.result]
            results = [*action.results, *map(_bounded, ended)]
            if len(results) < len(action.spec.steps):
                self._begin_steps(action.goal_id, results, said)
                return
            if results[-1] is not None:
                said['result'] = results[-1]
            if len(results) > 1 and any(found is not None for found in results[:-1]):
                said['results'] = results
            self._work_done(result, said)
        elif self._interrupted(result):
            self._work_interrupted(result)
        else:
            code = result.error_code or (
                ErrorCode.MOTION_CANCELED if result.outcome == 'canceled'
                else ErrorCode.MOTION_ABORTED)
            self._fail_stopped(result, code, result.error_msg, 'controller')

    def _interrupted(self, result: WorkResult) -> bool:
        """Whether the work ended by a shutdown or restart of our nodes."""
        return result.stopped and (
            result.outcome == 'not_running' or result.error_code is ErrorCode.INTERRUPTED
            or (self._following and result.outcome == 'canceled'))

    def halt(self, halted: Callable[[], None]) -> None:
        """
        Stop physical work and keep the state, before the process ends or while the flow is held.

        Other work is left as it is. `halted` is called when nothing moves, or when the stop could
        not be confirmed; then the action has failed with STOP_UNCONFIRMED.
        """
        self._cancel_deadline()
        if self._motion is None or not self._step.is_physical():
            self._left()
            halted()
            return
        self._halted = halted
        self._cancel_motion(self._motion)

    def _end_halt(self, result: WorkResult, halted: Callable[[], None]) -> None:
        self._left()
        try:
            if not result.stopped:
                self.action.machine.fire(
                    'fail', error_code=ErrorCode.STOP_UNCONFIRMED.name, actor='shutdown',
                    error_msg=_unstopped('', result.error_msg, self.action.spec.resources),
                    controller_said=result.controller_said,
                    locked=list(self.action.spec.resources))
        finally:
            halted()

    def _fail_stopped(
        self, result: WorkResult, code: ErrorCode, reason: str, actor: str
    ) -> None:
        """Fail the action; with STOP_UNCONFIRMED if the stop of its work is not confirmed."""
        data: dict[str, Any] = {
            'controller_said': result.controller_said, 'cancel': code is ErrorCode.CANCELED}
        if result.evidence:
            data['evidence'] = list(result.evidence)
        if not result.stopped:
            data['locked'] = list(self.action.spec.resources)
            reason = _unstopped(reason or code.name, result.error_msg, data['locked'])
            code = ErrorCode.STOP_UNCONFIRMED
        self._fail(code, joined(reason, result.note), actor=actor, **data)

    def _stop(self, code: ErrorCode, reason: str, actor: str) -> None:
        """Fail the action; its work is stopped first, and the stop of a motion is confirmed."""
        if not self._works():
            self._fail(code, reason, actor=actor, cancel=code is ErrorCode.CANCELED)
            return
        if self._canceled_by is not None:
            return
        self._canceled_by = code, reason, actor
        if not self._sent:
            self._step_ended(0, WorkResult('canceled', self.clock.now(), 'nothing was sent'))
        elif self._motion is not None:
            self._cancel_motion(self._motion)

    @property
    def _step(self) -> WorkSpec:
        """Return the first step that has not ended."""
        step: WorkSpec = self.action.spec.steps[len(self.action.results)]
        return step

    def _works(self) -> bool:
        """Whether a step may be under way."""
        action = self.action
        return action.state is ActionState.EXECUTING_MOTION or (
            action.state is ActionState.IN_PROGRESS and (
                not self._sent or self._motion is not None))

    def _cancel_motion(self, motion: Handle) -> None:
        """
        Cancel work; if there is no result in time, it ends.

        Then physical work counts as not stopped.
        """
        motion.cancel()
        step = self._step
        if not step.stops_slowly:
            who = 'the bridge' if step.at_bridge and step.is_physical() else f'the {step.kind}'
            self._later(self.action.spec.stop_timeout + TO_REQUEST, lambda: self._step_ended(
                0, WorkResult('failed', self.clock.now(), stopped=not step.is_physical(),
                              error_msg=f'{who} gives no answer')))


def step_id(goal_id: str, index: int) -> str:
    """
    Return the id of a step, as hexadecimal digits, derived from the id of its attempt.

    It begins as that does, which assigns feedback of the bridge to actions.
    """
    return goal_id[:16] + uuid.uuid5(uuid.UUID(goal_id), f'step {index}').hex[16:]


def _bridge_steps(steps: Sequence[WorkSpec]) -> list[WorkSpec]:
    """Return the first steps that the bridge does in one request."""
    found: list[WorkSpec] = []
    for step in steps:
        if not (step.at_bridge and step.is_physical()):
            break
        found.append(step)
    return found


def _bounded(result: Any) -> Any:
    """Return a result; None if it is too long for the journal."""
    return result if len(json.dumps(result)) <= MAX_RESULT else None


def _unstopped(reason: str, message: str, locked: Sequence[str]) -> str:
    """Return the message for work whose stop is not confirmed, with locked resources."""
    if 'not seen to stop' not in message:  # else the bridge's message says so
        message = f'not seen to stop: {message}'
    parts = [message if message.startswith(reason) else f'{reason}; {message}']
    if locked:
        parts.append(f"locked until clear_stop: {', '.join(locked)}")
    return '; '.join(parts)
