# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A queue for a limited number of slots: first come, first served."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class Line:
    """A queue with `places` slots; a released slot goes to the next turn."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[Turn] = deque()
        self._calling = False

    def join(self, turn: Turn) -> None:
        """Add a turn to the queue; it is called when a slot is free, which may be at once."""
        self._waiting.append(turn)
        self._call()

    def make_room(self) -> None:
        """Release one slot."""
        self._free += 1
        self._call()

    def _call(self) -> None:
        if self._calling:  # a turn has left during its call: the loop below continues
            return
        self._calling = True
        try:
            while self._free and self._waiting:
                turn = self._waiting.popleft()
                if not turn.left:
                    self._free -= 1
                    turn.call()
        finally:
            self._calling = False


class Turn:
    """One wait for a slot: calls `go` when it has one, and keeps it until `leave`."""

    def __init__(self, line: Line, go: Callable[[], None]) -> None:
        self._line = line
        self._go = go
        self._has_place = False
        self.left = False

    def wait(self) -> None:
        """Join the line."""
        self._line.join(self)

    def leave(self) -> None:
        """Release the slot, or leave the line; a second call does nothing."""
        self.left = True
        if self._has_place:
            self._has_place = False
            self._line.make_room()

    def call(self) -> None:
        """Take a slot and call `go`; called by the line."""
        self._has_place = True
        self._go()
