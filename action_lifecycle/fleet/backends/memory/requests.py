# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The requests of a stream in memory, for one worker of a group."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import chain, islice
import time
from typing import Any

from .storage import Held, Storage, Stream
from ....journal.clock import boot_time

POLL_PERIOD = 0.01  # polling period (s) for new requests
WAIT = 1.0  # maximum time (s) that a worker waits for a request


class MemoryRequests:
    """The requests in the storage of a ledger; see `Requests`."""

    def __init__(
        self, storage: Storage, stream: str, group: str, worker: str, min_idle: float
    ) -> None:
        self._lock = storage.lock
        self._worker = worker
        self._min_idle = min_idle
        self._stream = storage.streams.setdefault(stream, Stream())
        self._group = self._stream.groups.setdefault(group, {})

    async def join(self) -> None:
        """Do nothing; the group exists."""

    async def retake(self) -> list[tuple[str, Mapping[str, str]]]:
        with self._lock:
            return [self._taken(message_id) for message_id, held in self._group.items()
                    if held is not None and held.worker == self._worker][:100]

    async def take(self) -> list[tuple[str, Mapping[str, str]]]:
        deadline = time.monotonic() + min(WAIT, self._min_idle / 2)
        while not (taken := self._take()) and time.monotonic() < deadline:
            await asyncio.sleep(POLL_PERIOD)
        return taken

    def _take(self) -> list[tuple[str, Mapping[str, str]]]:
        now = boot_time()
        with self._lock:
            group, entries = self._group, self._stream.entries
            abandoned = (message_id for message_id, held in group.items()
                         if held is not None and now - held.since >= self._min_idle)
            new = (message_id for message_id in entries if message_id not in group)
            return [self._taken(message_id) for message_id in islice(chain(abandoned, new), 1)]

    def _taken(self, message_id: str) -> tuple[str, Mapping[str, str]]:
        held = self._group.get(message_id)
        self._group[message_id] = Held(
            self._worker, held.tries + 1 if held is not None else 1, boot_time())
        return message_id, self._stream.entries.get(message_id, {})

    async def tries(self, message_id: str) -> int:
        held = self._group.get(message_id)
        return held.tries if held is not None and held.worker == self._worker else 0

    async def renew(self, message_id: str) -> bool:
        with self._lock:
            held = self._group.get(message_id)
            if held is None or held.worker != self._worker:
                return False
            self._group[message_id] = held._replace(since=boot_time())
            return True

    async def done(self, message_id: str) -> None:
        with self._lock:
            self._group[message_id] = None

    async def bury(self, message_id: str, letter: Mapping[str, Any]) -> bool:
        with self._lock:
            held = self._group.get(message_id)
            if held is None or held.worker != self._worker:
                return False
            self._group[message_id] = None
            self._stream.dead[self._stream.new_id()] = dict(letter)
            return True

    async def age(self, message_id: str) -> float:
        return time.time() - int(message_id.partition('-')[0]) / 1000
