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
Workers that share the requests of one Redis stream; each request is done once.

If a worker is lost, another one claims its request and skips the work saved in the checkpoint.
After the first motion of a request, it is only taken over if a person agrees.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
import contextlib
import json
import logging
import time
from typing import Any, Protocol
import uuid

from .checkpoints import recover_checkpoint
from .loop_thread import end
from .operation import Lost, Operation, Request
from .operation_states import OperationState as State
from .operations import OperationStateMachine, TTL, uuid7
from .redis.connection import script_text, server_errors
from .redis.keys import checkpoint, dead_letters, trace
from ..engine.errors import LifecycleError

__all__ = ['Lost', 'Operation', 'OperationConsumer', 'Request', 'Work', 'submit']

_LOG = logging.getLogger(__name__)

MAX_STREAM = 100_000
MAX_TRIES = 3
MIN_IDLE = 60.0
"""Time (s) without a renewal after which a worker counts as lost."""

BLOCK = 1.0  # maximum time (s) of a blocking read; below the connection's timeout
AGAIN = 1.0  # delay (s) after a server failure, and polling period while not ready

_TO_CLAIMED = {
    State.RECEIVED: (State.QUEUED, State.CLAIMED),
    State.PREPROCESSING: (State.QUEUED, State.CLAIMED),
    State.QUEUED: (State.CLAIMED,),
    State.ERRORED: (State.RETRYING, State.QUEUED, State.CLAIMED),
    State.RETRYING: (State.QUEUED, State.CLAIMED),
    State.RECLAIMED: (State.CLAIMED,),
}


class Work(Protocol):
    """The work of a worker."""

    def ready(self) -> bool:
        """Whether the worker can take a request now."""

    async def gather(self, request: Request) -> dict[str, Any]:
        """Collect the data for the work, as JSON data; must not move anything."""

    async def perform(self, operation: Operation, gathered: dict[str, Any]) -> Any:
        """Do the work and return its result, JSON data; call `start_motion` before any motion."""

    def goes_on(self, request: Request) -> bool:
        """Whether this worker has begun the request before a restart and can resume it."""

    async def take_over(self, request: Request) -> str:
        """
        Ask a person about a request that was lost after its first motion.

        Returns the person who decides that this worker repeats all of it; '' to give it up.
        """


class OperationConsumer:
    """
    One worker of `group` on `stream`; it does one request at a time.

    `redis` is a `redis.asyncio.Redis` with decode_responses. A failed request is tried again by
    any worker after `min_idle` s; after `max_tries` it becomes a dead letter. A restarted worker
    of the same `name` resumes its requests.
    """

    def __init__(
        self, redis: Any, stream: str, group: str, work: Work, *, name: str = '',
        min_idle: float = MIN_IDLE, max_tries: int = MAX_TRIES,
    ) -> None:
        self.name = name or uuid.uuid4().hex
        self._redis = redis
        self._stream = stream
        self._group = group
        self._work = work
        self._min_idle = min_idle
        self._max_tries = max_tries
        self._machine = OperationStateMachine(redis)
        self._bury_script = redis.register_script(script_text('bury'))
        self._renew_script = redis.register_script(script_text('renew'))
        self._working = asyncio.Lock()
        self._asking: dict[str, asyncio.Future[None]] = {}

    async def run(self) -> None:
        """Work until canceled; other workers take over unfinished requests."""
        connected = begun = False
        try:
            while True:
                try:
                    if not self._work.ready():
                        await asyncio.sleep(AGAIN)
                        continue
                    if not connected:
                        await self._create_group()
                        connected = True
                    if not begun:
                        begun = True
                        await self._go_on()
                    await self._step()
                except server_errors() as error:
                    connected = False  # the server may have come back empty
                    _LOG.warning('stream %s: %s', self._stream, error)
                    await asyncio.sleep(AGAIN)
                except Exception:  # a bad request must not stop the next ones
                    _LOG.exception('stream %s', self._stream)
                    await asyncio.sleep(AGAIN)
        finally:
            await end(*self._asking.values())

    async def _create_group(self) -> None:
        from redis import ResponseError
        with contextlib.suppress(ResponseError):  # there is one already
            await self._redis.xgroup_create(self._stream, self._group, id='0', mkstream=True)

    async def _go_on(self) -> None:
        """Resume the requests that this worker had before a restart."""
        for message_id, fields in await self._read('0', count=100):
            await self._take(message_id, fields)

    async def _step(self) -> None:
        """Do a lost request, or else wait for a new one."""
        claimed = await self._redis.xautoclaim(
            self._stream, self._group, self.name, int(self._min_idle * 1000), count=1)
        entries = claimed[1] or await self._read('>', count=1)
        for message_id, fields in entries:
            await self._take(message_id, fields)

    async def _read(self, after: str, count: int) -> list[tuple[str, Mapping[str, str]]]:
        found = await self._redis.xreadgroup(
            self._group, self.name, {self._stream: after}, count=count,
            block=int(min(BLOCK, self._min_idle / 2) * 1000))
        for entries in found.values() if isinstance(found, dict) else (one for _, one in found):
            # redis-py 8 nests them once more
            return entries[0] if entries and isinstance(entries[0], list) else list(entries)
        return []

    async def _take(self, message_id: str, fields: Mapping[str, str] | None) -> None:
        """Decide what to do with a request, and do it."""
        if message_id in self._asking:
            return
        pending = await self._redis.xpending_range(
            self._stream, self._group, min=message_id, max=message_id, count=1)
        if not pending or pending[0]['consumer'] != self.name:
            return  # another worker has it now
        tries = pending[0]['times_delivered']
        fields = fields or {}  # none: the stream has been trimmed meanwhile
        request = Request(message_id, fields.get('trace_id') or message_id, fields, tries)
        if fields and not await self._is_old(message_id):  # also for a repeated delivery
            await self._machine.receive(
                request.trace_id, {'msg_id': message_id, 'stream': self._stream})
        state = await self._machine.state(request.trace_id)
        owner, moved, worker = await self._redis.hmget(
            trace(request.trace_id), ['msg_id', 'moved', 'worker'])
        if not fields:
            await self._bury(request, 'it was trimmed from its stream')
        elif state is None:
            await self._bury(request, 'it is too old: nothing is known of it any more')
        elif owner not in (None, message_id) or state is State.COMPLETED:
            await self._done(request)  # a duplicate
        elif state is State.DELIVERED:
            await self._machine.transition(request.trace_id, State.COMPLETED.value)
            await self._done(request)
        elif moved and worker == self.name and self._work.goes_on(request):
            await self._claim(request, state, moved=True)
        elif moved:
            self._asking[message_id] = asyncio.ensure_future(self._ask(request, state))
        elif tries > self._max_tries:
            await self._give_up(request, 'its worker was lost in every try')
        else:
            await self._claim(request, state)

    async def _is_old(self, message_id: str) -> bool:
        """Whether a request is so old that its trace may have expired."""
        now, _ = await self._redis.time()
        return bool(now - int(message_id.partition('-')[0]) / 1000 > TTL)

    async def _ask(self, request: Request, state: State) -> None:
        """Ask a person about a request lost after its first motion; other requests go on."""
        try:
            actor = await self._keep(request, self._work.take_over(request))
            if not actor:
                await self._give_up(request, 'its worker was lost after its first motion')
                return
            await self._keep(request, self._working.acquire())
            try:
                await self._work_on(request, state, {'moved': '', 'taken_over_by': actor})
            finally:
                self._working.release()
        except server_errors(Lost) as error:
            _LOG.warning('stream %s: %s', self._stream, error)
        finally:
            del self._asking[request.message_id]

    async def _claim(self, request: Request, state: State, *, moved: bool = False) -> None:
        async with self._working:
            await self._work_on(request, state, {}, moved=moved)

    async def _work_on(
        self, request: Request, state: State, metadata: dict[str, Any], *, moved: bool = False
    ) -> None:
        now = time.monotonic()
        if not await self._is_renewed(request):
            return
        operation = Operation(self._redis, request, f'{self.name}:{request.tries}',
                              held_until=now + self._min_idle, moved=moved)
        for target in _TO_CLAIMED.get(state, (State.RECLAIMED, State.CLAIMED)):
            if not await self._machine.transition(request.trace_id, target.value, {
                    **metadata, 'msg_id': request.message_id, 'fence': operation.fence,
                    'worker': self.name, 'attempt': request.tries}):
                return  # another worker was faster
        try:
            await self._keep(request, self._do(operation), operation)
        except Lost as error:
            _LOG.warning('%s', error)
        finally:
            operation.ended = True

    async def _do(self, operation: Operation) -> None:
        """Run the states of an operation; skips the gathering if there is a checkpoint."""
        request = operation.request
        try:
            await operation.move(State.PRE_INFERENCE_GATHER)
            gathered = await recover_checkpoint(self._redis, request.trace_id)
            if gathered is None:
                gathered = await self._work.gather(request)
                await operation.save(gathered)
            else:
                await operation.move(State.INFERRING)
            if operation.moved:
                await operation.move(State.TOOL_EXECUTING)
            outcome = json.dumps(await self._work.perform(operation, gathered))
        except server_errors(Lost):
            raise
        except Exception as error:
            known = isinstance(error, LifecycleError)
            reason = str(error) if known else repr(error)
            _LOG.warning('operation %s: %s', request.trace_id, reason, exc_info=not known)
            await operation.move(State.ERRORED, {'error': reason})
            if operation.moved or request.tries >= self._max_tries:
                await self._bury(request, reason)
            return
        if operation.moved:
            await operation.move(State.INFERRING)
        await operation.move(State.POSTPROCESSING)
        await operation.move(State.DELIVERING)
        await operation.move(State.DELIVERED, outcome=outcome)
        await operation.move(State.COMPLETED)
        await self._done(request)

    async def _keep(
        self, request: Request, work: Coroutine[Any, Any, Any],
        operation: Operation | None = None,
    ) -> Any:
        """Run `work` and renew the claim; raises Lost if another worker has the request."""
        working = asyncio.ensure_future(work)
        try:
            while True:
                await asyncio.wait([working], timeout=self._min_idle / 3)
                if working.done() or not await self._is_held(request, operation):
                    break
        finally:
            await end(working)
        if working.cancelled():
            raise Lost(f'operation {request.trace_id} was taken over')
        return working.result()

    async def _is_held(self, request: Request, operation: Operation | None) -> bool:
        """Renew the claim on a request; False if another worker has it."""
        now = time.monotonic()
        with contextlib.suppress(*server_errors()):
            if not await self._is_renewed(request):
                return False
            for key in trace(request.trace_id), checkpoint(request.trace_id):
                await self._redis.expire(key, TTL)  # does not create missing keys
            if operation is not None:
                operation.held_until = now + self._min_idle
        return True

    async def _is_renewed(self, request: Request) -> bool:
        """Reset the idle time of a request; False if another worker has claimed it."""
        return bool(await self._renew_script(
            keys=[self._stream], args=[self._group, self.name, request.message_id]))

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
    """Add a request and return its trace id; requests with the same trace id are done once."""
    trace_id = trace_id or uuid7()
    await redis.xadd(stream, {**data, 'trace_id': trace_id}, maxlen=MAX_STREAM, approximate=True)
    return trace_id
