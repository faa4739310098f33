# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reports callbacks that block the executor's thread, which all callbacks share."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
import functools
import time
import types
from typing import Any

LIMIT = 0.02  #: default limit (s) for a callback
HARM = 10  #: multiple of the limit at which a callback is logged as a warning
QUIET = 10.0  #: minimum time (s) between two log lines on the same callback

now = time.perf_counter


class Watchdog:
    """
    Counts callbacks that take longer than `limit` s and reports their names.

    It calls `warn(message)` for callbacks that took at least HARM times the limit, as they delay
    the other callbacks of the process noticeably, and `log(message)` for the others.
    """

    def __init__(
        self, log: Callable[[str], None], *, warn: Callable[[str], None] | None = None
    ) -> None:
        self.limit = LIMIT
        self.count = 0
        self._log = log
        self._warn = warn or log
        self._worst: tuple[float, str] = 0.0, ''
        self._last = 0.0
        self._logged: dict[str, tuple[float, int]] = {}

    def ended(self, name: str, begin: float) -> None:
        """Record the end, or an await, of a callback that began at `begin` (s)."""
        end = now()
        took = end - begin
        if took <= self.limit or self._last > begin:  # an inner callback was reported already
            return
        self._last = end
        self.count += 1
        self._worst = max(self._worst, (took, name))
        logged, unsaid = self._logged.get(name, (-QUIET, 0))
        if end >= logged + QUIET:
            more = f', and {unsaid} times before' if unsaid else ''
            text = f'{name} took {took * 1e3:.0f} ms, in which the node did nothing else{more}'
            if self.harms(took):
                self._warn(text)
            else:
                self._log(text)  # a separate line: rclpy permits one severity per line of code
            self._logged[name] = end, 0
        else:
            self._logged[name] = logged, unsaid + 1

    def harms(self, took: float) -> bool:
        """Whether a callback of this duration (s) is logged as a warning."""
        return took >= HARM * self.limit

    def worst(self) -> tuple[float, str]:
        """Return duration (s) and name of the longest callback since the last call."""
        worst, self._worst = self._worst, (0.0, '')
        return worst

    async def steps(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine and time each of its steps."""
        return await _timed(self, name, coroutine)


@types.coroutine
def _timed(
    dog: Watchdog, name: str, coroutine: Coroutine[Any, Any, Any]
) -> Generator[Any, Any, Any]:
    steps = coroutine.__await__()
    try:
        while True:
            begin = now()
            try:
                awaited = next(steps)
            except StopIteration as end:
                return end.value
            finally:
                dog.ended(name, begin)
            yield awaited
    finally:
        steps.close()


def name_of(callback: Callable[..., Any]) -> str:
    """Return a name for a callback, made from its function's name."""
    while isinstance(callback, functools.partial) or hasattr(callback, '__wrapped__'):
        callback = callback.func if isinstance(callback, functools.partial) \
            else callback.__wrapped__
    name = getattr(callback, '__qualname__', '') or type(callback).__qualname__
    return f"work of {name.replace('.<locals>', '').removesuffix('.<lambda>')}"
