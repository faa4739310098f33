# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A cell with hands: moves and grips until done, remembers each topic's samples."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from action_lifecycle.sim.cell import Cell, CellConfig
from action_lifecycle.sim.messages import Sample
from action_lifecycle.sim.motion import ACTIVE, Motion, SUCCEEDED
import pytest

from .goals import gripper_goal, trajectory_goal

TRAY = {'part_a': (-0.2, -0.12), 'part_b': (-0.2, 0.0), 'part_c': (-0.2, 0.12)}
GRASP, PLACE, CLEAR = 0.052, 0.053, 0.20


class Rig:
    """Drives a cell; `samples` has all that the sensors said, by topic."""

    def __init__(self, **config: Any) -> None:
        self.cell = Cell(CellConfig(**config))
        self.stream: list[Sample] = []
        self.samples: dict[str, list[Any]] = defaultdict(list)

    def step(self, seconds: float) -> None:
        for sample in self.cell.step(seconds):
            self.stream.append(sample)
            self.samples[sample.topic].append(sample.message)

    def finish(self, motion: Motion[Any]) -> Motion[Any]:
        deadline = self.cell.time + 10.0
        while motion.status == ACTIVE:
            assert self.cell.time < deadline, 'the motion does not end'
            self.step(0.004)
        return motion

    def go(self, seconds: float, **joints: float) -> None:
        """Move the named axes (x, y, z, yaw) there and expect success."""
        goal = trajectory_goal((seconds, {f'{axis}_joint': to for axis, to in joints.items()}))
        motion = self.finish(self.cell.move(goal))
        assert motion.status == SUCCEEDED, motion.result

    def grip(self, gap: float, effort: float) -> Any:
        """Close or open the gripper, expect success and return the result."""
        motion = self.finish(self.cell.grip(gripper_goal(gap, effort)))
        assert motion.status == SUCCEEDED, motion.result
        return motion.result

    def pick(self, part: str, effort: float) -> Any:
        """Grasp a part in the tray where it should be, lift it, return the gripper's result."""
        x, y = TRAY[part]
        self.go(0.8, x=x, y=y, z=CLEAR)
        self.go(0.6, z=GRASP)
        result = self.grip(0.0, effort)
        self.go(0.6, z=CLEAR)
        return result

    def place(self, part: str) -> None:
        """Put what is held into the nest of `part` and step back."""
        self.go(0.9, x=0.2, y=TRAY[part][1])
        self.go(0.6, z=PLACE)
        assert self.grip(0.08, 30.0).reached_goal
        self.go(0.6, z=CLEAR)

    def gap(self) -> float:
        """Return the gap that the encoder last said (m)."""
        return float(self.samples['joint_states'][-1].position[4])


@pytest.fixture
def rig() -> Rig:
    """Return a cell as it comes."""
    return Rig()


@pytest.fixture
def make_rig() -> type[Rig]:
    """Return the class, for a cell of another config."""
    return Rig
