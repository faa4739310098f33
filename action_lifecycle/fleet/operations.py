# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Operations on shared work: each has its state in a Redis hash, by trace id.

The server checks the transition in the same atomic step that writes it. So of two concurrent
writers one wins, and an expired trace is not created again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import json
import secrets
import time
from typing import Any
import uuid

from . import operation_states
from .operation_states import OperationState, predecessors
from .redis.connection import script_text
from .redis.keys import checkpoint, result, trace

TTL = 86_400
"""Lifetime (s) of a trace and its checkpoint."""


class OperationStateMachine:
    """
    Changes the states of operations; `redis` is a `redis.asyncio.Redis`.

    Errors of redis-py (not reachable, read-only) are raised.
    """

    def __init__(self, redis: Any) -> None:
        self._redis = redis

    @classmethod
    def is_valid_transition(cls, current: str, target: str) -> bool:
        """Whether an operation may go from `current` to `target`; False for an unknown state."""
        return operation_states.is_valid_transition(current, target)

    async def receive(self, trace_id: str, metadata: Mapping[str, Any] | None = None) -> bool:
        """Create an operation in state RECEIVED, for TTL s; False if it exists already."""
        key = trace(trace_id)
        fields = [*_texts(metadata), 'created_at', repr(time.time())]
        return bool(await self._redis.register_script(script_text('receive'))(
            keys=[key], args=[TTL, *fields]))

    async def state(self, trace_id: str) -> OperationState | None:
        """Return the state of an operation, None if it is missing."""
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
        return (await move(self._redis, trace_id, target_state, metadata))[2] == 1


async def move(
    redis: Any, trace_id: str, target_state: str, metadata: Mapping[str, Any] | None = None, *,
    saved: Sequence[Any] = (), fence: str = '', outcome: str | None = None,
) -> list[int]:
    """
    Change the state of an operation, with a checkpoint and a result, atomically in one round trip.

    `fence`: only if the operation is claimed with this fence. Returns three numbers: new fields in
    the checkpoint, 1 if its time to live was set, 1 if the state was changed.
    """
    try:
        target = OperationState(target_state.upper())
    except (ValueError, AttributeError):
        return [0, 0, 0]
    fields = _texts(metadata)
    arguments = [' '.join(sorted(one.value for one in predecessors()[target])), target.value,
                 fence, len(fields), len(saved), TTL, *fields, *saved]
    if outcome is not None:
        arguments.append(outcome)
    answer: list[int] = await redis.register_script(script_text('transition'))(
        keys=[trace(trace_id), checkpoint(trace_id), result(trace_id)], args=arguments)
    return answer


def uuid7() -> str:
    """Return a new trace id: a UUIDv7, which sorts by its creation time (ms)."""
    number = int(time.time() * 1000) << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=number & ~(0x3 << 62) | 0x2 << 62).hex


def _texts(metadata: Mapping[str, Any] | None) -> list[Any]:
    """Return alternating names and values; values other than str, bytes, numbers become JSON."""
    texts: list[Any] = []
    for name, value in (metadata or {}).items():
        plain = isinstance(value, (str, bytes, int, float)) and not isinstance(value, bool)
        texts += (name, value if plain else json.dumps(value))
    return texts
