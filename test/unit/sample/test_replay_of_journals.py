# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Replay gives the verdicts and the evidence that the rows of the journal have, bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
import json
import os
from pathlib import Path
import sqlite3
import subprocess
import sys
from typing import Any

from action_lifecycle.bags import read_bag
from action_lifecycle.bags.field_kinds import BagFieldKinds
from action_lifecycle.bags.replay import Comparison, JournaledRuns, replay, TopicNames
from action_lifecycle.bags.replay.clock import spans_of
from action_lifecycle.bags.replay.journaled_times import with_traces
from action_lifecycle.traces import trace_path
from action_lifecycle.world import load_facts
import pytest

from ..docs.pages import ROOT

for needed in ('mujoco', 'mcap', 'rosbags'):
    pytest.importorskip(needed)

SEEDS, RUNS = (101, 102, 103, 104), 38
REQUIRED = {'REQUIRE_REFUTED': 'refuted', 'CONFIRM_STALE': 'stale', 'CONFIRM_TIMEOUT': 'timed_out'}
Key = tuple[str, str, int, str]  #: flow, action, attempt, kind
#: verdict, and evidence, which the journal lacks of a `require` that was met
Said = tuple[str, Any]


def said_by_rows(journal: Path) -> dict[Key, Said]:
    """Return what the rows say, read by SQL; each action of the demo has `require`."""
    found: dict[Key, Said] = {}
    with sqlite3.connect(f'file:{journal}?mode=ro', uri=True) as connection:
        for flow, action, attempt, event, state, text in connection.execute(
                'SELECT flow_id, action_id, attempt, event, from_state, data_json FROM entry '
                "WHERE kind = 'transition' ORDER BY seq"):
            data, kind, said = json.loads(text), '', ('', None)
            if state == 'sensor_confirm' and data.get('error_code') != 'CANCELED':
                kind, said = 'confirm', (data['sensors_said'], data['evidence'])
            elif (state, event) == ('in_progress', 'execute'):
                kind, said = 'require', ('confirmed', None)
            elif state == 'in_progress' and data.get('error_code') in REQUIRED:
                kind, said = 'require', (REQUIRED[data['error_code']], data['evidence'])
            if kind:
                assert (flow, action, attempt, kind) not in found
                found[flow, action, attempt, kind] = said
    return found


def replayed(folder: Path, traces: bool) -> Iterator[Comparison]:
    """Judge the confirmations in the journal of a folder again, from its bags."""
    journal = folder / 'cell.journal'
    for path in sorted((folder / 'bags').iterdir()):
        with read_bag(path) as bag:
            recorded = [one for one in JournaledRuns(str(journal), spans_of(bag)).recorded
                        if one.kind != 'maintain']
            if traces:
                recorded = list(with_traces(recorded, trace_path(journal)))
            assert {one.source for one in recorded} == {'traces' if traces else 'journal'}
            yield from replay(bag, load_facts(folder / 'facts.yaml', BagFieldKinds(bag)),
                              recorded, TopicNames(), tolerance=0.0)


def resolved(evidence: Any) -> Any:
    """Return evidence with the topics as they are called on a robot without a namespace."""
    return [{**entry, 'facts': [{**fact, 'topic': fact['topic'] and f"/{fact['topic'].strip('/')}"}
                                for fact in entry['facts']]} for entry in evidence]


def compared(folder: Path, traces: bool) -> Counter[tuple[str, str]]:
    """Compare replay to each row; returns how often there was which verdict, by kind."""
    rows = said_by_rows(folder / 'cell.journal')
    found: dict[Key, Said] = {}
    for one in replayed(folder, traces):
        key = (one.recorded.flow_id, one.recorded.action_id, one.recorded.attempt,
               one.recorded.kind)
        assert key in rows and key not in found and not one.reason, (key, one.reason)
        verdict, evidence = rows[key]
        assert one.status.value == 'same', (key, one.differences)
        found[key] = one.verdict, None if evidence is None else resolved(one.evidence)
        assert evidence is None or one.ended == evidence[0]['stamp'], key
        assert found[key] == (verdict, evidence), key
    assert found.keys() == rows.keys()
    return Counter((key[3], verdict) for key, (verdict, _) in found.items())


@pytest.mark.parametrize('traces', [True, False])
def test_each_verdict_and_its_evidence_are_those_of_the_rows(sample: Path, traces: bool) -> None:
    found = compared(sample, traces)
    assert found['confirm', 'confirmed'] > 30 and found['confirm', 'refuted']
    assert found['require', 'confirmed'] > 30


@pytest.fixture(scope='module')
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return folders with many runs, made by as many processes at once as there are CPUs."""
    found = [tmp_path_factory.mktemp('runs') / str(seed) for seed in SEEDS]

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, ROOT / 'tools/sample_data', folder, '--runs', str(RUNS),
                        '--seed', folder.name], check=True, timeout=2900)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(make, found))
    return found


@pytest.mark.long
@pytest.mark.xdist_group('runs')  # they are made once
@pytest.mark.timeout(3000)
@pytest.mark.parametrize('traces', [True, False])
def test_a_thousand_confirmations_with_evidence_are_those_of_the_rows(
    folders: list[Path], traces: bool
) -> None:
    found = sum((compared(folder, traces) for folder in folders), Counter())
    of_confirm = {verdict: number for (kind, verdict), number in found.items()
                  if kind == 'confirm'}
    assert sum(of_confirm.values()) >= 1000 and of_confirm['refuted'] >= 20, found
    assert found['require', 'confirmed'] >= 1000, found
