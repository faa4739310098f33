# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `fit` on a journal and a file of traces."""

import dataclasses
import json
from pathlib import Path
import re
import sqlite3

from action_lifecycle.cli.main import main
from action_lifecycle.cli.parser import build_parser
from action_lifecycle.journal import Journal
from action_lifecycle.journal.row import Entry
from action_lifecycle.traces import trace_path
from action_lifecycle.traces.curve import Piece, Point
from action_lifecycle.traces.store import TraceStore
import pytest

from . import synthetic


def record(folder, runs, name='robot.journal', actor='sensors'):
    """Write the journal and the traces of runs; `actor` verifies those that were there."""
    path = folder / name
    store = TraceStore(trace_path(path))
    with Journal(path) as journal:
        for run in runs:
            key = run.trace.key
            journal.append(Entry('flow', key.flow_id, event='accepted', to_state='START',
                                 data={'name': 'grip', 'text': ''}, final=True))
            fields = {'flow_id': key.flow_id, 'action_id': key.action_id, 'attempt': 1}
            if run.there or actor != 'sensors':
                journal.append(Entry('transition', event='confirmed', from_state='sensor_confirm',
                                     to_state='status_verification_requested', **fields))
                journal.append(Entry(
                    'transition', event='verified' if run.there else 'fail',
                    from_state='status_verification_requested', actor=actor, final=True,
                    to_state='completed' if run.there else 'error',
                    data={} if run.there else {'error_code': 'VERIFY_FAILED'}, **fields))
            else:
                journal.append(Entry(
                    'transition', event='fail', from_state='sensor_confirm', to_state='error',
                    data={'error_code': 'REFUTED'}, final=True, **fields))
            with store.transaction():
                write(store, run.trace)
    store.close()
    return path


def write(store, trace):
    store.begin(trace.key, trace.started)
    for suffix, curves in (('', trace.curves), ('[]', trace.samples)):
        for curve in curves.values():
            points = [Point(*row) for row in zip(
                curve.times.tolist(), curve.stamps.tolist(), curve.values.tolist())]
            store.points(trace.key, curve.fact + suffix, '', curve.topic, Piece(0, points))
    for one in trace.confirmations:
        data = dataclasses.asdict(one)
        store.event(trace.key, data.pop('ended'), 'confirmed', data.pop('verdict'), data)
    store.end(trace.key, trace.ended)


@pytest.fixture
def files(tmp_path):
    (tmp_path / 'flow.yaml').write_text(synthetic.flow('0.05'))
    (tmp_path / 'facts.yaml').write_text(synthetic.FACTS)
    return tmp_path


def run_fit(files, *options, journal='robot.journal'):
    return main(['fit', str(files / journal), '--flow', str(files / 'flow.yaml'),
                 '--facts', str(files / 'facts.yaml'), *options])


def labels_of(files, runs):
    path = files / 'labels.csv'
    path.write_text('flow_id,action_id,attempt,there\n' + ''.join(
        f'{run.trace.key.flow_id},{run.trace.key.action_id},1,{str(run.there).lower()}\n'
        for run in runs))
    return str(path)


def test_labels_of_a_file_give_a_diff_and_leave_the_flow_alone(files, capsys):
    runs = synthetic.separable(20)
    record(files, runs)
    before = (files / 'flow.yaml').read_text()
    diff = files / 'flow.diff'
    assert run_fit(files, '--labels', labels_of(files, runs), '--diff', str(diff)) == 0
    said = capsys.readouterr().out
    assert 'flow.yaml:9: grasp, again' in said and 'gap > 0.05 -> 0.0' in said
    assert 'false refutations 20 of 20 = 100 % (84 % to 100 %)' in said
    assert 'unseen runs: false completions 0 of 20 (at most 14 %)' in said
    assert 'verdicts of the conditions themselves' not in said
    assert (files / 'flow.yaml').read_text() == before
    assert diff.read_text() in main_json(files, capsys)['diff']


def main_json(files, capsys):
    assert run_fit(files, '--labels', str(files / 'labels.csv'), '--json') == 0
    return json.loads(capsys.readouterr().out)


def test_verdicts_of_the_sensors_are_weak_labels_and_those_of_a_person_are_not(files, capsys):
    record(files, synthetic.separable(20))
    record(files, synthetic.separable(20), 'asked.journal', actor='anna')
    assert run_fit(files) == 0
    assert '40 labels are the verdicts of the conditions themselves' in capsys.readouterr().out
    assert run_fit(files, journal='asked.journal') == 0
    assert 'verdicts of the conditions' not in capsys.readouterr().out


def test_too_few_runs_say_what_to_collect(files, capsys):
    record(files, synthetic.separable(5))
    assert run_fit(files) == 2
    done = capsys.readouterr()
    assert 'collect 15 more where the outcome was there' in done.out
    assert 'nothing was fitted' in done.err
    assert run_fit(files, '--fewest', '5') == 0


@pytest.mark.parametrize('spoil, said', [
    (lambda files: trace_path(files / 'robot.journal').unlink(), 'parameter trace_file'),
    (lambda files: trace_path(files / 'robot.journal').write_bytes(b'x' * 5000), 'robot.traces'),
    (lambda files: (files / 'robot.journal').unlink(), 'robot.journal'),
    (lambda files: (files / 'flow.yaml').write_text('flow: [grip]\n'), 'flow.yaml:1:1: field'),
    (lambda files: (files / 'facts.yaml').write_text('facts: {}\n'), "missing field 'estop'"),
    (lambda files: (files / 'flow.yaml').write_text(synthetic.flow().replace(
        'flow: grip', 'flow: other')), "has no run of the flow 'other'"),
    (lambda files: damage(files / 'robot.traces'), 'damaged: trace of attempt 1'),
])
def test_bad_files_are_named(files, capsys, spoil, said):
    record(files, synthetic.separable(2))
    spoil(files)
    assert run_fit(files) == 2
    assert said in capsys.readouterr().err


def damage(path):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE chunk SET points = x'00'")
    connection.close()


def test_unknown_action_and_existing_diff_are_refused(files, capsys):
    record(files, synthetic.separable(20))
    assert run_fit(files, '--action', 'gasp') == 2
    assert "did you mean 'grasp'" in capsys.readouterr().err
    (files / 'flow.diff').write_text('mine')
    assert run_fit(files, '--diff', str(files / 'flow.diff')) == 2
    assert '--diff' in capsys.readouterr().err and (files / 'flow.diff').read_text() == 'mine'


def test_commands_of_the_page_are_commands():
    page = (Path(__file__).parents[3] / 'docs' / 'fit.md').read_text()
    found = re.findall(r'^action_lifecycle (fit .*)$', page, re.MULTILINE)
    assert len(found) == 2
    for command in found:
        assert build_parser().parse_args(command.split()).function == 'verbs.fit.fit'
