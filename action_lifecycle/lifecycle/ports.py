# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Interfaces that the lifecycle needs from outside: clock, journal, world, operator, verifier.

The lifecycle never waits: it makes requests through these interfaces and continues in callbacks,
all in one thread. Nodes implement them with ROS, simulations with a stepped clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import Any, Protocol

from .question import Evidence, Handle, Operator, Question
from .spec import ActionSpec, ConditionSpec, StrategySpec
from .states import ErrorCode
from .verifiers import Verdict, Verifier, VerifyRequest
from .work import WorkHost, WorkRequest, WorkResult

__all__ = [
    'Apart', 'Confirmation', 'ConfirmRequest', 'Evidence', 'Fetch', 'Handle', 'MotionRequest',
    'Operator', 'Question', 'Recorder', 'Specs', 'Verdict', 'Verifier', 'VerifyRequest',
    'WorkHost', 'WorkRequest', 'WorkResult', 'World',
]


@dataclass(frozen=True)
class Condition:
    """
    A condition of a flow; times in s.

    `hold`: time for which it must be true without interruption. `within`: time limit; 0: evaluate
    once. `max_age`: older samples count as unknown; 0: the `max_age` of each fact. An empty
    expression is true. For `maintain`, `within` is the time for which the condition may be
    unknown, and `hold` is ignored.
    """

    name: str = ''
    expression: str = ''
    hold: float = 0.0
    within: float = 0.0
    max_age: float = 0.0

    def faults(self) -> list[str]:
        """Return the faults of the numbers."""
        found = [f'{key} {value}: expected seconds, 0 or more'
                 for key, value in (('hold', self.hold), ('within', self.within),
                                    ('max_age', self.max_age))
                 if not (math.isfinite(value) and value >= 0)]
        if not found and self.hold > self.within:
            found.append(f'hold {self.hold} is longer than within {self.within}')
        return found


UNSEEN = 'confirm_unseen'
"""Name of conditions in `MotionRequest.confirm` whose facts may be unknown before the motion."""


def conditions_of(specs: Iterable[ConditionSpec], name: str) -> list[Condition]:
    """Return the conditions that an action gives in its field `name`."""
    return [Condition(name, spec.condition, spec.hold, spec.within, spec.max_age)
            for spec in specs]


def knows(fact: str) -> str:
    """Return a condition that is true if a fact is known; its evidence contains the value."""
    return f'all({fact} == {fact})'


@dataclass(frozen=True)
class MotionStep:
    """
    One step of work that the bridge does; times in s.

    `kind`: motion (a goal for the action `server`), call (a request to the service `server`) or
    publish (messages on the topic `server`); `goal`: the fields of goal, request or message;
    `options`: the other fields of the kind.
    """

    server: str
    type: str  # noqa: A003
    goal: Mapping[str, Any]
    server_timeout: float
    timeout: float
    kind: str = 'motion'
    options: Mapping[str, Any] = field(default_factory=dict)


def has_gaps(goal: Any) -> bool:
    """Whether a goal has values that are filled in from facts when it is sent."""
    if isinstance(goal, dict):
        return goal.keys() in ({'fact'}, {'expr'}) or any(map(has_gaps, goal.values()))
    return isinstance(goal, list) and any(map(has_gaps, goal))


def gaps(goal: Any) -> list[str]:
    """Return the expressions of `{fact: …}` and `{expr: …}` in a goal."""
    if isinstance(goal, dict):
        if goal.keys() in ({'fact'}, {'expr'}):
            text = next(iter(goal.values()))
            return [text] if isinstance(text, str) else []
        return [text for value in goal.values() for text in gaps(value)]
    return [text for value in goal for text in gaps(value)] if isinstance(goal, list) else []


@dataclass(frozen=True)
class MotionRequest:
    """
    The motion of one attempt; the goal id must be journaled before the request.

    Without a goal id, nothing is sent or followed: see `World.confirm_stop`.
    """

    flow_id: str
    action_id: str
    attempt: int
    goal_id: str
    steps: Sequence[MotionStep]
    parameters: Mapping[str, Any]
    maintain: Sequence[Condition]
    confirm: Sequence[Condition]
    #: shows the outcome: without values of its facts nothing is sent, unless its name is UNSEEN
    stopped: Condition | None
    stop_timeout: float  #: s
    resume: bool = False
    told: Callable[[int, str], None] = lambda step, state: None
    #: reports the progress: index of the step in `steps`, and its state


@dataclass(frozen=True)
class ConfirmRequest:
    """Conditions that must all be true; only samples stamped later than `after` (s) count."""

    flow_id: str
    action_id: str
    attempt: int
    conditions: Sequence[Condition]
    after: float = 0.0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the conditions."""
        return self.conditions[0].name if self.conditions else ''


CONFIRM_CODES = {
    'refuted': ErrorCode.REFUTED, 'timed_out': ErrorCode.CONFIRM_TIMEOUT,
    'stale': ErrorCode.CONFIRM_STALE}
"""The error codes of verdicts of a confirmation."""


@dataclass(frozen=True)
class Confirmation:
    """The result of a confirmation; `verdict`: confirmed, refuted, timed_out, stale or failed."""

    verdict: str
    evidence: Sequence[Evidence] = ()
    error_code: ErrorCode = ErrorCode.NONE
    error_msg: str = ''
    note: str = ''  #: what else happened, as text
    black_box: str = ''  #: name of the bag of the last seconds; '': none


Apart = Callable[[Callable[[], Any], Callable[[Any, 'Exception | None'], None]], None]
"""Runs work in another thread, then calls back in the orchestrator's thread."""


class World(Protocol):
    """The robot and its sensors."""

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Handle:
        """Start (or, with `resume`, follow) a motion; `result` is called exactly once."""

    def confirm_stop(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Handle:
        """
        Judge whether what motions have set going stands: `stopped` of the result.

        `steps`: those that may have been done; `goal_id` is ''. `result` is called once; it may be
        called after a cancel.
        """

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Confirm conditions; `result` is called once, and not after a cancel."""

    def evaluate(
        self, request: ConfirmRequest, wait: float, result: Callable[[Confirmation], None]
    ) -> Handle:
        """
        Evaluate conditions with the current facts: confirmed, refuted, or stale (unknown).

        Unknown facts are waited for, for at most `wait` s. `result` is called once, and not after
        a cancel; the evidence has the values of the facts for every verdict.
        """


class LifecycleClock(Protocol):
    """ROS time, and delayed callbacks."""

    def now(self) -> float:
        """Return ROS time in s."""

    def call_later(self, delay: float, callback: Callable[[], None]) -> Handle:
        """Call back after `delay` s of steady time."""


Fetch = Callable[
    [Any, Callable[[dict[str, Any]], None], Callable[[ErrorCode, str], None]], 'Handle | None']
"""Fetches the values that the templates of an action (the first argument) read at its start."""


class Specs(Protocol):
    """Renders the spec of an action with the changes by its fallbacks."""

    def render(self, parameters: Mapping[str, Any], fields: Mapping[str, Any]) -> ActionSpec:
        """Return the spec with these parameters and fields; raises `LifecycleError`."""

    def fields(self, strategy: StrategySpec) -> Mapping[str, Any]:
        """Return the fields that a strategy replaces; raises `LifecycleError`."""


class Recorder(Protocol):
    """The interface of the lifecycle to the journal."""

    def transition(self, action: Any, change: Any) -> None:
        """Journal a change of an action before it takes effect; may raise to refuse it."""

    def published(self, action: Any, change: Any) -> None:
        """Publish a change that has taken effect."""

    def step(self, action: Any, data: Mapping[str, Any]) -> None:
        """Journal that the next step of an action's work begins; may raise to refuse it."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the thread of the lifecycle, not before this call has returned."""

    def barrier(self, callback: Callable[[], None]) -> None:
        """Call back when the journal is as durable as configured, e.g. against power loss."""
