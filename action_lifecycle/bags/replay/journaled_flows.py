# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flows of a journal as they ran, with their edits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...documents.errors import LifecycleError
from ...flow.edits.edit_validation import idle_run, replay_edit
from ...flow.files.flow import LoadedFlow
from ...flow.files.journaled import JournaledText
from ...flow.run.flow_run import FlowRun
from ...journal.row import Row

UNUSABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions at data of intact rows that are not as this package writes them."""


@dataclass
class _Journaled:
    text: JournaledText
    edits: list[Row] = field(default_factory=list)  #: that are not applied yet
    flow: LoadedFlow | None = None
    run: FlowRun | None = None  #: for edits


class JournaledFlows:
    """The flows as they are at the row that was taken last; each is parsed when it is needed."""

    def __init__(self) -> None:
        self._known: dict[str, _Journaled] = {}

    def take(self, row: Row) -> None:
        """Take a row of kind 'flow'."""
        if row.event == 'accepted':
            self._known[row.flow_id] = _Journaled(JournaledText())
        one = self._known.get(row.flow_id)
        if one is None:
            return
        if row.event in ('accepted', 'text'):
            one.text.take(row)
        elif row.event == 'edited':
            one.edits.append(row)
        if row.final:
            del self._known[row.flow_id]

    def origin(self, flow_id: str) -> Mapping[str, Any]:
        """Return where a flow comes from; for a nested one, `request` is the id of the step."""
        one = self._known.get(flow_id)
        found = None if one is None else one.text.head.get('origin')
        return found if isinstance(found, dict) else {}

    def find(self, flow_id: str) -> LoadedFlow:
        """Return a flow with its edits so far; raises LifecycleError if the journal has none."""
        one = self._known.get(flow_id)
        if one is None:
            raise LifecycleError(f"the journal does not have the text of flow '{flow_id}': "
                                 'compaction has removed it')
        try:
            if one.flow is None:
                one.flow = one.text.cached()
            for row in one.edits:
                one.flow = _edited(one, row)
        except UNUSABLE as error:
            raise LifecycleError(
                f"the journal has a text of flow '{flow_id}' that can not be used: {error!r}"
            ) from error
        one.edits.clear()
        return one.flow


def _edited(one: _Journaled, row: Row) -> LoadedFlow:
    """Return the flow of a run after a journaled edit, as a restart applies it."""
    if one.run is None:
        assert one.flow is not None
        one.run = idle_run(one.flow.copy())
    replay_edit(one.run, row)
    return one.run.flow
