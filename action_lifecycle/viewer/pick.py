# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action that is selected on the pages of a browser tab."""

from __future__ import annotations

from collections.abc import Callable


class Pick:
    """The selected action; `path` '': none. Calling it with a path selects that action."""

    def __init__(self, path: str = '') -> None:
        self._path = path
        self._listeners: dict[int, Callable[[], None]] = {}
        self._number = 0

    @property
    def path(self) -> str:
        """Return the path of the selected action, or ''."""
        return self._path

    def set(self, path: str) -> None:  # noqa: A003
        """Select an action ('': none); listeners are called if that is new."""
        if path == self._path:
            return
        self._path = path
        for callback in list(self._listeners.values()):
            callback()

    __call__ = set

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after each change; returns a function that ends it."""
        self._number += 1
        number = self._number
        self._listeners[number] = callback
        return lambda: self._listeners.pop(number, None) and None
