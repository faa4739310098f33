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
A Celery worker for tasks of invoker states: `python3 -m action_lifecycle.invoke.celery_worker`.

It acknowledges a message only after the job is done (acks late), so a job survives its worker; its
`retries` decide whether it may be performed again. Tasks run in the processes of a `LocalEngine`,
one for each thread.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import time
from typing import Any

from .broker import Broker, BrokerError, BUSY, CeleryBroker, GONE, KEPT, LEASE, QUEUE, RENEW, TASK
from .local import LocalEngine
from .run import back_off, Job, Outcome
from .wire import pack, unpack, WireError
from ..engine.errors import LifecycleError

BROKER = 'ACTION_LIFECYCLE_BROKER'
LOST = 'its worker is gone'


def main(arguments: list[str] | None = None) -> int:
    """Run a worker until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__, prog='celery_worker')
    parser.add_argument('--broker', default=os.environ.get(BROKER, ''),
                        help=f'redis:// or unix:// URL without a password (default: ${BROKER})')
    parser.add_argument('--concurrency', type=int, default=2, help='tasks at the same time')
    parser.add_argument('--redeliver-after', type=float, default=60.0, metavar='S',
                        help='seconds after which another worker takes the job of a lost one')
    parser.add_argument('--log-level', default='warning')
    options = parser.parse_args(arguments)
    if not options.broker:
        parser.error(f'--broker or {BROKER} has to name a Redis server')
    app = CeleryBroker(options.broker, options.redeliver_after).app
    with LocalEngine(workers=options.concurrency) as engine:
        worker = _Worker(Broker(options.broker), engine)

        def perform(task: Any, job: str) -> None:
            worker.perform(task, job)
        app.task(bind=True, name=TASK, max_retries=None)(perform)
        app.worker_main([
            'worker', '--pool=threads', f'--concurrency={options.concurrency}',
            f'--queues={QUEUE}', f'--loglevel={options.log_level}', '--without-gossip',
            '--without-mingle', f'--hostname=action_lifecycle-{os.getpid()}@%h'])
    return 0


class _Worker:
    """Performs the jobs that messages name."""

    def __init__(self, broker: Broker, engine: LocalEngine) -> None:
        self._broker = broker
        self._engine = engine

    def perform(self, task: Any, number: str) -> None:
        """Perform a job if it is still wanted; if another worker has it, try again later."""
        tries = self._broker.claim(number)
        if tries == GONE:
            return
        if tries == BUSY:
            raise task.retry(countdown=LEASE)
        job = self._broker.get(number)
        if not job:
            self._broker.release(number)
            return
        if tries > int(job['retries']) + 1:
            answer = pack({'error': LOST})
        else:
            outcome = self._outcome(number, job['message'])
            if outcome.error and tries <= int(job['retries']):
                self._broker.release(number)
                raise task.retry(countdown=back_off(tries))
            answer = _packed(outcome)
        self._reply(number, job['replies'],
                    json.dumps({'job': number, 'answer': answer.decode()}))

    def _reply(self, number: str, replies: str, text: str) -> None:
        deadline = time.monotonic() + KEPT
        while True:
            try:
                self._broker.reply(number, replies, text)
                return
            except BrokerError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(RENEW)

    def _outcome(self, number: str, message: str) -> Outcome:
        """Perform a job in the process pool, and renew the lease meanwhile."""
        try:
            data = unpack(message.encode())
        except WireError as error:
            return Outcome(None, str(error))
        done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._engine.submit(Job(data['call'], data['input'], data['names'], data['time_limit'],
                                lambda: True, done.put))
        while True:
            try:
                return done.get(timeout=RENEW)
            except queue.Empty:
                with contextlib.suppress(BrokerError):  # the broker may be back for the reply
                    self._broker.renew(number)


def _packed(outcome: Outcome) -> bytes:
    try:
        return pack({'error': outcome.error} if outcome.error else {'value': outcome.value})
    except WireError as error:
        return pack({'error': f'its answer is refused: {error}'})


if __name__ == '__main__':
    try:
        raise SystemExit(main())
    except LifecycleError as error:
        raise SystemExit(f'celery_worker: {error}') from None
