# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Operations go where the table says, with their checkpoints, or not at all."""

from __future__ import annotations

import asyncio
import inspect
import time
import zlib

from action_lifecycle.fleet import (
    checkpoints,
    OperationStateMachine,
    recover_checkpoint,
    write_checkpoint_and_transition,
)
from action_lifecycle.fleet.checkpoints import CheckpointError
from action_lifecycle.fleet.operation_states import OperationState, predecessors
import pytest
import redis.asyncio

TRACE, CHECKPOINT = 'sg:trace:t', 'sg:checkpoint:t'
INDEXES = {'sg:operations', 'sg:operations:active'}
OUTPUT = {'facts': [1, 2.5, None, 'ä'], 'nested': {'text': 'x' * 1000}}


def with_redis(test):
    """Run a coroutine with clients that decode and that don't."""
    def run(redis_server, decode, caplog):
        async def work():
            client = redis.asyncio.Redis.from_url(redis_server.url, decode_responses=decode)
            try:
                await test(client, redis_server, caplog)
            finally:
                await client.connection_pool.disconnect()
        caplog.set_level('INFO')
        asyncio.run(work())
    run.__signature__ = inspect.signature(run)
    run.__name__ = test.__name__
    return pytest.mark.parametrize('decode', [True, False])(run)


async def put(client, state):
    machine = OperationStateMachine(client)
    await client.flushall()
    assert await machine.receive('t')
    await client.hset(TRACE, 'state', state)
    return machine


@with_redis
async def test_received_operation_can_be_queued_and_keeps_its_metadata(client, server, caplog):
    machine = OperationStateMachine(client)
    assert await machine.receive('t', {'stream': 'requests', 'retry': False})
    assert not await machine.receive('t')
    assert await machine.transition('t', 'queued', {'msg_id': '1-0', 'state': 'NONSENSE'})
    found = server.client.hgetall(TRACE)
    assert (found['state'], found['msg_id'], found['retry']) == ('QUEUED', '1-0', 'false')
    assert float(found['created_at']) <= time.time()
    assert 0 < server.client.ttl(TRACE) <= 86_400
    assert await machine.state('t') is OperationState.QUEUED


@with_redis
async def test_illegal_and_unknown_targets_change_nothing(client, server, caplog):
    machine = await put(client, 'CLAIMED')
    before = server.client.hgetall(TRACE)
    for target in ('INFERRING', 'completed', 'NOWHERE', '', 'CLAIMED'):
        assert not await machine.transition('t', target, {'x': 1})
    assert server.client.hgetall(TRACE) == before
    assert not machine.is_valid_transition('CLAIMED', 'INFERRING')


@with_redis
async def test_every_pair_of_states_is_judged_by_the_table(client, server, caplog):
    for current in OperationState:
        machine = await put(client, current.value)
        for target in OperationState:
            await client.hset(TRACE, 'state', current.value)
            assert await machine.transition('t', target.value) is (
                current in predecessors()[target])


@with_redis
async def test_missing_trace_stays_away_also_in_a_race(client, server, caplog):
    machine = OperationStateMachine(client)
    assert not await machine.transition('t', 'QUEUED', {'x': 1})
    assert await write_checkpoint_and_transition(client, 't', OUTPUT, 'INFERRING', '') == [0, 0, 0]
    assert server.client.keys('*') == []
    for _ in range(50):
        await machine.receive('t')
        await asyncio.gather(client.delete(TRACE), machine.transition('t', 'QUEUED', {'x': 1}),
                             machine.transition('t', 'QUEUED'))
        assert set(server.client.keys('*')) <= INDEXES


@with_redis
async def test_one_of_two_writers_from_the_same_state_wins(client, server, caplog):
    for _ in range(20):
        machine = await put(client, 'INFERRING')
        won = await asyncio.gather(machine.transition('t', 'TOOL_EXECUTING'),
                                   machine.transition('t', 'POSTPROCESSING'),
                                   machine.transition('t', 'TOOL_EXECUTING'))
        assert won.count(True) == 1


@with_redis
async def test_checkpoint_comes_back_equal_also_after_a_lost_script(client, server, caplog):
    await put(client, 'PRE_INFERENCE_GATHER')
    await client.script_flush()
    assert await write_checkpoint_and_transition(
        client, 't', OUTPUT, 'INFERRING', 'no-such-script') == [5, 1, 1]
    assert await recover_checkpoint(client, 't') == OUTPUT
    assert server.client.hget(TRACE, 'state') == 'INFERRING'
    assert 0 < server.client.ttl(CHECKPOINT) <= 86_400
    assert 'checkpoint_saved' in caplog.text and 'checkpoint_recovered' in caplog.text
    sizes = server.client.hmget(CHECKPOINT, 'original_size', 'compressed_size')
    assert int(sizes[0]) > int(sizes[1]) > 0


@with_redis
async def test_checkpoint_is_not_written_without_its_state(client, server, caplog):
    await put(client, 'CLAIMED')
    assert await write_checkpoint_and_transition(client, 't', OUTPUT, 'INFERRING', '') == [0, 0, 0]
    assert await recover_checkpoint(client, 't') is None
    await client.hset(TRACE, 'state', 'PRE_INFERENCE_GATHER')
    await client.config_set('maxmemory', 1)
    with pytest.raises(redis.RedisError):
        await write_checkpoint_and_transition(client, 't', OUTPUT, 'INFERRING', '')
    assert server.client.hget(TRACE, 'state') == 'PRE_INFERENCE_GATHER'
    assert not server.client.exists(CHECKPOINT)


@with_redis
async def test_unusable_checkpoint_is_none_and_says_why(client, server, caplog):
    assert await recover_checkpoint(client, 't') is None
    bomb = zlib.compress(b' ' * (checkpoints.MAX_CHECKPOINT + 10))
    for field, value, reason in [
            ('schema_version', 0, 'stale'), ('schema_version', 2, 'newer'),
            ('schema_version', 'x', 'corrupt'), ('payload_compressed', b'\xff\x00', 'corrupt'),
            ('payload_compressed', zlib.compress(b'{}'), 'corrupt'),
            ('payload_compressed', zlib.compress(b'[' * 100_000), 'corrupt'),
            ('payload_compressed', bomb, 'corrupt'), ('original_size', 1, 'corrupt')]:
        await put(client, 'PRE_INFERENCE_GATHER')
        await write_checkpoint_and_transition(client, 't', OUTPUT, 'INFERRING', '')
        await client.hset(CHECKPOINT, field, value)
        caplog.clear()
        assert await recover_checkpoint(client, 't') is None
        assert reason in caplog.text


@with_redis
async def test_what_is_no_json_or_too_big_is_refused(client, server, caplog):
    await put(client, 'PRE_INFERENCE_GATHER')
    for content, reason in (({'x': object()}, 'JSON'), ({'x': float('nan')}, 'JSON|nan'),
                            ({'x': 'y' * checkpoints.MAX_CHECKPOINT}, 'at most')):
        with pytest.raises(CheckpointError, match=reason):
            await write_checkpoint_and_transition(client, 't', content, 'INFERRING', '')
    assert server.client.hget(TRACE, 'state') == 'PRE_INFERENCE_GATHER'
