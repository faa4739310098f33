# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A thread with an asyncio loop for network clients."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
import threading
from typing import Any

CANCEL_PERIOD = 1.0  #: period (s) of repeated cancels


class LoopThread:
    """An asyncio loop in a separate thread, for network clients."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name='network clients', daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Run a coroutine in the loop and return its future."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel all tasks of the loop, wait for their end, and end the thread."""
        self.submit(_end_others()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def end(*tasks: asyncio.Future[Any]) -> None:
    """
    Cancel tasks and wait until they have ended; their exceptions are ignored.

    Tasks that do not end are canceled again, since redis-py 4.3 may ignore a cancel while it
    checks whether a connection is readable.
    """
    ended = asyncio.gather(*tasks, return_exceptions=True)
    while not ended.done():
        for task in tasks:
            task.cancel()
        await asyncio.wait([ended], timeout=CANCEL_PERIOD)


async def _end_others() -> None:
    await end(*asyncio.all_tasks() - {asyncio.current_task()})
