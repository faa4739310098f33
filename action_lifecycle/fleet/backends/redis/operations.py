# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Operations on shared work, each with its state in a Redis hash by trace id.

The server checks and writes a transition in one atomic step. So one of two concurrent writers
wins, and an expired trace is not created again.
"""

from __future__ import annotations

from collections.abc import Mapping
import json
import logging
import time
from typing import Any

from .connection import ledger_errors, script_text
from .keys import checkpoint, result, trace
from ...checkpoints import Checkpoint, FIELDS, pack, TTL, unpack
from ...operation_states import OperationState, predecessors

_LOG = logging.getLogger(__name__)


class OperationStateMachine:
    """
    Changes the states of operations; `redis` is a `redis.asyncio.Redis`.

    Errors of redis-py (not reachable, read-only) are raised.
    """

    def __init__(self, redis: Any) -> None:
        self._redis = redis

    @classmethod
    def is_valid_transition(cls, current: str, target: str) -> bool:
        """Return whether a transition is allowed; False for an unknown state."""
        try:
            return OperationState(current.upper()) in predecessors()[
                OperationState(target.upper())]
        except ValueError:
            return False

    async def receive(self, trace_id: str, metadata: Mapping[str, Any] | None = None) -> bool:
        """Create an operation in state RECEIVED, for TTL s; False if it exists already."""
        key = trace(trace_id)
        fields = [*_texts(metadata), 'created_at', repr(time.time())]
        return bool(await self._redis.register_script(script_text('receive'))(
            keys=[key], args=[TTL, *fields]))

    async def state(self, trace_id: str) -> OperationState | None:
        """Return the state of an operation; None if it is missing."""
        found = await self._redis.hget(trace(trace_id), 'state')
        if found is None:
            return None
        return OperationState(found.decode() if isinstance(found, bytes) else found)

    async def transition(
        self, trace_id: str, target_state: str, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """
        Change the state of an operation and merge `metadata` into its trace.

        Returns False and changes nothing if the trace is missing, the target unknown, or the
        transition not allowed.
        """
        return (await _move(self._redis, trace_id, target_state, metadata))[2] == 1


async def write_checkpoint_and_transition(
    redis: Any, trace_id: str, gather_output: Mapping[str, Any], target_state: str,
    script_sha: str = '',
) -> list[int]:
    """
    Write a checkpoint and move the operation to `target_state`, atomically in one round trip.

    Returns three numbers: new fields, 1 if the time to live was set, 1 if the state was changed;
    all are 0 if the trace is missing or the transition is not allowed. `script_sha` is ignored.
    Raises CheckpointError if the content is not JSON or too big.
    """
    return await _move(redis, trace_id, target_state, saved=gather_output)


async def recover_checkpoint(redis: Any, trace_id: str) -> dict[str, Any] | None:
    """Return the content of an operation's last checkpoint; None if it is missing or unusable."""
    found = await _read_checkpoint(redis, trace_id)
    return None if found is None else found.content


class RedisOperations:
    """The operations of a RedisLedger; `redis` is a `redis.asyncio.Redis`."""

    def __init__(self, redis: Any) -> None:
        self._redis = redis
        self._machine = OperationStateMachine(redis)

    async def receive(self, trace_id: str, metadata: Mapping[str, Any]) -> bool:
        with ledger_errors():
            return await self._machine.receive(trace_id, metadata)

    async def trace(self, trace_id: str) -> Mapping[str, str]:
        with ledger_errors():
            found: dict[str, str] = await self._redis.hgetall(trace(trace_id))
        return found

    async def move(
        self, trace_id: str, target: OperationState, metadata: Mapping[str, Any] | None = None, *,
        saved: Mapping[str, Any] | None = None, fence: str = '', outcome: str | None = None,
    ) -> bool:
        with ledger_errors():
            return (await _move(self._redis, trace_id, target.value, metadata, saved=saved,
                                fence=fence, outcome=outcome))[2] == 1

    async def checkpoint(self, trace_id: str) -> Checkpoint | None:
        with ledger_errors():
            return await _read_checkpoint(self._redis, trace_id)

    async def renew(self, trace_id: str) -> None:
        with ledger_errors():
            for key in trace(trace_id), checkpoint(trace_id):
                await self._redis.expire(key, TTL)  # does not create missing keys


async def _move(
    redis: Any, trace_id: str, target_state: str, metadata: Mapping[str, Any] | None = None, *,
    saved: Mapping[str, Any] | None = None, fence: str = '', outcome: str | None = None,
) -> list[int]:
    """
    Change the state of an operation, with a checkpoint and a result, atomically in one round trip.

    If `fence` is given, the operation must be claimed with it. Returns three numbers: new fields
    in the checkpoint, 1 if its time to live was set, 1 if the state was changed.
    """
    try:
        target = OperationState(target_state.upper())
    except (ValueError, AttributeError):
        return [0, 0, 0]
    fields = _texts(metadata)
    content = [] if saved is None else [one for pair in pack(saved).items() for one in pair]
    arguments = [' '.join(sorted(one.value for one in predecessors()[target])), target.value,
                 fence, len(fields), len(content), TTL, *fields, *content]
    if outcome is not None:
        arguments.append(outcome)
    answer: list[int] = await redis.register_script(script_text('transition'))(
        keys=[trace(trace_id), checkpoint(trace_id), result(trace_id)], args=arguments)
    if content and answer[2]:
        _LOG.info('checkpoint_saved: %s, %d of %d bytes', trace_id, content[-1], content[-3])
    return answer


async def _read_checkpoint(redis: Any, trace_id: str) -> Checkpoint | None:
    found = unpack(trace_id, await redis.execute_command(
        'HMGET', checkpoint(trace_id), *FIELDS, NEVER_DECODE=True))
    if found is not None:
        _LOG.info('checkpoint_recovered: %s, %.0f s old', trace_id, time.time() - found.stamp)
    return found


def _texts(metadata: Mapping[str, Any] | None) -> list[Any]:
    """Return alternating names and values; other values than str, bytes, numbers become JSON."""
    texts: list[Any] = []
    for name, value in (metadata or {}).items():
        plain = isinstance(value, (str, bytes, int, float)) and not isinstance(value, bool)
        texts += (name, value if plain else json.dumps(value))
    return texts
