# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the picture of a flow's history shows: its bars, how actions ended, its comparisons."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.journal import Entry, Journal
from action_lifecycle.journal.journal import JournalReader
from action_lifecycle.report.looks import LOOKS
from action_lifecycle.report.timeline import Bar, draw, history, Threshold, thresholds
import numpy as np
import pytest

matplotlib = pytest.importorskip('matplotlib.image')

to_rgb = pytest.importorskip('matplotlib.colors').to_rgb
EVIDENCE = {'condition': 'confirm', 'expression': 'gap > 0.02 and tool[2] > 0.2 - 0.02',
            'verdict': 'false', 'facts': [{'name': 'gap', 'numbers': [0.0], 'unit': 'm'}]}


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return a pick that is refuted at 5 s, repeated, and confirmed at 9 s; then another flow."""
    path = tmp_path / 'journal'
    with Journal(path) as journal:
        journal.append(Entry('flow', 'f', event='accepted', to_state='START', ros_time=0.0,
                             data={'name': 'pick_and_place'}))
        for time, attempt, event, start, end, data in (
                (1.0, 1, 'start', 'assigned', 'in_progress', {}),
                (1.5, 1, 'execute', 'in_progress', 'executing_motion', {}),
                (4.0, 1, 'motion_done', 'executing_motion', 'sensor_confirm', {}),
                (5.0, 1, 'fail', 'sensor_confirm', 'error',
                 {'error_code': 'REFUTED', 'evidence': [EVIDENCE]}),
                (5.5, 2, 'retry', 'error', 'in_progress', {}),
                (6.0, 2, 'execute', 'in_progress', 'executing_motion', {}),
                (8.5, 2, 'motion_done', 'executing_motion', 'sensor_confirm', {}),
                (9.0, 2, 'confirmed', 'sensor_confirm', 'completed', {}),
                (9.0, 2, 'terminate', 'completed', 'terminated', {'outcome': 'succeeded'})):
            journal.append(Entry('transition', 'f', 'pick', attempt, event, start, end,
                                 data=data, ros_time=time))
        journal.append(Entry('transition', 'g', 'other', 1, 'start', 'assigned', 'in_progress',
                             ros_time=10.0))
    return path


def test_each_state_of_each_attempt_is_a_bar(journal: Path) -> None:
    with JournalReader(journal) as reader:
        told = history(reader.rows())
    assert told.name == 'pick_and_place' and told.refuted == 'pick'
    assert told.ends == {'pick': (9.0, 'succeeded')}
    assert told.evidence['expression'] == EVIDENCE['expression']
    assert [bar for bar in told.bars if bar.end > bar.start] == [
        Bar('pick', 1, 'in_progress', 1.0, 1.5), Bar('pick', 1, 'executing_motion', 1.5, 4.0),
        Bar('pick', 1, 'sensor_confirm', 4.0, 5.0), Bar('pick', 1, 'error', 5.0, 5.5),
        Bar('pick', 2, 'in_progress', 5.5, 6.0), Bar('pick', 2, 'executing_motion', 6.0, 8.5),
        Bar('pick', 2, 'sensor_confirm', 8.5, 9.0)]


def test_another_flow_can_be_chosen(journal: Path) -> None:
    with JournalReader(journal) as reader:
        assert history(reader.rows(), 'g').bars == []


@pytest.mark.parametrize(('expression', 'expected'), [
    ('gap > 0.02', [Threshold('gap', 0, '>', 0.02)]),
    ('tool[2] >= 0.2 - 0.02 and not x < -1', [
        Threshold('tool', 2, '>=', 0.18), Threshold('x', 0, '<', -1.0)]),
    ('norm(tool[:2]) < 0.01 or a < b or present or name == "cup"', []),
    ('1 < a < 2', [Threshold('a', 0, '>', 1.0), Threshold('a', 0, '<', 2.0)]),
    ('gap > 1 / 0', []),
])
def test_thresholds_of_facts_are_found(
        expression: str, expected: list[Threshold]) -> None:
    found = thresholds(expression)
    assert [(each.fact, each.index, each.sign) for each in found] == [
        (each.fact, each.index, each.sign) for each in expected]
    assert [each.value for each in found] == pytest.approx(
        [each.value for each in expected])


@pytest.mark.parametrize('samples', [
    {}, {'gap': []}, {'gap': [(4.0, [0.08]), (5.0, [0.0])], 'tool': [(4.5, [0.0, 0.0])]}])
def test_picture_is_drawn_with_what_samples_there_are(
        journal: Path, tmp_path: Path, samples: dict[str, list[tuple[float, list[float]]]]
) -> None:
    with JournalReader(journal) as reader:
        draw(reader.rows(), samples, tmp_path / 'timeline.png')
    picture = matplotlib.imread(tmp_path / 'timeline.png')
    assert picture[:, :, :3].std() > 0.05
    colour = np.array(to_rgb(LOOKS['executing_motion'].light))
    assert (abs(picture[:, :, :3] - colour).max(axis=2) < 0.01).any(), 'the motion'


def test_journal_without_actions_is_drawn(tmp_path: Path) -> None:
    with Journal(tmp_path / 'journal'):
        pass
    with JournalReader(tmp_path / 'journal') as reader:
        draw(reader.rows(), {}, tmp_path / 'timeline.svg')
    assert (tmp_path / 'timeline.svg').read_text().count('<svg') == 1
