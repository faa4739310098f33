# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A replica takes the place of a killed master: no row is lost, and no lost claim is used.

Replication is asynchronous, so the replica may lack what its master had confirmed last. The tests
cut the link between the two to be sure that it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from action_lifecycle.fleet import (
    LedgerUnavailable,
    open_ledger,
    RedisLedger,
    RedisTasks,
    SmartLedger,
)
from action_lifecycle.fleet.consumer import OperationConsumer, submit
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.operation import Lost, Operation, OperationRequest
from action_lifecycle.fleet.operation_states import OperationState as State
from action_lifecycle.journal.clock import boot_time
from action_lifecycle.lifecycle.states import LedgerTaskStatus
import pytest

from .ledgers import route, with_ledger
from .redis_groups import ClusterGroup, SentinelGroup, until
from .test_sync import assert_same, journal, Syncing, write

__all__ = ['journal']  # a fixture

SESSION = '42_100'
FAST = 0.3  # time (s) after which a server is down


class Failing:
    """Servers of which one that has the data of a robot can be killed."""

    def __init__(self, group):
        self.group = group
        self.is_cluster = isinstance(group, ClusterGroup)
        self.url = group.url.partition('?')[0]
        self.unacknowledged = f'{self.url}?replicas=0'

    def master_of(self, key='al:{robot}:meta'):
        return self.group.holder_of(key) if self.is_cluster else self.group.master

    def until_promoted(self, old):
        if not self.is_cluster:
            return self.group.until_promoted(old)
        replica, = self.group.replicas_of(old)
        until(lambda: replica.client.info('replication')['role'] == 'master')
        until(lambda: 'cluster_state:ok\r' in replica.client.execute_command('CLUSTER', 'INFO'))
        return replica


@pytest.fixture(params=[
    'sentinel', pytest.param('sentinels', marks=pytest.mark.long),
    pytest.param('cluster', marks=pytest.mark.long)])
def failing(request):
    group = ClusterGroup(replicas=1, timeout=1.0) if request.param == 'cluster' else SentinelGroup(
        sentinels=3 if request.param == 'sentinels' else 1, down_after=FAST)
    yield Failing(group)
    group.close()


@pytest.fixture
def pair():
    """Give a master, a replica and a Sentinel."""
    group = SentinelGroup(down_after=FAST)
    yield Failing(group)
    group.close()


@pytest.fixture
def syncing(journal, failing):
    started = Syncing(journal, failing.url)
    yield started
    started.loop.stop()


def assert_same_soon(journal, failing):
    """Compare journal and ledger; a reader may meet the end of the failover."""
    def compared():
        with contextlib.suppress(LedgerUnavailable):
            assert_same(journal, failing)
            return True
    until(compared)


# Rows


def test_sync_goes_on_at_the_new_master(journal, failing, syncing):
    write(journal, 0, 2000)
    old = failing.master_of()
    syncing.until(lambda one: 0 < one.ledger_seq < one.journal_seq)
    old.kill()  # in the middle of the rows that are sent
    write(journal, 2000, 100)
    assert failing.until_promoted(old) is not old
    syncing.until_synced()
    assert_same_soon(journal, failing)


def test_rows_that_the_new_master_lacks_are_brought_again(journal, failing, syncing):
    write(journal, 0, 100)
    syncing.until_synced()
    old = failing.master_of()
    SentinelGroup.until_replicated(old, 1)
    kept = int(old.client.hget('al:{robot}:meta', 'seq'))
    old.cut_off_replicas()
    write(journal, 100, 100)
    assert syncing.until_synced().ledger_seq > kept
    old.kill()
    failing.until_promoted(old)
    syncing.until(lambda one: one.refilled == 1 and one.connected and not one.backlog)
    assert_same_soon(journal, failing)
    write(journal, 200, 10, steps=3)
    syncing.until_synced()
    assert_same_soon(journal, failing)


# Claims on tasks


def test_claim_that_a_failover_has_lost_is_fenced(failing):
    tasks = RedisTasks(failing.unacknowledged)
    first, second = (SmartLedger(SESSION, tasks, claimant=name) for name in ('r1', 'r2'))
    old = failing.master_of(f'al:session:{{{SESSION}}}:tasks')
    assert first.update_task_status('a', LedgerTaskStatus.PENDING)
    old.cut_off_replicas()
    assert first.claim('a')
    lost = first.token('a')
    assert not second.claim('a')
    old.kill()
    failing.until_promoted(old)

    def claimed():
        with contextlib.suppress(LedgerUnavailable):
            return second.claim('a')
    until(claimed)
    assert second.token('a') > lost
    assert not first.heartbeat('a')
    assert not first.update_task_status('a', LedgerTaskStatus.COMPLETED)
    assert not first.release('a')
    assert not first.claim('a')
    later = second.token('a')
    assert second.update_task_status('a', LedgerTaskStatus.COMPLETED)
    assert first.claim('a') and first.token('a') > later
    tasks.close()


def test_token_grows_although_the_clock_of_the_server_was_set_back(redis_server):
    tasks = RedisTasks(redis_server.url)
    ledger = SmartLedger(SESSION, tasks)
    later = round(time.time() * 1000) + 3_600_000
    redis_server.client.hset(f'al:session:{{{SESSION}}}:lease:a', 'token', later)
    assert ledger.claim('a') and ledger.token('a') == later + 1
    assert ledger.release('a') and ledger.claim('a') and ledger.token('a') == later + 2
    assert ledger.claim('b') and abs(ledger.token('b') - later + 3_600_000) < 60_000
    tasks.close()


def test_holder_of_a_lost_claim_can_not_write_when_its_successor_is_done(pair):
    tasks = RedisTasks(pair.unacknowledged)
    first, second = (SmartLedger(SESSION, tasks, claimant=name) for name in ('r1', 'r2'))
    old = pair.master_of()
    old.cut_off_replicas()
    assert first.claim('a')
    old.kill()
    pair.until_promoted(old)

    def done():
        with contextlib.suppress(LedgerUnavailable):
            return second.update_task_status('a', LedgerTaskStatus.IN_PROGRESS) \
                and second.update_task_status('a', LedgerTaskStatus.COMPLETED)
    until(done)
    assert not first.update_task_status('a', LedgerTaskStatus.FAILED)
    assert second.tasks['a'].status is LedgerTaskStatus.COMPLETED
    tasks.close()


def test_claim_that_a_replica_has_acknowledged_survives(failing):
    tasks = RedisTasks(failing.url)
    first, second = (SmartLedger(SESSION, tasks, claimant=name) for name in ('r1', 'r2'))
    old = failing.master_of(f'al:session:{{{SESSION}}}:tasks')
    assert first.claim('a')
    token = first.token('a')
    old.kill()
    failing.until_promoted(old)

    def known():
        with contextlib.suppress(LedgerUnavailable):
            return first.token('a')
    assert until(known) == token
    assert first.update_task_status('a', LedgerTaskStatus.COMPLETED)
    tasks.close()


@pytest.mark.long
def test_claim_is_not_given_if_no_replica_acknowledges_it(failing):
    tasks = RedisTasks(failing.url)
    first, second = (SmartLedger(SESSION, tasks, claimant=name) for name in ('r1', 'r2'))
    assert first.claim('a') and first.heartbeat('a')
    old = failing.master_of(f'al:session:{{{SESSION}}}:tasks')
    old.cut_off_replicas()
    for call in lambda: second.claim('b'), lambda: first.heartbeat('a'):
        with pytest.raises(LedgerUnavailable, match='0 replicas .* 1 must acknowledge claims'):
            call()

    async def work(ledger):
        with pytest.raises(LedgerUnavailable, match='1 must acknowledge claims'):
            await ledger.lease(SESSION, 'a')
    with_ledger(failing, work)
    tasks.close()


def test_replica_that_stands_still_has_acknowledged_nothing(pair, monkeypatch):
    monkeypatch.setitem(RedisLedger.__init__.__kwdefaults__, 'timeout', 0.4)
    replica, = pair.group.replicas
    tasks = RedisTasks(pair.url)
    assert SmartLedger(SESSION, tasks).claim('a')
    tasks.close()

    async def work():
        writer, reader = (open_ledger(pair.url) for _ in range(2))
        await writer.operations.receive('t', {})
        for state in route(State.CLAIMED):
            assert await writer.operations.move('t', state, {'fence': 'a'})
        for call in (lambda: reader.operations.confirm('t', State.CLAIMED, 'a'),
                     lambda: reader.lease(SESSION, 'a')):
            assert await become_answered(call)
        replica.pause()
        assert await writer.operations.move('t', State.PRE_INFERENCE_GATHER, fence='a')
        for call in (lambda: reader.operations.confirm('t', State.PRE_INFERENCE_GATHER, 'a'),
                     lambda: reader.lease(SESSION, 'a')):
            with pytest.raises(LedgerUnavailable, match='1 must acknowledge claims'):
                await call()
            replica.resume()
            assert await become_answered(call)
            replica.pause()
        for ledger in writer, reader:
            await ledger.close()
    asyncio.run(work())


async def become_answered(call, timeout=60.0):
    """Return what a call returns as soon as the replicas acknowledge it."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return await call()
        except LedgerUnavailable as error:
            assert time.monotonic() < deadline, error
            await asyncio.sleep(0.02)


# Requests


class Mover:
    """Work with one motion; it ends when `may_end` is set."""

    def __init__(self):
        self.moved, self.asked = [], []
        self.may_end = asyncio.Event()

    def ready(self):
        return True

    def can_resume(self, request):
        return False

    async def take_over(self, request):
        self.asked.append(request.trace_id)
        await asyncio.Event().wait()

    async def gather(self, request):
        return {}

    async def perform(self, operation, gathered):
        await operation.start_motion()
        self.moved.append(operation.request.trace_id)
        await self.may_end.wait()


async def become(wanted, timeout=20.0):
    deadline = time.monotonic() + timeout
    while not wanted():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def test_request_is_neither_taken_nor_renewed_without_a_replica(pair, monkeypatch):
    monkeypatch.setitem(RedisLedger.__init__.__kwdefaults__, 'timeout', 0.4)

    async def work(ledger):
        requests = ledger.requests('requests', 'robots', 'a', 60.0)
        await requests.join()
        both = [await ledger.submit('requests', {'text': text}) for text in 'xy']
        (held, _), = await become_answered(requests.take)
        assert await become_answered(lambda: requests.renew(held))
        master = pair.master_of()
        master.cut_off_replicas()
        for call in requests.take, lambda: requests.renew(held):
            with pytest.raises(LedgerUnavailable, match='0 replicas .* 1 must acknowledge claims'):
                await call()
        assert master.client.xpending('requests', 'robots')['pending'] == 1
        master.admit_replicas()
        (other, _), = await become_answered(requests.take)
        assert [held, other] == both and await become_answered(lambda: requests.renew(held))
    with_ledger(pair, work)


@pytest.mark.long
def test_request_that_a_failover_has_taken_away_is_fenced(pair):
    async def work():
        first, second = (open_ledger(pair.unacknowledged) for _ in range(2))
        trace = await submit(first, 'requests', {})
        requests = first.requests('requests', 'robots', 'a', 60.0)
        await requests.join()
        assert await first.redis.execute_command('WAIT', 1, 10_000)  # the request is not lost
        old = pair.master_of()
        old.cut_off_replicas()
        (message_id, fields), = await requests.take()
        operation = Operation(
            first.operations, OperationRequest(message_id, trace, fields, 1), 'a:1',
            held_until=boot_time() + 60)
        await first.operations.receive(trace, {})
        for state in route(State.CLAIMED):
            await first.operations.move(trace, state, {'fence': 'a:1'})
        await operation.move(State.PRE_INFERENCE_GATHER)
        old.kill()
        pair.until_promoted(old)
        mover = Mover()
        mover.may_end.set()
        other = asyncio.ensure_future(OperationConsumer(
            second, 'requests', 'robots', mover, name='b', min_idle=60.0).run())
        await become(lambda: mover.moved == [trace])
        deadline = time.monotonic() + 10
        while (await second.operations.trace(trace)).get('state') != 'COMPLETED':
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        assert not await requests.renew(message_id)
        for change in operation.start_motion, lambda: operation.move(State.INFERRING):
            with pytest.raises(Lost):
                await change()
        assert (await second.operations.trace(trace))['worker'] == 'b'
        await end(other)
        await first.close()
        await second.close()
    asyncio.run(work())


def test_motion_does_not_start_before_a_replica_knows_of_it(pair, monkeypatch):
    # A WAIT of 0.2 s, so that it is not the end of the claim that keeps the motion from starting.
    monkeypatch.setitem(RedisLedger.__init__.__kwdefaults__, 'timeout', 0.4)

    async def work(ledger):
        trace = await submit(ledger, 'requests', {})
        mover = Mover()
        ready = asyncio.Event()

        async def gather(request):
            await asyncio.to_thread(pair.master_of().cut_off_replicas)
            ready.set()
            return {}
        mover.gather = gather
        consumer = asyncio.ensure_future(OperationConsumer(
            ledger, 'requests', 'robots', mover, name='a', min_idle=2.0).run())
        await ready.wait()
        await asyncio.sleep(2.5)  # longer than the claim
        assert mover.moved == []
        found = await ledger.operations.trace(trace)
        assert (found['state'], found['moved']) == ('TOOL_EXECUTING', '1')
        await end(consumer)
    with_ledger(pair, work)


@pytest.mark.long
def test_motion_that_was_begun_is_not_repeated_after_a_failover():
    group = SentinelGroup(replicas=2, sentinels=3, down_after=FAST)
    pair = Failing(group)

    async def work():
        first, second = (open_ledger(pair.url) for _ in range(2))
        trace = await submit(first, 'requests', {})
        lost, other = Mover(), Mover()
        consumer = asyncio.ensure_future(OperationConsumer(
            first, 'requests', 'robots', lost, name='a', min_idle=2.0).run())
        await become(lambda: lost.moved)
        old = pair.master_of()
        old.kill()
        await end(consumer)
        pair.until_promoted(old)
        consumer = asyncio.ensure_future(OperationConsumer(
            second, 'requests', 'robots', other, name='b', min_idle=2.0).run())
        await become(lambda: other.asked == [trace], timeout=40.0)
        assert other.moved == []
        await end(consumer)
        await first.close()
        await second.close()
    try:
        asyncio.run(work())
    finally:
        group.close()
