# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Operations on shared work, each with its state in a Redis hash by trace id.

The server checks and writes a transition in one atomic step. So one of two concurrent writers
wins, and an expired trace is not created again.

The keys have plain names, `sg:trace:ID`. A server that refuses commands with keys in different
slots, such as a node of a cluster, gets tagged names, `sg:trace:{ID}`. Operations that began under
tagged names on another server keep them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
import json
import logging
import time
from typing import Any
from weakref import WeakKeyDictionary

from .connection import ledger_errors
from .keys import ACTIVE_OPERATIONS, operation_keys, OperationKeys, OPERATIONS
from .operation_listing import find_operations
from .replication import Replication
from .scripts import Script, script
from ...checkpoints import Checkpoint, FIELDS, pack, TTL, unpack
from ...operation_listing import OperationPage
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
    def is_valid_transition(cls, current: Any, target: Any) -> bool:
        """Return whether a transition is allowed; False for what is no state, as None."""
        try:
            return _state(current) in predecessors()[_state(target)]
        except ValueError:
            return False

    async def receive(self, trace_id: str, metadata: Mapping[str, Any] | None = None) -> bool:
        """Create an operation in state RECEIVED, for TTL s; False if it exists already."""
        fields = [*_texts(metadata), 'created_at', repr(time.time())]
        return bool(await _run(self._redis, 'receive', trace_id, [TTL, *fields]))

    async def state(self, trace_id: str) -> OperationState | None:
        """Return the state of an operation; None if it is missing."""
        for keys in await names_of(self._redis, trace_id):
            found = await self._redis.hget(keys.trace, 'state')
            if found is not None:
                text = found.decode() if isinstance(found, bytes) else found
                return OperationState(text.upper())
        return None

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
    """The operations of a RedisLedger; `redis` is a client of `connect`."""

    def __init__(self, redis: Any, replication: Replication) -> None:
        self._redis = redis
        self._replication = replication
        self._machine = OperationStateMachine(redis)

    async def receive(self, trace_id: str, metadata: Mapping[str, Any]) -> bool:
        with ledger_errors(self._redis):
            return await self._machine.receive(trace_id, metadata)

    async def trace(self, trace_id: str) -> Mapping[str, str]:
        with ledger_errors(self._redis, operation_keys(trace_id, False).trace):
            for keys in await names_of(self._redis, trace_id):
                found: dict[str, str] = await self._redis.hgetall(keys.trace)
                if found:
                    return found
        return {}

    async def move(
        self, trace_id: str, target: OperationState, metadata: Mapping[str, Any] | None = None, *,
        saved: Mapping[str, Any] | None = None, fence: str = '', outcome: str | None = None,
    ) -> bool:
        with ledger_errors(self._redis):
            return (await _move(self._redis, trace_id, target.value, metadata, saved=saved,
                                fence=fence, outcome=outcome))[2] == 1

    async def confirm(self, trace_id: str, state: OperationState, fence: str) -> bool:
        with ledger_errors(self._redis):
            return bool(await self._replication.run(*await _call(
                self._redis, 'confirm', trace_id, [state.value, fence])))

    async def checkpoint(self, trace_id: str) -> Checkpoint | None:
        with ledger_errors(self._redis, operation_keys(trace_id, False).checkpoint):
            return await _read_checkpoint(self._redis, trace_id)

    async def renew(self, trace_id: str, fence: str = '') -> bool:
        with ledger_errors(self._redis):
            return bool(await _run(self._redis, 'renew_operation', trace_id, [TTL, fence]))

    async def find(
        self, states: Collection[str] = (), *, active_only: bool = False, offset: int = 0,
        limit: int = 100, scan: bool = False,
    ) -> OperationPage:
        with ledger_errors(self._redis, ACTIVE_OPERATIONS if active_only else OPERATIONS):
            return await find_operations(
                self._redis, states, active_only=active_only, offset=offset, limit=limit,
                scan=scan, tagged=await _needs_tags(self._redis))


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
    answer: list[int] = await _run(redis, 'transition', trace_id, arguments)
    if content and answer[2]:
        _LOG.info('checkpoint_saved: %s, %d of %d bytes', trace_id, content[-1], content[-3])
    return answer


async def _read_checkpoint(redis: Any, trace_id: str) -> Checkpoint | None:
    for keys in await names_of(redis, trace_id):
        values = await redis.execute_command(
            'HMGET', keys.checkpoint, *FIELDS, NEVER_DECODE=True)
        if any(value is not None for value in values):
            found = unpack(trace_id, values)
            if found is not None:
                _LOG.info('checkpoint_recovered: %s, %.0f s old', trace_id,
                          time.time() - found.stamp)
            return found
    return None


_NEEDS_TAGS: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


async def _needs_tags(redis: Any) -> bool:
    """Return whether one command may only use keys with the same tag; asks the server once."""
    found = _NEEDS_TAGS.get(redis)
    if found is None:
        from redis import ResponseError
        try:
            found = hasattr(redis, 'nodes_manager')  # RedisCluster splits such commands itself
            if not found:
                await redis.exists(OPERATIONS, ACTIVE_OPERATIONS)
        except ResponseError as error:
            if 'same slot' not in str(error):  # CROSSSLOT; redis-py drops the code since 4.4
                raise
            found = True
        _NEEDS_TAGS[redis] = found
    return found


async def names_of(redis: Any, trace_id: str) -> list[OperationKeys]:
    """Return the keys that an operation may have, those of a new one first."""
    tagged = operation_keys(trace_id, True)
    return [tagged] if await _needs_tags(redis) else [operation_keys(trace_id, False), tagged]


async def _run(redis: Any, name: str, trace_id: str, arguments: list[Any]) -> Any:
    """Run a script on one operation and return its result."""
    source, keys, values = await _call(redis, name, trace_id, arguments)
    return await source.run(redis, keys, values)


async def _call(
    redis: Any, name: str, trace_id: str, arguments: list[Any]
) -> tuple[Script, list[str], list[Any]]:
    """Return a script on one operation, its keys and its arguments."""
    names = await names_of(redis, trace_id)
    keys = [key for each in names for key in each]
    if len(names) > 1:
        keys += [OPERATIONS, ACTIVE_OPERATIONS]
    return script('types', 'operation', name), keys, [trace_id, *arguments]


def _state(given: Any) -> OperationState:
    """Return a state by its name in any case; raises ValueError."""
    return OperationState(str(getattr(given, 'value', given)).upper())


def _texts(metadata: Mapping[str, Any] | None) -> list[Any]:
    """Return alternating names and values; other values than str, bytes, numbers become JSON."""
    texts: list[Any] = []
    for name, value in (metadata or {}).items():
        plain = isinstance(value, (str, bytes, int, float)) and not isinstance(value, bool)
        texts += (name, value if plain else json.dumps(value))
    return texts
