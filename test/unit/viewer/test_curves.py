# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Charts of conditions, from traces that a bridge writes."""

from __future__ import annotations

import json
from pathlib import Path
import re
from typing import Any

from action_lifecycle.report.comparisons import Quantity, Term
from action_lifecycle.traces import Trace, TraceKey, TraceReader
from action_lifecycle.viewer.charts.conditions import conditions_of, Judged
from action_lifecycle.viewer.charts.curves import _apart, condition_chart, CurveChart
from action_lifecycle.viewer.charts.palette import PALETTE
from action_lifecycle.viewer.charts.panels import Axis, panel
from action_lifecycle.viewer.record.shown import AttemptShown
import numpy as np
import pytest

from ..traces.rig import HELD, Rig

KEY = TraceKey('f', 'a', 1)


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Return the trace of an attempt that was refuted."""
    rig = Rig(tmp_path / 'robot.traces')
    rig.attempt(KEY, value=0.003, verdict='refuted')
    with TraceReader(tmp_path / 'robot.traces') as reader:
        return reader.trace(KEY)


def attempt(verdict: str = 'false', value: float = 0.003, stamp: float = 0.0) -> AttemptShown:
    return AttemptShown(1, evidence=[{
        'condition': HELD.name, 'expression': HELD.expression, 'verdict': verdict, 'stamp': stamp,
        'held': 0.0, 'facts': [{'name': 'gap', 'unit': 'm', 'validity': 'valid',
                                'numbers': [value], 'stamp': stamp}]}])


def chart_of(trace: Trace, until: float | None = None) -> CurveChart:
    shown = attempt(stamp=trace.confirmations[-1].ended)
    judged, = (one for one in conditions_of(shown, trace, until) if one.name == HELD.name)
    found = condition_chart(trace, judged, until)
    assert found is not None
    return found


def series(chart: CurveChart, kind: str) -> list[dict[str, Any]]:
    return [one for one in chart.options['series'] if one['type'] == kind]


def test_the_threshold_the_window_and_the_verdict_are_drawn(trace: Trace) -> None:
    chart = chart_of(trace)
    curve = next(one for one in series(chart, 'line') if one['name'] == 'gap')
    confirmed = trace.confirmations[-1]
    assert HELD.expression == 'gap > 0.01 and gap_mm < 50'
    assert curve['markLine']['data'][0]['yAxis'] == 0.01
    (start, end), = curve['markArea']['data']
    assert end['xAxis'] - start['xAxis'] == pytest.approx(
        confirmed.ended - confirmed.started, abs=1e-3)
    dot, = series(chart, 'scatter')
    assert dot['data'][0][1] == 0.003
    assert any(title['text'] == '0.003 m ✗' for title in chart.options['title'])
    pieces = {piece['color']: piece for piece in chart.options['visualMap'][0]['pieces']}
    assert pieces['@met']['gt'] == pieces['@bad']['lte'] == 0.01
    assert 'gap > 0.01' in chart.text
    assert 'false' in chart.text


def test_nothing_later_than_the_moment_is_drawn(trace: Trace) -> None:
    times = trace.curves['gap'].times
    until = float(times[len(times) // 2])
    chart = chart_of(trace, until)
    zero = trace.confirmations[-1].started
    last = max(point[0] for one in series(chart, 'line') for point in one['data'])
    assert last <= until - zero + 1e-3
    assert last < chart_of(trace).options['xAxis'][0]['max']


def test_options_are_json_and_name_known_colours(trace: Trace) -> None:
    text = json.dumps(chart_of(trace).options, allow_nan=False)
    assert set(re.findall(r'"(@\w+)"', text)) <= set(PALETTE)
    assert not re.search(r'":\w+": ', text), 'a key that NiceGUI would evaluate'


def test_conditions_without_curves_have_no_chart(trace: Trace) -> None:
    other = AttemptShown(1, evidence=[
        {'condition': 'confirm', 'expression': 'elsewhere > 1', 'verdict': 'true'}, 'no evidence'])
    judged = [one for one in conditions_of(other, trace) if one.expression == 'elsewhere > 1']
    assert len(judged) == 1
    assert condition_chart(trace, judged[0]) is None
    assert [one.expression for one in conditions_of(other)] == ['elsewhere > 1']


def test_a_condition_that_was_kept_during_the_motion_is_known_from_the_trace(trace: Trace) -> None:
    found = conditions_of(AttemptShown(1), trace)
    assert {one.name for one in found} == {change.condition for change in trace.changes}
    assert all(one.evidence is None for one in found)


@pytest.mark.parametrize(('expression', 'title', 'threshold'), [
    ('gap < force', 'gap < force (m)', 3.0), ('force > gap', 'gap < force (m)', 3.0),
    ('gap > -2 * force', 'gap > -2 * force (m)', -6.0), ('gap < 0.5', 'gap < 0.5 (m)', 0.5)])
def test_each_threshold_is_drawn_and_is_within_its_axis(
    trace: Trace, expression: str, title: str, threshold: float
) -> None:
    for confirmed in trace.confirmations[-1], None:  # `maintain` has none of its own
        chart = condition_chart(trace, Judged('x', expression, 'true', None, confirmed))
        assert chart is not None and title in [one['text'] for one in chart.options['title']]
        curve = next(one for one in series(chart, 'line') if one['name'] == 'gap')
        assert curve['markLine']['data'][0]['yAxis'] == threshold
        axis = chart.options['yAxis'][1]
        assert axis['min'] < threshold < axis['max']
        upper = threshold > (axis['min'] + axis['max']) / 2  # then above it is the title
        assert curve['markLine']['data'][0]['label']['position'] == (
            'insideStartBottom' if upper else 'insideStartTop')


def test_a_limit_that_changes_is_within_the_axis(trace: Trace) -> None:
    chart = condition_chart(trace, Judged('x', 'gap < gap_mm + 7', 'true', None))
    assert chart is not None
    limit = next(one for one in series(chart, 'line') if one['name'] == 'gap_mm + 7')
    axis = chart.options['yAxis'][1]
    values = [value for _, value in limit['data'] if value is not None]
    assert values and axis['min'] < min(values) and max(values) < axis['max']


@pytest.mark.parametrize(('threshold', 'drawn'), [
    ((0.5, 3.0), [[0.5], [3.0]]),  # one for each component
    (3.0, [[3.0], []])])
def test_thresholds_of_components_are_drawn_at_their_lines(
    threshold: Any, drawn: list[list[float]]
) -> None:
    lines = [Quantity(np.array([1.0, 2.0]), [0.1, 0.2]), Quantity(np.array([1.0]), [1.0])]
    found = panel(Axis(0.0, 0.0, 3.0), Term('tool', '<', 'room', threshold), lines, None, None)
    assert [[line['yAxis'] for line in one.get('markLine', {'data': ()})['data']]
            for one in found['series']] == drawn
    assert found['axis']['max'] > 3.0
    assert all(len(one['maps']) == 1 for one in found['series'])
    some = panel(Axis(0.0, 0.0, 3.0), Term('gap', '<', 'room', (0.5, 4.0)), lines[:1], None, None)
    assert [line['yAxis'] for line in some['series'][0]['markLine']['data']] == [0.5, 4.0]
    assert 'maps' not in some['series'][0]


def test_a_list_of_thresholds_is_drawn(trace: Trace) -> None:
    chart = condition_chart(trace, Judged('x', 'all(gap < [0.5, 3])', 'true', None))
    assert chart is not None
    curve = next(one for one in series(chart, 'line') if one['name'] == 'gap')
    assert [line['yAxis'] for line in curve['markLine']['data'][:2]] == [0.5, 3.0]


def test_a_text_that_is_never_seen_is_on_the_axis_with_its_line() -> None:
    state = Quantity(np.array([1.0, 2.0]), ['open', 'moving'])
    found = panel(Axis(0.0, 0.0, 3.0), Term('state', '==', "'closed'", 'closed'), [state], None,
                  None)
    line = found['series'][0]['markLine']['data'][0]
    assert found['axis']['data'][line['yAxis']] == 'closed'
    assert line['label']['formatter'] == '== closed'


def test_labels_of_marks_do_not_cover_one_another() -> None:
    marks = [(0.0, 'motion'), (0.1, 'cut'), (0.2, 'cut'), (5.0, 'motion ended'), (7.1, 'canceled')]
    assert _apart(marks, 2.0) == ['motion, cut', '', '', 'motion ended', 'canceled']
    assert _apart([], 2.0) == []
