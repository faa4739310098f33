# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Action states by session and action id, for programs that execute the actions themselves.

A session is named by its user and prompt, `f'{user_id}_{prompt_id}'`. The functions only record
states and refuse transitions that config/graphs/action.yaml does not permit; they do not move a
robot or collect evidence. `configure(journal=PATH)` makes the states durable; without it they are
kept in memory. The functions are thread-safe; concurrent changes of one action are made one after
the other.
"""

from __future__ import annotations

from enum import Enum
import logging
import os
from typing import Any

from .documents.errors import LifecycleError, StateTransitionError
from .graphs.machine import Machine
from .graphs.packaged import packaged_graph
from .journal.journal import Journal
from .journal.sessions import SessionLedger, Sessions, transition_to
from .lifecycle.states import ActionOutcome, ActionState, ErrorCode, LedgerTaskStatus

__all__ = [
    'ActionRetryTracker', 'ActionState', 'FlowLifecycleState', 'FlowState', 'LedgerTaskStatus',
    'block_for_user_input', 'configure', 'force_state_through_valid_path', 'forget_session',
    'get_action_state', 'get_registered_ledger', 'register_ledger_for_session',
    'restore_action_states_from_ledger', 'resume_from_user_input', 'safe_set_state',
    'set_action_state', 'validate_state_transition',
]


_sessions = Sessions(packaged_graph('action'))


def configure(journal: str | os.PathLike[str] | None = None) -> None:
    """
    Keep all states in a journal and restore those in it; None: keep them in memory.

    Call it before the first change: with states in memory, it raises `LifecycleError`. Raises
    JournalError if the journal can't be used.
    """
    global _sessions
    if journal is not None and _sessions.journal is None and _sessions.actions:
        raise LifecycleError('configure() comes before the first state is set')
    if _sessions.journal is not None:
        _sessions.journal.close()
    ledgers = _sessions.ledgers
    _sessions = Sessions(
        packaged_graph('action'), Journal(journal) if journal is not None else None)
    _sessions.ledgers = ledgers


def register_ledger_for_session(user_prompt: str, ledger: SessionLedger) -> None:
    """Keep a ledger in sync with the session's actions, including the existing ones."""
    with _sessions.lock:
        _sessions.ledgers[user_prompt] = ledger
        for (session, _), action in _sessions.actions.items():
            if session == user_prompt:
                _sessions.sync(action, 'registered')


def get_registered_ledger(user_prompt: str) -> SessionLedger | None:
    """Return the registered ledger of a session, or None."""
    return _sessions.ledgers.get(user_prompt)


def forget_session(user_prompt: str) -> None:
    """Drop the ledger and the actions of an ended session from memory, not from a journal."""
    with _sessions.lock:
        _sessions.ledgers.pop(user_prompt, None)
        _sessions.forget(user_prompt)


def get_action_state(user_prompt: str, action_id: str | int) -> ActionState:
    """Return the state of an action; `assigned` for an unknown action."""
    return _sessions.action(user_prompt, action_id).state


def set_action_state(
    user_prompt: str, action_id: str | int, state: ActionState | str, reason: str = '', *,
    outcome: ActionOutcome | str | None = None, error_code: ErrorCode = ErrorCode.NONE,
    evidence: list[dict[str, Any]] | None = None,
) -> None:
    """
    Record a new state of an action; does nothing if it is the current one.

    `outcome`: how a terminated action ended. It is required, and skipped or canceled, for an
    action that never started. After work it is succeeded if and only if this attempt was
    completed, else failed or canceled. `evidence` is required for status_verification_requested
    after sensor_confirm, and for completed if the action was restored from a ledger that does not
    tell whether it had any. Raises `StateTransitionError` if the graph does not permit the change
    or the journal write fails; then nothing has changed.
    """
    with _sessions.lock:
        _sessions.set_state(_sessions.action(user_prompt, action_id), state, reason,
                            outcome=outcome, error_code=error_code, evidence=evidence)


def safe_set_state(
    user_prompt: str, action_id: str | int, state: ActionState | str, reason: str = '',
    **details: Any,
) -> bool:
    """Do the same as `set_action_state`, but return False instead of raising."""
    try:
        set_action_state(user_prompt, action_id, state, reason, **details)
    except StateTransitionError as error:
        logging.getLogger(__name__).warning('%s', error)
        return False
    return True


def validate_state_transition(
    user_prompt: str, action_id: str | int, new_state: ActionState | str
) -> bool:
    """Return whether `set_action_state` without details would accept this state now."""
    with _sessions.lock:
        action = _sessions.action(user_prompt, action_id)
        machine = action.machine
        possible = machine.possible_events()
        return new_state == machine.state or any(
            one.target == new_state and one.event in possible and not action.lacks_evidence(one)
            for one in machine.graph.transitions_from(machine.state))


def force_state_through_valid_path(
    user_prompt: str, action_id: str | int, target: ActionState | str, reason: str = '',
    through_completed: bool = False,
) -> bool:
    """
    Record the shortest legal path to a state; returns False if there is none.

    The path enters completed only if `through_completed`. It never goes from sensor_confirm to
    verification, which needs evidence, and never beyond a new attempt. If a journal write fails,
    it returns False, and the action keeps the state of the last recorded step.
    """
    with _sessions.lock:
        return _sessions.walk(_sessions.action(user_prompt, action_id), [target], reason,
                              () if through_completed else (ActionState.COMPLETED,))


def block_for_user_input(user_prompt: str, action_id: str | int, reason: str = '') -> bool:
    """
    Record that an action waits for its user: pending, or fallback_requested after an error.

    The ledger's status is then BLOCKED. Returns False if the action can't wait in its state.
    """
    with _sessions.lock:
        return _sessions.walk(
            _sessions.action(user_prompt, action_id),
            [ActionState.PENDING, ActionState.FALLBACK_REQUESTED],
            f'input_required: {reason}' if reason else 'input_required',
            (ActionState.COMPLETED, ActionState.ERROR, ActionState.RECIPE_REQUESTED))


def resume_from_user_input(user_prompt: str, action_id: str | int, reason: str = '') -> bool:
    """Record that the user has answered: in_progress again; False if it was not blocked."""
    with _sessions.lock:
        action = _sessions.action(user_prompt, action_id)
        return action.state in (ActionState.PENDING, ActionState.FALLBACK_REQUESTED) \
            and _sessions.walk(action, [ActionState.IN_PROGRESS], reason,
                               (ActionState.COMPLETED, ActionState.ERROR))


def restore_action_states_from_ledger(
    user_prompt: str, ledger: SessionLedger, *, may_have_moved: bool = True
) -> int:
    """
    Restore the states of unknown actions from a ledger; returns their number.

    Actions that the journal or this process knows are not changed. A ledger that keeps only
    statuses does not tell whether an action has moved: it is then physical, unless
    `may_have_moved` is False. An action whose task can't be used (unknown status, damaged record)
    is set aside: that is logged, and its state can't be changed until `forget_session`.
    """
    with _sessions.lock:
        return _sessions.restore(user_prompt, ledger.tasks, may_have_moved)


class ActionRetryTracker:
    """
    Limits the number of `pending` answers of a verifier per attempt.

    The count is derived from the journaled changes, so it survives a restart.
    """

    def __init__(self, max_pending: int = 3) -> None:
        self.max_pending = max_pending

    def count(self, user_prompt: str, action_id: str | int) -> int:
        """Return the number of pending answers in the current attempt."""
        return _sessions.action(user_prompt, action_id).pendings

    def increment_pending(
        self, user_prompt: str, action_id: str | int, reason: str = ''
    ) -> bool:
        """
        Record that the verifier answered pending; returns whether the limit is exceeded.

        Up to `max_pending` times the action goes to pending and back to verification. After that
        it goes to error with RETRY_EXHAUSTED. Raises the same as `set_action_state`.
        """
        with _sessions.lock:
            if self.count(user_prompt, action_id) >= self.max_pending:
                set_action_state(user_prompt, action_id, ActionState.ERROR, reason,
                                 error_code=ErrorCode.RETRY_EXHAUSTED)
                return True
            for state in (ActionState.PENDING, ActionState.STATUS_VERIFICATION_REQUESTED):
                set_action_state(user_prompt, action_id, state, reason)
            return False


class FlowState(str, Enum):
    """The stages of a flow before and after its actions run."""

    DEPENDENCY_ANALYSIS = 'dependency_analysis'  #: the dependencies between actions are read
    TOPOLOGICAL_SORT = 'topological_sort'  #: the actions are put into an order
    SCHEDULED_JOBS_CREATION = 'scheduled_jobs_creation'  #: the jobs are created and run
    FLOW_RECIPE_CREATION = 'flow_recipe_creation'  #: the verified flow is saved as a recipe


class FlowLifecycleState:
    """The stage of one flow, kept in memory."""

    def __init__(self, name: str = 'flow') -> None:
        self._machine = Machine(packaged_graph('flow'), name=name)

    @property
    def state(self) -> FlowState:
        """Return the current stage."""
        return FlowState(self._machine.state)

    def set_state(self, state: FlowState | str) -> None:
        """Set the stage; raises `StateTransitionError` unless it is the next or current one."""
        if state != self.state:
            step = transition_to(self._machine, state)
            self._machine.fire(step.event, expect=step.source)
