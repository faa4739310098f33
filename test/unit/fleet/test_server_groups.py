# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sentinels and clusters: their logins, their TLS, and what is said if they can't be used."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess

from action_lifecycle.fleet import (
    LedgerError,
    LedgerUnavailable,
    open_ledger,
    RedisTasks,
    SmartLedger,
)
from action_lifecycle.fleet.backends.redis.connection import (
    PASSWORD,
    SENTINEL_PASSWORD,
    SENTINEL_PASSWORD_FILE,
    SENTINEL_USERNAME,
    USERNAME,
)
import pytest
import redis

from .redis_groups import ClusterGroup, Group, LOCALHOST, SentinelGroup, SERVICE, until
from .redis_server import free_port, SERVER
from .test_sync import journal, write

__all__ = ['journal']  # a fixture

WATCHER, ROBOT = 'watcher', 'robot'
SECRET, WRONG = 'right-of-sentinel', 'wrong-of-sentinel'
SERVER_SECRET = 'right-of-server'


def cursor(url):
    """Return the row of the ledger, as the ledger and the blocking reader know it."""
    async def work(ledger):
        return (await ledger.cursor()).seq
    found = asyncio.run(_closing(url, work))
    reader = open_ledger(url).reader()
    try:
        assert reader.last_seq() == found
    finally:
        reader.close()
    return found


async def _closing(url, work, robot='robot'):
    ledger = open_ledger(url, robot)
    try:
        return await work(ledger)
    finally:
        await ledger.close()


def sentences(url):
    """Return what the ledger and the blocking reader say about a server that can't be used."""
    async def ask(ledger):
        await ledger.cursor()
    with pytest.raises(LedgerUnavailable) as told:
        asyncio.run(_closing(url, ask))
    reader = open_ledger(url).reader()
    with pytest.raises(LedgerUnavailable) as blocking:
        reader.last_seq()
    reader.close()
    return [str(told.value), str(blocking.value)]


# Logins


@pytest.fixture(scope='module')
def guarded():
    """Give a master whose Sentinel requires a login, another one than the master."""
    group = SentinelGroup(replicas=0, down_after=30.0)
    sentinel, = group.sentinels
    sentinel.client.acl_setuser(WATCHER, enabled=True, passwords=[f'+{SECRET}'],
                                categories=['+@all'], channels=['*'])
    sentinel.client.execute_command('ACL', 'SETUSER', 'default', 'resetpass', f'>{SECRET}')
    group.first.client.execute_command(
        'ACL', 'SETUSER', ROBOT, 'on', f'>{SERVER_SECRET}', '~*', '&*', '+@all')
    yield group
    group.close()


@pytest.fixture
def robot_login(monkeypatch):
    monkeypatch.setenv(USERNAME, ROBOT)
    monkeypatch.setenv(PASSWORD, SERVER_SECRET)
    for name in SENTINEL_USERNAME, SENTINEL_PASSWORD, SENTINEL_PASSWORD_FILE:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize('user', [WATCHER, ''])
def test_sentinels_and_servers_have_logins_of_their_own(
        guarded, robot_login, monkeypatch, tmp_path, user):
    monkeypatch.setenv(SENTINEL_USERNAME, user)
    monkeypatch.setenv(SENTINEL_PASSWORD, SECRET)
    assert cursor(guarded.url) == 0
    monkeypatch.setenv(SENTINEL_PASSWORD, WRONG)
    (tmp_path / 'password').write_text(f'{SECRET}\n')
    monkeypatch.setenv(SENTINEL_PASSWORD_FILE, str(tmp_path / 'password'))
    assert cursor(guarded.url) == 0  # the file counts

    async def users(ledger):
        await ledger.cursor()
        sentinel, = ledger.redis.connection_pool.sentinel_manager.sentinels
        return [await one.execute_command('ACL', 'WHOAMI') for one in (ledger.redis, sentinel)]
    server, sentinel = asyncio.run(_closing(guarded.url, users))
    assert (server, sentinel) == (ROBOT, (user or 'default').encode())
    monkeypatch.setenv(SENTINEL_PASSWORD_FILE, '/nowhere')
    with pytest.raises(LedgerError, match=f'{SENTINEL_PASSWORD_FILE}: .*/nowhere'):
        cursor(guarded.url)


LOGINS = {'none': {}, 'password': {SENTINEL_USERNAME: WATCHER, SENTINEL_PASSWORD: WRONG},
          'user': {SENTINEL_USERNAME: 'nobody', SENTINEL_PASSWORD: SECRET},
          'login of the server': {SENTINEL_USERNAME: ROBOT, SENTINEL_PASSWORD: SERVER_SECRET}}


@pytest.mark.parametrize('login', LOGINS)
def test_login_that_a_sentinel_refuses_is_told_without_a_password(
        guarded, robot_login, monkeypatch, login):
    for name, value in LOGINS[login].items():
        monkeypatch.setenv(name, value)
    for said in sentences(guarded.url):
        assert f"{LOCALHOST}:{guarded.sentinels[0].port} (service '{SERVICE}')" in said
        assert not any(secret in said for secret in (SECRET, WRONG, SERVER_SECRET)), said
        assert '\n' not in said


@pytest.mark.parametrize('login', LOGINS)
def test_login_that_a_sentinel_refuses_names_the_variables_to_set(
        guarded, robot_login, monkeypatch, login):
    for name, value in LOGINS[login].items():
        monkeypatch.setenv(name, value)
    for said in sentences(guarded.url):
        assert SENTINEL_USERNAME in said and SENTINEL_PASSWORD_FILE in said, said
        assert USERNAME not in said and len(said) < 500, said


def test_login_that_the_master_refuses_names_the_variables_of_the_server(
        guarded, robot_login, monkeypatch):
    monkeypatch.setenv(SENTINEL_PASSWORD, SECRET)
    monkeypatch.setenv(PASSWORD, WRONG)
    for said in sentences(guarded.url):
        assert f"does not accept user '{ROBOT}' with the given password: correct " \
               f'{USERNAME}' in said
        assert SENTINEL_USERNAME not in said and WRONG not in said


# Addresses


def test_service_that_the_sentinels_do_not_know_is_named(guarded, robot_login, monkeypatch):
    monkeypatch.setenv(SENTINEL_PASSWORD, SECRET)
    for said in sentences(guarded.url.replace(f'/{SERVICE}', '/other')):
        assert ("(service 'other') has no master that the Sentinels know: start it, or correct "
                'the name of the service in the URL') in said


def test_sentinels_that_do_not_run_are_told_without_a_password(robot_login, monkeypatch):
    monkeypatch.setenv(SENTINEL_PASSWORD, SECRET)
    hosts = ','.join(f'{LOCALHOST}:{free_port()}' for _ in range(2))
    for said in sentences(f'redis+sentinel://{hosts}/{SERVICE}'):
        assert f"the Sentinel of {hosts} (service '{SERVICE}') refuses the connection" in said
        assert SECRET not in said and SERVER_SECRET not in said, said


def test_cluster_whose_nodes_do_not_run_is_named(robot_login):
    hosts = ','.join(f'{LOCALHOST}:{free_port()}' for _ in range(2))
    for said in sentences(f'redis+cluster://{hosts}'):
        assert f'the server at {hosts} ' in said and SERVER_SECRET not in said
        assert 'refuses the connection: start the server' in said \
            or "can't be reached by any of its nodes: start the nodes" in said, said


def test_one_node_of_a_cluster_is_told_from_a_server(cluster_group):
    holder = cluster_group.holder_of('al:{robot}:meta')
    for node in cluster_group.masters:
        url = f'redis://{LOCALHOST}:{node.port}'
        if node is holder:
            assert cursor(url) == 0
            continue
        for said in sentences(url):
            assert (f'the server at {LOCALHOST}:{node.port} is one node of a cluster: use a URL '
                    'that begins with redis+cluster://') in said, said


@pytest.mark.long
def test_cluster_whose_nodes_are_killed_is_told_and_comes_back(journal):
    group = Group('cluster-enabled yes\nappendonly yes\nappendfsync always')
    try:
        node = group.add(config=f'cluster-port {free_port()}')
        node.until_ready()
        node.client.execute_command('CLUSTER', 'ADDSLOTSRANGE', 0, 16383)
        until(lambda: 'cluster_state:ok' in node.client.execute_command('CLUSTER', 'INFO'))
        write(journal, 0, 3)
        rows = list(journal.rows())

        async def scenario(ledger):
            assert await ledger.apply(rows[:4]) == 4
            node.kill()
            with pytest.raises(LedgerUnavailable) as told:
                await ledger.cursor()
            assert f'the server at {LOCALHOST}:{node.port} ' in str(told.value)
            node.start()
            deadline = asyncio.get_running_loop().time() + 20
            while True:
                try:
                    assert (await ledger.cursor()).seq == 4
                    break
                except LedgerUnavailable as error:
                    assert asyncio.get_running_loop().time() < deadline, error
                    await asyncio.sleep(0.05)
            return await ledger.apply(rows)
        url = f'redis+cluster://{LOCALHOST}:{node.port}?replicas=0'
        assert asyncio.run(_closing(url, scenario)) == rows[-1].seq
    finally:
        group.close()


# TLS


@pytest.fixture(scope='module')
def tls(tmp_path_factory):
    """Return the file of a certificate, and the lines of a configuration with which it is used."""
    if shutil.which('openssl') is None:
        pytest.skip('openssl is not installed (Debian, Ubuntu: apt install openssl)')
    folder = tmp_path_factory.mktemp('tls')
    own = {name: value for name, value in os.environ.items() if name != 'LD_LIBRARY_PATH'}
    subprocess.run(
        ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj',
         '/CN=ledger', '-addext', f'subjectAltName=IP:{LOCALHOST}', '-keyout',
         str(folder / 'key'), '-out', str(folder / 'crt')],
        check=True, capture_output=True, env=own)
    lines = (f'tls-cert-file {folder}/crt\ntls-key-file {folder}/key\n'
             f'tls-ca-cert-file {folder}/crt\ntls-auth-clients no\ntls-replication yes\n')
    group = Group(tls=lines)
    try:
        server = group.add()
        until(lambda: server.process.poll() is not None or server.client.ping())
        if server.process.poll() is not None:
            pytest.skip(f'{SERVER} was built without TLS')
    finally:
        group.close()
    return folder / 'crt', lines


@pytest.fixture(scope='module')
def tls_sentinel(tls):
    """Give a master with a replica, and a Sentinel, that use TLS."""
    group = SentinelGroup(tls=tls[1], down_after=30.0)
    yield group
    group.close()


@pytest.fixture(scope='module')
def tls_cluster(tls):
    """Give a cluster of two masters with a replica each that use TLS."""
    group = ClusterGroup(masters=2, replicas=1, tls=tls[1])
    yield group
    group.close()


def use_by_tls(url, journal):
    """Bring rows of some robots and claim some tasks, which a replica acknowledges; read both."""
    write(journal, 0, 3)
    rows = list(journal.rows())

    async def bring(ledger):
        assert await ledger.apply(rows) == rows[-1].seq
        lease, _ = await ledger.lease(ledger.robot, 't')
        return lease.claimant
    for name in NAMES:
        tasks = RedisTasks(url)
        ledger = SmartLedger(name, tasks, claimant='robot7')
        assert ledger.claim('t') and ledger.heartbeat('t')
        tasks.close()
        assert asyncio.run(_closing(url, bring, name)) == 'robot7'
        reader = open_ledger(url, name).reader()
        assert list(reader.rows()) == rows
        reader.close()


NAMES = 'abcd'  # in a cluster of two masters, robots and sessions of these names are on both


def test_sentinels_and_their_servers_are_used_by_tls(tls_sentinel, tls, journal, patient):
    assert tls_sentinel.url.startswith('rediss+sentinel://')
    use_by_tls(f'{tls_sentinel.url}?ssl_ca_certs={tls[0]}', journal)


def test_certificate_of_a_sentinel_that_is_not_trusted_is_told(tls_sentinel):
    for said in sentences(tls_sentinel.url):
        assert 'has a certificate that is not trusted: give the certificate authority' in said


@pytest.mark.long
def test_nodes_of_a_cluster_are_used_by_tls(tls_cluster, tls, journal, patient):
    assert tls_cluster.url.startswith('rediss+cluster://')
    for key in 'al:{%s}:meta', 'al:session:{%s}:tasks':
        assert {tls_cluster.holder_of(key % name) for name in NAMES} == set(tls_cluster.masters)
    use_by_tls(f'{tls_cluster.url}?ssl_ca_certs={tls[0]}', journal)


@pytest.mark.long
def test_certificate_of_a_cluster_that_is_not_trusted_is_told(tls_cluster):
    expected = 'has a certificate that is not trusted: give the certificate authority'
    if redis.VERSION < (4, 4):  # does not say why it reaches no node
        expected = 'with rediss://, check the certificates'
    for said in sentences(tls_cluster.url):
        assert expected in said


# Parameters


@pytest.mark.parametrize('scheme', ['sentinel', 'cluster'])
def test_server_that_is_neither_sentinel_nor_cluster_is_told(scheme):
    group = Group()
    try:
        server = group.add()
        server.until_ready()
        for said in sentences(f'redis+{scheme}://{group.hosts([server])}/'
                              + SERVICE * (scheme == 'sentinel')):
            assert ('is not a Sentinel: use the host and port of one' if scheme == 'sentinel'
                    else 'is not a node of a cluster: use a URL that begins with') in said, said
    finally:
        group.close()


@pytest.mark.parametrize('group', ['sentinel', 'cluster'])
def test_timeouts_of_the_url_count(request, group):
    servers = request.getfixturevalue(f'{group}_group')
    mark = '&' if '?' in servers.url else '?'
    assert cursor(f'{servers.url}{mark}socket_timeout=7&socket_connect_timeout=8') == 0
