# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flows of a journal as they ran, with their edits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import json
from typing import Any

from ...documents.errors import LifecycleError
from ...flow.edits.edit_validation import replay_edit
from ...flow.files.edit import parse_edit
from ...flow.files.flow import Flow
from ...flow.files.journaled import journaled_flow
from ...flow.files.sources import from_rows
from ...flow.run.flow_run import FlowRun
from ...journal.row import Row

UNUSABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions at data of intact rows that are not as this package writes them."""
MAX_FLOWS = 128
"""Maximum number of flows that are kept parsed for others of the same text and parameters."""


@dataclass
class _Journaled:
    head: Mapping[str, Any]
    parts: list[str]
    edits: list[Row] = field(default_factory=list)  #: that are not applied yet
    flow: Flow | None = None
    run: FlowRun | None = None  #: for edits


class JournaledFlows:
    """The flows as they are at the row that was taken last; each is parsed when it is needed."""

    def __init__(self) -> None:
        self._known: dict[str, _Journaled] = {}
        self._parsed: dict[str, Flow] = {}

    def take(self, row: Row) -> None:
        """Take a row of kind 'flow'."""
        data = row.data
        if row.event == 'accepted':
            self._known[row.flow_id] = _Journaled(data, [str(data.get('text', ''))])
            return
        one = self._known.get(row.flow_id)
        if one is None:
            return
        if row.event == 'text':
            one.parts.append(str(data.get('text', '')))
        elif row.event == 'edited':
            one.edits.append(row)
        if row.final:
            del self._known[row.flow_id]

    def origin(self, flow_id: str) -> Mapping[str, Any]:
        """Return where a flow comes from; for a nested one, `request` is the id of the step."""
        one = self._known.get(flow_id)
        found = None if one is None else one.head.get('origin')
        return found if isinstance(found, dict) else {}

    def find(self, flow_id: str) -> Flow:
        """Return a flow with its edits so far; raises LifecycleError if the journal has none."""
        one = self._known.get(flow_id)
        if one is None:
            raise LifecycleError(f"the journal does not have the text of flow '{flow_id}': "
                                 'compaction has removed it')
        try:
            if one.flow is None:
                one.flow = self._parse(one)
            for row in one.edits:
                one.flow = _edited(one, row)
        except UNUSABLE as error:
            raise LifecycleError(
                f"the journal has a text of flow '{flow_id}' that can not be used: {error!r}"
            ) from error
        one.edits.clear()
        return one.flow

    def _parse(self, one: _Journaled) -> Flow:
        text = ''.join(one.parts)
        key = text + json.dumps([one.head.get('file'), one.head.get('parameters')],
                                sort_keys=True)
        if key not in self._parsed:
            if len(self._parsed) >= MAX_FLOWS:
                del self._parsed[next(iter(self._parsed))]
            self._parsed[key] = journaled_flow(one.head, text, [])
        return self._parsed[key]


def _edited(one: _Journaled, row: Row) -> Flow:
    """Return the flow of a run after a journaled edit, as a restart applies it."""
    def nothing_runs(*asked: Any) -> Any:
        raise LifecycleError('nothing of this flow runs')

    if one.run is None:
        assert one.flow is not None
        one.run = FlowRun(row.flow_id, one.flow.copy(), 0, nothing_runs, nothing_runs)
    data = row.data
    one.run.flow.sources.add(from_rows(data.get('nested', [])))
    one.run.apply_edit(replay_edit(one.run, parse_edit(data['edit'], data['file']),
                                   data['names']), row.seq, row.actor)
    return one.run.flow
