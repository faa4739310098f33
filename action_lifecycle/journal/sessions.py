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
import json
import logging
import threading
from typing import Any, Protocol

from .action_rows import entry_of, replay
from .journal import Journal
from .row import JournalError, Row
from ..documents.errors import LifecycleError, StateTransitionError
from ..documents.json_text import read_json
from ..documents.suggestions import nearest
from ..graphs.graph import Graph, Transition
from ..graphs.machine import Change, Machine
from ..lifecycle.action import Action
from ..lifecycle.spec import ActionSpec
from ..lifecycle.states import ActionOutcome, ActionState, ErrorCode, LedgerTaskStatus

_LOG = logging.getLogger(__name__)

RESTORED = 'restored from the ledger'  #: cause of the row of an action that is restored
RESTORED_AS = {
    LedgerTaskStatus.IN_PROGRESS: ActionState.IN_PROGRESS,
    LedgerTaskStatus.VALIDATING: ActionState.SENSOR_CONFIRM,
    LedgerTaskStatus.BLOCKED: ActionState.PENDING,
    LedgerTaskStatus.COMPLETED: ActionState.COMPLETED,
    LedgerTaskStatus.FAILED: ActionState.ERROR,
    LedgerTaskStatus.CANCELLED: ActionState.TERMINATED,
    LedgerTaskStatus.SKIPPED: ActionState.TERMINATED,
}
"""The state of an action of which the ledger has only the status, and which may have moved."""

_RESTORED_OUTCOMES = {
    LedgerTaskStatus.CANCELLED: ActionOutcome.CANCELED,
    LedgerTaskStatus.SKIPPED: ActionOutcome.SKIPPED,
}


class SessionLedger(Protocol):
    """
    A ledger that is kept in sync with the statuses of a session's actions.

    If it has an attribute `keeps_actions` that is true, `update_task_status` also gets
    `action=TEXT`, the record of the action, which its tasks return as attribute `action`.
    """

    @property
    def tasks(self) -> Mapping[str, Any]:
        """Return statuses, or objects with an attribute `status`, by action id."""

    def update_task_status(self, task_id: str, status: LedgerTaskStatus, reason: str) -> Any:
        """Update the status of an action; called once for each change, in order."""


class SessionAction(Action):
    """
    An action of a session.

    It is physical after its first state `executing_motion`, or if it was restored from a ledger
    that does not tell whether it has moved.
    """

    may_have_moved = False

    def physical(self, target: str = '') -> bool:
        """Whether the action has had a motion, may have had one, or is about to."""
        return (self.motions > 0 or self.may_have_moved
                or target == ActionState.EXECUTING_MOTION)

    def lacks_evidence(self, step: Transition, evidence: object = None) -> bool:
        """Whether a step to completed has no evidence, since the ledger did not tell of any."""
        return (step.event == 'verified' and self.may_have_moved
                and not (evidence or self.evidence))

    def apply(self, event: str, target: str, data: Mapping[str, Any], cause: str = '') -> None:
        """Apply a journaled change; rows of older versions tell only the state."""
        super().apply(event, target, data, cause)
        if cause == RESTORED and event in ('restore', 'terminate'):
            self._restore(data.get('action'), data)

    def _restore(self, record: Mapping[str, Any] | None, data: Mapping[str, Any]) -> None:
        if record is None:
            self.may_have_moved = bool(data.get('may_have_moved', True))
            if 'outcome' in data:
                self.outcome = ActionOutcome(data['outcome'])
            return
        for name in _COUNTS:
            setattr(self, name, int(record[name]))
        self.may_have_moved = bool(record['may_have_moved'])
        self.passed_completed = bool(record['passed_completed'])
        self.outcome = ActionOutcome(record['outcome']) if record['outcome'] else None
        self.error_code = self.failed_with = ErrorCode[record['error_code']]
        self.error_msg = str(record['error_msg'])
        self.evidence = list(record['evidence'])

    def record(self) -> dict[str, Any]:
        """Return what a ledger must keep for a restore of the action."""
        return {
            **{name: getattr(self, name) for name in _COUNTS}, 'state': self.state.value,
            'may_have_moved': self.may_have_moved, 'passed_completed': self.passed_completed,
            'outcome': self.outcome.value if self.outcome else '', 'evidence': self.evidence,
            'error_code': self.error_code.name, 'error_msg': self.error_msg}


_COUNTS = ('attempt', 'tries', 'motions', 'fallbacks', 'next_fallback', 'pendings')


class Sessions:
    """The actions and ledgers of all sessions; a session's key is the flow id of its actions."""

    def __init__(self, graph: Graph, journal: Journal | None = None) -> None:
        self.lock = threading.RLock()
        self.journal = journal
        self.actions: dict[tuple[str, str], SessionAction] = {}
        self.ledgers: dict[str, SessionLedger] = {}
        self.aside: dict[tuple[str, str], str] = {}
        """Actions that could not be restored from the journal or a ledger, with reasons."""
        self._forgotten: set[str] = set()  # sessions whose rows are not in memory
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
            del self.actions[key]
            self._set_aside(key, error)

    def _set_aside(self, key: tuple[str, str], error: Exception) -> None:
        self.aside[key] = str(error)
        _LOG.error(
            'action %s of session %s is set aside: %s. Its state is unknown and can not be '
            'changed; use a new action id', key[1], key[0], error)

    def forget(self, session: str) -> None:
        """Drop the actions of a session from memory; they are read again when asked for."""
        for key in [key for key in self.actions if key[0] == session]:
            del self.actions[key]
        for key in [key for key in self.aside if key[0] == session]:
            del self.aside[key]
        if self.journal is not None:
            self._forgotten.add(session)

    def action(self, session: str, action_id: str | int) -> SessionAction:
        """
        Return an action; an unknown one is new, and is stored at its first change.

        Raises `StateTransitionError` if it is set aside.
        """
        key = session, str(action_id)
        if session in self._forgotten and self.journal is not None:
            self._forgotten.discard(session)
            for row in list(self.journal.rows(kind='transition', flow_id=session)):
                self._read_back(row)
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
        if action.lacks_evidence(step, evidence):
            raise StateTransitionError(
                action.machine.name, step.source, step.target, 'the ledger that it was restored '
                'from does not tell whether the sensors confirmed it: evidence is needed')
        details: dict[str, dict[str, Any]] = {
            'execute': {'goal_id': ''},
            'repeat_motion': {'goal_id': ''},
            'motion_done': {'ended': 0.0},
            'confirmed': {'evidence': evidence or []},
            'verified': {'evidence': evidence} if evidence else {},
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

    def restore(
        self, session: str, tasks: Mapping[str, Any], may_have_moved: bool = True
    ) -> int:
        """
        Restore the states of unknown actions; returns their number.

        An action whose task can't be used is set aside. `may_have_moved`: actions of which the
        ledger keeps only the status.
        """
        restored = 0
        for task_id, task in tasks.items():
            key = session, str(task_id)
            if key in self.aside:
                continue
            action = self.action(session, task_id)
            if key in self.actions:
                continue
            source = action.state
            try:
                found = self._restored(task_id, task, may_have_moved)
                if found is None:
                    continue
                state, data = found
                event = 'terminate' if state == ActionState.TERMINATED else 'restore'
                _apply(task_id, action, event, state, data)
            except LifecycleError as error:
                self._set_aside(key, error)
                continue
            self._record(action, event, source, state, {**data, 'cause': RESTORED})
            restored += 1
        return restored

    @staticmethod
    def _restored(
        task_id: str, task: Any, may_have_moved: bool
    ) -> tuple[str, dict[str, Any]] | None:
        """
        Return the state of an action in the ledger and the data of the row that restores it.

        None: it has not begun.
        """
        status = _status(task_id, task)
        if text := getattr(task, 'action', ''):
            try:
                record = read_json(str(text), 'the record of its action', finite=True)
                return str(record['state']), {
                    'action': record,
                    **({'outcome': record['outcome']} if record['outcome'] else {})}
            except (LookupError, TypeError, LifecycleError) as error:
                raise LifecycleError(
                    f"task '{task_id}' of the ledger: the record of its action is "
                    f'{str(text)[:200]!r}, expected what the ledger was given') from error
        if status is LedgerTaskStatus.PENDING:
            return None
        data: dict[str, Any] = {'may_have_moved': may_have_moved}
        if status in _RESTORED_OUTCOMES:
            data['outcome'] = _RESTORED_OUTCOMES[status].value
        if status is LedgerTaskStatus.VALIDATING and not may_have_moved:
            return ActionState.STATUS_VERIFICATION_REQUESTED, data
        return RESTORED_AS[status], data

    def sync(self, action: SessionAction, reason: str) -> None:
        """Update the session's ledger; its exceptions are logged, the change stays."""
        ledger = self.ledgers.get(action.flow_id)
        if ledger is None:
            return
        try:
            details = {'action': json.dumps(action.record(), default=str)} \
                if getattr(ledger, 'keeps_actions', False) else {}
            ledger.update_task_status(
                action.action_id, action.ledger_status, reason, **details)
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
        or (step.event == 'request_verification' and action.physical())
        or action.lacks_evidence(step))


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


def _apply(
    task_id: str, action: SessionAction, event: str, state: str, data: dict[str, Any]
) -> None:
    """Put an action into its state in the ledger; raises LifecycleError."""
    try:
        action.apply(event, state, data, RESTORED)  # first: the row has the attempt
        action.machine.restore(state)
    except (LifecycleError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise LifecycleError(f"task '{task_id}' of the ledger: the record of its action "
                             f'can not be used: {error!r}') from error


def _status(task_id: str, task: Any) -> LedgerTaskStatus:
    status = getattr(task, 'status', task)
    try:
        return LedgerTaskStatus(str(getattr(status, 'value', status)).upper())
    except ValueError:
        raise LifecycleError(f"task '{task_id}' of the ledger: unknown status {status!r}"
                             ) from None
