# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The lifecycle's world on a stepped clock: the simulated cell, the world model, and motions.

It replaces the bridge without ROS: the same world model evaluates the same conditions on the same
samples, but goals and results are passed in-process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import dataclasses
import typing
from typing import Any

from _truth_faults import SensorFault
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.sim import messages
from action_lifecycle.sim.cell import Cell, TICK
from action_lifecycle.sim.messages import Sample
from action_lifecycle.sim.motion import ABORTED, ACTIVE, CANCELED, GoalRejected
from action_lifecycle.testing.stepped_clock import SteppedClock
from action_lifecycle.testing.stepped_world import Future, Sender, SteppedWorld
from action_lifecycle.work.bridge_work import BridgeWork
from action_lifecycle.work.motion_host import StepEnd
from action_lifecycle.world import FactSet

STEP = TICK * 1e-9  # s
CODES = {ABORTED: ErrorCode.MOTION_ABORTED, CANCELED: ErrorCode.MOTION_CANCELED}
GOALS = {'control_msgs/action/FollowJointTrajectory': messages.FollowJointTrajectoryGoal,
         'control_msgs/action/GripperCommand': messages.GripperCommandGoal}


class CellWorld(SteppedWorld):
    """The cell as a `lifecycle.ports.World`."""

    def __init__(self, cell: Cell, facts: FactSet, clock: SteppedClock,
                 fault: SensorFault | None = None) -> None:
        super().__init__(facts, clock, CellServer(self))
        self.cell = cell
        self.fault = fault

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


class CellServer:
    """The controllers of the cell, as a `testing.stepped_world.Server`."""

    def __init__(self, world: CellWorld) -> None:
        self._world = world

    def send(self, work: BridgeWork, goal: Any, key: str, sender: Sender) -> CellGoal:
        """Begin a motion of the arm or of the gripper."""
        found, cell = CellGoal(self._world.clock), self._world.cell
        try:
            found.watch((cell.move if 'arm' in work.name else cell.grip)(
                _fill(GOALS[work.type], goal)))
        except GoalRejected as error:
            found.end('', ErrorCode.GOAL_REJECTED, str(error))
        else:
            sender.on_state('executing')
        return found

    def follow(self, work: BridgeWork, key: str, sender: Sender) -> CellGoal:
        """There are no earlier processes."""
        raise NotImplementedError

    def foreign_goals(self, name: str) -> Sequence[str]:
        """There are no other clients."""
        return []


class CellGoal:
    """A motion of the cell, as a `testing.stepped_world.StepGoal`."""

    def __init__(self, clock: SteppedClock) -> None:
        self.done = Future()
        self._clock = clock
        self._motion: Any = None

    def watch(self, motion: Any) -> None:
        """Look at the motion in each tick until it ends."""
        self._motion = motion
        if motion.status == ACTIVE:
            self._clock.call_later(STEP, lambda: self.watch(motion))
        else:
            self.end(motion.status, CODES.get(motion.status, ErrorCode.NONE), motion.status)

    def cancel(self) -> None:
        """Cancel the motion."""
        if self._motion is not None:
            self._motion.cancel()

    def give_up(self) -> None:
        """Wait no longer."""
        self.end('', ErrorCode.STOP_UNCONFIRMED, 'no answer', stopped=False)

    def end(self, said: str, code: ErrorCode, message: str, stopped: bool = True) -> None:
        """Set the end."""
        self.done.set_result(StepEnd(
            said, code, message, stopped, self._clock.time, unknown=not stopped))


def _fill(kind: Any, data: Any) -> Any:
    """Return a plain message of `kind` from a mapping."""
    if not dataclasses.is_dataclass(kind):
        (inner,) = typing.get_args(kind)[:1] or (None,)
        if isinstance(data, Sequence) and not isinstance(data, str):
            return [_fill(inner, value) for value in data]
        return data
    hints = typing.get_type_hints(kind)
    return kind(**{name: _fill(hints[name], value) for name, value in data.items()})
