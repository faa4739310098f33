# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The lifecycle's world on a stepped clock: the simulated cell, the world model, and motions.

It replaces the bridge without ROS: the same world model evaluates the same conditions on the same
samples, but goals and results are passed in-process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
import dataclasses
import typing
from typing import Any

from _stepped_clock import SteppedClock
from _truth_faults import SensorFault
from action_lifecycle.lifecycle.ports import (
    CONFIRM_CODES,
    Confirmation,
    ConfirmRequest,
    MotionRequest,
    WorkResult,
)
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.sim import messages
from action_lifecycle.sim.cell import Cell, TICK
from action_lifecycle.sim.messages import Sample
from action_lifecycle.sim.motion import ACTIVE, GoalRejected, SUCCEEDED
from action_lifecycle.world import Condition, FactSet, WatchOutcome, WatchResult, WorldModel
from action_lifecycle.world.evidence import plain_value

STEP = TICK * 1e-9  # s
GOALS = {'control_msgs/action/FollowJointTrajectory': messages.FollowJointTrajectoryGoal,
         'control_msgs/action/GripperCommand': messages.GripperCommandGoal}


class CellWorld:
    """The cell as a `lifecycle.ports.World`."""

    def __init__(self, cell: Cell, facts: FactSet, clock: SteppedClock,
                 fault: SensorFault | None = None) -> None:
        self.cell = cell
        self.fault = fault
        self.clock = clock
        self.model = WorldModel(facts)

    def step(self) -> None:
        """Advance by one tick: physics, samples, deadlines."""
        samples: Iterable[Sample] = self.cell.step(STEP)
        now = self.cell.time
        if self.fault is not None:
            samples = self.fault.pass_on(samples, now)
        self.clock.run(now)
        for sample in samples:
            self.model.ingest(sample.topic, sample.message, now)
        self.model.advance(now)

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> CellMotion:
        """Execute the motion's steps; see `lifecycle.ports.World`."""
        return CellMotion(self, request, result)

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Any:
        """Confirm conditions; see `lifecycle.ports.World`."""
        def answered(answer: WatchResult) -> None:
            verdict = answer.outcome.name.lower()
            result(Confirmation(
                verdict, [entry.as_dict() for entry in answer.evidence],
                CONFIRM_CODES.get(verdict, ErrorCode.NONE), answer.note))

        return self.model.confirm(
            request.conditions, self.clock.time, answered, after=request.after or -1.0,
            names=request.parameters)


class CellMotion:
    """The steps of one motion, one after the other."""

    def __init__(
        self, world: CellWorld, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> None:
        self.world = world
        self.request = request
        self.result = result
        self.stop: tuple[ErrorCode, str] | None = None
        self.motion: Any = None
        self.maintain = world.model.maintain(
            request.maintain, world.clock.time,
            lambda answer: self._stop(ErrorCode.MAINTAIN_VIOLATED, 'not maintained'),
            names=request.parameters) if request.maintain else None
        self._next(0, world.clock.time)

    def cancel(self) -> None:
        """Stop the motion; its result follows."""
        self._stop(ErrorCode.CANCELED, 'canceled')

    def _stop(self, code: ErrorCode, reason: str) -> None:
        self.stop = self.stop or (code, reason)
        if self.motion is not None:
            self.motion.cancel()

    def _next(self, index: int, since: float) -> None:
        """Send a step when the facts that it needs are known; `since`: begin (s) of the wait."""
        steps = self.request.steps
        if self.stop is not None:
            self._see_stopped()
            return
        if index == len(steps):
            self._end('executed')
            return
        step = steps[index]
        missing: list[str] = []
        goal = _fill(GOALS[step.type], self._resolve(step.goal, missing))
        if missing:
            if self.world.clock.time > since + step.server_timeout:
                self._end('failed', ErrorCode.GOAL_INVALID, '; '.join(missing))
            else:
                self.world.clock.call_later(STEP, lambda: self._next(index, since))
            return
        cell = self.world.cell
        try:
            self.motion = (cell.move if 'arm' in step.server else cell.grip)(goal)
        except GoalRejected as error:
            self._end('failed', ErrorCode.GOAL_REJECTED, str(error))
            return
        self._watch(index)

    def _watch(self, index: int) -> None:
        if self.motion.status == ACTIVE:
            self.world.clock.call_later(STEP, lambda: self._watch(index))
            return
        status, self.motion = self.motion.status, None
        if status == SUCCEEDED or self.stop is not None:
            self._next(index + 1, self.world.clock.time)
        else:
            self._end('failed', ErrorCode.MOTION_ABORTED, status)

    def _see_stopped(self) -> None:
        assert self.stop is not None
        code, reason = self.stop
        if self.request.stopped is None:
            self._end('failed', code, reason)
            return
        stopped = self.request.stopped
        condition = Condition('stopped', stopped.expression, stopped.hold,
                              max(stopped.hold, self.request.stop_timeout))
        self.world.model.confirm(
            [condition], self.world.clock.time, lambda answer: self._end(
                'failed', code, reason, stopped=answer.outcome is WatchOutcome.CONFIRMED),
            after=self.world.clock.time, names=self.request.parameters)

    def _end(self, outcome: str, code: ErrorCode = ErrorCode.NONE, reason: str = '',
             stopped: bool = True) -> None:
        if self.maintain is not None:
            self.maintain.cancel()
        self.result(WorkResult(
            outcome, self.world.clock.time, 'succeeded' if outcome == 'executed' else reason,
            stopped, code, reason))

    def _resolve(self, data: Any, missing: list[str]) -> Any:
        if isinstance(data, dict):
            if len(data) == 1 and next(iter(data)) in ('fact', 'expr'):
                value, why = self.world.model.expression(
                    next(iter(data.values())), self.world.clock.time, self.request.parameters)
                if value is None:
                    missing.append(why)
                    return 0.0
                return plain_value(value)
            return {key: self._resolve(value, missing) for key, value in data.items()}
        if isinstance(data, list):
            return [self._resolve(value, missing) for value in data]
        return data


def _fill(kind: Any, data: Any) -> Any:
    """Return a plain message of `kind` from a mapping."""
    if not dataclasses.is_dataclass(kind):
        (inner,) = typing.get_args(kind)[:1] or (None,)
        if isinstance(data, Sequence) and not isinstance(data, str):
            return [_fill(inner, value) for value in data]
        return data
    hints = typing.get_type_hints(kind)
    return kind(**{name: _fill(hints[name], value) for name, value in data.items()})
