# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Connects to a Redis server and converts its errors.

The address is a URL (`redis://host:port/db`, `rediss://…` for TLS, `unix:///path?db=n`). User and
password come from the environment variables ACTION_LEDGER_REDIS_USERNAME and
ACTION_LEDGER_REDIS_PASSWORD, or from the file named by ACTION_LEDGER_REDIS_PASSWORD_FILE, since
URLs are visible in parameters and logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
import contextlib
from functools import cache
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...errors import LedgerError, LedgerUnavailable
from ....documents.suggestions import nearest

SCHEMES = ('redis', 'rediss', 'unix')
TIMEOUT = 2.0
"""Timeout (s) of connecting and of each response."""

USERNAME = 'ACTION_LEDGER_REDIS_USERNAME'
PASSWORD = 'ACTION_LEDGER_REDIS_PASSWORD'
PASSWORD_FILE = 'ACTION_LEDGER_REDIS_PASSWORD_FILE'


def server_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the exceptions for a server that is unreachable or reports an error, and `others`."""
    import redis  # here: redis needs 11 MB, also on a robot without a ledger
    return *others, redis.RedisError, OSError, asyncio.TimeoutError


@contextlib.contextmanager
def ledger_errors() -> Iterator[None]:
    """Convert the errors of redis-py and the system to LedgerUnavailable."""
    try:
        yield
    except server_errors() as error:
        raise LedgerUnavailable(f'ledger: {str(error) or type(error).__name__}') from error


def check_url(url: str) -> str:
    """Return `url`; raises LedgerError if it has a password or an unknown scheme."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise LedgerError(f"ledger URL {parts.scheme + '://…'!r}: expected one of "
                          + ', '.join(f'{scheme}://' for scheme in SCHEMES)
                          + nearest(parts.scheme, SCHEMES))
    query = parts.query.lower()
    if '@' in parts.netloc or 'password=' in query or 'username=' in query:
        raise LedgerError(
            f'the ledger URL has a user or a password, and URLs end up in parameters and logs: '
            f'leave them out and set {USERNAME} and {PASSWORD} (or {PASSWORD_FILE}) instead')
    return url


def connect(url: str, *, timeout: float = TIMEOUT) -> Any:
    """Return a `redis.asyncio.Redis`; nothing is sent yet. Raises LedgerError for a bad URL."""
    import redis.asyncio
    return redis.asyncio.Redis.from_url(check_url(url), **_options(url, timeout))


def connect_blocking(url: str, *, timeout: float = TIMEOUT) -> Any:
    """Return a `redis.Redis`; nothing is sent yet. Raises LedgerError for a bad URL."""
    import redis
    return redis.Redis.from_url(check_url(url), **_options(url, timeout))


def _options(url: str, timeout: float) -> dict[str, Any]:
    options: dict[str, Any] = {
        'decode_responses': True, 'encoding_errors': 'replace',  # streams may contain any bytes
        'socket_timeout': timeout, 'socket_connect_timeout': timeout}
    if url.startswith('unix:'):
        del options['socket_connect_timeout']  # redis-py 4.3 rejects it for Unix sockets
    if username := os.environ.get(USERNAME, ''):
        options['username'] = username
    password = os.environ.get(PASSWORD, '')
    if name := os.environ.get(PASSWORD_FILE, ''):
        try:
            password = Path(name).read_text(encoding='utf-8').strip()
        except OSError as error:
            raise LedgerError(f'{PASSWORD_FILE}: {error}') from error
    if password:
        options['password'] = password
    return options


@cache
def script_text(name: str) -> str:
    """Return the content of lua/<name>.lua."""
    return (Path(__file__).parent / 'lua' / f'{name}.lua').read_text(encoding='utf-8')
