# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The actions in a journal, updated incrementally."""

from __future__ import annotations

from collections.abc import Collection

from .action_rows import concerns_action, replay
from .reader import JournalReader
from ..graphs.graph import Graph
from ..lifecycle.action import Action
from ..lifecycle.flow_ids import is_within
from ..lifecycle.ports import Recorder
from ..lifecycle.spec import ActionSpec
from ..lifecycle.states import ActionState

MAX_ENDED = 10_000
"""Maximum number of ended actions in memory; the journal has all."""


class ReadOnly:
    """The recorder of actions that are only read."""

    def transition(self, action: object, change: object) -> None:
        raise AssertionError('a projection changes nothing')

    published = transition

    step = transition

    def call_soon(self, callback: object) -> None:
        raise AssertionError('a projection changes nothing')

    barrier = call_soon


class Projection:
    """Answers queries about actions from a journal, in time proportional to the new rows."""

    def __init__(self, reader: JournalReader, graph: Graph) -> None:
        self._reader = reader
        self._graph = graph
        self._recorder: Recorder = ReadOnly()
        self._seq = 0
        self._actions: dict[tuple[str, str], Action] = {}

    def update(self, limit: int | None = None) -> bool:
        """
        Read at most `limit` new rows; returns whether there may be more.

        Every call that reaches a damaged row raises JournalError (LedgerError for a ledger).
        """
        count = 0
        for row in self._reader.intact_rows(after=self._seq, limit=limit):
            count += 1
            self._seq = row.seq
            if not concerns_action(row):
                continue
            key = row.flow_id, row.action_id
            # Remove and add it again, to order the actions by their last change.
            action = self._actions.pop(key, None) or Action(
                *key, ActionSpec(), self._graph, self._recorder)
            replay(action, row)
            if row.kind == 'transition':
                action.dated(row.seq, row.ros_time or 0.0, row.to_state)
            if action.seq or action.waits_for:  # not one that an edit may have removed since
                self._actions[key] = action
        if len(self._actions) > 2 * MAX_ENDED:
            self._forget()
        return count == limit

    def _forget(self) -> None:
        ended = [key for key, action in self._actions.items()
                 if action.state is ActionState.TERMINATED]
        for key in ended[:-MAX_ENDED]:
            del self._actions[key]

    def get(self, flow_id: str, action_id: str) -> Action | None:
        """Return an action; without a flow id, the last changed one with that action id."""
        self.update()
        if flow_id:
            return self._actions.get((flow_id, action_id))
        return next((action for action in reversed(self._actions.values())
                     if action.action_id == action_id), None)

    def find(
        self, *, flow_id: str = '', states: Collection[str] = (), outcomes: Collection[str] = (),
        open_only: bool = False,
    ) -> list[Action]:
        """
        Return the actions that match all filters, the newest change first.

        `flow_id`: of this flow and of those that its actions run.
        """
        self.update()
        return [
            action for action in reversed(self._actions.values())
            if (not flow_id or is_within(action.flow_id, flow_id))
            and (not states or action.state in states)
            and (not outcomes or action.outcome in outcomes)
            and not (open_only and action.state is ActionState.TERMINATED)]
