# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
What each state of an action sets going, and which event the answer fires.

The runner asks the world, the clock, the operator and the journal, and never waits. An answer
that comes after the state has changed is dropped. It is single-threaded: all answers come in the
thread that also calls it.
"""

from __future__ import annotations

import functools
import logging
import random
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from ..engine import LifecycleError, TransitionNotAllowed
from ..engine.errors import ContentRefused
from .action import Action
from .fragment import fragment_of
from .ports import (
    Clock,
    Confirmation,
    ConfirmRequest,
    Evidence,
    Handle,
    MotionRequest,
    MotionResult,
    Operator,
    Question,
    Verifier,
    VerifyRequest,
    World,
)
from .recovery import after_error
from .spec import ActionSpec, ConditionSpec, VerifySpec
from .states import ActionState, ErrorCode, Outcome
from .verification import MAX_PENDING, Verification, Verified
from .words import in_words

RECORD_AGAIN = 1.0
"""Seconds until a change that the journal refused is tried again."""

SENSORS_ONLY = (VerifySpec(by='sensor'),)
"""Who verifies an action that names nobody."""

_CONFIRM_CODES = {
    'refuted': ErrorCode.REFUTED,
    'timed_out': ErrorCode.CONFIRM_TIMEOUT,
    'stale': ErrorCode.CONFIRM_STALE,
}


class ActionRunner:
    """
    Drives one action through its states.

    `ended(runner)` is called once the action is terminated and that is safe on disk.
    `render(parameters)` gives the spec for changed parameters.
    """

    def __init__(
        self,
        action: Action,
        world: World,
        clock: Clock,
        operator: Operator,
        verifier: Verifier,
        render: Callable[[dict[str, Any]], ActionSpec],
        ended: Callable[[ActionRunner], None],
        rng: random.Random | None = None,
        recipe: bool = False,
    ) -> None:
        self.action = action
        self.world = world
        self.clock = clock
        self.operator = operator
        self.verifier = verifier
        self.render = render
        self.ended = ended
        self.rng = rng or random.Random()
        self.recipe = recipe  #: what worked is kept in a recipe
        self.log = logging.getLogger('action_lifecycle')
        self._under_way: list[Handle] = []
        self._motion: Handle | None = None
        self._deadline: Handle | None = None
        self._changes = 0
        self._canceled_by: tuple[ErrorCode, str, str] | None = None
        self._halted: Callable[[], None] | None = None
        self._following = False
        self._asked_for = False  #: the motion's goal may have left

    # What others ask of it

    def start(self) -> None:
        """Begin: assigned to in_progress."""
        self.fire('start', resources=list(self.action.spec.resources))

    def fire(self, event: str, **data: Any) -> None:
        """
        Change the state and set going what the new state asks for.

        `TransitionNotAllowed` and the journal's errors pass through; nothing has changed then.
        """
        action = self.action
        before = action.state
        try:
            action.machine.fire(event, **data)
        except Exception as error:
            if action.state is before:
                raise
            # A listener failed after the change was recorded: it stands, and the action errs.
            self._left()
            self._internal(error)
            return
        self._left()
        self._enter()

    def cancel(self, actor: str, reason: str) -> None:
        """Stop what moves, see it stopped, then end the action; from any state."""
        state = self.action.state
        if state in (ActionState.COMPLETED, ActionState.RECIPE_RECEIVED):
            self._end(Outcome.SUCCEEDED, actor, reason)
        elif state in (ActionState.ASSIGNED, ActionState.ERROR, ActionState.RECIPE_REQUESTED):
            self._end(Outcome.CANCELED, actor, reason)
        elif state is not ActionState.TERMINATED:
            self._stop(ErrorCode.CANCELED, reason, actor)

    def skip(self, actor: str, reason: str) -> None:
        """End an action that will never start."""
        if self.action.state is ActionState.ASSIGNED:
            self._end(Outcome.SKIPPED, actor, reason)

    def _end(self, outcome: Outcome, actor: str, reason: str) -> None:
        self._fire('terminate', outcome=outcome.value, actor=actor, cause=reason)

    def resume(self, elapsed: float, attempt_elapsed: float) -> None:
        """
        Go on after a restart.

        `elapsed` s have passed since the last change, `attempt_elapsed` since the attempt began.
        """
        if self.action.parameters:
            self.action.spec = self.render(self.action.parameters)
        state = self.action.state
        if state is ActionState.EXECUTING_MOTION:
            self._watch_deadline(attempt_elapsed)
            self._send(resume=True)
        elif state is ActionState.ERROR:
            self._enter_error(elapsed)
        elif state is ActionState.PENDING:
            self._watch_deadline(attempt_elapsed)
            self._enter_pending(elapsed)
        else:
            if state is not ActionState.IN_PROGRESS:
                self._watch_deadline(attempt_elapsed)
            self._enter()

    def halt(self, halted: Callable[[], None]) -> None:
        """
        Stop what moves and leave the state as it is: the process is about to end.

        `halted` is called when nothing moves, or when that could not be seen; then this is the
        action's error.
        """
        if self._deadline is not None:
            self._deadline.cancel()
        if self._motion is None:
            self._left()
            halted()
            return
        self._halted = halted
        self._cancel_motion(self._motion)

    # States

    def _enter(self) -> None:
        enter = getattr(self, f'_enter_{self.action.state.value}', None)
        if enter is None:
            return
        try:
            enter()
        except (LifecycleError, ArithmeticError, LookupError, TypeError, ValueError,
                AttributeError, OSError, RuntimeError) as error:
            self._internal(error)

    def _enter_in_progress(self) -> None:
        action = self.action
        if action.parameters:
            action.spec = self.render(action.parameters)
        self._canceled_by = None
        self._watch_deadline(0.0)
        if action.spec.require:
            self._confirm('require', action.spec.require, 0.0, self._required)
        else:
            self._go()

    def _required(self, answer: Confirmation) -> None:
        if answer.verdict == 'confirmed':
            self._go(list(answer.evidence))
        elif answer.verdict == 'refuted':
            self._fail(ErrorCode.REQUIRE_REFUTED, f'required: {in_words(answer)}',
                       evidence=list(answer.evidence))
        else:
            self._fail(answer.error_code or ErrorCode.REQUIRE_UNKNOWN,
                       f'required: {in_words(answer)}', evidence=list(answer.evidence))

    def _go(self, required: Sequence[Evidence] = ()) -> None:
        # Under a name of its own: it shows that the action may begin, not that it is done.
        kept = {'required': list(required)} if self.recipe and required else {}
        if self.action.spec.physical:
            self._fire('execute', goal_id=uuid.uuid4().hex, **kept)
        else:
            self._fire('request_verification', **kept)

    def _enter_executing_motion(self) -> None:
        self._asked_for = False
        self.action.recorder.barrier(self._unless_changed(self._send))

    def _send(self, resume: bool = False) -> None:
        action, spec = self.action, self.action.spec
        self._following = resume
        self._asked_for = True
        self._motion = self.world.execute(MotionRequest(
            flow_id=action.flow_id, action_id=action.action_id, attempt=action.attempt,
            goal_id=action.goal_id, steps=spec.motion, parameters=spec.parameters,
            maintain=spec.maintain, confirm=spec.confirm, stopped=spec.stopped,
            stop_timeout=spec.stop_timeout, resume=resume,
        ), self._unless_changed(self._moved))

    def _moved(self, result: MotionResult) -> None:
        self._motion = None
        if self._halted is not None:
            self._end_halt(result, self._halted)
            return
        said: dict[str, Any] = {'controller_said': result.controller_said}
        if result.goals:
            said['goals'] = dict(result.goals)
        if self._canceled_by is not None:
            code, reason, actor = self._canceled_by
            self._fail_stopped(result, code, reason, actor)
        elif result.outcome == 'executed':
            self._fire('motion_done', ended=result.ended, **said)
        elif self._interrupted(result):
            self._fire('motion_done', ended=self.clock.now(), interrupted=True,
                       controller_said=result.controller_said or 'knows nothing of the goal',
                       cause='the motion was interrupted; the sensors are asked')
        else:
            code = result.error_code or (
                ErrorCode.MOTION_CANCELED if result.outcome == 'canceled'
                else ErrorCode.MOTION_ABORTED)
            self._fail_stopped(result, code, result.error_msg, 'controller')

    def _interrupted(self, result: MotionResult) -> bool:
        """Whether nobody wanted this end: our side stopped the motion, or lost sight of it."""
        return result.stopped and (
            result.outcome == 'not_running' or result.error_code is ErrorCode.INTERRUPTED
            or (self._following and result.outcome == 'canceled'))

    def _end_halt(self, result: MotionResult, halted: Callable[[], None]) -> None:
        self._left()
        try:
            if not result.stopped:
                self.action.machine.fire(
                    'fail', error_code=ErrorCode.STOP_UNCONFIRMED.name, actor='shutdown',
                    error_msg=f'not seen to stop: {result.error_msg}',
                    controller_said=result.controller_said,
                    locked=list(self.action.spec.resources))
        finally:
            halted()

    def _fail_stopped(
        self, result: MotionResult, code: ErrorCode, reason: str, actor: str
    ) -> None:
        """End a motion in error; if it was not seen to stop, that is the error."""
        data: dict[str, Any] = {
            'controller_said': result.controller_said, 'cancel': code is ErrorCode.CANCELED}
        if result.evidence:
            data['evidence'] = list(result.evidence)
        if not result.stopped:
            data['locked'] = list(self.action.spec.resources)
            reason = f'{reason or code.name}; not seen to stop: {result.error_msg}'
            code = ErrorCode.STOP_UNCONFIRMED
        self._fail(code, reason, actor=actor, **data)

    def _enter_sensor_confirm(self) -> None:
        action = self.action
        if self._canceled_by is not None:  # asked for while the end of the motion was recorded
            code, reason, actor = self._canceled_by
            self._fail(code, reason, actor=actor, cancel=code is ErrorCode.CANCELED)
            return
        self._confirm('confirm', action.spec.confirm, action.motion_ended, self._confirmed)

    def _confirmed(self, answer: Confirmation) -> None:
        action = self.action
        evidence = list(answer.evidence)
        if answer.verdict == 'confirmed':
            self._fire('confirmed', evidence=evidence, sensors_said='confirmed', actor='sensors')
        elif not action.interrupted:
            self._refused(answer)
        elif action.spec.resume_policy == 'retry':
            self._fire('repeat_motion', goal_id=uuid.uuid4().hex, evidence=evidence,
                       sensors_said=answer.verdict,
                       cause='interrupted, its outcome is not there, and on_resume says retry')
        else:
            code = ErrorCode.INTERRUPTED if action.spec.resume_policy == 'ask' \
                else ErrorCode.GOAL_UNKNOWN
            self._fail(code, f'interrupted, and its outcome is not there: {in_words(answer)}',
                       evidence=evidence, sensors_said=answer.verdict, actor='sensors')

    def _refused(self, answer: Confirmation) -> None:
        self._fail(answer.error_code or _CONFIRM_CODES.get(answer.verdict, ErrorCode.INTERNAL),
                   in_words(answer), evidence=list(answer.evidence), sensors_said=answer.verdict,
                   actor='sensors')

    def _enter_status_verification_requested(self) -> None:
        action = self.action
        if action.sensors_said == 'confirmed':
            self._verify(action.evidence)
        else:
            self._confirm('confirm', action.spec.confirm, action.changed_at, self._seen)

    def _seen(self, answer: Confirmation) -> None:
        if answer.verdict == 'confirmed':
            self._verify(answer.evidence)
        else:
            self._refused(answer)

    def _verify(self, evidence: Sequence[Evidence]) -> None:
        action, spec = self.action, self.action.spec
        request = VerifyRequest(
            action.flow_id, action.action_id, action.attempt, spec.description, evidence)
        self._under_way.append(Verification(
            spec.verify or SENSORS_ONLY, spec.verify_when, request, self.verifier, self.clock,
            self._unless_changed(lambda verified: self._verified(verified, evidence))))

    def _verified(self, answer: Verified, evidence: Sequence[Evidence]) -> None:
        data: dict[str, Any] = {
            'evidence': [*evidence, *answer.evidence], 'sensors_said': 'confirmed',
            'actor': answer.actor}
        if answer.verdict == 'completed':
            self._fire('verified', cause=answer.reason or f'verified by {answer.actor}', **data)
        elif answer.verdict == 'error':
            self._fail(answer.error_code, answer.reason, **data)
        elif self.action.pendings >= MAX_PENDING:
            self._fail(ErrorCode.RETRY_EXHAUSTED,
                       f'{answer.actor} needs more time for the {MAX_PENDING + 1}th time', **data)
        else:
            self._fire('postpone', cause=answer.reason, **data)

    def _enter_pending(self, elapsed: float = 0.0) -> None:
        self._later(max(0.0, self.action.spec.ask_again - elapsed),
                    lambda: self._fire('ask_again'))

    def _enter_completed(self) -> None:
        if self.recipe:
            self._fire('request_recipe')
        else:
            self._fire('terminate', outcome=Outcome.SUCCEEDED.value)

    def _enter_recipe_requested(self) -> None:
        self._fire('receive_recipe', fragment=fragment_of(self.action), actor='recipe')

    def _enter_recipe_received(self) -> None:
        self._fire('terminate', outcome=Outcome.SUCCEEDED.value)

    def _enter_error(self, elapsed: float = 0.0) -> None:
        action = self.action
        step = after_error(action, self.rng)
        if isinstance(step, Outcome):
            self._end(step, '', action.error_msg)
        elif step is None:
            self._fire('request_fallback')
        else:
            self._later(max(0.0, step - elapsed), lambda: self._fire(
                'retry', cause=f'try {action.tries + 2} of {action.spec.retry.times + 1}'))

    def _enter_fallback_requested(self) -> None:
        action = self.action
        index = action.next_fallback
        if action.error_code is ErrorCode.INTERRUPTED:
            self._ask('resume', 'Was interrupted, and the sensors do not show its outcome. '
                      'Execute the motion again?', index)
            return
        strategy = action.spec.fallback[index]
        if strategy.strategy == 'ask':
            self._ask('fallback', strategy.question or f'Failed: {action.error_msg}. Try again?',
                      index + 1)
        else:
            self._fire('receive_fallback', strategy=strategy.strategy, actor='policy',
                       parameters=dict(strategy.parameters), next_fallback=index + 1)

    def _ask(self, kind: str, text: str, next_fallback: int) -> None:
        action = self.action
        self._under_way.append(self.operator.ask(
            Question(kind, action.flow_id, action.action_id, text, ('retry', 'give_up'),
                     action.evidence),
            self._unless_changed(lambda answer, actor: self._fire(
                'receive_fallback', strategy=answer, actor=actor, next_fallback=next_fallback))))

    def _enter_fallback_received(self) -> None:
        if self.action.strategy == 'give_up':
            self._fail(self.action.error_code, self.action.error_msg)
        else:
            self._fire('apply_fallback')

    def _enter_terminated(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.action.recorder.barrier(self._unless_changed(lambda: self.ended(self)))

    # Helpers

    def _confirm(
        self, name: str, conditions: Sequence[ConditionSpec], after: float,
        then: Callable[[Confirmation], None],
    ) -> None:
        action = self.action
        self._under_way.append(self.world.confirm(ConfirmRequest(
            action.flow_id, action.action_id, action.attempt, conditions, after, name,
            action.spec.parameters), self._unless_changed(then)))

    def _fire(self, event: str, **data: Any) -> None:
        """Fire what must happen; when the journal refuses, say so and try again until it does."""
        try:
            self.fire(event, **data)
        except (TransitionNotAllowed, ContentRefused) as error:
            self._internal(error)
        except (LifecycleError, OSError) as error:
            self.log.error('%s: %s is not recorded, trying again in %.0f s: %s',
                           self.action.machine.name, event, RECORD_AGAIN, error)
            self._later(RECORD_AGAIN, lambda: self._fire(event, **data))

    def _fail(self, code: ErrorCode, reason: str, **data: Any) -> None:
        self._fire('fail', error_code=code.name, error_msg=reason, cause=reason, **data)

    def _internal(self, error: Exception) -> None:
        """Turn a fault of the software into an error of the action, if its state admits one."""
        self.log.exception('%s: %s', self.action.machine.name, error, exc_info=error)
        if 'fail' in self.action.machine.possible_events():
            self._fail(ErrorCode.INTERNAL, f'{type(error).__name__}: {error}')

    def _stop(self, code: ErrorCode, reason: str, actor: str) -> None:
        """Leave the state in error, a motion only after it was seen to stop."""
        if self.action.state is not ActionState.EXECUTING_MOTION:
            self._fail(code, reason, actor=actor, cancel=code is ErrorCode.CANCELED)
            return
        if self._canceled_by is not None:
            return
        self._canceled_by = code, reason, actor
        if not self._asked_for:
            self._moved(MotionResult('canceled', self.clock.now(), 'nothing was sent'))
        elif self._motion is not None:
            self._cancel_motion(self._motion)

    def _cancel_motion(self, motion: Handle) -> None:
        """Ask for the stop; the bridge answers within stop_timeout, else nobody knows."""
        motion.cancel()
        self._later(self.action.spec.stop_timeout + 0.5, lambda: self._moved(MotionResult(
            'failed', self.clock.now(), stopped=False, error_msg='the bridge gives no answer')))

    def _watch_deadline(self, elapsed: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        timeout = self.action.spec.timeout
        if timeout > 0 and self.action.state in (
                ActionState.IN_PROGRESS, ActionState.EXECUTING_MOTION, ActionState.SENSOR_CONFIRM,
                ActionState.STATUS_VERIFICATION_REQUESTED, ActionState.PENDING):
            attempt = self.action.attempt
            self._deadline = self.clock.call_later(
                max(0.0, timeout - elapsed), lambda: self._timed_out(attempt))

    def _timed_out(self, attempt: int) -> None:
        if self.action.attempt == attempt and 'fail' in self.action.machine.possible_events() \
                and self.action.state is not ActionState.FALLBACK_REQUESTED:
            self._stop(ErrorCode.DEADLINE_EXCEEDED,
                       f'took longer than its limit of {self.action.spec.timeout:g} s', 'clock')

    def _later(self, delay: float, callback: Callable[[], None]) -> None:
        self._under_way.append(self.clock.call_later(delay, self._unless_changed(callback)))

    def _unless_changed(self, callback: Callable[..., None]) -> Callable[..., None]:
        """Wrap a callback so that it does nothing once the state has changed."""
        changes = self._changes

        @functools.wraps(callback)
        def when_still(*arguments: Any) -> None:
            if self._changes == changes:
                callback(*arguments)

        return when_still

    def _left(self) -> None:
        """Drop what the state before had under way."""
        self._changes += 1
        self._motion = None
        under_way, self._under_way = self._under_way, []
        for handle in under_way:
            handle.cancel()
