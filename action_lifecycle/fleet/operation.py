# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One request claimed by a worker: its state, its claim, and whether a motion has begun."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
import logging
import time
from typing import Any, NamedTuple

from .errors import LedgerError, LedgerUnavailable
from .ledger import Operations
from .operation_states import OperationState as State

_LOG = logging.getLogger(__name__)

RETRY_DELAY = 0.5  # delay (s) between retries while the server is unreachable


class OperationRequest(NamedTuple):
    """A request: id of its stream entry, trace id, fields, and number of its delivery."""

    message_id: str
    trace_id: str
    data: Mapping[str, str]
    tries: int


class Lost(LedgerError):
    """Another worker has the operation, so this one must not start anything for it."""


class Operation:
    """
    A request in progress.

    `held_until`: time (s of time.monotonic()) until which no other worker can claim it.
    """

    def __init__(
        self, operations: Operations, request: OperationRequest, fence: str, *, held_until: float,
        moved: bool = False,
    ) -> None:
        self.request = request
        self.fence = fence
        self.moved = moved
        self.ended = False
        self.held_until = held_until
        self._operations = operations

    async def start_motion(self) -> None:
        """
        Record that a motion is about to start; if it raises Lost, do not start it.

        Raises Lost also if the claim lapsed meanwhile, for example because the process stood
        still: another worker may have asked a person about the request since then.
        """
        if not self.moved:
            await self.move(State.TOOL_EXECUTING, {'moved': 1}, in_time=True)
        if time.monotonic() >= self.held_until:
            raise Lost(f'operation {self.request.trace_id}: the claim has lapsed')
        self.moved = True

    async def move(
        self, state: State, metadata: Mapping[str, Any] | None = None, outcome: str | None = None,
        saved: Mapping[str, Any] | None = None, in_time: bool = False,
    ) -> None:
        """
        Enter a state, with a checkpoint of `saved`; raises Lost.

        Retries while the server is unreachable. The fence prevents the change if another worker
        has taken the operation over. `in_time`: retries only while the claim is held, and returns
        only when a failover of the server does not lose the change.
        """
        again = entered = False
        while True:
            try:
                entered = entered or await self._operations.move(
                    self.request.trace_id, state, metadata, saved=saved, fence=self.fence,
                    outcome=outcome) or (again and await self._is_in(state))
                if entered and (not in_time or await self._operations.confirm(
                        self.request.trace_id, state, self.fence)):
                    return
                raise Lost(f'operation {self.request.trace_id} was taken over or has expired')
            except LedgerUnavailable as error:
                if not again:
                    _LOG.warning('operation %s: %s; trying again', self.request.trace_id, error)
                again = True
                if in_time and time.monotonic() + RETRY_DELAY >= self.held_until:
                    raise Lost(f'operation {self.request.trace_id}: the claim has lapsed'
                               ) from error
                await asyncio.sleep(RETRY_DELAY)

    async def _is_in(self, state: State) -> bool:
        """Return whether a change whose response was lost has been made."""
        found = await self._operations.trace(self.request.trace_id)
        return [found.get('state'), found.get('fence')] == [state.value, self.fence]
