# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the box of an action or of a group shows: look and texts."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple
import unicodedata

from ..looks import look_of
from ..record.shown import Node, Shown
from ...lifecycle.text_format import printable
from ...report.looks import ACTIVE, ENDED, Look, LOOKS

DETAIL_WIDTH = 14.8
"""Room (em) for the detail in a box."""
_WIDTHS = {letter: width for letters, width in (
    ("ijl'|", 0.28), (' .,:;·/I', 0.34), ('tfr()[]!-', 0.42), ('scz_"', 0.55), ('xkvy', 0.6),
    ('<>=+~^#&w⚠', 0.84), ('mMW@%—…', 1.0)) for letter in letters}
"""Widths (em) in DejaVu Sans, the widest of the usual fonts."""
WARNING = ' ⚠'
"""Marks actions of which an attempt failed."""


class Cell(NamedTuple):
    """What a box shows; what of it changes is sent to the pages."""

    css: str  #: classes of its state
    symbol: str  #: its path
    detail: str
    label: str  #: for screen readers


def action_cell(node: Node, own: Shown, inner: Counter[str] | None) -> Cell:
    """Return the cell of an action; `inner`: looks of the actions of its nested flow."""
    look = look_of(own)
    label = f'{node.path}, {look.label}'
    if own.breakpoint:
        label += ', breakpoint'
    if own.attempt > 1 and own.failures:
        label += f', attempt {own.attempt}, {own.failures} failed'
    if own.waits_for:
        label += f', waits: {own.waits}'
    return _cell(look, _detail(node, own, look), label, inner)


def group_cell(title: str, inner: Counter[str]) -> Cell:
    """Return the cell of a group; `inner`: looks of its actions."""
    look = group_look(inner)
    return _cell(look, look.label, f'{title}, {look.label}', inner)


def _cell(look: Look, detail: str, label: str, inner: Counter[str] | None) -> Cell:
    if inner:
        ended = sum(inner[name] for name in ENDED)
        bad = f", {inner['failed']} failed" if inner['failed'] else ''
        detail = f'{ended}/{inner.total()}{bad} · {look.label}'
        label += f', {ended} of {inner.total()} ended{bad}'
    css = f"{look.css}{' active' if look.name in ACTIVE else ''}"
    return Cell(css, look.symbol, fitting(detail, DETAIL_WIDTH), printable(label, 300))


def fitting(text: str, width: float) -> str:
    """Return a text on one line, cut so that it fits in a width (em) in usual fonts."""
    text = printable(text, 300)
    ends = list(accumulate(map(_width, text)))
    if not ends or ends[-1] <= width:
        return text
    return text[:bisect_right(ends, width - _width('…'))].rstrip() + '…'


def _width(letter: str) -> float:
    """Return the width (em) of a letter, rather too much."""
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if unicodedata.east_asian_width(letter) in 'WF':
        return 1.0
    return 0.78 if letter.isupper() else 0.635


def group_look(looks: Mapping[str, int]) -> Look:
    """Return the look of a group: what people must see first, else how all of it ended."""
    for name in ('pending', 'blocked', 'error', 'fallback', 'executing_motion', 'sensor_confirm',
                 'verifying', 'in_progress', 'completed', 'recipe', 'failed'):
        if looks.get(name):
            return LOOKS[name]
    if looks.get('waiting'):
        begun = any(looks.get(name) for name in ENDED)
        return LOOKS['in_progress' if begun else 'waiting']
    return LOOKS[next((name for name in ('succeeded', 'canceled', 'skipped')
                       if looks.get(name)), 'waiting')]


def _detail(node: Node, own: Shown, look: Look) -> str:
    if own.waits_for and look.name not in ENDED:
        return own.waits
    parts = ['breakpoint' if own.breakpoint else node.kind, look.label,
             f'try {own.attempt}{WARNING if own.failures else ""}' if own.attempt > 1 else '']
    return ' · '.join(filter(None, parts))
