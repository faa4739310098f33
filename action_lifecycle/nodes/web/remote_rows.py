# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The rows of a journal on another machine, read over a service of its robot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.srv import GetRows

from ..shared.queries import MAX_LIMIT
from ...documents.errors import LifecycleError
from ...documents.json_text import read_json
from ...journal.row import JournalError, Row
from ...lifecycle.states import ErrorCode
from ...ros.calls.service_call import RetryPolicy
from ...ros.calls.threads import call_from_loop
from ...ros.node.lifecycle_node import ManagedNode
from ...viewer.record.trace_sources import TraceSource

POLICY = RetryPolicy(appear=1.0, answer=6.0, repeat=2.0)


class RemoteRows:
    """
    A source of rows in the viewer's loop; see `viewer.record.sources`.

    `clients`: of `get_rows`, the preferred one first; one without a server is skipped.
    `traces`: of the same robot.
    """

    path: Path | None = None

    def __init__(
        self, node: ManagedNode, name: str, clients: Sequence[Any], traces: TraceSource
    ) -> None:
        self.name = name
        self.traces = traces
        self._node = node
        self._clients = clients

    async def last_seq(self) -> int:
        """Return the sequence number of the last row, 0 if there is none."""
        answer = await self._ask(after_seq=2**63 - 1, limit=1)
        return int(answer.last_seq)

    async def rows(
        self, *, flow_id: str | None = None, after: int = 0, limit: int = 500
    ) -> list[Row]:
        """Return rows above `after` in order, of all flows or of one; see `RowSource.rows`."""
        while True:
            answer = await self._ask(
                flow_id=flow_id or '', after_seq=after, limit=min(limit, MAX_LIMIT))
            found = self._rows(answer)
            if found or not answer.more:
                return found
            after = answer.next_seq  # all of them are damaged

    async def flows(self, *, before: int | None = None, limit: int = 50) -> list[Row]:
        """Return the first and last rows of the newest flows; see `FlowReader.newest_flows`."""
        found: list[Row] = []
        flows = 0
        while flows < limit:
            answer = await self._ask(
                flows=True, before_seq=before or 0, limit=min(limit - flows, MAX_LIMIT))
            rows = self._rows(answer)
            found += rows
            flows += len({row.flow_id or row.action_id for row in rows})
            if not answer.more or not rows:
                break
            before = answer.next_seq
        return found

    def _rows(self, answer: Any) -> list[Row]:
        try:
            rows = [Row._make(read_json(text, 'JSON')) for text in answer.rows_json]
        except (TypeError, ValueError, LifecycleError) as error:
            raise JournalError(f'{self.name}: a row that is not one: {error}') from error
        for row in rows:
            if fault := row.ill_formed():
                raise JournalError(f'{self.name}: row {row.seq} {fault}')
        return rows

    async def _ask(self, **fields: Any) -> Any:
        client = next((client for client in self._clients if client.service_is_ready()), None)
        if client is None:
            raise JournalError(f'{self.name}: no node of the robot offers its journal now')
        try:
            answer = await call_from_loop(self._node, client, GetRows.Request(**fields), POLICY)
        except LifecycleError as error:
            raise JournalError(f'{self.name}: {error}') from error
        if answer.error_code != ErrorCode.NONE:
            raise JournalError(f'{self.name}: {answer.error_msg}')
        return answer
