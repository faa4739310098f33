# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The Celery engine when workers die, the broker goes away, and messages come twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
import os
from pathlib import Path
import queue
import threading
from typing import Any

from action_lifecycle.engine import LifecycleError
from action_lifecycle.invoke import CeleryEngine, Job, LocalEngine, make_engine, Outcome
from action_lifecycle.invoke.celery_app import _celery_url, lease_key, QUEUE, robot_app
import pytest

from .celery_rig import CeleryRig
from .test_invoker import one, task

Eventually = Callable[..., Any]


@pytest.fixture
def rig(celery_rig: CeleryRig) -> Iterator[CeleryRig]:
    """Give a broker of its own, that a test may hurt, without a worker yet."""
    rig = CeleryRig()
    yield rig
    rig.close()


def submit(
    engine: CeleryEngine, call: str, value: Any = None, *, retries: int = 0,
    wanted: Callable[[], bool] = lambda: True,
) -> queue.Queue[Outcome]:
    replies: queue.Queue[Outcome] = queue.Queue()
    engine.submit(Job(f'tasks_of_tests:{call}', None, {'actor_input': value}, None, wanted,
                      replies.put, retries))
    return replies


@pytest.mark.long  # Celery looks for what a killed worker left every 10 s
def test_a_worker_killed_in_a_task_that_may_not_be_repeated_ends_it_with_an_error(
    rig: CeleryRig, talk: Any, tmp_path: Path, eventually: Eventually
) -> None:
    rig.start_worker(redeliver_after=1.0)
    path = tmp_path / 'tries'
    with CeleryEngine(rig.url) as engine:
        session = talk(one(task('note_and_wait_for')), engine)
        session.send('search', str(path))
        eventually(path.exists)
        rig.kill_workers()
        rig.start_worker(redeliver_after=1.0)  # gets the message again, and must not begin anew
        reply = session.finish(within=30)
    assert reply.error == "task 'tasks_of_tests:note_and_wait_for': its worker is gone"
    assert reply.next_events == ('search', 'apologise')
    assert path.read_text() == 'tried\n'


@pytest.mark.long  # Celery looks for what a killed worker left every 10 s
def test_a_task_that_may_be_repeated_outlives_its_worker(
    rig: CeleryRig, tmp_path: Path, eventually: Eventually
) -> None:
    rig.start_worker(redeliver_after=1.0)
    path = tmp_path / 'tries'
    with CeleryEngine(rig.url) as engine:
        replies = submit(engine, 'note_and_wait_for', str(path), retries=1)
        eventually(path.exists)
        rig.kill_workers()
        (tmp_path / 'tries.go').touch()
        rig.start_worker(redeliver_after=1.0)
        assert replies.get(timeout=60) == Outcome(2)


def test_a_message_that_comes_again_during_and_after_the_task_changes_nothing(
    celery_rig: CeleryRig, celery_engine: CeleryEngine, talk: Any, tmp_path: Path,
    eventually: Eventually
) -> None:
    fired: list[str] = []

    class Hooks:

        def after_found(self, event: str) -> None:
            fired.append(event)

    path = tmp_path / 'tries'
    session = talk(one(task('note_and_wait_for')), celery_engine, Hooks())
    session.send('search', str(path))
    eventually(path.exists)
    number, = celery_engine._jobs
    delivered = [json.loads(found)[0] for found in celery_rig.server.client.hvals('unacked')]
    message, = [json.dumps(found) for found in delivered if found['headers']['id'] == number]
    for _ in range(3):
        celery_rig.server.client.lpush(QUEUE, message)
    eventually(lambda: not celery_rig.server.client.llen(QUEUE))
    assert session.poll().next_events == ('poll',)
    (tmp_path / 'tries.go').touch()
    assert session.finish().output == '1'
    celery_rig.server.client.lpush(QUEUE, message)
    eventually(lambda: not celery_rig.server.client.llen(QUEUE))
    replies = submit(celery_engine, 'echo', 'still there')
    assert replies.get(timeout=30) == Outcome('still there')
    assert (path.read_text(), fired) == ('tried\n', ['found'])


def test_a_message_that_was_sent_in_spite_of_an_error_and_is_sent_again_is_performed_once(
    celery_rig: CeleryRig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, eventually: Eventually
) -> None:
    path = tmp_path / 'tries'
    with CeleryEngine(celery_rig.url) as engine:
        send = engine._app.send_task
        sent: list[object] = []

        def send_and_fail_once(*args: Any, **options: Any) -> None:
            sent.append(send(*args, **options))
            if len(sent) == 1:
                raise OSError('the answer of the broker was lost')

        monkeypatch.setattr(engine._app, 'send_task', send_and_fail_once)
        replies = submit(engine, 'note_and_wait_for', str(path))
        eventually(lambda: len(sent) == 2 and not celery_rig.server.client.llen(QUEUE))
        (tmp_path / 'tries.go').touch()
        assert replies.get(timeout=30) == Outcome(1)
    assert path.read_text() == 'tried\n'


def test_a_job_whose_worker_died_before_the_start_is_performed_when_its_lease_lapses(
    rig: CeleryRig, tmp_path: Path, eventually: Eventually
) -> None:
    (tmp_path / 'tries.go').touch()
    with CeleryEngine(rig.url) as engine:
        replies = submit(engine, 'note_and_wait_for', str(tmp_path / 'tries'))
        eventually(lambda: rig.server.client.llen(QUEUE))
        number = json.loads(rig.server.client.lindex(QUEUE, 0))['headers']['id']
        rig.server.client.set(lease_key(number), '', px=3000)
        rig.start_worker()
        assert replies.get(timeout=30) == Outcome(1)
    assert (tmp_path / 'tries').read_text() == 'tried\n'


def test_a_broker_that_is_restarted_loses_nothing_that_it_keeps_on_disk(
    rig: CeleryRig, tmp_path: Path, eventually: Eventually
) -> None:
    rig.start_worker(concurrency=1)  # so none begins just then: that would be an error
    path = tmp_path / 'tries'
    with CeleryEngine(rig.url) as engine:
        running = submit(engine, 'note_and_wait_for', str(path))
        eventually(path.exists)
        waiting = [submit(engine, 'echo', number) for number in range(5)]
        rig.server.kill()
        during = submit(engine, 'echo', 'during')
        (tmp_path / 'tries.go').touch()
        rig.server.start()
        assert running.get(timeout=60) == Outcome(1)
        assert [replies.get(timeout=60).value for replies in (*waiting, during)] == [
            0, 1, 2, 3, 4, 'during']
    assert path.read_text() == 'tried\n'


def test_a_broker_that_lost_everything_ends_the_work_with_an_error(
    rig: CeleryRig, talk: Any
) -> None:
    with CeleryEngine(rig.url) as engine:
        session = talk(one(task('echo')), engine)
        session.send('search', 'x')
        while not rig.server.client.llen(QUEUE):
            assert session.poll().next_events == ('poll',)
        rig.server.client.flushall()
        reply = session.finish(within=10)
        assert reply.error == "task 'tasks_of_tests:echo': the broker has lost it"
        assert reply.next_events == ('search', 'apologise')


@pytest.mark.parametrize('there, why', [
    (True, 'no worker takes it, for 1 s'), (False, 'the broker can not be reached, for 1 s')])
def test_without_workers_or_broker_work_ends_with_an_error(
    rig: CeleryRig, talk: Any, there: bool, why: str
) -> None:
    if not there:
        rig.server.kill()
    with CeleryEngine(rig.url, queue_limit=1.0) as engine:
        session = talk(one(task('echo')), engine)
        session.send('search', 'x')
        assert session.finish(within=10).error == f"task 'tasks_of_tests:echo': {why}"


def test_what_nobody_wants_any_more_is_not_begun(
    rig: CeleryRig, tmp_path: Path, eventually: Eventually
) -> None:
    with CeleryEngine(rig.url) as engine:
        wanted = threading.Event()
        wanted.set()
        replies = submit(engine, 'note', str(tmp_path / 'notes'), wanted=wanted.is_set)
        eventually(lambda: rig.server.client.llen(QUEUE))
        wanted.clear()
        eventually(lambda: not engine._jobs)
        rig.start_worker()
        assert submit(engine, 'echo', 1).get(timeout=30) == Outcome(1)
        eventually(lambda: not rig.server.client.llen(QUEUE))
    assert replies.empty() and not (tmp_path / 'notes').exists()


def test_closing_takes_back_what_is_not_begun_and_leaves_nothing_in_the_broker(
    rig: CeleryRig, eventually: Eventually
) -> None:
    engine = CeleryEngine(rig.url)
    replies = submit(engine, 'echo', 1)
    eventually(lambda: rig.server.client.llen(QUEUE))
    engine.close()
    engine.close()
    assert replies.get(timeout=10).error == 'the engine was closed'
    assert rig.server.client.keys('action_lifecycle:invoke:*') == []
    with pytest.raises(LifecycleError, match='closed'):
        submit(engine, 'echo', 1)


def test_a_reply_that_makes_no_sense_is_an_error(rig: CeleryRig, eventually: Eventually) -> None:
    with CeleryEngine(rig.url) as engine:
        first, second = submit(engine, 'echo', 1), submit(engine, 'echo', 2)
        eventually(lambda: rig.server.client.llen(QUEUE) == 2)
        number, other = engine._jobs
        backend = robot_app(rig.url).backend
        for name, text in ((f'{engine._id}-nobody', 'no JSON'), (f'{engine._id}-nobody', '[]'),
                           (number, 'no JSON')):
            backend.client.publish(backend.get_key_for_task(name), text)
        backend.store_result(other, [1], 'SUCCESS')
        assert "a message can't be read" in first.get(timeout=10).error
        assert "a message can't be read" in second.get(timeout=10).error


def test_the_password_of_the_broker_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('ACTION_LEDGER_REDIS_PASSWORD', 'p@ss/wörd')
    monkeypatch.setenv('ACTION_LEDGER_REDIS_USERNAME', 'robot')
    assert _celery_url('redis://host:1/2') == 'redis://robot:p%40ss%2Fw%C3%B6rd@host:1/2'
    assert _celery_url('rediss://host') == \
        'rediss://robot:p%40ss%2Fw%C3%B6rd@host?ssl_cert_reqs=required'
    assert _celery_url('unix:///run/r?db=3') == \
        'redis+socket://robot:p%40ss%2Fw%C3%B6rd@/run/r?virtual_host=3'
    with pytest.raises(LifecycleError, match='password'):
        robot_app('redis://:secret@host')


def test_engines_are_made_by_name(celery_rig: CeleryRig) -> None:
    with make_engine() as local, make_engine('celery', broker=celery_rig.url) as celery:
        assert (type(local), type(celery)) == (LocalEngine, CeleryEngine)
    with pytest.raises(LifecycleError, match="unknown engine 'cellery'; did you mean 'celery'"):
        make_engine('cellery')
    with pytest.raises(LifecycleError, match='needs a broker'):
        make_engine('celery')
    with pytest.raises(LifecycleError, match=r"'amqp://…': expected one Redis server: redis://, "):
        make_engine('celery', broker='amqp://host')


def test_messages_are_json_with_headers_that_do_not_show_the_input(
    rig: CeleryRig, eventually: Eventually
) -> None:
    with CeleryEngine(rig.url) as engine:
        submit(engine, 'echo', 'secret')
        eventually(lambda: rig.server.client.llen(QUEUE))
        message = json.loads(rig.server.client.lindex(QUEUE, 0))
        assert message['content-type'] == 'application/json'
        assert 'secret' not in json.dumps(message) and str(os.getpid()) != message['body']
