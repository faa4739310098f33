# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A bag without confirmations is compared to the journal, with and without traces."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import json
from pathlib import Path
import shutil
import sqlite3

from action_lifecycle.bags import read_bag
from action_lifecycle.bags.replay import JournaledRuns
from action_lifecycle.bags.replay.flow_conditions import FlowConditions
from action_lifecycle.cli import main
from action_lifecycle.journal import Entry, Journal, JournalError, JournalReader
import pytest

from .judged_runs import Runs, statuses

mcap_reader = pytest.importorskip('mcap.reader')
mcap_writer = pytest.importorskip('mcap.writer')

FLOW = """
flow: pick
parameters:
  least: {default: 0.01}
defaults: {fallback: [], resources: [hand]}
actions:
  ready: {require: {condition: gap < least, within: 0.3}, confirm: gap < least}
  grasp:
    after: ready
    motion: {server: hand, type: a/action/B, goal: {gap: 0.03}}
    confirm: {condition: gap > least, hold: 0.2, within: 1.0}
  missed:
    after: grasp
    motion: {server: hand, type: a/action/B, goal: {gap: 0.004}}
    confirm: [{condition: gap > least, hold: 0.1, within: 0.4},
              {condition: gap > least / 2, within: 0.8}]
    retry: {times: 1, delay: 0.1}
  refused:
    after: {missed: completion}
    require: {condition: gap > least, within: 0.2}
    confirm: gap > least
  unseen:
    after: {refused: completion}
    motion: {server: hand, type: a/action/B, goal: {gap: 0.03}}
    confirm: {condition: gap > least, hold: 0.1, within: 0.4}
"""
VERDICTS = {
    ('f/ready', 'require'): ['confirmed'], ('f/ready', 'confirm'): ['confirmed'],
    ('f/grasp', 'confirm'): ['confirmed'],
    ('f/missed', 'confirm'): ['refuted', 'refuted'], ('f/refused', 'require'): ['refuted'],
    ('f/unseen', 'confirm'): ['stale']}


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Make a run with each verdict."""
    made = Runs(tmp_path_factory.mktemp('runs'), FLOW)
    made.robot.blinding = {'unseen'}
    made.run(least=0.011)
    made.robot.silent = False
    made.process.clock.run(0.1)
    made.close()
    yield made


def test_a_recorded_parameter_in_place_of_another_default_is_told(runs: Runs) -> None:
    path = runs.folder / 'defaults.yaml'
    for text, given, notes in (
            (FLOW, {}, ["parameter 'least' is 0.011 as recorded, not the default 0.01; "
                        'to judge with that: -p least=0.01']),
            (FLOW.replace('default: 0.01', 'default: 0.011'), {}, []),
            (FLOW, {'least': 0.01}, [])):
        path.write_text(text)
        journal = JournaledRuns(str(runs.journal), [(0.0, 2e9)])
        question = FlowConditions(path, given, journal)
        for one in journal.recorded:
            if one.conditions:
                question(one)
        assert question.notes == [f'{path}: {note}' for note in notes]


@pytest.mark.parametrize('traces', [True, False])
def test_the_verdicts_of_the_journal_are_repeated(runs: Runs, traces: bool) -> None:
    found = runs.replayed(traces=traces, tolerance=0.001)
    assert {key: [one.verdict for one in each] for key, each in found.items()} == VERDICTS
    assert {one.status.value for each in found.values() for one in each} == {'same'}
    for key, each in found.items():
        for one in each:
            assert one.recorded.parameters['least'] == 0.011
            if one.recorded.evidence:
                assert one.evidence[0]['facts'] == one.recorded.evidence[0]['facts'], key


def test_without_traces_the_begin_follows_from_the_evidence(runs: Runs) -> None:
    with_traces, without = runs.replayed(traces=True), runs.replayed()
    for key in VERDICTS:
        if key[0] != 'f/ready':  # true at once, so that its begin does not matter
            for one, other in zip(with_traces[key], without[key]):
                assert other.recorded.started == pytest.approx(
                    one.recorded.started, abs=0.021 if one.verdict == 'confirmed' else 1e-5)
    assert {one.recorded.source for each in without.values() for one in each} == {'journal'}
    assert {one.recorded.source for each in with_traces.values() for one in each} == {'traces'}


def test_a_changed_flow_is_tried_on_the_journal(runs: Runs) -> None:
    found = statuses(runs.replayed(FLOW.replace('condition: gap > least, hold: 0.2', (
        'condition: gap > 0.05, hold: 0.2')), least=0.003))
    assert found['f/grasp', 'confirm'] == ['newly refuted']
    assert found['f/missed', 'confirm'] == ['newly confirmed'] * 2
    assert found['f/refused', 'require'] == ['newly confirmed']


def replay(runs: Runs, *arguments: str) -> int:
    return main(['replay', '--facts', str(runs.folder / 'facts.yaml'), *arguments, str(runs.bag)])


def test_the_verb_says_where_the_verdicts_are_from(
    runs: Runs, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert replay(runs) == 2
    assert 'give --journal FILE' in capsys.readouterr().err
    assert replay(runs, '--journal', str(runs.journal)) == 0
    shown = capsys.readouterr()
    assert shown.out == '7 confirmations: 7 same\n'
    assert f'7 confirmations are from {runs.journal}' in shown.err
    assert 'some milliseconds earlier' not in shown.err
    alone = shutil.copy(runs.journal, tmp_path / 'alone.journal')
    assert replay(runs, '--journal', str(alone), '--json', '--all') == 0
    data = json.loads(capsys.readouterr().out)
    assert {one['source'] for one in data['confirmations']} == {'journal'}
    assert {one['kind'] for one in data['confirmations']} == {'confirm', 'require'}
    assert any('alone.traces: no traces' in note for note in data['notes'])


def test_a_bag_in_another_order_is_not_told_as_a_reset_of_simulated_time(
    runs: Runs, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / 'reversed.mcap'
    with runs.bag.open('rb') as source, path.open('wb') as output:
        writer = mcap_writer.Writer(output)
        writer.start(profile='ros2', library='another recorder')
        channels: dict[int, int] = {}
        for schema, channel, message in mcap_reader.make_reader(source).iter_messages(
                reverse=True):
            if channel.id not in channels:
                channels[channel.id] = writer.register_channel(
                    topic=channel.topic, message_encoding='cdr', metadata=channel.metadata,
                    schema_id=writer.register_schema(schema.name, schema.encoding, schema.data))
            writer.add_message(channels[channel.id], message.log_time, message.data,
                               message.publish_time)
        writer.finish()
    main(['replay', '--facts', str(runs.folder / 'facts.yaml'), '--journal', str(runs.journal),
          '--json', '--all', str(path)])
    shown = capsys.readouterr().out
    assert 'wrote in another order' in shown and 'simulated' not in shown


def test_runs_outside_of_the_time_of_the_bag_are_left_out(runs: Runs) -> None:
    with read_bag(runs.bag) as bag:
        first, last = bag.span() or (0.0, 0.0)
    assert len(JournaledRuns(str(runs.journal), [(first, last)]).recorded) > 7
    assert JournaledRuns(str(runs.journal), [(last + 1.0, last + 2.0)]).recorded == []


@pytest.mark.parametrize(('content', 'said'), [
    ('nothing', 'there is no journal at this path'), ('text', 'not a database')])
def test_a_file_that_is_no_journal_is_named(
    content: str, said: str, runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'no.journal'
    if content != 'nothing':
        path.write_text('this is a text, ' * 500)
    assert replay(runs, '--journal', str(path)) == 2
    error = capsys.readouterr().err
    assert str(path) in error and said in error


def test_what_compaction_has_removed_is_not_comparable(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / 'cut.journal'
    shutil.copy(runs.journal, path)
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM entry WHERE event = 'accepted'")
    with read_bag(runs.bag) as bag:
        found = JournaledRuns(str(path), [bag.span() or (0.0, 0.0)]).recorded
    assert found and all('compaction has removed it' in one.fault for one in found)


@pytest.mark.parametrize(('event', 'source', 'target', 'data'), [
    ('motion_done', 'executing_motion', 'sensor_confirm', {'ended': 'soon'}),
    ('fail', 'executing_motion', 'error', {
        'error_code': 'REFUTED', 'evidence': [{'condition': 'maintain', 'stamp': 'now'}]})])
def test_data_that_can_not_be_used_names_file_and_row(
    event: str, source: str, target: str, data: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / 'odd.journal'
    with Journal(path) as journal:
        for name, before, after, content in (
                ('execute', 'in_progress', 'executing_motion', {'goal_id': '1'}),
                (event, source, target, data)):
            journal.append(Entry(kind='transition', flow_id='f', action_id='a', event=name,
                                 from_state=before, to_state=after, data=content, ros_time=1.0))
    with pytest.raises(JournalError, match=(
            rf"odd\.journal: row 2: '{event}' of (f/)?a has data that can not be used")):
        JournaledRuns(str(path), [(0.0, 1.0)])


@pytest.mark.parametrize('data', ['{}', '{"evidence": [{}]}', '{"evidence": 7, "ended": 1}', None])
def test_any_row_may_be_missing_or_have_other_data(
    data: str | None, runs: Runs, tmp_path: Path
) -> None:
    """Compaction, damage, other versions: what is left is read, or an error names the file."""
    path, ends = tmp_path / 'some.journal', set()
    with JournalReader(runs.journal) as journal:
        last = journal.last_seq()
    whole = len(JournaledRuns(str(runs.journal), [(0.0, 1e10)]).recorded)
    for seq in range(1, last + 1):
        shutil.copy(runs.journal, path)
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            if data is None:
                database.execute('DELETE FROM entry WHERE seq = ?', (seq,))
            else:
                database.execute('UPDATE entry SET data_json = ? WHERE seq = ?', (data, seq))
        try:
            found = JournaledRuns(str(path), [(0.0, 1e10)]).recorded
            ends.add(len(found))
            assert len(found) <= whole
        except JournalError as error:
            assert str(path) in str(error)
            ends.add(-1)
    assert len(ends) > 1
