# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What `report` makes of compacted, open, hostile and damaged journals."""

from __future__ import annotations

from collections.abc import Sequence
import csv
import io
import json
from pathlib import Path
import shutil
import sqlite3
from typing import Any

from action_lifecycle.cli.main import main
from action_lifecycle.journal import Entry, Journal
from action_lifecycle.report.long_table import COLUMNS, write_csv
from action_lifecycle.report.report import read_report, Window
import pytest

from .generated import generate

Change = tuple[float, int, str, str, str, dict[str, Any]]
PICK: Sequence[Change] = (
    (1.0, 1, 'start', 'assigned', 'in_progress', {}),
    (2.0, 1, 'execute', 'in_progress', 'executing_motion', {'goal_id': ''}),
    (4.0, 1, 'motion_done', 'executing_motion', 'sensor_confirm', {'ended': 4.0}),
    (5.0, 1, 'confirmed', 'sensor_confirm', 'status_verification_requested',
     {'sensors_said': 'confirmed', 'evidence': []}),
    (5.0, 1, 'verified', 'status_verification_requested', 'completed', {}),
    (5.0, 1, 'terminate', 'completed', 'terminated', {'outcome': 'succeeded'}))


def write(path: Path, changes: Sequence[Change], flow: str = 'pick', action: str = 'a',
          flow_id: str = 'f') -> Path:
    with Journal(path) as journal:
        journal.append(Entry('flow', flow_id, event='accepted', to_state='START', data={
            'name': flow, 'text': 'no flow', 'file': 'f', 'parameters': {}}))
        for time, attempt, event, start, end, data in changes:
            journal.append(Entry(
                'transition', flow_id, action, attempt, event, start, end, data=data,
                final=end == 'terminated', ros_time=time))
    return path


def group(report: dict[str, Any], level: str = 'all') -> dict[str, Any]:
    found, = (each for each in report['groups'] if each['level'] == level)
    return found


def refused(*arguments: object) -> str:
    """Run the command, which refuses its input; return what it says."""
    import contextlib
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert main(['report', *map(str, arguments)]) == 2
    return said.getvalue()


def test_an_open_action_is_counted_apart(tmp_path: Path) -> None:
    for number in range(1, len(PICK)):
        found = group(read_report([write(tmp_path / f'{number}', PICK[:number])]))
        assert found['runs']['open'] == 1 and found['runs']['ended'] == 0
        assert found['attempts']['n'] == 0 and found['controller']['reported_success'] == 0


def test_an_empty_journal_has_nothing_to_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Journal(tmp_path / 'j').close()
    report = read_report([tmp_path / 'j'])
    found = group(report)
    assert found['runs']['ended'] == 0 and found['first_try']['share'] is None
    assert report['journals'][0]['rows'] == 0 and report['journals'][0]['first'] == ''
    for option in ((), ('--csv',), ('--json',)):
        assert main(['report', str(tmp_path / 'j'), *option]) == 0


def test_a_compacted_journal_says_from_where_it_is_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'j'
    generate(path, 12, seed=5)
    whole = read_report([path])
    with sqlite3.connect(path) as connection:
        middle, = connection.execute(
            "SELECT seq FROM entry WHERE event = 'motion_done' AND seq > 60").fetchone()
    with Journal(path) as journal:
        assert journal.compact(synced_to=middle)
    compacted = read_report([path])
    source, = compacted['journals']
    assert source['complete_from'] == middle + 1 and source['cut_actions'] == 1
    assert 0 < group(compacted)['runs']['ended'] < group(whole)['runs']['ended']
    last = [each for each in whole['groups'] if each['level'] == 'action']
    kept = {(each['flow'], each['action']): each['runs']['ended'] for each in last}
    for each in compacted['groups']:
        if each['level'] == 'action' and each['flow']:
            assert each['runs']['ended'] <= kept[each['flow'], each['action']]
    assert main(['report', str(path)]) == 0
    assert f'complete from row {middle + 1} on, 1 actions cut off' in capsys.readouterr().out


def test_each_bad_file_is_named(tmp_path: Path) -> None:
    good = tmp_path / 'good'
    generate(good, 5)
    content = good.read_bytes()
    bad = {
        'missing': None, 'empty': b'', 'text': b'flow: pick\n' * 1000,
        'truncated': content[:len(content) // 2],
        'overwritten': content[:8192] + b'\xff' * 4096 + content[12288:]}
    for name, data in bad.items():
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        assert str(path) in refused(good, path), name
    other = tmp_path / 'other.sqlite'
    with sqlite3.connect(other) as connection:
        connection.execute('CREATE TABLE t (x)')
    assert 'not a journal' in refused(other)
    assert str(tmp_path) in refused(tmp_path)


def test_a_changed_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / 'j'
    generate(path, 3)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE entry SET to_state = 'completed' WHERE seq = 9")
    assert f'{path}: damaged: row 9' in refused(path)


@pytest.mark.parametrize('data', [
    {'outcome': 3, 'evidence': 7}, {}, {'evidence': [1], 'error_code': ['x']},
    {'evidence': [{'facts': [{}]}], 'error_code': 'REFUTED'},
    {'evidence': [{'facts': 5}], 'error_code': 'REFUTED'},
    {'evidence': [{'facts': [{'name': 'z', 'numbers': 'abc'}]}], 'error_code': 'REFUTED'},
    {'evidence': [{'expression': 'z', 'facts': [{}]}], 'error_code': 'REFUTED'},
    {'evidence': [{'expression': 'z', 'facts': 5}], 'error_code': 'REFUTED'},
    {'evidence': [{'expression': 'z', 'facts': [{'name': 'z', 'numbers': [10**400]}]}],
     'error_code': 'REFUTED'}])
def test_intact_rows_with_useless_data_end_it_or_count(
    tmp_path: Path, data: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    changes = [*PICK[:3], (5.0, 1, 'fail', 'sensor_confirm', 'error', data),
               (6.0, 1, 'terminate', 'error', 'terminated', {'outcome': 'failed'})]
    path = write(tmp_path / 'j', changes)
    code = main(['report', str(path), '--json'])
    assert code in (0, 2)
    if code == 2:
        assert f'{path}: ' in capsys.readouterr().err


def test_a_journal_is_not_counted_twice(tmp_path: Path) -> None:
    path = write(tmp_path / 'j', PICK)
    assert 'is the same journal' in refused(path, path)
    shutil.copy(path, tmp_path / 'copy')
    assert 'is the same journal' in refused(path, tmp_path / 'copy')
    other = write(tmp_path / 'other', PICK)
    assert group(read_report([path, other]))['runs']['ended'] == 2


def test_options_that_fit_nothing_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / 'j', PICK)
    assert "no journal has a flow 'pikc'; did you mean 'pick'?" in refused(path, '--flow', 'pikc')
    assert '--since' in refused(path, '--since', 'yesterday')
    assert '--html' in refused(path, '--html', tmp_path / 'no_folder' / 'x.html')


def test_false_successes_need_a_report_of_success(tmp_path: Path) -> None:
    end: Sequence[Change] = ((7.0, 1, 'terminate', 'error', 'terminated', {'outcome': 'failed'}),)
    for interrupted in (False, True):
        for verdict in ('refuted', 'timed_out', 'stale', 'failed'):
            path = write(tmp_path / f'{verdict}{interrupted}', [
                *PICK[:2], (4.0, 1, 'motion_done', 'executing_motion', 'sensor_confirm',
                            {'ended': 4.0, 'interrupted': interrupted}),
                (6.0, 1, 'fail', 'sensor_confirm', 'error',
                 {'error_code': 'REFUTED', 'sensors_said': verdict}), *end])
            controller = group(read_report([path]))['controller']
            assert controller['reported_success'] == (not interrupted)
            wrong = not interrupted and verdict != 'failed'
            assert controller['false_success']['k'] == controller['false_success']['n'] == wrong
            assert verdict == 'failed' or controller[verdict] == wrong
            assert controller['not_judged'] == (not interrupted and verdict == 'failed')


RETRIED: Sequence[Change] = (
    *PICK[:2], (3.0, 1, 'fail', 'executing_motion', 'error', {'error_code': 'MOTION_ABORTED'}),
    (4.0, 1, 'request_fallback', 'error', 'fallback_requested', {}),
    (4.0, 1, 'receive_fallback', 'fallback_requested', 'fallback_received', {
        'strategy': 'action', 'next_fallback': 1,
        'fields': {'motion': {'server': 'vacuum', 'type': 'a/action/B'}}}),
    (4.0, 2, 'apply_fallback', 'fallback_received', 'in_progress', {}),
    (5.0, 2, 'execute', 'in_progress', 'executing_motion', {}),
    (6.0, 2, 'fail', 'executing_motion', 'error', {'error_code': 'MOTION_TIMEOUT'}),
    (7.0, 2, 'terminate', 'error', 'terminated', {'outcome': 'failed'}))


@pytest.mark.parametrize('actor', ['anna', 'job'])
def test_a_retry_goes_on_with_the_run_and_a_job_begins_another(
    tmp_path: Path, actor: str
) -> None:
    path = tmp_path / 'j'
    with Journal(path) as journal:
        journal.append(Entry('flow', 'f', event='accepted', to_state='START', data={
            'name': 'pick', 'file': 'f', 'parameters': {}, 'text':
            'flow: p\nactions: {a: {motion: {server: arm, type: a/action/B}, confirm: z > 0}}'}))
        for time, attempt, event, start, end, data in (
                *RETRIED, (8.0, 2, 'reassign', 'terminated', 'assigned', {}),
                *((time + 8, attempt + 2, *rest) for time, attempt, *rest in PICK)):
            journal.append(Entry(
                'transition', 'f', 'a', attempt, event, start, end, data=data, ros_time=time,
                actor=actor if event == 'reassign' else '', final=end == 'terminated'))
    report = read_report([path])
    found = group(report)
    if actor == 'anna':
        assert (found['runs']['ended'], found['runs']['failed']) == (1, 0)
        assert found['recovery']['by_path']['operator'] == 1
        assert found['first_try'].items() >= {'k': 0, 'n': 1}.items()
    else:
        assert (found['runs']['ended'], found['runs']['failed']) == (2, 1)
        assert found['recovery'].items() >= {'k': 0, 'n': 1}.items()
        assert found['first_try'].items() >= {'k': 1, 'n': 2}.items()
    servers = {each['server']: each['attempts'] for each in report['groups']
               if each['level'] == 'server'}
    assert (servers['arm']['completed'], servers['arm']['failed']) == (1, 1)
    assert (servers['vacuum']['completed'], servers['vacuum']['failed']) == (0, 1)


def test_an_attempt_that_begins_anew_reports_anew(tmp_path: Path) -> None:
    path = write(tmp_path / 'j', [
        *PICK[:4], (6.0, 1, 'postpone', 'status_verification_requested', 'pending', {}),
        (7.0, 1, 'resume', 'pending', 'in_progress', {}),
        (8.0, 1, 'execute', 'in_progress', 'executing_motion', {}),
        (9.0, 1, 'fail', 'executing_motion', 'error', {'error_code': 'MOTION_ABORTED'}),
        (9.0, 1, 'terminate', 'error', 'terminated', {'outcome': 'failed'})])
    found = group(read_report([path]))
    assert found['controller']['reported_success'] == 0 and found['attempts']['n'] == 1
    assert found['states']['in_progress']['n'] == 2


def test_a_trend_that_is_no_chance_is_told(tmp_path: Path) -> None:
    path = tmp_path / 'j'
    with Journal(path) as journal:
        for number in range(40):
            failed = number >= 20
            code = {'error_code': 'MOTION_ABORTED'}
            for event, start, end, data in (
                    ('start', 'assigned', 'in_progress', {}),
                    ('fail', 'in_progress', 'error', code) if failed else
                    ('verified', 'in_progress', 'completed', {}),
                    ('terminate', 'error' if failed else 'completed', 'terminated',
                     {'outcome': 'failed' if failed else 'succeeded'})):
                journal.append(Entry('transition', f'{number}', 'a', 1, event, start, end,
                                     data=data, final=end == 'terminated'))
    trend = group(read_report([path]))['trend']
    assert [half['k'] for half in trend['halves']] == [20, 0]
    assert trend['differs'] and trend['p'] < 1e-10 and trend['by'] == 'part'
    assert [part['n'] for part in trend['parts']] == [4] * 10
    assert group(read_report([path], Window(until=0.0)))['trend']['p'] == 1.0


def test_csv_and_json_have_the_same_figures(tmp_path: Path) -> None:
    path = tmp_path / 'j'
    generate(path, 10)
    report = json.loads(json.dumps(read_report([path]), allow_nan=False))
    stream = io.StringIO()
    write_csv(report, stream)
    rows = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert tuple(rows[0]) == COLUMNS
    table = {tuple(row[name] for name in COLUMNS[:8]): row for row in rows if row['figure'] not in
             ('trend',)}
    for each in report['groups']:
        names = tuple(each[name] for name in COLUMNS[:6])
        first = table[(*names, 'first_try', '')]
        share = each['first_try']
        assert first['value'] == ('' if share['share'] is None else str(share['share']))
        assert (first['n'], first['low'], first['high']) == (
            str(share['n']), str(share['low']), str(share['high']))
        for cause in each['failures']:
            detail = ': '.join(filter(None, (cause['error_code'], cause['condition'])))
            assert table[(*names, 'failure', detail)]['value'] == str(cause['n'])
        for state, times in each['states'].items():
            assert table[(*names, 'state_p95', state)]['value'] == str(times['p95_s'])


def test_a_cell_is_no_formula(tmp_path: Path) -> None:
    path = write(tmp_path / 'j', PICK, flow='=HYPERLINK("x")', action='@SUM(1)')
    stream = io.StringIO()
    write_csv(read_report([path]), stream)
    cells = {cell for row in csv.reader(io.StringIO(stream.getvalue())) for cell in row}
    assert '\'=HYPERLINK("x")' in cells and "'@SUM(1)" in cells
    assert not any(cell[:1] in '=@+' for cell in cells if cell)
