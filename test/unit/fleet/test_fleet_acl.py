# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The users of config/redis-acl.example can do in the fleet what the file says, and no more."""

from __future__ import annotations

import asyncio
from pathlib import Path

from action_lifecycle.fleet import LedgerUnavailable, open_ledger
from action_lifecycle.fleet.backends.redis.connection import PASSWORD, USERNAME
from action_lifecycle.fleet.robot_status import RobotReport
from action_lifecycle.graphs.packaged import config_file
import pytest

from .fleet_robots import failed_letter, STREAM


@pytest.fixture
def as_user(redis_server, monkeypatch):
    """Return a function that runs a coroutine with a ledger of a user of the example."""
    lines = Path(config_file('redis-acl.example')).read_text('utf-8').splitlines()
    users = {line.split()[1]: line.split()[2:] for line in lines if line.startswith('user ')}
    for name, rules in users.items():
        redis_server.client.execute_command('ACL', 'SETUSER', name, 'reset', *rules)

    def run(name, work):
        monkeypatch.setenv(USERNAME, name)
        monkeypatch.setenv(PASSWORD, next(
            rule[1:] for rule in users[name] if rule.startswith('>')))

        async def main():
            ledger = open_ledger(redis_server.url, 'robot7')
            try:
                return await work(ledger)
            finally:
                await ledger.close()
        return asyncio.run(main())
    yield run
    for name in users:
        redis_server.client.execute_command('ACL', 'DELUSER', name)


def test_robots_report_viewers_read_and_dispatchers_send_again(as_user, redis_server):
    as_user('robot7', lambda ledger: ledger.fleet.report(RobotReport('connected')))
    redis_server.client.xadd(STREAM, {'flow': 'x'})
    redis_server.client.xgroup_create(STREAM, 'robots', id='0')
    redis_server.client.xreadgroup('robots', 'robot7', {STREAM: '>'})
    failed = redis_server.client.xadd(STREAM, {'flow': 'x', 'trace_id': 't'})
    redis_server.client.xreadgroup('robots', 'robot7', {STREAM: '>'})
    redis_server.client.hset('sg:trace:t', mapping={
        'state': 'ERRORED', 'msg_id': failed, 'attempt': 1, 'error': 'no'})
    letter_id = failed_letter(redis_server.client)

    async def read(ledger):
        robot, = await ledger.fleet.robots()
        work = await ledger.fleet.work(STREAM, 'robots')
        letter, = await ledger.fleet.dead_letters(STREAM)
        assert (robot.robot, work.running, work.failed, letter.letter_id) == (
            'robot7', 1, 1, letter_id)
    for user in 'viewer', 'dispatcher':
        as_user(user, read)
    for user in 'viewer', 'robot7':
        with pytest.raises(LedgerUnavailable, match='does not permit'):
            as_user(user, lambda ledger: ledger.fleet.resend(STREAM, letter_id, 'ann'))
    assert redis_server.client.xlen(f'{{{STREAM}}}:dead') == 1
    with pytest.raises(LedgerUnavailable, match='does not permit'):
        as_user('dispatcher', lambda ledger: ledger.fleet.report(RobotReport('connected')))
    sent = as_user('dispatcher', lambda ledger: ledger.fleet.resend(STREAM, letter_id, 'ann'))
    assert not sent.again
