# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service with which a viewer on another machine reads the rows of the journal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
import json
from typing import Any

from action_lifecycle_msgs.srv import GetRows

from .background_worker import Apart
from .queries import page_limit
from ...journal.flow_reader import FlowReader
from ...journal.row import Row
from ...ros.node.lifecycle_node import ManagedNode

PAGE = 50  #: rows or flows that are read at once
LAST = 2**63 - 1  #: largest number of a row
LARGEST = 512 * 1024
"""Number of characters from which on a page has no further rows."""


class RowQueries:
    """
    Offers `~/get_rows` for the journal at `path`; to be created in `configure`.

    It reads in a separate thread, so that a large journal does not block the executor.
    """

    def __init__(self, node: ManagedNode, path: str) -> None:
        self._path = path
        self._reader: FlowReader | None = None  # used in the thread only
        self._apart = Apart(node)
        node.defer(self._close)
        node.add_service(GetRows, '~/get_rows', self.get_rows)

    async def get_rows(self, request: Any, response: Any) -> Any:
        """Fill the response with a page of rows, as they are stored; damaged ones are left out."""
        limit = page_limit(request.limit)
        read = self._flows if request.flows else self._rows
        await self._apart.answer(lambda: read(request, limit, response))
        return response

    def _rows(self, request: Any, limit: int, response: Any) -> None:
        reader = self._open()
        response.last_seq = reader.last_seq()
        response.next_seq = min(request.after_seq, LAST)
        page, size = _Page(response), 0
        while size < limit:
            wanted = min(PAGE, limit - size)
            rows = reader.flow_rows(request.flow_id, response.next_seq, wanted)
            for row, fault in rows:
                if not fault and not page.add([row]):
                    return
                response.next_seq = row.seq
            size += len(rows)
            if len(rows) < wanted:
                return
        response.more = True

    def _flows(self, request: Any, limit: int, response: Any) -> None:
        reader = self._open()
        response.last_seq = reader.last_seq()
        response.next_seq = min(request.before_seq, LAST)
        page, size = _Page(response), 0
        while size < limit:
            wanted = min(PAGE, limit - size)
            found = reader.newest_flows(response.next_seq or None, wanted)
            flows = [list(rows) for _, rows in groupby(
                found, key=lambda row: row.flow_id or row.action_id)]
            for rows in flows:
                if not page.add(rows):
                    return
                response.next_seq = min(row.seq for row in rows)
            size += len(flows)
            if len(flows) < wanted:
                return
        response.more = True

    def _open(self) -> FlowReader:
        if self._reader is not None and self._reader.is_elsewhere():
            self._reader.close()
            self._reader = None
        if self._reader is None:
            self._reader = FlowReader(self._path)
        return self._reader

    def _close(self) -> None:
        self._apart.close()
        if self._reader is not None:
            self._reader.close()


class _Page:
    """The rows of a response, up to LARGEST characters, but at least those of the first call."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self._size = 0

    def add(self, rows: Iterable[Row]) -> bool:
        """Add rows; returns False if there is no room for them."""
        texts = [json.dumps(row, ensure_ascii=False) for row in rows]
        self._size += sum(map(len, texts))
        if self._size > LARGEST and self._response.rows_json:
            self._response.more = True
            return False
        self._response.rows_json.extend(texts)
        return True
