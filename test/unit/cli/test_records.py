# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs `list` and `history` on a journal: what they say, and what they print as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import sys
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.journal import Entry, Journal
import pytest

MOTION = [('execute', 'executing_motion', {'goal_id': 'ab'}),
          ('motion_done', 'sensor_confirm', {'ended': 1.0})]
REFUTED = ('fail', 'error', {'error_code': 'REFUTED', 'error_msg': 'no part in the gripper',
                             'sensors_said': 'refuted'})
CONFIRMED = [('confirmed', 'status_verification_requested', {'sensors_said': 'confirmed'}),
             ('verified', 'completed', {}),
             ('terminate', 'terminated', {'outcome': 'succeeded'})]


@pytest.mark.parametrize(('after', 'why'), [
    ([], 'no part in the gripper'),
    ([('retry', 'in_progress', {}), *MOTION, *CONFIRMED], 'confirmed'),
    ([('retry', 'in_progress', {}), *MOTION], 'sensor_confirm')])
def test_the_error_of_an_earlier_try_is_not_why_an_action_succeeded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    after: list[tuple[str, str, dict[str, Any]]], why: str
) -> None:
    monkeypatch.setenv('COLUMNS', '200')
    state = 'assigned'
    with Journal(tmp_path / 'journal') as journal:
        for event, target, data in [('start', 'in_progress', {}), *MOTION, REFUTED, *after]:
            journal.append(Entry('transition', 'f', 'pick', 1, event, state, target, data=data))
            state = target
    assert main(['list', '--journal', str(tmp_path / 'journal')]) == 0
    printed = capsys.readouterr().out
    assert why in printed
    assert ('no part' in printed) is (not after)


def test_the_history_has_dates_and_can_be_that_of_one_flow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / 'journal')
    with Journal(path) as journal:
        for flow_id, stamp in (('f', 1.8e9), ('g', 12.5)):
            journal.append(Entry('transition', flow_id, 'pick', 1, 'start', 'assigned',
                                 'in_progress', ros_time=stamp))
    assert main(['history', 'pick', '--journal', path]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith('2027-01-1') and '.000  #1 f attempt 1' in first
    assert second.strip().startswith('12.500 s  #2 g attempt 1')
    assert main(['history', 'pick', '--flow', 'g', '--journal', path]) == 0
    assert capsys.readouterr().out.splitlines() == [second]


@pytest.mark.parametrize(('arguments', 'said'), [
    (('history', 'pikc'), "no action 'pikc'; did you mean 'pick'?"),
    (('history', 'pick', '--flow', 'h'), "no action 'pick' of flow 'h'"),
    (('history', '--flow', 'grasp'), "no flow 'grasp'"),
    (('dialogue', 'grasp'), "no flow 'grasp'; did you mean 'grasp-60737f0d'?")])
def test_a_name_that_the_journal_does_not_have_is_told_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    path = str(tmp_path / 'journal')
    with Journal(path) as journal:
        journal.append(Entry(
            'transition', 'grasp-60737f0d', 'pick', 1, 'start', 'assigned', 'in_progress'))
    assert main([*arguments, '--journal', path]) == 3
    assert said in capsys.readouterr().err


@pytest.fixture
def journal(tmp_path: Path) -> str:
    path = str(tmp_path / 'journal')
    with Journal(path) as journal:
        for flow_id, action_id in (('f', 'pick'), ('f', 'place'), ('g', 'pick')):
            journal.append(Entry(
                'transition', flow_id, action_id, 1, 'start', 'assigned', 'in_progress',
                cause='it may start', actor='me', ros_time=12.5))
    return path


@pytest.mark.parametrize(('arguments', 'rows'), [
    (('f',), [1, 2]), (('--flow', 'f'), [1, 2]), (('pick',), [1, 3]), (('f/pick',), [1]),
    (('pick', '--flow', 'g'), [3])])
def test_the_history_of_an_action_or_of_a_whole_flow_is_told(
    journal: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], rows: list[int]
) -> None:
    assert main(['history', *arguments, '--journal', journal]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.partition('#')[2].split()[0]) for line in lines] == rows
    assert main(['history', *arguments, '--json', '--journal', journal]) == 0
    changes = json.loads(capsys.readouterr().out)
    assert [change['seq'] for change in changes] == rows
    assert changes[0] == {
        'seq': rows[0], 'time': 12.5, 'flow_id': changes[0]['flow_id'], 'action_id': 'pick',
        'attempt': 1, 'event': 'start', 'from': 'assigned', 'to': 'in_progress', 'outcome': '',
        'error_code': '', 'cause': 'it may start', 'actor': 'me'}


def test_the_list_can_be_json(journal: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['list', '--flow', 'g', '--json', '--journal', journal]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row['flow_id'], row['action_id'], row['state'], row['seq'], row['why']) == (
        'g', 'pick', 'in_progress', 3, 'it may start')


@pytest.mark.parametrize(('arguments', 'said'), [
    (('--state', 'in_progres'), "did you mean 'in_progress'?"),
    (('--limit', '0'), '--limit 0: expected 1 or more')])
def test_a_filter_that_nothing_can_fit_is_bad_input(
    journal: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert main(['list', *arguments, '--journal', journal]) == 2
    assert said in capsys.readouterr().err


def test_an_output_without_arrows_gets_what_it_can_show(journal: str) -> None:
    done = subprocess.run(
        [sys.executable, '-c', 'from action_lifecycle.cli import main; raise SystemExit(main())',
         'history', 'f/pick', '--journal', journal], capture_output=True, text=True,
        env={**os.environ, 'PYTHONIOENCODING': 'ascii'}, timeout=60.0)
    assert done.returncode == 0, done.stderr
    assert 'assigned -> in_progress' in done.stdout


def test_a_black_box_has_a_line_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / 'journal')
    with Journal(path) as journal:
        journal.append(Entry('transition', 'f', 'pick', 1, 'fail', 'sensor_confirm', 'error',
                             cause='gap is 0', data={**REFUTED[2], 'black_boxes': ['a.mcap']}))
    assert main(['history', 'pick', '--journal', path]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith('gap is 0') and second == '    black box: a.mcap'
    assert main(['history', 'pick', '--journal', path, '--json']) == 0
    assert json.loads(capsys.readouterr().out)[0]['black_boxes'] == ['a.mcap']
