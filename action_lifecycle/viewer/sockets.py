# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Closes what NiceGUI leaves open.

Messages of a socket for other pages, scripts without nonce, and the memory of pages that no
browser shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
import inspect
import logging
import re
import time
from typing import Any

from jinja2.ext import Extension
from nicegui import client, core
from nicegui.translations import translations
from socketio import exceptions  # type: ignore[import-untyped]

from ..lifecycle.text_format import printable

MESSAGES = ('event', 'javascript_response', 'ack')
MAX_LOG = 300
TO_CONNECT = 10.0
"""Time (s) that a browser has to open the socket of a page; the page is freed after it."""
MANY, TO_CONNECT_OF_MANY = 100, 2.0
"""The time (s) for the oldest pages while more than this number have no socket yet."""
FREE_PERIOD = 1.0
"""Time (s) between two looks for pages to free."""
_CONNECTED = 'action_lifecycle.connected'
_LOG = logging.getLogger(__name__)


class _Nonces(Extension):
    """Gives each script in the page's template the nonce of its response."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return re.sub(
            r'<script(?=[\s>])',
            '<script nonce="{{ request.scope.get(\'action_lifecycle.nonce\', \'\') }}"', source)


def script_nonces() -> None:
    """Have the scripts of all pages carry the nonce that the Content-Security-Policy names."""
    client.templates.env.add_extension(_Nonces)


def name_banner() -> None:
    """Say in plain words what it means that a page has lost its connection."""
    translations['en-US'].update(
        connection_lost='The viewer does not answer.',
        trying_to_reconnect='What is shown here may be out of date. Trying again …')


def page_cookies(client_id: str) -> str | None:
    """Return the Cookie header with which a page was fetched; None if there is no such page."""
    found = client.Client.instances.get(client_id)
    return None if found is None else found.request.headers.get('cookie', '')


async def free_pages() -> None:
    """Free the pages to which no browser connects; runs until canceled."""
    core.app.on_connect(lambda page: page.storage.update({_CONNECTED: True}))
    while True:
        await asyncio.sleep(FREE_PERIOD)
        for page in _unused(client.Client.instances.values(), time.time()):
            page.delete()


def _unused(pages: Iterable[client.Client], now: float) -> list[client.Client]:
    """Return the pages that have waited too long at a time (s) for their first socket."""
    waiting = sorted((page for page in pages if _CONNECTED not in page.storage),
                     key=lambda page: page.created)
    return [page for number, page in enumerate(waiting, 1) if now - page.created > (
        TO_CONNECT if number > len(waiting) - MANY else TO_CONNECT_OF_MANY)]


def guard_sockets() -> None:
    """Accept the messages of a socket only for the page whose handshake it has made."""
    handlers = core.sio.handlers['/']
    for name in MESSAGES:
        handlers[name] = _own(handlers[name])
    handlers['log'] = _own(_write_log)
    handlers['connect'] = _refusing(handlers['connect'])
    handlers['handshake'] = _answering(handlers['handshake'])


_NONSENSE = (AttributeError, KeyError, TypeError, ValueError)
"""Raised for a message that was made by hand, or by a page of before an update."""


def _refusing(handler: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def connect(sid: str, environment: dict[str, Any], given: Any = None) -> None:
        try:
            await handler(sid, environment, given)
        except _NONSENSE as error:
            raise exceptions.ConnectionRefusedError(
                'The query of the socket makes no sense.') from error
    return connect


def _answering(handler: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
    async def handshake(sid: str, message: Any = None) -> bool:
        try:
            return await handler(sid, message)
        except _NONSENSE:
            return False
    return handshake


def _own(handler: Callable[..., Any]) -> Callable[..., Awaitable[None]]:
    async def handle(sid: str, message: Any = None) -> None:
        if not isinstance(message, dict) or message.get('client_id') not in core.sio.rooms(sid):
            return
        try:
            answer = handler(sid, message)
            if inspect.isawaitable(answer):
                await answer
        except _NONSENSE as error:
            _LOG.warning('a message of a browser makes no sense: %s: %s',
                         type(error).__name__, printable(str(error), MAX_LOG))
    return handle


def _write_log(_: str, message: dict[str, Any]) -> None:
    _LOG.warning('a browser says: %s', printable(str(message.get('message', '')), MAX_LOG))
