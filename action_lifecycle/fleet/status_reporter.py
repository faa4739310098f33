# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reports the status of a robot to its fleet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
import time

from .fault_log import FaultLog
from .fleet_view import FleetView
from .robot_status import PERIOD, RobotReport
from .sync import SyncStatus


class StatusReporter:
    """Writes what `read` returns to the ledger, once in `period` s."""

    def __init__(
        self, view: FleetView, read: Callable[[], RobotReport], period: float = PERIOD,
        faults: FaultLog | None = None,
    ) -> None:
        self._view = view
        self._read = read
        self._period = period
        self._version = package_version()
        self._faults = (faults or FaultLog()).part('status of the robot, for the fleet')

    async def run(self) -> None:
        """Report until canceled; a fault is logged once."""
        while True:
            try:
                await self._view.report(self._read()._replace(
                    wall_time=time.time(), version=self._version))
                self._faults.clear()
            except Exception as error:  # redis-py 4.3 raises unrelated errors on timeouts
                self._faults.report(error)
            await asyncio.sleep(self._period)


def synced_report(status: SyncStatus) -> RobotReport:
    """Return a report with the state of the sync."""
    state = 'connected' if status.connected else 'refused' if status.refused else 'disconnected'
    return RobotReport(state, status.last_error, status.journal_seq, status.ledger_seq, status.lag)


def package_version() -> str:
    """Return the version of this package; '' if it is not installed."""
    try:
        return version('action_lifecycle')
    except PackageNotFoundError:
        return ''
