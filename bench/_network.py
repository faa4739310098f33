# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Connections to a redis-server that can be cut, one link for each process or group of robots."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from enum import Enum
import threading


class Old(Enum):
    """What becomes of the connections from before a cut when the link is mended."""

    LATE = 'late'
    """What was sent arrives late, as TCP sends it again, also for a program that has given up."""
    ENDED = 'ended'
    """They end, as after a restart of a router."""
    FORGOTTEN = 'forgotten'
    """They stay dead, without an end, as those that a router has forgotten."""


@dataclass
class _Wire:
    """What the connections that began before the same cut have in common."""

    passes: asyncio.Event = field(default_factory=asyncio.Event)
    is_dead: bool = False


class Link:
    """
    Forwards a TCP port of this machine to a Unix socket; for one asyncio event loop.

    While it is cut, nothing passes in either direction, neither data nor the end of a connection,
    and new connections get no answer, as if packets were lost; or, with `refuses`, connections end
    and new ones are refused.
    """

    def __init__(self, target: str) -> None:
        self.url = ''
        self.port = 0
        self._target = target
        self._refuses = False
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._wire = _Wire()
        self._wire.passes.set()

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, '127.0.0.1', 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f'redis://127.0.0.1:{self.port}'

    def cut(self, *, refuses: bool = False) -> None:
        """Let nothing pass any more."""
        self._wire.passes.clear()
        self._refuses = refuses
        if refuses:
            self._end_all()

    def mend(self, old: Old) -> None:
        """Let everything pass that `old` permits, and new connections."""
        if old is Old.ENDED:
            self._end_all()
        self._refuses = False
        self._wire.is_dead = old is Old.FORGOTTEN
        self._wire.passes.set()
        if self._wire.is_dead:
            self._wire = _Wire()
            self._wire.passes.set()

    async def close(self) -> None:
        """Stop listening and close all connections."""
        assert self._server is not None
        self._server.close()
        self._end_all()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _end_all(self) -> None:
        for connection in self._connections:
            connection.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.transport.abort()
            return
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        wire, writers = self._wire, [writer]
        try:
            await wire.passes.wait()
            server_reader, to_server = await asyncio.open_unix_connection(self._target)
            writers.append(to_server)
            await asyncio.gather(
                _pump(reader, to_server, wire), _pump(server_reader, writer, wire))
        except asyncio.CancelledError:
            for each in writers:
                each.transport.abort()
        except OSError:
            pass  # the server is down
        finally:
            for each in writers:
                each.close()
            self._connections.discard(connection)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wire: _Wire) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            await wire.passes.wait()
            if not wire.is_dead:
                writer.write(data)
                await writer.drain()
        await wire.passes.wait()
    writer.close()


class Network:
    """The links of a program without an event loop, in a thread."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def link(self) -> Link:
        """Return a new link."""
        link = Link(self._target)
        asyncio.run_coroutine_threadsafe(link.start(), self._loop).result(10)
        return link

    def cut(self, link: Link, refuses: bool) -> None:
        """Cut a link."""
        self._loop.call_soon_threadsafe(lambda: link.cut(refuses=refuses))

    def mend(self, link: Link, old: Old) -> None:
        """Mend a link."""
        self._loop.call_soon_threadsafe(link.mend, old)
