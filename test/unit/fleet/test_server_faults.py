# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Each fault of a server has one sentence that names it, loses nothing, and ends by itself."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
import os
import shutil
import socket
import subprocess
import threading
import time

from action_lifecycle.fleet import (
    LedgerError,
    LedgerUnavailable,
    open_ledger,
    RedisLedger,
    SmartLedger,
)
from action_lifecycle.fleet.backends.redis.connection import connect, connect_blocking
from action_lifecycle.fleet.backends.redis.reader import RedisReader
from action_lifecycle.fleet.backends.redis.server_faults import (
    PASSWORD,
    server_name,
    unavailable,
    USERNAME,
)
from action_lifecycle.fleet.backends.redis.tasks import RedisTasks
from action_lifecycle.fleet.errors import LedgerForbidden
from action_lifecycle.fleet.operation_states import OperationState
import pytest
import redis

from .redis_server import free_port, SERVER
from .tcp_server import quick, server, TcpServer
from .test_sync import assert_same, journal, Syncing, write

__all__ = ['journal', 'quick', 'server']  # fixtures
ROBOT = 'robot'
SECRET = 'very-secret'


def disconnect(server):
    """End the connections of others, which keep their user and password."""
    server.client.client_kill_filter(_type='normal', skipme=True)


def acl(server, *rules):
    server.client.execute_command('ACL', 'SETUSER', ROBOT, 'on', *rules)


def config(server, name, value):
    server.client.config_set(name, value)


@contextmanager
def busy(server):
    """Let a script block the server."""
    config(server, 'busy-reply-threshold', 20)

    def block():
        with redis.Redis.from_url(server.url) as client, pytest.raises(redis.ResponseError):
            client.eval('while true do end', 0)
    thread = threading.Thread(target=block)
    thread.start()
    yield
    server.client.script_kill()
    thread.join()


@contextmanager
def loading(server):
    """Let the server load its data for two seconds."""
    server.client.mset({f'filler:{number}': 'x' * 100 for number in range(2000)})
    config(server, 'key-load-delay', 1000)
    config(server, 'loading-process-events-interval-bytes', 1024)

    def reload():
        with redis.Redis.from_url(server.url, socket_timeout=30) as client:
            client.execute_command('DEBUG', 'RELOAD')
    thread = threading.Thread(target=reload)
    thread.start()
    yield
    thread.join()
    config(server, 'key-load-delay', 0)


@contextmanager
def unable_to_save(server):
    """Let the server fail to write its data to the disk."""
    (server.folder / 'dump.rdb').mkdir()
    config(server, 'save', '3600 1')
    server.client.set('changed', 1)
    server.client.bgsave()
    while server.client.info('persistence')['rdb_last_bgsave_status'] == 'ok':
        time.sleep(0.01)
    yield
    config(server, 'save', '')
    (server.folder / 'dump.rdb').rmdir()


@contextmanager
def changed(change, mend):
    change()
    yield
    mend()


def both(*steps):
    return lambda: [step() for step in steps]


FAULTS = {
    'password': (
        lambda s: changed(both(lambda: acl(s, 'resetpass', '>other'), lambda: disconnect(s)),
                          lambda: acl(s, f'>{SECRET}')),
        "does not accept user 'robot' with the given password"),
    'user': (
        lambda s: changed(lambda: s.client.execute_command('ACL', 'DELUSER', ROBOT),
                          lambda: acl(s, f'>{SECRET}', '~*', '&*', '+@all')),
        "does not accept user 'robot' with the given password"),
    'command': (
        lambda s: changed(lambda: acl(s, '-evalsha', '-eval'), lambda: acl(s, '+@all')),
        "does not permit user 'robot' a command"),
    'command of a script': (
        lambda s: changed(lambda: acl(s, '-hmget'), lambda: acl(s, '+@all')),
        "does not permit user 'robot' a command"),
    'writing command of a script': (
        lambda s: changed(lambda: acl(s, '-xadd'), lambda: acl(s, '+@all')),
        'may not use XADD on key al:{robot}:events: allow it in the ACL'),
    'key': (
        lambda s: changed(lambda: acl(s, 'resetkeys', '~al:{robot8}:*'), lambda: acl(s, '~*')),
        "does not permit user 'robot' to use key al:{robot}:*"),
    'read-only replica': (
        lambda s: changed(lambda: s.client.replicaof('127.0.0.1', 1),
                          lambda: s.client.replicaof('NO', 'ONE')),
        'is a read-only replica'),
    'replica without its master': (
        lambda s: changed(both(lambda: config(s, 'replica-serve-stale-data', 'no'),
                               lambda: s.client.replicaof('127.0.0.1', 1)),
                          lambda: s.client.replicaof('NO', 'ONE')),
        'is a replica that has lost its master'),
    'memory': (
        lambda s: changed(lambda: config(s, 'maxmemory', 1), lambda: config(s, 'maxmemory', 0)),
        'is out of memory'),
    'replicas': (
        lambda s: changed(lambda: config(s, 'min-replicas-to-write', 1),
                          lambda: config(s, 'min-replicas-to-write', 0)),
        'has fewer replicas than its min-replicas-to-write'),
    'disk': (unable_to_save, "can't save its data"),
    'busy': (busy, 'is blocked by a script of another client'),
    'loading': (loading, 'was just started and loads its data'),
    'clients': (
        lambda s: changed(both(lambda: config(s, 'maxclients', 1), lambda: disconnect(s)),
                          lambda: config(s, 'maxclients', 1000)),
        'has reached its maxclients'),
    'silence': (lambda s: changed(s.pause, s.resume), 'does not respond in time'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_fault_is_said_in_one_sentence_and_ends_by_itself(server, journal, monkeypatch, fault):
    hurt, sentence = FAULTS[fault]
    server.client.flushall()
    acl(server, 'reset', 'on', f'>{SECRET}', '~*', '&*', '+@all')
    monkeypatch.setenv(USERNAME, ROBOT)
    monkeypatch.setenv(PASSWORD, SECRET)
    write(journal, 0, 5)
    syncing = Syncing(journal, server.tcp_url)
    try:
        syncing.until_synced()
        with hurt(server):
            write(journal, 5, 5)
            status = syncing.until(lambda one: sentence in one.last_error)
            first = len(syncing.statuses)
            if fault != 'loading':  # which takes its time
                syncing.until(lambda one: len(syncing.statuses) >= first + 2)
            assert not status.connected
            assert status.refused is (fault in (
                'command', 'command of a script', 'writing command of a script', 'key'))
            assert SECRET not in status.last_error and '\n' not in status.last_error
            if fault != 'writing command of a script':
                assert f'the server at 127.0.0.1:{server.port} ' in status.last_error
            assert {one.last_error for one in syncing.statuses[first - 1:]
                    if one.last_error} == {status.last_error}  # each time the same
        syncing.until_synced()
        assert_same_as_user(journal, server)
    finally:
        syncing.loop.stop()


def assert_same_as_user(journal, server):
    server.url, unix = server.tcp_url, server.url
    try:
        assert_same(journal, server)
    finally:
        server.url = unix


def test_server_that_requires_a_password_says_so(server):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(PASSWORD, raising=False)
        config(server, 'requirepass', SECRET)
        server.client.execute_command('AUTH', SECRET)
        try:
            said = fault_of(server.tcp_url)
        finally:
            config(server, 'requirepass', '')
    assert f'the server at 127.0.0.1:{server.port} requires a password: set {USERNAME}' in said


def fault_of(url, same=True):
    """
    Return what the ledger says, and check that the blocking reader says the `same`.

    In TLS 1.3 a server refuses a client after the handshake, so a client may or may not learn why.
    """
    async def ask():
        ledger = open_ledger(url)
        try:
            await ledger.cursor()
        finally:
            await ledger.close()
    with pytest.raises(LedgerUnavailable) as told:
        asyncio.run(ask())
    reader = RedisReader(url)
    with pytest.raises(LedgerUnavailable) as blocking:
        reader.last_seq()
    reader.close()
    if same:
        assert str(told.value).partition(' (')[0] == str(blocking.value).partition(' (')[0]
    return str(told.value)


def test_servers_that_are_not_there_are_told_apart(server, tmp_path):
    port = free_port()
    assert f'the server at localhost:{port} refuses the connection: start' in fault_of(
        f'redis://localhost:{port}')
    assert "the server at no-such-host.invalid:6379 can't be found" in fault_of(
        'redis://no-such-host.invalid')
    assert f"the server at {tmp_path}/s can't be reached, as the socket file does not" in fault_of(
        f'unix://{tmp_path}/s')
    assert 'does not have the database of the URL' in fault_of(
        f'redis://127.0.0.1:{server.port}/99')


@pytest.mark.parametrize(('reply', 'said'), [
    (b'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n', 'is not a Redis server: correct'),
    (b'', 'closes the connection: if it runs, use the host and port of a Redis server'),
    (b'-DENIED Redis is running in protected mode because ...\r\n', 'is in protected mode'),
])
def test_server_that_is_no_redis_or_closes_at_once(reply, said):
    with socket.create_server(('127.0.0.1', 0)) as listening:
        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(4096)
                    connection.sendall(reply)
                    if reply:
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(4096):
                            pass
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        told = fault_of(f'redis://127.0.0.1:{port}')
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert f'the server at 127.0.0.1:{port} ' in told and said in told, told


def test_tls_where_there_is_none_and_none_where_there_is_tls(server, tmp_path, monkeypatch):
    for connecting in connect, connect_blocking, RedisLedger.__init__:
        monkeypatch.setitem(connecting.__kwdefaults__, 'timeout', 0.5)  # such a server is silent
    said = fault_of(f'rediss://127.0.0.1:{server.port}')
    monkeypatch.undo()
    assert 'that the port is one for TLS' in said or 'does not answer in TLS' in said
    if shutil.which('openssl') is None:
        pytest.skip('openssl is not installed')
    own = {name: value for name, value in os.environ.items() if name != 'LD_LIBRARY_PATH'}
    subprocess.run(
        ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj',
         '/CN=ledger', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', str(tmp_path / 'key'),
         '-out', str(tmp_path / 'crt')], check=True, capture_output=True, env=own)
    port = free_port()
    try:
        for name, value in (('cert-file', tmp_path / 'crt'), ('key-file', tmp_path / 'key'),
                            ('ca-cert-file', tmp_path / 'crt'), ('port', port)):
            config(server, f'tls-{name}', str(value))
    except redis.ResponseError:
        pytest.skip(f'{SERVER} knows no TLS')
    try:
        assert 'has a certificate that is not trusted: give the certificate authority' in fault_of(
            f'rediss://127.0.0.1:{port}')
        assert 'give one of this client by ?ssl_certfile=FILE' in fault_of(
            f'rediss://127.0.0.1:{port}?ssl_ca_certs={tmp_path}/crt', same=False)
        said = fault_of(f'redis://127.0.0.1:{port}')
        assert 'closes the connection' in said and 'rediss:// if it expects TLS' in said
    finally:
        config(server, 'tls-port', 0)


@pytest.mark.long
def test_cluster_that_is_down_says_so_and_comes_back(journal):
    cluster = TcpServer(cluster=True)
    try:
        write(journal, 0, 3)
        syncing = Syncing(journal, cluster.tcp_url)
        syncing.until_synced()
        cluster.client.execute_command('CLUSTER', 'DELSLOTSRANGE', 0, 16383)
        write(journal, 3, 1)
        syncing.until(lambda one: 'belongs to a cluster that is down' in one.last_error
                      and not one.refused)
        cluster.client.execute_command('CLUSTER', 'ADDSLOTSRANGE', 0, 16383)
        syncing.until_synced()
        syncing.loop.stop()
    finally:
        cluster.close()


@pytest.mark.parametrize(('reply', 'said'), [
    ('MOVED 3999 127.0.0.1:6381', 'is one node of a cluster: use a URL that begins with '
                                  'redis+cluster://'),
    ("CROSSSLOT Keys in request don't hash to the same slot", 'is one node of a cluster'),
    ("ERR unknown command 'XAUTOCLAIM', with args beginning with: ", 'use redis-server 7.0'),
    ('MISCONF Errors writing to the AOF file: No space left on device', 'make room on its disk'),
    ('WRONGTYPE key sg:trace:a is of type list, expected hash',
     'has key sg:trace:a with another type'),
    ('something new', 'the server reports an error: something new'),
])
def test_reply_that_no_test_can_provoke(reply, said):
    told = unavailable(redis.ResponseError(reply))
    assert said in str(told) and reply.strip() in str(told)
    assert not isinstance(told, LedgerForbidden)


def test_name_of_a_server_never_has_a_password():
    for url, name in (('redis://a', 'a:6379'), ('rediss://me:secret@a:1/0', 'a:1'),
                      ('redis://[::1]', '[::1]:6379'), ('unix:///tmp/a%20b?db=1', '/tmp/a b'),
                      ('redis+sentinel://a:1,b:2/main', "a:1,b:2 (service 'main')"),
                      ('redis+cluster://a:1,b:2', 'a:1,b:2')):
        assert server_name(url) == name


# Keys that something else has written to

STREAM, TRACE = 'flows', 'trace-1'
SESSION = ('al:session:{s}:tasks', 'al:session:{s}:lease:t', 'al:session:{s}:history')
OPERATION = (f'sg:trace:{TRACE}', f'sg:checkpoint:{TRACE}', f'sg:result:{TRACE}')


@pytest.mark.parametrize('key', [*SESSION, *OPERATION, 'sg:operations', 'sg:operations:active',
                                 STREAM, '{flows}:dead'])
def test_key_of_another_type_is_named(redis_server, key):
    """The keys of a robot are in test_changed_keys.py."""
    async def use(ledger):
        if key in SESSION:
            tasks = SmartLedger('s', RedisTasks(redis_server.url))
            await asyncio.to_thread(tasks.claim, 't')
        elif key in OPERATION:
            await ledger.operations.receive(TRACE, {})
            await ledger.operations.move(TRACE, OperationState.ERRORED, saved={'a': 1})
        elif key.startswith('sg:'):
            await ledger.operations.find(active_only=key.endswith('active'))
        else:
            requests = ledger.requests(STREAM, 'robots', 'r1', 5.0)
            await requests.join()
            await ledger.submit(STREAM, {'a': 'b'})
            (message_id, _), = await requests.take()
            await requests.bury(message_id, {'error': 'failed'})

    def said():
        async def work():
            ledger = open_ledger(redis_server.url)
            try:
                await use(ledger)
            finally:
                await ledger.close()
        try:
            asyncio.run(work())
        except LedgerError as error:
            return str(error)
        return ''

    client = redis_server.client
    client.rpush(key, 'x')
    told = said()
    assert f'has key {key} with another type than expected' in told
    assert client.lrange(key, 0, -1) == ['x']
    client.delete(key)
    assert said() == ''
