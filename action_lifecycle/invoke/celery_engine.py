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

"""The Celery engine: tasks in workers on any machine with access to the same broker."""

from __future__ import annotations

from dataclasses import dataclass, field
import json
import logging
import queue
import threading
import time
import uuid

from .broker import Broker, BrokerError, CeleryBroker, LEASE, QUEUE, Seen, SOCKET_LIMIT, TASK
from .run import Engine, Job, Outcome
from .wire import pack, unpack, WireError
from ..engine.errors import LifecycleError

LOOK = 1.0
"""Polling period (s) of the jobs that are not done."""
_PAUSE = 0.5  # delay (s) between tries to reach the broker

_LOG = logging.getLogger(__name__)


@dataclass
class _Sent:
    """A job without a reply; `seen`: steady time (s) at which it was last known to be alive."""

    job: Job
    sent: bool = False
    tries: int = 0
    seen: float = field(default_factory=time.monotonic)


class CeleryEngine(Engine):
    """
    Sends jobs to the Celery workers at the Redis server `url`; replies come from its own thread.

    The workers perform tasks with a `LocalEngine`, so the results are the same. A job fails if its
    worker is gone, if the broker has lost it, or if for `queue_limit` s no worker takes it or the
    broker can't be reached. So every job ends.
    """

    def __init__(self, url: str, time_limit: float = 60.0, queue_limit: float = 600.0) -> None:
        if time_limit <= 0 or queue_limit <= 0:
            raise LifecycleError('a Celery engine needs time limits > 0')
        self._broker = Broker(url)
        self._app = CeleryBroker(url, socket_timeout=SOCKET_LIMIT).app
        self._time_limit = time_limit
        self._queue_limit = queue_limit
        self._id = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._jobs: dict[str, _Sent] = {}
        self._outbox: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._send_all, name='invoke-send', daemon=True),
            threading.Thread(target=self._receive_all, name='invoke-receive', daemon=True)]

    def submit(self, job: Job) -> None:
        """Queue a job and return at once, also if the broker can't be reached."""
        with self._lock:
            if self._closed.is_set():
                raise LifecycleError('the engine is closed')
            if not self._threads[0].ident:
                for thread in self._threads:
                    thread.start()
            number = uuid.uuid4().hex
            self._jobs[number] = _Sent(job)
            self._outbox.put(number)

    def close(self) -> None:
        """Withdraw jobs that no worker has begun; all jobs that are not done fail."""
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            started = bool(self._threads[0].ident)
        self._outbox.put(None)
        for thread in self._threads:
            if started and thread is not threading.current_thread():
                thread.join()
        numbers = list(self._jobs)
        try:
            self._broker.drop(numbers)
        except BrokerError as error:
            _LOG.warning('jobs stay in the broker for an hour: %s', error)
        for number in numbers:
            self._end(number, Outcome(None, 'the engine was closed'))
        self._broker.close()
        self._app.close()

    # -- the thread that sends

    def _send_all(self) -> None:
        while (number := self._outbox.get()) is not None:
            while not self._closed.is_set():
                try:
                    self._send(number)
                    break
                except BrokerError as error:
                    _LOG.debug('not sent yet: %s', error)
                    self._closed.wait(_PAUSE)

    def _send(self, number: str) -> None:
        waiting = self._jobs.get(number)
        if waiting is None or not waiting.job.wanted():
            self._forget(number)
            return
        job = waiting.job
        try:
            message = pack({
                'call': job.call, 'input': job.input, 'names': dict(job.names),
                'time_limit': self._time_limit if job.time_limit is None else job.time_limit})
        except WireError as error:
            self._end(number, Outcome(None, f'its input is refused: {error}'))
            return
        self._broker.put(number, message.decode(), job.retries, self._id)
        from kombu.exceptions import OperationalError
        try:
            self._app.send_task(TASK, [number], queue=QUEUE, retry=False)
        except (OperationalError, OSError) as error:
            raise BrokerError(f'broker: {error}') from error
        waiting.seen = time.monotonic()
        waiting.sent = True

    # -- the thread that receives

    def _receive_all(self) -> None:
        look_at = 0.0
        reached = True
        while not self._closed.is_set():
            try:
                reply = self._broker.await_reply(self._id, _PAUSE)
                while reply is not None:
                    self._received(reply)
                    reply = self._broker.await_reply(self._id, 0)
                if not reached:
                    self._reached_again()
                    reached = True
                if time.monotonic() >= look_at:
                    self._look()
                    look_at = time.monotonic() + LOOK
            except BrokerError as error:
                if reached:
                    _LOG.warning('%s', error)
                reached = False
                self._closed.wait(_PAUSE)
            except Exception:  # of a reply's callback
                _LOG.exception('a reply can not be taken')
            self._give_up(reached)

    def _received(self, text: str) -> None:
        try:
            reply = json.loads(text)
            number, message = str(reply['job']), str(reply['answer'])
        except (ValueError, TypeError, LookupError):
            _LOG.warning('a reply that makes no sense: %.200r', text)
            return
        try:
            answer = unpack(message.encode())
            if not isinstance(answer, dict):
                raise WireError(f"a message can't be read: {message:.200}")
            outcome = Outcome(answer.get('value'), str(answer.get('error', '')))
        except WireError as error:
            outcome = Outcome(None, str(error))
        self._end(number, outcome)

    def _reached_again(self) -> None:
        """Reset the times, since no lease could be renewed while the broker was away."""
        for waiting in list(self._jobs.values()):
            waiting.seen = time.monotonic()

    def _look(self) -> None:
        """Find jobs that will get no reply."""
        for number, waiting in list(self._jobs.items()):
            if not waiting.job.wanted():
                self._broker.drop([number])
                self._forget(number)
        sent = {number: waiting for number, waiting in list(self._jobs.items()) if waiting.sent}
        found = self._broker.look(list(sent))
        while (reply := self._broker.await_reply(self._id, 0)) is not None:  # came meanwhile
            self._received(reply)
        for number, seen in found.items():
            error = self._lost(sent[number], seen)
            if error and number in self._jobs:
                self._broker.drop([number])
                self._end(number, Outcome(None, error))

    def _lost(self, waiting: _Sent, seen: Seen) -> str:
        """Return why a job is lost; '' if it is not."""
        if not seen.exists:
            return 'the broker has lost it'
        now = time.monotonic()
        if seen.leased or seen.tries != waiting.tries:
            waiting.seen, waiting.tries = now, seen.tries
        elif seen.tries > waiting.job.retries and now - waiting.seen > LEASE:
            return 'its worker is gone'
        return ''

    def _give_up(self, reached: bool) -> None:
        now = time.monotonic()
        for number, waiting in list(self._jobs.items()):
            if now - waiting.seen > self._queue_limit:
                why = 'no worker takes it' if reached else 'the broker can not be reached'
                self._end(number, Outcome(None, f'{why}, for {self._queue_limit:g} s'))

    def _end(self, number: str, outcome: Outcome) -> None:
        waiting = self._forget(number)
        if waiting is not None:
            try:
                waiting.job.reply(outcome)
            except Exception:
                _LOG.exception('the reply to a task failed')

    def _forget(self, number: str) -> _Sent | None:
        with self._lock:
            return self._jobs.pop(number, None)
