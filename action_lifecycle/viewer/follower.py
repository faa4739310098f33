# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Applies new rows of a journal to a robot's record, and tells who listens to the robot."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from .record.shown import Update
from .robots import Heard, Robot, ROWS

PERIOD = 1.0
"""Longest time (s) between two looks at the journal."""


class Follower:
    """
    Follows the journal of one robot, in the viewer's loop.

    `period`: time (s) between two looks at the journal without `soon`.
    """

    def __init__(self, robot: Robot, period: float = PERIOD) -> None:
        self._robot = robot
        self._period = period
        self._soon = asyncio.Event()
        self._last = Update()

    def soon(self) -> None:
        """Look at the journal now; many calls during a look cause one more."""
        self._soon.set()

    async def run(self) -> None:
        """Follow until this task is canceled."""
        while True:
            self._soon.clear()
            await self.look()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._soon.wait(), self._period)

    async def look(self) -> None:
        """Read the new rows once, and tell what they have changed."""
        try:
            update: Update = await self._robot.record.update()
        except Exception as error:  # of one look; the next one may succeed
            logging.getLogger('action_lifecycle').exception('viewer: %s', self._robot.name)
            update = Update(lost=f'{type(error).__name__}: {error}')
        changed = update.flows or update.new_flows or update.lost != self._last.lost
        self._last = update
        if changed:
            self._robot.tell(Heard(ROWS, update))
