# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A Celery worker for tasks of invoker states: `python3 -m action_lifecycle.invoke.celery_worker`.

Messages are acknowledged after the job is done (acks late), so a job that a killed worker had not
started is delivered again after the visibility timeout. Tasks run in the processes of a
`LocalEngine`, one for each thread.

Celery also delivers a message again if the task takes longer than the visibility timeout or the
connection is lost, which would run the task twice. Therefore a worker starts a job only if it gets
the lease on it and its record is `SENT`. It renews the lease until the task ends; if the lease
lapses, the robot treats the worker as lost.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import time
from typing import Any

from .celery_app import LEASE, lease_key, QUEUE, SENT, TASK, worker_app
from .jobs import Job, Outcome
from .local import LocalEngine
from .wire import pack, unpack
from ..documents.errors import LifecycleError
from ..fleet.backends.redis.connection import server_errors

BROKER = 'ACTION_LIFECYCLE_BROKER'
_RENEW = 1.0  # period (s) of renewals of a lease


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
    backend, number = task.backend, task.request.id
    lease = lease_key(number)

    def status() -> Any:
        return backend.get_task_meta(number, cache=False)['status']

    # A lease without a start: its worker is about to start the job, or was killed before.
    while status() == SENT and not backend.client.set(lease, '', nx=True, px=round(LEASE * 1000)):
        time.sleep(_RENEW)
    if status() != SENT:
        raise Ignore
    task.update_state(state='STARTED')
    data = unpack(message.encode())
    done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    engine.submit(Job(data['call'], data['input'], data['names'], data['time_limit'],
                      lambda: True, done.put))
    while True:
        try:
            outcome = done.get(timeout=_RENEW)
            break
        except queue.Empty:
            with contextlib.suppress(*server_errors()):  # retried in the next period
                backend.client.set(lease, '', px=round(LEASE * 1000))
    if status() != 'STARTED':
        raise Ignore
    if outcome.error:
        raise LifecycleError(outcome.error)
    return pack(outcome.value).decode()


if __name__ == '__main__':
    try:
        raise SystemExit(main())
    except LifecycleError as error:
        raise SystemExit(f'celery_worker: {error}') from None
