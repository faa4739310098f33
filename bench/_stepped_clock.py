# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time for a benchmark that waits for nothing."""

from __future__ import annotations

from collections.abc import Callable
import heapq
import itertools


class Later:
    """A callback to come."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Take it back."""
        self.callback = None


class SteppedClock:
    """A `LifecycleClock` in s that advances when told; the journal reads its times too."""

    boot_id = 'bench'

    def __init__(self) -> None:
        self.time = 0.0
        self._later: list[tuple[float, int, Later]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Return the time."""
        return self.time

    boot_time = wall_time = now

    def call_later(self, delay: float, callback: Callable[[], None]) -> Later:
        """Call back after a delay."""
        later = Later(callback)
        heapq.heappush(self._later, (self.time + delay, next(self._order), later))
        return later

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back when the clock goes on, be it by nothing."""
        self.call_later(0.0, callback)

    def run(self, until: float) -> None:
        """Make the calls that are due, in order, each at its time."""
        while self._later and self._later[0][0] <= until:
            self.time, _, later = heapq.heappop(self._later)
            if later.callback is not None:
                later.callback()
        self.time = until
