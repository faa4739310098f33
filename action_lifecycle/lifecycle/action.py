# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
One action: its state machine and its data.

All data of an action are derived from its journaled changes by `apply`, both live and when they
are restored, so memory and journal always agree.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from .ports import Evidence, MotionStep, Recorder
from .spec import ActionSpec
from .states import (
    ActionOutcome,
    ActionState,
    blocked_text,
    ErrorCode,
    ledger_status,
    LedgerTaskStatus,
    task_status,
)
from .work import WorkSpec
from ..graphs.graph import Graph
from ..graphs.machine import Machine

ATTEMPT_EVENTS = frozenset({'start', 'retry', 'apply_fallback'})


class Action:
    """
    An action of a flow.

    `attempt` counts the entries into `in_progress`; `tries` counts the retries since the
    parameters last changed; `next_fallback` is the index of the next strategy. `fields`: fields of
    the spec that a fallback has replaced. `failed_with` is the error of the action itself;
    `error_code` may be the error of a fallback.
    """

    hooks_are_methods = True

    def __init__(
        self, flow_id: str, action_id: str, spec: ActionSpec, graph: Graph, recorder: Recorder
    ) -> None:
        self.flow_id = flow_id
        self.action_id = action_id
        self.spec = spec
        self.recorder = recorder
        self.machine = Machine(graph, listeners=(self,), commit=self._commit,
                               publish=self._publish, name=f'{flow_id}/{action_id}')
        self.seq = 0
        self._was = ''
        self.cause = ''  #: of the last change
        self.waits_for = ''  #: what else than its state makes it wait; see `blocked_text`
        self.attempt = 0
        self.tries = 0
        self.motions = 0
        self.completed_after = 0.0  #: s from the start of the attempt to `completed`
        self.fragment: dict[str, Any] = {}  #: its part of a recipe
        self.changed_at = 0.0
        self.started_at = 0.0
        self.begun_seq = 0  #: journal row of its first change
        self.spent: dict[str, float] = {}  #: s in each state
        self.waited = 0.0  #: s that the ready action waited for resources
        self.fallbacks = 0
        self.result: Any = None  #: of the last motion
        self.runs = 0  #: number of successful runs before, if it repeats
        self.give_up: tuple[str, str] | None = None  #: error code and reason to fail without a run
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Reset the data of a run of the action."""
        self._forget_attempt()
        self.next_fallback = 0
        self.strategy = ''
        self.parameters: dict[str, Any] = {}
        self.fields: dict[str, Any] = {}
        self.seen: dict[str, Any] = {}  #: values that its templates read at its start
        self.last = False  #: no retry or fallback follows its next error
        self.foreign_goals = ''  #: a person's choice for this attempt: wait, allow
        self.unstopped = False  #: not seen to stop after another client has ended its goal
        self.outcome: ActionOutcome | None = None
        self.cancel_requested = self.skip_requested = False
        self.error_code = self.failed_with = ErrorCode.NONE
        self.error_msg = ''

    def _forget_attempt(self) -> None:
        """Reset the data of an attempt."""
        self.goal_id = ''
        self.interrupted = False
        self.unanswered: dict[str, str] = {}  #: error of work that may have been carried out
        self.once = False  #: the error is not followed by an unchanged retry
        self.pendings = 0
        self.motion_ended = 0.0
        self.goals: dict[str, Any] = {}  #: goals as sent, by index of the step
        self.results: list[Any] = []  #: of the steps of its work that have ended
        self.progress = 0, -1.0, ''  #: index of the step, progress (-1: not known), as text
        self.controller_said = self.sensors_said = ''
        self.evidence: list[Evidence] = []
        self.required: list[Evidence] = []
        self.passed_completed = False

    @property
    def state(self) -> ActionState:
        """Return the current state."""
        return ActionState(self.machine.state)

    @property
    def ledger_status(self) -> LedgerTaskStatus:
        """Return the status in the ledger."""
        outcome = self.outcome
        if outcome is None and self.passed_completed:
            outcome = ActionOutcome.SUCCEEDED
        return ledger_status(self.state, outcome)

    @property
    def foreign_policy(self) -> str:
        """Return what follows when another client's goal stops its motion: ask, wait, fail."""
        policies = {step.foreign_goals for step in self.spec.motion}
        return next((one for one in ('ask', 'wait') if one in policies), 'fail')

    def bridge_step(self, step: WorkSpec) -> MotionStep:
        """Return a step for the bridge, as a person has decided about other clients' goals."""
        found: MotionStep = step.bridge_step()
        if self.foreign_goals and step.kind == 'motion':
            allowed = found.options.get('foreign_goals') == 'allow'
            return dataclasses.replace(found, options={
                **found.options, 'foreign_goals': 'allow' if allowed else self.foreign_goals})
        return found

    @property
    def blocked_reason(self) -> str:
        """
        Why the action waits; '' if it does not.

        It begins with one of BLOCKED_REASONS. `dependency: …` names the locked resources that it
        waits for, `approval_required: …` the order of a person.
        """
        return blocked_text(self.waits_for) or self.reason_of_state

    @property
    def reason_of_state(self) -> str:
        """One of BLOCKED_REASONS if the state blocks the action, else ''."""
        return task_status(self.machine.state, self.cause).blocked_reason

    # Guards that the graph names; they read the event's data.

    def physical(self) -> bool:
        """Whether the action has a motion."""
        return self.spec.physical

    def has_evidence(self, evidence: Any = None) -> bool:
        """Whether the event has evidence of the sensors."""
        return bool(evidence)

    def outcome_without_work(self, outcome: str = '') -> bool:
        """Whether the outcome is possible for an action that never started."""
        return outcome in (ActionOutcome.SKIPPED, ActionOutcome.CANCELED)

    def _commit(self, change: Any) -> None:
        self.recorder.transition(self, change)

    def _publish(self, change: Any) -> None:
        self.apply(change.event, change.target, change.data, str(change.data.get('cause', '')))
        self.recorder.published(self, change)

    def attempt_after(self, event: str) -> int:
        """Return the attempt number of a change by `event`."""
        return self.attempt + (event in ATTEMPT_EVENTS)

    def apply(self, event: str, target: str, data: Mapping[str, Any], cause: str = '') -> None:
        """Apply a journaled change to the data."""
        self.cause = cause
        self.waits_for = ''
        self.attempt = self.attempt_after(event)
        if event in ATTEMPT_EVENTS:
            self._forget_attempt()
            if event != 'apply_fallback':
                self.foreign_goals = ''
            self.tries = self.tries + 1 if event == 'retry' else 0
            self.waited += float(data.get('waited', 0.0))
            self.fallbacks += event == 'apply_fallback'
        elif event == 'reassign':
            self._begin_anew()
            self.runs = int(data.get('runs', 0))
            self.give_up = tuple(data['give_up']) if 'give_up' in data else None
        elif event in ('execute', 'repeat_motion'):
            self.goal_id = str(data['goal_id'])
            self.result, self.results = None, []
            self.motions += 1
            self.unstopped = False
            self.interrupted, self.unanswered = False, {}
            self.controller_said = ''
        elif event == 'motion_done' or 'ended' in data:
            self.motion_ended = float(data['ended'])
            self.result = data.get('result')
            self.results = list(data.get('results', [self.result]))
            self.goals = dict(data.get('goals', {}))
            self.interrupted = bool(data.get('interrupted'))
            self.unanswered = dict(data.get('unanswered', {}))
        elif event == 'postpone':
            self.pendings += 1
        elif event == 'resume':
            self._forget_attempt()
        elif event == 'receive_fallback':
            self.strategy = str(data['strategy'])
            self.foreign_goals = str(data.get('foreign_goals', ''))
            self.next_fallback = int(data['next_fallback'])
            self.parameters = {**self.parameters, **data.get('parameters', {})}
            self.fields = data.get('fields') or self.fields
        elif event == 'fail':
            self.error_code = ErrorCode[data['error_code']]
            self.error_msg = str(data.get('error_msg', ''))
            if 'next_fallback' in data:  # a fallback failed, not the action
                self.next_fallback = int(data['next_fallback'])
            else:
                self.failed_with = self.error_code
            self.cancel_requested = bool(data.get('cancel'))
            self.skip_requested = bool(data.get('skip'))
            self.once = bool(data.get('once'))
            self.unstopped = self.unstopped or bool(data.get('unstopped'))
            self.last = self.last or bool(data.get('last'))
        elif event == 'terminate':
            self.outcome = ActionOutcome(data['outcome'])
            self.cancel_requested = self.skip_requested = False
        elif event == 'receive_recipe':
            self.fragment = dict(data['fragment'])
        if target == ActionState.COMPLETED:
            self.passed_completed = True
        if data.get('seen'):
            self.seen = dict(data['seen'])
        if data.get('required'):
            self.required = list(data['required'])
        if data.get('evidence'):
            self.evidence = list(data['evidence'])
        self.controller_said = str(data.get('controller_said', self.controller_said))
        self.sensors_said = str(data.get('sensors_said', self.sensors_said))

    def begin_step(self, data: Mapping[str, Any]) -> None:
        """Apply a journaled step of its work that begins."""
        self.goal_id = str(data['goal_id'])
        self.results = list(data['results'])
        self.goals = dict(data.get('goals', {}))
        self.controller_said = str(data.get('controller_said', ''))
        if data.get('seen'):
            self.seen = dict(data['seen'])
        if data.get('required'):
            self.required = list(data['required'])

    def keep_record(self, earlier: Action) -> None:
        """Take over what was recorded of this action before an edit changed its spec."""
        for name in ('attempt', 'motions', 'runs', 'seq', 'begun_seq', 'changed_at', 'spent',
                     '_was'):
            setattr(self, name, getattr(earlier, name))

    def dated(self, seq: int, stamp: float, state: str) -> None:
        """Record journal row and ROS time (s) of the last change, to `state`."""
        if self.seq:
            self.spent[self._was] = self.spent.get(self._was, 0.0) + max(
                0.0, stamp - self.changed_at)
        self._was = state
        self.begun_seq = self.begun_seq or seq
        self.seq, self.changed_at = seq, stamp
        if state == ActionState.IN_PROGRESS:
            self.started_at = stamp
        elif state == ActionState.COMPLETED:
            self.completed_after = max(0.0, stamp - self.started_at)
