# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads a robot's journal from its file if that is on this machine, else over a service."""

from __future__ import annotations

from pathlib import Path

from .remote_rows import RemoteRows
from ...journal.row import JournalError, Row
from ...viewer.record.sources import LocalRows
from ...viewer.record.trace_sources import TraceSource


class RobotRows:
    """
    The rows of one robot; see `viewer.record.sources.RowSource`.

    A file at the path of the journal may be that of another robot of this name. So its last row is
    compared with the robot's as soon as a node of the robot answers. Until then, and while none
    answers, the file is read.
    """

    def __init__(self, local: LocalRows, remote: RemoteRows) -> None:
        self.name = remote.name
        self._local = local
        self._remote = remote
        self._source: LocalRows | RemoteRows = local

    @property
    def path(self) -> Path | None:
        """Return the file of the journal if it is on this machine."""
        return self._source.path

    @property
    def traces(self) -> TraceSource:
        """Return the file of the traces if it is on this machine, else the robot's bridge."""
        source = self._source
        return source.traces if source is self._remote or self._local.traces.exists() \
            else self._remote.traces

    @property
    def damage(self) -> str:
        """Return the first damaged row that was left out; '' if there is none."""
        return getattr(self._source, 'damage', '')

    async def compare(self) -> bool:
        """Choose the file or the service; returns False if no node of the robot has answered."""
        try:
            seq = await self._remote.last_seq()
        except JournalError:
            return False
        self._source = self._local if await self._is_same(seq) else self._remote
        return True

    async def last_seq(self) -> int:
        """Return the number of the last row, 0 if there is none."""
        return await self._source.last_seq()

    async def rows(
        self, *, flow_id: str | None = None, after: int = 0, limit: int = 500
    ) -> list[Row]:
        """Return rows above `after`, in order."""
        return await self._source.rows(flow_id=flow_id, after=after, limit=limit)

    async def flows(self, *, before: int | None = None, limit: int = 50) -> list[Row]:
        """Return the first and last rows of the newest flows."""
        return await self._source.flows(before=before, limit=limit)

    async def _is_same(self, remote_seq: int) -> bool:
        """Whether the file is the robot's journal, whose last row has this number."""
        try:
            seq = await self._local.last_seq()
            if not seq:
                return remote_seq == 0
            after = min(seq, remote_seq) - 1  # rows may be written between the two requests
            mine = await self._local.rows(after=after, limit=1)
            there = await self._remote.rows(after=after, limit=1)
        except JournalError:  # there is no file, it is not a journal, or the robot has gone
            return False
        return mine == there
