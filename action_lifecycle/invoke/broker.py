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
The data that robots and Celery workers share in the broker, a Redis server.

A Celery message only has the id of a job. The job is in a hash until it is replied to or no longer
wanted, so a repeated or late message has no effect. The worker of a job holds a lease on it, which
expires soon after the worker ends.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlencode, urlsplit, urlunsplit

import redis

from ..engine.errors import LifecycleError
from ..fleet.redis.connection import connect_blocking

TASK = 'action_lifecycle.invoke.perform'
QUEUE = 'action_lifecycle'
LEASE = 5.0
"""Duration (s) of a lease without renewal."""
RENEW = 1.0
"""Period (s) of renewals."""
KEPT = 3600
"""Time (s) for which a job is kept after its robot is gone."""
SOCKET_LIMIT = 5.0  # timeout (s) of the broker
_PREFIX = 'action_lifecycle:invoke:'

# One atomic step, since a job between two steps would look lost.
_CLAIM = """
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
if not redis.call('SET', KEYS[2], '', 'NX', 'PX', ARGV[1]) then return 0 end
return redis.call('HINCRBY', KEYS[1], 'tries', 1)
"""
_REPLY = """
redis.call('DEL', KEYS[2])
if redis.call('DEL', KEYS[1]) == 1 then
  redis.call('RPUSH', KEYS[3], ARGV[1])
  redis.call('EXPIRE', KEYS[3], ARGV[2])
end
"""
GONE, BUSY = -1, 0
"""Results of a claim that fails; otherwise it is the number of the try."""


class BrokerError(LifecycleError):
    """The broker can't be reached or refuses."""


class Seen(NamedTuple):
    """The state of a job in the broker."""

    exists: bool
    leased: bool
    tries: int


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Convert errors of redis-py and the system to a BrokerError."""
    try:
        yield
    except (redis.RedisError, OSError) as error:
        raise BrokerError(f'broker: {str(error) or type(error).__name__}') from error


class Broker:
    """The jobs in the Redis server at `url`; the password is set as for the ledger."""

    def __init__(self, url: str) -> None:
        self._redis = connect_blocking(url, timeout=SOCKET_LIMIT)
        self._claim = self._redis.register_script(_CLAIM)
        self._reply = self._redis.register_script(_REPLY)

    def put(self, job: str, message: str, retries: int, replies: str) -> None:
        """Store a job; its reply goes to the list `replies`."""
        with explained():
            pipe = self._redis.pipeline(transaction=True)
            pipe.hset(_job(job), mapping={
                'message': message, 'retries': retries, 'replies': replies, 'tries': 0})
            pipe.expire(_job(job), KEPT)
            pipe.execute()

    def get(self, job: str) -> dict[str, str]:
        """Return the fields of a job; empty if it is no longer wanted."""
        with explained():
            return dict(self._redis.hgetall(_job(job)))

    def claim(self, job: str) -> int:
        """Take the lease on a job; returns the number of this try, `GONE` or `BUSY`."""
        with explained():
            return int(self._claim(keys=[_job(job), _lease(job)], args=[round(LEASE * 1000)]))

    def renew(self, job: str) -> None:
        """Renew the lease, also if the broker has lost it."""
        with explained():
            self._redis.set(_lease(job), '', px=round(LEASE * 1000))

    def release(self, job: str) -> None:
        """Release the lease without a reply."""
        with explained():
            self._redis.delete(_lease(job))

    def reply(self, job: str, replies: str, text: str) -> None:
        """Reply to a job; repeated calls have no effect."""
        with explained():
            self._reply(keys=[_job(job), _lease(job), _replies(replies)], args=[text, KEPT])

    def await_reply(self, replies: str, within: float) -> str | None:
        """Return the next reply, None if there is none within `within` s (0: do not wait)."""
        with explained():
            if not within:
                return _text(self._redis.lpop(_replies(replies)))
            found = self._redis.blpop([_replies(replies)], timeout=within)
            return None if found is None else _text(found[1])

    def look(self, jobs: list[str]) -> dict[str, Seen]:
        """Return the state of each job, and renew the expiry of the jobs."""
        with explained():
            pipe = self._redis.pipeline(transaction=True)
            for job in jobs:
                pipe.expire(_job(job), KEPT)
                pipe.exists(_lease(job))
                pipe.hget(_job(job), 'tries')
            found = pipe.execute()
        return {job: Seen(bool(found[at]), bool(found[at + 1]), int(found[at + 2] or 0))
                for job, at in zip(jobs, range(0, len(found), 3))}

    def drop(self, jobs: list[str]) -> None:
        """Delete jobs that are no longer wanted; workers ignore their messages."""
        if jobs:
            with explained():
                self._redis.delete(*map(_job, jobs))

    def close(self) -> None:
        """Close the connections."""
        with contextlib.suppress(redis.RedisError, OSError):
            self._redis.connection_pool.disconnect()


class CeleryBroker:
    """
    The broker configuration of Celery.

    `redeliver_after` (s) is for workers, `socket_timeout` (s) for senders.
    """

    def __init__(
        self, url: str, redeliver_after: float = 60.0, socket_timeout: float | None = None
    ) -> None:
        self._url = url
        self._redeliver_after = redeliver_after
        self._socket_timeout = socket_timeout

    @cached_property
    def app(self) -> Any:
        """Return the Celery application, which only accepts JSON messages."""
        try:
            from celery import Celery  # type: ignore[import-untyped]
        except ImportError as error:
            raise LifecycleError(
                "the engine 'celery' needs Celery: pip install action_lifecycle[celery]"
            ) from error
        app = Celery('action_lifecycle', broker=_celery_url(self._url), set_as_current=False)
        app.conf.update(
            task_serializer='json', accept_content=['json'], task_ignore_result=True,
            task_default_queue=QUEUE, task_acks_late=True, task_reject_on_worker_lost=True,
            worker_prefetch_multiplier=1, broker_connection_retry_on_startup=True,
            broker_connection_max_retries=None, broker_pool_limit=2,
            broker_transport_options={
                'visibility_timeout': self._redeliver_after,
                'socket_connect_timeout': SOCKET_LIMIT,
                'socket_timeout': self._socket_timeout})
        return app


def _celery_url(url: str) -> str:
    """Return the URL for kombu, with the password from the environment."""
    parts = urlsplit(url)
    options = connect_blocking(url).connection_pool.connection_kwargs
    login = ''
    if options.get('password'):
        user, password = (quote(options.get(key) or '', safe='') for key in
                          ('username', 'password'))
        login = f'{user}:{password}@'
    if parts.scheme != 'unix':
        return urlunsplit(parts._replace(netloc=login + parts.netloc))
    query = parse_qs(parts.query)
    if 'db' in query:
        query['virtual_host'] = query.pop('db')
    return f'redis+socket://{login}{parts.path}' + (
        f'?{urlencode(query, doseq=True)}' if query else '')


def _job(job: str) -> str:
    return f'{_PREFIX}job:{job}'


def _lease(job: str) -> str:
    return f'{_PREFIX}lease:{job}'


def _replies(name: str) -> str:
    return f'{_PREFIX}replies:{name}'


def _text(found: Any) -> str | None:
    return None if found is None else str(found)
