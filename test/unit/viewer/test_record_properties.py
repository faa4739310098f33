# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Random runs, with edits, orders, restarts and nested flows: a record shows what was so.

RECORD_ROUNDS (10): how many random runs of each kind are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import json
import os
from pathlib import Path
import tempfile
from typing import Any

from action_lifecycle.flow import FlowRun
from action_lifecycle.journal import JournalReader
from action_lifecycle.lifecycle.flow_ids import shown
from action_lifecycle.viewer.record import FlowRecord
from action_lifecycle.viewer.record.nodes import label_of
from action_lifecycle.viewer.record.shown import Node, STRUCTURE
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .records import compare_each_row
from ..flow import test_control_properties as control
from ..flow import test_nested_properties as nested
from ..flow import test_weaving_properties as weaving
from ..flow.robot import Clock, Process

ROUNDS = int(os.environ.get('RECORD_ROUNDS', '10'))
quick = settings(max_examples=ROUNDS, deadline=None, suppress_health_check=[
    HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
seeds = st.integers(min_value=0, max_value=2**32)


class WatchedClock(Clock):
    """A clock that calls back when it has run."""

    after: Callable[[], None] = staticmethod(lambda: None)

    def run(self, seconds: float = 1000.0) -> None:
        super().run(seconds)
        self.after()


class Viewer:
    """Follows flow `f` of a journal row by row, and compares it with the running flows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.record = FlowRecord('f')
        self.process: Process | None = None
        self.seen: dict[int, dict[str, Node]] = {}  #: nodes by row

    def __call__(self) -> None:
        self.take()
        runs = {} if self.process is None else self.process.orchestrator.runs
        for run in runs.values():
            if not run.ended:
                self.compare(run)

    def take(self) -> None:
        """Take the new rows; what changes must be among the paths that are returned."""
        record = self.record
        with JournalReader(self.path) as reader:
            for row in reader.rows(after=record.last_seq):
                before = dict(record.nodes())
                states = {path: record.shown(path) for path in before}
                flow = record.flow()
                paths = record.take(row)
                after = record.nodes()
                assert STRUCTURE in paths or list(after.values()) == list(before.values()), row
                assert {path for path in before if record.shown(path) != states[path]} <= paths
                assert '' in paths or record.flow() == flow
                self.seen[row.seq] = dict(after)

    def compare(self, run: FlowRun) -> None:
        """Compare a running flow with the nodes of its actions."""
        prefix = shown(run.flow_id, '')[1]
        nodes = {path: node for path, node in self.record.nodes().items()
                 if path.rpartition('/')[0] + '/' == (prefix or '/')}
        assert {path: (node.after, node.replaces, node.physical)
                for path, node in nodes.items()} == {
            prefix + name: ({prefix + needed: label_of(kind) for needed, kind in spec.after.items()
                             if needed in run.flow.actions},
                            spec.replaces and prefix + spec.replaces, spec.physical)
            for name, spec in run.flow.actions.items()}
        order = list(nodes)
        assert all(order.index(needed) < order.index(path)
                   for path, node in nodes.items() for needed in node.after)
        for name in run.flow.actions:
            action, now = run.runners[name].action, self.record.shown(prefix + name)
            assert (now.state, now.outcome, now.attempt) == (
                action.state.value, action.outcome.value if action.outcome else '',
                action.attempt), (run.flow_id, name)
        if run.parent is None:
            self.compare_flow(run)

    def compare_flow(self, run: FlowRun) -> None:
        flow = self.record.flow()
        assert (flow.state, flow.stage, flow.paused, flow.paused_by, flow.total) == (
            run.state, run.stage, run.control.paused, run.control.paused_by, len(run.runners))
        assert flow.canceled_by == (run.canceled_by[0] if run.canceled_by else '')
        states = [action.outcome.value if action.outcome else
                  'waiting' if action.state == 'assigned' else 'running' for action in run.actions]
        assert flow.counts == {name: states.count(name) for name in flow.counts}
        assert set(flow.breakpoints) == set(run.control.breakpoints)

    def check(self) -> None:
        """Compare each row with a projection, and earlier moments with what they were then."""
        self.take()
        record = compare_each_row(self.path, 'f')
        for seq, nodes in self.seen.items():
            assert list(record.nodes(seq).items()) == list(nodes.items()), seq
            assert record.flow(seq).total == len(
                [path for path in nodes if '/' not in path]) or not nodes
        for path in record.nodes():
            attempts = record.attempts(path)
            assert [attempt.number for attempt in attempts] == list(range(1, len(attempts) + 1))
            assert len(attempts) == record.shown(path).attempt
            record.action(path)
            record.text(path)
        check_bars(record)


def check_bars(record: FlowRecord) -> None:
    """Check that the bars of an action follow one another, and are its state at each row."""
    for path in record.nodes():
        bars = [bar for bar in record.bars() if bar.path == path and bar.kind == 'state']
        assert all(before.end is not None and before.end <= after.start
                   for before, after in zip(bars, bars[1:]))
    for seq, _ in record.seqs():
        now = {bar.path: bar.name for bar in record.bars(seq)
               if bar.kind == 'state' and bar.end is None}
        assert now == {path: state for path in record.nodes(seq) if (
            state := record.shown(path, seq).state) not in ('assigned', 'terminated')}, seq


@pytest.mark.parametrize('with_people', [False, True])
@quick
@given(seed=seeds)
def test_runs_with_edits_and_replacements(with_people: bool, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        viewer = Viewer(Path(folder) / 'journal')

        class Case(weaving.Case):

            def process(self) -> Process:
                viewer.process = super().process()
                return viewer.process

        case = Case(seed, viewer.path, with_people=with_people)
        case.clock = case.robot.clock = case.planner.clock = WatchedClock()
        case.clock.after = viewer
        case.run()
        viewer.check()


@quick
@given(seed=seeds)
def test_runs_with_orders_and_restarts(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        viewer = Viewer(Path(folder) / 'journal')

        class Case(control.Case):

            def compare(self, run: FlowRun) -> None:
                viewer.process = self.process
                viewer()

        Case(seed, viewer.path).run()
        viewer.check()


@quick
@given(nested.actions(2), st.sets(st.sampled_from(['n0', 'n1', 'b']), max_size=1),
       st.lists(st.integers(1, 60), max_size=2), st.sampled_from(['', 'pause', 'cancel']),
       st.integers(1, 4))
def test_runs_with_nested_flows(
    flow: dict[str, Any], failing: set[str], kills: list[int], ordered: str, limit: int
) -> None:
    text = json.dumps({'flow': 'f', 'max_motions': limit, 'actions': flow})
    with tempfile.TemporaryDirectory() as folder:
        life = nested.Life(Path(folder), failing)
        viewer = Viewer(life.path)
        confirm = life.robot.confirm

        def confirm_and_compare(*asked: Any) -> Any:
            life.clock.call_later(0.0, viewer)
            return confirm(*asked)

        life.robot.confirm = confirm_and_compare  # type: ignore[method-assign]
        work: Any = nested.begin
        for rows in [*kills, 0]:
            viewer.process = process = life.begin(rows)
            lives = life.live(partial(nested.begin, process, text, ordered)
                              if work is nested.begin else partial(nested.restore, process))
            work = nested.restore
            if lives:
                viewer()
                break
            viewer.take()
        viewer.check()
