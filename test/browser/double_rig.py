# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A viewer of robot doubles: what is now is set by the test, their orders are read back."""

from __future__ import annotations

import json
import os
from pathlib import Path
import sys
import time
from typing import Any

from .browser_rig import Pages, Viewer

TOKEN = 'ee9d5f6a0b4c4d0e8b7a1f2c3d4e5f60'
DOUBLE = Path(__file__).with_name('robot_double.py')


def start_viewer(*robots: tuple[Path, Path]) -> Viewer:
    """Start the viewer of robots, each given by its journal and its folder."""
    return Viewer([sys.executable, DOUBLE, *(path for robot in robots for path in robot)],
                  robots[0][1], {**os.environ, 'ACTION_LIFECYCLE_WEB_TOKEN': TOKEN})


class Double:
    """
    A robot of a viewer, by default of one of its own; `now` changes what is now, in this order.

    Its folder must be that of the viewer's robot.
    """

    def __init__(self, journal: Path, folder: Path, viewer: Viewer | None = None) -> None:
        self._folder = folder
        self.viewer = viewer or start_viewer((journal, folder))

    def now(self, kind: str, **parts: Any) -> None:
        with open(self._folder / 'now', 'a', encoding='utf-8') as file:
            file.write(json.dumps({'kind': kind, **parts}) + '\n')

    def orders(self, number: int) -> list[Any]:
        """Return the orders when there are so many."""
        file = self._folder / 'orders'
        end = time.monotonic() + 10.0
        while True:
            lines = file.read_text().splitlines() if file.exists() else []
            if len(lines) >= number or time.monotonic() > end:
                assert len(lines) == number, lines
                return [json.loads(line) for line in lines]
            time.sleep(0.02)

    def refuse(self, reason: str) -> None:
        """Refuse the orders that follow; '': accept them."""
        file = self._folder / 'refuse'
        if reason:
            file.write_text(reason)
        else:
            file.unlink(missing_ok=True)

    def fetched(self) -> int:
        """Return how many pictures were fetched."""
        file = self._folder / 'fetched'
        return len(file.read_text().splitlines()) if file.exists() else 0

    def open(self, pages: Pages, view: str, *, actor: str = '', **options: Any  # noqa: A003
             ) -> Any:
        """Return a page; `actor`: who signs in first."""
        address = f'{self.viewer.address}/{view}'
        if not actor:
            return pages.open(address, **options)
        return pages.open_as(actor, TOKEN, address, **options)
