# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a report takes from evidence traces and from labels of attempts."""

from __future__ import annotations

from pathlib import Path
import re
from typing import Any

from action_lifecycle.cli.main import main
from action_lifecycle.journal import Entry, Journal
from action_lifecycle.report.looks import MET, NOT_MET
from action_lifecycle.report.report import read_report
from action_lifecycle.traces import TraceKey
from action_lifecycle.traces.labels import read_labels
import pytest

from .test_page import Page
from .test_report_files import group, PICK, refused
from ..traces.rig import HELD, Rig

END = PICK[-2:]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return six runs: three confirmed, two refuted, one whose controller failed; with traces."""
    path = tmp_path / 'robot.journal'
    rig = Rig(tmp_path / 'robot.traces')
    with Journal(path) as rows:
        for number in range(6):
            refuted, aborted = number in (3, 4), number == 5
            evidence = [{'condition': 'confirm', 'expression': HELD.expression,
                         'verdict': 'false' if refuted else 'true', 'facts': [
                             {'name': 'gap', 'unit': 'm', 'validity': 'valid',
                              'numbers': [0.003 if refuted else 0.02]}]}]
            changes = [*PICK[:2], (4.0, 1, 'fail', 'executing_motion', 'error', {
                'error_code': 'MOTION_ABORTED'})] if aborted else [*PICK[:3], (
                    5.0, 1, 'fail', 'sensor_confirm', 'error', {
                        'error_code': 'REFUTED', 'sensors_said': 'refuted',
                        'evidence': evidence}) if refuted else (
                    5.0, 1, 'confirmed', 'sensor_confirm', 'status_verification_requested',
                    {'sensors_said': 'confirmed', 'evidence': evidence})]
            changes += [(6.0, 1, 'terminate', 'error', 'terminated', {'outcome': 'failed'})] \
                if refuted or aborted else END
            for time, attempt, event, start, end, data in changes:
                rows.append(Entry('transition', f'f{number}', 'a', attempt, event, start, end,
                                  data=data, final=end == 'terminated', ros_time=time))
            if not aborted:
                rig.attempt(TraceKey(f'f{number}', 'a', 1), value=0.003 if refuted else 0.02,
                            verdict='refuted' if refuted else 'confirmed')
    return path


def page_of(path: Path) -> tuple[str, Page]:
    pytest.importorskip('matplotlib')
    from action_lifecycle.report.page import page
    text = page(read_report([path]))
    return text, Page(text)


def curves(text: str) -> str:
    found = re.search(r'<figure class="curves">.*?</figure>', text, re.S)
    return found[0] if found else ''


def test_the_page_shows_curves_of_attempts_that_met_and_did_not_meet(journal: Path) -> None:
    text, page = page_of(journal)
    assert page.faults == []
    svg = curves(text)
    of_confirmed, of_refuted = (re.findall(f'style="[^"]*stroke: {colours[0]}[^"]*"', svg)
                                for colours in (MET, NOT_MET))
    assert len(of_confirmed) == 3 and not any('dasharray' in style for style in of_confirmed)
    assert len(of_refuted) == 2 and all('dasharray' in style for style in of_refuted)
    assert 'gap (m)' in svg and 'stroke-dasharray' in svg  # the threshold of the condition


def test_examples_name_the_attempts(journal: Path) -> None:
    condition, = group(read_report([journal]), 'action')['conditions']
    assert condition['examples'] == {
        'met': [(0, f'f{number}', 'a', 1) for number in (0, 1, 2)],
        'not_met': [(0, f'f{number}', 'a', 1) for number in (3, 4)]}


def test_damaged_traces_leave_the_figures_and_are_named(journal: Path) -> None:
    traces = journal.with_suffix('.traces')
    for suffix in ('-wal', '-shm'):
        traces.with_name(traces.name + suffix).unlink(missing_ok=True)
    traces.write_bytes(b'no traces' * 1000)
    text, page = page_of(journal)
    assert curves(text) == '' and str(traces) in page.text
    assert page.faults == []


def test_without_traces_there_are_no_curves(journal: Path) -> None:
    journal.with_suffix('.traces').unlink()
    assert curves(page_of(journal)[0]) == ''


def labels(folder: Path, text: str) -> Path:
    path = folder / 'labels.csv'
    path.write_text('flow_id,action_id,attempt,there\n' + text, encoding='utf-8')
    return path


def shares(found: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {name: (share['k'], share['n']) for name, share in found['labels'].items()}


def test_labels_show_the_errors_of_sensors_and_controllers(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = labels(tmp_path, 'f0,a,1,true\nf1,a,1,false\nf3,a,1,true\nf4,a,1,false\n'
                            'f5,a,1,false\nother,a,1,true\n')
    found = group(read_report([journal], labels=read_labels(path)))
    assert shares(found) == {
        'false_completion': (1, 2), 'false_refutation': (1, 2), 'controller_wrong': (2, 4)}
    assert main(['report', str(journal), '--labels', str(path)]) == 0
    assert 'false completion: 50 % [9, 91] (1/2)' in capsys.readouterr().out
    assert 'labels' not in group(read_report([journal]))


@pytest.mark.parametrize('text, expected', [
    ('f0,a,1,perhaps\n', "2:1: there 'perhaps': expected true or false"),
    ('f0,a,1,true\nf0,a,x,true\n', "3:1: attempt 'x': expected a number"),
    ('f0,a,1,true\nf0,a,1,false\n', '3:1: f0/a, attempt 1 is false here, but true in line 2'),
    ('f0,a\n', '2:1: 2 fields, expected 4')])
def test_a_bad_label_is_named(
    journal: Path, tmp_path: Path, text: str, expected: str
) -> None:
    path = labels(tmp_path, text)
    assert f'{path}:{expected}' in refused(journal, '--labels', path)
