# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The Celery engine: tasks in workers on any machine with access to the same broker."""

from __future__ import annotations

from dataclasses import dataclass, field
import logging
import time
import uuid

from .celery_app import KEPT, LEASE, lease_key, QUEUE, robot_app, SENT, TASK
from .jobs import Attempt, CLOSED, Engine, Outcome
from .wire import unpack, WireError
from ..documents.errors import LifecycleError
from ..fleet.backends.redis.connection import server_errors

POLL_PERIOD = 1.0
"""Polling period (s) of the jobs that are not done."""
_PAUSE = 0.5  # delay (s) between tries to reach the broker

_LOG = logging.getLogger(__name__)


@dataclass
class _Sent:
    """An attempt without a result; `seen`: steady time (s) at which it was last known alive."""

    attempt: Attempt
    begun: bool = False
    seen: float = field(default_factory=time.monotonic)


class CeleryEngine(Engine):
    """
    Sends jobs to the Celery workers at the Redis server `url`.

    The workers perform tasks with a `LocalEngine`, so the results are the same. A job fails if its
    worker is gone, if the broker has lost it, or if for `queue_limit` s no worker takes it or the
    broker can't be reached. So every job ends.

    In Celery, a job stays `PENDING` or `STARTED` if its worker is killed or the broker loses it,
    and `revoke` only reaches workers that are running. Therefore the engine polls the records and
    leases of its jobs, and deletes the record of a job that is no longer wanted.
    """

    def __init__(self, url: str, time_limit: float = 60.0, queue_limit: float = 600.0) -> None:
        if time_limit <= 0 or queue_limit <= 0:
            raise LifecycleError('a Celery engine needs time limits > 0')
        super().__init__(time_limit, self._send_all, self._receive_all)
        self._app = robot_app(url)
        self._backend = self._app.backend
        self._queue_limit = queue_limit
        self._id = uuid.uuid4().hex
        self._jobs: dict[str, _Sent] = {}
        from kombu.exceptions import OperationalError
        self._errors = server_errors(OperationalError)

    def close(self) -> None:
        """Withdraw jobs that no worker has started; all unfinished jobs fail."""
        super().close()
        try:
            for number in list(self._jobs):
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
                self._send(attempt, self._message(attempt.job).decode())
            except WireError as error:
                self._reply(attempt.job, Outcome(None, str(error)))

    def _send(self, attempt: Attempt, message: str) -> None:
        """Send an attempt as soon as the broker can be reached, if it is still wanted."""
        number = f'{self._id}-{attempt.number}'
        stored = False
        while attempt.job.wanted():
            try:
                if not stored:
                    self._backend.store_result(number, None, SENT)
                    self._jobs[number] = _Sent(attempt)
                    stored = True
                if number in self._jobs:  # a message whose sending seemed to fail may be done
                    self._app.send_task(TASK, [message], task_id=number, queue=QUEUE, retry=False,
                                        argsrepr=attempt.job.call)
                return
            except self._errors as error:
                _LOG.debug('not sent yet: %s', error)
            is_late = time.monotonic() - attempt.due > self._queue_limit
            if is_late or self._closed.wait(_PAUSE):
                if not stored:
                    outcome = self._late(False) if is_late else Outcome(None, CLOSED)
                    self._reply(attempt.job, outcome)
                return

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
        try:
            found = self._backend.decode_result(record)
            state, result = found['status'], found['result']
            if state == 'SUCCESS':
                outcome = Outcome(unpack(result.encode()))
            elif state in (SENT, 'STARTED'):
                sent.begun = state == 'STARTED'
                return
            else:
                outcome = Outcome(None, str(result) or type(result).__name__)
        except WireError as error:
            outcome = Outcome(None, str(error))
        except Exception as error:  # decoders may raise any exception
            outcome = Outcome(None, f"a message can't be read: {error}")
        self._end(number, outcome)
        self._backend.forget(number)

    def _poll(self, reached: bool) -> None:
        """End jobs that will get no result; process results whose message was missed."""
        for number, sent in list(self._jobs.items()):
            if not sent.attempt.job.wanted():
                self._backend.forget(number)
                self._jobs.pop(number, None)
        jobs = dict(self._jobs)
        if not jobs:
            return
        keys = [self._backend.get_key_for_task(number) for number in jobs]
        pipe = self._backend.client.pipeline(transaction=False)
        pipe.mget([*keys, *map(lease_key, jobs)])
        for key in keys:
            pipe.expire(key, KEPT)
        found = pipe.execute()[0]
        now = time.monotonic()
        for (number, sent), record, lease in zip(jobs.items(), found, found[len(jobs):]):
            if lease is not None or not reached:  # leases could not be renewed
                sent.seen = now
            if record is None:
                self._end(number, Outcome(None, 'the broker has lost it'))
                continue
            self._received(number, record)
            if sent.begun and now - sent.seen > LEASE:
                self._end(number, Outcome(None, 'its worker is gone'))
                self._backend.forget(number)
        self._give_up_late(True)

    def _give_up_late(self, reached: bool) -> None:
        now = time.monotonic()
        for number, sent in list(self._jobs.items()):
            is_late = now - sent.seen > self._queue_limit
            if is_late and self._jobs.pop(number, None) is not None:
                self._reply(sent.attempt.job, self._late(reached))

    def _late(self, reached: bool) -> Outcome:
        why = 'no worker takes it' if reached else 'the broker can not be reached'
        return Outcome(None, f'{why}, for {self._queue_limit:g} s')

    def _end(self, number: str, outcome: Outcome) -> None:
        sent = self._jobs.pop(number, None)
        if sent is not None:
            self._finish(sent.attempt, outcome)
