# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The web server of the viewer: in the foreground, or in a thread beside a node."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from typing import Any, NamedTuple

from ..documents.errors import LifecycleError

START = 30.0
"""Maximum time (s) until the server answers."""
STOP = 5.0
"""Maximum time (s) until it has stopped; open connections are closed before."""
GRACE = 1
"""Time (s) that open requests have to end."""
MAX_MESSAGE = 2 ** 20
"""Maximum size (bytes) of a message from a browser."""


class ServerError(LifecycleError):
    """The server can't be started."""


class Tls(NamedTuple):
    """Files of the certificate (with its chain) and of its key, PEM."""

    certificate: str
    key: str


class Server:
    """
    Serves an ASGI app at `host` and `port` (0: a free one) from when it is made.

    Raises ServerError if the port can't be used. Only one server may run in a process, and only
    once, since NiceGUI has one app.
    """

    def __init__(
        self, app: Any, host: str = '127.0.0.1', port: int = 8080, tls: Tls | None = None,
    ) -> None:
        import uvicorn
        self.loop: asyncio.AbstractEventLoop | None = None  #: after start
        self._socket = _bind(host, port)
        self._tls = tls
        self._host = host
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None
        try:
            self._server = uvicorn.Server(uvicorn.Config(
                app, log_config=None, log_level='warning', access_log=False, server_header=False,
                proxy_headers=False, lifespan='on', ws_max_size=MAX_MESSAGE,
                timeout_graceful_shutdown=GRACE,
                ssl_certfile=tls.certificate if tls else None,
                ssl_keyfile=tls.key if tls else None))
            self._server.config.load()
        except (OSError, ValueError) as error:
            self._socket.close()
            raise ServerError(f'certificate {tls.certificate if tls else ""}: {error}') from error

    @property
    def port(self) -> int:
        """Return the port that it is bound to."""
        return int(self._socket.getsockname()[1])

    @property
    def address(self) -> str:
        """Return the address for a browser on this machine, or, bound to one address, on any."""
        host = self._host
        if host in ('', '0.0.0.0', '::'):
            host = socket.gethostname()
        elif ':' in host:
            host = f'[{host}]'
        return f"http{'s' if self._tls else ''}://{host}:{self.port}/"

    def start(self) -> None:
        """Run in a thread; returns when it answers. Raises ServerError."""
        self._thread = threading.Thread(target=self._run, name='viewer', daemon=True)
        self._thread.start()
        waiting = threading.Event()
        for _ in range(int(START / 0.02)):
            if self._server.started or not self._thread.is_alive():
                break
            waiting.wait(0.02)
        if not self._server.started:
            raise ServerError(f'{self.address}: the server did not start'
                              + (f': {self._failure}' if self._failure else ''))

    def run(self) -> None:
        """Run in this thread until SIGINT, SIGTERM or stop()."""
        self._run()
        if self._failure is not None:
            raise ServerError(f'{self.address}: {self._failure}') from self._failure

    def stop(self) -> None:
        """End the server; safe from any thread, and more than once."""
        self._server.should_exit = True
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join(STOP)
            if self._thread.is_alive():
                self._server.force_exit = True
                self._thread.join(STOP)
        self._socket.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except KeyboardInterrupt:
            pass
        except (Exception, SystemExit) as error:  # uvicorn exits if the app does not start
            self._failure = error

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._socket])


def _bind(host: str, port: int) -> socket.socket:
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        version = 4
    bound = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(128)
    except (OSError, OverflowError) as error:
        bound.close()
        raise ServerError(f"the viewer can't use port {port} at '{host}': {error}; another one is "
                          'chosen with --port (parameter port)') from error
    bound.set_inheritable(False)
    return bound
