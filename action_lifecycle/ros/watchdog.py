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

"""Who has held the executor's thread for too long: all callbacks of a process share it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
import functools
import time
from typing import Any

LIMIT = 0.02  #: s that a callback may take
HARM = 10  #: how often the limit a callback takes that is told as a warning, not for debugging
QUIET = 10.0  #: s, at least, between two lines about the same callback

now = time.perf_counter


class Watchdog:
    """
    Counts callbacks that took longer than `limit` s, and tells of them by name.

    `warn` is told of those that took HARM times as long: other timers, topics and services of the
    process have waited for so long that people may notice.
    """

    def __init__(
        self, tell: Callable[[str], None], limit: float = LIMIT, *,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self.limit = limit
        self.count = 0
        self._tell = tell
        self._warn = warn or tell
        self._worst: tuple[float, str] = 0.0, ''
        self._last = 0.0
        self._told: dict[str, tuple[float, int]] = {}

    def ended(self, name: str, begin: float) -> None:
        """Note that a callback that began then has ended or awaits something."""
        end = now()
        took = end - begin
        if took <= self.limit or self._last > begin:  # what it called was told of already
            return
        self._last = end
        self.count += 1
        self._worst = max(self._worst, (took, name))
        told, unsaid = self._told.get(name, (-QUIET, 0))
        if end >= told + QUIET:
            more = f', and {unsaid} times before' if unsaid else ''
            tell = self._warn if self.harms(took) else self._tell
            tell(f'{name} took {took * 1e3:.0f} ms, in which the node did nothing else{more}')
            self._told[name] = end, 0
        else:
            self._told[name] = told, unsaid + 1

    def harms(self, took: float) -> bool:
        """Whether a callback took so long (s) that people may notice."""
        return took >= HARM * self.limit

    def worst(self) -> tuple[float, str]:
        """Return the longest since the last call: s and name."""
        worst, self._worst = self._worst, (0.0, '')
        return worst

    async def steps(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine and time each of its steps."""
        return await _Steps(self, name, coroutine)


class _Steps:

    def __init__(self, dog: Watchdog, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._dog = dog
        self._name = name
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._coroutine.__await__()
        try:
            while True:
                begin = now()
                try:
                    awaited = next(steps)
                except StopIteration as end:
                    return end.value
                finally:
                    self._dog.ended(self._name, begin)
                yield awaited
        finally:
            steps.close()


def name_of(callback: Callable[..., Any]) -> str:
    """Return what a callback is called where nothing better is known: by its function."""
    while isinstance(callback, functools.partial):
        callback = callback.func
    name = getattr(callback, '__qualname__', '') or type(callback).__qualname__
    return f"work of {name.replace('.<locals>', '').removesuffix('.<lambda>')}"
