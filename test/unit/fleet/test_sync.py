# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whatever happens to the server or to the one who syncs: the ledger becomes the journal."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
import random
import shutil
import socket
import subprocess
import sys
import time

from action_lifecycle.engine import load_graph
from action_lifecycle.fleet import LedgerError, LedgerRefused, RedisLedger, RedisReader
from action_lifecycle.fleet.backends.redis.connection import PASSWORD, PASSWORD_FILE, USERNAME
from action_lifecycle.fleet.ledger import check_url, UNKNOWN_JOURNAL
from action_lifecycle.fleet.loop_thread import LoopThread
from action_lifecycle.fleet.sync import Synchronizer
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.journal import Entry, Journal, SystemClock, verify_journal
from action_lifecycle.journal.projection import Projection
import pytest

from .redis_server import SERVER

PROCESS = Path(__file__).with_name('sync_process.py')
WALK = (('start', 'assigned', 'in_progress'),
        ('request_verification', 'in_progress', 'status_verification_requested'),
        ('verified', 'status_verification_requested', 'completed'),
        ('terminate', 'completed', 'terminated'))


def write(journal, first, count, steps=4):
    """Append the lives of `count` actions."""
    for number in range(first, first + count):
        for event, source, target in WALK[:steps]:
            data = {'outcome': 'succeeded'} if event == 'terminate' else {}
            journal.append(Entry('transition', 'flow', f'a{number}', 1, event, source, target,
                                 data=data, final=target == 'terminated'))
    journal.append(Entry('note', 'flow', event='beside', final=True))


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / 'journal') as opened:
        yield opened


class Syncing:
    """A synchronizer in a thread, and what it said last."""

    def __init__(self, journal, url, **options):
        self.statuses = []
        self.loop = LoopThread()
        self.journal = journal

        async def run():
            ledger = RedisLedger(url, timeout=0.3, journal=journal.path, **options)
            await Synchronizer(journal.path, ledger, self.statuses.append).run()
        self.running = self.loop.submit(run())

    def until(self, wanted, timeout=20.0):
        deadline = time.monotonic() + timeout
        while not (self.statuses and wanted(last := self.statuses[-1])):
            assert time.monotonic() < deadline, self.statuses[-3:]
            assert not self.running.done(), self.running.exception()
            time.sleep(0.01)
        return last

    def until_synced(self):
        last = self.journal.last_seq()
        return self.until(lambda one: one.connected and one.ledger_seq == last)


@pytest.fixture
def sync(journal, redis_server):
    started = []

    def start(**options):
        started.append(Syncing(journal, redis_server.url, **options))
        return started[-1]
    yield start
    for one in started:
        one.loop.stop()


def assert_same(journal, server):
    reader = RedisReader(server.url)
    try:
        assert list(reader.rows()) == list(journal.rows())
        assert all(row.intact() for row in reader.rows())
    finally:
        reader.close()


def apply(server, rows, journal=UNKNOWN_JOURNAL, **options):
    async def work():
        ledger = RedisLedger(server.url, journal=journal)
        try:
            return await ledger.apply(rows, **options)
        finally:
            await ledger.close()
    return asyncio.run(work())


def test_rows_arrive_unchanged_and_answers_are_the_same(journal, sync, redis_server):
    write(journal, 0, 300)
    write(journal, 300, 3, steps=2)
    status = sync().until_synced()
    assert (status.backlog, status.lag, status.last_error) == (0, 0.0, '')
    assert_same(journal, redis_server)
    graph = load_graph(config_file('graphs/action.yaml'))
    reader = RedisReader(redis_server.url)
    here, there = Projection(journal, graph), Projection(reader, graph)
    facts = [[(one.action_id, one.state, one.outcome, one.ledger_status) for one in each.find()]
             for each in (here, there)]
    assert facts[0] == facts[1] and len(facts[0]) == 303
    assert [one.action_id for one in there.find(open_only=True)] == ['a302', 'a301', 'a300']
    assert len(list(reader.rows(action_id='a5', limit=3))) == 3
    assert reader.last_seq() == journal.last_seq()
    assert redis_server.client.zcard('al:{robot}:open') == 3
    reader.close()


@pytest.mark.parametrize('hurt', ['kill', 'pause', 'readonly', 'memory', 'script'])
def test_server_that_fails_for_a_while_loses_nothing(journal, sync, redis_server, hurt):
    write(journal, 0, 20)
    syncing = sync()
    syncing.until_synced()
    {'kill': redis_server.kill, 'pause': redis_server.pause,
     'readonly': lambda: redis_server.client.replicaof('127.0.0.1', 1),
     'memory': lambda: redis_server.client.config_set('maxmemory', 1),
     'script': redis_server.client.script_flush}[hurt]()
    write(journal, 20, 300)
    if hurt != 'script':
        status = syncing.until(lambda one: not one.connected and one.backlog > 1000)
        assert status.last_error and status.lag > 0 and not status.refused
    redis_server.mend()
    syncing.until_synced()
    assert_same(journal, redis_server)


def test_ledger_restored_from_an_older_backup_is_noticed_and_filled(journal, sync, redis_server):
    write(journal, 0, 10)
    syncing = sync()
    syncing.until_synced()
    backup = redis_server.backup()
    write(journal, 10, 20, steps=3)
    syncing.until_synced()
    redis_server.restore(backup)
    syncing.until(lambda one: one.refilled == 1 and one.connected and not one.backlog)
    assert_same(journal, redis_server)
    redis_server.client.flushall()
    syncing.until(lambda one: one.refilled == 2 and one.connected and not one.backlog)
    assert_same(journal, redis_server)


def test_compacted_journal_fills_an_empty_and_an_older_ledger(journal, sync, redis_server):
    write(journal, 0, 3)
    write(journal, 3, 2, steps=2)
    apply(redis_server, list(journal.rows()))
    for event, source, target in WALK[2:]:
        journal.append(Entry('transition', 'flow', 'a4', 1, event, source, target,
                             final=target == 'terminated'))
    write(journal, 5, 5)
    assert journal.compact(synced_to=journal.last_seq()) > 0
    write(journal, 10, 5, steps=1)
    syncing = sync()
    syncing.until_synced()
    opened = redis_server.client.zrange('al:{robot}:open', 0, -1)
    assert sorted(opened) == sorted(
        f'al:{{robot}}:transition:flow:a{number}' for number in (3, 10, 11, 12, 13, 14))
    redis_server.client.flushall()
    syncing.until(lambda one: one.refilled == 1 and one.connected and not one.backlog)
    assert_same(journal, redis_server)
    assert redis_server.client.zcard('al:{robot}:open') == 6


def test_ledger_of_another_journal_is_refused(journal, sync, redis_server, tmp_path):
    with Journal(tmp_path / 'other') as other:
        write(other, 0, 3)
        apply(redis_server, list(other.rows()))
    syncing = sync()
    status = syncing.until(lambda one: one.refused)
    assert 'another journal' in status.last_error
    write(journal, 0, 3)
    syncing.until(lambda one: one.refused and one.journal_seq == journal.last_seq())
    assert {one.last_error for one in syncing.statuses if one.refused} == {status.last_error}


def test_journal_that_was_put_in_the_place_of_another_is_read(
        journal, sync, redis_server, tmp_path):
    write(journal, 0, 3)
    syncing = sync()
    syncing.until_synced()
    with Journal(tmp_path / 'other') as other:
        write(other, 0, 2)
    journal.close()  # its node was ended
    (tmp_path / 'other').rename(journal.path)
    syncing.until(lambda one: one.refused and 'another journal' in one.last_error)
    os.unlink(journal.path)
    syncing.until(lambda one: not one.connected and 'there is no journal' in one.last_error)


def test_retention_spares_what_is_new_and_what_is_open(journal, sync, redis_server):
    write(journal, 0, 5)
    write(journal, 5, 1, steps=1)
    write(journal, 6, 5)
    first = next(journal.rows(action_id='a5')).seq
    sync(retention=0.0).until_synced()
    deadline = time.monotonic() + 5
    while redis_server.client.xrange('al:{robot}:events', count=1)[0][0] != f'{first}-0':
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.long
def test_killed_synchronizers_leave_no_gap_and_no_duplicate(journal, redis_server):
    seed = random.randrange(2**32)
    print('seed', seed)
    chance = random.Random(seed)
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    for round_number in range(5):
        process = subprocess.Popen(
            [sys.executable, str(PROCESS), journal.path, redis_server.url], env=environment)
        deadline = time.monotonic() + 0.3 + chance.random() * 0.5
        number = 0
        while time.monotonic() < deadline:
            write(journal, 1000 * round_number + 5 * number, 5)
            number += 1
        process.kill()
        process.wait(10)
    syncing = Syncing(journal, redis_server.url)
    syncing.until_synced()
    syncing.loop.stop()
    assert_same(journal, redis_server)


def test_what_is_refused_leaves_no_key_and_no_event(journal, redis_server):
    write(journal, 0, 1, steps=1)
    journal.append(Entry('transition', 'flow', 'b', 1, 'start', 'assigned', 'in_progress'))
    journal.append(Entry('transition', 'flow', 'a0', 1, 'verified', 'pending', 'completed'))
    rows = list(journal.rows())
    with pytest.raises(LedgerRefused, match="row 4: the action is in state 'in_progress'"):
        apply(redis_server, rows)
    assert redis_server.client.keys('*') == []
    assert apply(redis_server, rows[:3]) == 3
    with pytest.raises(LedgerRefused, match='another journal'):
        apply(redis_server, [rows[3]._replace(prev_hash='x')])
    assert redis_server.client.xlen('al:{robot}:events') == 3


def test_url_with_a_secret_or_another_scheme_is_refused():
    for url in ('redis://:secret@host', 'redis://me@host', 'unix:///s?password=secret'):
        with pytest.raises(LedgerError, match=PASSWORD) as caught:
            check_url(url)
        assert 'secret' not in str(caught.value)
    with pytest.raises(LedgerError, match="did you mean 'redis'"):
        check_url('reddis://host')


def test_user_and_password_come_from_the_environment_or_a_file(
        monkeypatch, redis_server, tmp_path):
    redis_server.client.execute_command('ACL', 'SETUSER', 'robot', 'on', '>right', '~*', '+@all')
    monkeypatch.setenv(USERNAME, 'robot')
    monkeypatch.setenv(PASSWORD, 'wrong')
    with pytest.raises(LedgerError, match='ledger: '):
        RedisReader(redis_server.url).last_seq()
    (tmp_path / 'password').write_text('right\n')
    monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / 'password'))
    assert RedisReader(redis_server.url).last_seq() == 0
    monkeypatch.setenv(PASSWORD_FILE, '/nowhere')
    with pytest.raises(LedgerError, match='/nowhere'):
        RedisReader(redis_server.url)


def test_server_is_reached_by_tls_and_only_if_its_certificate_is_right(tmp_path):
    for program in ('openssl', SERVER):
        if shutil.which(program) is None:
            pytest.skip(f'{program} is not installed')
    key, certificate = tmp_path / 'key', tmp_path / 'certificate'
    own = {name: value for name, value in os.environ.items() if name != 'LD_LIBRARY_PATH'}
    subprocess.run(
        ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj',
         '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', str(key), '-out',
         str(certificate)], check=True, capture_output=True, env=own)
    with socket.socket() as free:
        free.bind(('localhost', 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [SERVER, '--port', '0', '--tls-port', str(port), '--tls-cert-file', str(certificate),
         '--tls-key-file', str(key), '--tls-auth-clients', 'no', '--save', ''],
        stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=own)
    try:
        while 'eady to accept connections' not in (line := process.stdout.readline()):
            if not line:
                pytest.skip(f'{SERVER} knows no TLS')
        url = f'rediss://localhost:{port}/0'
        reader = RedisReader(f'{url}?ssl_ca_certs={certificate}')
        assert reader.last_seq() == 0
        reader.close()
        with pytest.raises(LedgerError, match='(?i)certificate'):
            RedisReader(url).last_seq()
    finally:
        process.kill()
        process.communicate()


def test_wall_clock_that_is_set_back_an_hour_changes_nothing(sync, redis_server, tmp_path):
    class Clock(SystemClock):
        back = 0.0

        def wall_time(self):
            return super().wall_time() - self.back

    clock = Clock()
    with Journal(tmp_path / 'clock', clock=clock) as journal:
        write(journal, 0, 10)
        syncing = Syncing(journal, redis_server.url)
        try:
            syncing.until_synced()
            clock.back = 3600.0
            write(journal, 10, 10)
            row = list(journal.rows())[-1]
            assert 0 <= journal.elapsed_since(row) < 5
            assert 0 <= journal.elapsed_since(next(journal.rows())) < 60
            status = syncing.until_synced()
            assert status.lag == 0 and not status.last_error
        finally:
            syncing.loop.stop()
        assert_same(journal, redis_server)
        assert verify_journal(journal.path) == []
