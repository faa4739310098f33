# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The moment that the pages of a browser tab show."""

from __future__ import annotations

from collections.abc import Callable


class Moment:
    """
    A row of the journal after which everything is shown; `seq` None: live, as it is now.

    All pages of a tab share one, so that the slider of the timeline moves all of them.
    """

    def __init__(self, seq: int | None = None) -> None:
        self._seq = seq
        self._listeners: dict[int, Callable[[], None]] = {}
        self._number = 0

    @property
    def seq(self) -> int | None:
        """Return the last row that is shown; None: live."""
        return self._seq

    @property
    def live(self) -> bool:
        """Return whether the present is shown."""
        return self._seq is None

    def set(self, seq: int | None) -> None:  # noqa: A003
        """Show the state after row `seq` (None: live); listeners are called if that is new."""
        if seq == self._seq:
            return
        self._seq = seq
        for callback in list(self._listeners.values()):
            callback()

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after each change; returns a function that ends it."""
        self._number += 1
        number = self._number
        self._listeners[number] = callback
        return lambda: self._listeners.pop(number, None) and None
