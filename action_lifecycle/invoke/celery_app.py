# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The Celery application of robots and workers: a Redis server is its broker and result backend.

The record of a job in the result backend has the states of Celery, preceded by `SENT`, since in
Celery a waiting job and a job that the broker has lost are both `PENDING`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit, urlunsplit

from ..documents.errors import LifecycleError
from ..fleet.backends.redis.connection import connect_blocking

TASK = 'action_lifecycle.invoke.perform'
QUEUE = 'action_lifecycle'
SENT = 'SENT'
LEASE = 5.0
"""Time (s) after which a worker's lease on a job expires without renewal."""
KEPT = 3600
"""Time (s) for which the record of a job is kept after its robot has stopped, or released it."""
RETAINED = 7 * 86_400
"""The same for a job that another process can resume."""
_SCHEMES = 'redis', 'rediss', 'unix'  # the ledger takes others, too
_PREFIX = 'action_lifecycle:invoke:'
_TIMEOUT = 5.0  # timeout (s) of the server
_HEALTH_CHECK = 5  # period (s) in which workers check connections that wait for messages
_MUTEX = 10  # time (s) for which a worker that is killed keeps others from redelivering messages


def robot_app(url: str) -> Any:
    """Return the application of a robot; server errors are raised within a few seconds."""
    app = _app(url)
    # The engine subscribes to all results itself; Celery's result consumer is not thread-safe.
    app.backend.on_task_call = lambda producer, task_id: None
    return app


def worker_app(url: str, redeliver_after: float = 60.0) -> Any:
    """
    Return the application of a worker, which retries to store results while the server is away.

    `redeliver_after`: visibility timeout of messages in s.
    """
    app = _app(url, visibility_timeout=redeliver_after, unacked_mutex_expire=_MUTEX,
               health_check_interval=_HEALTH_CHECK)
    app.conf.update(result_backend_always_retry=True,
                    result_backend_max_sleep_between_retries_ms=1000)
    return app


def _app(url: str, **transport_options: Any) -> Any:
    """Return an application that only accepts JSON messages."""
    try:
        from celery import Celery  # type: ignore[import-untyped]
    except ImportError as error:
        raise LifecycleError(
            "the engine 'celery' needs Celery: pip install action_lifecycle[celery]") from error
    server = _celery_url(url)
    app = Celery('action_lifecycle', broker=server, backend=server, set_as_current=False)
    app.conf.update(
        task_serializer='json', result_serializer='json', accept_content=['json'],
        task_default_queue=QUEUE, task_acks_late=True,
        worker_cancel_long_running_tasks_on_connection_loss=False,  # from Celery 6 on, True
        worker_prefetch_multiplier=1, broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None, broker_pool_limit=2,
        broker_transport_options={'socket_connect_timeout': _TIMEOUT, 'socket_timeout': _TIMEOUT,
                                  **transport_options},
        redis_socket_timeout=_TIMEOUT, redis_socket_connect_timeout=_TIMEOUT,
        result_expires=RETAINED, result_backend_thread_safe=True,
        result_backend_transport_options={
            'global_keyprefix': _PREFIX, 'retry_policy': {'max_retries': 0}})
    return app


def lease_key(number: str) -> str:
    """Return the key of the lease on a job."""
    return f'{_PREFIX}lease:{number}'


def _celery_url(url: str) -> str:
    """Return the URL for Celery, with the password from the environment."""
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES:
        raise LifecycleError(f"broker URL '{parts.scheme}://…': expected one Redis server: "
                             + ', '.join(f'{scheme}://' for scheme in _SCHEMES))
    options = connect_blocking(url).connection_pool.connection_kwargs
    login = ''
    if options.get('password'):
        user, password = (quote(options.get(key) or '', safe='') for key in
                          ('username', 'password'))
        login = f'{user}:{password}@'
    query = parse_qs(parts.query)
    if parts.scheme == 'rediss':
        query.setdefault('ssl_cert_reqs', ['required'])  # the default of redis-py
    if parts.scheme != 'unix':
        return urlunsplit(parts._replace(
            netloc=login + parts.netloc, query=urlencode(query, doseq=True)))
    if 'db' in query:
        query['virtual_host'] = query.pop('db')
    return f'redis+socket://{login}{parts.path}' + (
        f'?{urlencode(query, doseq=True)}' if query else '')
