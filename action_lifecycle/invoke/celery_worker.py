# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A Celery worker for tasks of invoker states: `python3 -m action_lifecycle.invoke.celery_worker`.

Messages are acknowledged after the job is done (acks late), so a job that a killed worker had not
started is delivered again after the visibility timeout. Tasks run in the processes of a
`LocalEngine`, one for each thread.

Celery also delivers a message again if the task takes longer than the visibility timeout or the
connection is lost, which would run the task twice. Therefore a worker changes the record of a job
from `SENT` to `STARTED`, with a token of its own, in the transaction that takes the lease on it;
only one worker can do so, and the others ignore the message. The worker renews the lease until the
task ends; if the lease lapses, the robot treats the worker as lost. A task is killed if its record
does not have the token any more, since the robot deletes the record of a job that is not wanted.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import queue
import time
from typing import Any
import uuid

from .celery_app import LEASE, lease_key, QUEUE, RETAINED, SENT, TASK, worker_app
from .jobs import Job, Outcome
from .local import LocalEngine
from .wire import pack, unpack
from ..documents.errors import LifecycleError
from ..fleet.backends.redis.connection import server_errors

BROKER = 'ACTION_LIFECYCLE_BROKER'
_RENEW = 1.0  # period (s) of renewals of a lease

_LOG = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    """Run a worker until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__, prog='celery_worker')
    parser.add_argument('--broker', default=os.environ.get(BROKER, ''),
                        help=f'redis:// or unix:// URL without a password (default: ${BROKER})')
    parser.add_argument('--concurrency', type=int, default=2, help='tasks at the same time')
    parser.add_argument('--redeliver-after', type=float, default=60.0, metavar='S',
                        help='visibility timeout: seconds after which another worker gets a job '
                        'that a lost one has not begun')
    parser.add_argument('--log-level', default='warning')
    options = parser.parse_args(arguments)
    if not options.broker:
        parser.error(f'--broker or {BROKER} has to name a Redis server')
    app = worker_app(options.broker, options.redeliver_after)
    with LocalEngine(workers=options.concurrency) as engine:
        def perform(task: Any, message: str) -> str:
            return _perform(task, message, engine)
        app.task(bind=True, name=TASK, throws=(LifecycleError,))(perform)
        app.worker_main([
            'worker', '--pool=threads', f'--concurrency={options.concurrency}',
            f'--queues={QUEUE}', f'--loglevel={options.log_level}', '--without-gossip',
            '--without-mingle', f'--hostname=action_lifecycle-{os.getpid()}@%h'])
    return 0


def _perform(task: Any, message: str, engine: LocalEngine) -> str:
    """Perform a job if it is still wanted and was not started before; raises its error."""
    from celery.exceptions import Ignore  # type: ignore[import-untyped]
    record = _Record(task.backend, task.request.id)
    if not record.claim():
        raise Ignore
    outcome = _outcome(record, unpack(message.encode()), engine)
    if outcome is None or not record.is_held():
        record.release()
        raise Ignore
    if outcome.error:
        raise LifecycleError(outcome.error)
    return pack(outcome.value).decode()  # the lease lapses when Celery has stored the result


def _outcome(record: _Record, data: Any, engine: LocalEngine) -> Outcome | None:
    """Perform a job, renewing its lease; None if it was stopped since it is not wanted."""
    done: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()
    wanted = True
    engine.submit(Job(data['call'], data['input'], data['names'], data['time_limit'],
                      lambda: wanted, done.put, dropped=lambda: done.put(None)))
    while True:
        try:
            return done.get(timeout=_RENEW)
        except queue.Empty:
            with contextlib.suppress(*server_errors()):  # retried in the next period
                record.renew()
                wanted = wanted and record.is_held()


class _Record:
    """The record of a job, and the lease of this worker on it."""

    def __init__(self, backend: Any, number: str) -> None:
        self._backend = backend
        self._number = number
        self._key = backend.get_key_for_task(number)
        self._lease = lease_key(number)
        self._token = uuid.uuid4().hex

    def claim(self) -> bool:
        """
        Start the job and take the lease; False if it was started, or is not wanted.

        Waits until the server can be reached. If it refuses, the robot sends a new message.
        """
        while True:
            try:
                return bool(self._backend.client.transaction(
                    self._start, self._key, value_from_callable=True))
            except server_errors() as error:
                if not self._backend.exception_safe_to_retry(error):
                    _LOG.warning('job %s is not started: %s', self._number, error)
                    return False
                time.sleep(_RENEW)

    def _start(self, pipe: Any) -> bool:
        found = pipe.get(self._key)
        record = self._backend.decode_result(found) if found else {'status': None}
        if record['status'] != SENT:
            return self._has_token(record)  # a try that seemed to fail may be done
        started = self._backend.encode({**record, 'status': 'STARTED', 'result': self._token})
        pipe.multi()
        pipe.set(self._lease, self._token, px=round(LEASE * 1000))
        pipe.set(self._key, started, ex=RETAINED)
        pipe.publish(self._key, started)
        return True

    def _has_token(self, record: Any) -> bool:
        return bool(record['status'] == 'STARTED' and record['result'] == self._token)

    def is_held(self) -> bool:
        """Return whether the job is still that of this worker."""
        return self._has_token(self._backend.get_task_meta(self._number, cache=False))

    def renew(self) -> None:
        self._backend.client.set(self._lease, self._token, px=round(LEASE * 1000))

    def release(self) -> None:
        with contextlib.suppress(*server_errors()):  # it lapses
            self._backend.client.delete(self._lease)


if __name__ == '__main__':
    try:
        raise SystemExit(main())
    except LifecycleError as error:
        raise SystemExit(f'celery_worker: {error}') from None
