# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is to be done at which ROS time while a bag is read."""

from __future__ import annotations

from collections.abc import Callable
import heapq
import itertools
import math

from ...world.model import WorldModel


class Agenda:
    """Calls functions at their time (s), in one order with the deadlines of a model."""

    def __init__(self, model: WorldModel) -> None:
        self._model = model
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def add(self, time: float, call: Callable[[], None]) -> None:
        """Call a function at a time; one that is over means now."""
        heapq.heappush(self._entries, (time, next(self._numbers), call))

    def proceed(self, now: float) -> None:
        """Do all that is due before `now`; also what the called functions add."""
        while True:
            due = self._model.next_deadline()
            if self._entries and self._entries[0][0] < now and self._entries[0][0] <= due:
                heapq.heappop(self._entries)[2]()
            elif due < now and math.isfinite(due):
                self._model.advance(due)
            else:
                return
