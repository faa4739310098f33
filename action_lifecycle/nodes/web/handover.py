# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Passes messages from the executor's thread to an asyncio loop, which they can't flood."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
import contextlib
import threading
from typing import Any


class Handover:
    """
    Passes the newest value of each kind; values between two deliveries are dropped.

    At most one callback for each kind waits in the loop. Values are kept until there is a loop.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._newest: dict[Hashable, tuple[Callable[[Any], None], Any, float]] = {}
        self._next: dict[Hashable, float] = {}  #: earliest next delivery, by the loop's clock

    def open(self, loop: asyncio.AbstractEventLoop) -> None:  # noqa: A003
        """Deliver in this loop, also the newest values from before."""
        with self._lock:
            self._loop = loop
            self._next.clear()
            kinds = list(self._newest)
        for kind in kinds:
            self._call(kind)

    def close(self) -> None:
        """Deliver nothing more until the next `open`."""
        with self._lock:
            self._loop = None

    def put(
        self, kind: Hashable, take: Callable[[Any], None], value: Any, period: float = 0.0
    ) -> None:
        """Call `take(value)` in the loop, at most once in `period` s; from any thread."""
        with self._lock:
            waits = kind in self._newest
            self._newest[kind] = take, value, period
        if not waits:
            self._call(kind)

    def _call(self, kind: Hashable) -> None:
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._arrived, loop, kind)

    def _arrived(self, loop: asyncio.AbstractEventLoop, kind: Hashable) -> None:
        at = self._next.get(kind, 0.0)
        if at > loop.time():
            loop.call_at(at, self._deliver, loop, kind)
        else:
            self._deliver(loop, kind)

    def _deliver(self, loop: asyncio.AbstractEventLoop, kind: Hashable) -> None:
        with self._lock:
            found = self._newest.pop(kind, None) if loop is self._loop else None
        if found is not None:
            take, value, period = found
            self._next[kind] = loop.time() + period
            take(value)
