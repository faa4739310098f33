# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Watches the claims on tasks of sessions that this robot's open flows need.

A flow names its claim `SESSION/TASK`. The claim is held while this robot is the claimant of the
task's lease in the ledger and the lease has not expired by the ledger's clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import NamedTuple

from .fault_log import FaultLog
from .ledger import Ledger
from ..journal.clock import boot_time
from ..journal.reader import JournalReader

POLL_PERIOD = 0.5  #: polling period (s)


class HeldClaim(NamedTuple):
    """A claim that was held at the last poll; `until`: expiry in s of `boot_time`."""

    flow_id: str
    name: str
    token: int
    until: float


class ClaimWatch:
    """
    Polls the claims of the open flows; `held`: those held at the last poll.

    `others()` returns the names of claims to ignore. While the server is unreachable, `held` and
    its expiry times stay unchanged.
    """

    def __init__(
        self, ledger: Ledger, reader: Callable[[], JournalReader | None],
        others: Callable[[], Collection[str]], faults: FaultLog | None = None,
    ) -> None:
        self.held: list[HeldClaim] = []
        self._ledger = ledger
        self._reader = reader
        self._others = others
        self._names: dict[str, str] = {}
        self._faults = (faults or FaultLog()).part('claims of sessions')

    async def run(self) -> None:
        """Poll until canceled."""
        while True:
            try:
                self.held = [claim for flow_id, name in self._needed().items()
                             if (claim := await self._read(flow_id, name)) is not None]
                self._faults.clear()
            except Exception as error:  # this task must not end: flows would fail for ever
                self._faults.report(error)
            await asyncio.sleep(POLL_PERIOD)

    def _needed(self) -> dict[str, str]:
        """Return the names of the claims of the open flows, by flow id."""
        reader = self._reader()
        if reader is None:
            return {}
        names: dict[str, str] = {}
        for last in reader.open_flows():
            names[last.flow_id] = self._names.get(last.flow_id) or next(
                (row.data.get('origin', {}).get('lease', '')
                 for row in reader.rows(flow_id=last.flow_id, kind='flow', limit=1)), '')
        self._names = names
        others = self._others()
        return {flow_id: name for flow_id, name in names.items()
                if '/' in name and name not in others}

    async def _read(self, flow_id: str, name: str) -> HeldClaim | None:
        session, _, task = name.rpartition('/')
        now = boot_time()
        found = await self._ledger.lease(session, task)
        if found is None or found[0].claimant != self._ledger.robot:
            return None
        return HeldClaim(flow_id, name, found[0].token, now + found[1])
