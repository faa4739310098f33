# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A run of an action: its attempts, what controller and sensors said of each, and its times.

A run begins with the row `start` and ends with `terminated`. An action that repeats, or that a
job starts again, has several runs. If a person retries an ended action, its run goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .servers import Server
from ..lifecycle.states import ActionState

WORKING = frozenset({
    ActionState.IN_PROGRESS.value, ActionState.EXECUTING_MOTION.value,
    ActionState.SENSOR_CONFIRM.value, ActionState.STATUS_VERIFICATION_REQUESTED.value})
"""States whose time is operating time."""
NOT_SHOWN = ('refuted', 'timed_out', 'stale')
"""Verdicts of the sensors on what a controller wrongly reported as done."""
PATHS = ('retry', 'fallback', 'recipe', 'operator')
"""How an attempt after the first one came about."""


class FlowEnd(NamedTuple):
    """
    A flow that was accepted, not one that an action ran; `began`: wall time (s).

    `outcome`: finished, failed, canceled; '': open.
    """

    flow: str
    began: float
    outcome: str


@dataclass
class Judged:
    """The evidence of one row; `held`: whether all conditions were met."""

    seq: int
    held: bool
    evidence: list[Any]


@dataclass
class Attempt:
    """One attempt; `failure`: error code, '' if it has not failed; `path`: '' or one of PATHS."""

    number: int
    path: str = ''
    servers: tuple[Server, ...] = ()
    claimed: bool = False  #: the controller reported success
    sensors: str = ''  #: verdict of the sensors
    there: bool | None = None  #: whether the outcome was there, by its label; None: no label
    ended: str = ''  #: completed, failed, canceled; '': open
    failure: str = ''
    unmet: str = ''  #: the condition that was not met, if that is the failure
    first_seq: int = 0  #: of the row that began it; 0: not in the journal
    failed_seq: int = 0
    judged: list[Judged] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)  #: s in each state
    halted: float = 0.0  #: s of WORKING in which it was paused or locked

    @property
    def false_success(self) -> str:
        """Return the verdict of the sensors if they do not show a reported success, else ''."""
        return self.sensors if self.claimed and self.sensors in NOT_SHOWN else ''

    @property
    def operating(self) -> float:
        """Return the operating time (s)."""
        spent = sum(seconds for state, seconds in self.spent.items() if state in WORKING)
        return max(0.0, spent - self.halted)


@dataclass
class ActionRun:
    """
    One run of an action; `began`: wall time (s) of its first row.

    `flow`: name of the flow, None if compaction has removed it. `outcome`: '' if it is open.
    `waits`: s by kind: resources, locked, paused, operator.
    """

    journal: int
    flow: str | None
    flow_id: str
    action_id: str
    began: float = 0.0
    first_seq: int = 0
    attempts: list[Attempt] = field(default_factory=list)
    visits: list[tuple[str, float]] = field(default_factory=list)  #: states with their times (s)
    waits: dict[str, float] = field(default_factory=dict)
    outcome: str = ''
    path: str = ''  #: of the next attempt

    @property
    def first_try(self) -> bool | None:
        """Return whether the first attempt succeeded; None if a person ended it, or it is open."""
        first = self.attempts[0].ended if self.attempts else ''
        return first == 'completed' if first in ('completed', 'failed') else None

    @property
    def failed_attempts(self) -> int:
        """Return the number of failed attempts."""
        return sum(attempt.ended == 'failed' for attempt in self.attempts)

    @property
    def succeeded(self) -> bool | None:
        """Return whether it succeeded in the end; None if a person canceled it, or it is open."""
        if self.outcome == 'skipped' and self.failed_attempts:
            return False
        if not self.attempts or self.outcome not in ('succeeded', 'failed'):
            return None
        return self.outcome == 'succeeded'
