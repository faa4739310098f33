# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The steps of a motion that are under way, their progress and their time limits.

The goal id of step n is uuid5(goal_id, str(n)), so the journaled goal_id stands for all steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import functools
import math
from typing import Any
import uuid

from .bridge_work import work_of_step
from .motion import MotionSpec
from .motion_host import foreign_text, MotionHost, PATIENCE, StepEnd, StepGoal
from ..documents.errors import LifecycleError
from ..lifecycle.ports import Handle, MotionRequest
from ..lifecycle.states import ErrorCode


@dataclass
class MotionProgress:
    """The current step of a motion, its state and its last feedback."""

    step: int = 0
    state: str = ''
    feedback: Any = None


class MotionSteps:
    """
    Starts steps, or follows those of an earlier process.

    `timed_out` is called with a message when a step takes longer than its `timeout`. `judged`:
    the sensors show whether all steps stand, so that the last word of a call may be missing.
    """

    def __init__(
        self, host: MotionHost, request: MotionRequest, timed_out: Callable[[str], None],
        judged: bool,
    ) -> None:
        self.works = list(map(work_of_step, request.steps))
        self.progress = MotionProgress()
        self.on_progress: list[Callable[..., None]] = []  #: called with at_once=True or False
        self.sent = False  #: whether a goal may have been sent that its server has not rejected
        self._host = host
        self._request = request
        self._timed_out = timed_out
        self._last_word = PATIENCE * request.stop_timeout if judged else math.inf
        self._goal_id = uuid.UUID(request.goal_id or uuid.UUID(int=0).hex)
        self._open: dict[int, StepGoal] = {}
        self._states: dict[int, str] = {}
        self._awaited = -1
        self._limit: Handle | None = None
        self._canceled = False

    async def run(self, index: int, goal: Any) -> StepEnd:
        """Send the goal of a step and await its end."""
        self._awaited = index
        self._start(index, goal)
        return await self.end_of(index)

    def follow(self) -> str:
        """
        Ask the servers of all steps at once, so that a stop reaches the step that moves.

        Returns why the first step that can't be followed can't be, '' if all can.
        """
        self.sent, faults = True, []
        for index in range(len(self.works)):
            try:
                self._start(index, None)
            except LifecycleError as error:  # another step may be the one that moves
                faults.append(str(error))
                self._open[index] = _Refused(self._host, str(error))
        for index, goal in self._open.items():
            goal.done.add_done_callback(functools.partial(self._rule_out_later, index))
        return faults[0] if faults else ''

    async def end_of(self, index: int) -> StepEnd:
        """Await the end of a step that was started; only now its time limit counts."""
        self._awaited = index
        if index in self._states:
            self._show()
        end: StepEnd = await self._open[index].done
        del self._open[index]
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
        self.sent = self.sent or (end.sent and end.code is not ErrorCode.GOAL_REJECTED)
        return end

    def foreign(self, index: int) -> str:
        """Return which goal of another client forbids to send that of a step; '' if none does."""
        work = self.works[index]
        if not isinstance(work, MotionSpec) or work.foreign_goals == 'allow':
            return ''
        return foreign_text(work.name, self._host.foreign_goals(self._request, work))

    def goal_ids(self) -> list[uuid.UUID]:
        """Return the ids that the goals of the steps have at their servers."""
        return [uuid.uuid5(self._goal_id, str(index)) for index in range(len(self.works))]

    def cancel(self) -> None:
        """Cancel all steps that are under way, and those that are started later."""
        self._canceled = True
        for goal in self._open.values():
            goal.cancel()

    def give_up(self) -> None:
        """Stop waiting for the ends of all steps."""
        self._give_up_after(-1)

    def show(self, step: int, state: str, feedback: Any = None) -> None:
        """Publish the progress."""
        new = (step, state) != (self.progress.step, self.progress.state)
        if new or feedback is not None:
            self.progress = MotionProgress(step, state, feedback)
            for publish in self.on_progress:
                publish(at_once=new)

    def _start(self, index: int, goal: Any | None) -> None:
        """Send the goal of a step; None: follow the one that an earlier process may have sent."""
        doing = self._open[index] = self._host.step_goal(
            self._request, self.goal_ids()[index], self.works[index], goal,
            lambda state: self._entered(index, state, goal),
            lambda feedback: self._told(index, feedback), lambda: self.foreign(index),
            self._last_word)
        if self._canceled:
            doing.cancel()

    def _rule_out_later(self, index: int, done: Any) -> None:
        """Wait no longer for later steps if a step has not succeeded: none of them was sent."""
        if done.result().said not in ('', 'succeeded'):
            self._give_up_after(index)

    def _give_up_after(self, index: int) -> None:
        for other, goal in self._open.items():
            if other > index:
                goal.give_up()

    def _entered(self, index: int, state: str, goal: Any | None) -> None:
        """Note a state of a step; publish it, with the goal when sent, if the step is awaited."""
        self._states[index] = state
        if index == self._awaited:
            self._show(goal if state == 'sent' else None)

    def _told(self, index: int, feedback: Any) -> None:
        if index == self._awaited:
            self._show(feedback)

    def _show(self, feedback: Any = None) -> None:
        """Publish the progress of the awaited step; starts its timeout when it is executed."""
        index = self._awaited
        step, state = self._request.steps[index], self._states.get(index, '')
        if self._limit is None and step.timeout > 0 and self.works[index].has_id \
                and state in ('sent', 'executing'):
            self._limit = self._host.later(step.timeout, lambda: self._timed_out(
                f"server '{step.server}' gave no result within {step.timeout:g} s"), ros_time=True)
        self.show(index, state, feedback)


class _Refused:
    """A step that can't be followed: nobody knows whether it moves."""

    def __init__(self, host: MotionHost, message: str) -> None:
        self.done: Any = host.future()
        self.done.set_result(
            StepEnd('', ErrorCode.INVALID_REQUEST, message, False, host.now()))

    def cancel(self) -> None:
        """Do nothing: it can't be reached."""

    def give_up(self) -> None:
        """Do nothing: nobody waits for it."""
