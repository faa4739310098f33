# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Charts of conditions, from traces that a bridge writes."""

from __future__ import annotations

import json
from pathlib import Path
import re
from typing import Any

from action_lifecycle.traces import Trace, TraceKey, TraceReader
from action_lifecycle.viewer.charts.conditions import conditions_of
from action_lifecycle.viewer.charts.curves import condition_chart, CurveChart
from action_lifecycle.viewer.charts.palette import PALETTE
from action_lifecycle.viewer.record.shown import AttemptShown
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
