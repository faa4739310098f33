# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Compares the record of episodes of the simulated cell with the state of its physics.

An episode is one run of the demo's flow (config/flows/pick_and_place.yaml with the facts of
config/facts/cell.yaml) with friction, mass and pose of the parts, force of the gripper, noise and
delay of the sensors and knocks drawn at random. World model, conditions, lifecycle and journal are
the real ones, in one process on a stepped clock; --ros runs episodes over DDS instead. Only this
bench reads the state of the physics.

A confirmation is compared with the physics at two times: when the oldest sample of its evidence
was measured (the camera is up to 250 ms late; of a window, the middle), and when it was recorded.
It is false if the outcome held at neither time. overtaken: it held at the first time only, for
example because of a knock in between. shaken: it held at the second time only, since a part may
move in its nest or between the pads; or the pads lost the part for less than 50 ms after the
record (a hop).

false_completions: actions recorded as completed although the part was not lifted in the gripper,
    or did not stand in its nest.
overtaken, shaken: see above.
false_refutations_pct: percentage of failures among the confirmations of an outcome that was
    there.
recovered_pct: percentage of the actions with a failed first attempt that were completed.
controller_false_completions: motions that all controllers reported as succeeded although the
    outcome was not there.

--faults runs the episodes once more for each fault of the sensors (see _truth_faults.py), with the
facts as they are, and with plain ones: without health, and with means and newest values for
medians. Here a refutation is false only if the verdict is `refuted`; undecided_pct counts the
outcomes that were there and could not be judged in time because a fact was unknown or stale.

drift_exceeded: episodes in which a drift exceeded the tolerance of the condition before the fact
    was unhealthy.
drift_found_at: median of the drift at which the fact became unhealthy, as share of the tolerance;
    drift_found_at_most: the largest.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
import json
import multiprocessing
from pathlib import Path
import statistics
import sys
import tempfile
import time
from typing import Any

from _truth_cell import CellWorld
from _truth_faults import DriftWatch, FAULTS, plain_facts, SensorFault
from _truth_judge import draw, drawn_of, Episode, FACTS, FLOW, Judge, LONGEST, ROOT
from action_lifecycle.dialogue import OperatorDesk
from action_lifecycle.engine import load_graph
from action_lifecycle.flow import JournalRecorder, load_flow, Orchestrator
from action_lifecycle.journal import Journal
from action_lifecycle.sim.cell import Cell
from action_lifecycle.testing.stepped_clock import SteppedClock
from action_lifecycle.world import load_facts

GRAPH = ROOT / 'config' / 'graphs' / 'action.yaml'
FAILED = 'the lifecycle failed by itself: nothing can be said of its truth'
KEPT = 20  # maximum number of worst episodes that are kept


def run_stepped(seed: int, number: int, kind: str = '', plain: bool = False) -> Episode:
    """Run one episode in this process, as fast as possible; `kind`: of the sensors' fault."""
    config, knocks = draw(seed, number)
    episode = Episode(number, drawn_of(config, knocks))
    cell, clock = Cell(config), SteppedClock()
    fault = SensorFault(kind, seed, number) if kind else None
    facts = plain_facts(FACTS) if plain else load_facts(FACTS)
    judge = Judge(episode, cell, fault, facts)
    world = CellWorld(cell, facts, clock, fault)
    drift = DriftWatch(fault, world.model) if fault and kind == 'drift' else None
    if fault is not None:
        episode.drawn |= fault.drawn()
    with tempfile.TemporaryDirectory() as folder, \
            Journal(Path(folder) / 'journal', clock=clock) as journal:
        recorder = JournalRecorder(
            journal, clock, clock.call_soon,
            lambda action, row: judge.changed(
                action.action_id, row.from_state, row.to_state, {**row.data, 'cause': row.cause}))
        recorder.synced = clock.call_soon  # type: ignore[method-assign]
        desk = OperatorDesk(clock, lambda: None)
        orchestrator = Orchestrator(
            load_graph(GRAPH), recorder, world, clock, desk,
            None, lambda run: None)
        run = orchestrator.submit(load_flow(FLOW), 'truth')
        while not run.ended and cell.time < LONGEST:
            while knocks and knocks[0].time <= cell.time:
                knock = knocks.pop(0)
                cell.knock(knock.part, knock.impulse)
            world.step()
            judge.look()
            if drift is not None:
                drift.look(cell.time)
    judge.end()
    if drift is not None:
        episode.drift_found, episode.drift_end = drift.found, drift.end
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


def fault_figures(episodes: list[Episode]) -> dict[str, Any]:
    """Return the figures over all episodes with one fault."""
    total: Counter[str] = Counter()
    for episode in episodes:
        total.update(episode.counts)
    there = max(1, total['there'])
    found = sorted(episode.drift_found for episode in episodes if episode.drift_found)
    return {
        'episodes': len(episodes),
        'confirmations': total['there'] + total['not_there'],
        'completed': total['completed'],
        'controller_false_completions': total['controller_false_completions'],
        'false_completions': total['false_completions'],
        'overtaken': total['overtaken'],
        'shaken': total['shaken'],
        'false_refutations_pct': round(100 * total['refuted_there'] / there, 3),
        'undecided_pct': round(
            100 * (total['false_refutations'] - total['refuted_there']) / there, 3),
        **({'drift_exceeded': sum(
            (episode.drift_found or episode.drift_end) > 1.0 for episode in episodes),
            'drift_found_at': round(statistics.median(found), 2) if found else None,
            'drift_found_at_most': round(found[-1], 2) if found else None}
           if any(episode.drift_end for episode in episodes) else {})}


def run_faults(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the episodes with each fault, with plain facts and with health."""
    found: dict[str, Any] = {}
    for kind in arguments.faults:
        for name, plain in (('plain', True), ('health', False)):
            jobs = [(arguments.seed, number, kind, plain)
                    for number in range(arguments.episodes)]
            episodes = list(run_jobs(jobs, arguments.jobs))
            keep(episodes, Path(arguments.keep) / kind / name)
            if any(episode.counts['internal'] for episode in episodes):
                raise SystemExit(FAILED)
            found[f'{kind} {name}'] = fault_figures(episodes)
            if not arguments.json:
                print(f'{kind}, {name}: {json.dumps(found[f"{kind} {name}"])}', flush=True)
    return found


def run_jobs(jobs: list[tuple[Any, ...]], processes: int) -> Iterator[Episode]:
    """Run episodes in this process or in several."""
    if processes == 1:
        for job in jobs:
            yield run_stepped(*job)
    else:
        with multiprocessing.get_context('spawn').Pool(processes) as pool:
            yield from pool.imap(_run_job, jobs)


def episodes_of(arguments: argparse.Namespace) -> Iterator[Episode]:
    """Run the episodes."""
    jobs: list[tuple[Any, ...]] = [
        (arguments.seed, number, '', arguments.plain) for number in range(arguments.episodes)]
    if arguments.ros:
        from _truth_ros import run_over_dds
        for seed, number, *_ in jobs:
            yield run_over_dds(seed, number)
    else:
        yield from run_jobs(jobs, arguments.jobs)


def _run_job(job: tuple[Any, ...]) -> Episode:
    return run_stepped(*job)


def main() -> int:
    """Run the episodes, keep the worst, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--episodes', type=int, default=None, help='default 1000, with --ros 10')
    parser.add_argument('--seed', type=int, default=0, help='of all that is drawn')
    parser.add_argument('--jobs', type=int, default=2, help='processes')
    parser.add_argument('--ros', action='store_true', help='over DDS, with the three nodes')
    parser.add_argument('--plain', action='store_true', help='facts without health and medians')
    parser.add_argument('--faults', nargs='*', choices=FAULTS, metavar='FAULT',
                        help=f"with faults of the sensors: {', '.join(FAULTS)}; default all")
    parser.add_argument('--fit', action='store_true', help='fit the thresholds of the flow to '
                        'labelled episodes, and judge --episodes unseen ones')
    parser.add_argument('--train', type=int, default=300, help='labelled episodes of --fit')
    parser.add_argument('--json', action='store_true', help='print one JSON object only')
    parser.add_argument('--keep', default=str(ROOT / 'log' / 'truth'),
                        help='folder for the worst episodes and their evidence')
    arguments = parser.parse_args()
    if arguments.episodes is None:
        arguments.episodes = 10 if arguments.ros else 1000
    if arguments.faults is not None:
        arguments.faults = arguments.faults or list(FAULTS)
        faults = run_faults(arguments)
        if arguments.json:
            print(json.dumps(faults))
        return 0
    if arguments.fit:
        from _truth_fit import fit_and_try
        print(json.dumps(fit_and_try(arguments.seed, arguments.train, arguments.episodes,
                                     arguments.jobs), indent=None if arguments.json else 1))
        return 0
    started = time.monotonic()
    episodes: list[Episode] = []
    for episode in episodes_of(arguments):
        episodes.append(episode)
        if not arguments.json:
            print(f'\r{len(episodes)} of {arguments.episodes}', end='', file=sys.stderr)
    keep(episodes, Path(arguments.keep))
    found = summary(episodes)
    if not found['confirmations'] or any(episode.counts['internal'] for episode in episodes):
        raise SystemExit(FAILED)
    found['times_real_time'] = round(
        sum(episode.simulated for episode in episodes) / (time.monotonic() - started), 1)
    print(json.dumps(found) if arguments.json else '\n' + '\n'.join(
        f'{name}: {value}' for name, value in found.items()))
    # With --json the exit code does not depend on the figures.
    missed = found['false_completions'] > 0 or found['false_refutations_pct'] > 1.0
    return int(missed and not arguments.json)


def keep(episodes: list[Episode], folder: Path) -> None:
    """Write the worst episodes to files: false completions first, then false refutations."""
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
