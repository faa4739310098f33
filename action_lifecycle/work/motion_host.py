# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a motion needs of its process: time, facts, safety, and who does its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
import uuid

from .bridge_work import BridgeWork
from ..lifecycle.ports import Evidence, Handle, MotionRequest, MotionStep
from ..lifecycle.states import ErrorCode
from ..lifecycle.work import WorkResult
from ..world.model import WorldModel
from ..world.safety.safety import SafetyStatus
from ..world.unmet_conditions import Topics

PATIENCE = 0.5
"""Part of `stop_timeout` for which a canceled call waits for its response, before the sensors."""


@dataclass(frozen=True)
class StepEnd:
    """
    The end of a goal, a call or a publication.

    `said`: the status from the server (succeeded, canceled, aborted), '' if there is none.
    `stopped`: nothing moves, because the server has ended the goal or nothing was started.
    `unknown`: it was sent, and may have been carried out or not.
    """

    said: str
    code: ErrorCode
    message: str
    stopped: bool
    ended: float  #: ROS time in s
    result: Any = None  #: a message, or a mapping
    sent: bool = True
    unknown: bool = False
    evidence: Sequence[Evidence] = ()

    def plain_result(self) -> Any:
        """Return the result as plain data, None if there is none."""
        return self.result

    def work_result(self, result: Any) -> WorkResult:
        """Return the end for the lifecycle, of work that moves nothing; `result`: plain data."""
        outcome, code = 'failed', self.code
        if self.said == 'succeeded':
            outcome = 'executed'
        elif self.code in (ErrorCode.CANCELED, ErrorCode.STOP_UNCONFIRMED):
            outcome, code = 'canceled', ErrorCode.NONE
        elif self.unknown:
            outcome = 'not_running'
            if code is ErrorCode.GOAL_UNKNOWN:
                code = ErrorCode.NONE
        return WorkResult(
            outcome, self.ended, self.message, error_code=code,
            error_msg='' if outcome == 'executed' else self.message, evidence=self.evidence,
            result=result)


class StepGoal(Protocol):
    """A goal, a call or a publication of one step; `done` is a future of its `StepEnd`."""

    done: Any

    def cancel(self) -> None:
        """Cancel it; `done` is still set."""

    def give_up(self) -> None:
        """Stop waiting for its end."""


class MotionHost(Protocol):
    """The process of a motion; times in s."""

    model: WorldModel
    topics: Topics

    def now(self) -> float:
        """Return ROS time."""

    def steady(self) -> float:
        """Return steady time."""

    def later(
        self, delay: float, callback: Callable[[], None], *, ros_time: bool = False
    ) -> Handle:
        """Call back after `delay` of steady (or ROS) time."""

    def future(self) -> Any:
        """Return a new future, which a coroutine of this process can await."""

    def log(self, text: str) -> None:
        """Log what a motion waits for."""

    def watch_opened(self) -> None:
        """Take note that a watch on conditions was opened, which may have a deadline."""

    def trouble(self) -> SafetyStatus | None:
        """Return why no motion may start; None if one may."""

    def motion_begins(self) -> None:
        """Take note that something moves from now on."""

    def full_name(self, name: str) -> str:
        """Return the full name of an action server, a service or a topic."""

    def goal_of(self, step: MotionStep, work: BridgeWork, data: Any) -> tuple[Any, str]:
        """Return the goal to send, from its fields, and why it can't be sent; '' if it can."""

    def foreign_goals(self, request: MotionRequest, work: BridgeWork) -> Sequence[str]:
        """
        Return the ids of the goals that other clients have at the server of a step of `request`.

        Those of a server that was not found yet are not known.
        """

    def step_goal(
        self, request: MotionRequest, goal_id: uuid.UUID, work: BridgeWork, goal: Any | None,
        on_state: Callable[[str], None], on_feedback: Callable[[Any], None],
        refusal: Callable[[], str], last_word: float,
    ) -> StepGoal:
        """
        Send the goal of a step; None: follow that of an earlier process.

        `refusal`: called just before it is sent; returns why it must not be, '' if it may. Then
        the goal ends with FOREIGN_GOAL. `last_word`: time (s) for which a canceled call waits for
        its response.
        """


def foreign_text(server: str, goals: Sequence[str]) -> str:
    """Return that other clients have these goals at a server; '' if there are none."""
    more = f' and {len(goals) - 1} more' if len(goals) > 1 else ''
    return f"server '{server}' has goal {goals[0]}{more} of another client" if goals else ''
