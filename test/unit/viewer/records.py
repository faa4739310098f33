# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Records of flows from the rows of a journal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from action_lifecycle.journal import JournalReader, Projection, Row
from action_lifecycle.journal.flow_reader import FlowReader
from action_lifecycle.lifecycle.action import Action
from action_lifecycle.lifecycle.flow_ids import shown
from action_lifecycle.lifecycle.states import blocked_text
from action_lifecycle.viewer.record import FlowRecord, LocalRows, RobotRecord
from action_lifecycle.viewer.record.shown import Shown

from ..flow.robot import GRAPH


def loaded(path: str | Path, flow_id: str) -> FlowRecord:
    """Return a flow as `RobotRecord` loads it."""
    return asyncio.run(RobotRecord(LocalRows(path)).flow(flow_id))


def rows_of(path: str | Path, flow_id: str) -> list[Row]:
    with FlowReader(path) as reader:
        return [row for row, _ in reader.flow_rows(flow_id, 0, 1_000_000)]


class ProjectionUntil(Projection):
    """The actions as `Projection` has them after each row."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(JournalReader(path), GRAPH)

    def step(self) -> bool:
        """Read the next row; returns whether there was one."""
        return self.update(limit=1)

    def shown(self) -> dict[tuple[str, str], tuple[str, str, int, str]]:
        """Return state, outcome, attempt and wait of each action."""
        return {key: (action.state.value, action.outcome.value if action.outcome else '',
                      action.attempt, blocked_text(action.waits_for))
                for key, action in self._actions.items()}


def plain(shown: Shown) -> tuple[str, str, int, str]:
    return shown.state, shown.outcome, shown.attempt, shown.waits_for


def everything(record: FlowRecord, seq: int | None = None) -> dict[str, Any]:
    """Return all that a record shows at a moment."""
    nodes = record.nodes(seq)
    paths = {*nodes, *(bar.path for bar in record.bars(seq))}
    return {
        'nodes': list(nodes.items()), 'flow': record.flow(seq), 'bars': record.bars(seq),
        'text': record.text(seq=seq), 'history': record.history(seq=seq),
        'actions': {path: (
            record.shown(path, seq), record.attempts(path, seq), record.history(path, seq),
            record.text(path, seq), without_machine(record.action(path, seq)))
            for path in paths}}


def without_machine(action: Action) -> dict[str, Any]:
    return {name: value for name, value in vars(action).items()
            if name not in ('machine', 'recorder', 'rng')} | {'state': action.state}


def compare_moments(path: str | Path, flow_id: str) -> FlowRecord:
    """Compare the whole record at each row with a record of the rows up to it."""
    record, until = loaded(path, flow_id), FlowRecord(flow_id)
    for row in rows_of(path, flow_id):
        until.take(row)
        shown_then, then = everything(record, row.seq), everything(until)
        for part in then:
            assert shown_then[part] == then[part], (row.seq, part)
    return record


def compare_each_row(path: str | Path, flow_id: str) -> FlowRecord:
    """Compare what the record shows of each action at each row with a projection."""
    record = compare_moments(path, flow_id)
    projection = ProjectionUntil(path)
    while projection.step():
        seq = projection._seq
        now = {shown(*key)[1]: state for key, state in projection.shown().items()
               if shown(*key)[0] == flow_id}
        assert {name: plain(record.shown(name, seq)) for name in now} == now, seq
    projection._reader.close()
    return record
