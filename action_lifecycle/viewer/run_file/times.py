# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The states and waits of the actions of a flow over time, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import floor, log10
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ..charts.gantt import WAITS
from ..record.shown import Bar
from ...lifecycle.text_format import printable
from ...report.looks import Look, LOOKS, state_look
from ...report.wording import duration

NAMES, WIDTH, ROW, HEAD = 170, 1000, 24, 22  # px
LONGEST = 26
STYLE = """
.times{font:12px system-ui,'Segoe UI',Roboto,sans-serif;max-width:100%;height:auto}
.times text{fill:var(--text)} .times .tick{fill:var(--soft);font-size:11px}
.times .grid{stroke:var(--grid)} .times-state,.times-end{fill:var(--look)}
.times-wait{fill:none;stroke:var(--look);stroke-dasharray:3 2}
"""
NARROW = 16.0
"""Width (px) of an error below which its symbol is drawn instead of a bar."""


class Kind(NamedTuple):
    """A kind of bars or ends in a legend; `shape`: state, wait or end."""

    label: str
    css: str
    shape: str
    symbol: str = ''


def legend(bars: Iterable[Bar]) -> list[Kind]:
    """Return the kinds that occur, each once."""
    found: dict[Kind, None] = {}
    for bar in bars:
        look, label, shape = _look(bar)
        found[Kind(label, look.css, shape)] = None
        if bar.outcome:
            ended = state_look('terminated', bar.outcome)
            found[Kind(ended.label, ended.css, 'end', ended.symbol)] = None
    return sorted(found, key=lambda kind: ('state', 'wait', 'end').index(kind.shape))


def _look(bar: Bar) -> tuple[Look, str, str]:
    """Return the look of a bar, its label and its shape."""
    if bar.kind != 'state':
        return LOOKS['blocked'], WAITS.get(bar.name, bar.name), 'wait'
    look = state_look(bar.name)
    return look, look.label, 'state'


def times_svg(paths: Sequence[str], bars: Sequence[Bar], now: float) -> str:
    """Return the SVG element; rows are the actions of `paths`; open bars end at `now` (s)."""
    start = min((bar.start for bar in bars), default=now)
    end = max([bar.end or now for bar in bars] + [start + 0.1])
    scale = (WIDTH - NAMES - 20) / (end - start)
    height = HEAD + ROW * len(paths) + 6
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" class="times" role="img" '
             f'aria-label="states over time" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">']
    for tick in _ticks(end - start):
        x = NAMES + tick * scale
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD - 4}" '
                     f'y2="{height}"/><text class="tick" x="{x + 3:.1f}" y="12">{tick:g} s</text>')
    rows = {path: HEAD + ROW * index for index, path in enumerate(paths)}
    for path, y in rows.items():
        parts.append(f'<text x="0" y="{y + 16}">{escape(printable(path, LONGEST))}</text>')
    for bar in sorted(bars, key=lambda bar: bar.name == 'error'):  # symbols are above bars
        if bar.path in rows:
            parts.append(_piece(bar, rows[bar.path], start, scale, now))
    return ''.join([*parts, '</svg>'])


def _piece(bar: Bar, y: float, start: float, scale: float, now: float) -> str:
    lasted = (bar.end or now) - bar.start
    x, width = NAMES + (bar.start - start) * scale, max(1.0, lasted * scale)
    look, name, shape = _look(bar)
    title = f'<title>{escape(printable(f"{bar.path}: {name}, {duration(lasted)}", 300))}</title>'
    if look.name == 'error' and width < NARROW:
        found = _symbol(look, x - NARROW / 2, y, title)
    else:
        found = (f'<rect class="times-{shape} {look.css}" x="{x:.1f}" y="{y + 4}" '
                 f'width="{width:.1f}" height="{ROW - 8}" rx="2">{title}</rect>')
    if bar.outcome:
        found += _symbol(state_look('terminated', bar.outcome), x + width + 3, y)
    return found


def _symbol(look: Look, x: float, y: float, title: str = '') -> str:
    return (f'<path class="times-end {look.css}" fill-rule="evenodd" d={quoteattr(look.symbol)} '
            f'transform="translate({x:.1f},{y + 5}) scale(.9)">{title}</path>')


def _ticks(span: float) -> Iterator[float]:
    """Yield about eight round times (s)."""
    step = 10.0 ** floor(log10(span / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 9)
    for number in range(int(span / step) + 1):
        yield number * step
