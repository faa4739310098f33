# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Each job has one outcome, whatever happens to workers, robots, messages and the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
import json
import os
from pathlib import Path
import queue
import signal
import subprocess
import sys
import threading
from time import monotonic
from typing import Any

from action_lifecycle.invoke import celery_engine, CeleryEngine, Job, Outcome
from action_lifecycle.invoke.celery_app import lease_key, QUEUE, robot_app, SENT, worker_app
from action_lifecycle.invoke.celery_worker import _Record
import pytest

from .celery_rig import CeleryRig
from .test_celery_engine import submit
from .test_engines import is_running

Eventually = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def rig(celery_rig: CeleryRig) -> Iterator[CeleryRig]:
    """Give a broker of its own, without a worker yet."""
    rig = CeleryRig()
    yield rig
    rig.close()


def waiting_number(rig: CeleryRig, eventually: Eventually) -> str:
    """Return the task id of the job that waits in the broker."""
    message = eventually(lambda: rig.server.client.lindex(QUEUE, 0))
    return str(json.loads(message)['headers']['id'])


def test_only_one_worker_starts_a_job_and_only_that_one_holds_it(rig: CeleryRig) -> None:
    backend = worker_app(rig.url).backend
    backend.store_result('job', None, SENT)
    first, second = _Record(backend, 'job'), _Record(backend, 'job')
    assert first.claim() and not second.claim()
    assert first.claim()  # again, since the answer may have been lost
    assert first.is_held() and not second.is_held()
    assert 0 < rig.server.client.pttl(lease_key('job')) <= 5000
    backend.forget('job')
    assert not first.is_held() and not first.claim() and not second.claim()


def test_many_workers_that_start_a_job_at_once_agree_who_does_it(rig: CeleryRig) -> None:
    backend = worker_app(rig.url).backend
    workers = 4
    together = threading.Barrier(workers)

    def claim(number: str) -> bool:
        record = _Record(backend, number)
        together.wait(10)
        return record.claim()

    with ThreadPoolExecutor(workers) as pool:
        for number in map(str, range(20)):
            backend.store_result(number, None, SENT)
            assert sorted(pool.map(claim, [number] * workers)) == [False] * 3 + [True]


def test_a_worker_that_can_not_reach_the_broker_starts_the_job_later(rig: CeleryRig) -> None:
    backend = worker_app(rig.url).backend
    backend.store_result('job', None, SENT)
    rig.server.kill()
    record = _Record(backend, 'job')
    claimed: queue.SimpleQueue[bool] = queue.SimpleQueue()
    threading.Thread(target=lambda: claimed.put(record.claim())).start()
    with pytest.raises(queue.Empty):
        claimed.get(timeout=0.2)
    rig.server.start()
    assert claimed.get(timeout=30)


def test_a_job_is_not_started_while_the_broker_refuses_to_write(rig: CeleryRig) -> None:
    backend = worker_app(rig.url).backend
    backend.store_result('job', None, SENT)
    rig.server.client.config_set('maxmemory', 1)
    assert not _Record(backend, 'job').claim()
    rig.server.client.config_set('maxmemory', 0)
    assert _Record(backend, 'job').claim()


def lose_message(rig: CeleryRig, eventually: Eventually) -> str:
    """Remove the message of a job, as a worker that is killed before it notes what it took."""
    number = waiting_number(rig, eventually)
    rig.server.client.rpop(QUEUE)
    return number


def test_a_job_whose_message_is_lost_gets_a_new_one(
    rig: CeleryRig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, eventually: Eventually
) -> None:
    monkeypatch.setattr(celery_engine, 'RESEND', 0.5)
    path = tmp_path / 'lines'
    with CeleryEngine(rig.url) as engine:
        replies = submit(engine, 'note', str(path))
        lose_message(rig, eventually)
        rig.start_worker()
        assert replies.get(timeout=30) == Outcome(str(path))
        eventually(lambda: not rig.server.client.llen(QUEUE))
    assert path.read_text() == 'done\n'


def test_a_lost_message_is_noticed_although_others_wait(
    rig: CeleryRig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, eventually: Eventually
) -> None:
    monkeypatch.setattr(celery_engine, 'RESEND', 0.5)
    path = tmp_path / 'tries'
    with CeleryEngine(rig.url) as engine:
        lost = submit(engine, 'echo', 'lost')
        sent = engine._jobs[lose_message(rig, eventually)]
        eventually(lambda: monotonic() - sent.posted > 0.6)
        later = submit(engine, 'note_and_wait_for', str(path))
        waiting = submit(engine, 'echo', 'waiting')
        eventually(lambda: rig.server.client.llen(QUEUE) == 2)
        rig.start_worker(concurrency=1)
        eventually(lambda: rig.server.client.llen(QUEUE) == 2 and path.exists())
        (tmp_path / 'tries.go').touch()
        assert [replies.get(timeout=30).value for replies in (later, waiting, lost)] == [
            1, 'waiting', 'lost']


def test_messages_are_not_repeated_while_jobs_wait_for_a_worker(
    rig: CeleryRig, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setattr(celery_engine, 'POLL_PERIOD', 0.05)
    monkeypatch.setattr(celery_engine, 'RESEND', 0.1)
    with CeleryEngine(rig.url) as engine:
        for number in range(3):
            submit(engine, 'echo', number)
        eventually(lambda: rig.server.client.llen(QUEUE) == 3)
        polled = engine._polled
        eventually(lambda: engine._polled > polled + 0.5)
        assert rig.server.client.llen(QUEUE) == 3


@pytest.fixture
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leases last a second, and robots poll often."""
    monkeypatch.setattr(celery_engine, 'POLL_PERIOD', 0.05)
    monkeypatch.setattr(celery_engine, 'LEASE', 1.0)


def followed(
    engine: CeleryEngine, rig: CeleryRig, eventually: Eventually
) -> tuple[queue.Queue[Outcome], str, celery_engine._Sent]:
    """Return the replies to a job, its number, and what its robot knows of it."""
    replies = submit(engine, 'echo', 'x')
    number = waiting_number(rig, eventually)
    return replies, number, engine._jobs[number]


@pytest.mark.usefixtures('short_lease')
def test_a_worker_that_has_just_started_a_job_is_not_taken_for_lost(
    rig: CeleryRig, eventually: Eventually
) -> None:
    with CeleryEngine(rig.url) as engine:
        replies, number, sent = followed(engine, rig, eventually)
        eventually(lambda: monotonic() - sent.seen > 1.2)  # longer than a lease
        backend = robot_app(rig.url).backend
        backend.store_result(number, 'token', 'STARTED')
        eventually(lambda: sent.begun)
        polled = engine._polled
        eventually(lambda: engine._polled > polled + 0.2)  # it has polled, and found no lease
        backend.store_result(number, '"x"', 'SUCCESS')
        assert replies.get(timeout=10) == Outcome('x')


@pytest.mark.usefixtures('short_lease')
def test_a_robot_that_stood_still_does_not_take_workers_for_lost(
    rig: CeleryRig, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    with CeleryEngine(rig.url) as engine:
        replies, number, sent = followed(engine, rig, eventually)
        backend = robot_app(rig.url).backend
        backend.client.set(lease_key(number), 'token')
        backend.store_result(number, 'token', 'STARTED')
        eventually(lambda: sent.begun)
        held, go_on = threading.Event(), threading.Event()
        poll = engine._stop_unwanted

        def stand_still() -> None:
            held.set()
            assert go_on.wait(30)
            poll()

        monkeypatch.setattr(engine, '_stop_unwanted', stand_still)
        assert held.wait(10)
        eventually(lambda: monotonic() - sent.seen > 1.2)
        backend.client.delete(lease_key(number))  # the worker is about to store the result
        polled = engine._polled
        go_on.set()
        eventually(lambda: engine._polled > polled)
        backend.store_result(number, '"x"', 'SUCCESS')
        assert replies.get(timeout=10) == Outcome('x')


def test_a_job_that_was_lost_is_repeated_also_by_the_next_process_of_the_robot(
    rig: CeleryRig
) -> None:
    from celery.exceptions import WorkerLostError
    robot_app(rig.url).backend.store_result(
        'robot-job.0', WorkerLostError('its worker is gone'), 'FAILURE')
    rig.start_worker()
    replies: queue.Queue[Outcome] = queue.Queue()
    with CeleryEngine(rig.url, name='robot') as engine:
        engine.resume(Job('tasks_of_tests:echo', None, {'actor_input': 7}, None, lambda: True,
                          replies.put, id='job', keep=True, lost_retries=1), True)
        assert replies.get(timeout=30) == Outcome(7)


@pytest.mark.long  # its lease has to lapse
def test_a_worker_that_was_hung_stops_what_is_not_its_job_any_more_and_goes_on(
    rig: CeleryRig, tmp_path: Path, eventually: Eventually
) -> None:
    worker = rig.start_worker()
    path = tmp_path / 'pids'
    with CeleryEngine(rig.url) as engine:
        replies = submit(engine, 'hang', str(path))
        eventually(path.exists)
        os.kill(worker, signal.SIGSTOP)
        assert replies.get(timeout=30) == Outcome(None, 'its worker is gone')
        os.kill(worker, signal.SIGCONT)
        for pid in map(int, path.read_text().split()):
            eventually(lambda pid=pid: not is_running(pid))
        assert submit(engine, 'echo', 7).get(timeout=30) == Outcome(7)
        assert rig.server.client.keys('action_lifecycle:invoke:celery-*') == []
        eventually(lambda: not rig.server.client.hlen('unacked'))
    assert replies.empty()


@pytest.mark.long
def test_a_fleet_of_which_parts_fail_at_random_does_each_job_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / 'bench/celery_fleet.py'), '--json', '--minutes', '0.6',
         '--jobs', '500', '--fault-every', '2', '--folder', str(tmp_path)],
        capture_output=True, text=True, timeout=280,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))})
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    assert figures['jobs'] == 500
    assert [figures[name] for name in (
        'lost', 'stuck', 'doubled', 'begun_twice_without_retries')] == [0] * 4
    faults = [name for name in figures if name.startswith('fault_')]
    assert len(faults) >= 8 and figures['retried'] > 0
