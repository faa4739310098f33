# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The ledger of one robot in Redis: a copy of its journal for the fleet.

Each batch of rows is applied atomically, with states and cursor. Rows that the ledger has are
skipped. Gaps, broken hash chains and transitions that do not start in the action's state are
refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import os
import shlex
from typing import Any

from .connection import check_url, connect, ledger_errors, script_text, TIMEOUT
from .keys import (
    robot_events,
    robot_meta,
    robot_open,
    robot_pattern,
    robot_subject,
    session_lease,
)
from .operations import RedisOperations
from .reader import RedisReader
from .requests import RedisRequests
from .tasks import RedisTasks, valid_lease
from ...errors import LedgerRefused
from ...ledger import Cursor, REFUSALS, register_ledger, RETENTION
from ...smart_ledger import Lease
from ....journal.action_rows import concerns_action, status_after
from ....journal.compaction import SNAPSHOT
from ....journal.row import Row

TRIMMED = 1000  # maximum rows per script, which blocks the server
REMOVED = 500  # maximum number of keys removed at once
MAX_STREAM = 100_000  # approximate maximum number of requests in a stream
REBUILDING = 'rebuilding'
"""Value of the cursor's `seq` while the keys of a robot are removed."""
_REFUSALS = {
    **REFUSALS,
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
_NO_STATUS = ('', '')


@register_ledger('redis')
@register_ledger('rediss')
@register_ledger('unix')
class RedisLedger:
    """
    The ledger of `robot` in the Redis at `url`; for one asyncio event loop.

    `timeout`: timeout of the server, in s.
    """

    def __init__(
        self, url: str, robot: str = 'robot', *, retention: float = RETENTION,
        timeout: float = TIMEOUT, journal: str | os.PathLike[str] = 'JOURNAL',
    ) -> None:
        self.robot = robot
        self._url = url
        self._journal = str(journal)
        self.redis = connect(url, timeout=timeout)
        self.operations = RedisOperations(self.redis)
        self._retention = retention
        self._keys = robot_events(robot), robot_meta(robot), robot_open(robot)
        # redis-py sends the digest of a script; the source only if the server does not have it.
        self._fence = self.redis.register_script(script_text('fence'))
        self._apply, self._cursor, self._trim = (
            self.redis.register_script(script_text('robot') + script_text(name))
            for name in ('apply', 'cursor', 'trim'))

    @staticmethod
    def check_url(url: str) -> str:
        return check_url(url)

    async def cursor(self, subjects: Iterable[str] = ()) -> Cursor:
        seq, last_hash = await self._run(self._cursor, subjects, [])
        return Cursor(int(seq), last_hash)

    def rebuild_hint(self) -> str:
        command = shlex.join(['action_lifecycle', 'ledger', 'rebuild', self._journal,
                              '--url', self._url, '--robot', self.robot])
        return (f"to fill the ledger of robot '{self.robot}' from its journal again, run "
                f'`{command}`')

    async def clear(self) -> int:
        """Remove all keys of the robot; returns their number."""
        with ledger_errors():
            gone = int(await self._fence(keys=[self._keys[1]], args=[REBUILDING]))
            found = [key async for key in self.redis.scan_iter(
                match=robot_pattern(self.robot), count=REMOVED) if key != self._keys[1]]
            for start in range(0, len(found), REMOVED):
                gone += int(await self.redis.unlink(*found[start:start + REMOVED]))
            await self.redis.unlink(self._keys[1])
        return gone

    async def apply(
        self, rows: Sequence[Row], *, through: int = 0, swallowed: Iterable[str] = ()
    ) -> int:
        keys: list[str] = []
        values: list[Any] = [through, int(self._retention), len(rows)]
        for row in rows:
            about_action = concerns_action(row)
            keys.append(robot_subject(self.robot, 'transition', row.flow_id, row.action_id)
                        if about_action else self.subject(row))
            values += row[:11]
            values += (int(row.final), '' if row.ros_time is None else repr(row.ros_time),
                       row.boot_id, repr(row.boot_time), repr(row.wall_time), row.prev_hash,
                       row.hash)
            values += status_after(row) if about_action else _NO_STATUS
        keys += swallowed
        return int((await self._run(self._apply, keys, values))[0])

    async def _run(self, script: Any, keys: Iterable[str], values: Sequence[Any]) -> list[Any]:
        """Run a script; returns its values after 'ok', or raises LedgerRefused."""
        with ledger_errors():
            told: list[Any] = list(await script(keys=[*self._keys, *keys], args=values))
        if (answer := told.pop(0)) != 'ok':
            what, found, expected = [*told, ''][:3]
            if answer == 'meta' and found == REBUILDING:
                answer = REBUILDING
            raise LedgerRefused(f"ledger of robot '{self.robot}': " + _REFUSALS[answer].format(
                what=what, found=found, expected=expected, meta=self._keys[1],
                open=self._keys[2], anew=self.rebuild_hint()))
        return told

    def subject(self, row: Row) -> str:
        """Return the key of a row's subject; the key of the cursor for notes and snapshots."""
        if row.kind in ('note', SNAPSHOT):
            return self._keys[1]
        return robot_subject(self.robot, row.kind, row.flow_id, row.action_id)

    async def open_subjects(self) -> list[str]:
        with ledger_errors():
            return list(await self.redis.zrange(self._keys[2], 0, -1))

    async def trim(self, now: float) -> int:
        told = await self._run(self._trim, (), [repr(now - self._retention), TRIMMED])
        return int(told[0])

    async def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        with ledger_errors():
            found = await self.redis.hgetall(session_lease(session, task_id))
            return valid_lease(found, await self.redis.time())

    async def submit(self, stream: str, fields: Mapping[str, str]) -> str:
        with ledger_errors():
            return str(await self.redis.xadd(stream, fields, maxlen=MAX_STREAM, approximate=True))

    def requests(self, stream: str, group: str, worker: str, min_idle: float) -> RedisRequests:
        return RedisRequests(self.redis, stream, group, worker, min_idle)

    def tasks(self) -> RedisTasks:
        return RedisTasks(self._url)

    def reader(self) -> RedisReader:
        return RedisReader(self._url, self.robot)

    async def close(self) -> None:
        await self.redis.connection_pool.disconnect()
