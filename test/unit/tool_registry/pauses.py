# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How long a loop stands still while it waits for something."""

from __future__ import annotations

import asyncio
import time
from typing import Any


async def longest_pause(asked: asyncio.Future[Any]) -> float:
    """Return the longest time (s) between two turns of the loop until `asked` is done."""
    longest, last = 0.0, time.monotonic()
    while not asked.done():
        await asyncio.sleep(0.01)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    return longest
