# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Waits until replicas have a change, so that a failover does not lose it.

A replica receives a change after the master has confirmed it. What must not be lost, such as a
claim that permits a motion, is therefore written together with a WAIT on the same connection.
`replicas=N` in the URL is the number of replicas that must acknowledge it; 0: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import contextlib
from typing import Any

from .addresses import address, Host, REPLICAS
from .connection import close, close_blocking, connect, connect_blocking, server_errors, TIMEOUT
from .scripts import Script
from ...errors import LedgerUnavailable

IN_STEP = 3
"""Maximum time (s) since the last acknowledgement of a replica that counts as connected."""


class _Masters:
    """
    The servers that have the keys of a client.

    In a cluster each is a client of its own, because redis-py's client of a cluster does not send
    two commands over one connection.
    """

    def __init__(self, redis: Any, url: str, timeout: float) -> None:
        self._redis = redis
        self._timeout = timeout
        self._address = address(url)
        self.replicas = self._address.replicas
        self.nodes: dict[str, Any] = {}

    def of(self, key: str, connecting: Any) -> Any:
        """Return the client of the server that has a key; `connecting` makes one for a URL."""
        if not self._address.is_cluster:
            return self._redis
        node = self._redis.get_node_from_key(key)
        if node is None:
            raise LedgerUnavailable(f'ledger: no node of the cluster has key {key}')
        if node.name not in self.nodes:
            self.nodes[node.name] = connecting(
                self._address.url_of(Host(node.host, node.port)), timeout=self._timeout)
        return self.nodes[node.name]

    def pipeline(
        self, server: Any, script: Script, keys: Sequence[str], args: Sequence[Any], source: bool
    ) -> Any:
        """Return a pipeline with a script, sent by its source or its digest, and a WAIT."""
        pipeline = server.pipeline(transaction=False)
        if source:
            pipeline.eval(script.text, len(keys), *keys, *args)
        else:
            pipeline.evalsha(script.digest, len(keys), *keys, *args)
        pipeline.execute_command('WAIT', self.replicas, round(self._timeout * 500))
        return pipeline

    def result(self, answers: Sequence[Any]) -> Any:
        """Return the result of the script, from the answers to a pipeline."""
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        result, reached = answers
        self._require(int(reached))
        return result

    def check(self, info: Mapping[str, Any]) -> None:
        """Raise LedgerUnavailable if too few replicas are connected; `info`: by INFO."""
        found = [value for name, value in info.items()
                 if name.startswith('slave') and isinstance(value, Mapping)]
        self._require(sum(one.get('state') == 'online' and int(one.get('lag', 0)) <= IN_STEP
                          for one in found))

    def _require(self, reached: int) -> None:
        if reached < self.replicas:
            raise LedgerUnavailable(
                f'ledger: {reached} replicas of the server are in step, and {self.replicas} must '
                f'acknowledge claims: start its replicas, or set {REPLICAS} in the URL')


class Replication:
    """
    Runs scripts by `redis`, a client of `connect` for `url`, and waits for replicas.

    `timeout`: timeout of the server in s; half of it is the maximum time to wait for replicas.
    """

    def __init__(self, redis: Any, url: str, timeout: float = TIMEOUT) -> None:
        self._redis = redis
        self._masters = _Masters(redis, url, timeout)
        self.replicas = self._masters.replicas

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[Any] = ()) -> Any:
        """
        Run a script that writes; returns its result when the replicas have acknowledged it.

        If they do not in time, raises LedgerUnavailable: the change was made, but may be lost.
        Also raises errors of redis-py.
        """
        if not self.replicas:
            return await script.run(self._redis, keys, args)
        async with self._refreshed(keys[0]):
            server = await self._master(keys[0])
            for source in False, True:
                answers = await self._masters.pipeline(
                    server, script, keys, args, source).execute(raise_on_error=False)
                if not _is_unknown(answers[0]):
                    break
            return self._masters.result(answers)

    async def check(self, key: str) -> None:
        """Raise LedgerUnavailable if too few replicas are connected to the server of a key."""
        if self.replicas:
            async with self._refreshed(key):
                server = await self._master(key)
                self._masters.check(await server.info('replication'))

    async def close(self) -> None:
        """Close the connections to single nodes."""
        for node in self._masters.nodes.values():
            await close(node)
        self._masters.nodes.clear()

    async def _master(self, key: str) -> Any:
        if hasattr(self._redis, 'nodes_manager'):
            await self._redis.initialize()
        return self._masters.of(key, connect)

    @contextlib.asynccontextmanager
    async def _refreshed(self, key: str) -> Any:
        """After an error, let the client of a cluster notice if another node has the key."""
        try:
            yield
        except server_errors(LedgerUnavailable):
            if hasattr(self._redis, 'nodes_manager'):
                with contextlib.suppress(*server_errors()):
                    await self._redis.exists(key)
            raise


class BlockingReplication:
    """The same for a client of `connect_blocking`."""

    def __init__(self, redis: Any, url: str, timeout: float = TIMEOUT) -> None:
        self._redis = redis
        self._masters = _Masters(redis, url, timeout)
        self.replicas = self._masters.replicas

    def run(self, script: Script, keys: Sequence[str], args: Sequence[Any] = ()) -> Any:
        """Run a script as `Replication.run` does."""
        if not self.replicas:
            return script.run_blocking(self._redis, keys, args)
        try:
            server = self._masters.of(keys[0], connect_blocking)
            for source in False, True:
                answers = self._masters.pipeline(
                    server, script, keys, args, source).execute(raise_on_error=False)
                if not _is_unknown(answers[0]):
                    break
            return self._masters.result(answers)
        except server_errors(LedgerUnavailable):
            if self._masters.nodes:
                with contextlib.suppress(*server_errors()):
                    self._redis.exists(keys[0])
            raise

    def close(self) -> None:
        """Close the connections to single nodes."""
        for node in self._masters.nodes.values():
            close_blocking(node)
        self._masters.nodes.clear()


def _is_unknown(answer: Any) -> bool:
    """Return whether the server does not have a script that was sent by its digest."""
    from redis.exceptions import NoScriptError
    return isinstance(answer, NoScriptError)
