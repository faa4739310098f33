# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The services that answer questions about actions, the same in both nodes with a journal."""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs.srv import GetAction, GetHistory, ListActions

from .messages import change_to, status_to
from ..engine import Graph
from ..ledger import JournalReader
from ..ledger.projection import Projection
from ..lifecycle.states import ErrorCode
from ..ros.lifecycle_node import ManagedNode

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000


class Queries:
    """Offers `~/get_action`, `~/list_actions` and `~/get_history` from a journal."""

    def __init__(self, node: ManagedNode, reader: JournalReader, graph: Graph) -> None:
        self.reader = reader
        self.projection = Projection(reader, graph)
        node.add_service(GetAction, '~/get_action', self.get_action)
        node.add_service(ListActions, '~/list_actions', self.list_actions)
        node.add_service(GetHistory, '~/get_history', self.get_history)

    def get_action(self, request: Any, response: Any) -> Any:
        """Answer with the action as the journal has it."""
        action = self.projection.get(request.flow_id, request.action_id)
        if action is None:
            response.error_code = int(ErrorCode.NOT_FOUND)
            of_flow = f" of flow '{request.flow_id}'" if request.flow_id else ''
            response.error_msg = f"no action '{request.action_id}'{of_flow}"
        else:
            response.status = status_to(action)
            response.possible_events = list(action.machine.possible_events())
        return response

    def list_actions(self, request: Any, response: Any) -> Any:
        """Answer with a page of the actions that fit."""
        found = self.projection.find(
            flow_id=request.flow_id, states=request.states, outcomes=request.outcomes,
            open_only=request.open_only)
        page = found[request.offset:request.offset + _limit(request.limit)]
        response.total = len(found)
        response.actions = [status_to(action) for action in page]
        return response

    def get_history(self, request: Any, response: Any) -> Any:
        """Answer with a page of changes."""
        limit = _limit(request.limit)
        rows = list(self.reader.rows(
            flow_id=request.flow_id or None, action_id=request.action_id or None,
            kind='transition', after=request.after_seq, limit=limit + 1))
        response.more = len(rows) > limit
        response.changes = [change_to(row) for row in rows[:limit]]
        return response


def _limit(asked: int) -> int:
    return min(asked or DEFAULT_LIMIT, MAX_LIMIT)
