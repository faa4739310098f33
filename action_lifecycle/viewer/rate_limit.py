# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits how often something may be done, for each key and in all."""

from __future__ import annotations

from collections.abc import Callable
import time

MAX_KEYS = 1024
"""Maximum number of keys that are kept; the one used longest ago is dropped."""


class RateLimit:
    """
    Token buckets: `burst` at once, then `burst` in `period` (s), for each key.

    `overall` limits all keys together in the same way; 0: no such limit.
    """

    def __init__(
        self, burst: int, period: float, *, overall: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.period = period
        self._clock = clock
        self._burst = burst
        self._overall = overall
        self._left: dict[str, tuple[float, float]] = {}
        self._all = (float(overall), clock())

    def wait(self, key: str) -> float:
        """Return the time (s) until `key` may do it again; 0: now."""
        now = self._clock()
        waits = [(1.0 - left) * self.period / size for left, size in (
            (self._now(self._left.get(key, (self._burst, now)), self._burst, now), self._burst),
            (self._now(self._all, self._overall, now) if self._overall else 1.0,
             self._overall or 1))]
        return max(0.0, *waits)

    def take(self, key: str) -> None:
        """Count one."""
        now = self._clock()
        left = self._now(self._left.pop(key, (self._burst, now)), self._burst, now)
        self._left[key] = (max(0.0, left - 1.0), now)
        if len(self._left) > MAX_KEYS:
            del self._left[next(iter(self._left))]
        self._all = (max(0.0, self._now(self._all, self._overall, now) - 1.0), now)

    def _now(self, bucket: tuple[float, float], size: int, now: float) -> float:
        left, since = bucket
        return min(float(size), left + (now - since) * size / self.period)
