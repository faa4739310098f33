# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Workers that share the requests of one stream; each request is done once.

If a worker is lost, another one claims its request and continues from the checkpoint. A request
whose first motion has begun is only taken over if a person agrees.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
import contextlib
import json
import logging
import secrets
import time
from typing import Any, NamedTuple, Protocol
import uuid

from .checkpoints import TTL
from .errors import LedgerUnavailable, RequestInvalid
from .fault_log import FaultLog
from .ledger import Ledger
from .loop_thread import end
from .operation import Lost, Operation, OperationRequest
from .operation_states import OperationState as State
from ..documents.errors import LifecycleError
from ..graphs.packaged import packaged_graph
from ..journal.clock import boot_time

_LOG = logging.getLogger(__name__)

MAX_TRIES = 3
MIN_IDLE = 60.0
"""Time (s) without a renewal after which a worker counts as lost."""

RETRY_DELAY = 1.0  # delay (s) after a server failure; polling period while not ready


class OperationWork(Protocol):
    """The interface of the work that a consumer does."""

    def ready(self) -> bool:
        """Return whether the worker can take a request now."""

    async def gather(self, request: OperationRequest) -> dict[str, Any]:
        """
        Return the data for the work, as JSON data; must not start a motion.

        Raises RequestInvalid, as `perform` does, for a request that no worker can ever do.
        """

    async def perform(self, operation: Operation, gathered: dict[str, Any]) -> Any:
        """Do the work and return its result (JSON data); call `start_motion` before any motion."""

    def can_resume(self, request: OperationRequest) -> bool:
        """Return whether this worker has begun the request before a restart and can resume it."""

    async def take_over(self, request: OperationRequest) -> str:
        """
        Ask a person about a request that was lost after its first motion.

        Returns the person who permits this worker to repeat the whole request; '' to give it up.
        """


class _Found(NamedTuple):
    """
    An operation as a worker found it while it held the request.

    `fence` changes with each claim, so the worker changes nothing if another one has claimed it
    since then.
    """

    state: State
    fence: str


class OperationConsumer:
    """
    One worker of `group` on `stream`; it does one request at a time.

    A failed request is retried by any worker after `min_idle` s; after `max_tries`, or at once if
    the work raises RequestInvalid, it becomes a dead letter. A restarted worker of the same `name`
    resumes its requests.
    """

    def __init__(
        self, ledger: Ledger, stream: str, group: str, work: OperationWork, *, name: str = '',
        min_idle: float = MIN_IDLE, max_tries: int = MAX_TRIES, faults: FaultLog | None = None,
    ) -> None:
        self.name = name or uuid.uuid4().hex
        self._operations = ledger.operations
        self._stream = stream
        self._work = work
        self._min_idle = min_idle
        self._max_tries = max_tries
        self._requests = ledger.requests(stream, group, self.name, min_idle)
        self._working = asyncio.Lock()
        self._faults = (faults or FaultLog()).part(f'stream {stream}')
        self._asking: dict[str, asyncio.Future[None]] = {}

    async def run(self) -> None:
        """Process requests until canceled; other workers take over unfinished ones."""
        connected = begun = False
        try:
            while True:
                try:
                    if not self._work.ready():
                        self._faults.clear()  # nothing is asked of the server
                        await asyncio.sleep(RETRY_DELAY)
                        continue
                    if not connected:
                        await self._requests.join()
                        connected = True
                    requests = await (
                        self._requests.take() if begun else self._requests.retake())
                    begun = True
                    self._faults.clear()  # before the work, which may take hours
                    await self._take_all(requests)
                except LedgerUnavailable as error:
                    connected = False  # the server may have lost its data
                    self._faults.report(error)
                    await asyncio.sleep(RETRY_DELAY)
                except Exception:  # a bad request must not stop the next ones
                    _LOG.exception('stream %s', self._stream)
                    await asyncio.sleep(RETRY_DELAY)
        finally:
            await end(*self._asking.values())

    async def _take_all(self, requests: list[tuple[str, Mapping[str, str]]]) -> None:
        for message_id, fields in requests:
            await self._take(message_id, fields)

    async def _take(self, message_id: str, fields: Mapping[str, str]) -> None:
        """Resume, start, skip or give up a request, depending on its state."""
        if message_id in self._asking:
            return
        tries = await self._requests.tries(message_id)
        if not tries:
            return  # another worker has taken it
        request = OperationRequest(message_id, fields.get('trace_id') or message_id, fields, tries)
        if fields and await self._requests.age(message_id) <= TTL:  # else it may have expired
            await self._operations.receive(  # also for a repeated delivery
                request.trace_id, {'msg_id': message_id, 'stream': self._stream})
        trace = await self._operations.trace(request.trace_id)
        found = None
        try:
            if 'state' in trace:
                found = _Found(State(trace['state'].upper()), trace.get('fence', ''))
        except ValueError:
            await self._bury(request, f"its operation has an unknown state '{trace['state']}'")
            return
        owner, moved, worker = (trace.get(name) for name in ('msg_id', 'moved', 'worker'))
        if not fields:
            await self._bury(request, 'it was trimmed from its stream')
        elif found is None:
            await self._bury(request, 'it is too old: nothing is known of it any more')
        elif owner not in (None, message_id) or found.state is State.COMPLETED:
            await self._requests.done(message_id)  # a duplicate
        elif found.state is State.DELIVERED:
            await self._operations.move(request.trace_id, State.COMPLETED)
            await self._requests.done(message_id)
        elif moved and worker == self.name and self._work.can_resume(request):
            await self._claim(request, found, moved=True)
        elif moved:
            self._asking[message_id] = asyncio.ensure_future(self._ask(request, found))
        elif tries > self._max_tries:
            await self._give_up(request, found, 'its worker was lost in every try')
        else:
            await self._claim(request, found)

    async def _ask(self, request: OperationRequest, found: _Found) -> None:
        """Ask a person about a request lost after its first motion; does not block others."""
        try:
            actor = await self._keep(request, self._work.take_over(request))
            if not actor:
                await self._give_up(request, found, 'its worker was lost after its first motion')
                return
            await self._keep(request, self._working.acquire())
            try:
                await self._work_on(request, found, {'moved': '', 'taken_over_by': actor})
            finally:
                self._working.release()
        except LedgerUnavailable as error:
            self._faults.report(error)
        except Lost as error:
            _LOG.warning('stream %s: %s', self._stream, error)
        finally:
            del self._asking[request.message_id]

    async def _claim(
        self, request: OperationRequest, found: _Found, *, moved: bool = False,
    ) -> None:
        async with self._working:
            await self._work_on(request, found, {}, moved=moved)

    async def _work_on(
        self, request: OperationRequest, found: _Found, metadata: dict[str, Any], *,
        moved: bool = False,
    ) -> None:
        now = boot_time()
        if not await self._requests.renew(request.message_id):
            return
        # unique, also if a failover has lost how often the request was taken
        fence = f'{self.name}:{request.tries}:{secrets.token_hex(4)}'
        operation = Operation(self._operations, request, fence,
                              held_until=now + self._min_idle, moved=moved,
                              faults=self._faults)
        fence = found.fence
        for target in _states_to_claimed(found.state):
            if not await self._operations.move(request.trace_id, target, {
                    **metadata, 'msg_id': request.message_id, 'fence': operation.fence,
                    'worker': self.name, 'attempt': request.tries}, fence=fence):
                return  # another worker was faster
            fence = operation.fence
        try:
            if not moved and (await self._operations.trace(request.trace_id)).get('moved'):
                raise Lost(f'operation {request.trace_id}: its worker began to move while it was '
                           'taken over; a person will be asked')
            await self._keep(request, self._do(operation), operation)
        except Lost as error:
            _LOG.warning('%s', error)
        finally:
            operation.ended = True

    async def _do(self, operation: Operation) -> None:
        """Run the states of an operation; does not gather if there is a checkpoint."""
        request = operation.request
        try:
            await operation.move(State.PRE_INFERENCE_GATHER)
            checkpoint = await self._operations.checkpoint(request.trace_id)
            if checkpoint is None:
                gathered = await self._work.gather(request)
                await operation.move(State.INFERRING, saved=gathered)
            else:
                gathered = checkpoint.content
                await operation.move(State.INFERRING)
            if operation.moved:
                await operation.move(State.TOOL_EXECUTING)
            outcome = json.dumps(await self._work.perform(operation, gathered))
        except (LedgerUnavailable, Lost):
            raise
        except Exception as error:
            known = isinstance(error, LifecycleError)
            reason = str(error) if known else repr(error)
            _LOG.warning('operation %s: %s', request.trace_id, reason, exc_info=not known)
            await operation.move(State.ERRORED, {
                'error': reason, 'max_tries': self._max_tries, 'min_idle': self._min_idle})
            if operation.moved or request.tries >= self._max_tries \
                    or isinstance(error, RequestInvalid):
                await self._bury(request, reason)
            return
        if operation.moved:
            await operation.move(State.INFERRING)
        await operation.move(State.POSTPROCESSING)
        await operation.move(State.DELIVERING)
        await operation.move(State.DELIVERED, outcome=outcome)
        await operation.move(State.COMPLETED)
        await self._requests.done(request.message_id)

    async def _keep(
        self, request: OperationRequest, work: Coroutine[Any, Any, Any],
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

    async def _is_held(self, request: OperationRequest, operation: Operation | None) -> bool:
        """Renew the claim on a request; returns False if another worker has it."""
        now = boot_time()
        with contextlib.suppress(LedgerUnavailable):
            if not await self._requests.renew(request.message_id):
                return False
            # The fence differs if another worker of the same name has claimed the operation.
            if not await self._operations.renew(
                    request.trace_id, '' if operation is None else operation.fence):
                return False
            if operation is not None:
                operation.held_until = now + self._min_idle
            self._faults.clear()
        return True

    async def _give_up(self, request: OperationRequest, found: _Found, error: str) -> None:
        """Make a dead letter, unless another worker has taken the request since `found`."""
        if not await self._requests.renew(request.message_id):
            return
        if not await self._operations.move(
                request.trace_id, State.ERRORED, {'error': error}, fence=found.fence):
            trace = await self._operations.trace(request.trace_id)
            if trace.get('fence', '') != found.fence:
                return
        await self._bury(request, error)

    async def _bury(self, request: OperationRequest, error: str) -> None:
        await self._requests.bury(request.message_id, {
            'original_stream': self._stream, 'original_id': request.message_id,
            'trace_id': request.trace_id, 'error': error, 'attempt': request.tries,
            'data': json.dumps(dict(request.data)), 'time': repr(time.time())})


def _states_to_claimed(state: State) -> list[State]:
    """Return the states through which a worker claims an operation in `state`."""
    path = packaged_graph('operation').path(state.value.lower(), 'claimed')
    return [State(step.target.upper()) for step in path or ()] or [State.RECLAIMED, State.CLAIMED]


async def submit(
    ledger: Ledger, stream: str, data: Mapping[str, str], trace_id: str = ''
) -> str:
    """Add a request and return its trace id; of requests with the same trace id, one is done."""
    trace_id = trace_id or uuid7()
    await ledger.submit(stream, {**data, 'trace_id': trace_id})
    return trace_id


def uuid7() -> str:
    """Return a new trace id: a UUIDv7, which sorts by its creation time (ms)."""
    number = int(time.time() * 1000) << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=number & ~(0x3 << 62) | 0x2 << 62).hex
