# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The Celery engine: tasks in workers on any machine with access to the same broker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
import logging
import queue
import time
import uuid

from .celery_app import KEPT, LEASE, lease_key, QUEUE, RETAINED, robot_app, SENT, TASK
from .engine import Engine
from .jobs import Attempt, CLOSED, Job, max_retries, Outcome
from .wire import unpack, WireError
from ..documents.errors import LifecycleError
from ..fleet.backends.redis.connection import server_errors

POLL_PERIOD = 1.0
"""Polling period (s) of the jobs that are not done."""
RESEND = 10.0
"""Time (s) after which the message of a job that no worker has started is taken for lost."""
_SENT, _NOT_SENT = -1, -2  # `failures` of an attempt that is to be looked up
_LOST = 'the broker has lost it'
_PAUSE = 0.5  # delay (s) between tries to reach the broker

_LOG = logging.getLogger(__name__)


@dataclass
class _Sent:
    """
    An attempt without a result.

    Steady times (s): `seen`: at which it was last known alive; `posted`: of its last message,
    which is not the first one if `again`.
    """

    attempt: Attempt
    begun: bool = False
    seen: float = field(default_factory=time.monotonic)
    posted: float = field(default_factory=time.monotonic)
    again: bool = False


class CeleryEngine(Engine):
    """
    Sends jobs to the Celery workers at the Redis server `url`.

    The workers perform tasks with a `LocalEngine`, so the results are the same. A job fails if its
    worker is gone, if the broker has lost it, or if for `queue_limit` s no worker takes it or the
    broker can't be reached. So every job ends.

    In Celery, a job stays `PENDING` or `STARTED` if its worker is killed or the broker loses it,
    and `revoke` only reaches workers that are running. Therefore the engine polls the records and
    leases of its jobs, and deletes the record of a job that is no longer wanted. A message is lost
    if its worker is killed between taking it and noting that it has it, or if the broker forgets
    its last writes: the engine sends it again, and workers ignore what they get twice.

    `name`: unique name of the engine. Another process with the same name can resume the jobs that
    have an id, within `RETAINED` s.
    """

    def __init__(
        self, url: str, time_limit: float = 60.0, queue_limit: float = 600.0, name: str = '',
    ) -> None:
        if time_limit <= 0 or queue_limit <= 0:
            raise LifecycleError('a Celery engine needs time limits > 0')
        super().__init__(time_limit, self._send_all, self._receive_all)
        self._app = robot_app(url)
        self._backend = self._app.backend
        self._queue_limit = queue_limit
        self._id = name or uuid.uuid4().hex
        self._jobs: dict[str, _Sent] = {}
        self._stopping: dict[str, Job] = {}  # not wanted, and maybe not stopped yet
        self._given_up: set[str] = set()  # late; their records are to be deleted
        self._released: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._polled = 0.0  # steady time (s) of the last poll
        self._taken = 0.0  # the latest `posted` of the jobs that workers have started
        from celery.exceptions import WorkerLostError  # type: ignore[import-untyped]
        from kombu.exceptions import OperationalError
        self._worker_lost = WorkerLostError
        self._errors = server_errors(OperationalError)

    def _find(self, job: Job, sent: bool) -> None:
        """Go on with a job of an earlier process; `sent`: it is lost if it has no record."""
        self._begin(job, _SENT if sent else _NOT_SENT)

    def release(self, jobs: Iterable[Job]) -> None:
        """Let the records of jobs with `keep` expire after `KEPT` s."""
        jobs = list(jobs)
        super().release(jobs)
        for job in jobs:
            self._released.put(job)

    def close(self, *, keep: bool = False) -> None:
        """Withdraw jobs that no worker has started; unfinished jobs fail, see `Engine.close`."""
        super().close(keep=keep)
        try:
            for number, sent in list(self._jobs.items()):
                if not (keep and sent.attempt.job.id):
                    self._backend.forget(number)
        except self._errors as error:
            _LOG.warning('jobs stay in the broker for an hour: %s', error)
        for number in list(self._jobs):
            self._end(number, Outcome(None, CLOSED))
        self._backend.client.close()
        self._app.close()

    # Sending thread

    def _send_all(self) -> None:
        while (attempt := self._take()) is not None:
            try:
                if attempt.failures < 0:
                    self._look_up(attempt, self._message(attempt.job).decode())
                else:
                    self._send(attempt, self._message(attempt.job).decode())
            except LifecycleError as error:  # its input, or the record of its sending, is refused
                self._reply(attempt.job, Outcome(None, str(error)))

    def _number(self, attempt: Attempt) -> str:
        """Return the task id of an attempt; a later process makes the same one."""
        return self._number_of(attempt.job, attempt.failures) if attempt.job.id else \
            f'{self._id}-{attempt.number}'

    def _number_of(self, job: Job, failures: int) -> str:
        return f'{self._id}-{job.id}.{failures}'

    def _look_up(self, attempt: Attempt, message: str) -> None:
        """Follow the last attempt that has a record; without one, send the job or report it."""
        job = attempt.job
        sent = attempt.failures == _SENT
        tries = [attempt._replace(failures=failures)
                 for failures in range(max_retries(job), -1, -1)]
        keys = [self._backend.get_key_for_task(self._number(one)) for one in tries]
        while job.wanted():
            try:
                found = self._backend.client.mget(keys)
            except self._errors as error:
                _LOG.debug('not looked up yet: %s', error)
                if self._gives_up(attempt, False):
                    return
                continue
            for one, record in zip(tries, found):
                if record is not None:
                    number = self._number(one)
                    self._jobs[number] = _Sent(one)
                    if not sent:
                        self._tell_sent(number, job)
                    self._received(number, record)
                    if number in self._jobs and not self._jobs[number].begun:
                        self._send(one, message, stored=True)  # it may not have been sent
                    return
            first = attempt._replace(failures=0)
            if sent:
                self._finish(first, Outcome(None, _LOST), lost=True)
            else:
                self._send(first, message)
            return
        job.dropped()

    def _send(self, attempt: Attempt, message: str, stored: bool = False) -> None:
        """
        Send an attempt as soon as the broker can be reached, if it is still wanted.

        A message that arrives twice has no effect. `stored`: the job has a record.
        """
        number = self._number(attempt)
        while attempt.job.wanted():
            try:
                if not stored:
                    self._backend.store_result(number, None, SENT)
                    self._jobs[number] = _Sent(attempt)
                    stored = True
                    self._tell_sent(number, attempt.job)
                if number in self._jobs:  # a message whose sending seemed to fail may be done
                    self._post(number, attempt.job, message)
                return
            except self._errors as error:
                _LOG.debug('not sent yet: %s', error)
            if self._gives_up(attempt, stored):
                return
        if not stored:  # else the poll drops it
            attempt.job.dropped()

    def _post(self, number: str, job: Job, message: str) -> None:
        self._app.send_task(TASK, [message], task_id=number, queue=QUEUE, retry=False,
                            argsrepr=job.call)

    def _tell_sent(self, number: str, job: Job) -> None:
        try:
            job.sent()
        except Exception:
            self._jobs.pop(number, None)
            self._backend.forget(number)
            raise

    def _gives_up(self, attempt: Attempt, stored: bool) -> bool:
        """Wait for the broker; True if the engine is closed, or it was away for too long."""
        is_late = time.monotonic() - attempt.due > self._queue_limit
        if not (is_late or self._closed.wait(_PAUSE)):
            return False
        if not stored:
            self._reply(attempt.job, self._late(False) if is_late else Outcome(None, CLOSED))
        return True

    # Receiving thread

    def _receive_all(self) -> None:
        results = self._backend.client.pubsub(ignore_subscribe_messages=True)
        prefix = self._backend.get_key_for_task('-').decode()[:-1]
        reached = True
        poll_at = 0.0
        while not self._closed.is_set():
            try:
                if not results.subscribed:
                    results.psubscribe(f'{prefix}{self._id}-*')
                if (message := results.get_message(timeout=_PAUSE)) is not None:
                    self._received(message['channel'].decode()[len(prefix):], message['data'])
                if time.monotonic() >= poll_at or not reached:
                    self._poll(reached)
                    poll_at = time.monotonic() + POLL_PERIOD
                reached = True
            except Exception as error:
                if reached:
                    _LOG.warning('broker: %s', error,
                                 exc_info=not isinstance(error, self._errors))
                reached = False
                results.reset()
                self._give_up_late(reached)
                self._closed.wait(_PAUSE)
        results.close()

    def _received(self, number: str, record: bytes) -> None:
        """Process the record of a job: its state, and its result if it is done."""
        sent = self._jobs.get(number)
        if sent is None:
            return
        lost = False
        try:
            found = self._backend.decode_result(record)
            state, result = found['status'], found['result']
            if state == SENT:
                sent.begun = False
                return
            if not sent.again:
                self._taken = max(self._taken, sent.posted)
            if state == 'STARTED':
                if not sent.begun:  # its lease is new, and may end before the next poll
                    sent.begun, sent.seen = True, time.monotonic()
                return
            if state == 'SUCCESS':
                outcome = Outcome(unpack(result.encode()))
            else:
                outcome = Outcome(None, str(result) or type(result).__name__)
                lost = isinstance(result, self._worker_lost)
        except WireError as error:
            outcome = Outcome(None, str(error))
        except Exception as error:  # decoders may raise any exception
            outcome = Outcome(None, f"a message can't be read: {error}")
        self._end(number, outcome, lost)
        if not sent.attempt.job.keep:
            self._backend.forget(number)

    def _poll(self, reached: bool) -> None:
        """End jobs that will get no result; process results whose message was missed."""
        self._stop_unwanted()
        self._release()
        jobs = dict(self._jobs)
        if not jobs:
            return
        keys = [self._backend.get_key_for_task(number) for number in jobs]
        pipe = self._backend.client.pipeline(transaction=False)
        pipe.llen(QUEUE)
        pipe.mget([*keys, *map(lease_key, jobs)])
        for key, sent in zip(keys, jobs.values()):
            pipe.expire(key, RETAINED if sent.attempt.job.id else KEPT)
        waiting, found, *_ = pipe.execute()
        now = time.monotonic()
        # After a time in which leases could not be renewed, or were not polled, they count anew.
        is_first = not reached or now - self._polled > LEASE
        self._polled = now
        for (number, sent), record, lease in zip(jobs.items(), found, found[len(jobs):]):
            if lease is not None or is_first and sent.begun or not reached:
                sent.seen = now
            if record is None:
                self._end(number, Outcome(None, _LOST), lost=True)
                continue
            self._received(number, record)
            if number in self._jobs and sent.begun and now - sent.seen > LEASE:
                error = 'its worker is gone'
                if sent.attempt.job.keep:
                    self._backend.store_result(number, self._worker_lost(error), 'FAILURE')
                else:
                    self._backend.forget(number)
                self._end(number, Outcome(None, error), lost=True)
            elif number in self._jobs and not sent.begun:
                self._send_again(number, sent, now, is_empty=not waiting)
        self._give_up_late(True)

    def _send_again(self, number: str, sent: _Sent, now: float, is_empty: bool) -> None:
        """Send a new message if workers have taken all messages, or later ones, but not this."""
        if now - sent.posted > RESEND and is_empty or self._taken - sent.posted > RESEND:
            _LOG.info('the message of job %s is sent again', number)
            self._post(number, sent.attempt.job, self._message(sent.attempt.job).decode())
            sent.posted, sent.again = now, True

    def _stop_unwanted(self) -> None:
        """Delete the records of jobs that are not wanted; drop them when no worker has them."""
        for number, sent in list(self._jobs.items()):
            if not sent.attempt.job.wanted():
                self._backend.forget(number)
                self._jobs.pop(number, None)
                self._stopping[number] = sent.attempt.job
        for number in list(self._given_up):
            self._backend.forget(number)
            self._given_up.discard(number)
        if self._stopping:
            leases = self._backend.client.mget(list(map(lease_key, self._stopping)))
            for number, lease in zip(list(self._stopping), leases):
                if lease is None:
                    self._stopping.pop(number).dropped()

    def _release(self) -> None:
        pipe = self._backend.client.pipeline(transaction=False)
        while not self._released.empty():
            job = self._released.get()
            for failures in range(max_retries(job) + 1):
                key = self._backend.get_key_for_task(self._number_of(job, failures))
                pipe.expire(key, KEPT)
        pipe.execute()

    def _give_up_late(self, reached: bool) -> None:
        now = time.monotonic()
        for number, sent in list(self._jobs.items()):
            is_late = now - sent.seen > self._queue_limit
            if is_late and self._jobs.pop(number, None) is not None:
                self._given_up.add(number)
                self._reply(sent.attempt.job, self._late(reached))

    def _late(self, reached: bool) -> Outcome:
        why = 'no worker takes it' if reached else 'the broker can not be reached'
        return Outcome(None, f'{why}, for {self._queue_limit:g} s')

    def _end(self, number: str, outcome: Outcome, lost: bool = False) -> None:
        sent = self._jobs.pop(number, None)
        if sent is not None:
            self._finish(sent.attempt, outcome, lost)
