# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figures of a report are those that the rows give, counted by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_lifecycle.report.report import read_report, Window
import pytest

from .by_hand import attempts_of, figures, read, runs_of, SERVERS
from .generated import generate

SEEDS = (1, 2, 3)


@pytest.fixture(scope='module')
def journals(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp('journals')
    paths = [folder / f'robot{seed}.journal' for seed in SEEDS]
    for seed, path in zip(SEEDS, paths):
        generate(path, 40, seed)
    return paths


def groups(report: dict[str, Any], level: str) -> Iterator[dict[str, Any]]:
    return (group for group in report['groups'] if group['level'] == level)


@pytest.fixture(scope='module')
def by_hand(journals: list[Path]) -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], list[Any]] = {}
    for path in journals:
        for key, runs in runs_of(read(path)).items():
            found.setdefault(key, []).extend(runs)
    return found


@pytest.fixture(scope='module')
def report(journals: list[Path]) -> dict[str, Any]:
    return read_report(journals)


def test_the_generated_runs_have_all_that_is_counted(by_hand: dict[Any, Any]) -> None:
    total: Counter[str] = Counter()
    for runs in by_hand.values():
        found = figures(runs)
        total += found['outcomes'] + found['wrong'] + found['paths'] + found['codes']
        total += Counter(open=found['open'], halted=found['halted'] > 0)
    assert {'succeeded', 'failed', 'canceled', 'skipped', 'refuted', 'timed_out', 'stale', 'retry',
            'fallback', 'operator', 'MOTION_ABORTED', 'VERIFY_FAILED', 'open', 'halted'} <= {
                name for name, number in total.items() if number}


def test_actions(report: dict[str, Any], by_hand: dict[tuple[str, str], Any]) -> None:
    found = {(group['flow'], group['action']): group for group in groups(report, 'action')}
    assert found.keys() == by_hand.keys()
    for key, group in found.items():
        same(group, figures(by_hand[key]))


@pytest.mark.parametrize('level', ['all', 'flow'])
def test_flows_and_all(
    report: dict[str, Any], by_hand: dict[tuple[str, str], Any], level: str
) -> None:
    for group in groups(report, level):
        same(group, figures([run for (flow, _), runs in by_hand.items() for run in runs
                             if level == 'all' or flow == group['flow']]))


def test_journals(report: dict[str, Any], journals: list[Path]) -> None:
    found = list(groups(report, 'journal'))
    assert [group['journal'] for group in found] == [str(path) for path in journals]
    for group, path, entry in zip(found, journals, report['journals']):
        rows = read(path)
        same(group, figures([run for runs in runs_of(rows).values() for run in runs]))
        assert entry['rows'] == len(rows) and entry['complete_from'] == 1


def same(group: dict[str, Any], expected: dict[str, Any]) -> None:
    outcomes = expected['outcomes']
    assert group['runs'].items() >= {
        'ended': expected['ended'], 'open': expected['open'], **outcomes}.items()
    attempts = group['attempts']
    assert {name: attempts[name] for name in expected['attempts']} == expected['attempts']
    assert attempts['n'] == sum(expected['attempts'].values())
    for name in ('first', 'final'):
        figure = group['first_try' if name == 'first' else name]
        assert (figure['k'], figure['n']) == expected[name]
    controller = group['controller']
    assert controller['reported_success'] == expected['reported']
    for verdict in ('refuted', 'timed_out', 'stale'):
        assert controller[verdict] == expected['wrong'][verdict], verdict
    assert {path: number for path, number in group['recovery']['by_path'].items() if number
            } == expected['paths']
    assert group['recovery']['n'] == expected['recovery_n']
    codes: Counter[str] = Counter()
    for cause in group['failures']:
        codes[cause['error_code']] += cause['n']
    assert codes == expected['codes']
    assert group['states'].keys() == expected['states'].keys()
    for state, (number, median, total) in expected['states'].items():
        times = group['states'][state]
        assert times['n'] == number
        assert (times['median_s'], times['total_s']) == pytest.approx((median, total))
    waits = {kind: times['total_s'] for kind, times in group['waits'].items()}
    assert waits['resources'] == pytest.approx(expected['waited'])
    assert waits['operator'] == pytest.approx(expected['asked'])
    mtbf = group['mtbf']
    assert mtbf['operating_h'] * 3600 == pytest.approx(expected['working'] - expected['halted'])
    assert mtbf['failures'] == expected['attempts']['failed']
    if 'conditions' in group:
        assert expected['facts'] == {
            (each['expression'], verdict): each[verdict] for each in group['conditions']
            for verdict in ('true', 'false', 'unknown') if each[verdict]}


def test_servers(report: dict[str, Any], by_hand: dict[tuple[str, str], Any]) -> None:
    expected: dict[str, Counter[str]] = {}
    for (_, action), runs in by_hand.items():
        for run in runs:
            if run[-1]['to_state'] != 'terminated':
                continue
            for attempt in attempts_of(run):
                changed = [row['data']['fields'] for row in attempt['before']
                           if row['event'] == 'receive_fallback' and row['data']['fields']]
                anew = [index for index, row in enumerate(attempt['before'])
                        if row['event'] == 'reassign']
                since = attempt['before'][anew[-1]:] if anew else attempt['before']
                changed = [row['data']['fields'] for row in since
                           if row['event'] == 'receive_fallback' and row['data']['fields']]
                servers = ['vacuum'] if changed else SERVERS[action]
                for server in servers:
                    expected.setdefault(server, Counter())[attempt['ended']] += 1
    found = {group['server']: Counter({
        name: number for name, number in group['attempts'].items() if name != 'n' and number})
        for group in groups(report, 'server')}
    assert found == expected


def test_facts_of_a_refutation_are_those_of_its_row(
    report: dict[str, Any], journals: list[Path]
) -> None:
    rows = [{row['seq']: row for row in read(path)} for path in journals]
    group = next(group for group in groups(report, 'action') if group['action'] == 'grasp')
    condition, = group['conditions']
    assert condition['rows']
    for journal, seq in condition['rows']:
        evidence, = rows[journal][seq]['data']['evidence']
        assert evidence['verdict'] != 'true'
        assert evidence['expression'] == condition['expression']
    fact, = condition['facts']
    assert fact['fact'] == 'z' and fact['unit'] == 'm'
    assert fact['by_verdict']['false'] == {
        'n': condition['false'], 'median': 0.5, 'min': 0.5, 'max': 0.5}


def test_only_runs_of_the_window(report: dict[str, Any], journals: list[Path]) -> None:
    begins = sorted(run[0]['wall_time'] for path in journals
                    for runs in runs_of(read(path)).values() for run in runs)
    middle = begins[len(begins) // 2]

    def ended(window: Window) -> int:
        total, = groups(read_report(journals, window), 'all')
        return int(total['runs']['ended'] + total['runs']['open'])

    whole = ended(Window())
    early, late = ended(Window(until=middle)), ended(Window(since=middle))
    assert early > 0 and late > 0 and early + late == whole
    pick, = groups(read_report(journals, Window(flows=('pick',))), 'flow')
    assert pick['runs'] == next(
        group['runs'] for group in groups(report, 'flow') if group['flow'] == 'pick')
