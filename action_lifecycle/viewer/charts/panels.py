# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The panels of a chart of a condition: series, axis and title of each, for ECharts."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isfinite, log10
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple

from ...lifecycle.text_format import number_in_words, printable
from ...report.comparisons import Quantity, Term

LONGEST = 90
"""Maximum number of characters of a title."""
DASHES = ('solid', 'dashed', 'dotted')
COLOURS = ('@line', '@met', '@bad', '@muted')
VERDICTS = {
    'true': ('@met', 'solid'), 'false': ('@bad', 'solid'), 'unknown': ('@unknown', 'dotted')}
MET = {'>': ('lte', 'gt'), '>=': ('lt', 'gte'), '<': ('gte', 'lt'), '<=': ('gt', 'lte')}
"""By sign: which values do not meet a threshold, and which do."""
HOLDS = {'>': gt, '>=': ge, '<': lt, '<=': le, '==': eq, '!=': ne}
FAR = 1e15
"""Bound of the ranges of colours; ECharts draws no line with ranges without bounds only."""


class Axis(NamedTuple):
    """The axis of time; all in s of ROS time. `until`: what is shown ends here."""

    zero: float
    first: float
    last: float
    until: float | None = None

    def x(self, time: float) -> float:
        """Return a place on the axis (s since `zero`)."""
        return round(float(time) - self.zero, 4)

    @property
    def end(self) -> float:
        """Return where curves end."""
        return self.last if self.until is None else min(self.last, self.until)


def ribbon(axis: Axis, changes: Sequence[tuple[float, str]], end: float) -> dict[str, Any]:
    """Return the row of verdicts; it ends at `end` at the latest."""
    end = min(max([end, *(time + 0.02 * (axis.last - axis.first) for time, _ in changes[-1:])]),
              axis.end)
    known = [change for change in changes if change[0] <= end]
    series = []
    for verdict, (colour, kind) in VERDICTS.items():
        data: list[Any] = []
        for (time, said), (until, _) in zip(known, [*known[1:], (end, '')]):
            if said == verdict:
                data += [[axis.x(time), 0], [axis.x(until), 0], [axis.x(until), None]]
        series.append({'type': 'line', 'name': verdict, 'data': data, 'symbol': 'none',
                       'silent': True, 'tooltip': {'show': False},
                       'lineStyle': {'color': colour, 'width': 7, 'type': kind, 'cap': 'butt'}})
    return {'title': '', 'said': {}, 'series': series}


def level_axis() -> dict[str, Any]:
    """Return the hidden vertical axis of the row of verdicts."""
    return {'type': 'value', 'min': -1, 'max': 1, 'show': False}


def panel(
    axis: Axis, term: Term, lines: Sequence[Quantity], limit: Quantity | None,
    verdict: tuple[float, float] | None,
) -> dict[str, Any]:
    """Return the panel of one comparison; `verdict`: time and value of the evidence."""
    unit = next((line.unit for line in lines if line.unit), '')
    title = ' '.join(filter(None, [
        term.quantity, term.sign, term.limit, f'({unit})' if unit else '']))
    texts = _texts(lines, limit, term.threshold)
    series = [_line(axis, term.quantity, line, index, texts) for index, line in enumerate(lines)]
    if limit is not None:
        series.append({**_line(axis, term.limit, limit, 1, texts), 'lineStyle': {
            'color': '@limit', 'width': 1, 'type': 'dashed'}})
    given = term.threshold if isinstance(term.threshold, tuple) else (term.threshold,)
    if 1 < len(lines) < len(given):  # more components than lines are drawn
        given = given[:len(lines)]
    levels = [(value, place) for value in given if not texts or isinstance(value, str)
              if (place := _place(value, texts)) is not None]
    threshold = levels[0][1] if len(levels) == 1 else None
    axes = _axis([*lines, *([limit] if limit else [])], texts, [place for _, place in levels],
                 verdict)
    for index, each in enumerate(series) if levels else ():
        own = levels[index::len(lines)]  # one for all lines, or one for each component
        if own:
            each['markLine'] = _limits(term.sign, own, axes)
        bound = threshold if threshold is not None else own[0][1] if len(own) == 1 else None
        if bound is not None and term.sign in MET and not texts:
            each['maps'] = [_colours(term.sign, bound)]
            del each['lineStyle']['color']  # it would hide those of the map
    said: dict[str, Any] = {}
    if verdict and not texts:
        if axis.first <= verdict[0] <= axis.end:
            series.append(_dot(axis, verdict))
        met = threshold is None or term.sign not in HOLDS or \
            HOLDS[term.sign](verdict[1], threshold)
        said = {'text': printable(f'{number_in_words(verdict[1])} {unit}'.strip(), 24) + (
            '' if threshold is None else ' ✓' if met else ' ✗'),
            'color': '@text' if threshold is None else '@met' if met else '@bad'}
    return {'title': printable(title, LONGEST), 'series': series, 'said': said,
            'axis': axes}


def _line(axis: Axis, name: str, line: Quantity, index: int, texts: Sequence[str]
          ) -> dict[str, Any]:
    data: list[Any] = [[axis.x(time), _place(value, texts)]
                       for time, value in zip(line.times.tolist(), line.values)]
    if data and axis.x(axis.end) > data[-1][0]:
        data.append([axis.x(axis.end), data[-1][1]])
    return {'type': 'line', 'name': printable(name, LONGEST), 'data': data, 'step': 'end',
            'symbol': 'none', 'lineStyle': {
                'color': COLOURS[index % len(COLOURS)], 'width': 1.6,
                'type': DASHES[index // len(COLOURS) % len(DASHES)]}}


def _limits(sign: str, levels: Sequence[tuple[Any, float]], axes: dict[str, Any]
            ) -> dict[str, Any]:
    """Return the lines of thresholds: values with their places on the axis."""
    return {'silent': True, 'symbol': 'none', 'data': [{
        'yAxis': place, 'lineStyle': {'color': '@limit', 'type': 'dashed', 'width': 1},
        'label': {'show': True, 'position': _beside(place, axes), 'color': '@muted',
                  'backgroundColor': '@back', 'padding': [0, 3], 'fontSize': 10,
                  'formatter': f'{sign} {_words(value)}', 'distance': 3}}
        for value, place in levels]}


def _beside(threshold: float, axes: dict[str, Any]) -> str:
    """Return on which side of its line the label of a threshold is in the panel."""
    low, high = (axes['min'], axes['max']) if 'min' in axes else (0, len(axes['data']) - 1)
    return 'insideStartBottom' if 2 * threshold > low + high else 'insideStartTop'


def _words(threshold: Any) -> str:
    return number_in_words(threshold) if type(threshold) in (int, float) \
        else printable(str(threshold), 20)


def _texts(lines: Sequence[Quantity], limit: Quantity | None, threshold: Any) -> list[str]:
    """Return the different strings among the values; if there are any, they are the axis."""
    values = [value for line in [*lines, *([limit] if limit else [])] for value in line.values]
    if isinstance(threshold, str):
        values.append(threshold)
    if any(isinstance(value, str) for value in values):
        return list(dict.fromkeys(printable(str(value), 20) for value in values
                                  if value is not None))
    return []


def _place(value: Any, texts: Sequence[str]) -> float | int | None:
    if texts:
        return None if value is None else texts.index(printable(str(value), 20))
    return _level(value)


def _level(value: Any) -> float | None:
    """Return a number with at most 6 digits; None if it is none."""
    if isinstance(value, (bool, int, float)) and isfinite(value):
        return float(f'{float(value):.6g}')
    return None


def _colours(sign: str, threshold: float) -> dict[str, Any]:
    """Return the piecewise map of colours: one where the threshold is met, one where not."""
    pieces = [{key: threshold, 'gte' if key[0] == 'l' else 'lte': -FAR if key[0] == 'l' else FAR,
               'color': colour} for key, colour in zip(MET[sign], ('@bad', '@met'))]
    return {'type': 'piecewise', 'show': False, 'dimension': 1, 'pieces': pieces,
            'outOfRange': {'color': '@unknown'}}


def _dot(axis: Axis, verdict: tuple[float, float]) -> dict[str, Any]:
    """Return the point of the evidence."""
    return {'type': 'scatter', 'name': 'evidence', 'symbolSize': 7, 'silent': True, 'z': 5,
            'data': [[axis.x(verdict[0]), verdict[1]]], 'itemStyle': {'color': '@text'},
            'tooltip': {'show': False}}


def _axis(lines: Sequence[Quantity], texts: Sequence[str], levels: Sequence[float],
          verdict: tuple[float, float] | None) -> dict[str, Any]:
    common = {'axisLine': {'show': False}, 'axisTick': {'show': False},
              'splitLine': {'show': True, 'lineStyle': {'color': '@grid'}},
              'axisLabel': {'color': '@muted', 'fontSize': 10, 'showMinLabel': False,
                            'showMaxLabel': False}, 'splitNumber': 2}
    if texts:
        return {**common, 'type': 'category', 'data': list(texts), 'boundaryGap': True}
    values = [number for line in lines for value in line.values
              if (number := _level(value)) is not None]
    if any(isinstance(value, bool) for line in lines for value in line.values):
        return {**common, 'type': 'category', 'data': ['false', 'true'], 'boundaryGap': True}
    values += [*levels, *([verdict[1]] if verdict else [])]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = 0.12 * (high - low) or 0.1 * abs(high) or 1.0
    digits = max(0, 1 - floor(log10(room)))
    return {**common, 'type': 'value', 'min': round(low - room, digits),
            'max': round(high + room, digits)}
