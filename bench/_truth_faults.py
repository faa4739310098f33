# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Faults of the cell's sensors, injected between the sensors and the world model.

Each fault begins at a time drawn at random and lasts until the end of the episode. Its sensor is
drawn, too: encoders and efforts (joint_states), the force at the fingertips, or the camera.

frozen: each message repeats the values of the last one before the fault, with a new stamp.
drift: gap, load or camera drift at a constant rate that exceeds the tolerance in 5 to 30 s.
swapped: two parts have each other's topic.
delay: messages come 0.3 s later and are stamped when they come.
loss: each message of every sensor is lost with a probability of 0.2.
outliers: one message in fifty of every sensor has wrong values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
import copy
from pathlib import Path
from typing import Any

from action_lifecycle.sim.messages import Sample, Time, Vector3
from action_lifecycle.sim.scene import PARTS
from action_lifecycle.world import FactSet, parse_facts, Validity, WorldModel
import numpy as np
import yaml

FAULTS = ('frozen', 'drift', 'swapped', 'delay', 'loss', 'outliers')
SENSORS = ('joint_states', 'gripper/wrench', 'camera/')
BEGIN = (0.0, 25.0)  # s, when a fault begins
DELAY = 0.3  # s
LOSS = 0.2
OUTLIER = 0.02
REACHED = (5.0, 30.0)  # s in which a drift reaches the tolerance
TOLERANCE = {'gap': 0.010, 'load': 0.5, 'camera': 0.002}
"""
The error that a condition bears: gap (m) of `gap > 0.07` at 0.08, load (N) of `load > 0.5` at 0,
camera (m): 0.002 in z, and 0.006 in x and y.
"""
SPREAD = {'joint_states': 0.05, 'gripper/wrench': 20.0, 'camera/': 0.1}  # of outliers, m or N
DRIFTING = {'gap': 'gap', 'load': 'load', 'camera': 'marker'}  # the fact that finds it


class SensorFault:
    """A fault of one episode; `pass_on` returns the samples that reach the world model."""

    def __init__(self, kind: str, seed: int, number: int) -> None:
        self._rng = np.random.default_rng([seed, number, 1 + FAULTS.index(kind)])
        rng = self._rng
        self.kind = kind
        self.begin = float(rng.uniform(*BEGIN))
        self.sensor = str(rng.choice(SENSORS))
        self.drifting = str(rng.choice(list(TOLERANCE)))
        self.swapped = [str(part) for part in rng.choice(PARTS, 2, replace=False)]
        direction = rng.normal(size=3)
        self._direction = direction / np.linalg.norm(direction)
        tolerance = TOLERANCE[self.drifting]
        if self.drifting == 'camera':  # the tolerance along the direction of the drift
            along = np.abs(self._direction)
            tolerance = float(min(tolerance / along[2], 0.006 / np.hypot(*along[:2])))
        self.rate = float(rng.choice((-1, 1)) * tolerance / rng.uniform(*REACHED))
        self._tolerance = tolerance
        self._last: dict[str, Any] = {}
        self._late: deque[tuple[float, Sample]] = deque()
        self._measured: dict[tuple[str, float], float] = {}  #: by topic and wrong stamp (s)
        self._change: Callable[[Sample, float], Iterable[Sample]] = getattr(self, '_' + kind)

    def drawn(self) -> dict[str, Any]:
        """Return what was drawn."""
        return {'fault': self.kind, 'begin': self.begin, 'sensor': self.sensor,
                'drifting': self.drifting, 'rate': self.rate, 'swapped': self.swapped}

    def pass_on(self, samples: Iterable[Sample], now: float) -> Iterator[Sample]:
        """Yield the samples that arrive at `now` (s)."""
        while self._late and self._late[0][0] <= now:
            late = self._late.popleft()[1]
            came = _stamped(late, now)
            self._measured[late.topic, _time(came)] = _time(late)
            yield came
        for sample in samples:
            if now < self.begin:
                self._last[sample.topic] = sample.message
                yield sample
            else:
                yield from self._change(sample, now)

    def drift(self, now: float) -> float:
        """Return the drift at `now` as a share of the tolerance."""
        return max(0.0, now - self.begin) * abs(self.rate) / self._tolerance

    def measured(self, topic: str, stamp: float) -> float:
        """Return when a message with a stamp (s) was measured."""
        return self._measured.get((topic, round(stamp, 3)), stamp)

    def _hit(self, sample: Sample) -> bool:
        return sample.topic.startswith(self.sensor)

    def _frozen(self, sample: Sample, now: float) -> Iterable[Sample]:
        if not self._hit(sample):
            return [sample]
        if sample.topic not in self._last:  # never seen before
            self._last[sample.topic] = sample.message
        header = sample.message.header
        return [Sample(sample.topic, _with(self._last[sample.topic], header=header))]

    def _drift(self, sample: Sample, now: float) -> Iterable[Sample]:
        moved = self.rate * (now - self.begin)
        message = sample.message
        if self.drifting == 'gap' and sample.topic == 'joint_states':
            position = list(message.position)
            position[4] += moved
            return [Sample(sample.topic, _with(message, position=position))]
        if self.drifting == 'load' and sample.topic == 'gripper/wrench':
            force = message.wrench.force
            force = Vector3(force.x, force.y, force.z - moved)
            return [Sample(sample.topic, _with(
                message, wrench=_with(message.wrench, force=force)))]
        if self.drifting == 'camera' and sample.topic.startswith('camera/'):
            return [_moved(sample, moved * self._direction)]
        return [sample]

    def _swapped(self, sample: Sample, now: float) -> Iterable[Sample]:
        one, other = (f'camera/{part}/pose' for part in self.swapped)
        topic = {one: other, other: one}.get(sample.topic, sample.topic)
        return [Sample(topic, sample.message)]

    def _delay(self, sample: Sample, now: float) -> Iterable[Sample]:
        if not self._hit(sample):
            return [sample]
        self._late.append((now + DELAY, sample))
        return []

    def _loss(self, sample: Sample, now: float) -> Iterable[Sample]:
        return [] if self._rng.random() < LOSS else [sample]

    def _outliers(self, sample: Sample, now: float) -> Iterable[Sample]:
        if self._rng.random() >= OUTLIER:
            return [sample]
        spread = next(spread for topic, spread in SPREAD.items() if sample.topic.startswith(topic))
        message = sample.message
        if sample.topic.startswith('camera/'):
            return [_moved(sample, self._rng.normal(0.0, spread, 3))]
        if sample.topic == 'joint_states':
            wrong = {name: list(np.asarray(getattr(message, name))
                                + self._rng.normal(0.0, scale, 5))
                     for name, scale in (('position', spread), ('velocity', 0.5), ('effort', 20))}
            return [Sample(sample.topic, _with(message, **wrong))]
        force = message.wrench.force
        off = self._rng.normal(0.0, spread, 3)
        force = Vector3(force.x + off[0], force.y + off[1], force.z + off[2])
        return [Sample(sample.topic, _with(message, wrench=_with(message.wrench, force=force)))]


class DriftWatch:
    """Notes how large a drift is when its fact becomes unhealthy."""

    def __init__(self, fault: SensorFault, model: WorldModel) -> None:
        self._fault = fault
        self._model = model
        self._name = DRIFTING[fault.drifting]
        self.found = self.end = 0.0  # shares of the tolerance

    def look(self, now: float) -> None:
        """Look at the fact."""
        self.end = self._fault.drift(now)
        if self.end and not self.found:
            found = self._model.value(self._name, now)
            if found.validity is Validity.UNKNOWN and found.note:
                self.found = self.end


def _with(message: Any, **fields: Any) -> Any:
    changed = copy.copy(message)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _moved(sample: Sample, by: Any) -> Sample:
    at = sample.message.pose.position
    position = Vector3(at.x + float(by[0]), at.y + float(by[1]), at.z + float(by[2]))
    return Sample(sample.topic, _with(
        sample.message, pose=_with(sample.message.pose, position=position)))


def _stamped(sample: Sample, now: float) -> Sample:
    stamp = Time(*divmod(round(now * 1e9), 1_000_000_000))
    return Sample(sample.topic, _with(
        sample.message, header=_with(sample.message.header, stamp=stamp)))


def _time(sample: Sample) -> float:
    stamp = sample.message.header.stamp
    return float(round(stamp.sec + stamp.nanosec * 1e-9, 3))


def plain_facts(path: Path) -> FactSet:
    """Return the facts of a file without health, and with the mean or newest for a median."""
    data = yaml.safe_load(path.read_text())
    for fact in data['facts'].values():
        fact.pop('health', None)
        if fact.get('reduce') == 'median' and fact['window'] >= 0.2:
            fact['reduce'] = 'mean'
        elif fact.get('reduce') == 'median':
            del fact['reduce'], fact['window']
        elif fact.get('reduce') == ['norm', 'median']:
            fact['reduce'] = 'norm'
            del fact['window']
    return parse_facts(yaml.safe_dump(data))
