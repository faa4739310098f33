# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The requests of a Redis stream, for one worker of a consumer group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .connection import ledger_errors
from .keys import dead_letters, trimmed_requests
from .replication import Replication
from .scripts import script

BLOCK = 1.0  # maximum time (s) of a blocking read; below the connection's timeout
MAX_DEAD = 5000  # approximate maximum number of dead letters of a stream, as in lua/bury.lua

Entry = tuple[str, Mapping[str, str]]


class RedisRequests:
    """
    The requests of `stream` for `worker` of `group`; `redis` is a client of `connect`.

    A request is taken only while the replicas of the URL are connected, and a renewal counts only
    if they acknowledge it.
    """

    def __init__(
        self, redis: Any, replication: Replication, stream: str, group: str, worker: str,
        min_idle: float,
    ) -> None:
        self._redis = redis
        self._replication = replication
        self._stream = stream
        self._trimmed, self._dead = trimmed_requests(stream), dead_letters(stream)
        self._group = group
        self._worker = worker
        self._min_idle = min_idle

    async def join(self) -> None:
        with ledger_errors(self._redis, self._stream):
            await script('join').run(self._redis, [self._stream], [self._group])

    async def retake(self) -> list[Entry]:
        return await self._read('0', count=100)

    async def take(self) -> list[Entry]:
        with ledger_errors(self._redis, self._stream):
            await self._replication.check(self._stream)
            lapsed = await script('types', 'take').run(
                self._redis,
                [self._stream, self._trimmed, self._dead],
                [self._group, self._worker, int(self._min_idle * 1000),
                 'it was trimmed from its stream', MAX_DEAD])
        return [(message_id, dict(zip(fields[::2], fields[1::2])))
                for message_id, fields in lapsed] or await self._read('>', count=1)

    async def _read(self, after: str, count: int) -> list[Entry]:
        with ledger_errors(self._redis, self._stream):
            found = await self._redis.xreadgroup(
                self._group, self._worker, {self._stream: after}, count=count,
                block=int(min(BLOCK, self._min_idle / 2) * 1000))
        for entries in found.values() if isinstance(found, dict) else (one for _, one in found):
            # redis-py 8 returns one more level of nesting
            nested = entries and isinstance(entries[0], list)
            return [(message_id, fields or {}) for message_id, fields in (
                entries[0] if nested else entries)]
        return []

    async def tries(self, message_id: str) -> int:
        with ledger_errors(self._redis, self._stream):
            pending = await self._redis.xpending_range(
                self._stream, self._group, min=message_id, max=message_id, count=1)
        held = pending and pending[0]['consumer'] == self._worker
        return int(pending[0]['times_delivered']) if held else 0

    async def renew(self, message_id: str) -> bool:
        with ledger_errors(self._redis, self._stream):
            return bool(await self._replication.run(
                script('types', 'renew'), [self._stream, self._trimmed],
                [self._group, self._worker, message_id, int(self._min_idle * 1000)]))

    async def done(self, message_id: str) -> None:
        with ledger_errors(self._redis, self._stream):
            await self._redis.xack(self._stream, self._group, message_id)

    async def bury(self, message_id: str, letter: Mapping[str, Any]) -> bool:
        with ledger_errors(self._redis, self._stream):
            return bool(await script('types', 'bury').run(
                self._redis, [self._stream, self._dead],
                [self._group, self._worker, message_id,
                 *(one for pair in letter.items() for one in pair)]))

    async def age(self, message_id: str) -> float:
        with ledger_errors(self._redis, self._stream):
            return int(await script('age').run(
                self._redis, [self._stream], [message_id.partition('-')[0]])) / 1000
