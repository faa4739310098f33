# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A local HTTP server that speaks the OpenAI protocol, and misbehaves as it is told."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import functools
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import threading
from typing import Any, Union
import zlib

import pytest

UNPACKED = 100 * 2**20
"""Bytes that a bomb unpacks to; more than MAX_BODY, and no harm to the machine of a test."""


class Raw:
    """What is sent in place of a chat completion."""

    def __init__(self, body: bytes = b'', status: int = 200, **headers: str) -> None:
        self.body = body
        self.status = status
        self.headers = {name.replace('_', '-'): value for name, value in headers.items()}


class Cut(Raw):
    """The connection is cut in the middle of the response."""


class Slow:
    """Nothing is sent until the server is closed; with `drip`, a byte now and then."""

    def __init__(self, drip: bool = False, status: int = 200) -> None:
        self.drip = drip
        self.status = status


class Huge:
    """A response without an end."""

    def __init__(self, status: int = 200) -> None:
        self.status = status


def bomb(encoding: str, status: int) -> Raw:
    """Return a small response that unpacks to UNPACKED bytes."""
    return Raw(_packed(encoding), status, content_encoding=encoding)


@functools.cache
def _packed(encoding: str) -> bytes:
    if encoding == 'zstd':
        return bytes(pytest.importorskip('zstandard').compress(bytes(UNPACKED)))
    packer = zlib.compressobj(1, wbits=31 if encoding == 'gzip' else 15)
    return packer.compress(bytes(UNPACKED)) + packer.flush()


Answer = Union[str, dict[str, Any], Raw, Slow, Huge]


def completion(content: Any, finish: str = 'stop') -> dict[str, Any]:
    return {'id': 'x', 'object': 'chat.completion', 'created': 1, 'model': 'm', 'choices': [
        {'index': 0, 'finish_reason': finish,
         'message': {'role': 'assistant', 'content': content}}]}


class Endpoint:
    """Answers request after request; a text is the content of a completion, a mapping its JSON."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.always: Union[Answer, Callable[[dict[str, Any]], Answer], None] = None
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.closing = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):

            def do_POST(self) -> None:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    endpoint._serve(self)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._server.daemon_threads = True
        self.url = f'http://127.0.0.1:{self._server.server_port}/v1'
        threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers['content-length'])))
        assert handler.path == '/v1/chat/completions'
        self.requests.append(request)
        self.keys.append(handler.headers['authorization'])
        answer = self.answers.pop(0) if self.answers else self.always
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Slow):
            self._be_slow(handler, answer)
        elif isinstance(answer, Huge):
            self._start(handler, answer.status)
            while not self.closing.is_set():
                handler.wfile.write(b' ' * 65_536)
        elif isinstance(answer, Raw):
            self._start(handler, answer.status, len(answer.body) + isinstance(answer, Cut),
                        answer.headers)
            handler.wfile.write(answer.body)
        else:
            content = answer if isinstance(answer, str) else json.dumps(answer)
            body = json.dumps(completion(content)).encode()
            self._start(handler, 200, len(body))
            handler.wfile.write(body)

    def _be_slow(self, handler: BaseHTTPRequestHandler, answer: Slow) -> None:
        if answer.drip:
            self._start(handler, answer.status)
        while not self.closing.wait(0.05):
            if answer.drip:
                handler.wfile.write(b' ')
                handler.wfile.flush()

    def _start(
        self, handler: BaseHTTPRequestHandler, status: int, length: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        handler.send_response(status)
        handler.send_header('content-type', 'application/json')
        if length is not None:
            handler.send_header('content-length', str(length))
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
