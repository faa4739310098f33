# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Draws the episodes of the truth bench, and compares their records with the physics."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from _truth_cell import STEP
from _truth_faults import SensorFault
from action_lifecycle.sim.cell import Cell, CellConfig, PARTS, PartTruth
from action_lifecycle.world.facts.facts import Fact
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FLOW = ROOT / 'config' / 'flows' / 'pick_and_place.yaml'
FACTS = ROOT / 'config' / 'facts' / 'cell.yaml'
LONGEST = 300.0  # maximum simulated time (s) of an episode
JUDGED = [f'{verb}_{letter}' for letter in 'abc' for verb in ('pick', 'place')]
LIFTED = 0.1  # m, minimum height of the centre of a picked part
KNOCKS = 0.6  # mean number of knocks in an episode
LOOK = 3  # steps of the cell (4 ms each) between two samples of the truth
HISTORY = 100  # number of samples that are kept
HOP = 0.05  # s; a part that lost the pads for less time has stayed in the gripper


@dataclass(frozen=True)
class Knock:
    """A hit on a part: time (s) in the episode, impulse (N s, world frame)."""

    time: float
    part: str
    impulse: tuple[float, float, float]


@dataclass
class Episode:
    """The result of one episode."""

    number: int
    drawn: dict[str, Any]
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False
    simulated: float = 0.0
    drift_found: float = 0.0  #: share of the tolerance at which a drift was found; 0: it was not
    drift_end: float = 0.0  #: share of the tolerance at the end of the episode


def draw(seed: int, number: int) -> tuple[CellConfig, list[Knock]]:
    """Draw the physics and the knocks of an episode."""
    rng = np.random.default_rng([seed, number])
    config = CellConfig(
        seed=int(rng.integers(2 ** 31)),
        slippery=str(rng.choice([*PARTS, ''], p=[0.25, 0.25, 0.25, 0.25])),
        friction={part: float(rng.uniform(0.35, 0.8)) for part in PARTS},
        mass={part: float(rng.uniform(0.12, 0.4)) for part in PARTS},
        friction_spread=0.3, mass_spread=0.1, position_jitter=0.003, yaw_jitter=0.1,
        gripper_force=float(rng.uniform(0.7, 1.1)), gripper_force_spread=0.1,
        sensor_noise=float(rng.uniform(0.5, 1.5)), camera_delay=float(rng.uniform(0.05, 0.15)))
    slippery = {config.slippery}  # its friction and mass are those of the slippery part
    config = replace(
        config, friction={part: config.friction[part] for part in PARTS if part not in slippery},
        mass={part: config.mass[part] for part in PARTS if part not in slippery})
    knocks = []
    for _ in range(rng.poisson(KNOCKS)):
        direction = rng.normal(size=3)
        impulse = direction / np.linalg.norm(direction) * rng.uniform(0.02, 0.25)
        knocks.append(Knock(float(rng.uniform(0.0, 45.0)), str(rng.choice(PARTS)),
                            (float(impulse[0]), float(impulse[1]), float(impulse[2]))))
    return config, sorted(knocks, key=lambda knock: knock.time)


def drawn_of(config: CellConfig, knocks: list[Knock]) -> dict[str, Any]:
    """Return the drawn values as JSON-compatible data."""
    drawn = {item.name: getattr(config, item.name) for item in fields(config)}
    return {**drawn, 'knocks': [asdict(knock) for knock in knocks]}


def is_there(truth: dict[str, PartTruth], action_id: str) -> bool:
    """Whether the intended outcome of an action (pick_a … place_c) is there in the physics."""
    verb, letter = action_id.split('_')
    part = truth[f'part_{letter}']
    if verb == 'pick':
        return part.held and part.position[2] > LIFTED
    return part.pocket == f'slot_{letter}'


class Judge:
    """Compares each change of an action with the truth; `facts`: those that it is judged by."""

    def __init__(
        self, episode: Episode, cell: Cell, fault: SensorFault | None = None,
        facts: Mapping[str, Fact] = {},
    ) -> None:
        self.episode = episode
        self.cell = cell
        self.fault = fault
        self._windows = {name: fact.spec.window for name, fact in facts.items()}  #: s
        self.failed: set[str] = set()
        self.history: deque[tuple[float, dict[str, PartTruth]]] = deque(maxlen=HISTORY)
        # Confirmed picks of parts that had no contact to a pad: action, data, time of the record.
        self._lost: list[tuple[str, dict[str, Any], float]] = []

    def look(self) -> None:
        """Record the truth, at most once every LOOK steps."""
        if self.history and self.cell.time < self.history[-1][0] + LOOK * STEP:
            return
        truth = self.cell.truth()
        self.history.append((self.cell.time, truth))
        for lost in list(self._lost):
            action_id, data, time = lost
            if is_there(truth, action_id) or self.cell.time > time + HOP:
                self._lost.remove(lost)
                self._fault('shaken' if is_there(truth, action_id) else 'false_completions',
                            action_id, data, time)

    def end(self) -> None:
        """End the episode: parts that are still lost are."""
        for action_id, data, time in self._lost:
            self._fault('false_completions', action_id, data, time)
        self._lost.clear()

    def truth_at(self, evidence: Sequence[dict[str, Any]] | None) -> dict[str, PartTruth]:
        """
        Return the recorded truth nearest to the time at which the oldest evidence was measured.

        That is its stamp, or earlier if a fault has delayed the message and stamped it anew, or if
        the value is of a window of samples: then the middle of the window.
        """
        measured = self.fault.measured if self.fault else lambda topic, stamp: stamp
        stamps = [measured(fact['topic'], fact['stamp'])
                  - self._windows.get(fact['name'], 0.0) / 2
                  for entry in evidence or () for fact in entry['facts']
                  if fact['stamp'] > 0 and fact['topic']]
        stamp = min(stamps, default=self.cell.time)
        return min(self.history, key=lambda entry: abs(entry[0] - stamp))[1]

    def changed(self, action_id: str, from_state: str, to_state: str, data: dict[str, Any]
                ) -> None:
        """Count a state change of an action, and record its fault if it has one."""
        if action_id not in JUDGED:
            return
        counts = self.episode.counts
        if from_state == 'executing_motion' and to_state == 'sensor_confirm':
            counts['motions'] += 1
            if not is_there(self.cell.truth(), action_id):
                counts['controller_false_completions'] += 1
        elif from_state == 'sensor_confirm':
            self.history.append((self.cell.time, self.cell.truth()))
            there = is_there(self.truth_at(data.get('evidence')), action_id)
            confirmed = to_state == 'status_verification_requested'
            counts['there'] += there
            counts['not_there'] += not there
            there_now = is_there(self.cell.truth(), action_id)
            if confirmed and not (there or there_now) and action_id.startswith('pick'):
                self._lost.append((action_id, data, self.cell.time))
            elif confirmed and not (there and there_now):
                self._fault('overtaken' if there else 'shaken' if there_now
                            else 'false_completions', action_id, data, self.cell.time)
            elif there and not confirmed:
                counts['refuted_there'] += data.get('error_code') == 'REFUTED'
                self._fault('false_refutations', action_id, data, self.cell.time)
        if to_state == 'error':
            self.failed.add(action_id)
            counts['internal'] += data.get('error_code') == 'INTERNAL'
        elif to_state == 'completed':
            counts['completed'] += 1
            counts['recovered'] += action_id in self.failed

    def _fault(self, kind: str, action_id: str, data: dict[str, Any], time: float) -> None:
        """Count what was recorded wrongly at a time (s)."""
        self.episode.counts[kind] += 1
        self.episode.faults.append({
            'kind': kind, 'action': action_id, 'time': round(time, 3),
            'truth': {name: asdict(part) for name, part in
                      self.truth_at(data.get('evidence')).items()},
            'evidence': data.get('evidence'), 'said': data.get('cause', '')})
