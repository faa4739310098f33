# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A condition over time, as options of an ECharts chart, from the trace of an attempt.

Each comparison of the condition has a panel: the quantity that is compared, in one colour while
it meets its threshold and in another one while it does not. The axis of time begins where the
motion had ended and the sensors were asked, as in the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .conditions import Judged
from .panels import Axis, level_axis, panel, ribbon
from ...lifecycle.text_format import number_in_words, printable, value_of
from ...report.comparisons import Quantity, quantity, Term, terms, TURNED
from ...traces import Trace
from ...world.expressions.expression import compile_expression

MAX_PANELS = 6
MAX_LINES = 6
"""Maximum number of components that are drawn of a list of numbers."""
TOP, PANEL, BOTTOM = 34, 92, 12
"""Heights (px): of the row of verdicts, of a panel, and below the last one."""
LEFT = 54
"""Width (px) of the labels at the left of a panel; its title begins after them."""
BEFORE = 1.5
"""What is shown first before a confirmation, in times of its duration; at least 1 s."""
LABEL_ROOM = 0.2
"""Part of the shown time that the label of a mark takes."""
MARKS = {'motion_started': 'motion', 'motion_followed': 'motion goes on',
         'motion_ended': 'motion ended', 'cut': 'cut', 'confirm_canceled': 'canceled'}


class CurveChart(NamedTuple):
    """Options of ECharts with names of colours, a height (px), and what it shows as text."""

    options: dict[str, Any]
    height: int
    text: str


class _Panel(NamedTuple):
    term: Term
    lines: list[Quantity]
    limit: Quantity | None


def condition_chart(
    trace: Trace, judged: Judged, until: float | None = None
) -> CurveChart | None:
    """Return the chart of a condition up to a ROS time (s); None if its facts have no curves."""
    known = _known(trace, judged)
    found = [each for term in terms(judged.expression)
             if (each := _panel(trace, term, known, until))]
    if not found:
        return None
    shown, left_out = found[:MAX_PANELS], len(found) - MAX_PANELS
    span = _span(trace, judged)
    axis = Axis(span.zero, span.first, span.last, until)
    rows: list[dict[str, Any]] = [ribbon(axis, [
        (change.time, change.verdict) for change in trace.changes
        if (change.condition, change.expression) == judged[:2]], span.end_of_verdict)]
    rows += [panel(axis, each.term, each.lines, each.limit,
                   _at_verdict(each.term, judged, known)) for each in shown]
    options = _layout(rows, axis, span, [
        (mark.time, MARKS[mark.name]) for mark in trace.marks
        if mark.name in MARKS and (until is None or mark.time <= until)])
    text = '; '.join([f'{judged.name or "condition"} {judged.expression}: '
                      f'{judged.verdict or "not judged yet"}',
                      *(_in_words(each) for each in shown),
                      *([f'{left_out} more are not drawn'] if left_out > 0 else [])])
    return CurveChart(options, TOP + PANEL * len(shown) + BOTTOM + 24 * bool(span.zoom),
                      printable(text, 2000))


class _Span(NamedTuple):
    zero: float
    first: float
    last: float
    window: tuple[float, float] | None
    zoom: tuple[float, float] | None
    end_of_verdict: float


def _span(trace: Trace, judged: Judged) -> _Span:
    """Return which times (s of ROS time) are shown, and which are shown first."""
    last = max([curve.times[-1] for curve in trace.curves.values() if len(curve.times)]
               + [change.time for change in trace.changes]
               + [mark.time for mark in trace.marks]
               + [trace.started, trace.ended or trace.started])
    ended = [mark.time for mark in trace.marks if mark.name == 'motion_ended']
    confirmed = judged.confirmed
    window = (confirmed.started, confirmed.ended) if confirmed else None
    zero = next((each.started for each in reversed(trace.confirmations)
                 if not ended or each.started >= ended[-1]), ended[-1] if ended else trace.started)
    zoom = None
    if confirmed and confirmed.started >= zero:
        duration = confirmed.ended - confirmed.started
        first = max(trace.started, confirmed.started - max(1.0, BEFORE * duration))
        end = min(last, confirmed.ended + 0.1 + 0.1 * duration)
        if last - trace.started > 2 * (end - first):
            zoom = first, end
    return _Span(zero, trace.started, last, window, zoom, confirmed.ended if confirmed else last)


def _known(trace: Trace, judged: Judged) -> dict[str, Any]:
    """Return values of constants and parameters by name."""
    last = judged.confirmed or (trace.confirmations[-1] if trace.confirmations else None)
    found = dict(last.parameters) if last else {}  # those of the attempt
    found.update((str(fact['name']), value_of(fact)) for fact in judged.facts)
    return {name: np.asarray(value, float) if _is_vector(value) else value
            for name, value in found.items()}


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(item, (int, float)) for item in value)


def _panel(trace: Trace, term: Term, known: Mapping[str, Any], until: float | None
           ) -> _Panel | None:
    term = _with_known(term, trace, known)
    found = quantity(trace, term.quantity, known)
    limit = quantity(trace, term.limit, known) if term.limit and term.threshold is None else None
    if found is None and limit is None:
        return None
    lines = [_until(line, until) for line in _components(found)] if found else []
    return _Panel(term, lines[:MAX_LINES], _until(limit, until) if limit else None)


def _with_known(term: Term, trace: Trace, known: Mapping[str, Any]) -> Term:
    """Return a comparison with the value of its side that only constants and parameters give."""
    if not term.limit or term.threshold is not None:
        return term
    if quantity(trace, term.limit, known) is None:
        return term._replace(threshold=_value(term.limit, known))
    if quantity(trace, term.quantity, known) is None and (
            value := _value(term.quantity, known)) is not None:
        return Term(term.limit, TURNED[term.sign], term.quantity, value)
    return term


def _value(text: str, known: Mapping[str, Any]) -> Any:
    """Return the number, boolean, string or numbers of an expression of known names, or None."""
    try:
        expression = compile_expression(text, None)
        value = expression.evaluate([known[name] for name in expression.names])
    except (LookupError, ValueError):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return tuple(value.tolist())
    return value if isinstance(value, (bool, int, float, str)) else None


def _components(found: Quantity) -> Iterator[Quantity]:
    """Yield a curve for each component of a quantity that is a list."""
    count = max((len(value) for value in found.values if isinstance(value, list)), default=0)
    if not count:
        yield found
    for index in range(count):
        yield found._replace(values=[
            value[index] if isinstance(value, list) and index < len(value) else None
            for value in found.values])


def _until(found: Quantity, until: float | None) -> Quantity:
    if until is None:
        return found
    count = int(np.searchsorted(found.times, until, side='right'))
    return found._replace(times=found.times[:count], values=found.values[:count])


def _at_verdict(
    term: Term, judged: Judged, known: Mapping[str, Any]
) -> tuple[float, float] | None:
    """Return time and value of the quantity in the evidence; None if it is no number."""
    stamp = (judged.evidence or {}).get('stamp')
    if not isinstance(stamp, (int, float)):
        return None
    value = _value(term.quantity, known)
    return (float(stamp), float(value)) if isinstance(value, (int, float)) \
        and not isinstance(value, bool) else None


def _layout(rows: Sequence[dict[str, Any]], axis: Axis, span: _Span,
            marks: Sequence[tuple[float, str]]) -> dict[str, Any]:
    """Return the options of all panels one below the other, with one axis of time."""
    grids, x_axes, y_axes, titles, maps = [], [], [], [], []
    series: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        top = 16 if not index else TOP + PANEL * (index - 1) + 18
        grids.append({'left': LEFT, 'right': 16, 'top': top, 'height': 10 if not index else
                      PANEL - 32})
        last = index == len(rows) - 1
        x_axes.append({
            'type': 'value', 'gridIndex': index, 'min': axis.x(span.first),
            'max': axis.x(span.last), 'axisLabel': {
                'show': last, 'formatter': '{value} s', 'color': '@muted', 'hideOverlap': True,
                'showMinLabel': False, 'showMaxLabel': False},
            'axisLine': {'show': bool(index), 'onZero': False, 'lineStyle': {'color': '@grid'}},
            'axisTick': {'show': last}, 'splitLine': {'show': False},
            'axisPointer': {'show': True, 'label': {'show': False}}})
        y_axes.append({**(row.get('axis') or level_axis()), 'gridIndex': index})
        if row['title']:
            titles.append({'text': row['title'], 'left': LEFT - 5, 'top': top - 19, 'textStyle': {
                'fontSize': 12, 'fontWeight': 'normal', 'color': '@text'}})
        if row['said']:
            titles.append({'text': row['said']['text'], 'right': 14, 'top': top - 19,
                           'textStyle': {'fontSize': 12, 'fontWeight': 'bold',
                                         'color': row['said']['color']}})
        for each in row['series']:
            for area in each.pop('maps', ()):
                maps.append({**area, 'seriesIndex': len(series)})
            series.append({**each, 'xAxisIndex': index, 'yAxisIndex': index})
        if row['series']:
            _decorate(row['series'], series, span, axis, marks, named=not index)
    return {
        'animation': False, 'grid': grids, 'xAxis': x_axes, 'yAxis': y_axes, 'series': series,
        'title': titles, 'visualMap': maps,
        'axisPointer': {'link': [{'xAxisIndex': 'all'}], 'lineStyle': {'color': '@axis'}},
        'tooltip': {'trigger': 'axis', 'renderMode': 'richText', 'confine': True,
                    'backgroundColor': '@back', 'borderColor': '@axis',
                    'textStyle': {'color': '@text', 'fontSize': 12}},
        'dataZoom': _zoom(span, axis)}


def _decorate(own: Sequence[dict[str, Any]], series: list[dict[str, Any]], span: _Span, axis: Axis,
              marks: Sequence[tuple[float, str]], *, named: bool) -> None:
    """Add the window of the confirmation and the marks to the first series of a panel."""
    first = series[-len(own)]
    if span.window:
        first['markArea'] = {'silent': True, 'itemStyle': {'color': '@window'}, 'data': [
            [{'xAxis': axis.x(span.window[0])}, {'xAxis': axis.x(span.window[1])}]]}
    shown = span.zoom or (span.first, span.last)
    labels = _apart(marks, LABEL_ROOM * (shown[1] - shown[0])) if named else []
    lines = first.setdefault('markLine', {'silent': True, 'symbol': 'none', 'data': []})
    lines['data'] += [
        {'xAxis': axis.x(time), 'lineStyle': {'color': '@axis', 'type': 'solid', 'width': 1},
         'label': {'show': bool(name), 'formatter': name, 'position': 'end', 'color': '@muted',
                   'fontSize': 10, 'distance': 2}}
        for (time, _), name in zip(marks, labels or [''] * len(marks))]


def _apart(marks: Sequence[tuple[float, str]], room: float) -> list[str]:
    """Return the label of each mark; those within `room` (s) after another are in its label."""
    labels: list[str] = []
    leader = -1
    for index, (time, name) in enumerate(marks):
        if leader >= 0 and time - marks[leader][0] < room:
            labels.append('')
            if name not in labels[leader].split(', '):
                labels[leader] += f', {name}'
        else:
            leader = index
            labels.append(name)
    return labels


def _zoom(span: _Span, axis: Axis) -> list[dict[str, Any]]:
    first, last = span.zoom or (span.first, span.last)
    shown = {'xAxisIndex': 'all', 'filterMode': 'none', 'startValue': axis.x(first),
             'endValue': axis.x(last)}
    inside = {**shown, 'type': 'inside', 'zoomOnMouseWheel': 'ctrl', 'moveOnMouseWheel': False,
              'preventDefaultMouseMove': False}
    slider = {**shown, 'type': 'slider', 'height': 14, 'bottom': 4, 'left': 54, 'right': 16,
              'showDetail': False, 'brushSelect': False, 'borderColor': '@grid',
              'fillerColor': '@window', 'handleStyle': {'color': '@axis'},
              'dataBackground': {'lineStyle': {'color': '@grid'}, 'areaStyle': {
                  'color': '@grid'}}}
    return [inside, slider] if span.zoom else [inside]


def _in_words(each: _Panel) -> str:
    """Return range and last value of a panel."""
    name = f'{each.term.quantity} {each.term.sign} {each.term.limit}'.strip()
    said = []
    for line in each.lines:
        values = [value for value in line.values if value is not None]
        unit = f' {line.unit}' if line.unit else ''
        if not values:
            said.append('never known')
        elif all(type(value) in (int, float) for value in values):
            low, high, last = map(number_in_words, (min(values), max(values), values[-1]))
            said.append(f'{low} to {high}{unit}, at last {last}{unit}')
        else:
            said.append(f'at last {values[-1]}')
    return f"{name}: {' and '.join(said)}" if said else name
