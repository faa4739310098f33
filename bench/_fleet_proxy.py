# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A network that can be cut, between the robots of one process and the Redis server.

While it is cut, nothing passes in either direction, neither data nor the end of a connection, and
new connections get no answer, as if packets were lost. When it is mended, what was sent before
arrives late, as TCP sends it again also for a program that has given up and closed its connection;
or, with `reset`, the old connections are gone, as after a restart of a router.
"""

from __future__ import annotations

import asyncio
import contextlib


class Proxy:
    """Forwards a TCP port of this machine to a Unix socket; for one asyncio event loop."""

    def __init__(self, target: str) -> None:
        self.port = 0
        self._target = target
        self._passes = asyncio.Event()
        self._passes.set()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on `port`."""
        self._server = await asyncio.start_server(self._serve, '127.0.0.1', 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Let nothing pass any more."""
        self._passes.clear()

    def mend(self, *, reset: bool) -> None:
        """Let everything pass; with `reset`, only for new connections."""
        if reset:
            for connection in self._connections:
                connection.cancel()
        self._passes.set()

    async def close(self) -> None:
        """Stop listening and close all connections."""
        assert self._server is not None
        self._server.close()
        self.mend(reset=True)
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        pumps: list[asyncio.Task[None]] = []
        try:
            await self._passes.wait()
            up_reader, up_writer = await asyncio.open_unix_connection(self._target)
            pumps = [asyncio.create_task(self._pump(reader, up_writer)),
                     asyncio.create_task(self._pump(up_reader, writer))]
            await asyncio.wait(pumps)
        except (OSError, asyncio.CancelledError):
            pass  # the end of a connection, on purpose or not
        finally:
            for pump in pumps:
                pump.cancel()
            writer.close()
            self._connections.discard(connection)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()
            await self._passes.wait()
        writer.close()
