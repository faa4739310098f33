# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where the evidence traces come from: a file on this machine, or the robot is asked for them."""

from __future__ import annotations

import asyncio
import os
from typing import Protocol

from ...traces import Trace, TraceError, TraceKey, TraceReader


class TraceSource(Protocol):
    """The evidence traces of a robot."""

    def exists(self) -> bool:
        """Whether there may be traces."""
        ...

    async def find(self, key: TraceKey) -> Trace | None:
        """Return a trace; None if there is none; raises TraceError if it can't be read now."""
        ...


class FileTraces:
    """The traces in a file, which may be written at the moment or not exist yet."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)

    def exists(self) -> bool:
        """Whether there is a file."""
        return os.path.exists(self._path)

    async def find(self, key: TraceKey) -> Trace | None:
        """Return a trace; None if there is none; raises TraceError if the file is damaged."""
        return await asyncio.to_thread(self._find, key)

    def _find(self, key: TraceKey) -> Trace | None:
        if not self.exists():
            return None
        try:
            with TraceReader(self._path) as reader:
                return reader.find(key)
        except TraceError:
            if self.exists():
                raise
            return None  # deleted meanwhile
