# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Which orders of people make sense in the state of a flow and of an action.

The same rules as in `flow/control/orders.py`, as far as the journal shows them. The action node
decides; an order that it refuses changes nothing.
"""

from __future__ import annotations

from .record.shown import FlowShown, Shown
from ..lifecycle.states import ActionOutcome, ActionState

PAUSE, HOLD, RESUME, CANCEL, SKIP, RETRY, BREAKPOINT, CLEAR_BREAKPOINT = (
    'pause', 'hold', 'resume', 'cancel', 'skip', 'retry', 'breakpoint', 'clear_breakpoint')

_SKIPPABLE = frozenset({
    ActionState.ASSIGNED.value, ActionState.ERROR.value, ActionState.FALLBACK_REQUESTED.value,
    ActionState.FALLBACK_RECEIVED.value, ActionState.PENDING.value})
_AT_BREAKPOINT = 'breakpoint, set by'


def flow_orders(flow: FlowShown) -> dict[str, str]:
    """Return why each order to a flow makes no sense now; '' if it does."""
    closed = _closed(flow)
    return {
        PAUSE: closed or ('it is paused already' if flow.paused else ''),
        HOLD: closed or ('it is held already' if flow.held else ''),
        RESUME: closed or ('' if flow.paused else 'it is not paused'),
        CANCEL: closed}


def action_orders(flow: FlowShown, path: str, shown: Shown) -> dict[str, str]:
    """Return why each order to an action makes no sense now; '' if it does."""
    closed = _closed(flow)
    names = RESUME, SKIP, RETRY, BREAKPOINT, CLEAR_BREAKPOINT, CANCEL
    if closed:
        return dict.fromkeys(names, closed)
    ended = shown.state == ActionState.TERMINATED.value
    begun = shown.state != ActionState.ASSIGNED.value
    at_breakpoint = path in flow.breakpoints
    return {
        RESUME: _resume(begun, at_breakpoint, shown),
        SKIP: 'it has ended' if ended else _skip(shown),
        RETRY: _retry(shown),
        BREAKPOINT: 'it has begun' if begun else (
            'it has a breakpoint already' if at_breakpoint else ''),
        CLEAR_BREAKPOINT: '' if at_breakpoint else 'it has no breakpoint',
        CANCEL: 'it has ended' if ended else ''}


def _closed(flow: FlowShown) -> str:
    """Return why a flow takes no orders; '' if it does."""
    if flow.ended:
        return f'the flow has ended ({flow.state})'
    if flow.canceled_by:
        return f'the flow is being canceled, by {flow.canceled_by}'
    return ''


def _resume(begun: bool, at_breakpoint: bool, shown: Shown) -> str:
    if begun:
        return 'it has begun'
    if not at_breakpoint:
        return 'it has no breakpoint'
    return '' if _AT_BREAKPOINT in shown.waits_for else (
        'it has not come to its breakpoint; clear it instead')


def _skip(shown: Shown) -> str:
    if shown.state in _SKIPPABLE or shown.is_stopped:
        return ''
    return 'it is at work; cancel it, or pause the flow with hold, first'


def _retry(shown: Shown) -> str:
    if shown.state == ActionState.ERROR.value:
        return ''
    if shown.state == ActionState.FALLBACK_REQUESTED.value:
        return 'a person is asked what to do; answer the question'
    if shown.state != ActionState.TERMINATED.value:
        return 'it has not ended'
    return 'it has succeeded' if shown.outcome == ActionOutcome.SUCCEEDED.value else ''
