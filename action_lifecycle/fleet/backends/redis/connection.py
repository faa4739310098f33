# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Connects to the Redis of a URL (see `addresses`) and converts its errors.

User and password come from the environment variables ACTION_LEDGER_REDIS_USERNAME and
ACTION_LEDGER_REDIS_PASSWORD, or from the file named by ACTION_LEDGER_REDIS_PASSWORD_FILE. Those
for the Sentinels come from variables that begin with ACTION_LEDGER_SENTINEL.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
import contextlib
import os
import traceback
from typing import Any

from .addresses import Address, address, url_options
from .server_faults import (
    name_server,
    note_errors,
    PASSWORD,
    PASSWORD_FILE,
    SENTINEL_PASSWORD,
    SENTINEL_PASSWORD_FILE,
    SENTINEL_USERNAME,
    unavailable,
    USERNAME,
)
from ...errors import LedgerError
from ....documents.input_file import read_text

TIMEOUT = 2.0
"""Timeout (s) of connecting and of each response."""


def server_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the exceptions for a server that is unreachable or reports an error, and `others`."""
    import redis  # here: redis needs 11 MB, also on a robot without a ledger
    from redis.exceptions import RedisClusterException  # not a RedisError
    return *others, redis.RedisError, RedisClusterException, OSError, asyncio.TimeoutError


@contextlib.contextmanager
def ledger_errors(client: Any = None, key: str = '') -> Iterator[None]:
    """
    Convert the errors of redis-py and the system to LedgerUnavailable.

    `client`: a client of `connect`, whose server the message names; `key`: of the command.
    """
    try:
        yield
    except server_errors() as error:
        raise unavailable(error, client, key) from error
    except (AttributeError, TypeError) as error:
        if not _is_lost_connection(error):
            raise
        raise unavailable(ConnectionError('the connection was lost'), client, key) from error


def _is_lost_connection(error: Exception) -> bool:
    """
    Return whether an unrelated error hides that a connection was lost.

    Python before 3.12.3 writes to a connection that has just been lost (gh-115514); redis-py 4.3
    fails to name a Unix socket in the error of its loss.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error.__context__, OSError) or bool(frames) and frames[-1].name == \
        'writelines'


def connect(url: str, *, timeout: float = TIMEOUT) -> Any:
    """
    Return a `redis.asyncio.Redis`, or `RedisCluster`; nothing is sent yet.

    Raises LedgerError for a bad URL.
    """
    import redis.asyncio.retry
    from redis.backoff import NoBackoff
    found = address(url)
    options = {**_options(found, timeout),
               'retry': redis.asyncio.retry.Retry(NoBackoff(), 0)}
    if found.is_cluster:
        from .clusters import cluster
        client = cluster(found, options)
    elif found.service:
        from redis.asyncio.sentinel import Sentinel
        client = _master(Sentinel, found, options)
    else:
        client = redis.asyncio.Redis.from_url(found.url, **options)
    return name_server(client, url)


def connect_blocking(url: str, *, timeout: float = TIMEOUT) -> Any:
    """
    Return a `redis.Redis`, or a client of a cluster; nothing is sent yet.

    Raises LedgerError for a bad URL.
    """
    from redis.backoff import NoBackoff
    import redis.retry
    found = address(url)
    options = {**_options(found, timeout), 'retry': redis.retry.Retry(NoBackoff(), 0)}
    client: Any
    if found.is_cluster:
        from .clusters import LateCluster
        client = LateCluster(found, options)
    elif found.service:
        from redis.sentinel import Sentinel
        client = _master(Sentinel, found, options)
    else:
        client = redis.Redis.from_url(found.url, **options)
    return name_server(client, url)


async def close(client: Any) -> None:
    """Close the connections of a client of `connect`."""
    if hasattr(client, 'nodes_manager'):
        await (client.aclose() if hasattr(client, 'aclose') else client.close())
        return
    await client.connection_pool.disconnect()
    for sentinel in _sentinels(client):
        await sentinel.connection_pool.disconnect()


def close_blocking(client: Any) -> None:
    """Close the connections of a client of `connect_blocking`."""
    if not hasattr(client, 'connection_pool'):
        client.close()
        return
    client.connection_pool.disconnect()
    for sentinel in _sentinels(client):
        sentinel.connection_pool.disconnect()


def _sentinels(client: Any) -> list[Any]:
    manager = getattr(client.connection_pool, 'sentinel_manager', None)
    return [] if manager is None else list(manager.sentinels)


def _master(sentinel: Any, found: Address, options: dict[str, Any]) -> Any:
    """Return the client of the master that the Sentinels name; `sentinel`: class of redis-py."""
    given = {**options, **url_options(found)}
    shared = {name: value for name, value in given.items()
              if name.startswith(('socket_', 'ssl', 'retry'))}
    manager = sentinel(
        [tuple(host) for host in found.hosts],
        sentinel_kwargs={**shared, **credentials(
            SENTINEL_USERNAME, SENTINEL_PASSWORD, SENTINEL_PASSWORD_FILE)})
    for one in manager.sentinels:
        note_errors(one)
    return manager.master_for(found.service, **given)


def _options(found: Address, timeout: float) -> dict[str, Any]:
    options: dict[str, Any] = {
        'decode_responses': True, 'encoding_errors': 'replace',  # streams may contain any bytes
        'socket_timeout': timeout, 'socket_connect_timeout': timeout,
        **credentials(USERNAME, PASSWORD, PASSWORD_FILE)}
    if found.url.startswith('unix:'):
        del options['socket_connect_timeout']  # redis-py 4.3 rejects it for Unix sockets
    return options


def credentials(username: str, password: str, password_file: str) -> dict[str, str]:
    """Return the user and the password that these environment variables name."""
    found = {'username': os.environ.get(username, ''), 'password': os.environ.get(password, '')}
    if name := os.environ.get(password_file, ''):
        try:
            found['password'] = read_text(name).strip()
        except OSError as error:
            raise LedgerError(f'{password_file}: {error}') from error
    return {name: value for name, value in found.items() if value}
