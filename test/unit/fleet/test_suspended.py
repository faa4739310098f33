# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A robot that was suspended for longer than its claim begins no motion when it wakes up.

A computer can't be suspended here: CLOCK_BOOTTIME is set ahead of time.monotonic(), as a
suspension does, while the server goes on.
"""

from __future__ import annotations

import asyncio
import time

from action_lifecycle.fleet import MemoryTasks, SmartLedger
from action_lifecycle.fleet.consumer import OperationConsumer, submit
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.operation import Lost
from action_lifecycle.journal import Entry
from action_lifecycle.journal.clock import boot_time
import pytest

from .ledgers import held_claims, with_ledger
from .test_consumer import Work
from .test_sync import journal

__all__ = ['journal']  # a fixture

CLAIM = 60.0  # s


@pytest.fixture
def suspend(monkeypatch):
    """Return a function that lets the computer have been suspended for some time (s)."""
    slept = [0.0]
    clock_gettime = time.clock_gettime
    monkeypatch.setattr(time, 'clock_gettime', lambda clock: clock_gettime(clock) + (
        slept[0] if clock == time.CLOCK_BOOTTIME else 0.0))

    def sleep(seconds):
        slept[0] += seconds
    return sleep


@pytest.mark.parametrize(('slept', 'moves'), [(0.0, True), (CLAIM / 3, True), (CLAIM, False)])
@pytest.mark.parametrize('noted', [False, True])
def test_request_starts_no_motion_after_its_claim(backend, suspend, slept, moves, noted):
    class Sleeper(Work):
        ended = ''

        async def perform(self, operation, gathered):
            if noted:
                await operation.start_motion()
            suspend(slept)
            try:
                await operation.start_motion()
            except Lost as error:
                self.ended = str(error)
                raise
            self.ended = 'moves'

    async def work(ledger):
        sleeper = Sleeper()
        await submit(ledger, 'requests', {'text': 'x'})
        running = asyncio.ensure_future(OperationConsumer(
            ledger, 'requests', 'robots', sleeper, name='a', min_idle=CLAIM).run())
        deadline = time.monotonic() + 20
        while not sleeper.ended:
            assert time.monotonic() < deadline and not running.done()
            await asyncio.sleep(0.01)
        await end(running)
        return sleeper.ended
    ended = with_ledger(backend, work)
    assert (ended == 'moves') is moves and (moves or 'the claim has lapsed' in ended)


def test_claim_of_a_session_that_was_seen_before_has_lapsed(journal, redis_server, suspend):
    journal.append(Entry('flow', 'f', event='start', to_state='RUN',
                         data={'origin': {'lease': '42_100/t'}}))

    suspend(1e6)  # once before, so that the two clocks differ

    async def work(ledger):
        tasks = ledger.tasks()
        assert SmartLedger('42_100', tasks, claimant='robot7', lease=CLAIM).claim('t')
        tasks.close()
        seen, = await held_claims(ledger, journal)  # the server is not reached any more
        assert seen.until > boot_time()
        suspend(CLAIM)
        assert seen.until < boot_time()
    with_ledger(redis_server, work, robot='robot7')


def test_claim_in_memory_lapses(suspend):
    tasks = MemoryTasks()
    first, second = (SmartLedger('42_100', tasks, lease=CLAIM) for _ in range(2))
    assert first.claim('t') and not second.claim('t')
    suspend(CLAIM)
    assert second.claim('t') and not first.heartbeat('t')
