# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The requests of a Redis stream, for one worker of a consumer group."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
from typing import Any

from .connection import ledger_errors, script_text
from .keys import dead_letters

BLOCK = 1.0  # maximum time (s) of a blocking read; below the connection's timeout

Entry = tuple[str, Mapping[str, str]]


class RedisRequests:
    """The requests of `stream` for `worker` of `group`; `redis` is a `redis.asyncio.Redis`."""

    def __init__(
        self, redis: Any, stream: str, group: str, worker: str, min_idle: float
    ) -> None:
        self._redis = redis
        self._stream = stream
        self._group = group
        self._worker = worker
        self._min_idle = min_idle
        self._bury_script = redis.register_script(script_text('bury'))
        self._renew_script = redis.register_script(script_text('renew'))

    async def join(self) -> None:
        from redis import ResponseError
        with ledger_errors(), contextlib.suppress(ResponseError):  # the group exists
            await self._redis.xgroup_create(self._stream, self._group, id='0', mkstream=True)

    async def retake(self) -> list[Entry]:
        return await self._read('0', count=100)

    async def take(self) -> list[Entry]:
        with ledger_errors():
            claimed = await self._redis.xautoclaim(
                self._stream, self._group, self._worker, int(self._min_idle * 1000), count=1)
        return [(message_id, fields or {}) for message_id, fields in claimed[1]] \
            or await self._read('>', count=1)

    async def _read(self, after: str, count: int) -> list[Entry]:
        with ledger_errors():
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
        with ledger_errors():
            pending = await self._redis.xpending_range(
                self._stream, self._group, min=message_id, max=message_id, count=1)
        held = pending and pending[0]['consumer'] == self._worker
        return int(pending[0]['times_delivered']) if held else 0

    async def renew(self, message_id: str) -> bool:
        with ledger_errors():
            return bool(await self._renew_script(
                keys=[self._stream], args=[self._group, self._worker, message_id]))

    async def done(self, message_id: str) -> None:
        with ledger_errors():
            await self._redis.xack(self._stream, self._group, message_id)

    async def bury(self, message_id: str, letter: Mapping[str, Any]) -> bool:
        with ledger_errors():
            return bool(await self._bury_script(
                keys=[self._stream, dead_letters(self._stream)],
                args=[self._group, message_id, *(one for pair in letter.items() for one in pair)]))

    async def age(self, message_id: str) -> float:
        with ledger_errors():
            seconds, microseconds = await self._redis.time()
        return float(seconds + microseconds * 1e-6 - int(message_id.partition('-')[0]) / 1000)
