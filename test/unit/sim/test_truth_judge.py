# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What bench/truth.py counts as a false completion."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import importlib
from pathlib import Path
from types import SimpleNamespace

from action_lifecycle.sim.cell import PARTS, PartTruth
from action_lifecycle.sim.messages import Header, PoseStamped, Sample, Time
import pytest

BENCH = Path(__file__).parents[3] / 'bench'
STEP = 0.004  # s
CAMERA = 'camera/part_a/pose'


@pytest.fixture
def bench(monkeypatch):
    """Return the modules that run episodes, judge them, and inject the faults."""
    monkeypatch.syspath_prepend(str(BENCH))
    return SimpleNamespace(truth=importlib.import_module('truth'),
                           judge=importlib.import_module('_truth_judge'),
                           faults=importlib.import_module('_truth_faults'))


@dataclass
class Cell:
    """A cell in which part_a is in the gripper, or in its nest, at the times (s) that say so."""

    held: object = lambda time: True
    nested: object = lambda time: False
    time: float = 0.0
    part: PartTruth = field(default_factory=lambda: PartTruth(
        (0.0, 0.0, 0.2), (0.0, 0.0, 0.0, 1.0), 0.0, False, ''))

    def truth(self):
        return {part: replace(self.part, held=self.held(self.time),
                              pocket='slot_a' if self.nested(self.time) else '')
                for part in PARTS}


def _judged(bench, cell, action, recorded, measured, fault=None, end=None):
    """Confirm an action at a time, with evidence of a stamp; returns what is counted as wrong."""
    judge = bench.judge.Judge(bench.judge.Episode(0, {}), cell, fault)
    done = False
    while cell.time < (end or recorded + 0.2):
        cell.time += STEP
        judge.look()
        if cell.time >= recorded and not done:
            done = True
            judge.changed(action, 'sensor_confirm', 'status_verification_requested', {
                'evidence': [{'facts': [{'name': 'part_a', 'topic': CAMERA, 'stamp': measured}]}]})
    judge.end()
    return {name: count for name, count in judge.episode.counts.items()
            if count and name not in ('there', 'not_there')}


def test_a_part_that_was_never_there_is_a_false_completion(bench):
    cell = Cell(held=lambda time: False)
    assert _judged(bench, cell, 'pick_a', 1.0, 0.95) == {'false_completions': 1}
    assert _judged(bench, Cell(), 'place_a', 1.0, 0.95) == {'false_completions': 1}


@pytest.mark.parametrize('action', ['pick_a', 'place_a'])
def test_a_part_that_leaves_after_it_was_measured_has_overtaken_the_record(bench, action):
    there = lambda time: time < 0.97  # noqa: E731
    cell = Cell(held=there, nested=there)
    assert _judged(bench, cell, action, 1.0, 0.95) == {'overtaken': 1}


@pytest.mark.parametrize('gone, counted', [
    (0.03, {'shaken': 1}), (0.2, {'false_completions': 1})])
def test_a_part_that_hops_in_the_gripper_has_not_left_it(bench, gone, counted):
    cell = Cell(held=lambda time: not 0.94 <= time < 1.0 + gone)
    assert _judged(bench, cell, 'pick_a', 1.0, 0.98) == counted


def test_an_episode_that_ends_too_early_does_not_hide_a_lost_part(bench):
    cell = Cell(held=lambda time: time < 0.94)
    assert _judged(bench, cell, 'pick_a', 1.0, 0.98, end=1.02) == {'false_completions': 1}


def test_a_part_can_not_hop_out_of_its_nest_and_count(bench):
    cell = Cell(nested=lambda time: not 0.94 <= time < 1.03)
    assert _judged(bench, cell, 'place_a', 1.0, 0.98) == {'false_completions': 1}


@pytest.mark.parametrize('left, counted', [
    (0.7, {'overtaken': 1}), (0.5, {'false_completions': 1})])
def test_a_late_message_counts_from_when_it_was_measured(bench, left, counted):
    fault = bench.faults.SensorFault('delay', 0, 0)
    fault.begin, fault.sensor = 0.0, 'camera/'
    stamp = Time(0, 600_000_000)  # measured at 0.6 s, passed on at 0.64 s, comes at 0.94 s
    list(fault.pass_on([Sample(CAMERA, PoseStamped(header=Header(stamp)))], 0.64))
    (came,) = fault.pass_on([], 0.941)
    assert came.message.header.stamp == Time(0, 941_000_000)
    cell = Cell(nested=lambda time: time < left)
    assert _judged(bench, cell, 'place_a', 1.0, 0.941, fault) == counted


@pytest.mark.parametrize('kind, number', [
    ('loss', 188), ('delay', 885), ('swapped', 786), ('drift', 821), ('drift', 907)])
def test_episodes_that_once_missed_the_goal(bench, kind, number):
    episode = bench.truth.run_stepped(0, number, kind)
    assert episode.ended and episode.counts['motions']
    assert not episode.counts['false_completions'] and not episode.counts['refuted_there']
    assert kind != 'drift' or 0.0 < episode.drift_found < 1.0
