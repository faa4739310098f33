# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
What each state of an action sets going, and which event the answer fires.

The runner asks the world, the clock, the operator and the journal, and never waits. An answer
that comes after the state has changed is dropped. It is single-threaded: all answers come in the
thread that also calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import functools
import json
import logging
import random
from typing import Any
import uuid

from .action import Action
from .fragment import fragment_of
from .ports import (
    Clock,
    Confirmation,
    ConfirmRequest,
    Evidence,
    Handle,
    Look,
    MotionRequest,
    MotionResult,
    Operator,
    Question,
    Specs,
    Verifier,
    VerifyRequest,
    World,
)
from .recovery import after_error, next_strategy
from .spec import ConditionSpec, FallbackSpec, StrategySpec, VerifySpec
from .states import ActionState, ErrorCode, Outcome
from .verification import MAX_PENDING, Verification, Verified
from .words import in_words
from ..engine import LifecycleError, TransitionNotAllowed
from ..engine.errors import ContentRefused

MAX_RESULT = 16_384
"""Characters of JSON of a motion's result that are journaled; a longer one is left out."""
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
    `specs` gives the spec for what fallbacks have changed.
    """

    def __init__(
        self,
        action: Action,
        world: World,
        clock: Clock,
        operator: Operator,
        verifier: Verifier,
        specs: Specs,
        ended: Callable[[ActionRunner], None],
        rng: random.Random | None = None,
        recipe: bool = False,
        look: Look | None = None,
    ) -> None:
        self.action = action
        self.world = world
        self.clock = clock
        self.operator = operator
        self.verifier = verifier
        self.specs = specs
        self.ended = ended
        self.rng = rng or random.Random()
        self.recipe = recipe  #: what worked is kept in a recipe
        self.look = look  #: fetches what templates read when the action starts
        self.log = logging.getLogger('action_lifecycle')
        self._under_way: list[Handle] = []
        self._motion: Handle | None = None
        self._deadline: Handle | None = None
        self._changes = 0
        self._canceled_by: tuple[ErrorCode, str, str] | None = None
        self._halted: Callable[[], None] | None = None
        self._following = False
        self._asked_for = False  #: the motion's goal may have left
        self._last = False  #: nothing is to come after its next error

    # What others ask of it

    def start(self, waited: float = 0.0) -> None:
        """Begin: assigned to in_progress; `waited`: s for resources."""
        self.fire('start', resources=list(self.action.spec.resources), waited=round(waited, 3))

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

    def expire(self, code: ErrorCode, reason: str, actor: str) -> None:
        """Let it fail for good, whether or not it has started; what moves is stopped first."""
        state = self.action.state
        if state in (ActionState.TERMINATED, ActionState.COMPLETED, ActionState.RECIPE_REQUESTED,
                     ActionState.RECIPE_RECEIVED):
            return
        self._last = True
        if state is ActionState.ERROR:
            self._end(Outcome.FAILED, actor, reason)
        else:
            self._stop(code, reason, actor)

    def _end(self, outcome: Outcome, actor: str, reason: str) -> None:
        self._fire('terminate', outcome=outcome.value, actor=actor, cause=reason)

    def resume(self, elapsed: float, attempt_elapsed: float) -> None:
        """
        Go on after a restart.

        `elapsed` s have passed since the last change, `attempt_elapsed` since the attempt began.
        """
        self._render()
        state = self.action.state
        if state is ActionState.EXECUTING_MOTION:
            self._watch_deadline(attempt_elapsed)
            self._send(resume=True)
        elif state is ActionState.ERROR:
            self._enter_error(elapsed)
        elif state is ActionState.PENDING:
            self._watch_deadline(attempt_elapsed)
            self._enter_pending(elapsed)
        elif state is ActionState.STATUS_VERIFICATION_REQUESTED:
            self._watch_deadline(attempt_elapsed)
            self._enter_status_verification_requested(elapsed)
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
        self._render()
        self._canceled_by = None
        self._watch_deadline(0.0)
        if self.look is None:
            self._require()
            return
        action.seen = {}
        handle = self.look(action, self._unless_changed(self._looked),
                           self._unless_changed(self._fail))
        if handle is not None:
            self._under_way.append(handle)

    def _looked(self, seen: dict[str, Any]) -> None:
        self.action.seen = seen
        try:
            self._render()
        except LifecycleError as error:
            self._fail(ErrorCode.GOAL_INVALID, str(error))
        else:
            self._require()

    def _require(self) -> None:
        if self.action.spec.require:
            self._confirm('require', self.action.spec.require, 0.0, self._required)
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
        kept: dict[str, Any] = {'required': list(required)} if self.recipe and required else {}
        if self.action.seen:
            kept['seen'] = self.action.seen
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
        if result.result is not None and len(json.dumps(result.result)) <= MAX_RESULT:
            said['result'] = result.result
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

    def _enter_status_verification_requested(self, elapsed: float = 0.0) -> None:
        action = self.action
        if action.sensors_said == 'confirmed':
            self._verify(action.evidence, elapsed)
        else:
            self._confirm('confirm', action.spec.confirm, action.changed_at,
                          lambda answer: self._seen(answer, elapsed))

    def _seen(self, answer: Confirmation, elapsed: float) -> None:
        if answer.verdict == 'confirmed':
            self._verify(answer.evidence, elapsed)
        else:
            self._refused(answer)

    def _verify(self, evidence: Sequence[Evidence], elapsed: float) -> None:
        action, spec = self.action, self.action.spec
        request = VerifyRequest(
            action.flow_id, action.action_id, action.attempt, spec.description, evidence,
            spec.parameters, f'verify:{action.seq}')
        self._under_way.append(Verification(
            spec.verify or SENSORS_ONLY, spec.verify_when, request, self.verifier, self.clock,
            self._unless_changed(lambda verified: self._verified(verified, evidence)), elapsed))

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
            self._fire('request_fallback', cause=action.error_msg)
        else:
            self._later(max(0.0, step - elapsed), lambda: self._fire(
                'retry', cause=f'try {action.tries + 2} of {action.spec.retry.times + 1}'))

    def _enter_fallback_requested(self) -> None:
        action = self.action
        if action.failed_with is ErrorCode.INTERRUPTED:
            self._ask(FallbackSpec(strategy='ask'), 'resume', 'Was interrupted, and the sensors '
                      'do not show its outcome. Execute the motion again?', action.next_fallback)
            return
        index = next_strategy(action)
        # A person may ask for a fallback when there is none left: then a person is asked, too.
        strategy = FallbackSpec(strategy='ask') if index is None else action.spec.fallback[index]
        following = action.next_fallback if index is None else index + 1
        if strategy.strategy == 'ask':
            self._ask(strategy, 'fallback', strategy.question or 'Failed: {{ error }}. Try again?',
                      following)
        else:
            self._take(strategy, following, 'policy', '')

    def _ask(self, asked: FallbackSpec, kind: str, text: str, following: int) -> None:
        action = self.action
        options: Mapping[str, StrategySpec] = asked.options or {
            name: StrategySpec(strategy=name) for name in ('retry', 'give_up')}
        self._under_way.append(self.operator.ask(
            Question(kind, action.flow_id, action.action_id, text, tuple(options),
                     action.evidence, key=f'{kind}:{action.seq}',
                     timeout=asked.timeout, default=asked.default,
                     names={**action.spec.parameters, 'error': action.error_msg,
                            'attempt': action.attempt, 'description': action.spec.description}),
            self._unless_changed(lambda answer, actor: self._take(
                options[answer], following, actor, answer)),
            self._unless_changed(lambda: self._fallback_failed(
                ErrorCode.FALLBACK_TIMEOUT, f'nobody answered within {asked.timeout:g} s',
                following))))

    def _take(self, strategy: StrategySpec, following: int, actor: str, answer: str) -> None:
        """Take a strategy; one that can't be used fails as if it had been tried."""
        action = self.action
        try:
            fields = dict(self.specs.fields(strategy))
            self.specs.render({**action.parameters, **strategy.parameters},
                              fields or action.fields)
        except LifecycleError as error:
            self._fallback_failed(
                ErrorCode.PARSE_ERROR, f'fallback {strategy.strategy}: {error}', following)
            return
        data = {'answer': answer} if answer else {}
        self._fire('receive_fallback', strategy=strategy.strategy, actor=actor,
                   parameters=dict(strategy.parameters), fields=fields, next_fallback=following,
                   cause=f'{answer or strategy.strategy}, by {actor}', **data)

    def _fallback_failed(self, code: ErrorCode, reason: str, following: int) -> None:
        self._fail(code, f'{reason}; before: {self.action.error_msg}', next_fallback=following)

    def _enter_fallback_received(self) -> None:
        if self.action.strategy == 'give_up':
            self._fail(self.action.failed_with, self.action.error_msg)
        else:
            self._fire('apply_fallback')

    def _enter_terminated(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.action.recorder.barrier(self._unless_changed(lambda: self.ended(self)))

    # Helpers

    def _render(self) -> None:
        """Bring the spec up to what fallbacks have changed."""
        action = self.action
        if action.parameters or action.fields or action.seen:
            action.spec = self.specs.render(action.parameters, action.fields)

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
        if self._last:
            data['last'] = True
        self._fire('fail', error_code=code.name, error_msg=reason, cause=reason, **data)

    def _internal(self, error: Exception) -> None:
        """Turn a fault of the software into an error of the action, if its state admits one."""
        self.log.exception('%s: %s', self.action.machine.name, error, exc_info=error)
        if 'fail' in self.action.machine.possible_events():
            # In a fallback no further one is tried, it might fail in the same way for ever.
            last = {'next_fallback': len(self.action.spec.fallback)} \
                if self.action.state is ActionState.FALLBACK_REQUESTED else {}
            self._fail(ErrorCode.INTERNAL, f'{type(error).__name__}: {error}', **last)

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
