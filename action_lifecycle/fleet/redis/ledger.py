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
The ledger of one robot in Redis: a copy of its journal, for the fleet to read.

Rows are applied in atomic batches. The ledger skips rows it has, refuses gaps, broken hash chains
and transitions that do not start in the action's state, and writes event, state and cursor
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import os
import shlex
from typing import Any, NamedTuple

from .connection import (
    connect,
    connect_blocking,
    explained,
    LedgerError,
    script_text,
    TIMEOUT,
)
from .keys import robot_events, robot_meta, robot_open, robot_pattern, robot_subject
from ...journal.compaction import SNAPSHOT
from ...journal.row import Row

RETENTION = 30 * 86_400.0
"""Time (s) for which ended actions and their rows are kept."""

PAGE = 500
TRIMMED = 1000  # rows per script, since a script blocks the server
REMOVED = 500  # keys at once
REBUILDING = 'rebuilding'
"""Value of the cursor's `seq` while the keys of a robot are removed."""
_COLUMN_TYPES: dict[str, Any] = {
    'seq': int, 'attempt': int, 'final': lambda text: text == '1',
    'ros_time': lambda text: float(text) if text else None, 'boot_time': float, 'wall_time': float}

_REFUSALS = {
    'gap': 'row {what} does not follow row {found}, the last one that the ledger has',
    'chain': 'row {what} does not follow the row before it in the ledger (hash {found}): the '
             'ledger holds another journal',
    'state': "row {what}: the action is in state '{found}' in the ledger, not where the row "
             'comes from',
    'type': 'key {what} is of type {found}, expected {expected}: something else wrote to it; '
            '{anew}',
    'meta': "key {what} has seq '{found}', expected a number: something else wrote to it; {anew}",
    'ends': 'key {what} ends with entry {found}, but {meta} says {expected}: one of the two was '
            'removed or changed by something else; {anew}',
    'entries': 'key {what} has {found} entries, but {meta} says {expected}: entries were removed '
               'by something else; {anew}',
    'rebuilding': 'its keys were removed to rebuild it; if nobody does so now, {anew}',
    'subject': 'key {what} is gone, but {open} lists it as open: something else removed it; '
               '{anew}',
    'forbidden': 'the user may not use {found} on key {what}: allow it in the ACL of the server',
}


class LedgerRefused(LedgerError):
    """The ledger refused a batch of rows; nothing was written."""


class Cursor(NamedTuple):
    """The last row of the ledger: its number (0: none) and its hash."""

    seq: int
    hash: str  # noqa: A003


class RedisLedger:
    """
    The ledger of `robot` in the Redis at `url`; for one asyncio event loop.

    Every call raises LedgerError if the server can't be reached or refuses. `retention` in s.
    `journal`: path of the journal for messages.
    """

    def __init__(
        self, url: str, robot: str = 'robot', *, retention: float = RETENTION,
        timeout: float = TIMEOUT, journal: str | os.PathLike[str] = 'JOURNAL',
    ) -> None:
        self.robot = robot
        self._url = url
        self._journal = str(journal)
        self.redis = connect(url, timeout=timeout)
        self._retention = retention
        self._keys = robot_events(robot), robot_meta(robot), robot_open(robot)
        # redis-py sends the digest of a script, and its text if the server does not have it.
        self._fence = self.redis.register_script(script_text('fence'))
        self._apply, self._cursor, self._trim = (
            self.redis.register_script(script_text('robot') + script_text(name))
            for name in ('apply', 'cursor', 'trim'))

    async def cursor(self, subjects: Iterable[str] = ()) -> Cursor:
        """
        Return the cursor of the ledger.

        Raises LedgerRefused if something else has changed the ledger: a key of a wrong type, a
        stream with a wrong end or lost entries, or a missing key of the open `subjects`.
        """
        seq, last_hash = await self._run(self._cursor, subjects, [])
        return Cursor(int(seq), last_hash)

    def anew(self) -> str:
        """Return a text on how to rebuild the ledger from the journal."""
        command = shlex.join(['action_lifecycle', 'ledger', 'rebuild', self._journal,
                              '--url', self._url, '--robot', self.robot])
        return (f"to fill the ledger of robot '{self.robot}' from its journal again, run "
                f'`{command}`')

    async def clear(self) -> int:
        """
        Remove all keys of the robot; returns their number.

        Until all keys are removed, rows are refused.
        """
        with explained():
            gone = int(await self._fence(keys=[self._keys[1]], args=[REBUILDING]))
            keys: list[str] = []
            async for key in self.redis.scan_iter(
                    match=robot_pattern(self.robot), count=REMOVED):
                if key != self._keys[1]:
                    keys.append(key)
                if len(keys) == REMOVED:
                    gone += int(await self.redis.unlink(*keys))
                    keys.clear()
            if keys:
                gone += int(await self.redis.unlink(*keys))
            await self.redis.unlink(self._keys[1])
        return gone

    async def apply(
        self, rows: Sequence[Row], *, through: int = 0, swallowed: Iterable[str] = ()
    ) -> int:
        """
        Apply rows, in order; returns the number of the last row that the ledger then has.

        Up to row `through`, the journal was compacted and there may be gaps; `swallowed`: keys of
        open subjects that have no rows left there. Raises LedgerRefused.
        """
        keys = [*(self.subject(row) for row in rows), *swallowed]
        values: list[Any] = [through, int(self._retention), len(rows)]
        for row in rows:
            values += row[:11]
            values += (int(row.final), '' if row.ros_time is None else repr(row.ros_time),
                       row.boot_id, repr(row.boot_time), repr(row.wall_time), row.prev_hash,
                       row.hash)
        return int((await self._run(self._apply, keys, values))[0])

    async def _run(self, script: Any, keys: Iterable[str], values: Sequence[Any]) -> list[Any]:
        """Run a script; returns its values after 'ok', or raises LedgerRefused."""
        with explained():
            told: list[Any] = list(await script(keys=[*self._keys, *keys], args=values))
        if (answer := told.pop(0)) != 'ok':
            what, found, expected = [*told, ''][:3]
            if answer == 'meta' and found == REBUILDING:
                answer = REBUILDING
            raise LedgerRefused(f"ledger of robot '{self.robot}': " + _REFUSALS[answer].format(
                what=what, found=found, expected=expected, meta=self._keys[1],
                open=self._keys[2], anew=self.anew()))
        return told

    def subject(self, row: Row) -> str:
        """Return the key of a row's subject; for notes and snapshots, the key of the cursor."""
        if row.kind in ('note', SNAPSHOT):
            return self._keys[1]
        return robot_subject(self.robot, row.kind, row.flow_id, row.action_id)

    async def open_subjects(self) -> list[str]:
        """Return the keys of all open subjects."""
        with explained():
            return list(await self.redis.zrange(self._keys[2], 0, -1))

    async def trim(self, now: float) -> int:
        """
        Remove at most TRIMMED of the oldest rows; returns their number. `now` in s since 1970.

        Only rows older than the retention time and than the first row of any open subject go.
        """
        told = await self._run(self._trim, (), [repr(now - self._retention), TRIMMED])
        return int(told[0])

    async def close(self) -> None:
        """Close the connections."""
        await self.redis.connection_pool.disconnect()


class RedisReader:
    """
    Reads the ledger with the interface of JournalReader that a Projection needs.

    Calls block and raise LedgerError if the server can't be reached.
    """

    def __init__(self, url: str, robot: str = 'robot') -> None:
        self._redis = connect_blocking(url)
        self._robot = robot

    def last_seq(self) -> int:
        """Return the sequence number of the last row, 0 if there is none."""
        key = robot_meta(self._robot)
        with explained():
            found = self._redis.hget(key, 'seq') or '0'
        if not found.isdecimal():
            raise LedgerError(
                f"ledger of robot '{self._robot}': key {key} has seq '{found}', expected a "
                'number: it is being rebuilt, or something else wrote to it')
        return int(found)

    def rows(
        self, *, flow_id: str | None = None, action_id: str | None = None,
        kind: str | None = None, after: int = 0, limit: int | None = None,
    ) -> Iterator[Row]:
        """Yield the matching rows with a sequence number above `after`, in order."""
        wanted = {name: value for name, value in (
            ('flow_id', flow_id), ('action_id', action_id), ('kind', kind)) if value is not None}
        while True:
            with explained():
                page = self._redis.xrange(robot_events(self._robot), f'{after + 1}-0', count=PAGE)
            for entry, fields in page:
                row = self._row(entry, fields)
                after = row.seq
                if any(fields[name] != value for name, value in wanted.items()):
                    continue
                if limit is not None:
                    limit -= 1
                    if limit < 0:
                        return
                yield row
            if len(page) < PAGE:
                return

    def intact_rows(self, *, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        """Yield the rows above `after`, in order; raises LedgerError at one that is damaged."""
        for row in self.rows(after=after, limit=limit):
            if fault := row.fault():
                raise LedgerError(f"ledger of robot '{self._robot}': row {row.seq} {fault}")
            yield row

    def _row(self, entry: str, fields: Mapping[str, str]) -> Row:
        try:
            row = Row._make(
                _COLUMN_TYPES.get(name, str)(fields[name]) for name in Row._fields)
            if entry == f'{row.seq}-0':
                return row
        except (KeyError, ValueError):
            pass
        raise LedgerError(f'ledger: entry {entry} of key {robot_events(self._robot)} is no row of '
                          'a journal: something else has written it')

    def close(self) -> None:
        """Close the connections."""
        self._redis.connection_pool.disconnect()
