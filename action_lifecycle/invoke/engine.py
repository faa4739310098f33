# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The base class of engines, with their queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import heapq
import itertools
import logging
import random
import threading
import time
from typing import TYPE_CHECKING

from .held_jobs import HeldJobs
from .jobs import Attempt, CLOSED, Job, LOST, max_retries, Outcome
from .wire import pack, WireError
from ..documents.errors import LifecycleError
from ..lifecycle.back_off import back_off

if TYPE_CHECKING:
    from typing_extensions import Self  # in typing from Python 3.11 on

_LOG = logging.getLogger(__name__)


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
        self._keep = False
        self._held = HeldJobs()
        self._attempts: list[Attempt] = []  # a heap
        self._numbers = itertools.count()
        self._threads = [threading.Thread(target=target, name='invoke', daemon=True)
                         for target in threads]

    def submit(self, job: Job) -> None:
        """Queue a job; does not block."""
        self._begin(self._held.hold(job), 0)

    def _begin(self, job: Job, failures: int) -> None:
        with self._changed:
            if self._closed.is_set():
                raise LifecycleError('the engine is closed')
            self._start()
            self._queue(job, failures, 0.0)

    def _start(self) -> None:
        """Start the threads with the first job."""
        if not self._threads[0].ident:
            for thread in self._threads:
                thread.start()

    def resume(self, job: Job, sent: bool) -> None:
        """
        Go on with a job that was submitted before, by its `id`; does not block.

        A job that this engine has, or whose result it keeps, calls back to this one from now on.
        Otherwise it is a job of an earlier process. `sent`: whether `job.sent()` has been called.
        A job that was sent and can't be found is repeated if it has `retries`; otherwise it fails.
        """
        found, outcome = self._held.rebind(job)
        if not found:
            self._find(self._held.hold(job), sent)
        elif outcome is not None:
            self._reply(job, outcome)

    def _find(self, job: Job, sent: bool) -> None:
        """Go on with a job of an earlier process."""
        if sent:
            self._finish(Attempt(0.0, 0, 0, job), Outcome(None, LOST), lost=True)
        else:
            self._begin(job, 0)

    def withdraw(self) -> None:
        """Drop the jobs that are not wanted any more and wait for a worker."""
        with self._changed:
            attempts, self._attempts = self._attempts, []
            unwanted: list[Attempt] = []
            for attempt in attempts:
                (self._attempts if attempt.job.wanted() else unwanted).append(attempt)
            heapq.heapify(self._attempts)
        for attempt in unwanted:
            attempt.job.dropped()

    def release(self, jobs: Iterable[Job]) -> None:
        """Say that the results of jobs with `keep` are not needed any more; does not block."""
        self._held.release(jobs)

    def close(self, *, keep: bool = False) -> None:
        """
        Stop all processes; unfinished jobs fail.

        `keep`: jobs with an id get no reply, and stay where a later process can resume them.
        """
        with self._changed:
            if self._closed.is_set():
                return
            self._keep = keep
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
        while (attempt := self._next()) is not None and not attempt.job.wanted():
            attempt.job.dropped()
        return attempt

    def _next(self) -> Attempt | None:
        """Wait for an attempt that is due; returns None after `close`."""
        with self._changed:
            while not self._closed.is_set():
                wait = self._attempts[0].due - time.monotonic() if self._attempts else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._attempts)
                self._changed.wait(wait)
        return None

    def _message(self, job: Job) -> bytes:
        """Return the message of a job to a worker process; raises WireError."""
        limit = self._time_limit if job.time_limit is None else job.time_limit
        try:
            return pack({'call': job.call, 'input': job.input, 'names': dict(job.names),
                         'time_limit': limit})
        except WireError as error:
            raise WireError(f'its input is refused: {error}') from None

    def _finish(self, attempt: Attempt, outcome: Outcome, lost: bool = False) -> None:
        """Reply to a job, or queue it again if it failed or was lost and retries are left."""
        job, failures = attempt.job, attempt.failures + 1
        if outcome.error and failures <= (max_retries(job) if lost else job.retries):
            with self._changed:
                if not self._closed.is_set():
                    self._start()
                    self._queue(
                        job, failures, back_off(failures, 1.0, 60.0) * random.uniform(0.8, 1.0))
                    return
        self._reply(job, outcome)

    def _reply(self, job: Job, outcome: Outcome) -> None:
        if self._keep and job.id and self._closed.is_set():
            return
        try:
            job.reply(outcome)
        except Exception:
            _LOG.exception('the reply to a task failed')

    def _queue(self, job: Job, failures: int, delay: float) -> None:
        heapq.heappush(self._attempts, Attempt(
            time.monotonic() + delay, next(self._numbers), failures, job))
        self._changed.notify_all()  # the first attempt of the queue may have changed
