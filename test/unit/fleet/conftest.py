# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Servers for the tests of the ledger, started once and when they are first needed.

`backend` is memory, one redis-server, a master with a replica and one Sentinel, and a cluster of
three nodes.
"""

from __future__ import annotations

import uuid

from action_lifecycle.fleet import open_ledger, RedisLedger
from action_lifecycle.fleet.backends.redis.connection import connect, connect_blocking
import pytest

from .redis_groups import ClusterGroup, SentinelGroup
from .redis_server import RedisServer


class Backend:
    """A ledger that is empty, and what is kept in it beside what its protocol gives."""

    def __init__(self, url, server=None):
        self.url = url
        self._server = server
        self._tagged = isinstance(server, ClusterGroup)

    def dead_letters(self, stream):
        if self._server is None:
            kept = open_ledger(self.url).storage.streams.get(stream)
            return [] if kept is None else list(kept.dead.values())
        return [fields for _, fields in self._server.client.xrange(f'{{{stream}}}:dead')]

    def result(self, trace_id):
        if self._server is None:
            return open_ledger(self.url).storage.results.get(trace_id)
        name = f'{{{trace_id}}}' if self._tagged else trace_id
        return self._server.client.get(f'sg:result:{name}')

    async def cut(self):
        """Cut all connections of others, now."""
        if self._server is not None:
            for server in self._server.masters if self._tagged else [self._server]:
                server.client.client_kill_filter(_type='normal', skipme=True)

    def clear(self):
        """Remove all that is kept."""
        if self._server is None:
            self.url = f'memory://{uuid.uuid4().hex}'
        else:
            self._server.flush()


SERVERS = {'redis': 'redis_server', 'sentinel': 'sentinel_group', 'cluster': 'cluster_group'}
"""The fixture of each backend that is not in memory."""


@pytest.fixture(params=['memory', *SERVERS])
def backend(request):
    if request.param == 'memory':
        return Backend(f'memory://{uuid.uuid4().hex}')
    server = request.getfixturevalue(SERVERS[request.param])
    return Backend(server.url, server)


@pytest.fixture(scope='session')
def _server():
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture(scope='session')
def _cluster():
    server = RedisServer(cluster=True)
    yield server
    server.close()


@pytest.fixture(scope='session')
def _sentinel_group():
    group = SentinelGroup(down_after=30.0)  # longer than any pause of a busy machine
    yield group
    group.close()


@pytest.fixture(scope='session')
def _cluster_group():
    group = ClusterGroup()
    yield group
    group.close()


@pytest.fixture
def patient(monkeypatch):
    """Let servers be slow to answer."""
    for connecting in connect, connect_blocking, RedisLedger.__init__:
        monkeypatch.setitem(connecting.__kwdefaults__, 'timeout', 10.0)


@pytest.fixture
def redis_server(_server, patient):
    """Give a server that runs, is empty and has its usual settings, and may be slow to answer."""
    _server.client.flushall()
    yield _server
    _server.mend()


@pytest.fixture
def sentinel_group(_sentinel_group, patient):
    """Give a master with a replica and a Sentinel, which are empty."""
    _sentinel_group.flush()
    return _sentinel_group


@pytest.fixture
def cluster_group(_cluster_group, patient):
    """Give a cluster of three nodes, which is empty."""
    _cluster_group.flush()
    return _cluster_group


@pytest.fixture
def redis_cluster(_cluster, patient):
    """Give the only node of a cluster, which is empty, for clients that know no clusters."""
    _cluster.client.flushall()
    return _cluster
