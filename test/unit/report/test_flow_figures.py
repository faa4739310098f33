# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How many flows finished, of those that were accepted; nested flows are part of others."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.journal import Entry, Journal
from action_lifecycle.report.report import read_report, Window
import pytest

TEXT = 'flow: {name}\nactions:\n  a: {{}}\n'
ENDS = [  # flow, id, state and error code of its end; '': it goes on
    ('pick', 'p-1', 'FINISH', 'NONE'), ('pick', 'p-2', 'FAIL', 'FLOW_FAILED'),
    ('pick', 'p-3', 'FAIL', 'CANCELED'), ('pick', 'p-4', '', ''),
    ('pick', 'p-5', 'FINISH', 'NONE'), ('pick', 'p-5/a', 'FAIL', 'FLOW_FAILED'),
    ('clean', 'c-1', 'FAIL', 'FLOW_PARTIALLY_FAILED')]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / 'robot.journal'
    with Journal(path) as journal:
        for name, flow_id, state, code in ENDS:
            journal.append(Entry(
                kind='flow', flow_id=flow_id, event='accepted', to_state='START', data={
                    'name': name, 'file': 'f.yaml', 'parameters': {}, 'parts': 1,
                    'text': TEXT.format(name=name)}))
            if state:
                journal.append(Entry(
                    kind='flow', flow_id=flow_id, event=state.lower(), from_state='CONTINUE',
                    to_state=state, data={'error_code': code}, final='/' not in flow_id))
    return path


def flows(journal: Path, level: str, name: str = '', window: Window | None = None) -> list[object]:
    group = next(group for group in read_report([journal], window or Window())['groups']
                 if group['level'] == level and name in ('', group['flow']))
    found = group['flows']
    return [*(found[key] for key in ('finished', 'failed', 'canceled', 'open')),
            found['success']['k'], found['success']['n']]


def test_flows_are_counted_by_their_end(journal: Path) -> None:
    assert flows(journal, 'all') == [2, 2, 1, 1, 2, 4]
    assert flows(journal, 'journal') == [2, 2, 1, 1, 2, 4]
    assert flows(journal, 'flow', 'pick') == [2, 1, 1, 1, 2, 3]
    assert flows(journal, 'flow', 'clean') == [0, 1, 0, 0, 0, 1]


def test_only_flows_of_the_window_count(journal: Path) -> None:
    assert flows(journal, 'all', window=Window(flows=('clean',))) == [0, 1, 0, 0, 0, 1]
    assert flows(journal, 'all', window=Window(until=0.0)) == [0, 0, 0, 0, 0, 0]


def test_a_flow_whose_begin_was_removed_is_not_counted(journal: Path, tmp_path: Path) -> None:
    with Journal(journal) as opened:
        assert opened.compact(synced_to=2)
    assert flows(journal, 'flow', 'pick') == [1, 1, 1, 1, 1, 2]
