# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The facts of the demo cell under the sensor faults of bench/truth.py."""

from __future__ import annotations

import importlib
from pathlib import Path

from action_lifecycle.sim.cell import Cell, CellConfig
from action_lifecycle.world import FactSet, load_facts, Validity, WorldModel
import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
FACTS = ROOT / 'config' / 'facts' / 'cell.yaml'
SEEN = ('gap', 'squeeze', 'load', 'tool', 'speed', 'marker', 'part_a', 'part_b', 'part_c',
        'part_a_turn')
BEGIN = 2.0  # s


@pytest.fixture
def faults(monkeypatch):
    """Return the module that injects the faults."""
    monkeypatch.syspath_prepend(str(ROOT / 'bench'))
    return importlib.import_module('_truth_faults')


def _unknown(facts: FactSet, fault=None, seconds=5.0, seed=3, **config):
    """Step a cell at rest; returns the notes of the facts that were ever unhealthy."""
    cell, model = Cell(CellConfig(seed=seed, **config)), WorldModel(facts)
    notes = {}
    for step in range(round(seconds / 0.004)):
        samples = cell.step()
        for sample in fault.pass_on(samples, cell.time) if fault else samples:
            model.ingest(sample.topic, sample.message, cell.time)
        if step % 10 == 0 and cell.time > 1.0:
            for name in SEEN:
                value = model.value(name, cell.time)
                if value.validity is Validity.UNKNOWN:
                    notes.setdefault(name, value.note)
    return notes


def _fault(faults, kind, **drawn):
    fault = faults.SensorFault(kind, 0, 0)
    fault.begin = BEGIN
    for name, value in drawn.items():
        setattr(fault, name, value)
    return fault


@pytest.mark.parametrize('noise', [0.5, 1.5])
def test_the_facts_of_a_healthy_cell_are_never_unknown(noise):
    assert _unknown(load_facts(FACTS), sensor_noise=noise) == {}


def test_a_frozen_sensor_makes_its_facts_unknown(faults):
    for sensor, names in (('joint_states', {'gap', 'tool', 'speed'}),
                          ('gripper/wrench', {'squeeze', 'load'}),
                          ('camera/', {'marker', 'part_a', 'part_b', 'part_c', 'part_a_turn'})):
        notes = _unknown(load_facts(FACTS), _fault(faults, 'frozen', sensor=sensor), 3.5)
        assert set(notes) == names
        assert all('frozen: ' in note for note in notes.values())


def test_a_drift_is_found_before_the_tolerance(faults):
    for drifting, name in faults.DRIFTING.items():
        fault = _fault(faults, 'drift', drifting=drifting)
        fault.rate = fault._tolerance = faults.TOLERANCE[drifting]
        fault.rate /= 5.0
        if drifting == 'camera':
            fault._direction = np.array([0.0, 0.0, 1.0])
        notes = _unknown(load_facts(FACTS), fault, seconds=BEGIN + 5.0)
        assert notes[name].startswith(('agree: ', 'range: '))


def test_swapped_labels_make_both_parts_unknown_and_plain_facts_believe_them(faults):
    fault = _fault(faults, 'swapped', swapped=['part_a', 'part_c'])
    notes = _unknown(load_facts(FACTS), fault, 3.5)
    assert set(notes) == {'part_a', 'part_c', 'part_a_turn'}
    # The median is first that of as many samples of each: a place between the parts.
    assert notes['part_a'] == 'range: element 1 is 0.0004378 m; expected -0.16 to -0.08 m'
    plain = faults.plain_facts(FACTS)
    assert not plain.health
    assert _unknown(plain, _fault(faults, 'swapped', swapped=['part_a', 'part_c']), 3.5) == {}


@pytest.mark.parametrize('kind', ['loss', 'outliers'])
def test_lost_and_single_wrong_samples_do_no_harm(faults, kind):
    assert _unknown(load_facts(FACTS), _fault(faults, kind)) == {}


def test_delayed_messages_come_late_with_the_time_of_their_coming(faults):
    fault = _fault(faults, 'delay', sensor='joint_states')
    cell = Cell(CellConfig(seed=3))
    seen = []
    while cell.time < BEGIN + 1.0:
        for sample in fault.pass_on(cell.step(), cell.time):
            if sample.topic == 'joint_states':
                stamp = sample.message.header.stamp
                assert stamp.sec + stamp.nanosec * 1e-9 == pytest.approx(cell.time, abs=1e-6)
                seen.append(cell.time)
    gaps = [later - earlier for earlier, later in zip(seen, seen[1:])]
    assert max(gaps) == pytest.approx(0.308, abs=1e-6)
