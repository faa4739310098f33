# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The base of the runner: fires events and drops late responses.

The parts of the runner are subclasses; each handles some states of the action.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import functools
import logging
from typing import Any

from ..action import Action
from ..journal_retry import until_recorded
from ..ports import (
    conditions_of,
    CONFIRM_CODES,
    Confirmation,
    ConfirmRequest,
    Fetch,
    Handle,
    LifecycleClock,
    Operator,
    Specs,
    Verifier,
    WorkHost,
    World,
)
from ..spec import ConditionSpec
from ..states import ActionOutcome, ActionState, ErrorCode
from ..text_format import answer_text
from ...documents.errors import ContentRefused, LifecycleError, TransitionNotAllowed


@dataclass(eq=False)
class RunnerBase:
    """Fires events of one action; responses after the state has changed are dropped."""

    action: Action
    world: World
    clock: LifecycleClock
    operator: Operator
    verifier: Verifier
    specs: Specs
    ended: Callable[[Any], None]
    recipe: bool = False  #: the action contributes to a recipe
    fetch: Fetch | None = None  #: fetches the values for templates at the start
    host: WorkHost | None = None  #: does the work that the bridge does not do
    progressed: Callable[[], None] = lambda: None  #: called when the progress of work has changed
    paused: Callable[[], bool] = lambda: False  #: whether no attempt and no motion may begin

    def __post_init__(self) -> None:
        self.log = logging.getLogger('action_lifecycle')
        self._under_way: list[Handle] = []
        self._motion: Handle | None = None
        self._deadline: Handle | None = None
        self._changes = 0
        self._request = self._ended_request = 0  #: numbers of the last requests for work
        self._canceled_by: tuple[ErrorCode, str, str] | None = None
        self._last = False  #: no retry or fallback follows the next error
        self._waived = False  #: a person ends the action as skipped
        self._postponed: Callable[[], None] | None = None
        self._held = False  #: by a person: no step begins, and what moves is stopped
        self._recorded = False  #: the row of the next step is written, and nothing was sent
        self._repeating = False

    def fire(self, event: str, **data: Any) -> None:
        """
        Change the state and start the work of the new state.

        Raises `TransitionNotAllowed` or a journal error; then nothing has changed.
        """
        action = self.action
        before = action.state
        try:
            action.machine.fire(event, **data)
        except Exception as error:
            if action.state is before:
                raise
            # A listener failed after the change was recorded: the change stays, the action fails.
            self._left()
            self._internal(error)
            return
        self._left()
        self._enter()

    def _end(self, outcome: ActionOutcome, actor: str, reason: str) -> None:
        self._fire('terminate', outcome=outcome.value, actor=actor, cause=reason)

    def _enter(self) -> None:
        enter = getattr(self, f'_enter_{self.action.state.value}', None)
        if enter is None:
            return
        try:
            enter()
        except (LifecycleError, ArithmeticError, LookupError, TypeError, ValueError,
                AttributeError, OSError, RuntimeError) as error:
            self._internal(error)

    def _render(self) -> None:
        """Render the spec with the changes by fallbacks and the values read at the start."""
        action = self.action
        if action.parameters or action.fields or action.seen:
            action.spec = self.specs.render(action.parameters, action.fields)

    def _confirm(
        self, name: str, conditions: Sequence[ConditionSpec], after: float,
        then: Callable[[Confirmation], None],
    ) -> None:
        action = self.action
        request = ConfirmRequest(
            action.flow_id, action.action_id, action.attempt, conditions_of(conditions, name),
            after, action.spec.parameters)
        self._under_way.append(self.world.confirm(request, self._unless_changed(then)))

    def _refused(self, answer: Confirmation) -> None:
        self._fail(answer.error_code or CONFIRM_CODES.get(answer.verdict, ErrorCode.INTERNAL),
                   answer_text(answer), evidence=list(answer.evidence),
                   sensors_said=answer.verdict, actor='sensors')

    def _fire(self, event: str, **data: Any) -> None:
        """Fire an event; if the journal write fails, log it and repeat until it succeeds."""
        def fire() -> None:
            try:
                self.fire(event, **data)
            except (TransitionNotAllowed, ContentRefused) as error:
                self._internal(error)

        if not until_recorded(self._later, f'{self.action.machine.name}: {event}', fire):
            self._repeating = True

    @property
    def repeating(self) -> bool:
        """Return whether its next change is decided, and its row is written again and again."""
        return self._repeating

    def _begin(self, begin: Callable[[], None]) -> None:
        """Call `begin`, which begins an attempt or a motion; if paused, when it is resumed."""
        if self.paused():
            self._postponed = self._unless_changed(begin)
            self.progressed()
        else:
            begin()

    def _fail(self, code: ErrorCode, reason: str, **data: Any) -> None:
        if self._last:
            data['last'] = True
        if self._waived:
            data.update(skip=True, cancel=False)
        self._fire('fail', error_code=code.name, error_msg=reason, cause=reason, **data)

    def _internal(self, error: Exception) -> None:
        """Turn an internal error into an error of the action, if its state permits it."""
        self.log.exception('%s: %s', self.action.machine.name, error, exc_info=error)
        if 'fail' in self.action.machine.possible_events():
            # No further fallback is tried, since it could repeat this error endlessly.
            last = {'next_fallback': len(self.action.spec.fallback)} \
                if self.action.state is ActionState.FALLBACK_REQUESTED else {}
            self._fail(ErrorCode.INTERNAL, f'{type(error).__name__}: {error}', **last)

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

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _left(self) -> None:
        """Cancel the work of the previous state."""
        self._changes += 1
        self._motion = self._postponed = None
        self._held = self._recorded = self._repeating = False
        self._ended_request = self._request
        under_way, self._under_way = self._under_way, []
        for handle in under_way:
            handle.cancel()
