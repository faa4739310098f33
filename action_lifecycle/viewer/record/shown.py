# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the pages show of flows and actions. Wall times are in s since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...flow.run.flow_run import HELD
from ...lifecycle.states import wait_text

STRUCTURE = '*'
"""Among the paths that a row has changed: that it has changed which actions there are."""
FLOW = ''
"""Among the paths that a row has changed: that it has changed the flow itself."""
FINAL = ('FINISH', 'FAIL')
"""States of a flow that has ended."""


class FlowHead(NamedTuple):
    """A flow in a list."""

    flow_id: str
    name: str
    file: str
    began: float
    ended: float | None = None
    state: str = 'START'
    done: int = 0
    total: int = 0
    seq: int = 0  #: of its first row; `RobotRecord.heads(before=seq)` has older flows
    paused: bool = False
    error_code: str = ''


class Node(NamedTuple):
    """An action in the graph of a flow."""

    path: str  #: its name; OUTER/INNER in a nested flow
    description: str = ''
    kind: str = ''  #: of its work: motion, call, flow, for_each, …; '' without work
    physical: bool = False
    group: str = ''  #: path of the action whose flow it is part of
    after: Mapping[str, str] = {}
    """The actions that it waits for, by path; the text is the kind or condition, '' for success"""
    replaces: str = ''  #: path of the ended action that an edit has replaced by this one


class Shown(NamedTuple):
    """An action at a moment."""

    state: str = 'assigned'
    outcome: str = ''
    attempt: int = 0
    since: float = 0.0
    waits_for: str = ''  #: locks or people's orders, begins with one of BLOCKED_REASONS
    seq: int = 0  #: of its last row; 0: none
    failures: int = 0  #: attempts that failed so far
    breakpoint: bool = False  # noqa: A003

    @property
    def waits(self) -> str:
        """Return what it waits for, without the reason at the beginning of `waits_for`."""
        return wait_text(self.waits_for)

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped by a pause with `hold`."""
        return self.waits.startswith(HELD)


class Bar(NamedTuple):
    """A time in which an action was in a state, or waited; `end`: None if it goes on."""

    path: str
    kind: str  #: state, wait or question
    name: str  #: of the state; or resources, locked, paused, operator
    start: float
    end: float | None
    attempt: int = 0
    seq: int = 0  #: of the row that began it
    outcome: str = ''


class StateEntered(NamedTuple):
    """A state that a flow has entered, and when: wall time (s)."""

    state: str
    time: float


@dataclass(frozen=True)
class FlowShown:
    """A flow at a moment."""

    state: str = 'START'
    stage: str = ''
    paused: bool = False
    held: bool = False  #: paused, and what moved was stopped
    paused_by: str = ''
    planning: str = ''
    canceled_by: str = ''
    breakpoints: Sequence[str] = ()
    error_code: str = ''
    error_msg: str = ''
    counts: Mapping[str, int] = field(default_factory=dict)
    """waiting, running, succeeded, failed, skipped, canceled: actions of the flow itself"""
    total: int = 0

    @property
    def ended(self) -> bool:
        """Return whether the flow has ended."""
        return self.state in FINAL


@dataclass(frozen=True)
class AttemptShown:
    """An attempt of an action; `path`: '' or retry, fallback, recipe, operator."""

    number: int
    path: str = ''
    controller_said: str = ''
    sensors_said: str = ''
    evidence: Sequence[Mapping[str, Any]] = ()
    required: Sequence[Mapping[str, Any]] = ()
    ended: str = ''  #: completed, failed, canceled; '': open
    failure: str = ''
    cause: str = ''
    began: float = 0.0
    end: float | None = None
    first_seq: int = 0
    last_seq: int = 0
    black_boxes: Sequence[str] = ()  #: names of bags
    work: str = ''  #: how its work ended: done, failed; '': it goes on, has none, or is not known


class QuestionNow(NamedTuple):
    """An open question to a person; times: ROS time (s), 0: none."""

    id: str  # noqa: A003
    node: str  #: whose service takes the answer
    kind: str
    flow_id: str
    action_id: str
    question: str
    options: Sequence[str]
    default: str
    link: str
    asked: float
    deadline: float
    evidence: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Update:
    """What new rows have changed: the paths by flow; `lost`: why the journal can't be read."""

    flows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    new_flows: bool = False
    lost: str = ''
