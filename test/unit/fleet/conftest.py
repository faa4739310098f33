# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A redis-server for the tests of the ledger."""

from __future__ import annotations

from action_lifecycle.fleet import RedisLedger
from action_lifecycle.fleet.redis.connection import connect, connect_blocking
import pytest

from .redis_server import RedisServer


@pytest.fixture(scope='session')
def _server():
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def redis_server(_server, monkeypatch):
    """Give a server that runs, is empty and has its usual settings, and may be slow to answer."""
    for connecting in connect, connect_blocking, RedisLedger.__init__:
        monkeypatch.setitem(connecting.__kwdefaults__, 'timeout', 10.0)
    _server.client.flushall()
    yield _server
    _server.mend()
