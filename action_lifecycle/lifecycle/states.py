# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The enums of the lifecycle: states, outcomes, ledger statuses and error codes."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NamedTuple


class ActionState(str, Enum):
    """The state of an action; topics, journal and ledger use these values."""

    ASSIGNED = 'assigned'  #: part of a flow, not started
    IN_PROGRESS = 'in_progress'  #: started; its `require` conditions are checked
    EXECUTING_MOTION = 'executing_motion'  #: a motion goal is journaled, then sent
    SENSOR_CONFIRM = 'sensor_confirm'  #: the motion ended; `confirm` is evaluated
    STATUS_VERIFICATION_REQUESTED = 'status_verification_requested'  #: the verifiers are called
    PENDING = 'pending'  #: a verifier needs more time or input
    COMPLETED = 'completed'  #: done and verified
    ERROR = 'error'  #: failed, with an error code
    FALLBACK_REQUESTED = 'fallback_requested'  #: a fallback for the error is being chosen
    FALLBACK_RECEIVED = 'fallback_received'  #: a fallback is chosen
    RECIPE_REQUESTED = 'recipe_requested'  #: the reusable record is being made
    RECIPE_RECEIVED = 'recipe_received'  #: the reusable record is stored
    TERMINATED = 'terminated'  #: ended, with an outcome


class ActionOutcome(str, Enum):
    """How a terminated action ended."""

    SUCCEEDED = 'succeeded'  #: this attempt passed `completed`
    FAILED = 'failed'
    CANCELED = 'canceled'
    SKIPPED = 'skipped'  #: a dependency did not succeed, or a person has skipped it


class LedgerTaskStatus(str, Enum):
    """The status of an action in the ledger of the fleet."""

    PENDING = 'PENDING'
    IN_PROGRESS = 'IN_PROGRESS'
    VALIDATING = 'VALIDATING'
    BLOCKED = 'BLOCKED'
    COMPLETED = 'COMPLETED'
    FAILED = 'FAILED'
    CANCELLED = 'CANCELLED'
    SKIPPED = 'SKIPPED'


LEDGER_STATUS = {
    ActionState.ASSIGNED: LedgerTaskStatus.PENDING,
    ActionState.IN_PROGRESS: LedgerTaskStatus.IN_PROGRESS,
    ActionState.EXECUTING_MOTION: LedgerTaskStatus.IN_PROGRESS,
    ActionState.SENSOR_CONFIRM: LedgerTaskStatus.VALIDATING,
    ActionState.STATUS_VERIFICATION_REQUESTED: LedgerTaskStatus.VALIDATING,
    ActionState.COMPLETED: LedgerTaskStatus.COMPLETED,
    ActionState.PENDING: LedgerTaskStatus.BLOCKED,
    ActionState.ERROR: LedgerTaskStatus.FAILED,
    ActionState.FALLBACK_REQUESTED: LedgerTaskStatus.BLOCKED,
    ActionState.FALLBACK_RECEIVED: LedgerTaskStatus.IN_PROGRESS,
    ActionState.RECIPE_REQUESTED: LedgerTaskStatus.IN_PROGRESS,
}
OUTCOME_STATUS = {
    ActionOutcome.SUCCEEDED: LedgerTaskStatus.COMPLETED,
    ActionOutcome.FAILED: LedgerTaskStatus.FAILED,
    ActionOutcome.CANCELED: LedgerTaskStatus.CANCELLED,
    ActionOutcome.SKIPPED: LedgerTaskStatus.SKIPPED,
}


def ledger_status(state: ActionState, outcome: ActionOutcome | None = None) -> LedgerTaskStatus:
    """
    Return the ledger's status of a state.

    For `terminated` and `recipe_received` the outcome decides; without one it is FAILED.
    """
    if state in (ActionState.TERMINATED, ActionState.RECIPE_RECEIVED):
        return OUTCOME_STATUS[outcome or ActionOutcome.FAILED]
    return LEDGER_STATUS[state]


BLOCKED_REASONS = ('dependency', 'input_required', 'approval_required')
BLOCKED_REASON = {
    ActionState.PENDING: 'approval_required',
    ActionState.FALLBACK_REQUESTED: 'input_required',
}
"""Why an action is blocked in a state, unless the cause of the change says otherwise."""


def blocked_text(cause: str) -> str:
    """Return why an action waits, beginning with its reason, by default `dependency`."""
    named = cause.partition(':')[0].strip() in BLOCKED_REASONS
    return cause if named or not cause else f'dependency: {cause}'


def wait_text(waits_for: str) -> str:
    """Return a text of `blocked_text` without the reason at its beginning."""
    kind, colon, text = waits_for.partition(': ')
    return text if colon and kind in BLOCKED_REASONS else waits_for


class TaskStatus(NamedTuple):
    """The status of an action in the ledger, and why it waits ('' if it does not)."""

    ledger_status: str
    blocked_reason: str


_TASK_STATUS = {
    state.value: TaskStatus(status.value, BLOCKED_REASON.get(state, ''))
    for state, status in LEDGER_STATUS.items()}
_UNKNOWN = TaskStatus('', '')
_BY_OUTCOME = {
    state.value: {'': TaskStatus(LedgerTaskStatus.FAILED.value, ''), **{
        outcome.value: TaskStatus(status.value, '') for outcome, status in OUTCOME_STATUS.items()}}
    for state in (ActionState.TERMINATED, ActionState.RECIPE_RECEIVED)}


def task_status(state: str, cause: str = '', outcome: str = '') -> TaskStatus:
    """
    Return the status of an action from the values in its journal row.

    A cause of a blocked action that begins with one of BLOCKED_REASONS names its reason. Both
    results are '' for an unknown state.
    """
    if state in _BY_OUTCOME:
        by_outcome = _BY_OUTCOME[state]
        return by_outcome.get(outcome, by_outcome[''])
    found = _TASK_STATUS.get(state, _UNKNOWN)
    if found.blocked_reason and cause:
        named = cause.partition(':')[0].strip()
        if named in BLOCKED_REASONS:
            return TaskStatus(found.ledger_status, named)
    return found


class ErrorCode(IntEnum):
    """Why something failed; the numbers are those of action_lifecycle_msgs/ErrorCode."""

    NONE = 0
    # requests
    INVALID_REQUEST = 1  #: a value of the request is invalid; error_msg names it
    NOT_FOUND = 2
    NOT_ALLOWED = 3  #: not allowed in the present state
    NOT_READY = 4  #: the node is not active
    CANCELED = 5
    INTERNAL = 6  #: software error; see the log
    DEADLINE_EXCEEDED = 7  #: the action's own time limit ran out
    INTERRUPTED = 8  #: the process ended before the work was done
    # before the motion
    REQUIRE_REFUTED = 100  #: a `require` condition is false
    REQUIRE_UNKNOWN = 101  #: a `require` condition is unknown: a fact is missing or stale
    # the motion
    SERVER_MISSING = 200  #: no action server of that name in time
    GOAL_INVALID = 201  #: a field does not fit the type, is not finite or is out of its limits
    GOAL_REJECTED = 202
    GOAL_UNANSWERED = 203  #: neither accepted nor rejected in time
    SERVER_VANISHED = 204  #: the server became unavailable during the motion
    MOTION_TIMEOUT = 205  #: no result in time
    MOTION_ABORTED = 206  #: the server reports failure
    MOTION_CANCELED = 207  #: canceled at the server by another client
    MAINTAIN_VIOLATED = 208
    STOP_UNCONFIRMED = 209  #: canceled, stop not confirmed; its resources stay locked
    GOAL_UNKNOWN = 210  #: after a restart, the server does not know the journaled goal
    RESULT_TWICE = 211  #: the server gave two different results for one goal
    CALL_FAILED = 212  #: the response of a service does not fit `success`
    UNTIL_TIMEOUT = 213  #: the condition that ends a publication was not true in time
    WORK_FAILED = 214  #: a job, tool, graph or nested flow has failed
    # safety
    SAFETY_NOT_READY = 300  #: the safety topics were not READY in time
    SAFETY_STALE = 301  #: no message on a safety topic in time, during a motion
    ESTOP = 302
    # confirmation and verification
    REFUTED = 400  #: a `confirm` condition is false at its time limit
    CONFIRM_TIMEOUT = 401  #: `confirm` was not true for `hold` in time
    CONFIRM_STALE = 402  #: no new sensor samples
    PARSE_ERROR = 403  #: a reply that can't be parsed
    VERIFY_TIMEOUT = 404
    VERIFY_FAILED = 405
    RETRY_EXHAUSTED = 406
    FALLBACK_TIMEOUT = 407  #: no answer in time
    REPEAT_EXHAUSTED = 408  #: `until` was not true after the last repetition
    # flows
    FLOW_INVALID = 500
    FLOW_CYCLE = 501
    FLOW_RUNNING = 502  #: a flow with that id is already running
    FLOW_FAILED = 503
    FLOW_PARTIALLY_FAILED = 504
    EDIT_REFUSED = 505
    DEPENDENCY_FAILED = 506
    PLAN_FAILED = 507  #: the planner gave no usable flow, or could not be reached
    RECIPE_REFUSED = 508  #: its preconditions no longer hold, or the flow has changed
    # records
    JOURNAL_FAILED = 600
    LEDGER_UNAVAILABLE = 601
    LEASE_LAPSED = 602


FOREIGN_GOAL = ErrorCode.NOT_ALLOWED
"""The code of a motion that a goal of another client at its server has prevented or ended."""
