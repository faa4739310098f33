# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
