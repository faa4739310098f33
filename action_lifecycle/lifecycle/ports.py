# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
What the lifecycle needs from outside: time, the journal, the world.

The lifecycle layer never waits: it asks through these, and goes on when it is called back, always
in the one thread that also calls it. A node answers with ROS, a simulation with a stepped clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .spec import ActionSpec, ConditionSpec, MotionSpec, StrategySpec, VerifySpec
from .states import ErrorCode

Evidence = dict[str, Any]
"""
One judged condition, as JSON holds it.

`condition` (its name), `expression`, `verdict` (`true`, `false`, `unknown`), `stamp` and `held`
(s), `facts`: a list of `name`, `stamp`, `topic`, `validity` (`valid`, `stale`, `unknown`),
`numbers` or `value`, `unit`.
"""


@dataclass(frozen=True)
class MotionRequest:
    """The motion of one attempt; the goal id is journaled before the request is made."""

    flow_id: str
    action_id: str
    attempt: int
    goal_id: str
    steps: Sequence[MotionSpec]
    parameters: Mapping[str, Any]
    maintain: Sequence[ConditionSpec]
    confirm: Sequence[ConditionSpec]  #: asked next: their sensors are listened to from now on
    stopped: ConditionSpec | None
    stop_timeout: float
    resume: bool = False


@dataclass(frozen=True)
class MotionResult:
    """What became of a motion. `outcome`: executed, failed, canceled or not_running."""

    outcome: str
    ended: float  #: ROS time in s
    controller_said: str = ''
    stopped: bool = True  #: nothing moves
    error_code: ErrorCode = ErrorCode.NONE
    error_msg: str = ''
    evidence: Sequence[Evidence] = ()
    result: Any = None
    goals: Mapping[str, Any] = field(default_factory=dict)
    #: by the index of the step: goals that had something to be filled in, as they were sent
    note: str = ''  #: what else happened meanwhile, in words


@dataclass(frozen=True)
class ConfirmRequest:
    """Conditions that all must be true; only samples stamped later than `after` (s) count."""

    flow_id: str
    action_id: str
    attempt: int
    conditions: Sequence[ConditionSpec]
    after: float
    name: str = 'confirm'
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Confirmation:
    """What the sensors say. `verdict`: confirmed, refuted, timed_out, stale or failed."""

    verdict: str
    evidence: Sequence[Evidence] = ()
    error_code: ErrorCode = ErrorCode.NONE
    error_msg: str = ''
    note: str = ''  #: what else happened meanwhile, in words


class Handle(Protocol):
    """Something that is under way."""

    def cancel(self) -> None:
        """Ask it to end early; of a motion, the result still comes."""


class World(Protocol):
    """The robot and its sensors."""

    def execute(
        self, request: MotionRequest, result: Callable[[MotionResult], None]
    ) -> Handle:
        """Start (or, with `resume`, follow) a motion; `result` is called exactly once."""

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Judge conditions; `result` is called once, and not after a cancel."""

    def evaluate(
        self, request: ConfirmRequest, wait: float, result: Callable[[Confirmation], None]
    ) -> Handle:
        """
        Judge conditions as the facts are now: confirmed, refuted, or stale for unknown.

        What is not known yet is waited for, `wait` s at most. `result` is called once, and not
        after a cancel; the evidence has the facts' values whatever the verdict is.
        """


class Clock(Protocol):
    """Time, and being called back later."""

    def now(self) -> float:
        """Return ROS time in s."""

    def call_later(self, delay: float, callback: Callable[[], None]) -> Handle:
        """Call back after `delay` s of steady time."""


@dataclass(frozen=True)
class VerifyRequest:
    """What a verifier is told."""

    flow_id: str
    action_id: str
    attempt: int
    description: str
    evidence: Sequence[Evidence]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key: str = ''  #: which asking this is; the same after a restart


VERDICTS = ('completed', 'pending', 'error')


@dataclass(frozen=True)
class Verdict:
    """What a verifier says; `verdict`: one of VERDICTS."""

    verdict: str
    reason: str = ''
    evidence: Sequence[Evidence] = ()
    actor: str = ''


class Verifier(Protocol):
    """Those who say whether an action is done, other than the sensors."""

    def verify(
        self, spec: VerifySpec, request: VerifyRequest, verdict: Callable[[Verdict], None]
    ) -> Handle:
        """Ask one of them; `verdict` is called once, or never."""


@dataclass(frozen=True)
class Question:
    """
    What a person is asked about an action.

    `text` is a template; it sees `facts`, `evidence`, `history` and what `names` holds. A question
    with the `key` of one that was put before a restart is that one: same id, same deadline, and
    the same answer if it has come already.
    """

    kind: str  #: constants of OperatorRequest: verify, fallback, resume and so on
    flow_id: str
    action_id: str
    text: str
    options: Sequence[str]  #: the only answers that are taken; empty: any text
    evidence: Sequence[Evidence] = ()
    key: str = ''
    timeout: float = 0.0  #: s; 0: no limit
    default: str = ''  #: taken when the time is up
    link: str = ''
    names: Mapping[str, Any] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)  #: other words for the options


class Operator(Protocol):
    """The person beside the robot."""

    def ask(
        self, question: Question, answer: Callable[[str, str], None],
        expired: Callable[[], None] = lambda: None,
    ) -> Handle:
        """
        Ask; `answer` is called once with one of the options and who gave it.

        When the time is up the default counts as the answer; without one, `expired` is called.
        """

    def read_back(self, row: Any) -> None:
        """Take in a note of the journal that was written before a restart."""


Look = Callable[
    [Any, Callable[[dict[str, Any]], None], Callable[[ErrorCode, str], None]], 'Handle | None']
"""Fetches what the templates of an action (the first argument) read when it starts."""


class Specs(Protocol):
    """What an action is to do, with what its fallbacks have changed."""

    def render(self, parameters: Mapping[str, Any], fields: Mapping[str, Any]) -> ActionSpec:
        """Return the spec with these parameters and fields; `LifecycleError` if it is faulty."""

    def fields(self, strategy: StrategySpec) -> Mapping[str, Any]:
        """Return the fields of another action or recipe; `LifecycleError` if there is none."""


class Recorder(Protocol):
    """The journal as the lifecycle sees it."""

    def transition(self, action: Any, change: Any) -> None:
        """Write one change of an action down, before it takes effect; may refuse by raising."""

    def published(self, action: Any, change: Any) -> None:
        """Tell everybody else of a change that has taken effect."""

    def barrier(self, callback: Callable[[], None]) -> None:
        """Call back when all that is written would survive a loss of power."""
