# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The actions that have markers: those that have begun, and ended ones for some seconds."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from ...documents.stamps import to_seconds
from ...flow.run.flow_run import SHOWN
from ...lifecycle.ports import Evidence
from ...report.looks import ACTIVE, Look, LOOKS, state_look
from ...world.evidence_messages import evidence_from

Key = tuple[str, str]
"""Flow and path of an action, as messages have them."""
REMEMBERED = 1000
"""Number of ended actions that an old message does not show again."""
GONE = 'gone'
"""State of an action that has ended without a message of its end."""
_ERROR_SHOWN = ('error', 'fallback', 'pending')


class ShownAction(NamedTuple):
    """An action as its markers show it."""

    flow_id: str
    action_id: str
    state: str
    outcome: str = ''
    attempt: int = 0
    note: str = ''  #: why it failed, or the progress of its work
    step: int = 0
    evidence: tuple[Evidence, ...] = ()
    seq: int = 0  #: row of its last change
    stamp: float = 0.0  #: ROS time (s) of that change

    @property
    def key(self) -> Key:
        """Return flow and path."""
        return self.flow_id, self.action_id

    @property
    def look(self) -> Look:
        """Return how its state looks."""
        return LOOKS['waiting'] if self.state == GONE else state_look(self.state, self.outcome)

    @property
    def has_ended(self) -> bool:
        """Return whether it has ended."""
        return self.state in ('terminated', GONE)


class ShownActions:
    """
    Takes messages of the action node; all times of `clock` are steady, in s.

    `linger`: time (s) for which an ended action stays.
    """

    def __init__(self, linger: float, clock: Callable[[], float]) -> None:
        self._linger = linger
        self._clock = clock
        self._open: dict[Key, ShownAction] = {}
        self._ended: dict[Key, tuple[float, ShownAction]] = {}  #: with the time to remove each
        self._past: OrderedDict[Key, tuple[int, float]] = OrderedDict()

    def take_change(self, change: Any) -> bool:
        """Take an ActionStateChange; returns whether something that is shown has changed."""
        key = change.flow_id, change.action_id
        stamp = to_seconds(change.stamp)
        if self._is_old(key, change.seq, stamp):
            return False
        known = self._open.get(key)
        evidence = tuple(map(evidence_from, change.evidence))
        step = 0
        if known is not None and known.attempt == change.attempt:
            evidence, step = evidence or known.evidence, known.step
        return self._put(ShownAction(
            *key, change.to_state, change.outcome, change.attempt,
            change.cause if change.error_code else '', step, evidence, change.seq, stamp),
            has_begun=change.from_state != 'assigned')

    def take_statuses(self, message: Any) -> bool:
        """Take an ActionStatusArray, which has the open actions; returns as `take_change`."""
        changed = False
        listed = {(status.flow_id, status.action_id) for status in message.actions}
        sizes = Counter(flow_id for flow_id, _ in listed)
        for status in message.actions:
            changed |= self._take_status(status)
        made = to_seconds(message.stamp)
        for key, action in [*self._open.items()]:
            if key not in listed and sizes[action.flow_id] < SHOWN and action.stamp < made:
                changed |= self._put(action._replace(state=GONE, note=''), has_begun=True)
        return changed

    def _take_status(self, status: Any) -> bool:
        key = status.flow_id, status.action_id
        stamp = to_seconds(status.stamp)
        known = self._open.get(key)
        if (known is None or status.seq != known.seq) and self._is_old(key, status.seq, stamp):
            return False
        evidence = tuple(map(evidence_from, status.evidence))
        if known is not None and known.attempt == status.attempt:
            evidence = evidence or known.evidence
        return self._put(ShownAction(
            *key, status.state.value, '', status.attempt, _note(status), status.step, evidence,
            status.seq, stamp), has_begun=True)

    def lost(self) -> bool:
        """Remove all actions, as their node has gone; returns whether there were any."""
        there = bool(self._open or self._ended)
        self._open.clear()
        self._ended.clear()
        return there

    def expire(self) -> bool:
        """Remove the actions that ended `linger` ago; returns whether there were any."""
        now = self._clock()
        over = [key for key, (end, _) in self._ended.items() if end <= now]
        for key in over:
            del self._ended[key]
        return bool(over)

    def next_expiry(self) -> float | None:
        """Return the time at which the next action is to be removed."""
        return min((end for end, _ in self._ended.values()), default=None)

    def newest(self, limit: int) -> list[ShownAction]:
        """Return the actions that changed last, open ones first, in the order of their names."""
        shown = [*self._open.values(), *(action for _, action in self._ended.values())]
        shown.sort(key=lambda action: (not action.has_ended, action.stamp, action.seq))
        return sorted(shown[max(0, len(shown) - limit):], key=lambda action: action.key)

    def _put(self, action: ShownAction, *, has_begun: bool) -> bool:
        key = action.key
        known = self._open.pop(key, None)
        if action.has_ended:
            self._past[key] = action.seq, action.stamp
            self._past.move_to_end(key)
            if len(self._past) > REMEMBERED:
                self._past.popitem(last=False)
            if has_begun or known is not None:
                self._ended[key] = self._clock() + self._linger, action
            return has_begun or known is not None
        if state_look(action.state).name not in ACTIVE:
            return known is not None
        late = self._ended.pop(key, None)
        self._open[key] = action
        return late is not None or known != action

    def _is_old(self, key: Key, seq: int, stamp: float) -> bool:
        """Whether a message is not newer than what is known; a new journal begins at row 1."""
        known = self._open.get(key)
        found = (known.seq, known.stamp) if known is not None else self._past.get(key)
        return found is not None and seq <= found[0] and stamp <= found[1]


def _note(status: Any) -> str:
    """Return the error of an action that has failed, or the progress of the work that runs."""
    look = state_look(status.state.value).name
    if look in _ERROR_SHOWN:
        return str(status.error_msg)
    if look != 'executing_motion' or not status.step_kind:
        return ''
    return f'{status.step_kind} {status.step + 1}: {status.progress_text}'.removesuffix(': ')
