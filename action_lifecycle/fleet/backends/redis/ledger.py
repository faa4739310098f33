# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The ledger of one robot in Redis: a copy of its journal for the fleet.

Each batch of rows is applied atomically, with states and cursor. Rows that the ledger has are
skipped. Gaps, broken hash chains and transitions that do not start in the action's state are
refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
import contextlib
import os
import shlex
import time
from typing import Any
import uuid

from .addresses import check_url, CLUSTER_SCHEMES, SENTINEL_SCHEMES, SERVER_SCHEMES
from .connection import close, connect, ledger_errors, TIMEOUT
from .fleet_view import MAX_STREAM, RedisFleetView
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
from .replication import Replication
from .requests import RedisRequests
from .scripts import Script, script
from .tasks import lease_from, LEASE_SCRIPT, RedisTasks, touched
from ...errors import LedgerRefused, LedgerUnavailable
from ...journal_match import writer_of
from ...ledger import Cursor, REFUSALS, register_ledger, RETENTION, UNKNOWN_JOURNAL
from ...smart_ledger import Lease
from ...stream_names import checked_stream
from ....journal.action_rows import concerns_action, status_after
from ....journal.compaction import SNAPSHOT
from ....journal.row import Row

TRIMMED = 1000  # maximum rows per script, which blocks the server
REMOVED = 500  # maximum number of keys removed at once
REBUILDING = 'rebuilding'
"""Beginning of the cursor's `seq` while the keys of a robot are removed."""
_REFUSALS = {
    **REFUSALS,
    'type': 'key {what} is of type {found}, expected {expected}: something else wrote to it; '
            '{anew}',
    'meta': "key {what} has seq '{found}', expected a number: something else wrote to it; {anew}",
    'ends': 'key {what} ends with entry {found}, but {meta} says {expected}: one of the two was '
            'removed or changed by something else; {anew}',
    'entries': 'key {what} has {found} entries, but {meta} says {expected}: entries were removed '
               'by something else; {anew}',
    'open': 'key {what} has {found} subjects, but {meta} says {expected}: something else removed '
            'or added them; {anew}',
    'rebuilding': 'its keys were removed to rebuild it; if nobody does so now, {anew}',
    'subject': 'key {what} is gone, but {open} lists it as open: something else removed it; '
               '{anew}',
    'forbidden': 'the user may not use {found} on key {what}: allow it in the ACL of the server',
}
_NO_STATUS = ('', '')


class RedisLedger:
    """
    The ledger of `robot` in the Redis at `url`; for one asyncio event loop.

    `timeout`: timeout of the server, in s.
    """

    def __init__(
        self, url: str, robot: str = 'robot', *, retention: float = RETENTION,
        timeout: float = TIMEOUT, journal: str | os.PathLike[str] = UNKNOWN_JOURNAL,
    ) -> None:
        self.robot = robot
        self._url = url
        self._journal = str(journal)
        self._writer = writer_of(journal) if self._journal != UNKNOWN_JOURNAL else ('', '')
        self.redis = connect(url, timeout=timeout)
        self._replication = Replication(self.redis, url, timeout)
        self.operations = RedisOperations(self.redis, self._replication)
        self.fleet = RedisFleetView(self.redis, robot)
        self._retention = retention
        self._clock_offset = 0.0
        self._keys = robot_events(robot), robot_meta(robot), robot_open(robot)

    @staticmethod
    def check_url(url: str) -> str:
        return check_url(url)

    async def cursor(self, subjects: Iterable[str] = ()) -> Cursor:
        began = time.time()
        seq, last_hash, server_time = await self._run(script('robot', 'cursor'), subjects, [])
        self._clock_offset = float(server_time) - (began + time.time()) / 2
        return Cursor(int(seq), last_hash)

    def clock_offset(self) -> float:
        return self._clock_offset

    def rebuild_hint(self) -> str:
        command = shlex.join(['action_lifecycle', 'ledger', 'rebuild', self._journal,
                              '--url', self._url, '--robot', self.robot])
        return (f"to fill the ledger of robot '{self.robot}' from its journal again, run "
                f'`{command}`')

    async def clear(self, save: Callable[[], object] = lambda: None) -> int:
        """
        Remove all keys of the robot; returns their number.

        Meanwhile `meta` has the mark of this call, so that nobody writes rows; it is removed last.
        """
        meta = self._keys[1]
        mark = f'{REBUILDING}:{uuid.uuid4().hex}'
        with ledger_errors(self.redis, meta):
            gone = int(await script('fence').run(self.redis, [meta], [mark]))
        try:
            await asyncio.to_thread(save)
        except BaseException:
            with contextlib.suppress(LedgerUnavailable), ledger_errors(self.redis, meta):
                await script('unfence').run(self.redis, [meta], [mark])
            raise
        with ledger_errors(self.redis, robot_pattern(self.robot)):
            found = [key async for key in self.redis.scan_iter(
                match=robot_pattern(self.robot), count=REMOVED) if key != meta]
        for start in range(0, len(found), REMOVED):
            gone += await self._remove(mark, found[start:start + REMOVED])
        await self._remove(mark, [])
        return gone

    async def _remove(self, mark: str, keys: Sequence[str]) -> int:
        """Remove keys, or `meta` if there are none given; returns their number."""
        meta = self._keys[1]
        with ledger_errors(self.redis, robot_pattern(self.robot)):
            gone = int(await script('remove').run(self.redis, [meta, *keys], [mark]))
        if gone < 0:
            raise LedgerRefused(f"ledger of robot '{self.robot}': another rebuild has begun "
                                'meanwhile and continues')
        return gone

    async def apply(
        self, rows: Sequence[Row], *, through: int = 0, swallowed: Iterable[str] = ()
    ) -> int:
        keys: list[str] = []
        values: list[Any] = [
            through, int(self._retention), len(rows), *self._writer]
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
        return int((await self._run(script('robot', 'apply'), keys, values))[0])

    async def _run(
        self, source: Script, keys: Iterable[str], values: Sequence[Any]
    ) -> list[Any]:
        """Run a script; returns its values after 'ok', or raises LedgerRefused."""
        with ledger_errors(self.redis, robot_pattern(self.robot)):
            told: list[Any] = list(await source.run(
                self.redis, [*self._keys, *keys], values))
        if (answer := told.pop(0)) != 'ok':
            what, found, expected = [*told, ''][:3]
            if answer == 'meta' and found.startswith(REBUILDING):
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
        with ledger_errors(self.redis, self._keys[2]):
            return list(await self.redis.zrange(self._keys[2], 0, -1))

    async def trim(self, now: float) -> int:
        told = await self._run(
            script('robot', 'trim'), (), [repr(now - self._retention), TRIMMED])
        return int(told[0])

    async def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        key = session_lease(session, task_id)
        with ledger_errors(self.redis, key):
            return lease_from(await self._replication.run(
                LEASE_SCRIPT, [key], [touched(self._replication.replicas)]))

    async def submit(self, stream: str, fields: Mapping[str, str]) -> str:
        with ledger_errors(self.redis, checked_stream(stream)):
            return str(await self.redis.xadd(stream, fields, maxlen=MAX_STREAM, approximate=True))

    def requests(self, stream: str, group: str, worker: str, min_idle: float) -> RedisRequests:
        return RedisRequests(
            self.redis, self._replication, stream, group, worker, min_idle)

    def tasks(self) -> RedisTasks:
        return RedisTasks(self._url)

    def reader(self) -> RedisReader:
        return RedisReader(self._url, self.robot)

    async def close(self) -> None:
        await self._replication.close()
        await close(self.redis)


for _scheme in (*SERVER_SCHEMES, *SENTINEL_SCHEMES, *CLUSTER_SCHEMES):
    register_ledger(_scheme)(RedisLedger)
