# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Actions by session, for callers that do the work themselves and only record its states.

The states are kept in memory, and in a journal if there is one. A ledger of the session can be
updated at each change. One lock covers everything, so concurrent changes are made one after
another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
import logging
import threading
from typing import Any, Protocol

from .action_rows import entry_of, replay
from .journal import Journal
from .row import JournalError, Row
from ..documents.errors import LifecycleError, StateTransitionError
from ..documents.suggestions import nearest
from ..graphs.graph import Graph, Transition
from ..graphs.machine import Change, Machine
from ..lifecycle.action import Action
from ..lifecycle.spec import ActionSpec
from ..lifecycle.states import ActionOutcome, ActionState, ErrorCode, LedgerTaskStatus

_LOG = logging.getLogger(__name__)

RESTORED_AS = {
    LedgerTaskStatus.IN_PROGRESS: ActionState.IN_PROGRESS,
    LedgerTaskStatus.VALIDATING: ActionState.STATUS_VERIFICATION_REQUESTED,
    LedgerTaskStatus.BLOCKED: ActionState.PENDING,
    LedgerTaskStatus.COMPLETED: ActionState.COMPLETED,
    LedgerTaskStatus.FAILED: ActionState.ERROR,
    LedgerTaskStatus.CANCELLED: ActionState.TERMINATED,
    LedgerTaskStatus.SKIPPED: ActionState.TERMINATED,
}
"""The state of an action that is restored from its status in the ledger."""

_RESTORED_OUTCOMES = {
    LedgerTaskStatus.CANCELLED: ActionOutcome.CANCELED,
    LedgerTaskStatus.SKIPPED: ActionOutcome.SKIPPED,
}


class SessionLedger(Protocol):
    """A ledger that is kept in sync with the statuses of a session's actions."""

    @property
    def tasks(self) -> Mapping[str, Any]:
        """Return statuses, or objects with an attribute `status`, by action id."""

    def update_task_status(self, task_id: str, status: LedgerTaskStatus, reason: str) -> Any:
        """Update the status of an action; called once for each change, in order."""


class SessionAction(Action):
    """
    An action of a session.

    It is physical after its first state `executing_motion`.
    """

    def physical(self, target: str = '') -> bool:
        """Whether the action has had a motion, or is about to."""
        return self.motions > 0 or target == ActionState.EXECUTING_MOTION


class Sessions:
    """The actions and ledgers of all sessions; a session's key is the flow id of its actions."""

    def __init__(self, graph: Graph, journal: Journal | None = None) -> None:
        self.lock = threading.RLock()
        self.journal = journal
        self.actions: dict[tuple[str, str], SessionAction] = {}
        self.ledgers: dict[str, SessionLedger] = {}
        self.aside: dict[tuple[str, str], str] = {}
        """Actions that could not be restored from the journal, with reasons."""
        self._graph = graph
        self._warned = False
        for row in journal.rows(kind='transition') if journal is not None else ():
            self._read_back(row)

    def _read_back(self, row: Row) -> None:
        """Apply a row; if this fails, set its action aside."""
        key = row.flow_id, row.action_id
        if key in self.aside:
            return
        try:
            self.actions[key] = action = self.action(*key)
            replay(action, row)
        except JournalError as error:  # a bad row must not affect other actions
            self.aside[key] = str(error)
            del self.actions[key]
            _LOG.error(
                'action %s of session %s is set aside: %s. Its state is unknown and can not be '
                'changed; use a new action id', row.action_id, row.flow_id, self.aside[key])

    def action(self, session: str, action_id: str | int) -> SessionAction:
        """
        Return an action; an unknown one is new, and is stored at its first change.

        Raises `StateTransitionError` if it is set aside.
        """
        key = session, str(action_id)
        if key in self.aside:
            raise StateTransitionError(
                f'{session}/{action_id}', 'unknown', 'any other',
                f'it is set aside: {self.aside[key]}')
        return self.actions.get(key) or SessionAction(*key, ActionSpec(), self._graph, self)

    def set_state(
        self, action: SessionAction, state: str, reason: str, *,
        outcome: ActionOutcome | str | None = None, error_code: ErrorCode = ErrorCode.NONE,
        evidence: list[dict[str, Any]] | None = None,
    ) -> None:
        """
        Record a new state; does nothing if it is the current one.

        Raises `StateTransitionError` if the graph or the journal refuses; then nothing has
        changed.
        """
        if state == action.state:
            return
        step = transition_to(action.machine, state)
        details: dict[str, dict[str, Any]] = {
            'execute': {'goal_id': ''},
            'repeat_motion': {'goal_id': ''},
            'motion_done': {'ended': 0.0},
            'confirmed': {'evidence': evidence or []},
            'receive_fallback': {'strategy': '', 'next_fallback': action.next_fallback},
            'receive_recipe': {'fragment': {}},
            'fail': {'error_code': error_code.name, 'error_msg': reason},
        }
        data = {'cause': reason, **details.get(step.event, {})}
        if step.event == 'terminate':
            data['outcome'] = _outcome(action, step, outcome)
        try:
            action.machine.fire(step.event, expect=step.source, **data)
        except LifecycleError as error:
            raise StateTransitionError(
                action.machine.name, step.source, step.target, str(error)) from error
        self.sync(action, reason)

    def walk(
        self, action: SessionAction, targets: Collection[str], reason: str,
        avoided: Collection[ActionState],
    ) -> bool:
        """
        Record the shortest legal path to one of the targets without the avoided states.

        Returns False if there is none, or if a journal write fails; the action then keeps the
        state of the last recorded step.
        """
        allowed = partial(_may_be_walked, action, avoided)
        paths = [self._graph.path(action.machine.state, target, allowed)
                 for target in targets if target in self._graph.states]
        found = [path for path in paths if path is not None]
        if not found:
            return False
        try:
            for step in min(found, key=len):
                self.set_state(action, step.target, reason)
        except StateTransitionError as error:
            _LOG.warning('%s', error)
            return False
        return True

    def restore(self, session: str, tasks: Mapping[str, Any]) -> int:
        """Restore the states of unknown actions; returns their number."""
        restored = 0
        for task_id, task in tasks.items():
            status = _status(task_id, task)
            if (session, str(task_id)) in self.aside:
                continue
            action = self.action(session, task_id)
            if (session, action.action_id) in self.actions or status is LedgerTaskStatus.PENDING:
                continue
            data = {'cause': 'restored from the ledger'}
            event = 'restore'
            if status in _RESTORED_OUTCOMES:
                event, data['outcome'] = 'terminate', _RESTORED_OUTCOMES[status].value
            state = RESTORED_AS[status]
            self._record(action, event, action.state, state, data)
            action.apply(event, state, data)
            action.machine.restore(state)
            restored += 1
        return restored

    def sync(self, action: SessionAction, reason: str) -> None:
        """Update the session's ledger; its exceptions are logged, the change stays."""
        ledger = self.ledgers.get(action.flow_id)
        if ledger is None:
            return
        try:
            ledger.update_task_status(action.action_id, action.ledger_status, reason)
        except Exception:
            _LOG.exception('the ledger of session %s did not take %s of action %s',
                           action.flow_id, action.ledger_status.value, action.action_id)

    # The interface of a recorder

    def transition(self, action: SessionAction, change: Change) -> None:
        """Journal a change before it takes effect."""
        self._record(action, change.event, change.source, change.target, change.data)

    def published(self, action: SessionAction, change: Change) -> None:
        """Do nothing; the ledger is updated after the transition."""

    def step(self, action: SessionAction, data: object) -> None:
        """Raise AssertionError: nothing here starts work."""
        raise AssertionError('recording a state starts no work')

    def call_soon(self, callback: object) -> None:
        """Raise AssertionError: nothing here runs an action."""
        raise AssertionError('recording a state needs no callback')

    barrier = call_soon

    def _record(
        self, action: SessionAction, event: str, source: str, target: str, data: Mapping[str, Any]
    ) -> None:
        if self.journal is not None:
            self.journal.append(entry_of(action, event, source, target, data))
        elif not self._warned:
            self._warned = True
            _LOG.warning('action states are kept in memory only and end with this process')
        self.actions[action.flow_id, action.action_id] = action


def transition_to(machine: Machine, target: str) -> Transition:
    """Return the transition to `target`; raises `StateTransitionError` if there is none."""
    states = machine.graph.states
    ways = {one.target: one for one in machine.graph.transitions_from(machine.state)}
    if target not in ways:
        name = str(getattr(target, 'value', target))
        raise StateTransitionError(
            machine.name, machine.state, name, f"possible: {', '.join(ways) or 'none'}"
            + ('' if target in states else nearest(name, states)))
    return ways[target]


def _may_be_walked(
    action: SessionAction, avoided: Collection[ActionState], step: Transition
) -> bool:
    """Whether a walk may take this step: not if it needs details or starts a new attempt."""
    return not (
        step.target in avoided or step.event == 'confirmed'
        or (step.source == ActionState.ASSIGNED and action.state is not ActionState.ASSIGNED)
        or (step.event == 'terminate' and step.source == ActionState.ASSIGNED)
        or (step.event == 'request_verification' and action.physical()))


def _outcome(action: SessionAction, step: Transition, outcome: ActionOutcome | str | None) -> str:
    """Return the outcome of an action that ends; raises StateTransitionError if impossible."""
    if step.source == ActionState.ASSIGNED:
        possible = [ActionOutcome.SKIPPED, ActionOutcome.CANCELED]
    elif action.passed_completed:
        possible = [ActionOutcome.SUCCEEDED]
    else:
        possible = [ActionOutcome.FAILED, ActionOutcome.CANCELED]
    wanted = possible[0] if outcome is None else outcome
    if wanted not in possible or (outcome is None and step.source == ActionState.ASSIGNED):
        raise StateTransitionError(
            action.machine.name, step.source, step.target,
            'its outcome would be ' + ' or '.join(one.value for one in possible)
            + (f', not {getattr(outcome, "value", outcome)}' if outcome else '; say which'))
    return str(getattr(wanted, 'value', wanted))


def _status(task_id: str, task: Any) -> LedgerTaskStatus:
    status = getattr(task, 'status', task)
    try:
        return LedgerTaskStatus(str(getattr(status, 'value', status)).upper())
    except ValueError:
        raise LifecycleError(f"task '{task_id}' of the ledger: unknown status {status!r}"
                             ) from None
