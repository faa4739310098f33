# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The base of the runner: fires events and drops late responses.

The parts of the runner are subclasses; each handles some states of the action.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
    WorkResult,
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
        self._judging: Handle | None = None  #: judges whether ended physical work stands
        self._deadline: Handle | None = None
        self._changes = 0
        self._request = self._ended_request = 0  #: numbers of the last requests for work
        self._canceled_by: tuple[ErrorCode, str, str] | None = None
        self._last = False  #: no retry or fallback follows the next error
        self._waived = False  #: a person ends the action as skipped
        self._postponed: Callable[[], None] | None = None
        self._held = False  #: by a person: no step begins, and what moves is stopped
        self._recorded = False  #: the row of the next step is written, and nothing was sent
        self._unwritten = ''  #: event of the row that the journal has refused; it is repeated
        self._repetition: Handle | None = None
        self._boxes: list[str] = []  #: names of black boxes, for the row of the next change

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
        self._boxes.clear()
        self._left()
        self._enter()

    def _end(self, outcome: ActionOutcome, actor: str, reason: str) -> None:
        locked = {'locked': list(self.action.spec.resources)} if self.action.unstopped else {}
        self._fire('terminate', outcome=outcome.value, actor=actor, cause=reason, **locked)

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

        def answered(answer: Confirmation) -> None:
            self._note_box(answer)
            then(answer)

        self._under_way.append(self.world.confirm(request, self._unless_changed(answered)))

    def _note_box(self, answer: Confirmation | WorkResult) -> None:
        if answer.black_box:
            self._boxes.append(answer.black_box)

    def _named_boxes(self) -> dict[str, Any]:
        """Return the black boxes of what is answered, for the row of the next change."""
        return {'black_boxes': list(self._boxes)} if self._boxes else {}

    def _refused(self, answer: Confirmation) -> None:
        self._fail_still(
            answer.error_code or CONFIRM_CODES.get(answer.verdict, ErrorCode.INTERNAL),
            answer_text(answer), evidence=list(answer.evidence), sensors_said=answer.verdict,
            actor='sensors')

    def _record(
        self, event: str, write: Callable[[], None], again: Callable[[], None] | None = None
    ) -> None:
        """
        Write a row; if the journal refuses it, log it and repeat it until it succeeds.

        It takes the place of a row that is being repeated. `again`: called instead of `write` to
        repeat it.
        """
        def later(delay: float, repeat: Callable[[], Any]) -> None:
            def repeated() -> None:
                self._unwritten = ''
                (again or repeat)()

            self._unwritten, self._repetition = event, self.clock.call_later(delay, repeated)

        self._drop_unwritten()
        until_recorded(later, f'{self.action.machine.name}: {event}', write)

    def _drop_unwritten(self) -> None:
        self._unwritten = ''
        if self._repetition is not None:
            self._repetition.cancel()
            self._repetition = None

    def _fire(
        self, event: str, again: Callable[[], None] | None = None, /, **data: Any
    ) -> None:
        """Fire an event; its row is repeated as `_record` says."""
        def fire() -> None:
            try:
                self.fire(event, **{**data, **(self._ordered() if event == 'fail' else {}),
                                    **self._named_boxes()})
            except (TransitionNotAllowed, ContentRefused) as error:
                self._internal(error)

        if self._held:  # its work has ended
            self._held = False
            self._watch_deadline(0.0)
        self._record(event, fire, again)

    @property
    def repeating(self) -> bool:
        """Return whether its next change is decided, and its row is written again and again."""
        return self._unwritten != ''

    def _begin(self, begin: Callable[[Callable[[], None]], None]) -> None:
        """
        Call `begin(again)`, which begins an attempt or a motion; if paused, when it is resumed.

        `again`: to be called instead to repeat a refused row, since it may be paused by then.
        """
        again = partial(self._begin, begin)
        if self.paused():
            self._postponed = self._unless_changed(again)
            self.progressed()
        else:
            begin(again)

    def _fail(self, code: ErrorCode, reason: str, **data: Any) -> None:
        self._fire('fail', error_code=code.name, error_msg=reason, cause=reason, **data)

    def _fail_still(
        self, code: ErrorCode, reason: str, *, actor: str = '', **data: Any
    ) -> None:
        """Fail; after physical work, when its stop is judged."""
        raise NotImplementedError

    def _ordered(self) -> dict[str, Any]:
        """Return how a person or a limit ends the action, for a row of `fail`."""
        data: dict[str, Any] = {'last': True} if self._last else {}
        if self._waived:
            data.update(skip=True, cancel=False)
        elif self.canceling:
            data['cancel'] = True
        return data

    @property
    def canceling(self) -> bool:
        """Return whether a person has canceled the action, and its end is not recorded yet."""
        return self._canceled_by is not None and self._canceled_by[0] is ErrorCode.CANCELED \
            or self.action.state is ActionState.ERROR and self.action.cancel_requested

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

        def when_still(*arguments: Any) -> None:
            if self._changes == changes:
                callback(*arguments)

        return when_still

    def _watch_deadline(self, elapsed: float) -> None:
        """Begin the time limit of an attempt that took `elapsed` (s) until now."""
        raise NotImplementedError

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _left(self) -> None:
        """Cancel the work of the previous state."""
        self._changes += 1
        self._motion = self._judging = self._postponed = None
        self._held = self._recorded = False
        self._drop_unwritten()
        self._ended_request = self._request
        under_way, self._under_way = self._under_way, []
        for handle in under_way:
            handle.cancel()
