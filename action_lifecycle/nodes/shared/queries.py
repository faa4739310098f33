# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The services that read the journal; the action node and the ledger node offer them."""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.srv import GetAction, GetDialogue, GetHistory, ListActions

from ...dialogue.flow_dialogue import dialogue_rows, entries_of
from ...graphs.packaged import packaged_graph
from ...journal.flow_rows import flow_event, history_page
from ...journal.projection import Projection
from ...journal.reader import JournalReader
from ...journal.row import Row
from ...lifecycle.flow_ids import stored
from ...lifecycle.states import ErrorCode
from ...ros.conversions.basic import to_time
from ...ros.conversions.status import change_to, flow_change_to, status_to
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import sleep

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
SLICE = 50  #: rows or actions processed at once; takes a few ms


class Queries:
    """
    Offers `~/get_action`, `~/list_actions`, `~/get_history`, `~/get_dialogue` from a journal.

    Responses are made in slices, between which other callbacks run, since the first query after a
    start reads the whole journal.
    """

    def __init__(self, node: ManagedNode, reader: JournalReader) -> None:
        self.node = node
        self.reader = reader
        self.projection = Projection(reader, packaged_graph('action'))
        node.add_service(GetAction, '~/get_action', self.get_action)
        node.add_service(ListActions, '~/list_actions', self.list_actions)
        node.add_service(GetHistory, '~/get_history', self.get_history)
        node.add_service(GetDialogue, '~/get_dialogue', self.get_dialogue)

    async def get_action(self, request: Any, response: Any) -> Any:
        """Fill the response with the state of an action in the journal."""
        await self._catch_up()
        action = self.projection.get(*stored(request.flow_id, request.action_id))
        if action is None:
            response.error_code = int(ErrorCode.NOT_FOUND)
            of_flow = f" of flow '{request.flow_id}'" if request.flow_id else ''
            response.error_msg = f"no action '{request.action_id}'{of_flow}"
        else:
            response.status = status_to(action)
            response.possible_events = list(action.machine.possible_events())
        return response

    async def list_actions(self, request: Any, response: Any) -> Any:
        """Fill the response with a page of the matching actions."""
        await self._catch_up()
        found = self.projection.find(
            flow_id=request.flow_id, states=request.states, outcomes=request.outcomes,
            open_only=request.open_only)
        page = found[request.offset:request.offset + page_limit(request.limit)]
        response.total = len(found)
        for start in range(0, len(page), SLICE):
            response.actions.extend(
                status_to(action) for action in page[start:start + SLICE])
            await sleep(self.node, 0.0)
        return response

    async def get_history(self, request: Any, response: Any) -> Any:
        """Fill the response with a page of the changes of actions and flows, in order."""
        limit = page_limit(request.limit)
        flow_id, action_id = stored(request.flow_id, request.action_id)
        after: int | None = int(request.after_seq)
        rows: list[Row] = []
        while after is not None and len(rows) <= limit:
            changes, after = history_page(self.reader, flow_id, after, SLICE)
            rows += [row for row in changes if not action_id or (
                row.kind == 'transition' and row.action_id == action_id
                and flow_id in ('', row.flow_id))]
            await sleep(self.node, 0.0)
        response.more = len(rows) > limit
        for number, row in enumerate(rows[:limit], 1):
            if row.kind == 'transition':
                response.changes.append(change_to(row))
            else:
                response.flow_changes.append(flow_change_to(flow_event(row)))
            if number % SLICE == 0:
                await sleep(self.node, 0.0)
        return response

    def get_dialogue(self, request: Any, response: Any) -> Any:
        """Fill the response with a page of the entries of a flow's dialogue."""
        rows = dialogue_rows(self.reader, request.flow_id) if request.flow_id else []
        if not rows and (not request.flow_id or next(self.reader.rows(
                flow_id=request.flow_id, limit=1), None) is None):
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = f"the journal has no flow '{request.flow_id}'"
            return response
        response.total = len(rows)
        page = rows[request.offset:request.offset + page_limit(request.limit)]
        for entry in entries_of(page):
            response.entries.append(msg.DialogueEntry(
                stamp=to_time(entry.stamp), flow_id=request.flow_id, state=entry.state,
                actor=entry.actor, persistence=entry.persistence.value, text=entry.text))
        return response

    async def _catch_up(self) -> None:
        while self.projection.update(SLICE):
            await sleep(self.node, 0.0)


def page_limit(asked: int) -> int:
    """Return the number of items of a page; 0: the default."""
    return min(asked or DEFAULT_LIMIT, MAX_LIMIT)
