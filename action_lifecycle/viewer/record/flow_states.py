# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a flow was at each of its rows: state, orders of people, and the numbers of actions."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .shown import FINAL, FlowShown, StateEntered
from ...flow.run.flow_control import FlowControl
from ...flow.run.flow_ender import BROKEN
from ...flow.run.nested import TAKEN
from ...journal.flow_rows import PLAN
from ...journal.row import Row
from ...lifecycle.states import ActionOutcome

BUCKETS = ('running', *(outcome.value for outcome in ActionOutcome))
STEERING = 'asks the planner how to go on'


class FlowStates:
    """The states of a flow over its rows; `total`: number of its own actions."""

    def __init__(self) -> None:
        self.ended: float | None = None  #: wall time (s)
        self._seqs = [0]
        self._states = [FlowShown()]
        self._count_seqs = [0]
        self._counts: list[tuple[int, ...]] = [(0,) * len(BUCKETS)]
        self._total_seqs = [0]
        self._totals = [0]
        self._bucket: dict[str, int] = {}
        self._entered: list[tuple[int, StateEntered]] = []

    @property
    def now(self) -> FlowShown:
        """Return what the flow is now, without counts."""
        return self._states[-1]

    def at(self, seq: int | None) -> FlowShown:
        """Return what the flow was after the rows up to `seq`; None: now."""
        found = self._states[_index(self._seqs, seq)]
        counts = dict(zip(BUCKETS, self._counts[_index(self._count_seqs, seq)]))
        total = self._totals[_index(self._total_seqs, seq)]
        counts['waiting'] = max(0, total - sum(counts.values()))
        return replace(found, counts=counts, total=total)

    def entered(self, seq: int | None) -> list[StateEntered]:
        """Return the states up to the row `seq`, from START on, at most the last 20."""
        return [found for first, found in self._entered if seq is None or first <= seq][-20:]

    def breakpoints(self, seq: int | None) -> Sequence[str]:
        """Return the paths with a breakpoint after the rows up to `seq`."""
        return self._states[_index(self._seqs, seq)].breakpoints

    def set_total(self, seq: int, total: int) -> None:
        """Set the number of actions from row `seq` on."""
        self._total_seqs.append(seq)
        self._totals.append(total)

    def count(self, seq: int, name: str, state: str, outcome: str) -> None:
        """Count an action of the flow in its new state."""
        before = self._bucket.get(name, -1)
        bucket = -1 if state == 'assigned' else \
            BUCKETS.index(outcome) if outcome in BUCKETS else 0
        if bucket == before:
            return
        counts = list(self._counts[-1])
        for index, change in ((before, -1), (bucket, 1)):
            if index >= 0:
                counts[index] += change
        self._bucket[name] = bucket
        self._count_seqs.append(seq)
        self._counts.append(tuple(counts))

    def take(self, row: Row) -> None:
        """Take a row of the flow itself: of kind 'flow' or 'plan', or a note."""
        data = row.data_or_empty
        if not self._entered:
            self._enter(row, 'START')
        if row.kind == 'flow':
            self._flow(row, data)
        elif row.kind == PLAN:
            self._plan(row, data)
        elif row.kind != 'note':
            return
        elif row.event == 'cancel_flow':
            self._change(row.seq, canceled_by=row.actor)
        elif row.event == BROKEN:
            self._change(row.seq, error_code=_text(data, 'error_code'), error_msg=row.cause)
        elif row.event in ('steering_asked', 'steering_answered'):
            self._change(row.seq, planning=STEERING if row.event == 'steering_asked' else '')

    def ordered(self, seq: int, control: FlowControl, breakpoints: Sequence[str]) -> None:
        """Take over the orders of people; `breakpoints`: paths, also in nested flows."""
        self._change(seq, paused=control.paused, held=control.hold, paused_by=control.paused_by,
                     breakpoints=tuple(breakpoints))

    def _flow(self, row: Row, data: Mapping[str, Any]) -> None:
        fields: dict[str, Any] = {
            'state': row.to_state, 'stage': _text(data, 'stage') or self.now.stage}
        self._enter(row, row.to_state)
        if row.event == 'accepted':
            fields['planning'] = ''
        if row.to_state in FINAL and row.event != TAKEN:
            code = _text(data, 'error_code')
            self.ended = row.wall_time
            fields.update(error_code='' if code == 'NONE' else code, error_msg=row.cause,
                          planning='')
        self._change(row.seq, **fields)

    def _plan(self, row: Row, data: Mapping[str, Any]) -> None:
        order = data.get('order')
        request = _text(order, 'request') if isinstance(order, dict) else ''
        if not row.final:
            self._change(row.seq, planning=f'{row.event}: {request}' if request else row.event)
        elif row.event == 'failed':
            self.ended = row.wall_time
            self._enter(row, 'FAIL')
            self._change(row.seq, state='FAIL', planning='', error_msg=row.cause,
                         error_code=_text(data, 'error_code'))
        else:
            self._change(row.seq, planning='')

    def _enter(self, row: Row, state: str) -> None:
        if not self._entered or self._entered[-1][1].state != state:
            self._entered.append((row.seq, StateEntered(state, row.wall_time)))

    def _change(self, seq: int, **fields: Any) -> None:
        changed = replace(self.now, **fields)
        if changed != self.now:
            self._seqs.append(seq)
            self._states.append(changed)


def _index(seqs: list[int], seq: int | None) -> int:
    return len(seqs) - 1 if seq is None else max(0, bisect.bisect_right(seqs, seq) - 1)


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name, '')
    return value if isinstance(value, str) else ''
