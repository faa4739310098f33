# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The stop of work: by a person, a time limit, or the end of the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .runner_base import RunnerBase
from ..ports import conditions_of, Handle, MotionRequest, UNSEEN, WorkResult
from ..states import ActionState, ErrorCode, FOREIGN_GOAL
from ..text_format import joined
from ..work import WorkSpec

TO_REQUEST = 0.5
"""Time (s) in addition to `stop_timeout` for the result of work that is stopped."""
LIMITED = (
    ActionState.IN_PROGRESS, ActionState.EXECUTING_MOTION, ActionState.SENSOR_CONFIRM,
    ActionState.STATUS_VERIFICATION_REQUESTED, ActionState.PENDING)
"""States in which the time limit of an attempt counts."""
STEP = 'step'
"""Name of the row of a step that begins, among the events of rows."""


class Stopping(RunnerBase):
    """Stops the work of an action; subclasses do it, see `_step_ended` and `go_on`."""

    _halted: Callable[[], None] | None = None

    def _step_ended(self, number: int, result: WorkResult) -> None:
        """Handle the end of a request with `number` steps."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Continue after `hold`."""
        raise NotImplementedError

    def halt(self, halted: Callable[[], None]) -> None:
        """
        Stop physical work and keep the state, before the process ends.

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

    def hold(self) -> None:
        """
        Stop physical work and keep the state until `go_on`; no further step begins.

        If the stop can't be confirmed, the action fails with STOP_UNCONFIRMED. Other work, and
        states without work, continue.
        """
        if self._held or self._canceled_by is not None or self.action.state not in (
                ActionState.IN_PROGRESS, ActionState.EXECUTING_MOTION):
            return
        if self._unwritten not in ('', 'execute', STEP):
            return  # its work has ended
        self._cancel_deadline()
        if self._unwritten == STEP:
            pass  # that row has the result of the step before
        elif self._motion is None:
            recorded = self._recorded
            self._left()
            self._recorded = recorded
        elif self._step.is_physical():
            self._cancel_motion(self._motion)
        self._held = True

    def _end_hold(self, result: WorkResult) -> None:
        """Keep the state of physical work that has stopped, else fail."""
        self._left()
        if not result.stopped:
            self._fail_stopped(
                result, ErrorCode.STOP_UNCONFIRMED, 'its flow was paused', 'pause')
            return
        self._held, self._recorded = True, not result.sent
        if not self.paused():  # resumed meanwhile
            self.go_on()
        self.progressed()

    @property
    def held(self) -> str:
        """Return why a pause keeps it from going on: stopping, stopped, waiting; else ''."""
        if self._held and self._motion is None:
            return 'stopped'
        if self._held and self._step.is_physical():
            return 'stopping'
        return 'waiting' if self._postponed is not None and self.paused() else ''

    def _end_halt(self, result: WorkResult, halted: Callable[[], None]) -> None:
        self._left()
        try:
            if not result.stopped:
                self.action.machine.fire(
                    'fail', error_code=ErrorCode.STOP_UNCONFIRMED.name, actor='shutdown',
                    error_msg=_unstopped('', result.error_msg, self.action.spec.resources),
                    controller_said=result.controller_said,
                    locked=list(self.action.spec.resources), **self._named_boxes())
        finally:
            halted()

    def _fail_stopped(
        self, result: WorkResult, code: ErrorCode, reason: str, actor: str
    ) -> None:
        """Fail the action; with STOP_UNCONFIRMED if the stop of its work is not confirmed."""
        data: dict[str, Any] = {'controller_said': result.controller_said}
        if result.evidence:
            data['evidence'] = list(result.evidence)
        if result.stopped and self._has_moved:
            self._fail_still(code, joined(reason, result.note), actor=actor, **data)
        else:
            self._fail_unless_stopped(result, code, reason, actor, data)

    def _fail_unless_stopped(
        self, result: WorkResult, code: ErrorCode, reason: str, actor: str, data: dict[str, Any]
    ) -> None:
        data['cancel'] = code is ErrorCode.CANCELED
        if not result.stopped and code is FOREIGN_GOAL and self.action.foreign_policy != 'fail':
            data['unstopped'] = True  # others move it; its resources stay held, see `_end`
        elif not result.stopped:
            data['locked'] = list(self.action.spec.resources)
            reason = _unstopped(reason or code.name, result.error_msg, data['locked'])
            code = ErrorCode.STOP_UNCONFIRMED
        self._fail(code, joined(reason, result.note), actor=actor, **data)

    @property
    def _has_moved(self) -> bool:
        """Whether a physical step of this attempt has ended, and nothing has confirmed it."""
        action = self.action
        return action.state is ActionState.SENSOR_CONFIRM or (
            action.state is ActionState.EXECUTING_MOTION and any(
                step.is_physical() for step in action.spec.steps[:len(action.results)]))

    def _fail_still(
        self, code: ErrorCode, reason: str, *, actor: str = '', **data: Any
    ) -> None:
        """
        Fail the action after physical steps that have ended, once their stop is judged.

        What they have set going may go on, whatever their servers have said.
        """
        def fail(result: WorkResult) -> None:
            if result.evidence:
                data['evidence'] = [*data.get('evidence', ()), *result.evidence]
            by = self._canceled_by or (code, reason, actor)  # a person, meanwhile
            self._fail_unless_stopped(result, *by, data)

        if self._has_moved:
            self._judge_stop(fail)
        else:
            self._fail(code, reason, actor=actor, **data)

    def _judge_stop(self, then: Callable[[WorkResult], None]) -> None:
        """Let the sensors judge whether what the physical steps have set going stands."""
        def judged(result: WorkResult) -> None:
            self._judging = None
            self._note_box(result)
            then(result)

        self._left()
        self._judging = self.world.confirm_stop(
            self.motion_request('', self.action.spec.bridge_steps), self._unless_changed(judged))
        self._under_way.append(self._judging)

    def motion_request(
        self, goal_id: str, steps: Sequence[WorkSpec], resume: bool = False,
        told: Callable[[int, str], None] = lambda step, state: None,
    ) -> MotionRequest:
        """Return the request to the bridge for these steps."""
        action, spec = self.action, self.action.spec
        return MotionRequest(
            flow_id=action.flow_id, action_id=action.action_id, attempt=action.attempt,
            goal_id=goal_id, steps=list(map(action.bridge_step, steps)),
            parameters=spec.parameters, maintain=conditions_of(spec.maintain, 'maintain'),
            confirm=conditions_of(
                spec.confirm, UNSEEN if spec.confirm_unseen == 'allow' else 'confirm'),
            stopped=conditions_of([spec.stopped], 'stopped')[0] if spec.stopped else None,
            stop_timeout=spec.stop_timeout, resume=resume, told=told)

    def _stop(self, code: ErrorCode, reason: str, actor: str) -> None:
        """Fail the action; its work is stopped first, and the stop of a motion is confirmed."""
        is_stopping = self._canceled_by is not None
        ends = self._judging is not None and self._has_moved
        if (is_stopping or ends) and code is not ErrorCode.CANCELED:
            return
        self._canceled_by = code, reason, actor  # a person's cancel goes before a time limit
        if self._unwritten == 'fail' or ends:
            return  # it fails with what is ordered now
        if not self._works():
            self._left()  # else an answer could come before a row that has to be repeated
            self._fail_still(code, reason, actor=actor)
        elif is_stopping:
            return
        elif self._unsent:
            self._step_ended(0, WorkResult('canceled', self.clock.now(), 'nothing was sent'))
        elif self._motion is not None:
            self._cancel_motion(self._motion)
        elif self._held:
            self._step_ended(0, WorkResult('canceled', self.clock.now(), 'stopped before'))

    @property
    def _step(self) -> WorkSpec:
        """Return the first step that has not ended."""
        step: WorkSpec = self.action.spec.steps[len(self.action.results)]
        return step

    @property
    def _unsent(self) -> bool:
        """Whether the next step begins, and its request was not sent yet."""
        return self._recorded or self._unwritten == STEP

    def _works(self) -> bool:
        """Whether a step may be under way."""
        action = self.action
        return action.state is ActionState.EXECUTING_MOTION or (
            action.state is ActionState.IN_PROGRESS and (
                self._unsent or self._motion is not None))

    def _cancel_motion(self, motion: Handle) -> None:
        """
        Cancel work; if there is no result in time, it ends.

        Then physical work counts as not stopped.
        """
        motion.cancel()
        step = self._step
        if not step.stops_slowly:
            who = 'the bridge' if step.at_bridge and step.is_physical() else f'the {step.kind}'
            ended = partial(self._ended_once, self._request, 0)
            self._later(self.action.spec.stop_timeout + TO_REQUEST, lambda: ended(WorkResult(
                'failed', self.clock.now(), stopped=not step.is_physical(),
                error_msg=f'{who} gives no answer')))

    @property
    def _open_request(self) -> bool:
        return self._request != self._ended_request

    def _ended_once(self, request: int, number: int, result: WorkResult) -> None:
        """Handle the end of a request with `number` steps, or that it does not end in time."""
        if request == self._request and self._open_request:
            self._ended_request = request
            self._step_ended(number, result)

    def _watch_deadline(self, elapsed: float) -> None:
        self._cancel_deadline()
        timeout = self.action.spec.timeout
        if timeout > 0 and self.action.state in LIMITED:
            attempt = self.action.attempt
            self._deadline = self.clock.call_later(
                max(0.0, timeout - elapsed), lambda: self._timed_out(attempt))

    def _timed_out(self, attempt: int) -> None:
        if self.action.attempt == attempt and self.action.state in LIMITED:
            self._stop(ErrorCode.DEADLINE_EXCEEDED,
                       f'took longer than its limit of {self.action.spec.timeout:g} s', 'clock')


def _unstopped(reason: str, message: str, locked: Sequence[str]) -> str:
    """Return the message for work whose stop is not confirmed, with locked resources."""
    if 'not seen to stop' not in message:  # else the bridge's message says so
        message = f'not seen to stop: {message}'
    parts = [message if message.startswith(reason) else f'{reason}; {message}']
    if locked:
        parts.append(f"locked until clear_stop: {', '.join(locked)}")
    return '; '.join(parts)
