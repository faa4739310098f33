# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What people have ordered of a running flow: pause, breakpoints, skipped and retried actions.

Each order is a journal row of kind 'note'. The state follows from these rows by `apply`, both live
and when they are read back after a restart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...journal.row import Row

PAUSED = 'paused'  #: data: `hold`
RESUMED = 'resumed'  #: data: `action`, if it is resumed at its breakpoint
SKIPPED = 'skipped'  #: data: `action`
RETRIED = 'retried'  #: data: `action`; `actions`: those that are assigned again, it is the first
BREAKPOINT_SET = 'breakpoint_set'  #: data: `action`
BREAKPOINT_CLEARED = 'breakpoint_cleared'  #: data: `action`
CONTROL_EVENTS = frozenset({
    PAUSED, RESUMED, SKIPPED, RETRIED, BREAKPOINT_SET, BREAKPOINT_CLEARED})
"""The events of the notes with orders; `actor` and `cause` are who gave it, and why."""


@dataclass
class FlowControl:
    """The orders that apply to a flow; `hold`: what moves is stopped, too."""

    paused: bool = False
    paused_by: str = ''
    paused_seq: int = 0  #: journal row of the pause
    hold: bool = False
    breakpoints: dict[str, str] = field(default_factory=dict)  #: who set it, by action
    skipped: dict[str, tuple[str, str]] = field(default_factory=dict)  #: actor, reason, by action
    again: set[str] = field(default_factory=set)  #: retried after their end, not started since
    retries: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: after a restart: actor and reason of retries of actions that have no row since
    went_on: Row | None = None  #: after a restart: the resume after the last hold
    ordered: dict[str, int] = field(default_factory=dict)
    #: journal row of the last order, by action; '': of the last pause or resume of the flow

    def apply(
        self, event: str, data: Mapping[str, Any], actor: str, cause: str, seq: int
    ) -> None:
        """Apply a journaled order."""
        name = str(data.get('action', ''))
        for other in {name, *data.get('actions', ())}:
            self.ordered[other] = seq
        if event == PAUSED:
            self.hold = self.hold or bool(data.get('hold'))
            self.paused_by = self.paused_by if self.paused else actor
            self.paused, self.paused_seq = True, seq
        elif event == RESUMED and not name:
            self.end_pause()
        elif event in (RESUMED, BREAKPOINT_CLEARED):
            self.breakpoints.pop(name, None)
        elif event == BREAKPOINT_SET:
            self.breakpoints[name] = actor
        elif event == SKIPPED:
            self.skipped[name] = actor, cause or f'skipped by {actor}'
            self.breakpoints.pop(name, None)
        elif event == RETRIED:
            for other in data.get('actions', [name]):
                self.skipped.pop(other, None)
            self.again.update(data.get('actions', ())[:1])

    def end_pause(self) -> None:
        """End the pause: by an order, or since the flow is canceled."""
        self.paused = self.hold = False
        self.paused_by, self.paused_seq = '', 0

    def started(self, name: str) -> None:
        """Handle the start of an action."""
        self.again.discard(name)

    def ended(self, name: str) -> None:
        """Handle the end of an action."""
        self.again.discard(name)
        self.breakpoints.pop(name, None)

    def removed(self, names: Collection[str]) -> None:
        """Handle that an edit has removed actions."""
        for name in names:
            self.ended(name)
            self.skipped.pop(name, None)
            self.retries.pop(name, None)
            self.ordered.pop(name, None)
