# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""tools/sample_data records what a robot records, and what happened in the physics."""

from __future__ import annotations

from collections import Counter
import csv
import json
from pathlib import Path
import re
import shutil
import subprocess
import sys
from typing import Any

from action_lifecycle.bags import BagWriter, read_bag
from action_lifecycle.bags.field_kinds import BagFieldKinds
from action_lifecycle.bags.replay import recorded_in_bag, recorded_in_traces, replay, TopicNames
from action_lifecycle.cli import main
from action_lifecycle.documents.stamps import from_ns
from action_lifecycle.journal import JournalReader, verify_journal
from action_lifecycle.traces import trace_path, TraceKey, TraceReader
from action_lifecycle.world import load_facts, WatchOutcome
import numpy as np
import pytest

from .made import SEED
from ..docs.pages import ROOT

for needed in ('mujoco', 'mcap', 'rosbags'):
    pytest.importorskip(needed)

CONFIRMATIONS = '/world_model_bridge/confirmations'
STATE_CHANGES = '/action_lifecycle/state_changes'


def table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def troubles(sample: Path) -> dict[str, str]:
    return {row['flow_id']: row['trouble'] for row in table(sample / 'answer.csv')}


def refuted(sample: Path) -> list[Any]:
    """Return the rows of attempts whose outcome the sensors did not confirm."""
    with JournalReader(sample / 'cell.journal') as journal:
        return [row for row in journal.rows(kind='transition')
                if (row.from_state, row.to_state) == ('sensor_confirm', 'error')]


def numbers(row: Any, fact: str) -> list[float]:
    return next(entry['numbers'] for evidence in row.data['evidence']
                for entry in evidence['facts'] if entry['name'] == fact)


def test_the_journal_is_sound_and_each_run_has_ended(sample: Path) -> None:
    assert verify_journal(sample / 'cell.journal') == []
    with JournalReader(sample / 'cell.journal') as journal:
        ends = Counter(row.to_state for row in journal.rows(kind='flow')
                       if row.to_state in ('FINISH', 'FAIL'))
        wall = [row.wall_time for row in journal.rows()]
    assert sum(ends.values()) == len(troubles(sample)) and ends['FINISH'] and ends['FAIL']
    assert wall == sorted(wall)


def test_each_confirmation_has_a_trace_with_its_evidence(sample: Path) -> None:
    with TraceReader(trace_path(sample / 'cell.journal')) as traces, \
            JournalReader(sample / 'cell.journal') as journal:
        rows = [row for row in journal.rows(kind='transition')
                if row.from_state == 'sensor_confirm']
        for row in rows:
            trace = traces.trace(TraceKey(row.flow_id, row.action_id, row.attempt))
            assert trace.ended is not None
            assert trace.confirmations[-1].evidence == row.data['evidence']
            begin, *_ = next(iter(trace.curves.values())).times
            assert begin < trace.marks[-1].time <= trace.ended
    assert len(rows) > 20


def test_each_bag_has_the_facts_topics_and_the_confirmations_of_its_run(sample: Path) -> None:
    facts = load_facts(ROOT / 'config/facts/cell.yaml')  # with health, which reads more topics
    topics = {f'/{topic}' for topic in facts.topics(facts)}
    with JournalReader(sample / 'cell.journal') as journal:
        rows = {(row.flow_id, row.action_id, row.attempt): row
                for row in journal.rows(kind='transition') if row.from_state == 'sensor_confirm'}
    for path in sorted((sample / 'bags').iterdir()):
        with read_bag(path) as bag:
            messages = list(bag.messages())
            assert not bag.notes and set(bag.topics) == {*topics, CONFIRMATIONS, STATE_CHANGES}
        assert {entry.topic for entry in messages} == set(bag.topics)
        for entry in messages:
            if entry.topic == CONFIRMATIONS and entry.message.conditions[0].name == 'confirm':
                told = entry.message
                row = rows.pop((told.flow_id, told.action_id, told.attempt))
                assert (told.verdict == WatchOutcome.CONFIRMED) == (row.to_state != 'error')
                facts = row.data['evidence'][0]['facts']
                for fact, recorded in zip(told.evidence[0].facts, facts):
                    assert list(fact.numbers) == recorded['numbers']
                    assert fact.topic == recorded['topic']
    assert rows == {}


def test_labels_are_what_the_physics_show(sample: Path) -> None:
    """By the camera that was not frozen, and by the gap: sensors that the labels do not use."""
    there = {(row['flow_id'], row['action_id'], int(row['attempt'])): row['there'] == 'true'
             for row in table(sample / 'labels.csv')}
    with JournalReader(sample / 'cell.journal') as journal:
        rows = [row for row in journal.rows(kind='transition')
                if row.from_state == 'sensor_confirm' and row.action_id != 'make_way']
    assert len(rows) == len(there)
    for row in rows:
        if row.action_id.startswith('pick'):
            held = numbers(row, 'gap')[0] > 0.02
            assert there[row.flow_id, row.action_id, row.attempt] == held
        elif troubles(sample)[row.flow_id] != 'camera':
            at, slot = (numbers(row, f'{name}_{row.action_id[-1]}') for name in ('part', 'slot'))
            assert there[row.flow_id, row.action_id, row.attempt] == (
                np.linalg.norm(np.subtract(at, slot)) < 0.01)


def test_it_was_the_gripper_where_it_closed_and_the_camera_where_the_pose_stood_still(
    sample: Path
) -> None:
    found = {}
    with TraceReader(trace_path(sample / 'cell.journal')) as traces:
        for row in refuted(sample):
            trace = traces.trace(TraceKey(row.flow_id, row.action_id, row.attempt))
            if numbers(row, 'gap')[0] < 0.001:
                found[row.flow_id] = 'gripper'
                assert row.action_id.startswith('pick')
            else:
                pose = trace.curves[f'part_{row.action_id[-1]}_turn'].values
                assert len(np.unique(pose, axis=0)) < len(pose) > 10
                assert not np.diff(pose[-10:], axis=0).any()
                found[row.flow_id] = 'camera'
    assert set(found.values()) == {'gripper', 'camera'}
    known = troubles(sample)
    assert found == {flow: known[flow] for flow in found}
    assert {flow for flow, trouble in known.items() if trouble} == set(found)


def test_what_was_there_is_refuted_only_while_the_camera_is_frozen(sample: Path) -> None:
    there = {(row['flow_id'], row['action_id'], row['attempt']) for row in table(
        sample / 'labels.csv') if row['there'] == 'true'}
    frozen = {row['flow_id']: (float(row['frozen_from']), float(row['frozen_until']))
              for row in table(sample / 'answer.csv') if row['trouble'] == 'camera'}
    wrong = [row for row in refuted(sample)
             if (row.flow_id, row.action_id, str(row.attempt)) in there]
    assert wrong
    for row in wrong:
        begin, end = frozen[row.flow_id]
        assert begin < row.ros_time - 3.0 < row.ros_time < end + 3.0


def test_the_same_seed_gives_the_same_bags_and_labels(sample: Path, tmp_path: Path) -> None:
    from sample.recording import make
    make(tmp_path / 'again', SEED, 1)
    first, again = (folder / 'bags/run-01.mcap' for folder in (sample, tmp_path / 'again'))
    assert first.read_bytes() == again.read_bytes()
    assert table(tmp_path / 'again/labels.csv') == [
        row for row in table(sample / 'labels.csv') if row['flow_id'] == 'run-01']
    assert troubles(tmp_path / 'again').items() <= troubles(sample).items()


def test_each_trouble_is_in_one_of_six_runs() -> None:
    from sample.plans import plans
    drawn = plans(3, 60)
    for first in range(0, 60, 6):
        assert Counter(plan.trouble for plan in drawn[first:first + 6]) == {
            'gripper': 1, 'camera': 1, '': 4}
    assert drawn[:7] == plans(3, 7) and drawn != plans(4, 60)


@pytest.mark.parametrize(('arguments', 'message'), [
    (['--runs', '0'], '--runs 0: expected 1 or more'),
    (['--seed', '-1'], '--seed -1: expected 0 or more'),
    ([], 'expected a new or an empty folder')])
def test_wrong_arguments_are_refused_before_anything_is_written(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / 'mine').touch()
    done = subprocess.run([sys.executable, ROOT / 'tools/sample_data', tmp_path, *arguments],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ['mine']


def test_the_facts_of_the_sample_have_no_health(sample: Path) -> None:
    facts = load_facts(sample / 'facts.yaml')
    assert all(fact.spec.health is None for fact in facts.values())


def test_replay_repeats_all_verdicts_and_follows_a_changed_flow(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bags = list(map(str, sorted((sample / 'bags').glob('*.mcap'))))
    facts = ['--facts', str(sample / 'facts.yaml')]
    flow = sample / 'pick_and_place.yaml'
    assert main(['replay', *facts, '--flow', str(flow), *bags]) == 0
    shown = capsys.readouterr().out
    count = int(shown.split()[0])
    assert shown == f'{count} confirmations: {count} same\n' and count > 50
    changed = tmp_path / 'flow.yaml'
    changed.write_text(flow.read_text().replace('gap > 0.02', 'gap > 0.06'))  # more than it opens
    assert main(['replay', *facts, '--flow', str(changed), '--json', *bags]) == 1
    found = json.loads(capsys.readouterr().out)['confirmations']
    assert {one['status'] for one in found} == {'newly refuted'}
    assert all('gap > 0.06' in one['conditions'][0]['expression'] for one in found)


def test_replay_by_the_journal_repeats_confirmations_and_what_was_maintained(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bags = [str(without_confirmations(path, tmp_path / path.name))
            for path in sorted((sample / 'bags').glob('*.mcap'))[:3]]
    alone = shutil.copy(sample / 'cell.journal', tmp_path)  # no traces beside it
    flow = sample / 'pick_and_place.yaml'
    for journal in (sample / 'cell.journal', alone):
        arguments = ['replay', '--facts', str(sample / 'facts.yaml'), '--journal', str(journal)]
        assert main([*arguments, '--flow', str(flow), *bags]) == 0
        shown = capsys.readouterr().out
        confirmations, _, _, motions, *_ = shown.split()
        total = int(confirmations) + int(motions)
        assert shown == f'{confirmations} confirmations and {motions} motions: {total} same\n'
        assert int(confirmations) > 30 and int(motions) > 10
    changed = tmp_path / 'flow.yaml'  # more than the gripper opens
    changed.write_text(flow.read_text().replace('maintain: gap > 0.01', 'maintain: gap > 0.09'))
    assert main([*arguments, '--flow', str(changed), '--json', *bags]) == 1
    found = json.loads(capsys.readouterr().out)['confirmations']
    assert {(one['kind'], one['status']) for one in found} == {('maintain', 'newly violated')}
    assert {one['action_id'].split('_')[0] for one in found} == {'place'}
    assert all(one['replayed']['evidence'][0]['facts'][0]['numbers'][0] < 0.09 for one in found)


def without_confirmations(path: Path, target: Path) -> Path:
    """Write a bag again as a recorder that was not told of the confirmations."""
    with read_bag(path) as bag, BagWriter(target) as again:
        file, = bag._files
        for channel in file.channels.values():
            if channel.topic != CONFIRMATIONS:
                again.add_topic(channel.topic, channel.type, channel.definition.text)
        for raw in file.messages([number for number, channel in file.channels.items()
                                  if channel.topic != CONFIRMATIONS]):
            again.write(file.channels[raw.channel].topic, raw.data, from_ns(raw.log_time))
    return target


def test_replay_takes_the_confirmations_from_traces(sample: Path) -> None:
    path = sorted((sample / 'bags').glob('*.mcap'))[0]
    with read_bag(path) as bag:
        found = recorded_in_bag(bag, CONFIRMATIONS)
        first, last = bag.span() or (0.0, 0.0)
        traced = [one for one in recorded_in_traces(trace_path(sample / 'cell.journal'))
                  if first <= one.ended <= last]
        again = replay(bag, load_facts(sample / 'facts.yaml', BagFieldKinds(bag)), traced,
                       TopicNames())
    assert [(one.name, one.verdict) for one in traced] == [
        (one.name, one.verdict) for one in found]
    assert not any(one.differs or one.reason for one in again)


def test_health_of_the_camera_changes_the_verdicts_of_its_runs_only(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on page 6 of the tutorial."""
    text = (sample / 'facts.yaml').read_text(encoding='utf-8')
    healthy = tmp_path / 'healthy.yaml'
    healthy.write_text(re.sub('(&seen|&turned)\n', r'\1\n    health: {frozen: 0.3}\n', text))
    bags = list(map(str, sorted((sample / 'bags').iterdir())))
    assert main(['replay', '--facts', str(healthy), '--json', *bags]) == 1
    found = [one for one in json.loads(capsys.readouterr().out)['confirmations']
             if one['status'] == 'another verdict']
    assert {(one['flow_id'], one['action_id']) for one in found} == {
        (row.flow_id, row.action_id) for row in refuted(sample)
        if troubles(sample)[row.flow_id] == 'camera'}
    assert found and all('frozen: ' in json.dumps(one) for one in found)


def test_the_report_with_labels_blames_the_gripper_for_picks_and_the_camera_for_places(
    sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['report', str(sample / 'cell.journal'), '--labels', str(sample / 'labels.csv'),
                 '--json']) == 0
    wrong: Counter[tuple[str, str]] = Counter()
    for group in json.loads(capsys.readouterr().out)['groups']:
        if group['level'] == 'action' and group.get('labels'):
            verb = group['action'].split('_')[0]
            for figure in ('controller_wrong', 'false_refutation', 'false_completion'):
                wrong[verb, figure] += group['labels'][figure]['k']
    assert wrong['pick', 'controller_wrong'] and wrong['place', 'false_refutation']
    assert sum(wrong.values()) == (
        wrong['pick', 'controller_wrong'] + wrong['place', 'false_refutation'])
