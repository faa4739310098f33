# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Long work in a separate thread, so that it does not block the executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future as Done
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...documents.errors import LifecycleError
from ...ros.calls.threads import from_thread
from ...ros.node.lifecycle_node import ManagedNode

ANSWERS = 20
"""Maximum number of requests that wait for a worker; more are refused."""


class Apart:
    """One worker thread for files and parsers; results arrive in the executor's thread."""

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._pool = ThreadPoolExecutor(1, thread_name_prefix='apart')
        self._answering = 0

    def __call__(
        self, work: Callable[[], Any], done: Callable[[Any, Exception | None], None]
    ) -> None:
        """Run `work` in the worker thread, then `done(result, error)` in the executor's thread."""
        def ended(future: Done[Any]) -> None:
            error = future.exception()
            if isinstance(error, Exception):
                self._node.call_soon(lambda: done(None, error))
            else:
                self._node.call_soon(lambda: done(future.result(), None))

        self._pool.submit(work).add_done_callback(ended)

    async def do(self, work: Callable[[], Any]) -> Any:
        """Run `work` in the worker thread and return its result, or raise its exception."""
        future = self._pool.submit(work)
        await from_thread(self._node, future)
        return future.result()

    async def answer(self, work: Callable[[], Any]) -> None:
        """`do` for requests; raises LifecycleError if ANSWERS others wait."""
        if self._answering >= ANSWERS:
            raise LifecycleError(f'busy: {ANSWERS} requests wait; ask again later')
        self._answering += 1
        try:
            await self.do(work)
        finally:
            self._answering -= 1

    def close(self, *, finish: bool = False) -> None:
        """End the thread after the current work; queued work is dropped, or done (`finish`)."""
        self._pool.shutdown(wait=finish, cancel_futures=not finish)
