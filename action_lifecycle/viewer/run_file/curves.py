# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A condition over time as a picture, from the trace of an attempt, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any, NamedTuple

from ..charts.conditions import Judged
from ...lifecycle.text_format import printable, value_of
from ...report.comparisons import Quantity, quantity, terms
from ...report.looks import MET, NOT_MET
from ...report.pictures import STYLE, svg_of
from ...traces import Trace

MAX_PANELS = 6
LONGEST = 60


class _Panel(NamedTuple):
    title: str
    line: Quantity
    limit: float | None


def condition_picture(trace: Trace, judged: Judged, name: str) -> str:
    """
    Return a condition's numbers against their thresholds as an SVG element; '' if it has none.

    `name`: begins the ids in it. Raises ModuleNotFoundError without matplotlib.
    """
    panels = list(_panels(trace, judged))[:MAX_PANELS]
    if not panels:
        return ''
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 0.5 + 1.2 * len(panels)), layout='constrained')
        places = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
        for axes, panel in zip(places, panels):
            _draw(axes, panel, trace)
        places[-1].set_xlabel('s since the attempt began')
        return svg_of(figure, name)


def _panels(trace: Trace, judged: Judged) -> Iterator[_Panel]:
    known: dict[str, Any] = dict(judged.confirmed.parameters) if judged.confirmed else {}
    known.update((str(fact['name']), value_of(fact)) for fact in judged.facts)
    for term in terms(judged.expression):
        line = quantity(trace, term.quantity, known)
        if line is not None and any(_is_number(value) for value in line.values):
            limit = term.threshold if _is_number(term.threshold) else None
            unit = f' ({line.unit})' if line.unit else ''
            title = f'{term.quantity} {term.sign} {term.limit}'.strip() + unit
            yield _Panel(printable(title, LONGEST), line, limit)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and isfinite(value)


def _draw(axes: Any, panel: _Panel, trace: Trace) -> None:
    for each in trace.confirmations:
        axes.axvspan(each.started - trace.started, each.ended - trace.started, alpha=0.2,
                     color=(MET if each.verdict == 'confirmed' else NOT_MET)[0], linewidth=0)
    values = [float(value) if _is_number(value) else float('nan') for value in panel.line.values]
    axes.plot(panel.line.times - trace.started, values, color=STYLE['text.color'], linewidth=1.1,
              drawstyle='steps-post')
    if panel.limit is not None:
        axes.axhline(panel.limit, linestyle='--', linewidth=0.9, color=STYLE['text.color'])
    axes.set_title(panel.title, loc='left', fontsize=9)
    axes.grid(axis='y', linewidth=0.5)
