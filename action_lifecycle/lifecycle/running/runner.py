# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The runner of an action: starts the work of each state and fires events on the results.

The states are implemented in `work_states`, `verification_states` and `fallback_states`, their
base class in `runner_base`. The runner uses the interfaces in `ports` and never blocks. Results
that arrive after the state has changed are dropped. The runner is not thread-safe: all callbacks
must run in the thread that calls it.
"""

from __future__ import annotations

from typing import Any

from .fallback_states import FallingBack
from .verification_states import Verifying
from .work_states import Working
from ..fragment import fragment_of
from ..ports import Confirmation, WorkResult
from ..states import ActionOutcome, ActionState, ErrorCode, FOREIGN_GOAL
from ..text_format import answer_text
from ...documents.errors import ContentRefused, LifecycleError

STANDSTILL_PERIOD = 0.5  #: s between two judgements whether a robot that others have moved stands
WAITING = frozenset({
    ActionState.ASSIGNED, ActionState.ERROR, ActionState.FALLBACK_REQUESTED,
    ActionState.FALLBACK_RECEIVED, ActionState.PENDING})
"""States in which an action waits for its start, after an error, or for a verifier."""
_DONE = (ActionState.COMPLETED, ActionState.RECIPE_REQUESTED, ActionState.RECIPE_RECEIVED)
"""States after the work, and after an error of which the recipe was requested."""


class ActionRunner(Working, Verifying, FallingBack):
    """
    Runs one action through its states.

    `ended(runner)` is called when the action is terminated. That this survives a power loss is not
    waited for: a motion waits for its own row, and so for all earlier ones, and so does the end of
    a flow.
    `specs` renders the spec with the changes by fallbacks.
    """

    def start(self, waited: float = 0.0) -> None:
        """Start the action; `waited`: time (s) that it waited for resources."""
        self.fire('start', resources=list(self.action.spec.resources), waited=round(waited, 3))

    def cancel(self, actor: str, reason: str) -> None:
        """Cancel the action in any state; the stop of a motion must be confirmed first."""
        state = self.action.state
        if state in _DONE and self.action.passed_completed:
            self._end(ActionOutcome.SUCCEEDED, actor, reason)
        elif state in (ActionState.ASSIGNED, ActionState.ERROR, *_DONE):
            self._left()  # else a retry could come before a row that has to be repeated
            self._canceled_by = ErrorCode.CANCELED, reason, actor
            self._end(ActionOutcome.CANCELED, actor, reason)
        elif state is not ActionState.TERMINATED:
            self._stop(ErrorCode.CANCELED, reason, actor)

    def skip(self, actor: str, reason: str) -> None:
        """End the action before it has started."""
        if self.action.state is ActionState.ASSIGNED and not self.repeating:
            self._end(ActionOutcome.SKIPPED, actor, reason)

    def waive(self, actor: str, reason: str) -> None:
        """End an action of which `waivable` as skipped, by a person's decision."""
        action, state = self.action, self.action.state
        self._waived = True
        if state in WAITING:
            self._left()  # nothing else may happen until the end is recorded
        if state in (ActionState.ASSIGNED, ActionState.ERROR):
            self._end(ActionOutcome.SKIPPED, actor, reason)
        elif state in (ActionState.FALLBACK_REQUESTED, ActionState.FALLBACK_RECEIVED):
            self._fire('fail', error_code=action.failed_with.name, error_msg=action.error_msg,
                       cause=reason, actor=actor, skip=True)
        else:
            self._stop(ErrorCode.CANCELED, reason, actor)

    @property
    def waivable(self) -> bool:
        """Return whether the action has not started, waits for people, or is held."""
        return self.action.state in WAITING or self.held == 'stopped'

    def go_on(self) -> None:
        """
        Continue after a pause.

        Work that was stopped is treated as after a restart: the sensors are asked first. The time
        limit of the attempt starts again.
        """
        if self.held == 'stopping':
            return  # goes on when it has stopped
        held, self._held = self._held, False
        begin, self._postponed = self._postponed, None
        if held:
            self._watch_deadline(0.0)
        if begin is not None:
            begin()
        elif not held or self._motion is not None or self._unwritten:
            return  # nothing was kept from going on
        elif self._recorded:
            self.action.recorder.barrier(self._unless_changed(self._next_step))
        else:
            self._left()
            try:
                self.resume(0.0, 0.0)
            except LifecycleError as error:
                self._internal(error)

    def retry(self, actor: str, reason: str) -> None:
        """Begin another attempt of an action in `error`, without its delay."""
        self._left()
        self._begin(lambda again: self._fire('retry', again, actor=actor, cause=reason))

    def assign_again(self, actor: str, reason: str) -> None:
        """Assign an ended action again; raises a journal error."""
        self.fire('reassign', actor=actor, cause=reason)

    @property
    def over_or_waiting(self) -> bool:
        """Whether it has ended, or waits for its first attempt and is not about to fail."""
        return self.action.state is ActionState.TERMINATED or (
            self.action.state is ActionState.ASSIGNED and self._unwritten != 'fail')

    def stay(self) -> None:
        """Do not end an action whose end could not be recorded yet."""
        self._left()

    def expire(self, code: ErrorCode, reason: str, actor: str) -> None:
        """Fail the action without retry or fallback, in any state; stops a motion first."""
        state = self.action.state
        if state is ActionState.TERMINATED or state in _DONE:
            return
        self._last = True
        if state is ActionState.ERROR:
            if self.canceling or self._waived or self.action.skip_requested:
                return  # a person ends it, and that is not recorded yet
            self._left()
            self._end(ActionOutcome.FAILED, actor, reason)
        else:
            self._stop(code, reason, actor)

    def resume(self, elapsed: float, attempt_elapsed: float, *, hold: bool = False) -> None:
        """
        Resume the action after a restart; `hold`: only to stop it, see `hold`.

        `elapsed`: time (s) since its last change; `attempt_elapsed`: since its attempt began.
        """
        self._render()
        state = self.action.state
        begun = state is ActionState.EXECUTING_MOTION or (
            state is ActionState.IN_PROGRESS and self.action.goal_id != '')
        if hold and state is ActionState.IN_PROGRESS and not begun:
            self.hold()
            return
        if state is not ActionState.IN_PROGRESS or begun:
            self._watch_deadline(attempt_elapsed)
        if begun:
            self._next_step(resume=True)
        elif state is ActionState.ERROR:
            self._enter_error(elapsed)
        elif state is ActionState.PENDING:
            self._enter_pending(elapsed)
        elif state is ActionState.STATUS_VERIFICATION_REQUESTED:
            self._enter_status_verification_requested(elapsed)
        else:
            self._enter()
        if hold:
            self.hold()

    def _enter_assigned(self) -> None:
        self._forget_orders()

    def _forget_orders(self) -> None:
        self._canceled_by = None
        self._last = self._waived = False

    def _enter_in_progress(self) -> None:
        action = self.action
        self._render()
        self._forget_orders()
        self._watch_deadline(0.0)
        if action.failed_with is FOREIGN_GOAL and action.foreign_goals != 'allow':
            self._judge_stop(self._stop_judged)
        else:
            self._prepare()

    def _stop_judged(self, stop: WorkResult) -> None:
        """Begin the attempt when what another client's goal has moved stands."""
        if stop.stopped:
            self._prepare()
        else:
            self._told(0, -1.0, f'waits for standstill: {stop.error_msg}')
            self._later(STANDSTILL_PERIOD, lambda: self._judge_stop(self._stop_judged))

    def _prepare(self) -> None:
        action = self.action
        if self.fetch is None:
            self._require()
            return
        action.seen = {}
        handle = self.fetch(action, self._unless_changed(self._fetched),
                            self._unless_changed(self._fail))
        if handle is not None:
            self._under_way.append(handle)

    def _fetched(self, seen: dict[str, Any]) -> None:
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
        evidence = list(answer.evidence)
        if answer.verdict == 'confirmed':
            self._go(evidence)
            return
        code = ErrorCode.REQUIRE_REFUTED if answer.verdict == 'refuted' \
            else answer.error_code or ErrorCode.REQUIRE_UNKNOWN
        self._fail(code, f'required: {answer_text(answer)}', evidence=evidence)

    def _enter_completed(self) -> None:
        if self.recipe:
            self._fire('request_recipe')
        else:
            self._fire('terminate', outcome=ActionOutcome.SUCCEEDED.value)

    def _enter_recipe_requested(self) -> None:
        """Record the fragment for the recipe; its errors do not change the outcome."""
        def record() -> None:
            try:
                self.fire('receive_recipe', fragment=fragment_of(self.action), actor='recipe')
            except (ContentRefused, LookupError, TypeError, ValueError) as error:
                self._end(self._outcome, 'recipe', f'not added to the recipe: {error}')

        self._record('receive_recipe', record)

    def _enter_recipe_received(self) -> None:
        if self.action.passed_completed:
            self._fire('terminate', outcome=ActionOutcome.SUCCEEDED.value)
        else:
            self._end(self._outcome, '', self.action.error_msg)

    @property
    def _outcome(self) -> ActionOutcome:
        """How it ends once its recipe is recorded; one requested in `error` has failed."""
        return ActionOutcome.SUCCEEDED if self.action.passed_completed else ActionOutcome.FAILED

    def _enter_terminated(self) -> None:
        self._cancel_deadline()
        self.action.recorder.call_soon(self._unless_changed(lambda: self.ended(self)))
