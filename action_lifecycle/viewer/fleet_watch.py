# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The fleet as the pages see it: read from the ledger once a second, for all browsers together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
import contextlib
import logging
import time
from typing import NamedTuple

from .listeners import Listeners
from .robots import Answer
from ..fleet.errors import LedgerError, LedgerUnavailable
from ..fleet.fleet_view import FleetView, stream_names
from ..fleet.ledger import check_url, open_ledger
from ..fleet.robot_status import RobotStatus
from ..fleet.work_status import DeadLetter, StreamWork

PERIOD = 1.0
"""Period (s) of reading the ledger while a page shows the fleet."""
MAX_LETTERS = 50
"""Maximum number of dead letters of a stream that are shown, the newest ones."""
_LOG = logging.getLogger('action_lifecycle')


class FleetNow(NamedTuple):
    """
    What was read last; `fault`: why the ledger can't be read now.

    `read_at`: s since 1970, 0.0: nothing was read yet. `letters`: by stream, the newest first.
    """

    robots: Sequence[RobotStatus] = ()
    work: Sequence[StreamWork] = ()
    letters: Mapping[str, Sequence[DeadLetter]] = {}
    fault: str = ''
    read_at: float = 0.0


class FleetOrders:
    """The orders of people to the fleet; `view()` returns the ledger while it is open."""

    def __init__(self, view: Callable[[], FleetView | None], done: Callable[[], None]) -> None:
        self._view = view
        self._done = done

    async def resend(self, stream: str, letter_id: str, actor: str) -> Answer:
        """Send the request of a dead letter again."""
        view = self._view()
        if view is None:
            return Answer(False, 'not sent: the viewer has no connection to the ledger')
        try:
            sent = await view.resend(stream, letter_id, actor)
        except LedgerUnavailable as error:
            return Answer(False, f'it is not known whether it was sent: {error}; if the letter '
                                 'is still shown, you can press again, it is sent once only')
        self._done()
        if sent.again:
            return Answer(True, f'{sent.by} had sent it already, as {sent.trace_id}')
        return Answer(True, f'its new trace is {sent.trace_id}')


class Fleet(Listeners):
    """The fleet of the ledger at `url`; raises LedgerError for a bad URL."""

    name = ''  #: no robot

    def __init__(self, url: str) -> None:
        super().__init__()
        self.now = FleetNow()
        self._url = check_url(url)
        self._view: FleetView | None = None
        self._wanted = asyncio.Event()
        self.orders = FleetOrders(lambda: self._view, self._wanted.set)

    def listen(self, callback: Callable[..., None]) -> Callable[[], None]:
        """Call back after each reading; returns a function that ends it."""
        self._wanted.set()
        return super().listen(callback)

    async def run(self) -> None:
        """Read while somebody listens, until this task is canceled."""
        ledger = open_ledger(self._url)
        self._view = ledger.fleet
        try:
            while True:
                if self.heard_by:
                    self._wanted.clear()
                    await self.look(ledger.fleet)
                await self._pause(PERIOD if self.heard_by else None)
        finally:
            self._view = None
            await ledger.close()

    async def look(self, view: FleetView) -> None:
        """Read once, and tell what was read."""
        try:
            robots = await view.robots()
            work = [await view.work(*pair) for pair in sorted(stream_names(robots))]
            letters = {one.stream: await view.dead_letters(one.stream, MAX_LETTERS)
                       for one in work if one.dead}
            self.now = FleetNow(robots, work, letters, read_at=time.time())
        except Exception as error:  # of one reading; the next one may succeed
            if not isinstance(error, LedgerError):
                _LOG.exception('viewer: the fleet')
            self.now = self.now._replace(fault=str(error) or type(error).__name__)
        self.tell()

    async def _pause(self, longest: float | None) -> None:
        """Wait until a page is opened or an order was given, at most so long (s)."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._wanted.wait(), longest)
