# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A clock that a test steps: nothing waits, and callbacks come in the order of their times."""

from __future__ import annotations

from collections.abc import Callable
import heapq
import itertools
import math


class Later:
    """A scheduled callback."""

    def __init__(self, callback: Callable[[], None] | None = None) -> None:
        self.callback = callback

    def cancel(self) -> None:
        """Cancel the callback."""
        self.callback = None


class SteppedClock:
    """
    A clock (s) that advances only in `run`.

    It is the `lifecycle.ports.LifecycleClock` of the flows and the clock of the journal.
    """

    boot_id = 'stepped'
    alive = True  #: False: the process whose clock it is was killed

    def __init__(self, time: float = 0.0) -> None:
        self.time = time
        self._later: list[tuple[float, int, Later]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Return the time (s)."""
        return self.time

    boot_time = wall_time = now

    def call_later(self, delay: float, callback: Callable[[], None]) -> Later:
        """Call back after `delay` (s)."""
        later = Later(callback)
        heapq.heappush(self._later, (self.time + delay, next(self._order), later))
        return later

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the current or the next `run`."""
        self.call_later(0.0, callback)

    def next_due(self) -> float:
        """Return the time (s) of the next callback; infinite if there is none."""
        while self._later and self._later[0][2].callback is None:
            heapq.heappop(self._later)
        return self._later[0][0] if self._later else math.inf

    def run(self, until: float) -> None:
        """Run the callbacks that are due by `until` (s), in order, each at its time."""
        while self._later and self._later[0][0] <= until:
            self.time, _, later = heapq.heappop(self._later)
            if later.callback is not None:
                later.callback()
        self.time = until

    def drop_all(self) -> None:
        """Drop all callbacks, as the end of a process does."""
        self._later.clear()
