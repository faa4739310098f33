# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The service ~/get_dialogue; the action node and the ledger node offer it."""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.srv import GetDialogue

from ...dialogue.flow_dialogue import dialogue_rows, entries_of
from ...journal.reader import JournalReader
from ...lifecycle.states import ErrorCode
from ...ros.conversions.basic import to_time
from ...ros.node.lifecycle_node import ManagedNode

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000


class DialogueQueries:
    """Offers `~/get_dialogue` from a journal."""

    def __init__(self, node: ManagedNode, reader: JournalReader) -> None:
        self._reader = reader
        node.add_service(GetDialogue, '~/get_dialogue', self._get)

    def _get(self, request: Any, response: Any) -> Any:
        """Fill the response with a page of entries."""
        rows = dialogue_rows(self._reader, request.flow_id) if request.flow_id else []
        if not rows and (not request.flow_id or next(self._reader.rows(
                flow_id=request.flow_id, limit=1), None) is None):
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = f"the journal has no flow '{request.flow_id}'"
            return response
        limit = min(request.limit or DEFAULT_LIMIT, MAX_LIMIT)
        response.total = len(rows)
        for entry in entries_of(rows[request.offset:request.offset + limit]):
            response.entries.append(msg.DialogueEntry(
                stamp=to_time(entry.stamp), flow_id=request.flow_id, state=entry.state,
                actor=entry.actor, persistence=entry.persistence.value, text=entry.text))
        return response
