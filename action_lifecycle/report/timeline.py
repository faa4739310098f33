# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Plots a flow: its actions over time, and the facts of the first refuted action.

The upper plot has a bar for each state of each attempt of each action. The lower plots show, for
each comparison in the condition of the first refuted action, the fact over time, the threshold,
and the time of the confirmation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .comparisons import Threshold, thresholds
from .looks import bar_style, LOOKS, NOT_MET, state_look
from ..journal.row import Row

Samples = Mapping[str, Sequence[tuple[float, Sequence[float]]]]
"""Stamps (s of ROS time) and numbers by fact, in order."""

ENDS = {'succeeded': '✓', 'failed': '✗', 'canceled': '–'}


@dataclass
class Bar:
    """A state of an attempt, from `start` to `end` (s of ROS time)."""

    action: str
    attempt: int
    state: str
    start: float
    end: float


@dataclass
class History:
    """The history of one flow: bars, ends of actions, and the first refutation."""

    name: str = ''
    bars: list[Bar] = field(default_factory=list)
    ends: dict[str, tuple[float, str]] = field(default_factory=dict)
    refuted: str = ''
    evidence: dict[str, Any] = field(default_factory=dict)


def history(rows: Iterable[Row], flow_id: str = '') -> History:
    """Return the history of a flow (default: the first one); times in s of ROS time."""
    found = History()
    since: dict[str, tuple[str, int, float]] = {}
    for row in rows:
        flow_id = flow_id or row.flow_id
        if row.flow_id != flow_id or row.ros_time is None:
            continue
        if row.kind == 'flow' and row.event == 'accepted':
            found.name = row.data.get('name', '')
        if row.kind != 'transition':
            continue
        if row.action_id in since:
            state, attempt, start = since.pop(row.action_id)
            found.bars.append(Bar(row.action_id, attempt, state, start, row.ros_time))
        if row.to_state == 'terminated':
            found.ends[row.action_id] = row.ros_time, row.data.get('outcome', '')
        else:
            since[row.action_id] = row.to_state, row.attempt, row.ros_time
        if row.data.get('error_code') == 'REFUTED' and not found.refuted:
            found.refuted = row.action_id
            found.evidence = next(
                (each for each in row.data.get('evidence', ()) if each['verdict'] != 'true'), {})
    return found


def draw(rows: Iterable[Row], samples: Samples, path: Path) -> None:
    """
    Plot a flow's history to a PNG or SVG file.

    Raises OSError if the file can't be written, ValueError for an unknown format of the file name,
    ModuleNotFoundError without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Pictures need matplotlib; install it with: pip install matplotlib') from error

    past = history(rows)
    shown = [each for each in thresholds(past.evidence.get('expression', 'True'))
             if each.fact in samples][:4]
    actions = list(dict.fromkeys(bar.action for bar in past.bars))
    heights = [0.9 + 0.32 * len(actions), *([1.05] * len(shown))]
    figure = Figure(figsize=(9.6, 0.9 + sum(heights)), dpi=110, layout='constrained')
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    _draw_actions(axes[0], past, actions)
    attempts = [bar for bar in past.bars if bar.action == past.refuted]
    for place, limit in zip(axes[1:], shown):
        _draw_fact(place, limit, samples[limit.fact], past, attempts)
    if shown:
        axes[1].set_title(f'{past.refuted}: what the sensors said', loc='left', fontsize=10)
    axes[-1].set_xlabel('s')
    figure.savefig(path)


def _draw_actions(axes: Any, past: History, actions: list[str]) -> None:
    from matplotlib.patches import Patch

    for bar in past.bars:
        axes.barh(actions.index(bar.action), bar.end - bar.start, left=bar.start, height=0.62,
                  **bar_style(state_look(bar.state)))
        if bar.state == 'error':
            axes.plot(bar.start, actions.index(bar.action), 'x', color=LOOKS['error'].light,
                      markersize=9, markeredgewidth=2.5)
    for action, (time, outcome) in past.ends.items():
        axes.annotate(ENDS.get(outcome, ''), (time, actions.index(action)), (5, 0),
                      textcoords='offset points', color=state_look('terminated', outcome).light,
                      va='center', fontsize=12, fontweight='bold')
    axes.set_yticks(range(len(actions)), actions)
    axes.invert_yaxis()
    axes.set_title(past.name, loc='left', fontsize=12, fontweight='bold')
    there = {state_look(bar.state).name for bar in past.bars}
    axes.legend(handles=[Patch(label=look.label, **bar_style(look))
                         for look in LOOKS.values() if look.name in there],
                ncols=5, fontsize=8, frameon=False, loc='lower right',
                bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    axes.spines[['top', 'right']].set_visible(False)


def _draw_fact(axes: Any, limit: Threshold, samples: Sequence[tuple[float, Sequence[float]]],
               past: History, attempts: list[Bar]) -> None:
    start = min(bar.start for bar in attempts) - 0.5
    end = max(bar.end for bar in attempts) + 0.5
    chosen = [(time, numbers[limit.index]) for time, numbers in samples
              if start <= time <= end and len(numbers) > limit.index]
    axes.plot([time for time, _ in chosen], [value for _, value in chosen], color='#22262d',
              linewidth=1.3)
    axes.axhline(limit.value, color=NOT_MET[0], linestyle='--', linewidth=1)
    for bar in attempts:
        if bar.state == 'sensor_confirm':
            axes.axvspan(bar.start, bar.end, color=LOOKS['sensor_confirm'].light, alpha=0.3,
                         linewidth=0)
    units = {each['name']: each['unit'] for each in past.evidence.get('facts', ())}
    axes.set_ylabel(units.get(limit.fact, ''), fontsize=9)
    axes.set_xlim(start, end)
    axes.margins(y=0.2)
    axes.text(0.005, 0.95, limit.label, transform=axes.transAxes, va='top', fontsize=9,
              color=NOT_MET[0], bbox={'facecolor': 'white', 'edgecolor': 'none', 'pad': 1.5})
    axes.spines[['top', 'right']].set_visible(False)
