# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The moment that the pages of a browser tab show."""

from __future__ import annotations

from .listeners import Listeners


class Moment(Listeners):
    """
    A row of the journal after which everything is shown; `seq` None: live, as it is now.

    All pages of a tab share one, so that the slider of the timeline moves all of them.
    """

    def __init__(self, seq: int | None = None) -> None:
        super().__init__()
        self._seq = seq

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
        self.tell()
