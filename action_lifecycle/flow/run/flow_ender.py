# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Ends the actions of flows that are canceled, that a software error or an edit ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import logging

from .flow_hooks import Extension
from .flow_run import FlowRun
from .recorder import JournalRecorder
from ..scheduling.dag import CycleError
from ...documents.errors import LifecycleError
from ...lifecycle.states import ErrorCode
from ...lifecycle.text_format import printable

ENDED_AT_ONCE = 100
"""Maximum number of waiting actions ended before other callbacks run."""
CANCEL_ACTION = 'cancel_action'
"""Event of the note of the cancel of an action; data: `action`."""
BROKEN, ORCHESTRATOR = 'broken', 'orchestrator'
"""Event of the note of an error that prevents a flow from continuing, and the actor of it."""
MAX_REASON = 4000
"""Maximum length of its cause, in characters."""


def reason_of(error: Exception) -> str:
    """Return an error as a string for a journal row; expected ones without their type."""
    said = str(error)
    expected = said and isinstance(error, (LifecycleError, CycleError))
    return printable(said if expected else f'{type(error).__name__}: {said}', MAX_REASON)


class FlowEnder(ABC):
    """Ends actions; `withdraw` keeps a waiting one from being started."""

    def __init__(self, extensions: Sequence[Extension], recorder: JournalRecorder) -> None:
        self._extensions = extensions
        self._recorder = recorder
        self._log = logging.getLogger('action_lifecycle')

    @abstractmethod
    def withdraw(self, run: FlowRun, name: str) -> None:
        """Withdraw the claim of an action, so that it does not start."""

    def cancel(self, run: FlowRun, actor: str, reason: str) -> None:
        """Journal that a flow is canceled and cancel its actions that have not ended."""
        if run.ended or run.canceled_by is not None:
            return
        run.canceled_by = actor, reason
        self._recorder.note(run.flow_id, 'cancel_flow', {}, actor, reason)
        self.tell_extensions('canceled', run)
        self.cancel_all(run)

    def cancel_action(self, run: FlowRun, name: str, actor: str, reason: str) -> None:
        """Journal that an action is canceled and cancel it."""
        order = run.canceled_actions[name] = actor, reason

        def note() -> None:
            if run.canceled_actions.get(name) is order:  # else it has ended meanwhile
                self._recorder.order(run.flow_id, CANCEL_ACTION, {'action': name}, actor, reason)

        self._recorder.until_recorded(f'the cancel of {run.flow_id}/{name}', note)
        self.end_canceled(run, name)

    def end_canceled(self, run: FlowRun, name: str) -> None:
        """Cancel an action whose cancel is recorded, in any state."""
        self.withdraw(run, name)
        self.tell_extensions('action_canceled', run, name)
        run.runners[name].cancel(*run.canceled_actions[name])

    def fail(self, run: FlowRun, code: ErrorCode, reason: str) -> None:
        """Journal an error that prevents a flow from continuing, and cancel all its actions."""
        if not run.broken:
            run.broken, run.error_code = reason, code
            self._recorder.note(
                run.flow_id, BROKEN, {'error_code': code.name}, ORCHESTRATOR, run.broken)
        self.cancel(run, ORCHESTRATOR, run.broken)

    @contextmanager
    def guard(self, run: FlowRun) -> Iterator[None]:
        """Let an exception in the block, which follows a journaled change, fail the flow."""
        try:
            yield
        except Exception as error:
            self._log.exception('flow %s can not go on', run.flow_id)
            self.fail(run, ErrorCode.INTERNAL, reason_of(error))

    def tell_extensions(self, event: str, run: FlowRun, *arguments: str) -> None:
        """Call a method of all extensions; their exceptions are logged, since it is too late."""
        for extension in self._extensions:
            try:
                getattr(extension, event)(run, *arguments)
            except Exception:
                self._log.exception('flow %s: %s of %s', run.flow_id, event,
                                    type(extension).__name__)

    def cancel_all(self, run: FlowRun) -> None:
        """Cancel all actions of a canceled flow, running actions first."""
        assert run.canceled_by is not None
        for name in list(run.at_work):
            try:
                run.runners[name].cancel(*run.canceled_by)
            except Exception:  # the others move, too
                self._log.exception('%s/%s can not be canceled', run.flow_id, name)
        self.end_waiting(run)

    def end_waiting(self, run: FlowRun) -> None:
        """End all actions that have not started, of a flow that starts nothing more."""
        waiting = [name for name in run.runners
                   if name not in run.dependencies.outcomes and name not in run.at_work]
        for name in waiting:
            self.withdraw(run, name)
        self._end_some(run, waiting[::-1])

    def _end_some(self, run: FlowRun, names: list[str]) -> None:
        if run.left:
            return
        for name in names[:ENDED_AT_ONCE]:
            if name in run.runners and name not in run.at_work:
                self.end_action(run, name)
        if names[ENDED_AT_ONCE:]:
            self._recorder.call_soon(lambda: self._end_some(run, names[ENDED_AT_ONCE:]))

    def end_action(self, run: FlowRun, name: str) -> None:
        """End a waiting action of a flow that is canceled, or that an edit ends."""
        if run.canceled_by is not None:
            run.runners[name].cancel(*run.canceled_by)
        elif run.ending is not None:
            run.runners[name].skip(run.ending.author, run.ending.reason)
