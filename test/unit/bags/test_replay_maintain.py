# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What motions had to maintain is judged again from their bag, from their begin to their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .judged_runs import Runs, statuses

FLOW = """
flow: carry
parameters:
  least: {default: 0.01}
defaults: {confirm: {condition: gap >= 0, within: 0.5}, fallback: []}
actions:
  open: {motion: {server: hand, type: a/action/B, goal: {gap: 0.03}}}
  carry:
    after: open
    motion: {server: arm, type: a/action/B, goal: {}}
    maintain: {condition: gap > least, within: 0.1}
  drop:
    after: {carry: completion}
    motion: {server: arm, type: a/action/B, goal: {gap: 0.03}}
    maintain: {condition: gap > least, within: 0.1}
  again:
    after: {drop: completion}
    motion: {server: arm, type: a/action/B, goal: {gap: 0.03}}
  blind:
    after: {again: completion}
    motion: {server: arm, type: a/action/B, goal: {}}
    maintain: {condition: gap > least, within: 0.1}
  blocked:
    after: {blind: completion}
    motion: {server: arm, type: a/action/B, goal: {abort: 1}}
    maintain: {condition: gap > least, within: 0.1}
"""
CARRIED = [f'f/{name}' for name in ('carry', 'drop', 'blind', 'blocked')]


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Make a run in which the part is carried, dropped, not seen, and held at a blocked motion."""
    made = Runs(tmp_path_factory.mktemp('runs'), FLOW)
    made.robot.slips = {'drop': [(0.2, 0.004)], 'blind': [(0.1, None)]}
    made.run()
    made.close()
    yield made


@pytest.mark.parametrize('traces', [True, False])
def test_the_same_conditions_are_violated_at_the_same_times(runs: Runs, traces: bool) -> None:
    found = {key[0]: each for key, each in runs.replayed(traces=traces).items()
             if key[1] == 'maintain'}
    assert list(found) == CARRIED  # `open` and `again` have nothing to maintain
    assert {one.status.value for each in found.values() for one in each} == {'same'}
    verdicts = {name: [one.verdict for one in each] for name, each in found.items()}
    assert verdicts == {'f/carry': ['maintained'], 'f/drop': ['violated'],
                        'f/blind': ['violated'], 'f/blocked': ['maintained']}
    drop, blind = found['f/drop'][0], found['f/blind'][0]
    assert drop.evidence[0]['facts'][0]['numbers'] == [0.004]
    assert drop.evidence == drop.recorded.evidence and drop.ended == drop.recorded.ended
    assert blind.evidence[0]['verdict'] == 'unknown'  # for longer than its `within`
    assert blind.ended == pytest.approx(blind.recorded.ended, abs=1e-6)


def test_a_recorder_that_received_later_gives_the_same_verdicts(tmp_path: Path) -> None:
    made = Runs(tmp_path, FLOW)
    made.robot.slips = {'drop': [(0.2, 0.004)]}
    made.robot.late = 0.008
    made.run()
    made.close()
    found = {key[0]: each[0] for key, each in made.replayed(traces=True).items()
             if key[1] == 'maintain'}
    assert {name: (one.status.value, one.reason) for name, one in found.items()
            if one.differs or one.reason} == {}
    late = found['f/drop'].ended - found['f/drop'].recorded.ended
    assert late == pytest.approx(0.008, abs=1e-4)
    assert found['f/drop'].status.value == 'other values'  # its time


def test_the_watch_is_as_long_as_the_motion(runs: Runs) -> None:
    """The part was not held before `again` had ended, and nobody cares after `drop` had."""
    found = runs.replayed(FLOW.replace('goal: {gap: 0.03}}\n  blind', (
        'goal: {gap: 0.03}}\n    maintain: gap > least\n  blind')), traces=True)
    added = found['f/again', 'maintain'][0]
    assert added.status.value == 'newly violated'
    assert added.ended == added.recorded.started  # the gap was too small when it began
    carried = found['f/carry', 'maintain'][0]
    assert carried.ended == carried.recorded.ended == pytest.approx(
        carried.recorded.started + 0.5, abs=0.002)


def test_a_changed_threshold_changes_what_the_gap_passes(runs: Runs) -> None:
    looser = statuses(runs.replayed(FLOW, least=0.001))
    assert looser['f/drop', 'maintain'] == ['newly maintained']
    assert looser['f/blind', 'maintain'] == ['other values']  # of the parameter
    stricter = runs.replayed(FLOW.replace('gap > least', 'gap > 2 * least'), least=0.02)
    assert {name: each[0].status.value for (name, kind), each in stricter.items()
            if kind == 'maintain'} == {
        'f/carry': 'newly violated', 'f/drop': 'same', 'f/blind': 'same',
        'f/blocked': 'not comparable'}  # other conditions, so that the evidence is not compared
    carry, blocked = (stricter[f'f/{name}', 'maintain'][0] for name in ('carry', 'blocked'))
    assert carry.evidence[0]['facts'][0]['numbers'] == [0.03]
    assert 'was stopped (MOTION_ABORTED); since when is not recorded' in blocked.reason


def test_what_is_not_maintained_any_more_is_not_comparable(runs: Runs) -> None:
    found = runs.replayed(FLOW.replace(
        '    maintain: {condition: gap > least, within: 0.1}\n', ''))
    reasons = {each[0].reason for (_, kind), each in found.items() if kind == 'maintain'}
    assert reasons == {"the action has no conditions 'maintain' in this flow"}
