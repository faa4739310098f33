# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where the rows come from: a journal on this machine, or one that is asked for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
import os
from pathlib import Path
from typing import Protocol, TypeVar

from .trace_sources import FileTraces, TraceSource
from ...journal.flow_reader import FlowReader
from ...journal.row import Row
from ...traces import trace_path

ResultT = TypeVar('ResultT')


class RowSource(Protocol):
    """
    The rows of a robot's journal; all methods raise JournalError if it can't be read now.

    `name`: of the robot or file, for people. `path`: of the journal if it is on this machine.
    `traces`: of the attempts in it.
    """

    name: str
    path: Path | None

    @property
    def traces(self) -> TraceSource:
        """Return where the evidence traces come from."""
        ...

    async def last_seq(self) -> int:
        """Return the number of the last row, 0 if there is none."""
        ...

    async def rows(
        self, *, flow_id: str | None = None, after: int = 0, limit: int = 500
    ) -> list[Row]:
        """
        Return rows above `after`, in order; none only if there are no more.

        `flow_id`: those of this flow, of the flows in it, and of its request to a planner.
        """
        ...

    async def flows(self, *, before: int | None = None, limit: int = 50) -> list[Row]:
        """
        Return rows of the outermost flows, the newest flow first; see `FlowReader.newest_flows`.

        Of each flow the row 'accepted' and, if known, its last row of kind 'flow'.
        """
        ...


class LocalRows:
    """
    The rows of a journal at `path`, and the traces beside it.

    The file may be written at the moment, be replaced, or not exist yet. Damaged rows are left
    out; `damage` tells which was the first one, '' if none was found. `trace_file`: of the traces,
    by default beside the journal.
    """

    def __init__(
        self, path: str | os.PathLike[str], name: str = '',
        trace_file: str | os.PathLike[str] | None = None,
    ) -> None:
        self.path: Path | None = Path(path)
        self.name = name or str(path)
        self.damage = ''
        self._file = os.fspath(path)
        self.traces: TraceSource = FileTraces(trace_file or trace_path(self._file))
        self._reader: FlowReader | None = None
        self._lock = asyncio.Lock()

    async def last_seq(self) -> int:
        """Return the number of the last row, 0 if there is none."""
        return await self._call(lambda: self._open().last_seq())

    async def rows(
        self, *, flow_id: str | None = None, after: int = 0, limit: int = 500
    ) -> list[Row]:
        """Return rows above `after`, in order; see `RowSource.rows`."""
        return await self._call(lambda: self._rows(flow_id or '', after, limit))

    async def flows(self, *, before: int | None = None, limit: int = 50) -> list[Row]:
        """Return the first and last rows of the newest flows; see `FlowReader.newest_flows`."""
        return await self._call(lambda: self._open().newest_flows(before, limit))

    def close(self) -> None:
        """Close the journal; it is opened again when it is needed."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    async def _call(self, work: Callable[[], ResultT]) -> ResultT:
        async with self._lock:
            return await asyncio.to_thread(work)

    def _open(self) -> FlowReader:
        """Return the reader; opens the journal again if another file is at its path."""
        if self._reader is not None and self._reader.is_elsewhere():
            self.close()
            self.damage = ''
        if self._reader is None:
            self._reader = FlowReader(self._file)
        return self._reader

    def _rows(self, flow_id: str, after: int, limit: int) -> list[Row]:
        reader = self._open()
        while True:
            page = reader.flow_rows(flow_id, after, limit)
            found = [row for row, fault in page if not fault]
            if len(found) < len(page) and not self.damage:
                row, fault = next(each for each in page if each.fault)
                self.damage = f'{self._file}: row {row.seq} {fault}'
            if found or not page:
                return found
            after = page[-1].row.seq  # all of them are damaged
