# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads the rows of a robot in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .storage import KeptRobot, Storage, subject_name
from ...ledger import Rows
from ....journal.row import Row


class MemoryReader(Rows):
    """Reads the rows of `robot` in the storage of a ledger; see `Rows`."""

    def __init__(self, storage: Storage, robot: str) -> None:
        self._storage = storage
        self.robot = robot

    @property
    def _robot(self) -> KeptRobot:
        return self._storage.robots.get(self.robot) or KeptRobot()

    def last_seq(self) -> int:
        return self._robot.cursor.seq

    def rows(
        self, *, flow_id: str | None = None, action_id: str | None = None,
        kind: str | None = None, after: int = 0, limit: int | None = None,
    ) -> Iterator[Row]:
        found = [row for row in list(self._robot.rows)
                 if row.seq > after and flow_id in (None, row.flow_id)
                 and action_id in (None, row.action_id) and kind in (None, row.kind)]
        yield from found[:limit]

    def origin(self) -> tuple[str, str]:
        return self._robot.origin

    def record(self, flow_id: str, action_id: str) -> Mapping[str, str]:
        return dict(self._robot.records.get(subject_name('transition', flow_id, action_id), {}))

    def close(self) -> None:
        """Do nothing; the storage stays."""
