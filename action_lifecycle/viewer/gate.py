# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Checks each request before it reaches a page: Host, Origin, session; and adds security headers.

It is ASGI middleware, since it has to see the handshake of the WebSocket, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
import secrets
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from .access import Access, Session

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SOCKET = '/_nicegui_ws/'
SIGN_IN = '/sign-in'
OPEN = (SIGN_IN, '/favicon.ico')
"""Paths that need no session."""
ASSETS = '/_nicegui/'
OWN_ASSETS = ('/components/', '/esm/', '/resources/')
"""Parts of the paths of assets that change with this package, not with NiceGUI."""
POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'")
"""NiceGUI evaluates Vue templates and its messages (unsafe-eval), and sets inline styles."""
HEADERS = {
    'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin', 'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()'}
POLICY_VIOLATION = 1008
"""Close code of a WebSocket."""

Owner = Callable[[str], 'str | None']
"""Cookie header with which the page of a client id was fetched; None: there is no such page."""


class Gate:
    """Passes on the requests that `access` permits."""

    def __init__(self, app: App, access: Access, owner: Owner) -> None:
        self._app = app
        self._access = access
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        if scope['type'] not in ('http', 'websocket'):
            await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        session = self._session(headers.get('cookie', ''))
        refusal = self._refusal(scope, headers, session)
        if scope['type'] == 'websocket':
            if refusal:
                await send({'type': 'websocket.close', 'code': POLICY_VIOLATION})
            else:
                await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        scope['action_lifecycle.nonce'] = nonce
        guarded = _with_headers(send, scope['path'], nonce)
        path = scope['path']
        if refusal:
            await _answer(guarded, 403, refusal)
        elif path.startswith(SOCKET):
            await _answer(guarded, 400, 'Only WebSockets are served here.')
        elif self._access.public and session is None and path not in OPEN:
            if path.startswith(ASSETS) or scope['method'] not in ('GET', 'HEAD'):
                await _answer(guarded, 401, 'Sign in first.')
            else:
                query = scope.get('query_string', b'').decode('latin-1')
                place = path + (f'?{query}' if query else '')
                await _answer(guarded, 303, '', location=f'{SIGN_IN}?next={quote(place)}')
        else:
            await self._pass_on(scope, receive, guarded)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = False

        async def listen() -> Message:
            nonlocal gone
            message = await receive()
            gone |= message['type'] == 'http.disconnect'
            return message

        try:
            await self._app(scope, listen, send)
        except RuntimeError:  # of NiceGUI's middleware, if a browser goes before it is answered
            if not gone:
                raise

    def _session(self, cookies: str) -> Session | None:
        return self._access.session(cookie_value(cookies, self._access.cookie))

    def _refusal(self, scope: Scope, headers: dict[str, str], session: Session | None) -> str:
        """Return why a request is not answered; '' if it is."""
        host = headers.get('host', '')
        if not self._access.serves(host):
            return ('This server is not known by the name that was asked for. Use its address, or '
                    'have its name added to the names of the viewer.')
        origin = headers.get('origin')
        needed = scope['type'] == 'websocket' or scope['method'] not in ('GET', 'HEAD', 'OPTIONS')
        if origin is None:
            return 'The header Origin is missing.' if needed else ''
        if urlsplit(origin).netloc.lower() != host.lower():
            return 'The request comes from a page of another server.'
        if scope['type'] == 'websocket':
            return self._socket_refusal(scope, session)
        return ''

    def _socket_refusal(self, scope: Scope, session: Session | None) -> str:
        """
        Return why a socket may not be opened: it has to belong to a page of the same session.

        The socket of a page from before a restart is passed on: it is refused in a way that makes
        the browser load the page again.
        """
        query = parse_qs(scope.get('query_string', b'').decode('latin-1'))
        client = query.get('client_id', [''])[0]
        if not client:
            return 'The socket belongs to no page.'
        cookies = self._owner(client)
        if cookies is None:
            return ''
        if self._access.public and session is None:
            return 'Sign in first.'
        page = self._session(cookies)
        return '' if page == session else 'The socket belongs to the page of another session.'


def cookie_value(header: str, name: str) -> str:
    """Return a cookie of a Cookie header, or ''."""
    found: SimpleCookie = SimpleCookie()
    for part in header.split(';'):  # one that is malformed does not hide the others
        try:
            found.load(part.strip())
        except CookieError:
            continue
    return found[name].value if name in found else ''


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers; one that must not be repeated, but is, has no valid value."""
    found: dict[str, str] = {}
    for raw, value in scope['headers']:
        name = raw.decode('latin-1').lower()
        text = value.decode('latin-1')
        if name == 'cookie' and name in found:
            found[name] += f'; {text}'
        else:
            found[name] = '?' if name in found and name in ('host', 'origin') else text
    return found


def _with_headers(send: Send, path: str, nonce: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message['type'] == 'http.response.start':
            own = {**HEADERS, 'content-security-policy': POLICY.format(nonce=nonce)}
            if not path.startswith(ASSETS):
                own['cache-control'] = 'no-store'
            elif any(part in path for part in OWN_ASSETS):
                own['cache-control'] = 'no-cache'
            message['headers'] = [
                (name, value) for name, value in message.get('headers', ())
                if name.lower().decode('latin-1') not in own
            ] + [(name.encode(), value.encode('latin-1')) for name, value in own.items()]
        await send(message)
    return send_with_headers


async def _answer(send: Send, status: int, text: str, *, location: str = '') -> None:
    headers = [(b'content-type', b'text/plain; charset=utf-8')]
    if location:
        headers.append((b'location', location.encode('latin-1')))
    await send({'type': 'http.response.start', 'status': status, 'headers': headers})
    await send({'type': 'http.response.body', 'body': text.encode()})
