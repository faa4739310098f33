# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What happened on one robot, followed as its journal grows."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
import contextlib
from dataclasses import replace
import logging
from weakref import WeakValueDictionary

from .flow_record import FlowRecord
from .flow_tally import FlowTally, heads_of
from .questions import OpenQuestions
from .shown import FLOW, FlowHead, QuestionNow, STRUCTURE, Update
from .sources import RowSource
from ...documents.errors import LifecycleError
from ...journal.flow_rows import PLAN
from ...journal.row import Row
from ...lifecycle.flow_ids import root_of

_LOG = logging.getLogger('action_lifecycle')

KEPT = 8
"""Number of flows that stay loaded when nobody holds them."""
PAGE = 1000
SLICE = 200
"""Number of rows that are applied before other callbacks of the loop run."""
LARGE = 20_000
"""Characters of a flow's text from which it is read in a thread."""
OPEN = 50
"""Number of newest flows among which the open ones are looked for at the start."""


class _Replaced(Exception):
    """Another journal is at the place of the one that was read."""


class RobotRecord:
    """
    The flows of a robot's journal; `update` applies new rows to those that are loaded.

    A flow stays loaded as long as somebody holds its record; pages keep what `flow` returns. All
    methods are for the thread of one loop.
    """

    def __init__(self, source: RowSource) -> None:
        self.source = source
        self._last: Row | None = None  #: the last row that was applied
        self._started = False
        self._restarts = 0
        self._damage = ''
        self._flows: WeakValueDictionary[str, FlowRecord] = WeakValueDictionary()
        self._recent: OrderedDict[str, FlowRecord] = OrderedDict()
        self._loading: dict[str, asyncio.Task[FlowRecord]] = {}
        self._tallies: dict[str, FlowTally] = {}  #: of open flows
        self._questions = OpenQuestions()
        self._lock = asyncio.Lock()

    @property
    def damage(self) -> str:
        """Return the first damaged row that was left out; '' if there is none."""
        return str(getattr(self.source, 'damage', ''))

    def questions(self) -> list[QuestionNow]:
        """Return the open questions to people, by the rows read so far."""
        return self._questions.open()

    async def update(self) -> Update:
        """Apply the new rows; if the journal can't be read, the update says why."""
        async with self._lock:
            try:
                try:
                    update = await (self._new_rows() if self._started else self._start())
                except _Replaced:
                    self._restart()
                    update = await self._start()
            except LifecycleError as error:
                return Update(lost=str(error))
        if self.damage != self._damage:  # met when a flow was loaded
            self._damage, update = self.damage, replace(update, new_flows=True)
        return update

    async def heads(self, before: int | None = None, limit: int = 50) -> list[FlowHead]:
        """
        Return the flows, the newest first; raises JournalError.

        `before`: the `seq` of a head; only older flows.
        """
        found = []
        for head in heads_of(await self.source.flows(before=before, limit=limit)):
            record = self._flows.get(head.flow_id)
            tally = self._tallies.get(head.flow_id)
            if record is not None:
                head = record.head
            elif tally is not None and head.ended is None:
                done, total = tally.numbers
                head = head._replace(done=done, total=total, paused=tally.paused)
            found.append(head)
        return found

    async def flow(self, flow_id: str) -> FlowRecord:
        """Return a flow, empty if the journal has no row of it; raises JournalError."""
        record = self._flows.get(flow_id)
        if record is None:
            task = self._loading.get(flow_id)
            if task is None:
                task = self._loading[flow_id] = asyncio.ensure_future(self._load(flow_id))
                task.add_done_callback(lambda done: self._loaded(flow_id, done))
            record = await asyncio.shield(task)
        self._recent[flow_id] = record
        self._recent.move_to_end(flow_id)
        if len(self._recent) > KEPT:
            self._recent.popitem(last=False)
        return record

    def _loaded(self, flow_id: str, task: asyncio.Task[FlowRecord]) -> None:
        self._loading.pop(flow_id, None)
        if not task.cancelled():
            task.exception()  # it is raised by those who wait for it, if any

    async def _load(self, flow_id: str) -> FlowRecord:
        record, restarts = FlowRecord(flow_id), self._restarts
        await self._fill(record)
        async with self._lock:  # no update between its last rows and its first update
            if restarts != self._restarts:
                record.restart()
            await self._fill(record)
            self._flows[flow_id] = record
        return record

    async def _fill(self, record: FlowRecord) -> None:
        """Apply all rows of a flow that nobody else uses yet, in a thread."""
        while rows := await self.source.rows(
                flow_id=record.flow_id, after=record.last_seq, limit=PAGE):
            await asyncio.to_thread(_take_all, record, rows)

    async def _start(self) -> Update:
        """Begin after the last row; take the rows before it of open and of loaded flows."""
        last_seq = await self.source.last_seq()
        rows = await self.source.rows(after=max(0, last_seq - 1), limit=1)
        self._last = rows[-1] if rows else None
        for head in heads_of(await self.source.flows(limit=OPEN)):
            if head.ended is not None:
                continue
            tally = self._tallies[head.flow_id] = FlowTally(head.flow_id)
            after = 0
            while rows := await self.source.rows(
                    flow_id=head.flow_id, after=after, limit=PAGE):
                after = rows[-1].seq
                for row in rows:
                    tally.take(row)
                    self._questions.take(row)
        records = list(self._flows.values())
        for record in records:
            await self._fill(record)
        self._started = True
        return Update({record.flow_id: frozenset({STRUCTURE, FLOW}) for record in records},
                      new_flows=True)

    async def _new_rows(self) -> Update:
        changes: dict[str, set[str]] = {}
        new_flows = False
        while rows := await self._rows_after():
            for first in range(0, len(rows), SLICE):
                for row in rows[first:first + SLICE]:
                    new_flows |= await self._apply(row, changes)
                    self._last = row
                await asyncio.sleep(0)
        return Update({flow_id: frozenset(paths) for flow_id, paths in changes.items()},
                      new_flows)

    async def _rows_after(self) -> list[Row]:
        """Return the next rows; raises _Replaced if they do not follow the last one."""
        last = self._last
        if last is None:
            return await self.source.rows(limit=PAGE)
        rows = await self.source.rows(after=last.seq - 1, limit=PAGE)
        if rows and rows[0].seq == last.seq:
            if rows[0].hash != last.hash:
                raise _Replaced
            return rows[1:]
        if rows and rows[0].seq == last.seq + 1 and rows[0].prev_hash != last.hash:
            raise _Replaced
        if not rows and await self.source.last_seq() < last.seq:
            raise _Replaced
        return rows

    async def _apply(self, row: Row, changes: dict[str, set[str]]) -> bool:
        """Apply a row; returns whether it changes the list of flows."""
        flow_id = row.action_id if row.kind == PLAN else root_of(row.flow_id)
        record = self._flows.get(flow_id)
        if record is not None:
            await _read_before(record, row)
            if paths := _taken(record, row):
                changes.setdefault(flow_id, set()).update(paths)
        self._questions.take(row)
        if row.kind == 'flow' and row.flow_id == flow_id:
            if row.event == 'accepted':
                self._tallies[flow_id] = FlowTally(flow_id)
            if row.final:
                self._tallies.pop(flow_id, None)
        if flow_id in self._tallies:
            self._tallies[flow_id].take(row)
        return row.kind == PLAN or row.kind == 'flow' and row.flow_id == flow_id and (
            row.final or row.event == 'accepted')

    def _restart(self) -> None:
        """Forget everything, to read another journal."""
        self._started, self._last = False, None
        self._restarts += 1
        self._tallies.clear()
        self._questions = OpenQuestions()
        for record in self._flows.values():
            record.restart()


def _take_all(record: FlowRecord, rows: Iterable[Row]) -> None:
    for row in rows:
        _taken(record, row)


def _taken(record: FlowRecord, row: Row) -> set[str]:
    """Apply a row to a flow; one of unexpected content must not keep others from being shown."""
    try:
        return record.take(row)
    except Exception:
        _LOG.exception('row %d of flow %s is not shown', row.seq, row.flow_id)
        return set()


async def _read_before(record: FlowRecord, row: Row) -> None:
    """Read the text of a large flow in a thread, before its last row is applied."""
    text = record.completed_by(row)
    if text is not None and len(text.until(row.seq)) > LARGE:
        with contextlib.suppress(Exception):  # `take` meets it again
            await asyncio.to_thread(text.cached)
