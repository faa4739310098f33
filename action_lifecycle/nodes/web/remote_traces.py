# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The evidence traces of a robot on another machine, read over a service of its bridge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from action_lifecycle_msgs.srv import GetTrace

from .remote_rows import POLICY
from ...documents.errors import LifecycleError
from ...lifecycle.states import ErrorCode
from ...ros.calls.threads import call_from_loop
from ...ros.node.lifecycle_node import ManagedNode
from ...traces import Trace, TraceError, TraceKey, TraceReader
from ...traces.image import MAX_BYTES

KEPT = 32 * 1024 * 1024
"""Maximum size (bytes) of the traces that are kept."""
TRIES = 3
"""Number of times that a trace is begun anew because it was changed while it was read."""


class _Known(NamedTuple):
    version: int
    size: int  #: in bytes
    trace: Trace


class RemoteTraces:
    """
    A source of traces in the viewer's loop; see `viewer.record.trace_sources`.

    `client`: of `get_trace`. `absent()` returns why the bridge can't answer, '' if it can. A trace
    that is known is sent again only after a change; one trace is read at a time.
    """

    def __init__(self, node: ManagedNode, client: Any, absent: Callable[[], str]) -> None:
        self._node = node
        self._client = client
        self._absent = absent
        self._known: dict[TraceKey, _Known] = {}  #: the one that was used last at the end
        self._reading: dict[TraceKey, asyncio.Task[Trace | None]] = {}
        self._turn = asyncio.Lock()

    def exists(self) -> bool:
        """Whether the bridge can be asked."""
        return not self._fault()

    async def find(self, key: TraceKey) -> Trace | None:
        """Return a trace, as it is now; None if there is none; raises TraceError."""
        if fault := self._fault():
            raise TraceError(fault)
        reading = self._reading.get(key)
        if reading is None:
            reading = self._reading[key] = asyncio.ensure_future(self._read(key))
            reading.add_done_callback(lambda done: self._end(key, done))
        return await asyncio.shield(reading)  # others may wait for it, too

    def _end(self, key: TraceKey, done: asyncio.Task[Trace | None]) -> None:
        del self._reading[key]
        if not done.cancelled():
            done.exception()  # is raised where it is awaited, if somebody still does

    def _fault(self) -> str:
        if fault := self._absent():
            return fault
        return '' if self._client.service_is_ready() else \
            f"there is no service '{self._client.srv_name}'"

    async def _read(self, key: TraceKey) -> Trace | None:
        async with self._turn:
            for _ in range(TRIES):
                known = self._known.pop(key, None)
                first = await self._ask(key, known.version if known else 0, 0)
                if not first.size:
                    return None
                if known is None or known.version != first.version:
                    image = await self._image(key, first)
                    if image is None:
                        continue
                    known = _Known(first.version, len(image), await asyncio.to_thread(
                        _trace, self._client.srv_name, key, image))
                self._keep(key, known)
                return known.trace
        raise TraceError('the trace changes faster than it can be read')

    async def _image(self, key: TraceKey, first: Any) -> bytes | None:
        """Return the file with the trace; None if the trace has changed meanwhile."""
        if first.size > MAX_BYTES:
            raise TraceError(f'the trace is too large: {first.size / 1e6:.1f} MB')
        image = bytearray(first.data)
        while first.data and len(image) < first.size:
            page = await self._ask(key, first.version, len(image))
            if page.version != first.version:
                return None
            if not page.data:
                break
            image += page.data
        if len(image) != first.size:
            raise TraceError(f'{self._client.srv_name}: {len(image)} bytes of a trace of '
                             f'{first.size}')
        return bytes(image)

    def _keep(self, key: TraceKey, known: _Known) -> None:
        self._known[key] = known
        while sum(each.size for each in self._known.values()) > KEPT:
            del self._known[next(iter(self._known))]

    async def _ask(self, key: TraceKey, version: int, offset: int) -> Any:
        request = GetTrace.Request(flow_id=key.flow_id, action_id=key.action_id,
                                   attempt=key.attempt, version=version, offset=offset)
        try:
            answer = await call_from_loop(self._node, self._client, request, POLICY)
        except LifecycleError as error:
            raise TraceError(str(error)) from error
        if answer.error_code != ErrorCode.NONE:
            raise TraceError(answer.error_msg or f'error code {answer.error_code}')
        return answer


def _trace(name: str, key: TraceKey, image: bytes) -> Trace:
    """Return the trace in a file that was sent."""
    with TraceReader(name, image) as reader:
        return reader.trace(key)
