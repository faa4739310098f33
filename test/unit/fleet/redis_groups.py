# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Real redis-servers over TCP that replicate: a master with replicas and Sentinels, and a cluster.

Their processes are started together and end with the tests, whatever ends these.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
import redis

from .redis_server import free_port, SERVER

LOCALHOST = '127.0.0.1'
SERVICE = 'fleet'
PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None)


def _end_with_parent():
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def until(wanted, timeout=20.0):
    """Wait until something is so, and return what was found."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            found, error = wanted(), None
        except redis.RedisError as raised:  # not yet
            found, error = None, raised
        if found:
            return found
        assert time.monotonic() < deadline, error
        time.sleep(0.02)


class TcpServer:
    """
    One redis-server, a Sentinel or a node of a cluster, with a folder and a port of its own.

    `tls`: lines of a configuration for TLS; then there is a port for it, too. `link_port` is the
    port by which it is reached by clients and by the other servers.
    """

    def __init__(self, folder, *options, config='', tls=''):
        self.port = free_port()
        self.link_port = free_port() if tls else self.port
        if tls:
            config += f'\ntls-port {self.link_port}\n{tls}'
        self.folder = folder / str(self.port)
        self.folder.mkdir()
        self.config = self.folder / 'redis.conf'
        self.config.write_text(
            f'port {self.port}\nbind {LOCALHOST}\ndir {self.folder}\n{config}\n')
        self._options = options
        self.client = redis.Redis(
            LOCALHOST, self.port, decode_responses=True, socket_timeout=10)
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [SERVER, str(self.config), *self._options], stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT, preexec_fn=_end_with_parent)

    def until_ready(self):
        until(self.client.ping)

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def cut_off_replicas(self):
        """
        Cut the connections to the replicas, and refuse new ones.

        A stopped replica would still read what the master has sent before it was killed.
        """
        self.client.execute_command('ACL', 'SETUSER', 'default', '-psync', '-sync')
        self.client.execute_command('CLIENT', 'KILL', 'TYPE', 'replica')
        until(lambda: self.client.info('replication')['connected_slaves'] == 0)

    def admit_replicas(self):
        """Let replicas connect again."""
        self.client.execute_command('ACL', 'SETUSER', 'default', '+psync', '+sync')

    def close(self):
        if self.process.poll() is None:
            self.kill()
        self.client.close()


class Group:
    """Servers in one folder; `config`, `tls`: lines for the configuration of each."""

    def __init__(self, config='', tls=''):
        if shutil.which(SERVER) is None:
            pytest.skip('redis-server is not installed (Debian, Ubuntu: apt install redis-server)')
        self.folder = Path(tempfile.mkdtemp(prefix='al-redis-'))
        self.config = f"save ''\n{config}"
        self.tls = tls
        self.scheme = 'rediss' if tls else 'redis'
        self.servers = []

    def add(self, *options, config=''):
        self.servers.append(TcpServer(
            self.folder, *options, config=f'{self.config}\n{config}', tls=self.tls))
        return self.servers[-1]

    @staticmethod
    def hosts(servers):
        """Return the addresses of servers, as in a URL."""
        return ','.join(f'{LOCALHOST}:{one.link_port}' for one in servers)

    def close(self):
        for server in self.servers:
            server.close()
        shutil.rmtree(self.folder)


class SentinelGroup(Group):
    """
    A master with replicas, and Sentinels that watch it.

    One Sentinel with a quorum of 1 is ready at once; three need some seconds to find each other.
    `url` is that of the Sentinels. `down_after`: time (s) after which they call a server down.
    """

    def __init__(self, replicas=1, sentinels=1, down_after=0.5, config='', tls=''):
        # A replica that was refused may wait for a reply until the time-out.
        super().__init__('repl-diskless-sync-delay 0\nrepl-ping-replica-period 1\n'
                         f'repl-timeout 5\n{config}', tls)
        first = self.add()
        self.first = first
        first.until_ready()
        self.replicas = [self.add(config=f'replicaof {LOCALHOST} {first.link_port}')
                         for _ in range(replicas)]
        self.until_replicated(first, replicas)
        quorum = sentinels // 2 + 1
        self.config = ''
        self.sentinels = [self.add('--sentinel', config=(
            f'sentinel monitor {SERVICE} {LOCALHOST} {first.link_port} {quorum}\n'
            f'sentinel down-after-milliseconds {SERVICE} {round(down_after * 1000)}\n'
            f'sentinel failover-timeout {SERVICE} 3000\n')) for _ in range(sentinels)]
        for sentinel in self.sentinels:
            until(lambda one=sentinel: self._knows_all(one))
        self.url = f'{self.scheme}+sentinel://{self.hosts(self.sentinels)}/{SERVICE}'

    def _knows_all(self, sentinel):
        state = sentinel.client.sentinel_masters()[SERVICE]
        return state['num-slaves'] == len(self.replicas) \
            and state['num-other-sentinels'] == len(self.sentinels) - 1 \
            and state['flags'] == 'master'

    @staticmethod
    def until_replicated(master, count):
        """Wait until a master has so many replicas that have all of its data."""
        def online():
            info = master.client.info('replication')
            return sum(info[f'slave{number}']['state'] == 'online'
                       for number in range(info['connected_slaves'])) >= count
        until(online)

    @property
    def master(self):
        """Return the server that the first Sentinel calls the master."""
        port = int(self.sentinels[0].client.execute_command(
            'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', SERVICE)[1])
        return next(one for one in self.servers if one.link_port == port)

    def until_promoted(self, old):
        """Wait until another server than `old` is the master, and return it."""
        def promoted():
            found = self.master
            return found is not old and found.client.info('replication')['role'] == 'master' \
                and found
        return until(promoted)

    @property
    def client(self):
        return self.master.client

    def flush(self):
        self.client.flushall()


class ClusterGroup(Group):
    """
    A cluster of masters, each with so many `replicas`.

    `timeout`: time (s) after which a node is called down.
    """

    def __init__(self, masters=3, replicas=0, timeout=15.0, tls=''):
        super().__init__(
            'cluster-enabled yes\nrepl-diskless-sync-delay 0\nrepl-ping-replica-period 1\n'
            f'cluster-node-timeout {round(timeout * 1000)}\n'
            'cluster-replica-validity-factor 0\n', tls and f'{tls}tls-cluster yes\n')
        self.buses = {}
        self.masters = [self._node() for _ in range(masters)]
        self.replicas = [[self._node() for _ in range(replicas)] for _ in self.masters]
        nodes = list(self.servers)
        for node in nodes:
            node.until_ready()
        bounds = [16384 * number // masters for number in range(masters + 1)]
        for number, node in enumerate(self.masters):
            node.client.execute_command('CLUSTER', 'SET-CONFIG-EPOCH', number + 1)
            node.client.execute_command(
                'CLUSTER', 'ADDSLOTSRANGE', bounds[number], bounds[number + 1] - 1)
        for node in nodes[1:]:
            node.client.execute_command(
                'CLUSTER', 'MEET', LOCALHOST, nodes[0].link_port, self.buses[nodes[0]])
        until(lambda: all(self._sees(node, len(nodes)) for node in nodes))
        for master, group in zip(self.masters, self.replicas):
            number = master.client.execute_command('CLUSTER', 'MYID')
            for node in group:
                node.client.execute_command('CLUSTER', 'REPLICATE', number)
        until(lambda: all(self._shows(node, replicas) for node in nodes))
        if replicas:
            for master in self.masters:
                SentinelGroup.until_replicated(master, replicas)
        self.url = f'{self.scheme}+cluster://{self.hosts(self.masters)}' + (
            '' if replicas else '?replicas=0')
        self.client = redis.RedisCluster(
            LOCALHOST, self.masters[0].port, decode_responses=True, socket_timeout=10)

    def _node(self):
        bus = free_port()
        node = self.add(config=f'cluster-port {bus}')
        self.buses[node] = bus
        return node

    @staticmethod
    def _sees(node, count):
        info = node.client.execute_command('CLUSTER', 'INFO')
        return f'cluster_known_nodes:{count}\r' in info

    def _shows(self, node, replicas):
        info = node.client.execute_command('CLUSTER', 'INFO')
        slots = node.client.execute_command('CLUSTER', 'SLOTS')
        return 'cluster_state:ok\r' in info and len(slots) == len(self.masters) \
            and all(len(nodes) > replicas for _, _, *nodes in slots)

    def holder_of(self, key):
        """Return the master that has a key."""
        port = self.client.get_node_from_key(key).port
        return next(one for one in self.servers if one.port == port)

    def replicas_of(self, master):
        return self.replicas[self.masters.index(master)]

    def flush(self):
        for node in self.masters:
            node.client.flushall()

    def close(self):
        self.client.close()
        super().close()
