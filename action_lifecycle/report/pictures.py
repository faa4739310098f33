# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The pictures of a report, as SVG elements for an HTML page, drawn by matplotlib.

Colours of text and grid follow the page. Text stays text; matplotlib escapes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import io
import re
from typing import Any

from .looks import bar_style, LOOKS, state_look
from .runs import WORKING
from .wording import subject
from ..lifecycle.text_format import printable

MAX_BARS = 25
"""Maximum number of actions, or of causes, in a picture; those with most runs are shown."""
LONGEST_NAME = 42
FEWEST = 20
"""Minimum number of runs of which a trend is drawn."""

FIRST, FINAL, BAD, LINE = (LOOKS[name].light for name in (
    'executing_motion', 'succeeded', 'failed', 'pending'))
STATES = {look.name: look for look in map(state_look, (*WORKING, 'error', 'fallback_requested'))}
"""The looks of the states of which pictures show the time, by name."""
_TEXT, _GRID = '#010203', '#040506'  # become colours of the page
STYLE: dict[Any, Any] = {
    'svg.fonttype': 'none', 'text.parse_math': False, 'font.family': 'sans-serif',
    'font.size': 9.5, 'text.color': _TEXT, 'axes.edgecolor': _GRID, 'axes.labelcolor': _TEXT,
    'xtick.color': _TEXT, 'ytick.color': _TEXT, 'grid.color': _GRID, 'axes.grid': False,
    'axes.spines.top': False, 'axes.spines.right': False, 'savefig.transparent': True,
    'path.simplify_threshold': 0.5,
    'svg.hashsalt': 'report'}


def pictures(report: Mapping[str, Any]) -> dict[str, str]:
    """
    Return the SVG elements by name; one without data is left out.

    Raises ModuleNotFoundError without matplotlib.
    """
    import matplotlib

    groups = report['groups']
    actions = sorted((group for group in groups if group['level'] == 'action'),
                     key=lambda group: -group['runs']['ended'])[:MAX_BARS]
    total = next(group for group in groups if group['level'] == 'all')
    with matplotlib.rc_context(STYLE):
        found = {
            'success': _success([each for each in actions if each['first_try']['n']]),
            'causes': _causes(total['failures'][:MAX_BARS], total['attempts']['failed']),
            'times': _times([each for each in actions if each['states']]),
            'trend': _trend(total['trend'])}
    return {name: svg for name, svg in found.items() if svg}


def _name(text: str) -> str:
    return printable(text, LONGEST_NAME)


def _axes(rows: int, height: float = 0.3) -> tuple[Any, Any]:
    from matplotlib.figure import Figure
    figure = Figure(figsize=(7.2, 1.1 + height * rows), layout='constrained')
    return figure, figure.subplots()


def _bars(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.spines['left'].set_visible(False)
    axes.tick_params(axis='y', length=0)


def _legend(axes: Any, columns: int) -> None:
    axes.legend(ncols=columns, fontsize=8, frameon=False, loc='lower left',
                bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)


def _success(actions: Sequence[Mapping[str, Any]]) -> str:
    """Draw first-try and final success of each action with intervals."""
    if not actions:
        return ''
    figure, axes = _axes(len(actions), 0.36)
    for name, label, colour, shift in (('first_try', 'first try', FIRST, -0.14),
                                       ('final', 'in the end', FINAL, 0.14)):
        places = [index for index, each in enumerate(actions) if each[name]['n']]
        found = [actions[index][name] for index in places]
        axes.errorbar(
            [100 * each['share'] for each in found], [place + shift for place in places],
            xerr=[[100 * max(0.0, each['share'] - each['low']) for each in found],
                  [100 * max(0.0, each['high'] - each['share']) for each in found]],
            fmt='o', color=colour, markersize=4.5, elinewidth=2, capsize=0, label=label)
    _bars(axes, [_name(subject(each)) for each in actions])
    least = min(100 * each[name]['low'] for each in actions for name in ('first_try', 'final'))
    axes.set_xlim(10 * (least // 10) - 1 if least > 50 else -1, 101)
    axes.grid(axis='x', linewidth=0.6)
    axes.set_xlabel('% of runs, with 95 % intervals')
    _legend(axes, 2)
    return svg_of(figure, 'success')


def _times(actions: Sequence[Mapping[str, Any]]) -> str:
    """Draw the mean time of a run in each state."""
    if not actions:
        return ''
    figure, axes = _axes(len(actions))
    left = [0.0] * len(actions)
    looks = {state: state_look(state) for each in actions for state in each['states']}
    for look in LOOKS.values():
        widths = [sum(found['total_s'] for state, found in each['states'].items()
                      if looks[state] is look) / max(1, each['runs']['ended'])
                  for each in actions]
        if any(widths):
            axes.barh(range(len(actions)), widths, left=left, height=0.62, label=look.label,
                      **bar_style(look))
            left = [start + width for start, width in zip(left, widths)]
    _bars(axes, [_name(subject(each)) for each in actions])
    axes.grid(axis='x', linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel('mean time of a run (s)')
    _legend(axes, 4)
    return svg_of(figure, 'times')


def _causes(causes: Sequence[Mapping[str, Any]], failed: int) -> str:
    """Draw the causes of failed attempts, the most frequent first, and their running sum."""
    if not causes:
        return ''
    figure, axes = _axes(len(causes))
    numbers = [cause['n'] for cause in causes]
    axes.barh(range(len(causes)), numbers, height=0.62, color=BAD)
    _bars(axes, [_name(': '.join(filter(None, (cause['error_code'], cause['condition']))))
                 for cause in causes])
    axes.set_xlabel('failed attempts')
    axes.xaxis.get_major_locator().set_params(integer=True)
    running = [100 * sum(numbers[:index + 1]) / failed for index in range(len(numbers))]
    share = axes.twiny()
    share.plot(running, range(len(causes)), 'o-', color=LINE, markersize=3.5, linewidth=1.4)
    share.set_xlim(0, 103)
    share.set_xlabel('running sum (%)')
    share.spines[['left', 'right']].set_visible(False)
    return svg_of(figure, 'causes')


def _trend(trend: Mapping[str, Any]) -> str:
    """Draw first-try success by day or by part of the runs."""
    parts = trend['parts']
    if sum(part['n'] for part in parts) < FEWEST:
        return ''
    figure, axes = _axes(0)
    figure.set_size_inches(7.2, 2.6)
    places = range(len(parts))
    axes.fill_between(places, [100 * part['low'] for part in parts],
                      [100 * part['high'] for part in parts], color=FIRST, alpha=0.22,
                      linewidth=0)
    axes.plot(places, [100 * part['share'] for part in parts], 'o-', color=FIRST, markersize=4)
    shown = [*places][::-(-len(parts) // 6)]
    times = [parts[place]['from'][:10 if trend['by'] == 'day' else 19] for place in shown]
    days = {time[:10] for time in times}
    axes.set_xticks(shown, [time[11:] if len(days) == 1 and time[11:] else
                            time.replace('T', '\n') for time in times])
    if len(days) == 1:
        axes.set_xlabel(days.pop())
    axes.set_ylim(-2, 102)
    axes.grid(axis='y', linewidth=0.6)
    axes.set_ylabel('first try (%)')
    return svg_of(figure, 'trend')


def svg_of(figure: Any, name: str) -> str:
    """Return a figure as an SVG element with ids of its own, and without its XML prolog."""
    stream = io.StringIO()
    figure.savefig(stream, format='svg', metadata=dict.fromkeys(
        ('Creator', 'Date', 'Format', 'Type')))
    text = stream.getvalue()
    text = text[text.index('<svg'):]
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', '', text, count=2).replace('xlink:href', 'href')
    text = re.sub(r'<metadata>.*?</metadata>', '', text, flags=re.S)
    text = re.sub(r'(\bid="|href="#|url\(#)(?=[\w.-])', rf'\g<1>{name}-', text)
    text = text.replace(_TEXT, 'currentColor').replace(_GRID, 'var(--grid)')
    text = re.sub(r'<svg ', f'<svg role="img" aria-label="{name}" ', text, count=1)
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', r'\1 width="100%"',
                  re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1', text, count=1), count=1)
