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

"""One request that a worker has claimed: where it is, how long it is held, what it has moved."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
import logging
import time
from typing import Any, NamedTuple

from .checkpoints import pack
from .operation_states import OperationState as State
from .operations import move
from .redis_connection import LedgerError, server_errors
from .redis_keys import trace

_LOG = logging.getLogger(__name__)

AGAIN = 0.5  # s between tries of a step while the server is away


class Request(NamedTuple):
    """A request: its entry in the stream, its trace, its fields, which delivery this is."""

    message_id: str
    trace_id: str
    data: Mapping[str, str]
    tries: int


class Lost(LedgerError):
    """The operation is not ours any more; nothing may be started for it."""


class Operation:
    """
    A request that is being worked on.

    `held_until` is in s of time.monotonic(): until then nobody else can have claimed it.
    """

    def __init__(
        self, redis: Any, request: Request, fence: str, *, held_until: float, moved: bool = False
    ) -> None:
        self.request = request
        self.fence = fence
        self.moved = moved
        self.ended = False
        self.held_until = held_until
        self._redis = redis

    async def start_motion(self) -> None:
        """Record that something is about to move; raises Lost, and then nothing may."""
        if not self.moved:
            await self.move(State.TOOL_EXECUTING, {'moved': 1}, in_time=True)
            self.moved = True

    async def move(
        self, state: State, metadata: Mapping[str, Any] | None = None, outcome: str | None = None,
        saved: Mapping[str, Any] | None = None, in_time: bool = False,
    ) -> None:
        """
        Go on to a state, with a checkpoint of `saved`; raises Lost.

        While the server is away it is tried again (`in_time`: for as long as the claim is held):
        whoever took the operation over meanwhile has changed its fence.
        """
        fields = () if saved is None else pack(saved)
        again = False
        while True:
            try:
                answer = await move(self._redis, self.request.trace_id, state.value, metadata,
                                    fence=self.fence, outcome=outcome, saved=fields)
                if answer[2] or (again and await self._is_in(state)):
                    return
                raise Lost(f'operation {self.request.trace_id} was taken over or has expired')
            except server_errors() as error:
                if not again:
                    _LOG.warning('operation %s: %s; trying again', self.request.trace_id, error)
                again = True
                if in_time and time.monotonic() + AGAIN >= self.held_until:
                    raise Lost(f'operation {self.request.trace_id}: the claim has lapsed'
                               ) from error
                await asyncio.sleep(AGAIN)

    async def save(self, gathered: Mapping[str, Any]) -> None:
        """Write the checkpoint and go on to INFERRING; raises Lost."""
        await self.move(State.INFERRING, saved=gathered)

    async def _is_in(self, state: State) -> bool:
        """Whether a step whose answer was lost has been done."""
        found = await self._redis.hmget(trace(self.request.trace_id), ['state', 'fence'])
        return list(found) == [state.value, self.fence]
