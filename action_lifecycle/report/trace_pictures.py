# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Curves of the facts of conditions from evidence traces: attempts that met them and that did not.

The time axis begins where the motion had ended and the sensors were asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
import re
from typing import Any, NamedTuple

import numpy as np

from .comparisons import quantity, thresholds
from .looks import MET, NOT_MET
from .pictures import STYLE, svg_of
from ..lifecycle.text_format import printable
from ..traces import Trace, trace_path, TraceError, TraceKey, TraceReader

MAX_PICTURES = 30
MAX_FACTS = 4
BEFORE = 1.5
"""What is shown before the confirmation, in times of its duration; at least 1 s."""

Place = tuple[str, str, str, str]
"""Flow, action, name and expression of a condition."""


class _Line(NamedTuple):
    times: np.ndarray  #: (n,) s since the confirmation began
    values: np.ndarray  #: (n,)
    duration: float  #: s of the confirmation
    met: bool


def trace_pictures(
    journals: Sequence[Mapping[str, Any]], actions: Sequence[Mapping[str, Any]]
) -> tuple[dict[Place, str], list[str]]:
    """
    Return SVG elements by condition, and the faults of files of traces.

    Conditions that were always met, or without traces, are left out.
    """
    found: dict[Place, str] = {}
    with ExitStack() as stack:
        readers, faults = _readers(journals, stack)
        for action in actions if readers else ():
            for condition in action['conditions']:
                if len(found) >= MAX_PICTURES or not condition['examples']['not_met']:
                    continue
                try:
                    svg = _picture(condition, readers, f'curves{len(found)}')
                except TraceError as error:
                    faults[str(error)] = None
                    continue
                if svg:
                    found[action['flow'], action['action'], condition['condition'],
                          condition['expression']] = svg
    return found, list(faults)


def _readers(
    journals: Sequence[Mapping[str, Any]], stack: ExitStack
) -> tuple[dict[int, TraceReader], dict[str, None]]:
    """Return the readers of the traces that there are, by index of the journal, and faults."""
    readers, faults = dict[int, TraceReader](), dict[str, None]()
    for index, journal in enumerate(journals):
        path = trace_path(journal['path'])
        if path.exists():
            try:
                readers[index] = stack.enter_context(TraceReader(path))
            except TraceError as error:
                faults[str(error)] = None
    return readers, faults


def _picture(
    condition: Mapping[str, Any], readers: Mapping[int, TraceReader], name: str
) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    traces = [(trace, which == 'met') for which in ('met', 'not_met')
              for journal, *key in condition['examples'][which] if journal in readers
              if (trace := readers[journal].find(TraceKey(*key))) is not None]
    lines: dict[str, tuple[str, list[_Line]]] = {}
    limits = _thresholds(condition['expression'])
    read = {_component(fact)[0] for fact in limits}
    for fact in condition['facts']:
        if fact['fact'] not in limits and _component(fact['fact'])[0] in read:
            continue  # another component than the condition reads
        of_fact = [line for trace, met in traces for line in _lines(trace, fact['fact'], met)]
        if of_fact and len(lines) < MAX_FACTS:
            lines[fact['fact']] = fact['unit'], of_fact
    if not lines:
        return ''
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 0.5 + 1.55 * len(lines)), layout='constrained')
        panels = figure.subplots(len(lines), 1, squeeze=False, sharex=True)[:, 0]
        for axes, (fact, (unit, of_fact)) in zip(panels, lines.items()):
            _draw(axes, of_fact, limits.get(fact, ()))
            axes.set_ylabel(printable(f'{fact} ({unit})' if unit else fact, 40))
        longest = max(line.duration for _, of_fact in lines.values() for line in of_fact)
        panels[-1].set_xlim(-max(1.0, BEFORE * longest), longest + 0.1)
        panels[-1].set_xlabel('s since the motion ended')
        return svg_of(figure, name)


def _draw(axes: Any, lines: Sequence[_Line], limits: Sequence[float]) -> None:
    for line in lines:
        axes.plot(line.times, line.values, color=(MET if line.met else NOT_MET)[0], linewidth=1.1,
                  linestyle='-' if line.met else (0, (6, 1.5)), alpha=0.8, drawstyle='steps-post')
    for limit in limits:
        axes.axhline(limit, linestyle='--', linewidth=0.9, color=STYLE['text.color'])
    axes.axvline(0.0, linewidth=0.9, color=STYLE['grid.color'])
    axes.grid(axis='y', linewidth=0.5)


def _lines(trace: Trace, fact: str, met: bool) -> Iterator[_Line]:
    """Yield the curve of a component of a fact; none without numbers or a confirmation."""
    name, index = _component(fact)
    found = quantity(trace, name) if trace.confirmations else None
    if found is None:
        return
    values = np.array([_at(value, index) for value in found.values], float)
    if np.isfinite(values).any():
        last = trace.confirmations[-1]
        yield _Line(found.times - last.started, values, last.ended - last.started, met)


def _at(value: Any, index: int) -> float:
    """Return a component of a value; NaN if it has none."""
    if isinstance(value, list):
        value = value[index] if index < len(value) else None
    elif index:
        value = None
    return float(value) if isinstance(value, (bool, int, float)) else np.nan


def _component(fact: str) -> tuple[str, int]:
    """Return the name of a fact and the index of a component."""
    found = re.fullmatch(r'(.*)\[(\d+)\]', fact)
    return (found[1], int(found[2])) if found else (fact, 0)


def _thresholds(expression: str) -> dict[str, list[float]]:
    """Return the constants with which facts, or their components, are compared."""
    found: dict[str, list[float]] = {}
    for each in thresholds(expression):
        found.setdefault(f'{each.fact}[{each.index}]', []).append(each.value)
        if not each.index:
            found.setdefault(each.fact, []).append(each.value)
    return found
