# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The data of a Gantt chart: states, waits and questions of the actions of a flow over time.

A row is an action. A piece is (kind, start, end, attempt): `kind` is an index in KINDS,
start and end are in ms since the flow began, and an end of null means that it goes on. A browser
gets the pieces of all rows once, then those of the actions that have changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..record.shown import Bar, Node
from ...lifecycle.text_format import printable
from ...report.looks import ACTION_LOOKS, ENDED, HATCHES, Look, LOOKS, state_look

MAX_PIECES = 60_000
"""Maximum number of pieces of a chart; of more, the newest of each action are shown."""
LONGEST = 60
"""Maximum number of characters of the label of a row."""
WAITS = {
    'resources': 'waits for resources', 'locked': 'waits for locked resources',
    'paused': 'waits: paused, or at a breakpoint', 'operator': 'waits for a person'}
WAIT_HATCHES = {'resources': 'slash', 'locked': 'checks', 'paused': 'upright', 'operator': 'dots'}
"""Patterns of waits, whose colours are the same"""
_STATES = [name for name in ACTION_LOOKS if name not in ENDED]


class PieceKind(NamedTuple):
    """How pieces look; `shape`: state, wait (hatched) or end (a symbol, no duration)."""

    name: str
    label: str
    shape: str
    light: str
    dark: str
    symbol: str = ''
    hatch: str = ''  #: name of a pattern of gantt_chart.js and timeline.css; '': none


def _kinds() -> list[PieceKind]:
    found = [_kind(LOOKS[name], 'state') for name in _STATES]
    for name, label in WAITS.items():
        look = LOOKS['pending' if name == 'operator' else 'paused' if name == 'paused' else
                     'blocked']
        found.append(PieceKind(name, label, 'wait', look.light, look.dark, look.symbol,
                               WAIT_HATCHES[name]))
    return found + [_kind(LOOKS[name], 'end') for name in ENDED]


def _kind(look: Look, shape: str) -> PieceKind:
    return PieceKind(look.name, look.label, shape, look.light, look.dark, look.symbol,
                     HATCHES.get(look.name, '') if shape == 'state' else '')


KINDS: Sequence[PieceKind] = _kinds()
"""How pieces look; the browser gets them with the chart."""
_INDEX = {kind.name: index for index, kind in enumerate(KINDS)}
Piece = tuple[Any, ...]


class GanttRow(NamedTuple):
    """An action; `depth`: in how many actions it is nested."""

    path: str
    label: str
    depth: int


def gantt_rows(nodes: Mapping[str, Node], bars: Iterable[Bar] = ()) -> list[GanttRow]:
    """Return the rows in the order of `nodes`, then the actions that only `bars` have."""
    paths = dict.fromkeys([*nodes, *(bar.path for bar in bars)])
    return [GanttRow(path, printable(path.rpartition('/')[2], LONGEST), path.count('/'))
            for path in paths]


def pieces_of(bars: Iterable[Bar], zero: float, most: int = MAX_PIECES) -> dict[str, list[Piece]]:
    """
    Return the pieces of each action, in order; `zero`: wall time (s) of 0 ms.

    If there are more than `most`, each action keeps its newest ones.
    """
    found: dict[str, list[Piece]] = {}
    count = 0
    for bar in bars:
        own = found.setdefault(bar.path, [])
        index = _INDEX.get(bar.name) if bar.kind != 'state' else \
            _INDEX.get(state_look(bar.name).name)
        if index is None:
            continue
        end = None if bar.end is None else _ms(bar.end, zero)
        own.append((index, _ms(bar.start, zero), end, bar.attempt))
        count += 1
        if bar.outcome in ENDED and bar.kind == 'state' and end is not None:
            own.append((_INDEX[bar.outcome], end, end, bar.attempt))
            count += 1
    if count > most:
        kept = max(1, most // max(1, len(found)))
        found = {path: own[-kept:] for path, own in found.items()}
    return found


def kinds_shown(pieces: Mapping[str, Sequence[Piece]]) -> list[PieceKind]:
    """Return the kinds that occur, for a legend."""
    there = {piece[0] for own in pieces.values() for piece in own}
    return [kind for index, kind in enumerate(KINDS) if index in there]


def gantt_text(rows: Sequence[GanttRow], pieces: Sequence[Sequence[Piece]]) -> str:
    """Return what a chart shows, for people who can't see it; `pieces`: of each row."""
    ends: Counter[str] = Counter()
    running: list[str] = []
    last = waits = 0
    for row, own in zip(rows, pieces):
        for index, start, end, _ in own:
            kind = KINDS[index]
            last = max(last, end or start)
            waits += kind.shape == 'wait'
            ends[kind.name] += kind.shape == 'end'
            if end is None and kind.shape == 'state':
                running.append(row.label)
    parts = [f'{len(rows)} actions over {last / 1000:.1f} s']
    parts += [f'{ends[name]} {name}' for name in ENDED if ends[name]]
    if running:
        parts.append(f"running: {', '.join(running[:10])}" + (
            f' and {len(running) - 10} more' if len(running) > 10 else ''))
    if waits:
        parts.append(f'{waits} waits')
    return f"Timeline: {'; '.join(parts)}"


def _ms(wall: float, zero: float) -> int:
    return round((wall - zero) * 1000)
