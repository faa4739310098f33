# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A redis-server on a TCP port for tests of its faults, and fixtures for it."""

from __future__ import annotations

import subprocess

import pytest

from .redis_server import free_port, RedisServer, SERVER


class TcpServer(RedisServer):
    """
    A server that also listens on a TCP port, and permits commands for debugging.

    `prefix`: what is put before its command.
    """

    def __init__(self, cluster=False, prefix=()):
        self.prefix = prefix
        super().__init__(cluster)

    def start(self):
        self.port = free_port()
        self.tcp_url = f'redis://127.0.0.1:{self.port}/0'
        cluster = ['--cluster-enabled', 'yes', '--cluster-port', str(free_port())] \
            if self.cluster else []
        self.process = subprocess.Popen(
            [*self.prefix, SERVER, '--port', str(self.port), '--unixsocket', f'{self.folder}/s',
             '--dir', str(self.folder), '--save', '', '--appendonly', 'no',
             '--enable-debug-command', 'yes', *cluster],
            stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        self.until_ready()


@pytest.fixture(scope='module')
def server():
    """Give a server for the tests of a module."""
    started = TcpServer()
    yield started
    started.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Let the sync try again soon."""
    monkeypatch.setattr('action_lifecycle.fleet.sync.LONGEST_DELAY', 0.2)
