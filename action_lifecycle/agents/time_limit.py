# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time limits that do not run while a person is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
import contextlib
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar('T')


async def limited(work: Awaitable[T], seconds: float | None) -> T:
    """
    Await `work`; at the time limit, cancel it and raise asyncio.TimeoutError. None: no limit.

    The time that `work` spends in `unlimited` does not count.
    """
    if seconds is None:
        return await work
    limit = _Limit(seconds)

    async def counted() -> T:
        _LIMITS.set((*_LIMITS.get(), limit))
        return await work
    task = asyncio.create_task(counted())
    limit.run(task)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task])
        raise
    finally:
        limit.stop()
    if limit.is_over and task.cancelled():
        raise asyncio.TimeoutError
    return task.result()


@contextlib.contextmanager
def unlimited() -> Iterator[None]:
    """Stop the time limits of the current work, for as long as a person is asked."""
    limits = _LIMITS.get()
    for limit in limits:
        limit.stop()
    try:
        yield
    finally:
        for limit in limits:
            limit.go_on()


class _Limit:
    """The time left for a task; of several questions at a time, the last answer starts it."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._left = seconds
        self._since = 0.0
        self._stops = 1
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def run(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self.go_on()

    def go_on(self) -> None:
        self._stops -= 1
        if self._stops == 0 and not self.is_over and self._task is not None \
                and not self._task.done():
            loop = asyncio.get_running_loop()
            self._since = loop.time()
            self._timer = loop.call_later(max(0.0, self._left), self._expire)

    def stop(self) -> None:
        self._stops += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left -= asyncio.get_running_loop().time() - self._since

    def _expire(self) -> None:
        self.is_over, self._timer = True, None
        if self._task is not None:
            self._task.cancel()


_LIMITS: ContextVar[tuple[_Limit, ...]] = ContextVar('time limits', default=())
