# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A simulated clock for benchmarks, without waiting."""

from __future__ import annotations

from collections.abc import Callable
import heapq
import itertools


class Later:
    """A scheduled callback."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Cancel the callback."""
        self.callback = None


class SteppedClock:
    """A `LifecycleClock` (s) that advances only in `run`; the journal uses it, too."""

    boot_id = 'bench'

    def __init__(self) -> None:
        self.time = 0.0
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

    def run(self, until: float) -> None:
        """Run the callbacks that are due by `until` (s), in order, each at its time."""
        while self._later and self._later[0][0] <= until:
            self.time, _, later = heapq.heappop(self._later)
            if later.callback is not None:
                later.callback()
        self.time = until
