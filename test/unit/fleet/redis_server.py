# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A real redis-server on a unix socket, with a folder of its own, to be hurt by tests.

Where none is installed a test that wants one is skipped, and it is said why.
The environment variable REDIS_SERVER names another one: a newer Redis, or Valkey.
"""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
import redis

SERVER = os.environ.get('REDIS_SERVER', 'redis-server')


def free_port():
    """Return a TCP port that is free now."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class RedisServer:
    """
    Starts in a folder with a short name: the path of a socket has at most 107 bytes.

    `cluster`: as the only node of a cluster, which refuses commands with keys in two slots.
    """

    def __init__(self, cluster=False):
        if shutil.which(SERVER) is None:
            pytest.skip('redis-server is not installed (Debian, Ubuntu: apt install redis-server)')
        self.folder = Path(tempfile.mkdtemp(prefix='al-redis-'))
        self.url = f'unix://{self.folder}/s'
        self.process = None
        self.cluster = cluster
        self.client = redis.Redis.from_url(self.url, decode_responses=True, socket_timeout=10)
        self.start()
        if cluster:
            self.client.execute_command('CLUSTER', 'ADDSLOTSRANGE', 0, 16383)
            self.until_ready()

    def start(self):
        cluster = ['--cluster-enabled', 'yes', '--cluster-port', str(free_port())] \
            if self.cluster else []  # else all clusters of the machine would use one port
        self.process = subprocess.Popen(
            [SERVER, '--port', '0', '--unixsocket', f'{self.folder}/s', '--dir',
             str(self.folder), '--save', '', '--appendonly', 'yes', '--appendfsync', 'no',
             '--daemonize', 'no', *cluster],
            stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        self.until_ready()

    def until_ready(self):
        deadline = time.monotonic() + 20
        while True:
            try:
                self.client.ping()
                if self.cluster and self.client.execute_command('CLUSTER', 'SLOTS'):
                    self.client.exists('key')  # refused until the node serves its slots
                return
            except redis.RedisError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def restart(self):
        self.kill()
        self.start()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def backup(self):
        """Return a copy of what is on disk, as an operator would keep it."""
        copy = Path(tempfile.mkdtemp(prefix='backup-', dir=self.folder)) / 'appendonlydir'
        shutil.copytree(self.folder / 'appendonlydir', copy)
        return copy

    def restore(self, backup):
        self.kill()
        shutil.rmtree(self.folder / 'appendonlydir')
        shutil.copytree(backup, self.folder / 'appendonlydir')
        self.start()

    def flush(self):
        self.client.flushall()

    def mend(self):
        """Undo what a test has done to the server."""
        if self.process.poll() is not None:
            self.start()
        self.resume()
        self.until_ready()
        self.client.config_set('maxmemory', 0)
        self.client.replicaof('NO', 'ONE')

    def close(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
            self.kill()
        self.client.connection_pool.disconnect()
        shutil.rmtree(self.folder)
