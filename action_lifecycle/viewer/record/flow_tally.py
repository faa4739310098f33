# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flows in a list, with the numbers of their actions, from few rows."""

from __future__ import annotations

from collections.abc import Iterable

from .shown import FlowHead
from ...flow.run.flow_control import PAUSED, RESUMED
from ...journal.flow_rows import PLAN
from ...journal.row import Row
from ...lifecycle.states import ActionOutcome


class FlowTally:
    """Counts the ended actions of an open flow from its rows; other rows are ignored."""

    def __init__(self, flow_id: str) -> None:
        self.flow_id = flow_id
        self.last_seq = 0
        self._total = 0
        self._names: set[str] = set()  #: actions that have rows
        self._ended: set[str] = set()
        self.paused = False

    def take(self, row: Row) -> None:
        """Take the next row."""
        if row.flow_id != self.flow_id or row.seq <= self.last_seq:
            return
        self.last_seq = row.seq
        if row.kind == 'transition':
            self._names.add(row.action_id)
            (self._ended.add if row.final else self._ended.discard)(row.action_id)
        elif row.kind == 'note' and row.event in (PAUSED, RESUMED):
            if row.event == PAUSED or not row.data_or_empty.get('action'):
                self.paused = row.event == PAUSED
        elif row.kind == 'flow' and row.event in ('accepted', 'edited'):
            data = row.data_or_empty
            self._total += _length(data.get('action_names')) + _length(data.get('added')) \
                - _length(data.get('removed'))

    @property
    def numbers(self) -> tuple[int, int]:
        """Return the numbers of ended and of all actions."""
        return len(self._ended), max(self._total, len(self._names))


def heads_of(rows: Iterable[Row]) -> list[FlowHead]:
    """Return the flows in rows as `RowSource.flows` returns them, in their order."""
    ends: dict[str, list[Row]] = {}
    for row in rows:
        ends.setdefault(row.action_id if row.kind == PLAN else row.flow_id, []).append(row)
    heads = [_head(flow_id, of_flow) for flow_id, of_flow in ends.items()]
    return [head for head in heads if head is not None]


def _head(flow_id: str, rows: list[Row]) -> FlowHead | None:
    first, last = rows[0], rows[-1]
    if last.kind == PLAN:
        if last.final and last.event != 'failed':
            return None  # its flow was removed by compaction
        return FlowHead(flow_id, flow_id, '', first.wall_time, last.wall_time if last.final
                        else None, 'FAIL' if last.final else 'START', seq=first.seq)
    data, end = first.data_or_empty, last.data_or_empty
    done = sum(_number(end.get(outcome.value)) for outcome in ActionOutcome)
    return FlowHead(
        flow_id, str(data.get('name') or flow_id), str(data.get('file', '')), first.wall_time,
        last.wall_time if last.final else None, last.to_state, done,
        _number(end.get('total')) or _length(data.get('action_names')), first.seq,
        error_code=str(end.get('error_code', '')) if last.final else '')


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
