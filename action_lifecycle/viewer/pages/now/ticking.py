# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Times that grow or shrink in the browser, without the server."""

from __future__ import annotations

import time

from nicegui.element import Element

CLOCK_SLACK = 0.5
"""Change (s) of the offset of the robot's clock after which it is sent to the browser."""


class Ticking(Element, component='ticking.js'):
    """
    The time since a moment, or with `left` until it; `over`: the text when it has come.

    The text is put between `before` and `after`. The browser's clock need not be right.
    """

    def __init__(
        self, *, left: bool = False, before: str = '', after: str = '', over: str = 'now',
    ) -> None:
        super().__init__()
        self._offset = 0.0
        self._props.update(
            {'at': 0.0, 'now': 0.0, 'left': left, 'before': before, 'after': after, 'over': over})

    def show(self, at: float, offset: float = 0.0) -> None:
        """Show the time of moment `at` (s); `offset`: of its clock from wall time (s)."""
        if at == self._props['at'] and abs(offset - self._offset) < CLOCK_SLACK:
            return
        self._offset = offset
        with self._props.suspend_updates():
            self._props['at'] = at
            self._props['now'] = time.time() + offset
        self.update()
