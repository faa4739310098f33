# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Callbacks that are called after changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Listeners:
    """Something that tells listeners of its changes, all in one thread."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[..., None]] = {}

    def listen(self, callback: Callable[..., None]) -> Callable[[], None]:
        """Call back after each change; returns a function that ends it."""
        key = object()
        self._listeners[key] = callback
        return lambda: self._listeners.pop(key, None) and None

    @property
    def heard_by(self) -> int:
        """Return the number of listeners; may be read in any thread."""
        return len(self._listeners)

    def tell(self, *change: Any) -> None:
        """Call all listeners."""
        for callback in list(self._listeners.values()):
            callback(*change)
