# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The looks of actions and flows on the pages, and the style sheet of all looks."""

from __future__ import annotations

from .record.shown import FlowHead, FlowShown, Shown
from ..report.looks import Look, LOOKS, state_look

_CAN_BE_HELD = frozenset(('waiting', 'in_progress', 'error', 'fallback'))


def look_of(shown: Shown) -> Look:
    """Return the look of an action; it is blocked if it waits for resources or people."""
    look = state_look(shown.state, shown.outcome)
    return LOOKS['blocked'] if shown.waits_for and (
        look.name in _CAN_BE_HELD or shown.is_stopped) else look


def flow_look(flow: FlowShown | FlowHead) -> Look:
    """Return the look of a flow."""
    if not flow.ended and flow.paused:
        return LOOKS['paused']
    if flow.state == 'FAIL' and flow.error_code == 'CANCELED':
        return LOOKS['CANCELED']
    return LOOKS.get(flow.state, LOOKS['START'])


def style_sheet(dark: str = '.body--dark') -> str:
    """
    Return CSS in which the class of each look sets its colour, --look, and its symbol.

    An element of class look-text has that colour, and of class look-icon also begins with the
    symbol. `dark`: selector of the page in dark mode (Quasar's by default); '': as the browser
    prefers.
    """
    light = [f'.{look.css}{{--look:{look.light};'
             f"--look-symbol:path(evenodd,'{look.symbol}')}}" for look in LOOKS.values()]
    night = [f'.{look.css}{{--look:{look.dark}}}' for look in LOOKS.values()]
    if dark:
        night = [f'{dark} {rule}' for rule in night]
    else:
        night = ['@media (prefers-color-scheme:dark){', *night, '}']
    return '\n'.join([
        *light, *night, '.look-text,.look-icon{color:var(--look)}',
        '.look-icon::before{content:"";display:inline-block;width:16px;height:16px;'
        'margin-inline-end:6px;vertical-align:-3px;background:currentColor;'
        'clip-path:var(--look-symbol)}'])
