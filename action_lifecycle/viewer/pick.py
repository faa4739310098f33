# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action that is selected on the pages of a browser tab."""

from __future__ import annotations

from .listeners import Listeners


class Pick(Listeners):
    """The selected action; `path` '': none. Calling it with a path selects that action."""

    def __init__(self, path: str = '') -> None:
        super().__init__()
        self._path = path

    @property
    def path(self) -> str:
        """Return the path of the selected action, or ''."""
        return self._path

    def set(self, path: str) -> None:  # noqa: A003
        """Select an action ('': none); listeners are called if that is new."""
        if path == self._path:
            return
        self._path = path
        self.tell()

    __call__ = set
