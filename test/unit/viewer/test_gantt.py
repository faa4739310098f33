# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The pieces of a Gantt chart."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.viewer.charts import gantt
from action_lifecycle.viewer.charts.gantt import (
    gantt_rows,
    gantt_text,
    KINDS,
    kinds_shown,
    pieces_of,
)
from action_lifecycle.viewer.record.shown import Bar, Node
from hypothesis import given
from hypothesis import strategies as st

BARS = [
    Bar('pick', 'wait', 'resources', 10.0, 10.5, 1, 3),
    Bar('pick', 'state', 'executing_motion', 10.5, 14.0, 1, 4),
    Bar('pick', 'question', 'operator', 12.0, 13.0, 1, 5),
    Bar('pick', 'state', 'completed', 14.0, 14.5, 1, 6, 'succeeded'),
    Bar('place', 'state', 'sensor_confirm', 15.0, None, 2, 7)]


def named(piece: tuple[int, int, int | None, int]) -> tuple[str, int, int | None, int]:
    return (KINDS[piece[0]].name, *piece[1:])


def test_states_waits_and_questions_are_pieces_and_ends_have_symbols() -> None:
    found = pieces_of(BARS, zero=10.0)
    assert list(map(named, found['pick'])) == [
        ('resources', 0, 500, 1), ('executing_motion', 500, 4000, 1), ('operator', 2000, 3000, 1),
        ('completed', 4000, 4500, 1), ('succeeded', 4500, 4500, 1)]
    assert list(map(named, found['place'])) == [('sensor_confirm', 5000, None, 2)]


def test_what_means_the_same_looks_the_same_and_patterns_tell_waits_from_states() -> None:
    shapes = {kind.name: kind.shape for kind in KINDS}
    assert {shapes[name] for name in ('resources', 'locked', 'paused', 'operator')} == {'wait'}
    assert {shapes[name] for name in ('succeeded', 'failed', 'canceled', 'skipped')} == {'end'}
    assert len(shapes) == len(KINDS)
    assert [kind.name for kind in kinds_shown(pieces_of(BARS, 10.0))] == [
        'executing_motion', 'sensor_confirm', 'completed', 'resources', 'operator', 'succeeded']


def test_rows_are_in_the_order_of_the_flow_then_removed_actions() -> None:
    nodes = {path: Node(path) for path in ('place', 'group', 'group/inner')}
    rows = gantt_rows(nodes, BARS)
    assert [(row.path, row.label, row.depth) for row in rows] == [
        ('place', 'place', 0), ('group', 'group', 0), ('group/inner', 'inner', 1),
        ('pick', 'pick', 0)]


def test_the_text_says_what_the_chart_shows() -> None:
    rows, pieces = gantt_rows({}, BARS), pieces_of(BARS, 10.0)
    text = gantt_text(rows, [pieces[row.path] for row in rows])
    assert text == 'Timeline: 2 actions over 5.0 s; 1 succeeded; running: place; 2 waits'


@given(st.lists(st.tuples(st.sampled_from('abc'), st.integers(0, 1000), st.integers(0, 50)),
                max_size=60), st.integers(1, 40))
def test_of_too_many_pieces_each_action_keeps_the_newest(
    drawn: list[tuple[str, int, int]], most: int
) -> None:
    bars = [Bar(path, 'state', 'in_progress', float(start), float(start + length), 1)
            for path, start, length in sorted(drawn, key=lambda each: each[1])]
    everything, found = pieces_of(bars, 0.0), pieces_of(bars, 0.0, most)
    assert sum(map(len, found.values())) <= max(most, len(found))
    for path, own in found.items():
        assert own, path
        assert own == everything[path][-len(own):]


def test_no_two_bars_have_the_same_colour_and_pattern() -> None:
    bars = [(kind.shape, kind.light, kind.hatch) for kind in KINDS if kind.shape != 'end']
    assert len(set(bars)) == len(bars)
    folder = Path(gantt.__file__).parent
    script = (folder / 'gantt_chart.js').read_text(encoding='utf-8')
    style = (folder.parent / 'pages' / 'timeline.css').read_text(encoding='utf-8')
    for name in {kind.hatch for kind in KINDS} - {''}:
        assert f'\n  {name}: {{' in script and f'.timeline-{name} .timeline-swatch' in style
