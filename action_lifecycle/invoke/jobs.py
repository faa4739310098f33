# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Jobs, and the base class of engines with their queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import heapq
import itertools
import logging
import random
import threading
import time
from typing import Any, NamedTuple, Optional, TYPE_CHECKING

from .wire import pack, WireError
from ..documents.errors import LifecycleError
from ..lifecycle.back_off import back_off

if TYPE_CHECKING:
    from typing_extensions import Self  # in typing from Python 3.11 on

Names = Mapping[str, Any]
CLOSED = 'the engine was closed'

_LOG = logging.getLogger(__name__)


class Outcome(NamedTuple):
    """The result of a task: a value, or an error."""

    value: Any
    error: str = ''


class Job(NamedTuple):
    """
    One task for an engine.

    `names`: `actor_input` and other names for templates. Without `call`, the value is the rendered
    `input`. If `wanted()` is false, the result is not needed any more. A failed job is retried up
    to `retries` times, after 1, 2, 4… 60 s, minus up to 20 %.
    """

    call: str
    input: Any  # noqa: A003
    names: Names
    time_limit: Optional[float]
    wanted: Callable[[], bool]
    reply: Callable[[Outcome], None]
    retries: int = 0


class Attempt(NamedTuple):
    """One attempt at a job, due at steady time `due` (s), after `failures` failures."""

    due: float
    number: int  #: unique per engine
    failures: int
    job: Job


class Engine:
    """
    Performs jobs in other processes; each job gets at least one reply, from another thread.

    It must be closed, for example by `with engine:`. The threads of a subclass take attempts from
    the queue until it is closed, and finish each of them.
    """

    def __init__(self, time_limit: float, *threads: Callable[[], None]) -> None:
        self._time_limit = time_limit
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._attempts: list[Attempt] = []  # a heap
        self._numbers = itertools.count()
        self._threads = [threading.Thread(target=target, name='invoke', daemon=True)
                         for target in threads]

    def submit(self, job: Job) -> None:
        """Queue a job; does not block."""
        with self._changed:
            if self._closed.is_set():
                raise LifecycleError('the engine is closed')
            if not self._threads[0].ident:
                for thread in self._threads:
                    thread.start()
            self._queue(job, 0, 0.0)

    def close(self) -> None:
        """Stop all processes; unfinished jobs fail."""
        with self._changed:
            if self._closed.is_set():
                return
            self._closed.set()
            self._changed.notify_all()
        self._stop()
        for thread in self._threads:
            if thread.ident and thread is not threading.current_thread():
                thread.join()
        for attempt in self._attempts:
            self._reply(attempt.job, Outcome(None, CLOSED))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _stop(self) -> None:
        """Interrupt the running attempts when the engine is closed."""

    def _take(self) -> Attempt | None:
        """Wait for an attempt that is due and wanted; returns None after `close`."""
        with self._changed:
            while not self._closed.is_set():
                wait = self._attempts[0].due - time.monotonic() if self._attempts else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                elif (attempt := heapq.heappop(self._attempts)).job.wanted():
                    return attempt
        return None

    def _message(self, job: Job) -> bytes:
        """Return the message of a job to a worker process; raises WireError."""
        limit = self._time_limit if job.time_limit is None else job.time_limit
        try:
            return pack({'call': job.call, 'input': job.input, 'names': dict(job.names),
                         'time_limit': limit})
        except WireError as error:
            raise WireError(f'its input is refused: {error}') from None

    def _finish(self, attempt: Attempt, outcome: Outcome) -> None:
        """Reply to a job, or queue it again if it failed and retries are left."""
        job, failures = attempt.job, attempt.failures + 1
        if outcome.error and failures <= job.retries:
            with self._changed:
                if not self._closed.is_set():
                    self._queue(
                        job, failures, back_off(failures, 1.0, 60.0) * random.uniform(0.8, 1.0))
                    return
        self._reply(job, outcome)

    def _reply(self, job: Job, outcome: Outcome) -> None:
        try:
            job.reply(outcome)
        except Exception:
            _LOG.exception('the reply to a task failed')

    def _queue(self, job: Job, failures: int, delay: float) -> None:
        heapq.heappush(self._attempts, Attempt(
            time.monotonic() + delay, next(self._numbers), failures, job))
        self._changed.notify_all()  # the first attempt of the queue may have changed
