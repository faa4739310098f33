# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Connections to the redis-server of bench/celery_fleet.py that can be cut, one link a process."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class Link:
    """
    A port that leads to the server.

    While it is cut, it loses bytes in silence (`silent`), or refuses and ends connections. When it
    is whole again, connections from before a silent cut stay dead, without an end: as those that a
    router has forgotten.
    """

    def __init__(self, path: str) -> None:
        self.url = ''
        self._path = path
        self._cut = False
        self._silent = False
        self._open: set[_Pair] = set()

    async def start(self) -> None:
        """Listen on a free port."""
        server = await asyncio.start_server(self._connected, '127.0.0.1', 0)
        self.url = f'redis://127.0.0.1:{server.sockets[0].getsockname()[1]}'

    def cut(self, silent: bool) -> None:
        """Let nothing through any more."""
        self._cut, self._silent = True, silent
        for pair in list(self._open):
            pair.dead = True
            if not silent:
                pair.abort()

    def mend(self) -> None:
        """Let new connections through."""
        self._cut = False

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        pair = _Pair([writer], dead=self._cut)
        self._open.add(pair)
        try:
            if self._cut and not self._silent:
                return
            theirs, to_server = await asyncio.open_unix_connection(self._path)
            pair.writers.append(to_server)
            await asyncio.wait(
                [asyncio.ensure_future(pair.pump(theirs, writer)),
                 asyncio.ensure_future(pair.pump(reader, to_server))],
                return_when=asyncio.FIRST_COMPLETED)
        except OSError:  # the server is down
            pass
        finally:
            pair.abort()
            self._open.discard(pair)


class _Pair:
    """A connection of a client, and that to the server; `dead`: it loses all bytes."""

    def __init__(self, writers: list[asyncio.StreamWriter], dead: bool) -> None:
        self.writers = writers
        self.dead = dead

    def abort(self) -> None:
        for writer in self.writers:
            writer.transport.abort()

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                if not self.dead:
                    writer.write(data)
                    await writer.drain()


class Network:
    """The links of all processes, in a thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def link(self) -> Link:
        """Return a new link."""
        link = Link(self._path)
        asyncio.run_coroutine_threadsafe(link.start(), self._loop).result(10)
        return link

    def cut(self, link: Link, silent: bool) -> None:
        """Cut a link."""
        self._loop.call_soon_threadsafe(link.cut, silent)

    def mend(self, link: Link) -> None:
        """Mend a link."""
        self._loop.call_soon_threadsafe(link.mend)
