# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Operations in lists, and the names of their keys."""

from __future__ import annotations

import asyncio
import json
import time

from action_lifecycle.fleet import (
    LedgerError,
    open_ledger,
    OperationStateMachine,
    recover_checkpoint,
    write_checkpoint_and_transition,
)
from action_lifecycle.fleet.checkpoints import pack, TTL
from action_lifecycle.fleet.consumer import OperationConsumer
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.operation_states import OperationState as State
from action_lifecycle.fleet.operation_states import predecessors
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
import redis.asyncio

from .ledgers import route, with_ledger
from .test_consumer import IDLE, Work


def test_operations_are_listed_with_the_newest_change_first(backend):
    async def work(ledger):
        operations = ledger.operations
        assert await operations.find() == ([], 0)
        began = time.time()
        for name in 'abcd':
            await operations.receive(name, {'stream': 'requests'})
        for state in (State.QUEUED, State.CLAIMED):
            await operations.move('b', state, {'worker': 'robot7', 'attempt': 1})
        await operations.move('a', State.ERRORED, {'error': 'no'})
        await operations.move('a', State.COMPLETED)
        await operations.move('missing', State.QUEUED)
        found = await operations.find()
        assert [(one.trace_id, one.state, one.owner, one.active) for one in found.operations] == [
            ('a', 'COMPLETED', '', False), ('b', 'CLAIMED', 'robot7', True),
            ('d', 'RECEIVED', '', True), ('c', 'RECEIVED', '', True)]
        first = found.operations[0]
        assert first.metadata.keys() == {'stream', 'error', 'created_at'}
        assert first.metadata['error'] == 'no'
        assert began - 60 < first.updated < time.time() + 60
        assert [one.updated for one in found.operations] == sorted(
            (one.updated for one in found.operations), reverse=True)
        assert found.total == 4

        async def names(*states, **options):
            page = await operations.find(states, **options)
            return ''.join(one.trace_id for one in page.operations), page.total
        assert await names(active_only=True) == ('bdc', 3)
        assert await names('received', State.CLAIMED) == ('bdc', 3)
        assert await names(State.COMPLETED) == ('a', 1)
        assert await names(State.COMPLETED, active_only=True) == ('', 0)
        assert await names(offset=1, limit=2) == ('bd', 4)
        assert await names(offset=9) == ('', 4)
        with pytest.raises(LedgerError, match="unknown state of an operation 'CLAMED': expected "
                                              "one of RECEIVED, .*; did you mean 'CLAIMED'"):
            await operations.find(['clamed'])
    with_ledger(backend, work)


MOVES = st.lists(st.tuples(st.sampled_from('abcde'), st.sampled_from([None, *State])), max_size=40)


@settings(max_examples=40, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES, chosen=st.sets(st.sampled_from(list(State))), active=st.booleans(),
       offset=st.integers(0, 3), limit=st.integers(0, 3))
def test_lists_are_what_the_moves_have_made(backend, moves, chosen, active, offset, limit):
    backend.clear()
    known = {}  # states by name, the newest change last

    async def work(ledger):
        for name, state in moves:
            if state is None:
                if await ledger.operations.receive(name, {}):
                    assert name not in known
                    known[name] = State.RECEIVED
            elif await ledger.operations.move(name, state):
                assert known.pop(name) in predecessors()[state]
                known[name] = state
        wanted = [(name, state.value) for name, state in reversed(known.items())
                  if state in (chosen or State) and not (active and state is State.COMPLETED)]
        found = await ledger.operations.find(
            chosen, active_only=active, offset=offset, limit=limit)
        assert [(one.trace_id, one.state) for one in found.operations] == wanted[
            offset:offset + limit]
        assert found.total == len(wanted)
    with_ledger(backend, work)


# Names of keys


def run(server, work):
    """Return the result of a coroutine that uses operations in Redis and a client."""
    async def worked():
        ledger = open_ledger(server.url)
        try:
            return await work(ledger.operations, server.client)
        finally:
            await ledger.close()
    return asyncio.run(worked())


async def begin(operations, state, name='t'):
    assert await operations.receive(name, {})
    for one in route(state):
        assert await operations.move(name, one)


def test_server_without_slots_has_the_plain_names(redis_server):
    async def work(operations, client):
        await begin(operations, State.PRE_INFERENCE_GATHER)
        assert await operations.move('t', State.INFERRING, saved={'x': 1}, outcome='7')
        assert {*client.scan_iter('sg:*')} == {
            'sg:trace:t', 'sg:checkpoint:t', 'sg:result:t', 'sg:operations',
            'sg:operations:active'}
        assert client.hget('sg:trace:t', 'state') == 'INFERRING'
        for state in (State.ERRORED, State.COMPLETED):
            assert client.zrange('sg:operations:active', 0, -1) == ['t']
            assert await operations.move('t', state)
        assert not client.exists('sg:operations:active')
        assert client.zrange('sg:operations', 0, -1) == ['t']
    run(redis_server, work)


def test_cluster_has_the_tagged_names_and_lists_by_a_scan(redis_cluster):
    async def work(operations, client):
        await begin(operations, State.PRE_INFERENCE_GATHER)
        assert await operations.move('t', State.INFERRING, saved={'x': 1}, outcome='7')
        assert {*client.scan_iter('sg:*')} == {
            'sg:trace:{t}', 'sg:checkpoint:{t}', 'sg:result:{t}'}
        assert (await operations.checkpoint('t')).content == {'x': 1}
        assert [one.trace_id for one in (await operations.find()).operations] == ['t']
    run(redis_cluster, work)


@pytest.mark.parametrize('kind', ['redis_server', 'redis_cluster'])
def test_functions_of_operations_take_a_client_of_either_server(request, kind):
    server = request.getfixturevalue(kind)

    async def work():
        client = redis.asyncio.Redis.from_url(server.url)
        machine = OperationStateMachine(client)
        assert await machine.receive('t')
        for state in route(State.PRE_INFERENCE_GATHER):
            assert await machine.transition('t', state.value)
        assert await write_checkpoint_and_transition(
            client, 't', {'x': 1}, 'INFERRING', '') == [5, 1, 1]
        assert await recover_checkpoint(client, 't') == {'x': 1}
        assert await machine.state('t') is State.INFERRING
        await client.connection_pool.disconnect()
    asyncio.run(work())


def tagged(client, state, **fields):
    """Put an operation under the names that an older version gave it."""
    client.hset('sg:trace:{t}', mapping={'state': state, 'created_at': '1.0', **fields})
    client.hset('sg:checkpoint:{t}', mapping=pack({'asked': 'a'}))
    for key in 'sg:trace:{t}', 'sg:checkpoint:{t}':
        client.expire(key, 100)


def test_operation_in_flight_under_tagged_names_keeps_them(redis_server):
    async def work(operations, client):
        tagged(client, 'INFERRING', fence='a:1')
        assert not await operations.receive('t', {'x': 1})
        assert (await operations.trace('t'))['fence'] == 'a:1'
        assert (await operations.checkpoint('t')).content == {'asked': 'a'}
        assert (await operations.find()).total == 0  # no change since the update
        assert (await operations.find(scan=True)).operations[0].state == 'INFERRING'
        assert not await operations.move('t', State.POSTPROCESSING, fence='b:1')
        assert await operations.move('t', State.TOOL_EXECUTING, fence='a:1')
        assert await operations.move('t', State.INFERRING, saved={'asked': 'b'})
        await operations.renew('t')
        assert min(client.ttl('sg:trace:{t}'), client.ttl('sg:checkpoint:{t}')) > TTL - 60
        assert (await operations.find(active_only=True)).operations[0].trace_id == 't'
        assert await operations.move('t', State.POSTPROCESSING, outcome='1')
        assert client.get('sg:result:{t}') == '1'
        assert (await operations.checkpoint('t')).content == {'asked': 'b'}
        assert not client.exists('sg:trace:t', 'sg:checkpoint:t', 'sg:result:t')
    run(redis_server, work)


def test_worker_goes_on_after_the_checkpoint_under_tagged_names(redis_server):
    client = redis_server.client
    tagged(client, 'RECLAIMED')
    client.xadd('requests', {'text': 'a', 'trace_id': 't'})

    async def work():
        ledger, doing = open_ledger(redis_server.url), Work()
        worker = asyncio.ensure_future(OperationConsumer(
            ledger, 'requests', 'robots', doing, min_idle=IDLE).run())
        deadline = time.monotonic() + 20
        while client.hget('sg:trace:{t}', 'state') != 'COMPLETED':
            assert time.monotonic() < deadline and not worker.done()
            await asyncio.sleep(0.02)
        await end(worker)
        await ledger.close()
        return doing
    doing = asyncio.run(work())
    assert (doing.gathered, doing.performed) == (0, 1)
    assert json.loads(client.get('sg:result:{t}')) == {'did': 'a'}
    assert not client.exists('sg:trace:t')


# Other programs on the same keys


def test_trace_of_another_program_is_listed_by_a_scan_and_by_its_first_move(redis_server):
    async def work(operations, client):
        client.hset('sg:trace:theirs', mapping={
            'state': 'claimed', 'created_at': '12.5', 'worker': 'w'})
        client.set('sg:trace:other type', 'x')
        await operations.receive('ours', {})
        assert [one.trace_id for one in (await operations.find()).operations] == ['ours']
        ours, theirs = (await operations.find(scan=True)).operations
        assert (ours.trace_id, theirs) == ('ours', (
            'theirs', 'CLAIMED', 'w', 12.5, {'created_at': '12.5', 'worker': 'w'}))
        assert await operations.move('theirs', State.PRE_INFERENCE_GATHER)
        assert [one.trace_id for one in (await operations.find()).operations] == [
            'theirs', 'ours']
    run(redis_server, work)


def test_state_that_another_program_has_written_is_the_listed_one(redis_server):
    async def work(operations, client):
        await begin(operations, State.INFERRING)
        assert client.exists('sg:trace:t')  # as the transition of another program does
        client.hset('sg:trace:t', 'state', 'COMPLETED')
        assert (await operations.find(active_only=True)).total == 0
        assert (await operations.find([State.COMPLETED])).total == 1
    run(redis_server, work)


def test_expired_operation_is_not_listed_and_leaves_the_indexes(redis_server):
    async def work(operations, client):
        await begin(operations, State.QUEUED, 'expired')
        await begin(operations, State.QUEUED, 'renewed')
        indexes = 'sg:operations', 'sg:operations:active'
        for index in indexes:
            assert abs(client.zscore(index, 'expired') - time.time() - TTL) < 60
            client.zadd(index, {'expired': 1.0, 'renewed': 1.0})
        client.delete('sg:trace:expired')
        assert [one.trace_id for one in (await operations.find()).operations] == ['renewed']
        await operations.renew('renewed')
        await operations.renew('missing')
        for index in indexes:
            assert client.zrange(index, 0, -1) == ['renewed']
    run(redis_server, work)


def test_index_of_another_type_prevents_no_change(redis_server):
    async def work(operations, client):
        client.set('sg:operations', 'x')
        await begin(operations, State.QUEUED)
        with pytest.raises(LedgerError, match='WRONGTYPE'):
            await operations.find()
        assert (await operations.find(active_only=True)).total == 1
    run(redis_server, work)
