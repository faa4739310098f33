# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A redis-server for the tests of the ledger."""

from __future__ import annotations

import uuid

from action_lifecycle.fleet import open_ledger, RedisLedger
from action_lifecycle.fleet.backends.redis.connection import connect, connect_blocking
import pytest

from .redis_server import RedisServer


class Backend:
    """A ledger that is empty, and what is kept in it beside what its protocol gives."""

    def __init__(self, url, server=None):
        self.url = url
        self._server = server

    def dead_letters(self, stream):
        if self._server is None:
            return open_ledger(self.url).storage.streams[stream].dead
        return [fields for _, fields in self._server.client.xrange(f'{{{stream}}}:dead')]

    def result(self, trace_id):
        if self._server is None:
            return open_ledger(self.url).storage.results.get(trace_id)
        name = f'{{{trace_id}}}' if self._server.cluster else trace_id
        return self._server.client.get(f'sg:result:{name}')

    async def cut(self):
        """Cut all connections of others, now."""
        if self._server is not None:
            self._server.client.client_kill_filter(_type='normal', skipme=True)

    def clear(self):
        """Remove all that is kept."""
        if self._server is None:
            self.url = f'memory://{uuid.uuid4().hex}'
        else:
            self._server.client.flushall()


@pytest.fixture(params=['memory', 'redis', 'cluster'])
def backend(request):
    if request.param == 'memory':
        return Backend(f'memory://{uuid.uuid4().hex}')
    server = request.getfixturevalue(
        'redis_server' if request.param == 'redis' else 'redis_cluster')
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
def redis_cluster(_cluster, patient):
    """Give the only node of a cluster, which is empty."""
    _cluster.client.flushall()
    return _cluster
