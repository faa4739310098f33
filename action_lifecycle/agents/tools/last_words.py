# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The standard error of a child process: it goes on to that of this process, its end is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
import contextlib
import os
import sys
from typing import TextIO

from ...lifecycle.text_format import printable

KEPT = 4096  #: bytes
SHOWN = 1000  #: characters
WAIT = 0.5
"""Maximum time (s) to wait for what a process wrote before it ended; its children may go on."""


class LastWords(asyncio.Protocol):
    """Keeps the end of what is written to a pipe."""

    def __init__(self) -> None:
        self._end = b''
        self._closed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self._end = (self._end + data)[-KEPT:]
        sys.stderr.write(data.decode(errors='replace'))
        sys.stderr.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()

    @contextlib.asynccontextmanager
    async def pipe(self) -> AsyncIterator[TextIO]:
        """Return the end of a pipe that a process writes to; close it when the process has it."""
        source, target = os.pipe()
        with open(target, 'w', encoding='utf-8') as errors, open(source, 'rb') as read:
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, read)
            try:
                yield errors
            finally:
                errors.close()
                await self.wait()
                transport.close()

    async def wait(self) -> None:
        """Wait until the process has ended, at most WAIT s."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._closed.wait(), WAIT)

    def __str__(self) -> str:
        """Return the last lines as one, as the end of an error; '' if there are none."""
        text = ' | '.join(filter(None, map(str.strip, printable(
            self._end.decode(errors='replace').replace('\r', '\n')).split('\n'))))
        return f'; its last words: {text[-SHOWN:]}' if text else ''
