# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Records runs of the demo's flow on the simulated cell as a robot records them; without ROS.

The world model, the flow, the journal and the recorder of traces are the real ones, on a stepped
clock. In some runs the parts are oily, in others the camera freezes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import csv
from pathlib import Path
import shutil
from typing import Any, NamedTuple

from _truth_judge import Episode, FLOW, is_there, Judge, JUDGED, LONGEST
from action_lifecycle.dialogue import OperatorDesk
from action_lifecycle.engine import load_graph
from action_lifecycle.flow import JournalRecorder, load_flow, Orchestrator
from action_lifecycle.journal import Journal
from action_lifecycle.journal.row import Row
from action_lifecycle.testing.stepped_clock import SteppedClock
from action_lifecycle.traces import trace_path
from action_lifecycle.traces.store import TraceStore
from action_lifecycle.world import load_facts

from .bag import Messages, ROOT, RunBag
from .plans import FIRST, Plan, plans
from .world import SampleWorld

GRAPH = ROOT / 'config/graphs/action.yaml'
FACTS = Path(__file__).parent / 'facts.yaml'
JOURNAL = 'cell.journal'


def make(folder: Path, seed: int, runs: int) -> None:
    """Make the sample data in a folder that has none of its files."""
    drawn = plans(seed, runs)
    with Recording(folder) as recording:
        for plan in drawn:
            recording.run(plan)
    _write(folder / 'labels.csv', Label._fields, (
        label._replace(there=str(label.there).lower()) for label in recording.labels))
    _write(folder / 'answer.csv', ('flow_id', 'trouble', 'frozen_from', 'frozen_until'),
           map(_answer, drawn))


def _answer(plan: Plan) -> tuple[object, ...]:
    """Return the row of a run in answer.csv; times in s of ROS time."""
    times = [f'{plan.begin / 1e9 + time:.3f}' for time in plan.frozen if plan.frozen[1]]
    return (plan.flow_id, plan.trouble, *(times or ('', '')))


def _write(path: Path, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    with open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(columns)
        writer.writerows(rows)


class Label(NamedTuple):
    """Whether the outcome of an attempt was there, by the state of the physics."""

    flow_id: str
    action_id: str
    attempt: int
    there: Any


class Recording:
    """The recorded runs in a folder: facts, flow, journal, traces, bags; a context manager."""

    def __init__(self, folder: Path) -> None:
        (folder / 'bags').mkdir(parents=True)
        facts, self._flow = folder / 'facts.yaml', folder / FLOW.name
        shutil.copyfile(FACTS, facts)
        shutil.copyfile(FLOW, self._flow)
        self.folder = folder
        self.labels: list[Label] = []
        self._clock = SteppedClock()
        self._clock.time = FIRST.timestamp() - 1.0
        self._messages = Messages()
        self._journal = Journal(folder / JOURNAL, clock=self._clock)
        self._store = TraceStore(trace_path(folder / JOURNAL))
        self._world = SampleWorld(load_facts(facts), self._clock, self._store)
        self._judge = Judge(Episode(0, {}), self._world.cell)
        recorder = JournalRecorder(
            self._journal, self._clock, self._clock.call_soon,
            lambda action, row: self._changed(row))
        recorder.synced = self._clock.call_soon  # type: ignore[method-assign]
        self._orchestrator = Orchestrator(
            load_graph(GRAPH), recorder, self._world, self._clock,
            OperatorDesk(self._clock, lambda: None), None, lambda run: None)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *error: object) -> None:
        self._journal.close()
        self._store.close()

    def run(self, plan: Plan) -> float:
        """Record a run; returns its simulated duration (s)."""
        world = self._world
        with RunBag(self.folder / 'bags' / f'{plan.flow_id}.mcap', self._messages) as bag:
            world.begin(plan, bag)
            self._judge = Judge(Episode(plan.number, {}), world.cell)
            world.step()
            run = self._orchestrator.submit(load_flow(self._flow), plan.flow_id)
            while not run.ended and world.cell.time < LONGEST:
                world.step()
                self._judge.look()
            world.store()
        return world.cell.time

    def _changed(self, row: Row) -> None:
        self._world.bag.changed(row)
        if row.from_state != 'sensor_confirm' or row.action_id not in JUDGED:
            return
        truth = self._world.cell.truth()
        there = is_there(truth, row.action_id)
        if there == is_there(self._seen_truth(row.data), row.action_id):
            self.labels.append(Label(row.flow_id, row.action_id, row.attempt, there))

    def _seen_truth(self, data: Mapping[str, Any]) -> Any:
        """Return the state of the physics at the oldest stamp in the evidence."""
        begin = self._world.cell.time - self._clock.time
        return self._judge.truth_at([
            {**entry, 'facts': [{**fact, 'stamp': fact['stamp'] + begin}
                                for fact in entry['facts']]}
            for entry in data.get('evidence', ())])
