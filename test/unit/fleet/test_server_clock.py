# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A server whose clock is an hour off is told, and its leases and ages are right."""

from __future__ import annotations

import asyncio
import time

from action_lifecycle.fleet import open_ledger, SmartLedger
from action_lifecycle.fleet.backends.redis.tasks import RedisTasks
import pytest

from .server_clock import build_clock, with_clock
from .tcp_server import quick, TcpServer
from .test_server_faults import assert_same_as_user, STREAM
from .test_sync import journal, Syncing, write

__all__ = ['journal', 'quick']  # fixtures


@pytest.fixture(scope='module')
def clock_library(tmp_path_factory):
    return build_clock(tmp_path_factory.mktemp('clock'))


@pytest.mark.parametrize('offset', [-3600, 3600])
def test_server_whose_clock_is_an_hour_off_is_told_and_serves(journal, clock_library, offset):
    server = TcpServer(prefix=with_clock(clock_library, offset))
    try:
        assert server.client.time()[0] - time.time() == pytest.approx(offset, abs=5)
        write(journal, 0, 5)
        syncing = Syncing(journal, server.tcp_url)
        status = syncing.until(lambda one: one.connected and one.last_error)
        assert ("the clock of the ledger's server is 60 min "
                f"{'ahead of' if offset > 0 else 'behind'} this robot's") in status.last_error
        syncing.until_synced()
        assert_same_as_user(journal, server)
        assert server.client.xlen('al:{robot}:events') == journal.last_seq()  # nothing is trimmed
        syncing.loop.stop()

        tasks = RedisTasks(server.tcp_url)
        ours = SmartLedger('s', tasks, claimant='robot', lease=1.0)
        assert ours.claim('t') and not SmartLedger('s', tasks, claimant='other').claim('t')
        found, left = tasks.lease('s', 't')
        assert found.claimant == 'robot' and 0 < left <= 1.0
        deadline = time.monotonic() + 10
        while not SmartLedger('s', tasks, claimant='other').claim('t'):
            assert time.monotonic() < deadline  # it lapses in time
            time.sleep(0.05)
        tasks.close()

        async def age():
            ledger = open_ledger(server.tcp_url)
            requests = ledger.requests(STREAM, 'robots', 'r1', 5.0)
            await requests.join()
            message_id = await ledger.submit(STREAM, {'a': 'b'})
            found = await requests.age(message_id)
            await ledger.close()
            return found
        assert 0 <= asyncio.run(age()) < 5
    finally:
        server.close()
