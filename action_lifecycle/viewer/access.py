# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Who may see the pages, and who may give orders.

Without a token the pages are read-only and served on a loopback address only. With one, orders
need a session, and so do the pages if other machines can reach them. A session is a cookie that is
signed with a key derived from the token: it survives a restart of the viewer, and ends with the
token.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import hashlib
import hmac
import ipaddress
import logging
import os
import secrets
import socket
import time
from typing import NamedTuple

from .rate_limit import RateLimit
from .token_file import read_token, TokenError, TokenFile

ENVIRONMENT = 'ACTION_LIFECYCLE_WEB_TOKEN'
"""The environment variable of the token."""
LIFETIME = 12 * 3600.0
"""Maximum age (s) of a session."""
MAX_ACTOR = 64
"""Maximum length of the name that is journaled with each order."""
MAX_COOKIE = 2048
FAILURES = 5
"""Wrong tokens at once, and then in each MINUTE, from one address."""
ALL_FAILURES = 30
"""The same from all addresses together."""
ORDERS = 10
"""Orders at once, and then in each ORDER_PERIOD (s), of one session."""
ORDER_PERIOD = 10.0
ALL_ORDERS = 40
MINUTE = 60.0

_LOG = logging.getLogger(__name__)


class AccessError(TokenError):
    """The viewer can't be started in this way."""


class SignInRefused(Exception):
    """A sign-in was refused; the text is for the page. `wait`: s until the next attempt."""

    def __init__(self, text: str, wait: float = 0.0) -> None:
        super().__init__(text)
        self.wait = wait


class Session(NamedTuple):
    """A person who signed in; `actor`: the name that is journaled."""

    key: str
    actor: str


class Access:
    """
    The rules of one viewer; raises AccessError if they can't hold.

    host: address that the server is bound to; names: further host names by which browsers reach
    it (through a reverse proxy, or in the network); port: part of the cookies' names, since
    browsers send cookies to all ports of a host (0: names of their own).
    """

    def __init__(
        self, host: str = '127.0.0.1', port: int = 8080, *, token_file: str = '',
        names: Collection[str] = (), secure: bool = False,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.secure = secure
        self.public = bool(names) or not is_loopback(host)
        self.names = _served_names(host, names)
        ending = port or secrets.token_hex(4)
        self.cookie = f'action_lifecycle_session_{ending}'
        self.form_cookie = f'action_lifecycle_form_{ending}'
        self._file = TokenFile(token_file) if token_file else None
        self._environment = read_token(environment[ENVIRONMENT], ENVIRONMENT) \
            if environment.get(ENVIRONMENT) and not token_file else ''
        self._form_key = secrets.token_bytes(32)
        self._derived: tuple[str, bytes] = ('', b'')
        self._ended: dict[str, float] = {}  #: keys of sessions that were signed out, until when
        self._clock = clock
        self._failures = RateLimit(FAILURES, MINUTE, overall=ALL_FAILURES, clock=clock)
        self._orders = RateLimit(ORDERS, ORDER_PERIOD, overall=ALL_ORDERS, clock=clock)
        self.has_token = bool(self._file or self._environment)
        if self._file:
            self._file.read()
        if self.public and not self.has_token:
            raise AccessError(
                f"host '{host}'" + (f" (names: {', '.join(names)})" if names else '')
                + ': other machines could reach the viewer, so a token is needed: expected a '
                f'token file, or the environment variable {ENVIRONMENT}; or host 127.0.0.1')

    def sign_in(self, token: str, actor: str, address: str) -> str:
        """Return the cookie of a new session; raises SignInRefused."""
        source = _network(address)
        wait = self._failures.wait(source)
        if wait > 0.0:
            raise SignInRefused(f'Too many attempts. Try again in {wait:.0f} s.', wait)
        expected = self._token()
        if not expected:
            raise SignInRefused('Nobody can sign in: there is no token.')
        name = actor.strip()
        if not name or len(name) > MAX_ACTOR or not name.isprintable():
            raise SignInRefused(
                f'Give your name (up to {MAX_ACTOR} characters): it is recorded with each order.')
        if not hmac.compare_digest(token.strip().encode('utf-8', 'replace'), expected.encode()):
            self._failures.take(source)
            _LOG.warning('sign-in from %s refused: wrong token', source)
            raise SignInRefused('The token is wrong.')
        _LOG.info('%r signed in from %s', name, source)
        return str(_signer(self._key(expected), 'session').dumps(
            [secrets.token_urlsafe(12), name]))

    def session(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None if there is none, or it ended."""
        from itsdangerous import BadData
        token = self._token()
        if not token or not cookie or len(cookie) > MAX_COOKIE:
            return None
        try:
            key, actor = _signer(self._key(token), 'session').loads(cookie, max_age=int(LIFETIME))
        except (BadData, TypeError, ValueError):
            return None
        return None if key in self._ended else Session(key, actor)

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        session = self.session(cookie)
        if session:
            now = self._clock()
            self._ended = {key: until for key, until in self._ended.items() if until > now}
            self._ended[session.key] = now + LIFETIME
            _LOG.info('%r signed out', session.actor)

    def refusal(self, session: Session) -> str:
        """Count an order of a session; returns why it may not be given now, or ''."""
        wait = self._orders.wait(session.key)
        if wait > 0.0:
            return f'Too many orders at once. Try again in {max(1.0, wait):.0f} s.'
        self._orders.take(session.key)
        return ''

    def form_token(self, form: str) -> str:
        """Return the hidden field of the sign-in form whose cookie is `form`."""
        return hmac.new(self._form_key, form.encode('utf-8', 'replace'), 'sha256').hexdigest()

    def is_form(self, form: str, field: str) -> bool:
        """Return whether a form was made for the browser that sends it."""
        return bool(form) and hmac.compare_digest(
            self.form_token(form).encode(), field.encode('utf-8', 'replace'))

    def serves(self, host: str) -> bool:
        """
        Return whether a Host header names this server.

        An address can't be rebound by DNS; a name has to be a known one.
        """
        name = host_name(host)
        if name.lower().rstrip('.') in self.names:
            return True
        return self.public and _is_address(name)

    def _token(self) -> str:
        if self._file is None:
            return self._environment
        try:
            return self._file.read()
        except TokenError as error:
            _LOG.warning('nobody is signed in: %s', error)
            return ''

    def _key(self, token: str) -> bytes:
        if self._derived[0] != token:
            self._derived = (token, hashlib.scrypt(
                token.encode(), salt=b'action_lifecycle viewer', n=2 ** 14, r=8, p=1))
        return self._derived[1]


def _signer(key: bytes, purpose: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    from itsdangerous import URLSafeTimedSerializer
    return URLSafeTimedSerializer(
        key, salt=purpose, signer_kwargs={'digest_method': hashlib.sha256})


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server at `host`."""
    if host == 'localhost':
        return True
    try:
        return ipaddress.ip_address(host.strip('[]')).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str:
    """Return a Host header without its port."""
    if host.startswith('['):
        return host[1:].partition(']')[0]
    return host.partition(':')[0]


def _served_names(host: str, names: Collection[str]) -> frozenset[str]:
    known = {host, *names}
    if is_loopback(host):
        known |= {'localhost', '127.0.0.1', '::1'}
    else:
        here = socket.gethostname()
        known |= {'localhost', here, f'{here}.local'}  # getfqdn() may wait for a name server
    return frozenset(name.lower().rstrip('.') for name in known if name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _network(address: str) -> str:
    """Return what one person has of the addresses: an IPv4 address, or the /64 of an IPv6 one."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return 'unknown'
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
