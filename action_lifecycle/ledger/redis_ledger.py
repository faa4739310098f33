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

"""
The ledger of one robot in Redis: what its journal says, for the fleet to read.

Rows come in as one atomic batch. The ledger skips those it has, refuses a gap, a broken hash chain
and an action that does not come from the state it is in, and writes event, state and cursor
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .journal_compaction import SNAPSHOT
from .journal_row import Row
from .redis_connection import (
    connect,
    connect_blocking,
    explained,
    LedgerError,
    script_text,
    TIMEOUT,
)
from .redis_keys import robot_events, robot_meta, robot_open, robot_subject

RETENTION = 30 * 86_400.0
"""Seconds that ended actions and their rows are kept."""

PAGE = 500
TRIMMED = 1000  # rows at once: a script stops the server for everybody
_COLUMN_TYPES: dict[str, Any] = {
    'seq': int, 'attempt': int, 'final': lambda text: text == '1',
    'ros_time': lambda text: float(text) if text else None, 'boot_time': float, 'wall_time': float}

_REFUSALS = {
    'gap': 'row {seq} does not follow row {found}, the last one that the ledger has',
    'chain': 'row {seq} does not follow the row before it in the ledger (hash {found}): the '
             'ledger holds another journal',
    'state': "row {seq}: the action is in state '{found}' in the ledger, not where the row "
             'comes from',
}


class LedgerRefused(LedgerError):
    """The ledger does not take rows; nothing of the batch was written."""


class Cursor(NamedTuple):
    """The last row that the ledger holds: its number, 0 for none, and its hash."""

    seq: int
    hash: str  # noqa: A003


class RedisLedger:
    """
    The ledger of `robot` in the Redis at `url`, for asyncio; one event loop only.

    Every call raises LedgerError when the server can't be reached or does not take it.
    `retention` in s.
    """

    def __init__(
        self, url: str, robot: str = 'robot', *, retention: float = RETENTION,
        timeout: float = TIMEOUT,
    ) -> None:
        self.robot = robot
        self.redis = connect(url, timeout=timeout)
        self._retention = retention
        self._keys = robot_events(robot), robot_meta(robot), robot_open(robot)
        # redis-py sends a script's digest, and its text when the server has lost it.
        self._apply = self.redis.register_script(script_text('apply'))
        self._trim = self.redis.register_script(script_text('trim'))

    async def cursor(self) -> Cursor:
        """Return how far the ledger is."""
        with explained():
            seq, last_hash = await self.redis.hmget(self._keys[1], ['seq', 'hash'])
        return Cursor(int(seq or 0), last_hash or '')

    async def apply(
        self, rows: Sequence[Row], *, through: int = 0, swallowed: Iterable[str] = ()
    ) -> int:
        """
        Take in rows, in order, and return the number of the last row that the ledger then has.

        Up to row `through`, where the journal was compacted, there may be gaps; `swallowed` are
        keys of open subjects that have no rows left there. Raises LedgerRefused.
        """
        keys = [*self._keys, *(self.subject(row) for row in rows), *swallowed]
        values: list[Any] = [through, int(self._retention), len(rows)]
        for row in rows:
            values += row[:11]
            values += (int(row.final), '' if row.ros_time is None else repr(row.ros_time),
                       row.boot_id, repr(row.boot_time), repr(row.wall_time), row.prev_hash,
                       row.hash)
        with explained():
            answer, seq, found = await self._apply(keys=keys, args=values)
        if answer != 'ok':
            raise LedgerRefused(f"ledger of robot '{self.robot}': "
                                + _REFUSALS[answer].format(seq=seq, found=found))
        return int(seq)

    def subject(self, row: Row) -> str:
        """Return the key of what a row is about; that of the cursor for a row about nothing."""
        if row.kind in ('note', SNAPSHOT):
            return self._keys[1]
        return robot_subject(self.robot, row.kind, row.flow_id, row.action_id)

    async def open_subjects(self) -> list[str]:
        """Return the keys of all subjects that are open."""
        with explained():
            return list(await self.redis.zrange(self._keys[2], 0, -1))

    async def trim(self, now: float) -> int:
        """
        Remove the oldest rows, TRIMMED at most; return how many. `now` in s since 1970.

        They are older than the retention time and than the first row of everything open.
        """
        with explained():
            return int(await self._trim(
                keys=[self._keys[0], self._keys[2]], args=[repr(now - self._retention), TRIMMED]))

    async def close(self) -> None:
        """Close the connections."""
        await self.redis.connection_pool.disconnect()


class RedisReader:
    """
    Answers as a JournalReader does, from the ledger: what a Projection needs of one.

    Calls block; they raise LedgerError when the server can't be reached.
    """

    def __init__(self, url: str, robot: str = 'robot') -> None:
        self._redis = connect_blocking(url)
        self._robot = robot

    def last_seq(self) -> int:
        """Return the sequence number of the last row, 0 if there is none."""
        with explained():
            return int(self._redis.hget(robot_meta(self._robot), 'seq') or 0)

    def rows(
        self, *, flow_id: str | None = None, action_id: str | None = None,
        kind: str | None = None, after: int = 0, limit: int | None = None,
    ) -> Iterator[Row]:
        """Yield the rows that match, in order, that have a sequence number above `after`."""
        wanted = {name: value for name, value in (
            ('flow_id', flow_id), ('action_id', action_id), ('kind', kind)) if value is not None}
        while True:
            with explained():
                page = self._redis.xrange(robot_events(self._robot), f'{after + 1}-0', count=PAGE)
            for _, fields in page:
                after = int(fields['seq'])
                if any(fields[name] != value for name, value in wanted.items()):
                    continue
                if limit is not None:
                    limit -= 1
                    if limit < 0:
                        return
                yield Row._make(_COLUMN_TYPES.get(name, str)(fields[name])
                                for name in Row._fields)
            if len(page) < PAGE:
                return

    def close(self) -> None:
        """Close the connections."""
        self._redis.connection_pool.disconnect()
