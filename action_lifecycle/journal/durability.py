# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The durability of rows: against the end of the process, or also against power loss.

Every appended row survives the end of the process. For each kind of event it is configured whether
a row must also survive a power loss.
"""

from __future__ import annotations

from collections.abc import Mapping

from .row import Entry, Row
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest
from ..lifecycle.states import ActionState

STEP = 'step'
"""Event of the notes that a step of an action's work begins."""
PROCESS, POWER = 'process', 'power'
DURABILITIES = (PROCESS, POWER)

MOTION_START = 'motion_start'
EVENT_KINDS: Mapping[str, str] = {
    MOTION_START: POWER, 'terminal': POWER, 'transition': PROCESS, 'flow': PROCESS,
    'other': PROCESS}
"""The kinds of events with defaults; `transition`: other changes of an action."""


def event_kind(entry: Entry | Row) -> str:
    """Return one of EVENT_KINDS."""
    if entry.kind == 'transition':
        if entry.final:
            return 'terminal'
        return MOTION_START if entry.to_state == ActionState.EXECUTING_MOTION else 'transition'
    if entry.event == STEP and entry.to_state == ActionState.EXECUTING_MOTION:
        return MOTION_START
    return entry.kind if entry.kind == 'flow' else 'other'


def power_kinds(durability: Mapping[str, str]) -> frozenset[str]:
    """Return the kinds of events that must survive a power loss; raises LifecycleError."""
    for kind, value in durability.items():
        if kind not in EVENT_KINDS:
            raise LifecycleError(f"durability: unknown kind of event '{kind}'; expected one of "
                                 + ', '.join(EVENT_KINDS) + nearest(kind, EVENT_KINDS))
        if value not in DURABILITIES:
            raise LifecycleError(f"durability of {kind}: expected process or power, got '{value}'"
                                 + nearest(value, DURABILITIES))
    return frozenset(kind for kind, default in EVENT_KINDS.items()
                     if durability.get(kind, default) == POWER)
