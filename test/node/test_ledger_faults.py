# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A fault of the ledger is in the log once, in the diagnostics and in `~/sync`, and it ends."""

from __future__ import annotations

from action_lifecycle.fleet import RedisReader
from action_lifecycle.fleet.backends.redis.connection import PASSWORD, USERNAME
from action_lifecycle.journal import Journal
from action_lifecycle_msgs.msg import LedgerSync
from diagnostic_msgs.msg import DiagnosticArray
import pytest
from unit.fleet.server_clock import build_clock, with_clock
from unit.fleet.tcp_server import quick, TcpServer
from unit.fleet.test_sync import apply

from .test_ledger_sync import flow, journal, Rig, start

__all__ = ['journal', 'quick', 'start']  # fixtures
SECRET = 'very-secret'


@pytest.fixture
def server():
    started = TcpServer()
    yield started
    started.close()


def until_said(rig: Rig, state: int, level: bytes, said: str) -> str:
    """Wait until a fault is everywhere; returns the sentence, which is in the log once."""
    diagnostics = {}
    subscription = rig.other.create_subscription(
        DiagnosticArray, '/diagnostics', lambda message: diagnostics.update({
            status.name: (status.level, status.message) for status in message.status}), 10)
    rig.until(lambda: rig.told.state == state and said in rig.told.last_error)
    sentence = rig.told.last_error
    rig.until(lambda: diagnostics.get('ledger: sync') == (level, sentence))
    rig.until(lambda: any(sentence in text for _, text in rig.logged))
    rig.other.destroy_subscription(subscription)
    assert SECRET not in sentence
    assert all(SECRET not in text for _, text in rig.logged)
    return sentence


def attempts(rig, monkeypatch):
    """Return a list that grows with each failed attempt to sync."""
    seen = []
    told = rig.node._synced
    monkeypatch.setattr(rig.node, '_synced', lambda status: (seen.append(status), told(status)))
    return seen


def until_mended(rig, journal, server):
    rig.until(lambda: rig.told.state == LedgerSync.CONNECTED and not rig.told.last_error
              and rig.told.ledger_seq == journal.last_seq())
    rig.until(lambda: rig.levels.get('ledger: sync') == b'\x00')
    reader = RedisReader(server.tcp_url)
    assert list(reader.rows()) == list(journal.rows())
    reader.close()


def test_wrong_password_then_a_changed_key_then_a_forbidden_command(
        start, journal, server, monkeypatch):
    client = server.client
    client.execute_command('ACL', 'SETUSER', 'r7', 'on', '>other', '~*', '&*', '+@all')
    monkeypatch.setenv(USERNAME, 'r7')
    monkeypatch.setenv(PASSWORD, SECRET)
    flow(journal)
    rig = start(server.tcp_url)
    seen = attempts(rig, monkeypatch)
    assert rig.node.start()

    said = until_said(rig, LedgerSync.DISCONNECTED, b'\x01',
                      f"the server at 127.0.0.1:{server.port} does not accept user 'r7'")
    before = len(seen)
    rig.until(lambda: len(seen) > before + 5)
    assert sum(said in text for _, text in rig.logged if 'the robot goes on' in text) == 1
    client.execute_command('ACL', 'SETUSER', 'r7', f'>{SECRET}')
    until_mended(rig, journal, server)

    opened = client.zrange('al:{robot}:open', 0, -1, withscores=True)
    client.delete('al:{robot}:open')
    client.set('al:{robot}:open', 'x')
    said = until_said(rig, LedgerSync.REFUSED, b'\x02', 'key al:{robot}:open is of type string')
    before = len(seen)
    rig.until(lambda: len(seen) > before + 5)
    assert sum(said in text for _, text in rig.logged) == 1
    client.delete('al:{robot}:open')
    client.zadd('al:{robot}:open', dict(opened))
    until_mended(rig, journal, server)

    client.execute_command('ACL', 'SETUSER', 'r7', '-evalsha')
    until_said(rig, LedgerSync.REFUSED, b'\x02', "does not permit user 'r7' a command")
    client.execute_command('ACL', 'SETUSER', 'r7', '+evalsha')
    until_mended(rig, journal, server)


def test_second_robot_of_a_name_is_told_whose_the_ledger_is(journal, server, tmp_path):
    flow(journal)
    apply(server, list(journal.rows()), journal.path)
    with Journal(tmp_path / 'second') as other:
        flow(other)
        second = Rig(other.path, server.tcp_url)
        try:
            assert second.node.start()
            said = until_said(second, LedgerSync.REFUSED, b'\x02', 'it holds another journal')
            assert f'journal {journal.path}, boot id ' in said
            flow(other)
            second.until(lambda: second.told.journal_seq == 2)
            assert second.told.last_error == said
            assert RedisReader(server.tcp_url).last_seq() == 1
        finally:
            second.close()


def test_clock_that_is_an_hour_off_is_a_warning(start, journal, tmp_path):
    server = TcpServer(prefix=with_clock(build_clock(tmp_path), -3600))
    try:
        flow(journal)
        rig = start(server.tcp_url)
        assert rig.node.start()
        said = until_said(rig, LedgerSync.CONNECTED, b'\x01', '60 min behind this robot')
        assert rig.told.ledger_seq == 1
        rig.until(lambda: rig.node.status.connected)
        assert sum(said in text for _, text in rig.logged) == 1
    finally:
        server.close()
