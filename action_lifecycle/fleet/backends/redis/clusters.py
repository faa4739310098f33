# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Clients of a Redis cluster.

redis-py repeats commands that failed by itself, also those that must not be done twice; here it
does so as little as its version permits, since each caller repeats what it may.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
import threading
from typing import Any

from .addresses import Address, url_options

_FIRST_WITH_RETRY = (6,)  # version of redis-py since which `retry` counts for a cluster
_FIRST_CANCELABLE = (4, 5, 5)
_FIRST_WITH_TLS = (4, 4)


def cluster(found: Address, options: dict[str, Any]) -> Any:
    """Return a `redis.asyncio.RedisCluster`; `options` are those of its connections."""
    from redis.asyncio.cluster import ClusterNode, RedisCluster

    class ShieldedCluster(RedisCluster):
        """Reads the response of a canceled command, or the next command would get it."""

        async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
            return await asyncio.shield(super().execute_command(*args, **kwargs))

    kind = ShieldedCluster if _version() < _FIRST_CANCELABLE else RedisCluster
    first, *others = found.hosts
    client = kind.from_url(found.url_of(first), **_for_version(options))
    if found.url.startswith('rediss') and _version() < _FIRST_WITH_TLS:
        _use_tls(client, found)
    for host in others:  # redis-py 4 would not give its options to the nodes of `startup_nodes`
        node = ClusterNode(*host, **client.connection_kwargs)
        client.nodes_manager.startup_nodes[node.name] = node
    return client


def _use_tls(client: Any, found: Address) -> None:
    """Make a client connect by TLS: redis-py 4.3 forgets all of the URL that is about it."""
    from redis.asyncio.connection import SSLConnection
    of_tls = {name: value for name, value in url_options(found).items()
              if name.startswith('ssl_')}
    manager = client.nodes_manager
    for options in (client.connection_kwargs, manager.connection_kwargs):
        options.update(of_tls, connection_class=SSLConnection)
    for node in manager.startup_nodes.values():
        node.connection_kwargs.update(of_tls)
        node.connection_class = SSLConnection


class LateCluster:
    """
    A `redis.RedisCluster` that connects at its first use, as other clients of redis-py do.

    After an error, older versions may ask a node that is down for ever; so they connect again.
    """

    def __init__(self, found: Address, options: dict[str, Any]) -> None:
        self._found = found
        self._options = options
        self._lock = threading.Lock()
        self._anew = _version() < _FIRST_WITH_RETRY
        self._client: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith('_') or name == 'connection_pool':
            raise AttributeError(name)
        with self._lock:
            if self._client is None:
                self._client = self._connected()
            client = self._client
        found = getattr(client, name)
        return self._until_error(client, found) if self._anew and callable(found) else found

    def _until_error(self, client: Any, call: Callable[..., Any]) -> Callable[..., Any]:
        from redis import exceptions
        lost = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ClusterError,
                exceptions.RedisClusterException)

        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(*args, **kwargs)
            except lost:
                with self._lock:
                    if self._client is client:
                        self._client = None
                client.close()
                raise
        return called

    def _connected(self) -> Any:
        import redis.cluster as blocking
        node: Callable[..., Any] = blocking.ClusterNode  # redis-py does not say it
        given = url_options(self._found)
        given.pop('db', None)
        return blocking.RedisCluster(
            startup_nodes=[node(*host) for host in self._found.hosts],
            **{**_for_version(self._options), **given})

    def close(self) -> None:
        """Close the connections, if there are any."""
        if self._client is not None:
            self._client.close()
            self._client = None


def _for_version(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with as few repetitions as this version of redis-py permits."""
    if _version() >= _FIRST_WITH_RETRY:
        return options
    rest = {name: value for name, value in options.items() if name != 'retry'}
    return {**rest, 'cluster_error_retry_attempts': 1}  # 0 is an error in some of them


def _version() -> tuple[Any, ...]:
    from redis import VERSION
    return tuple(VERSION)
