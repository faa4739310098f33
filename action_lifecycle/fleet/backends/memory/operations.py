# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The operations on shared work in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
import json
import time
from typing import Any

from .storage import Storage, Trace
from ...checkpoints import Checkpoint, FIELDS, pack, TTL, unpack
from ...operation_listing import Filter, listed, OperationPage, page_of
from ...operation_states import OperationState, predecessors
from ....journal.clock import boot_time


class MemoryOperations:
    """The operations in the storage of a ledger; see `Operations`."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def receive(self, trace_id: str, metadata: Mapping[str, Any]) -> bool:
        with self._storage.lock:
            if self._valid(trace_id) is not None:
                return False
            self._storage.traces[trace_id] = Trace(
                {**_strings(metadata), 'created_at': repr(time.time()), 'state': 'RECEIVED',
                 'updated_at': repr(time.time())}, {}, boot_time() + TTL)
            return True

    async def trace(self, trace_id: str) -> Mapping[str, str]:
        found = self._valid(trace_id)
        return {} if found is None else dict(found.fields)

    async def move(
        self, trace_id: str, target: OperationState, metadata: Mapping[str, Any] | None = None, *,
        saved: Mapping[str, Any] | None = None, fence: str = '', outcome: str | None = None,
    ) -> bool:
        packed = {} if saved is None else pack(saved)
        with self._storage.lock:
            found = self._valid(trace_id)
            if found is None or fence not in ('', found.fields.get('fence')) \
                    or OperationState(found.fields['state']) not in predecessors()[target]:
                return False
            found.fields.update(
                _strings(metadata or {}), state=target.value, updated_at=repr(time.time()))
            found.saved.update(packed)
            if outcome is not None:
                self._storage.results.setdefault(trace_id, outcome)
            return True

    async def confirm(self, trace_id: str, state: OperationState, fence: str) -> bool:
        found = self._valid(trace_id)
        return found is not None and [found.fields['state'], found.fields.get('fence')] == [
            state.value, fence]

    async def checkpoint(self, trace_id: str) -> Checkpoint | None:
        found = self._valid(trace_id)
        return None if found is None else unpack(
            trace_id, [found.saved.get(name) for name in FIELDS])

    async def renew(self, trace_id: str, fence: str = '') -> bool:
        with self._storage.lock:
            if (found := self._valid(trace_id)) is not None:
                if fence not in ('', found.fields.get('fence')):
                    return False
                self._storage.traces[trace_id] = found._replace(until=boot_time() + TTL)
        return True

    async def find(
        self, states: Collection[str] = (), *, active_only: bool = False, offset: int = 0,
        limit: int = 100, scan: bool = False,
    ) -> OperationPage:
        wanted = Filter(states, active_only)
        with self._storage.lock:
            found = {trace_id: listed(trace_id, trace.fields)
                     for trace_id in list(self._storage.traces)
                     if (trace := self._valid(trace_id)) is not None
                     and wanted.accepts(trace.fields['state'])}
        chosen = page_of(((one.updated, one.trace_id) for one in found.values()), offset, limit)
        return OperationPage([found[trace_id] for trace_id in chosen], len(found))

    def _valid(self, trace_id: str) -> Trace | None:
        found = self._storage.traces.get(trace_id)
        return found if found is not None and boot_time() < found.until else None


def _strings(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value)
            for name, value in metadata.items()}
