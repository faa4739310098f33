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
Whether what is recorded is true: episodes of the simulated cell against the state of its physics.

An episode is one run of the demo's flow (config/flows/pick_and_place.yaml with the facts of
config/facts/cell.yaml) with friction, mass and pose of the parts, force of the gripper, noise and
delay of the sensors and knocks drawn at random. World model, conditions, lifecycle and journal are
the real ones, in one process on a stepped clock; --ros runs episodes over DDS instead. Only this
bench knows the physics' state.

A confirmation is held against the state of the physics twice: at the stamp of the oldest of the
newest samples that it rests on, for what happens later no sensor has told yet (the camera is up to
250 ms behind), and when it is recorded. It is false if both say no. A knock in between makes the
two differ: overtaken, there when last seen and gone when recorded; shaken, not quite there when
last seen (a part that hops in its nest, or between the pads) and there when recorded.

false_completions: actions recorded as completed while the part was not where it should be: in the
    gripper, lifted; or standing in its nest.
overtaken, shaken: see above.
false_refutations_pct: of the confirmations that were asked while the outcome was there, how many
    did not confirm it.
recovered_pct: of the actions whose first attempt failed, how many were completed in the end.
controller_false_completions: motions that every controller reported as succeeded while the outcome
    was not there: what trusting the controller would have recorded.
"""

from __future__ import annotations

import argparse
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
import json
import multiprocessing
from pathlib import Path
import sys
import tempfile
import time
from typing import Any

from _truth_cell import CellWorld, STEP, SteppedClock
from action_lifecycle.dialogue import OperatorDesk
from action_lifecycle.engine import load_graph
from action_lifecycle.flow import JournalRecorder, load_flow, Orchestrator
from action_lifecycle.ledger import Journal
from action_lifecycle.sim.cell import Cell, CellConfig, PARTS, PartTruth
from action_lifecycle.world import load_facts
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FLOW = ROOT / 'config' / 'flows' / 'pick_and_place.yaml'
FACTS = ROOT / 'config' / 'facts' / 'cell.yaml'
LONGEST = 300.0  # s of simulated time that an episode may take
JUDGED = [f'{verb}_{letter}' for letter in 'abc' for verb in ('pick', 'place')]
LIFTED = 0.1  # m, the least height of the middle of a part that was picked
KNOCKS = 0.6  # mean number of knocks in an episode
LOOK = 3  # steps of the cell (of 4 ms) between two looks at the truth
HISTORY = 50  # looks that are remembered
KEPT = 20  # worst episodes that are kept


@dataclass(frozen=True)
class Knock:
    """A hit on a part, at a time (s) of the episode, with an impulse (N s)."""

    time: float
    part: str
    impulse: tuple[float, float, float]


@dataclass
class Episode:
    """What became of one episode."""

    number: int
    drawn: dict[str, Any]
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False
    simulated: float = 0.0


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
    """Return what was drawn, as JSON holds it."""
    drawn = {item.name: getattr(config, item.name) for item in fields(config)}
    return {**drawn, 'knocks': [asdict(knock) for knock in knocks]}


def is_there(truth: dict[str, PartTruth], action_id: str) -> bool:
    """Whether physics bears out what an action (pick_a … place_c) is to bring about."""
    verb, letter = action_id.split('_')
    part = truth[f'part_{letter}']
    if verb == 'pick':
        return part.held and part.position[2] > LIFTED
    return part.pocket == f'slot_{letter}'


class Judge:
    """Compares each change of an action with the truth."""

    def __init__(self, episode: Episode, cell: Cell) -> None:
        self.episode = episode
        self.cell = cell
        self.failed: set[str] = set()
        self.history: deque[tuple[float, dict[str, PartTruth]]] = deque(maxlen=HISTORY)

    def look(self) -> None:
        """Remember the truth of this moment."""
        if self.history and self.cell.time < self.history[-1][0] + LOOK * STEP:
            return
        self.history.append((self.cell.time, self.cell.truth()))

    def truth_at(self, evidence: Sequence[dict[str, Any]] | None) -> dict[str, PartTruth]:
        """Return the truth at the stamp of the oldest of the facts' newest samples."""
        stamps = [fact['stamp'] for entry in evidence or () for fact in entry['facts']
                  if fact['stamp'] > 0 and fact['topic']]
        stamp = min(stamps, default=self.cell.time)
        return min(self.history, key=lambda entry: abs(entry[0] - stamp))[1]

    def changed(self, action_id: str, from_state: str, to_state: str, data: dict[str, Any]
                ) -> None:
        """Take one change of an action."""
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
            if confirmed and not (there and there_now):
                self._fault('overtaken' if there else 'shaken' if there_now
                            else 'false_completions', action_id, data)
            elif there and not confirmed:
                self._fault('false_refutations', action_id, data)
        if to_state == 'error':
            self.failed.add(action_id)
            counts['internal'] += data.get('error_code') == 'INTERNAL'
        elif to_state == 'completed':
            counts['completed'] += 1
            counts['recovered'] += action_id in self.failed

    def _fault(self, kind: str, action_id: str, data: dict[str, Any]) -> None:
        self.episode.counts[kind] += 1
        self.episode.faults.append({
            'kind': kind, 'action': action_id, 'time': round(self.cell.time, 3),
            'truth': {name: asdict(part) for name, part in
                      self.truth_at(data.get('evidence')).items()},
            'evidence': data.get('evidence'), 'said': data.get('cause', '')})


def run_stepped(seed: int, number: int) -> Episode:
    """Run one episode in this process, as fast as it goes."""
    config, knocks = draw(seed, number)
    episode = Episode(number, drawn_of(config, knocks))
    cell, clock = Cell(config), SteppedClock()
    judge = Judge(episode, cell)
    world = CellWorld(cell, load_facts(FACTS), clock)
    with tempfile.TemporaryDirectory() as folder, \
            Journal(Path(folder) / 'journal', clock=clock) as journal:
        recorder = JournalRecorder(
            journal, clock, clock.call_soon,
            lambda action, row: judge.changed(
                action.action_id, row.from_state, row.to_state, {**row.data, 'cause': row.cause}))
        recorder.barrier = clock.call_soon  # type: ignore[method-assign]
        desk = OperatorDesk(clock, lambda: None)
        orchestrator = Orchestrator(
            load_graph(ROOT / 'config' / 'graphs' / 'action.yaml'), recorder, world, clock, desk,
            None, lambda run: None)
        run = orchestrator.submit(load_flow(FLOW), 'truth')
        while not run.ended and cell.time < LONGEST:
            while knocks and knocks[0].time <= cell.time:
                knock = knocks.pop(0)
                cell.knock(knock.part, knock.impulse)
            world.step()
            judge.look()
    episode.counts['failed'] = len(judge.failed)
    episode.ended, episode.simulated = run.ended, cell.time
    return episode


def summary(episodes: list[Episode]) -> dict[str, Any]:
    """Return the figures over all episodes."""
    total: Counter[str] = Counter()
    for episode in episodes:
        total.update(episode.counts)
    return {
        'episodes': len(episodes),
        'unended': sum(not episode.ended for episode in episodes),
        'confirmations': total['there'] + total['not_there'],
        'completed': total['completed'],
        'false_completions': total['false_completions'],
        'overtaken': total['overtaken'],
        'shaken': total['shaken'],
        'false_refutations_pct': round(
            100 * total['false_refutations'] / max(1, total['there']), 3),
        'recovered_pct': round(100 * total['recovered'] / max(1, total['failed']), 1),
        'controller_false_completions': total['controller_false_completions'],
    }


def episodes_of(arguments: argparse.Namespace) -> Iterator[Episode]:
    """Run the episodes."""
    jobs = [(arguments.seed, number) for number in range(arguments.episodes)]
    if arguments.ros:
        from _truth_ros import run_over_dds
        for seed, number in jobs:
            yield run_over_dds(seed, number)
    elif arguments.jobs == 1:
        for job in jobs:
            yield run_stepped(*job)
    else:
        with multiprocessing.get_context('spawn').Pool(arguments.jobs) as pool:
            yield from pool.imap(_run_job, jobs, chunksize=4)


def _run_job(job: tuple[int, int]) -> Episode:
    return run_stepped(*job)


def main() -> int:
    """Run the episodes, keep the worst, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--episodes', type=int, default=None, help='default 1000, with --ros 10')
    parser.add_argument('--seed', type=int, default=0, help='of all that is drawn')
    parser.add_argument('--jobs', type=int, default=2, help='processes')
    parser.add_argument('--ros', action='store_true', help='over DDS, with the three nodes')
    parser.add_argument('--json', action='store_true', help='print one JSON object only')
    parser.add_argument('--keep', default=str(ROOT / 'log' / 'truth'),
                        help='folder for the worst episodes and their evidence')
    arguments = parser.parse_args()
    if arguments.episodes is None:
        arguments.episodes = 10 if arguments.ros else 1000
    started = time.monotonic()
    episodes: list[Episode] = []
    for episode in episodes_of(arguments):
        episodes.append(episode)
        if not arguments.json:
            print(f'\r{len(episodes)} of {arguments.episodes}', end='', file=sys.stderr)
    keep(episodes, Path(arguments.keep))
    found = summary(episodes)
    if not found['confirmations'] or any(episode.counts['internal'] for episode in episodes):
        raise SystemExit('the lifecycle failed by itself: nothing can be said of its truth')
    found['times_real_time'] = round(
        sum(episode.simulated for episode in episodes) / (time.monotonic() - started), 1)
    print(json.dumps(found) if arguments.json else '\n' + '\n'.join(
        f'{name}: {value}' for name, value in found.items()))
    return 0


def keep(episodes: list[Episode], folder: Path) -> None:
    """Write the worst episodes down: false completions first, then false refutations."""
    worst = sorted(
        (episode for episode in episodes if episode.faults or not episode.ended),
        key=lambda episode: (-episode.counts['false_completions'],
                             -episode.counts['false_refutations'], episode.number))[:KEPT]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob('episode-*.json'):
        old.unlink()
    for episode in worst:
        (folder / f'episode-{episode.number}.json').write_text(
            json.dumps({item.name: getattr(episode, item.name) for item in fields(episode)},
                       indent=1, default=str))


if __name__ == '__main__':
    sys.exit(main())
