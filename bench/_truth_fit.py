# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Fits the conditions of the demo's flow to labelled episodes, and tries them on unseen ones.

The labels are the state of the physics at the verdict; a confirmation whose outcome changed within
the delay of the sensors has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
import functools
import itertools
import math
import multiprocessing
from pathlib import Path
import tempfile
from typing import Any

from _truth_cell import CellWorld
from _truth_judge import (
    draw,
    drawn_of,
    Episode,
    FACTS,
    FLOW,
    is_there,
    Judge,
    JUDGED,
    Knock,
    LONGEST,
    ROOT,
)
from action_lifecycle.dialogue import OperatorDesk
from action_lifecycle.engine import load_graph
from action_lifecycle.fit.fitting import ConditionFit, fit_place, Options
from action_lifecycle.fit.flow_text import FlowText, Place
from action_lifecycle.fit.intervals import Errors, Rate
from action_lifecycle.fit.labels import Label
from action_lifecycle.fit.runs import run_of
from action_lifecycle.fit.series import ConditionOnRuns
from action_lifecycle.fit.trace_world import Run
from action_lifecycle.flow import JournalRecorder, Orchestrator
from action_lifecycle.flow.files.loader import parse_flow
from action_lifecycle.journal import Journal
from action_lifecycle.lifecycle.ports import (
    Confirmation,
    ConfirmRequest,
    MotionRequest,
    WorkResult,
)
from action_lifecycle.sim.cell import Cell, PARTS
from action_lifecycle.testing.stepped_clock import SteppedClock
from action_lifecycle.traces import (
    Confirmed,
    trace_path,
    TraceKey,
    TraceReader,
    TraceRecorder,
)
from action_lifecycle.traces.store import TraceStore
from action_lifecycle.world import FactSet, load_facts
import numpy as np

HARD = 6.0  # mean number of hard knocks
BAD = {  # thresholds that are deliberately wrong: too loose, and too strict
    'loose': {'gap > 0.02 and squeeze > 2.0 and load > 0.5': 'gap > 0.001 and squeeze > 0.1 and '
              'load > 0.02', '< 0.006': '< 0.25', '< 0.002': '< 0.1', '< 0.06': '< 1.5',
              '- 0.02\n      hold': '- 0.15\n      hold'},
    'strict': {'gap > 0.02 and squeeze > 2.0 and load > 0.5': 'gap > 0.041 and squeeze > 7.0 and '
               'load > 1.9', '< 0.006': '< 0.0015', '< 0.002': '< 0.0004', '< 0.06': '< 0.01'},
}


def flow_text(start: str) -> str:
    """Return the demo's flow, with the thresholds of `BAD` if `start` names them."""
    text = FLOW.read_text()
    for old, new in BAD.get(start, {}).items():
        assert old in text, old
        text = text.replace(old, new)
    return text


class RecordedWorld(CellWorld):
    """A cell whose attempts are recorded as traces, as by the bridge."""

    def __init__(self, cell: Cell, facts: FactSet, clock: SteppedClock, path: Path) -> None:
        super().__init__(cell, facts, clock)
        store = TraceStore(path, 0)

        def put(change: Callable[[TraceStore], None]) -> None:
            with store.transaction():
                change(store)

        self.recorder = TraceRecorder(self.model, put)
        self.store = store

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Any:
        if request.action_id in JUDGED:
            self.recorder.begin(_key(request), [*request.maintain, *request.confirm],
                                request.parameters, self.clock.time)
        return super().execute(request, result)

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Any:
        started = self.clock.time
        recorded = request.action_id in JUDGED and request.name == 'confirm'
        if recorded:
            self.recorder.begin(_key(request), request.conditions, request.parameters, started)

        def answered(answer: Confirmation) -> None:
            if recorded:
                self.recorder.confirmed(_key(request), Confirmed(
                    started, request.after or -math.inf, self.clock.time, request.conditions,
                    request.parameters, answer.verdict, list(answer.evidence)))
            result(answer)

        return super().confirm(request, answered)


def _key(request: Any) -> TraceKey:
    return TraceKey(request.flow_id, request.action_id, request.attempt)


def _hard_knocks(seed: int, number: int, mean: float) -> Iterator[Knock]:
    """Yield knocks that throw parts out of their nests, so that there are failures to learn."""
    rng = np.random.default_rng([seed, number, 1])
    for _ in range(rng.poisson(mean)):
        direction = rng.normal(size=3)
        impulse = direction / np.linalg.norm(direction) * rng.uniform(0.15, 0.5)
        yield Knock(float(rng.uniform(5.0, 45.0)), str(rng.choice(PARTS)),
                    (float(impulse[0]), float(impulse[1]), float(impulse[2])))


@dataclass
class Recorded:
    """One episode: its counts, and its labelled confirmations."""

    episode: Episode
    runs: list[Run] = field(default_factory=list)


def run_recorded(job: tuple[int, int, str, float]) -> Recorded:
    """
    Run one episode of a flow, given as text, and label its confirmations.

    `job`: seed, number, text, and the mean number of hard knocks besides those of the episode.
    """
    seed, number, text, hard = job
    config, knocks = draw(seed, number)
    knocks = sorted([*knocks, *_hard_knocks(seed, number, hard)], key=lambda one: one.time)
    recorded = Recorded(Episode(number, drawn_of(config, knocks)))
    cell, clock = Cell(config), SteppedClock()
    judge = Judge(recorded.episode, cell, facts=load_facts(FACTS))
    labels: dict[TraceKey, bool] = {}

    def changed(action: Any, row: Any) -> None:
        data = {**row.data, 'cause': row.cause}
        if action.action_id in JUDGED and row.from_state == 'sensor_confirm':
            then = is_there(judge.truth_at(data.get('evidence')), action.action_id)
            if then == is_there(cell.truth(), action.action_id):
                labels[TraceKey(action.flow_id, action.action_id, row.attempt)] = then
        judge.changed(action.action_id, row.from_state, row.to_state, data)

    with tempfile.TemporaryDirectory() as folder, \
            Journal(Path(folder) / 'robot.journal', clock=clock) as journal:
        world = RecordedWorld(cell, load_facts(FACTS), clock, trace_path(journal.path))
        recorder = JournalRecorder(journal, clock, clock.call_soon, changed)
        recorder.synced = clock.call_soon  # type: ignore[method-assign]
        orchestrator = Orchestrator(
            load_graph(ROOT / 'config' / 'graphs' / 'action.yaml'), recorder, world, clock,
            OperatorDesk(clock, lambda: None), None, lambda run: None)
        run = orchestrator.submit(parse_flow(text, str(FLOW)), f'truth-{seed}-{number}')
        while not run.ended and cell.time < LONGEST:
            while knocks and knocks[0].time <= cell.time:
                knock = knocks.pop(0)
                cell.knock(knock.part, knock.impulse)
            world.step()
            judge.look()
        judge.end()
        with TraceReader(world.store.path) as reader:
            recorded.runs = [run_of(reader.trace(TraceKey(*subject)), Label(there, 'file'))
                             for subject, there in labels.items()]
        world.store.close()
    recorded.episode.ended, recorded.episode.simulated = run.ended, cell.time
    return recorded


def jobs_of(
    seed: int, count: int, text: str = '', hard: float = 0.0
) -> Iterator[tuple[int, int, str, float]]:
    """Yield the jobs of episodes of a flow (the demo's by default); see `run_recorded`."""
    return ((seed, number, text or flow_text(''), hard) for number in range(count))


def fitted(
    start: str, runs: Sequence[Run], options: Options, folder: Path
) -> tuple[str, list[ConditionFit]]:
    """Return the flow with the thresholds fitted to runs, beginning with those of `start`."""
    text = _written(flow_text(start), folder)
    facts = load_facts(FACTS)
    fits = [fit_place(text, place, facts, mine, options)
            for place, mine in _by_place(text, runs)]
    return text.with_changes([change for fit in fits for change in fit.changes]), fits


def judged(text: str, runs: Sequence[Run], folder: Path) -> Errors:
    """Return the errors of the confirmations of a flow, given as text, on runs."""
    flow, facts = _written(text, folder), load_facts(FACTS)
    total = Errors(Rate(0, 0), Rate(0, 0))
    for place, mine in _by_place(flow, runs):
        total += ConditionOnRuns(flow, place, facts).errors(mine)
    return total


def _by_place(text: FlowText, runs: Sequence[Run]) -> Iterator[tuple[Place, list[Run]]]:
    for place in text.places:
        mine = [run for run in runs if run.trace.key.action_id in place.actions]
        if mine:
            yield place, mine


def _written(text: str, folder: Path) -> FlowText:
    path = folder / 'flow.yaml'
    path.write_text(text)
    return FlowText(str(path))


def judged_unseen(
    texts: dict[str, str], job: tuple[int, int, str, float]
) -> dict[str, Errors]:
    """Run one episode, and return the errors of each of several flows on its confirmations."""
    runs = run_recorded(job).runs
    with tempfile.TemporaryDirectory() as folder:
        return {start: judged(text, runs, Path(folder)) for start, text in texts.items()}


def fit_and_try(
    seed: int, train: int, unseen: int, jobs: int, fewest: int = 20
) -> dict[str, dict[str, Any]]:
    """
    Fit to `train` labelled episodes, judge `unseen` other ones; returns the figures by start.

    All episodes run with the flow as it is. Each start is the demo's flow or one of `BAD`. A
    third of the labelled episodes has hard knocks, since placed parts are rarely missing.
    """
    hard = train // 3
    with multiprocessing.get_context('spawn').Pool(jobs) as pool, \
            tempfile.TemporaryDirectory() as name:
        known = [run for one in pool.imap(run_recorded, itertools.chain(
            jobs_of(seed, train - hard), jobs_of(seed + 2, hard, hard=HARD)))
                 for run in one.runs]
        starts = ['hand-made', *BAD]
        folders = [Path(name) / start for start in starts]
        for folder in folders:
            folder.mkdir()
        proposals = dict(zip(starts, pool.starmap(
            fitted, [(start, known, Options(fewest), folder)
                     for start, folder in zip(starts, folders)], chunksize=1)))
        texts = {'not fitted': flow_text(''), **{
            start: text for start, (text, _) in proposals.items()}}
        total = dict.fromkeys(texts, Errors(Rate(0, 0), Rate(0, 0)))
        for errors in pool.imap(functools.partial(judged_unseen, texts),
                                jobs_of(seed + 1, unseen)):
            for start, one in errors.items():
                total[start] += one
    return {start: {**errors.as_dict(), 'thresholds': {
        f'{term.term.side}': term.new for fit in proposals[start][1] for term in fit.terms}
        if start in proposals else {}} for start, errors in total.items()}
