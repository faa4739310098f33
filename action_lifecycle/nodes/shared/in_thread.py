# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A blocking call in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Generic, TypeVar

ResultT = TypeVar('ResultT')


class InThread(Generic[ResultT]):
    """
    One call of a blocking function that does not raise, in a thread of its own.

    It does not block the node, however long it takes; after `cancel` its result is ignored.
    """

    def __init__(
        self, name: str, function: Callable[[], ResultT], done: Callable[[ResultT], None],
        call_soon: Callable[[Callable[[], None]], None],
    ) -> None:
        self._function = function
        self._done: Callable[[ResultT], None] | None = done
        self._call_soon = call_soon
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        result = self._function()
        self._call_soon(lambda: self._ended(result))

    def _ended(self, result: ResultT) -> None:
        if self._done is not None:
            self._done(result)

    def cancel(self) -> None:
        """Ignore the result."""
        self._done = None
