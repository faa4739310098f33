# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A viewer of a robot double: what is now is set by the test, its orders are read back."""

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


class Double:
    """The viewer as a process; `now` changes what is now, in the order of calls."""

    def __init__(self, journal: Path, folder: Path) -> None:
        self._folder = folder
        self.viewer = Viewer([sys.executable, DOUBLE, journal, folder], folder,
                             {**os.environ, 'ACTION_LIFECYCLE_WEB_TOKEN': TOKEN})

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
        page = pages.open(f'{self.viewer.address}/sign-in?next=/{view}', **options)
        page.fill('input[name=token]', TOKEN)
        page.fill('input[name=actor]', actor)
        page.keyboard.press('Enter')
        page.wait_for_url(address)
        return page
