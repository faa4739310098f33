# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
How states look, on all pages and in all charts and pictures: symbol, colour, label.

No two looks of actions, nor two of flows, have the same symbol, so that they can be told apart
without their colours. The hues are those of Okabe and Ito (2008), darker on light backgrounds and
lighter on dark ones, so that text in them has a contrast of 4.5:1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

LIGHT_BACKGROUND, DARK_BACKGROUND = '#ffffff', '#1b1e24'  #: of cards, light and dark


class Look(NamedTuple):
    """A state as people see it; `symbol`: SVG path in a box of 16×16, fill rule evenodd."""

    name: str
    label: str
    symbol: str
    css: str  #: class that sets --look, the colour
    light: str  #: colour on light backgrounds
    dark: str  #: colour on dark backgrounds

    @property
    def icon(self) -> str:
        """Return the symbol as a name for `ui.icon` and Quasar's icon props."""
        return f'{self.symbol}@@fill-rule:evenodd|0 0 16 16'

    def svg(self, size: int = 16) -> str:
        """Return the symbol as an SVG element in the current colour; hidden from readers."""
        return (f'<svg width="{size}" height="{size}" viewBox="0 0 16 16" aria-hidden="true">'
                f'<path fill="currentColor" fill-rule="evenodd" d="{self.symbol}"/></svg>')


MET, NOT_MET = ('#0072b2', '#56b4e9'), ('#c44f00', '#f0883e')
"""Colours of curves while they meet a threshold, and while they do not; light, dark"""
MET_WORDS = 'blue: met, orange: not met'
"""The names of these colours."""
_GREY = '#5d6572', '#a3abb8'
_SKY = '#1d78a8', '#7cc8f0'
_BLUE = '#0064a3', '#56aef0'
_PURPLE = '#9c4478', '#e39ac2'
_ORANGE = '#8f5f00', '#f0ac1e'
_OLIVE = '#716800', '#e9dd4f'
_GREEN = '#007355', '#2cc295'
_RED = '#b54a00', '#ff8a4a'

_RING = 'M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13Z'
_SYMBOLS = {
    'ring': f'{_RING}m0 1.7a4.8 4.8 0 1 1 0 9.6a4.8 4.8 0 0 1 0-9.6Z',
    'half': f'{_RING}m0 1.7v9.6a4.8 4.8 0 0 1 0-9.6Z',
    'hourglass': 'M3.5 1h9v3.4L9.4 8l3.1 3.6V15h-9v-3.4L6.6 8 3.5 4.4Z'
                 'M5.2 2.6v1.2L8 7l2.8-3.2V2.6Z',
    'play': 'M4 1.8v12.4L14.2 8Z',
    'eye': 'M8 2.8C4.5 2.8 1.7 5 .4 8c1.3 3 4.1 5.2 7.6 5.2s6.3-2.2 7.6-5.2C14.3 5 11.5 2.8 8 2.8Z'
           'm0 1.8a3.4 3.4 0 1 1 0 6.8a3.4 3.4 0 0 1 0-6.8Zm0 1.7a1.7 1.7 0 1 0 0 3.4'
           'a1.7 1.7 0 0 0 0-3.4Z',
    'lens': 'M6.5 1a5.5 5.5 0 1 0 3.2 10l3.8 3.9 1.4-1.4-3.9-3.8A5.5 5.5 0 0 0 6.5 1Z'
            'm0 1.8a3.7 3.7 0 1 1 0 7.4a3.7 3.7 0 0 1 0-7.4Z',
    'person': 'M8 1a3.3 3.3 0 1 0 0 6.6A3.3 3.3 0 0 0 8 1ZM2 15a6 6 0 0 1 12 0Z',
    'check': 'M6.2 13.4 1.2 8.4l1.6-1.6 3.4 3.4 7-7 1.6 1.6Z',
    'check_disc': 'M8 .8a7.2 7.2 0 1 0 0 14.4A7.2 7.2 0 0 0 8 .8ZM6.9 11.6 3.5 8.2l1.3-1.3 2.1 2.1'
                  ' 4.5-4.5 1.3 1.3Z',
    'cross_octagon': 'M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5Zm-.3 5.2L6 4.7l2 2 2-2L11.3 6l-2 2 2 2'
                     'L10 11.3l-2-2-2 2L4.7 10l2-2Z',
    'warning': 'M8 .9 15.6 14.6H.4ZM7 5.6l.2 4.5h1.6L9 5.6Zm0 5.7v1.8h2v-1.8Z',
    'return': 'M6.8 1.4 1.6 6l5.2 4.6V7.2h2.7a2.5 2.5 0 0 1 0 5H6v2h3.5a4.5 4.5 0 0 0 0-9H6.8Z',
    'page': 'M2.8 1h7.4l3 3v11H2.8Zm2 5v1.6h6.4V6Zm0 3.4V11h6.4V9.4Z',
    'slash': 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 1.8c1.2 0 2.3.4 3.2 1L3.9 11.2A5.2 5.2 0 0 1 8 '
             '2.8Zm0 10.4c-1.2 0-2.3-.4-3.2-1l7.3-7.4A5.2 5.2 0 0 1 8 13.2Z',
    'skip': 'M1.5 2.8v10.4L7 8.6v4.6l5.5-4.6v4.6h2V2.8h-2v4.6L7 2.8v4.6Z',
    'bars': 'M3.5 2v12h3.2V2Zm5.8 0v12h3.2V2Z',
    'dot': f'{_RING}m0 1.7a4.8 4.8 0 1 1 0 9.6a4.8 4.8 0 0 1 0-9.6Zm0 2.3a2.5 2.5 0 1 0 0 5'
           'a2.5 2.5 0 0 0 0-5Z',
}


def _looks() -> Iterable[Look]:
    for name, label, symbol, (light, dark) in (
            ('waiting', 'waiting', 'ring', _GREY),
            ('blocked', 'blocked', 'hourglass', _ORANGE),
            ('in_progress', 'in progress', 'half', _SKY),
            ('executing_motion', 'executing', 'play', _BLUE),
            ('sensor_confirm', 'confirming', 'eye', _PURPLE),
            ('verifying', 'verifying', 'lens', _PURPLE),
            ('pending', 'needs answer', 'person', _ORANGE),
            ('completed', 'completed', 'check', _GREEN),
            ('error', 'error', 'warning', _RED),
            ('fallback', 'fallback', 'return', _OLIVE),
            ('recipe', 'recording recipe', 'page', _GREEN),
            ('succeeded', 'succeeded', 'check_disc', _GREEN),
            ('failed', 'failed', 'cross_octagon', _RED),
            ('canceled', 'canceled', 'slash', _GREY),
            ('skipped', 'skipped', 'skip', _GREY),
            ('START', 'starting', 'dot', _SKY),
            ('CONTINUE', 'running', 'play', _BLUE),
            ('FINISH', 'finished', 'check_disc', _GREEN),
            ('FAIL', 'failed', 'cross_octagon', _RED),
            ('CANCELED', 'canceled', 'slash', _GREY),
            ('paused', 'paused', 'bars', _ORANGE)):
        css = 'look-' + (f'flow-{name.lower()}' if name.isupper() else name.replace('_', '-'))
        yield Look(name, label, _SYMBOLS[symbol], css, light, dark)


LOOKS: Mapping[str, Look] = {look.name: look for look in _looks()}
"""All looks by name: those of actions, then those of flows"""
FLOW_LOOKS = 'START', 'CONTINUE', 'FINISH', 'FAIL', 'CANCELED', 'paused'
ACTION_LOOKS = tuple(name for name in LOOKS if name not in FLOW_LOOKS)
ACTIVE = frozenset(('in_progress', 'executing_motion', 'sensor_confirm', 'verifying', 'pending',
                    'completed', 'error', 'fallback', 'recipe'))
"""Looks of actions that have begun and not ended"""
ENDED = 'succeeded', 'failed', 'canceled', 'skipped'
_BY_STATE = {
    'assigned': 'waiting', 'status_verification_requested': 'verifying',
    'fallback_requested': 'fallback', 'fallback_received': 'fallback',
    'recipe_requested': 'recipe', 'recipe_received': 'recipe'}


def state_look(state: str, outcome: str = '') -> Look:
    """Return the look of a state of an action, for a terminated one of its outcome."""
    if state == 'terminated':
        state = outcome or 'failed'
    return LOOKS.get(_BY_STATE.get(state, state), LOOKS['waiting'])


HATCHES = {'in_progress': 'dots', 'verifying': 'slash', 'fallback': 'checks',
           'recipe': 'backslash', 'pending': 'upright'}
"""Patterns of bars that some people can't tell from others by their colours"""
_MATPLOTLIB = {'dots': '...', 'slash': '////', 'checks': 'xx', 'backslash': '\\\\',
               'upright': '|||'}


def bar_style(look: Look) -> dict[str, Any]:
    """Return how matplotlib draws the bar of a state; people with any colour vision tell it."""
    return {'facecolor': look.light, 'edgecolor': 'white', 'linewidth': 0,
            'hatch': _MATPLOTLIB.get(HATCHES.get(look.name, ''), '')}
