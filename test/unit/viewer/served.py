# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Viewers as processes, and clients that talk to them as browsers do, or as attackers do."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
import html
import json
import os
from pathlib import Path
import re
import subprocess
import sys
import time
from typing import Any
from urllib.parse import urlencode, urlsplit

ROOT = Path(__file__).parents[3]
TOKEN = 'correct-horse-battery'
START, WAIT = 40.0, 10.0  # s


class Served:
    """A running viewer; its output is in `text`."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log
        end = time.monotonic() + START
        while (found := re.search(r'http://[^ \n]+:\d+/', self.text)) is None:
            assert process.poll() is None and time.monotonic() < end, self.text
            time.sleep(0.02)
        self.address = found[0].rstrip('/')
        self.host = urlsplit(self.address).netloc
        self.cookie = ''

    @property
    def text(self) -> str:
        return self._log.read_text(errors='replace')

    def orders(self) -> list[Any]:
        """Return the orders that have come to the robot."""
        return [json.loads(line[6:]) for line in self.text.splitlines()
                if line.startswith('ORDER ')]

    def sign_in(self, client: Any, actor: str = 'anna', token: str = TOKEN, **fields: str) -> Any:
        """Send the form of a browser; returns the answer to it."""
        page = client.get('/sign-in')
        found = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
        found = {name: html.unescape(value) for name, value in found.items()}
        return client.post('/sign-in', headers={'Origin': self.address}, data={
            **found, 'actor': actor, 'token': token, **fields})


@contextmanager
def served(folder: Path, *arguments: str, token: str = TOKEN) -> Iterator[Served]:
    """Run viewer_process.py; `arguments`: JOURNAL HOST PORT [NAME …]."""
    environment = {**os.environ, 'PYTHONPATH': f'{ROOT}:{os.environ.get("PYTHONPATH", "")}'}
    environment.pop('ACTION_LIFECYCLE_WEB_TOKEN', None)
    if token:
        environment['ACTION_LIFECYCLE_WEB_TOKEN'] = token
    log = folder / f'viewer_{time.monotonic_ns()}.log'
    with log.open('wb') as output:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name('viewer_process.py')), *arguments],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        yield Served(process, log)
    finally:
        process.terminate()
        try:
            process.wait(15.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Page:
    """A page as a browser got it: the id of its client, and its elements."""

    def __init__(self, text: str) -> None:
        self.text = text
        raw = re.search(r'parseElements\(String\.raw`(.*?)`\)', text, re.S)
        assert raw, text[:2000]
        self.elements: dict[str, Any] = json.loads(html.unescape(raw[1]))
        found = re.search(r'"?query"?: ({.*?}),\n', text)
        assert found, text[:2000]
        self.query: dict[str, Any] = ast.literal_eval(found[1])
        self.client_id = str(self.query['client_id'])

    def click(self, label: str) -> dict[str, Any]:
        """Return the message that a click on a button is."""
        for number, element in self.elements.items():
            if element.get('props', {}).get('label') == label:
                event = next(one for one in element['events'] if one['type'] == 'click')
                return {'id': int(number), 'client_id': self.client_id,
                        'listener_id': event['listener_id'], 'args': ['{}']}
        raise AssertionError(f'no button {label}')


class Socket:
    """The socket of a page; `headers` and `query` are what a forger would change."""

    def __init__(self, viewer: Served, page: Page | None, headers: dict[str, str],
                 **query: str) -> None:
        import socketio
        self._client = socketio.AsyncClient(reconnection=False)
        self.messages: list[tuple[str, Any]] = []
        self._client.on('*', lambda event, data: self.messages.append((event, data)))
        known = {**(page.query if page else {}), 'tab_id': 'tab', 'document_id': 'document',
                 **query}
        known = {name: str(value).lower() if isinstance(value, bool) else value
                 for name, value in known.items()}
        self._url = f'{viewer.address}?{urlencode(known)}'
        self._headers = headers

    async def __aenter__(self) -> Socket:
        await self._client.connect(
            self._url, headers=self._headers, transports=['websocket'],
            socketio_path='/_nicegui_ws/socket.io', wait_timeout=5)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.disconnect()

    async def send(self, event: str, message: Any) -> None:
        await self._client.emit(event, message)

    async def until(self, part: str) -> Any:
        """Wait for a message with a text in it; returns it."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            for event, data in self.messages:
                if part in f'{event} {data}':
                    return data
            await asyncio.sleep(0.02)
        raise AssertionError(f'{part}: {self.messages}')


def run(coroutine: Any) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, 30.0))
