# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The motion of an action: sent once, followed or stopped, and confirmed by the sensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import json
from typing import Any
import uuid

from .runner_base import RunnerBase
from ..ports import (
    conditions_of,
    Confirmation,
    Evidence,
    Handle,
    MotionRequest,
    WorkResult,
)
from ..states import ActionState, ErrorCode
from ..text_format import answer_text, joined

MAX_RESULT = 16_384
"""Maximum length of a journaled motion result, in characters of JSON; longer ones are dropped."""


class Moving(RunnerBase):
    """The states executing_motion and sensor_confirm."""

    _halted: Callable[[], None] | None = None
    _following = False
    _sent = True  #: the goal may have been sent, also by an earlier process

    def _go(self, required: Sequence[Evidence] = ()) -> None:
        # Kept apart from `evidence`, as it does not show that the action is done.
        kept: dict[str, Any] = {'required': list(required)} if self.recipe and required else {}
        if self.action.seen:
            kept['seen'] = self.action.seen
        if self.action.spec.physical:
            self._fire('execute', goal_id=uuid.uuid4().hex, **kept)
        else:
            self._fire('request_verification', **kept)

    def _enter_executing_motion(self) -> None:
        self._sent = False
        self.action.recorder.barrier(self._unless_changed(self._send))

    def _send(self, resume: bool = False) -> None:
        action, spec = self.action, self.action.spec
        self._following = resume
        self._sent = True
        self._motion = self.world.execute(MotionRequest(
            flow_id=action.flow_id, action_id=action.action_id, attempt=action.attempt,
            goal_id=action.goal_id, steps=[step.bridge_step() for step in spec.bridge_steps],
            parameters=spec.parameters,
            maintain=conditions_of(spec.maintain, 'maintain'),
            confirm=conditions_of(spec.confirm, 'confirm'),
            stopped=conditions_of([spec.stopped], 'stopped')[0] if spec.stopped else None,
            stop_timeout=spec.stop_timeout, resume=resume,
        ), self._unless_changed(self._moved))
        if self._canceled_by is not None:  # canceled before the motion was followed
            self._cancel_motion(self._motion)

    def _moved(self, result: WorkResult) -> None:
        self._motion = None
        if self._halted is not None:
            self._end_halt(result, self._halted)
            return
        said: dict[str, Any] = {'controller_said': result.controller_said}
        if result.goals:
            said['goals'] = dict(result.goals)
        if result.result is not None and len(json.dumps(result.result)) <= MAX_RESULT:
            said['result'] = result.result
        if self._canceled_by is not None:
            self._fail_stopped(result, *self._canceled_by)
        elif result.outcome == 'executed':
            self._fire('motion_done', ended=result.ended, cause=result.note, **said)
        elif self._interrupted(result):
            self._fire('motion_done', ended=self.clock.now(), interrupted=True,
                       controller_said=result.controller_said or 'does not know the goal',
                       cause=joined('the motion was interrupted; the sensors are asked',
                                    result.note))
        else:
            code = result.error_code or (
                ErrorCode.MOTION_CANCELED if result.outcome == 'canceled'
                else ErrorCode.MOTION_ABORTED)
            self._fail_stopped(result, code, result.error_msg, 'controller')

    def _interrupted(self, result: WorkResult) -> bool:
        """Whether the motion ended by a shutdown or restart of our nodes."""
        return result.stopped and (
            result.outcome == 'not_running' or result.error_code is ErrorCode.INTERRUPTED
            or (self._following and result.outcome == 'canceled'))

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
        """Fail the action; with STOP_UNCONFIRMED if the stop of the motion is not confirmed."""
        data: dict[str, Any] = {
            'controller_said': result.controller_said, 'cancel': code is ErrorCode.CANCELED}
        if result.evidence:
            data['evidence'] = list(result.evidence)
        if not result.stopped:
            data['locked'] = list(self.action.spec.resources)
            reason = _unstopped(reason or code.name, result.error_msg, data['locked'])
            code = ErrorCode.STOP_UNCONFIRMED
        self._fail(code, joined(reason, result.note), actor=actor, **data)

    def _enter_sensor_confirm(self) -> None:
        action = self.action
        if self._canceled_by is not None:  # canceled while the end of the motion was recorded
            self._stop(*self._canceled_by)
            return
        self._confirm('confirm', action.spec.confirm, action.motion_ended, self._confirmed)

    def _confirmed(self, answer: Confirmation) -> None:
        action = self.action
        evidence = list(answer.evidence)
        if answer.verdict == 'confirmed':
            self._fire('confirmed', evidence=evidence, sensors_said='confirmed', actor='sensors',
                       cause=answer.note)
        elif not action.interrupted:
            self._refused(answer)
        elif action.spec.resume_policy == 'retry' and answer.verdict != 'failed':
            self._fire('repeat_motion', goal_id=uuid.uuid4().hex, evidence=evidence,
                       sensors_said=answer.verdict,
                       cause='interrupted, its outcome is not confirmed, and on_resume says retry')
        else:
            # With `retry`, too, the motion is not repeated if the sensors could not be read.
            code = ErrorCode.GOAL_UNKNOWN if action.spec.resume_policy == 'confirm' \
                else ErrorCode.INTERRUPTED
            self._fail(code, 'interrupted, and its outcome is not confirmed: '
                       + answer_text(answer), evidence=evidence, sensors_said=answer.verdict,
                       actor='sensors')

    def _stop(self, code: ErrorCode, reason: str, actor: str) -> None:
        """Fail the action; a motion is canceled first, and its stop must be confirmed."""
        if self.action.state is not ActionState.EXECUTING_MOTION:
            self._fail(code, reason, actor=actor, cancel=code is ErrorCode.CANCELED)
            return
        if self._canceled_by is not None:
            return
        self._canceled_by = code, reason, actor
        if not self._sent:
            self._moved(WorkResult('canceled', self.clock.now(), 'nothing was sent'))
        elif self._motion is not None:
            self._cancel_motion(self._motion)

    def _cancel_motion(self, motion: Handle) -> None:
        """Cancel a motion; if the bridge sends no result in time, it counts as not stopped."""
        motion.cancel()
        self._later(self.action.spec.stop_timeout + 0.5, lambda: self._moved(WorkResult(
            'failed', self.clock.now(), stopped=False, error_msg='the bridge gives no answer')))


def _unstopped(reason: str, message: str, locked: Sequence[str]) -> str:
    """Return the message for a motion whose stop is not confirmed, with locked resources."""
    if 'not seen to stop' not in message:  # else the bridge's message says so
        message = f'not seen to stop: {message}'
    parts = [message if message.startswith(reason) else f'{reason}; {message}']
    if locked:
        parts.append(f"locked until clear_stop: {', '.join(locked)}")
    return '; '.join(parts)
