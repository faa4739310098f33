# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions of loops, repeats and nested flows are found in a flow file by what the run has read."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
from pathlib import Path

from action_lifecycle.bags import read_bag
from action_lifecycle.bags.replay import JournaledRuns
from action_lifecycle.bags.replay.clock import spans_of
from action_lifecycle.bags.replay.flow_conditions import FlowConditions
from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_edit
import pytest

from .judged_runs import Runs, statuses

MOTION = 'motion: {server: hand, type: a/action/B, goal: {}}, '
INNER = (f'flow: inner\nparameters: {{target: {{default: 1.0}}}}\nactions:\n  grip: {{{MOTION}'
         'confirm: {condition: gap > target / 2, within: 0.3}}\n')
FLOW = f"""
flow: sort
parameters: {{least: {{default: 0.01}}}}
actions:
  open:
    motion:
      - server: hand
        type: a/action/B
        goal: {{gap: 0.03, result: {{sizes: [0.01, 0.02]}}}}
    confirm: gap > least
  parts: {{after: open, for_each: {{part: [nut, bolt]}}, in_order: true, {MOTION}
          confirm: gap > least, maintain: gap > least}}
  sizes: {{after: parts, for_each: {{size: "{{{{ results.open.result.sizes }}}}"}}, {MOTION}
          confirm: "gap > {{{{ size }}}} + 0.001"}}
  seen: {{after: sizes, for_each: {{width: "{{{{ facts.gap }}}}"}}, {MOTION}
         confirm: "gap >= {{{{ width }}}}"}}
  pick:
    after: seen
    repeat: {{times: 2}}
    flow: {{flow: ./inner.yaml, parameters: {{target: "{{{{ facts.gap }}}}"}}}}
  own: {{after: pick, parameters: {{w: "{{{{ facts.gap }}}}"}}, {MOTION} confirm: gap >= w}}
  tries:
    after: own
    parameters: {{limit: 0.05}}
    {MOTION[:-2]}
    confirm: {{condition: gap > limit, within: 0.2}}
    fallback: [{{strategy: retry, parameters: {{limit: 0.02}}}}]
"""
CONFIRMED = ['f/open', 'f/parts/nut', 'f/parts/bolt', 'f/sizes/1', 'f/sizes/2', 'f/seen/1',
             'f/pick/grip', 'f/pick.2/grip', 'f/own', 'f/tries', 'f/tries']
EDIT = '- add:\n    more: {' + MOTION + 'confirm: gap > 0.015, after: tries}\n'


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp('runs')
    (folder / 'inner.yaml').write_text(INNER)
    made = Runs(folder, FLOW)
    made.run()
    made.close()
    yield made


def named(found: dict[tuple[str, str], list[str]]) -> list[str]:
    return sorted(name for (name, kind), each in found.items() if kind == 'confirm'
                  for _ in each)


@pytest.mark.parametrize('traces', [True, False])
def test_each_action_has_the_conditions_that_it_had_in_the_run(runs: Runs, traces: bool) -> None:
    found = runs.replayed(traces=traces)
    assert named(statuses(found)) == sorted(CONFIRMED)
    assert {one.status.value for each in found.values() for one in each} == {'same'}
    assert {key[0] for key in found if key[1] == 'maintain'} == {'f/parts/nut', 'f/parts/bolt'}
    expressions = {name: [one.conditions[0].expression for one in each]
                   for (name, kind), each in found.items() if kind == 'confirm'}
    assert expressions['f/sizes/2'] == ['gap > 0.02 + 0.001']
    assert expressions['f/seen/1'] == ['gap >= 0.03']
    assert [one.verdict for one in found['f/tries', 'confirm']] == ['refuted', 'confirmed']
    assert found['f/pick.2/grip', 'confirm'][0].evidence[0]['facts']


def test_the_flow_file_gives_the_same_for_each_of_them(runs: Runs) -> None:
    found = runs.replayed(FLOW, traces=True)
    assert {one.status.value: one.reason for each in found.values() for one in each} == {
        'same': ''}
    assert len(found) == 12


def test_a_changed_flow_changes_actions_of_loops_and_nested_flows(runs: Runs) -> None:
    changed = FLOW.replace('+ 0.001', '+ 0.015').replace('"gap >= {{ width }}"', (
        '"gap > {{ width }}"'))
    (runs.folder / 'inner.yaml').write_text(INNER.replace('target / 2', 'target'))
    try:
        found = statuses(runs.replayed(changed, traces=True))
    finally:
        (runs.folder / 'inner.yaml').write_text(INNER)
    new = ['newly refuted']
    assert {key[0] for key, each in found.items() if each != ['same'] * len(each)} == {
        'f/sizes/2', 'f/seen/1', 'f/pick/grip', 'f/pick.2/grip'}
    assert found['f/sizes/2', 'confirm'] == found['f/pick.2/grip', 'confirm'] == new
    assert found['f/sizes/1', 'confirm'] == ['same']


def test_without_the_journal_the_recorded_parameters_tell_the_element(runs: Runs) -> None:
    found = runs.replayed(FLOW, traces=True, journal=False)
    answers = {key: each for key, each in statuses(found).items() if set(each) != {'same'}}
    # the journal alone knows that a fallback has changed a parameter of the second attempt
    assert answers == {('f/tries', 'confirm'): ['same', 'newly refuted']}


def test_what_only_the_journal_has_is_said(runs: Runs) -> None:
    with read_bag(runs.bag) as bag:
        journal = JournaledRuns(str(runs.journal), spans_of(bag))
    seen, sizes = ({one.action_id: one for one in journal.recorded
                    if one.flow_id == f'f/{name}'} for name in ('seen', 'sizes'))
    bare = dataclasses.replace(seen['1'], parameters={})
    flow = FlowConditions(runs.flow, {})
    with pytest.raises(LifecycleError, match="'seen/1' is in a flow that depends on what 'seen' "
                       'reads when it starts: give --journal FILE'):
        flow(bare)
    assert FlowConditions(runs.flow, {}, journal)(bare).conditions[0].expression == 'gap >= 0.03'
    with pytest.raises(LifecycleError, match="no action 'parts/screw'"):
        flow(dataclasses.replace(seen['1'], flow_id='f/parts', action_id='screw'))
    changed = runs.folder / 'other.yaml'
    changed.write_text(FLOW.replace('"{{ results.open.result.sizes }}"', '[0.01, 0.5]'))
    with pytest.raises(LifecycleError, match="size of 'sizes/2' is 0.5 in this flow, and was 0.0"):
        FlowConditions(changed, {}, journal)(sizes['2'])
    assert FlowConditions(changed, {}, journal)(sizes['1'])


def test_actions_that_an_edit_has_added_are_in_the_journal(tmp_path: Path) -> None:
    made = Runs(tmp_path, f'flow: one\nactions:\n  tries: {{{MOTION}confirm: gap >= 0}}\n')
    made.robot.gap = 0.02
    made.process.clock.call_later(0.8, lambda: made.process.orchestrator.edit(
        'f', parse_edit(EDIT), 'ann', 'one more'))
    made.run()
    made.close()
    found = made.replayed()
    assert statuses(found) == {('f/tries', 'confirm'): ['same'], ('f/more', 'confirm'): ['same']}
    assert found['f/more', 'confirm'][0].conditions[0].expression == 'gap > 0.015'
    without = made.replayed(made.flow.read_text())
    assert "has no action 'more'" in without['f/more', 'confirm'][0].reason
