# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One request claimed by a worker: its state, its claim, and whether a motion has begun."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from .errors import LedgerError, LedgerUnavailable
from .fault_log import FaultLog, PartFaults
from .ledger import Operations
from .operation_states import OperationState as State
from ..journal.clock import boot_time

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

    `held_until`: time (s of `boot_time`) until which no other worker can claim it.
    """

    def __init__(
        self, operations: Operations, request: OperationRequest, fence: str, *, held_until: float,
        moved: bool = False, faults: PartFaults | None = None,
    ) -> None:
        self.request = request
        self.fence = fence
        self.moved = moved
        self.ended = False
        self.held_until = held_until
        self._operations = operations
        self._faults = faults or FaultLog().part(f'operation {request.trace_id}')

    async def start_motion(self) -> None:
        """
        Record that a motion is about to start; if it raises Lost, do not start it.

        Raises Lost also if the claim lapsed meanwhile, for example because the process stood
        still: another worker may have asked a person about the request since then.
        """
        if not self.moved:
            await self.move(State.TOOL_EXECUTING, {'moved': 1}, in_time=True)
        if boot_time() >= self.held_until:
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
                    if again:
                        self._faults.clear()
                    return
                raise Lost(f'operation {self.request.trace_id} was taken over or has expired')
            except LedgerUnavailable as error:
                again = True
                self._faults.report(error)
                if in_time and boot_time() + RETRY_DELAY >= self.held_until:
                    raise Lost(f'operation {self.request.trace_id}: the claim has lapsed'
                               ) from error
                await asyncio.sleep(RETRY_DELAY)

    async def _is_in(self, state: State) -> bool:
        """Return whether a change whose response was lost has been made."""
        found = await self._operations.trace(self.request.trace_id)
        return [found.get('state'), found.get('fence')] == [state.value, self.fence]
