# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Workers that share the requests of one Redis stream, each of which is done once.

A request whose worker died is claimed by another one, which skips what the checkpoint holds. After
its first motion nobody takes it over: it becomes a dead letter, for an operator to look at.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import redis as redis_py

from .checkpoints import recover_checkpoint, write_checkpoint_and_transition
from .operation_states import OperationState as State
from .operations import OperationStateMachine, move
from .redis_connection import LedgerError, script_text
from .redis_keys import dead_letters, trace

_LOG = logging.getLogger(__name__)

MAX_STREAM = 100_000
MAX_TRIES = 3
MIN_IDLE = 60.0
"""Seconds without a renewal after which a worker counts as dead."""

BLOCK = 1.0  # s that a read waits; below the time-out of the connection
AGAIN = 1.0  # s after a failure of the server

_TO_CLAIMED = {
    State.RECEIVED: (State.QUEUED, State.CLAIMED),
    State.PREPROCESSING: (State.QUEUED, State.CLAIMED),
    State.QUEUED: (State.CLAIMED,),
    State.ERRORED: (State.RETRYING, State.QUEUED, State.CLAIMED),
    State.RETRYING: (State.QUEUED, State.CLAIMED),
    State.RECLAIMED: (State.CLAIMED,),
}


class Request(NamedTuple):
    """A request: its entry in the stream, its trace, its fields, which delivery this is."""

    message_id: str
    trace_id: str
    data: Mapping[str, str]
    tries: int


class Lost(LedgerError):
    """The operation is not ours any more; nothing may be started for it."""


class Work(Protocol):
    """What a worker can do."""

    async def gather(self, request: Request) -> dict[str, Any]:
        """Collect what the work needs, JSON; moves nothing. Not called again after a crash."""

    async def perform(self, operation: Operation, gathered: dict[str, Any]) -> Any:
        """Do the work and return its result, JSON; `start_motion` comes before any motion."""


class Operation:
    """A request that is being worked on."""

    def __init__(self, redis: Any, request: Request, fence: str) -> None:
        self.request = request
        self.moved = False
        self._redis = redis
        self._fence = fence

    async def start_motion(self) -> None:
        """Record that something is about to move; raises Lost, and then nothing may."""
        if not self.moved:
            await self.move(State.TOOL_EXECUTING, {'moved': 1})
            self.moved = True

    async def move(
        self, state: State, metadata: Mapping[str, Any] | None = None, outcome: str | None = None
    ) -> None:
        """Go on to a state; raises Lost."""
        answer = await move(self._redis, self.request.trace_id, state.value, metadata,
                            fence=self._fence, outcome=outcome)
        self._check(answer)

    async def save(self, gathered: dict[str, Any]) -> None:
        """Write the checkpoint and go on to INFERRING; raises Lost."""
        self._check(await write_checkpoint_and_transition(
            self._redis, self.request.trace_id, gathered, State.INFERRING.value,
            fence=self._fence))

    def _check(self, answer: list[int]) -> None:
        if not answer[2]:
            raise Lost(f'operation {self.request.trace_id} was taken over or has expired')


class OperationConsumer:
    """
    One worker of `group` on `stream`, doing one request at a time.

    `redis` is a `redis.asyncio.Redis` with decode_responses. A request that fails is tried again,
    by whoever is free, when it has rested for `min_idle` s; after `max_tries` it is a dead letter.
    """

    def __init__(
        self, redis: Any, stream: str, group: str, work: Work, *, min_idle: float = MIN_IDLE,
        max_tries: int = MAX_TRIES,
    ) -> None:
        self.name = uuid.uuid4().hex
        self._redis = redis
        self._stream = stream
        self._group = group
        self._work = work
        self._min_idle = min_idle
        self._max_tries = max_tries
        self._machine = OperationStateMachine(redis)
        self._bury_script = redis.register_script(script_text('bury'))
        self._renew_script = redis.register_script(script_text('renew'))

    async def run(self) -> None:
        """Work until canceled; what is then unfinished is taken over by another worker."""
        ready = False
        while True:
            try:
                if not ready:
                    await self._create_group()
                    ready = True
                await self._step()
            except (redis_py.RedisError, OSError, asyncio.TimeoutError) as error:
                ready = False  # the server may have come back empty
                _LOG.warning('stream %s: %s', self._stream, error)
                await asyncio.sleep(AGAIN)

    async def _create_group(self) -> None:
        with contextlib.suppress(redis_py.ResponseError):  # there is one already
            await self._redis.xgroup_create(self._stream, self._group, id='0', mkstream=True)

    async def _step(self) -> None:
        """Do a request that was left, or else wait for a new one."""
        claimed = await self._redis.xautoclaim(
            self._stream, self._group, self.name, int(self._min_idle * 1000), count=1)
        entries = claimed[1]
        if not entries:
            block = int(min(BLOCK, self._min_idle / 2) * 1000)
            found = await self._redis.xreadgroup(
                self._group, self.name, {self._stream: '>'}, count=1, block=block)
            for _, entries in found.items() if isinstance(found, dict) else found:
                entries = entries[0] if entries and isinstance(entries[0], list) else entries
        for message_id, fields in entries:
            await self._take(message_id, fields)

    async def _take(self, message_id: str, fields: Mapping[str, str]) -> None:
        """Decide what is to be done about a request, and do it."""
        pending = await self._redis.xpending_range(
            self._stream, self._group, min=message_id, max=message_id, count=1)
        tries = pending[0]['times_delivered'] if pending else 0
        request = Request(message_id, fields.get('trace_id', message_id), fields, tries)
        if tries == 1:
            await self._machine.receive(
                request.trace_id, {'msg_id': message_id, 'stream': self._stream})
        state = await self._machine.state(request.trace_id)
        owner, moved = await self._redis.hmget(trace(request.trace_id), ['msg_id', 'moved'])
        if state is None:
            await self._bury(request, 'its trace has expired')
        elif owner not in (None, message_id) or state is State.COMPLETED:
            await self._done(request)  # asked for twice
        elif state is State.DELIVERED:
            await self._machine.transition(request.trace_id, State.COMPLETED.value)
            await self._done(request)
        elif moved:
            await self._give_up(request, 'its worker was lost after its first motion')
        elif tries > self._max_tries:
            await self._give_up(request, 'its worker was lost in every try')
        else:
            await self._claim(request, state)

    async def _claim(self, request: Request, state: State) -> None:
        fence = f'{self.name}:{request.tries}'
        for target in _TO_CLAIMED.get(state, (State.RECLAIMED, State.CLAIMED)):
            if not await self._machine.transition(
                    request.trace_id, target.value,
                    {'msg_id': request.message_id, 'fence': fence, 'attempt': request.tries}):
                return  # somebody else was faster
        operation = Operation(self._redis, request, fence)
        working = asyncio.ensure_future(self._do(operation))
        renewing = asyncio.ensure_future(self._renew(request, working))
        try:
            await working
        except Lost as error:
            _LOG.warning('%s', error)
        except asyncio.CancelledError:
            working.cancel()
            if not renewing.done():  # we were told to end, not the work
                raise
        finally:
            renewing.cancel()

    async def _do(self, operation: Operation) -> None:
        """Go through the states of an operation, skipping what its checkpoint holds."""
        request = operation.request
        try:
            await operation.move(State.PRE_INFERENCE_GATHER)
            gathered = await recover_checkpoint(self._redis, request.trace_id)
            if gathered is None:
                gathered = await self._work.gather(request)
                await operation.save(gathered)
            else:
                await operation.move(State.INFERRING)
            outcome = json.dumps(await self._work.perform(operation, gathered))
        except (Lost, redis_py.RedisError, OSError, asyncio.TimeoutError):
            raise
        except Exception as error:
            _LOG.exception('operation %s', request.trace_id)
            await operation.move(State.ERRORED, {'error': repr(error)})
            if operation.moved or request.tries >= self._max_tries:
                await self._bury(request, repr(error))
            return
        if operation.moved:
            await operation.move(State.INFERRING)
        await operation.move(State.POSTPROCESSING)
        await operation.move(State.DELIVERING)
        await operation.move(State.DELIVERED, outcome=outcome)
        await operation.move(State.COMPLETED)
        await self._done(request)

    async def _renew(self, request: Request, working: asyncio.Future[None]) -> None:
        """Show signs of life; when the request is another's, stop working on it."""
        while True:
            await asyncio.sleep(self._min_idle / 3)
            with contextlib.suppress(redis_py.RedisError, OSError, asyncio.TimeoutError):
                if not await self._renew_script(
                        keys=[self._stream],
                        args=[self._group, self.name, request.message_id]):
                    working.cancel()
                    return

    async def _done(self, request: Request) -> None:
        await self._redis.xack(self._stream, self._group, request.message_id)

    async def _give_up(self, request: Request, error: str) -> None:
        await self._machine.transition(request.trace_id, State.ERRORED.value, {'error': error})
        await self._bury(request, error)

    async def _bury(self, request: Request, error: str) -> None:
        await self._bury_script(
            keys=[self._stream, dead_letters(self._stream)],
            args=[self._group, request.message_id, 'original_stream', self._stream,
                  'original_id', request.message_id, 'trace_id', request.trace_id,
                  'error', error, 'attempt', request.tries,
                  'data', json.dumps(dict(request.data)), 'time', repr(time.time())])


async def submit(redis: Any, stream: str, data: Mapping[str, str], trace_id: str = '') -> str:
    """Ask for work and return its trace id; the same one given twice is worked on once."""
    trace_id = trace_id or uuid.uuid4().hex
    await redis.xadd(stream, {**data, 'trace_id': trace_id}, maxlen=MAX_STREAM, approximate=True)
    return trace_id
