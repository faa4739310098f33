# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""A redis-server for the tests of the ledger; skipped, and said so, where none is installed."""

from __future__ import annotations

import shutil

import pytest

from .redis_server import RedisServer


@pytest.fixture(scope='session')
def _server():
    if shutil.which('redis-server') is None:
        pytest.skip('redis-server is not installed (Debian, Ubuntu: apt install redis-server)')
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def redis_server(_server):
    """Give a server that runs, is empty and has its usual settings."""
    _server.client.flushall()
    yield _server
    _server.mend()
