# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is drawn for each run of the sample data: its physics, its trouble, its frozen camera."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import dataclasses
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from action_lifecycle.sim.cell import CellConfig, PARTS
from action_lifecycle.sim.messages import PoseStamped, Sample, Time
from action_lifecycle.sim.sensors import FRAME_PERIOD, JOINT_PERIOD
import numpy as np

FIRST = datetime(2026, 11, 16, 6, 0, tzinfo=timezone.utc)  #: begin of the first run, a Monday
BETWEEN = 1800  #: s from the begin of a run to that of the next one
A_DAY = 10  #: number of runs of a day
RATE = 5 * JOINT_PERIOD  #: ns between two samples of joints and force; the cell has more
GRIPPER, CAMERA = 'gripper', 'camera'
BLOCK = 6  #: of so many runs, one has trouble with the gripper and one with the camera


@dataclass(frozen=True)
class Plan:
    """A run: its physics, its trouble (gripper, camera or '') and when the camera is frozen."""

    number: int  #: from 1
    config: CellConfig
    trouble: str = ''
    frozen: tuple[float, float] = (0.0, 0.0)  #: s since the begin of the run

    @property
    def flow_id(self) -> str:
        """Return the id of its flow."""
        return f'run-{self.number:02d}'

    @property
    def begin(self) -> int:
        """Return ROS time (ns) at which it begins."""
        day, place = divmod(self.number - 1, A_DAY)
        return (int(FIRST.timestamp()) + day * 86_400 + place * BETWEEN) * 1_000_000_000


def plans(seed: int, count: int) -> list[Plan]:
    """Draw the runs; the first ones of a longer series are the same."""
    return [_plan(seed, number) for number in range(1, count + 1)]


def _plan(seed: int, number: int) -> Plan:
    block, place = divmod(number - 1, BLOCK)
    order = np.random.default_rng([seed, 0, block]).permutation(BLOCK)
    trouble = {0: GRIPPER, 1: CAMERA}.get(int(order[place]), '')
    rng = np.random.default_rng([seed, number])
    friction = {part: float(rng.uniform(0.5, 0.7)) for part in PARTS}
    oily = {part: float(rng.uniform(0.1, 0.3)) for part in PARTS}
    config = CellConfig(
        seed=int(rng.integers(2 ** 31)), slippery='',
        friction=oily if trouble == GRIPPER else friction,
        mass={part: float(rng.uniform(0.18, 0.3)) for part in PARTS})
    begin = float(rng.uniform(2.0, 20.0))
    end = begin + float(rng.uniform(4.0, 30.0))
    return Plan(number, config, trouble, (begin, end) if trouble == CAMERA else (0.0, 0.0))


class Sensors:
    """
    The samples of a cell with the stamps of its run, at the rate of a robot.

    While the camera is frozen, it sends the last pose of each part again, with new stamps.
    """

    def __init__(self, plan: Plan) -> None:
        self._begin = plan.begin
        self._frozen = [round(time * 1e9) for time in plan.frozen]
        self._seen: dict[str, PoseStamped] = {}  #: last pose of each part, by its topic
        self._delay = round(plan.config.camera_delay * 1e9)

    def poll(self, samples: Iterable[Sample], now: int) -> Iterator[Sample]:
        """Yield the samples that arrive `now` (ns since the begin of the run)."""
        poses = {}
        for topic, message in samples:
            if isinstance(message, PoseStamped):
                poses[topic] = message
            elif now % RATE == 0:
                yield self._stamped(topic, message, now)
        exposed = now - self._delay
        if self._frozen[0] <= now < self._frozen[1]:
            poses = self._seen if exposed % FRAME_PERIOD == 0 else {}
        else:
            self._seen.update(poses)
        for topic, pose in poses.items():
            yield self._stamped(topic, pose, exposed)

    def _stamped(self, topic: str, message: Any, stamp: int) -> Sample:
        header = dataclasses.replace(
            message.header, stamp=Time(*divmod(self._begin + stamp, 1_000_000_000)))
        return Sample(topic, dataclasses.replace(message, header=header))
