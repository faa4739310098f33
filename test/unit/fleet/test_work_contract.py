# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What each backend of `fleet.Ledger` guarantees for operations, requests and claims."""

from __future__ import annotations

import asyncio
import json
import time

from action_lifecycle.fleet import MemoryTasks, open_ledger, RequestInvalid, SmartLedger
from action_lifecycle.fleet.checkpoints import CheckpointError
from action_lifecycle.fleet.consumer import OperationConsumer, submit
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.operation_states import OperationState as State
from action_lifecycle.fleet.operation_states import predecessors
from action_lifecycle.journal import Entry
import pytest

from .ledgers import held_claims, route, with_ledger
from .test_consumer import IDLE, Work
from .test_sync import journal

__all__ = ['journal']  # a fixture

OUTPUT = {'facts': [1, 2.5, None, 'ä'], 'nested': {'text': 'x' * 1000}}


# Operations


def test_operation_goes_where_the_table_says(backend):
    async def work(ledger):
        operations = ledger.operations
        assert await operations.trace('t') == {}
        assert not await operations.move('t', State.QUEUED, {'x': 1})
        assert await operations.receive('t', {'stream': 'requests', 'retry': False})
        assert not await operations.receive('t', {'stream': 'other'})
        found = await operations.trace('t')
        assert (found['state'], found['stream'], found['retry']) == ('RECEIVED', 'requests',
                                                                     'false')
        assert float(found['created_at']) <= time.time()
        for number, current in enumerate(State):
            for target in State:
                name = f'{number}{target.value}'
                await operations.receive(name, {'state': 'NONSENSE'})
                path = route(current)
                for state in path:
                    assert await operations.move(name, state, {'state': 'NONSENSE'})
                before = await operations.trace(name)
                assert before['state'] == current.value
                allowed = current in predecessors()[target]
                assert await operations.move(name, target, {'x': 1}) is allowed
                assert allowed or await operations.trace(name) == before
    with_ledger(backend, work)


async def received(ledger, state, metadata=None):
    await ledger.operations.receive('t', metadata or {})
    for one in route(state):
        assert await ledger.operations.move('t', one)


def test_one_of_two_writers_wins_and_a_lost_fence_changes_nothing(backend):
    async def work(ledger):
        operations = ledger.operations
        await received(ledger, State.QUEUED)
        assert sorted(await asyncio.gather(
            operations.move('t', State.CLAIMED, {'fence': 'a'}),
            operations.move('t', State.CLAIMED, {'fence': 'a'}))) == [False, True]
        before = await operations.trace('t')
        assert not await operations.move('t', State.PRE_INFERENCE_GATHER, {'x': 1}, fence='b',
                                         saved={'y': 1}, outcome='1')
        assert await operations.trace('t') == before
        assert await operations.checkpoint('t') is None and backend.result('t') is None
        assert await operations.move('t', State.PRE_INFERENCE_GATHER, fence='a')
    with_ledger(backend, work)


def test_checkpoint_comes_with_its_state_or_not_at_all(backend):
    async def work(ledger):
        operations = ledger.operations
        await received(ledger, State.CLAIMED)
        assert not await operations.move('t', State.INFERRING, saved=OUTPUT)
        assert await operations.checkpoint('t') is None
        await operations.move('t', State.PRE_INFERENCE_GATHER)
        for content in {'x': object()}, {'x': float('nan')}:
            with pytest.raises(CheckpointError):
                await operations.move('t', State.INFERRING, saved=content)
        assert await operations.move('t', State.INFERRING, saved=OUTPUT)
        await operations.renew('t')
        await operations.renew('missing')
        assert await operations.trace('missing') == {}
        found = await operations.checkpoint('t')
        assert found.content == OUTPUT and abs(time.time() - found.stamp) < 60
    with_ledger(backend, work)


def test_first_result_stays(backend):
    async def work(ledger):
        await received(ledger, State.INFERRING)
        for state, outcome in (State.POSTPROCESSING, '1'), (State.ERRORED, '2'):
            assert await ledger.operations.move('t', state, outcome=outcome)
    with_ledger(backend, work)
    assert backend.result('t') == '1'


# Requests


def test_request_is_held_by_one_worker_until_it_is_done(backend):
    async def work(ledger):
        first, second = (ledger.requests('requests', 'robots', name, 60.0) for name in 'ab')
        for number in 'xy':
            await ledger.submit('requests', {'text': number})
        await first.join()
        await first.join()
        (one, fields), = await first.take()
        (other, _), = await second.take()
        assert fields == {'text': 'x'} and one != other
        assert (await first.tries(one), await second.tries(one)) == (1, 0)
        assert await first.retake() == [(one, fields)]
        assert await first.tries(one) == 2 and await first.renew(one)
        assert not await second.renew(one)
        assert not await second.bury(one, {'error': 'no'}) and await first.tries(one) == 2
        assert 0 <= await first.age(one) < 60
        await first.done(one)
        assert not await first.bury(one, {'error': 'no'})
        assert await second.bury(other, {'error': 'no'})
        assert not await second.bury(other, {'error': 'no'})
        assert (await first.retake(), await second.retake()) == ([], [])
        assert await first.tries(one) == await second.tries(other) == 0
        another = ledger.requests('requests', 'others', 'a', 60.0)
        await another.join()  # each group has all requests
        assert [one, other] == [entry for _ in range(2) for entry, _ in await another.take()]
    with_ledger(backend, work)
    assert backend.dead_letters('requests') == [{'error': 'no'}]


def test_abandoned_request_is_taken_by_another_worker(backend):
    async def work(ledger):
        first, second = (ledger.requests('requests', 'robots', name, 0.05) for name in 'ab')
        await ledger.submit('requests', {'text': 'x'})
        await first.join()
        (one, fields), = await first.take()
        deadline = time.monotonic() + 10
        while not (taken := await second.take()):
            assert time.monotonic() < deadline
        assert taken == [(one, fields)]
        assert (await first.tries(one), await second.tries(one)) == (0, 2)
        assert not await first.renew(one) and await second.renew(one)
    with_ledger(backend, work)


def consume(backend, works, until, *texts, name=''):
    """Let workers work until something is so; return the trace ids."""
    async def work(ledger):
        traces = [await submit(ledger, 'requests', {'text': text}) for text in texts]
        workers = [asyncio.ensure_future(OperationConsumer(
            ledger, 'requests', 'robots', one, name=name, min_idle=IDLE).run()) for one in works]
        deadline = time.monotonic() + 20
        while not until(traces):
            assert time.monotonic() < deadline
            for worker in workers:
                assert not worker.done(), worker.exception()
            await asyncio.sleep(0.02)
        for trace_id in traces:
            deadline = time.monotonic() + 5
            while (await ledger.operations.trace(trace_id))['state'] not in (
                    'COMPLETED', 'ERRORED'):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
        await end(*workers)
        return traces
    return with_ledger(backend, work)


def test_each_request_is_done_once_and_its_result_kept(backend):
    works = [Work(), Work()]
    traces = consume(backend, works, lambda traces: all(map(backend.result, traces)), *'abcdef')
    assert sum(work.performed for work in works) == 6
    assert [json.loads(backend.result(trace)) for trace in traces] == [
        {'did': text} for text in 'abcdef']


def test_request_that_always_fails_is_one_dead_letter_after_three_tries(backend):
    works = [Work(), Work()]
    trace, = consume(backend, works, lambda traces: backend.dead_letters('requests'), 'fail')
    assert sum(work.performed for work in works) == 3
    assert sum(work.gathered for work in works) == 1
    letter, = backend.dead_letters('requests')
    assert (letter['trace_id'], str(letter['attempt'])) == (trace, '3')
    assert json.loads(letter['data'])['text'] == 'fail' and 'no' in letter['error']


@pytest.mark.parametrize('state', ['gather', 'perform', 'checkpoint'])
def test_request_that_can_never_succeed_is_a_dead_letter_at_once(backend, state):
    class Never(Work):
        async def gather(self, request):
            if state == 'gather':
                self.gathered += 1
                raise RequestInvalid('there is no flow')
            found = await super().gather(request)
            return {**found, 'x': float('nan')} if state == 'checkpoint' else found

        async def perform(self, operation, gathered):
            self.performed += 1
            raise RequestInvalid('no JSON')
    works = [Never(), Never()]
    trace, = consume(backend, works, lambda traces: backend.dead_letters('requests'), 'x')
    assert sum(work.gathered for work in works) == 1
    assert sum(work.performed for work in works) == (state == 'perform')
    letter, = backend.dead_letters('requests')
    assert (letter['trace_id'], str(letter['attempt'])) == (trace, '1')
    assert ('no flow' if state == 'gather' else 'JSON') in letter['error']


def test_same_trace_twice_is_worked_on_once(backend):
    async def twice(ledger):
        for _ in range(2):
            await submit(ledger, 'requests', {'text': 'a'}, 't')
    with_ledger(backend, twice)
    work = Work()
    consume(backend, [work], lambda traces: backend.result(traces[0]), 'b')
    assert work.performed == 2


# Claims


def test_claim_is_seen_by_its_session_until_it_lapses(journal, backend):
    ledger = open_ledger(backend.url, 'robot7')
    tasks = ledger.tasks()
    mine = SmartLedger('42_100', tasks, claimant='robot7', lease=60.0)
    short = SmartLedger('42_100', tasks, claimant='robot7', lease=0.01)
    theirs = SmartLedger('42_100', tasks, claimant='robot8')
    assert mine.claim('mine') and short.claim('short') and theirs.claim('theirs')
    for name in 'mine', 'short', 'theirs', 'none':
        journal.append(Entry('flow', f'flow {name}', event='start', to_state='RUN',
                             data={'origin': {'lease': f'42_100/{name}'}}))
    time.sleep(0.02)

    async def work(ledger):
        lease, left = await ledger.lease('42_100', 'mine')
        assert (lease.claimant, lease.token) == ('robot7', mine.token('mine'))
        assert 0 < left <= 60
        assert await ledger.lease('42_100', 'short') is None
        held = await held_claims(ledger, journal)
        assert [(one.flow_id, one.name) for one in held] == [('flow mine', '42_100/mine')]
    with_ledger(backend, work, robot='robot7')
    if not isinstance(tasks, MemoryTasks):
        tasks.close()
