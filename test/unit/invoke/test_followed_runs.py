# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs that a later process follows by their id, and runs that are canceled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
import queue
from typing import Any

from action_lifecycle.invoke import CeleryEngine, Engine, Outcome, Progress, read_work
from action_lifecycle.invoke.celery_app import KEPT, QUEUE, RETAINED, SENT
from action_lifecycle.invoke.run import Run
import pytest

from .celery_rig import CeleryRig
from .test_engines import is_running
from .test_invoker import task

Eventually = Callable[..., Any]
NAME = 'robot'


@pytest.fixture
def rig(celery_rig: CeleryRig) -> Iterator[CeleryRig]:
    """Give a broker of its own, without a worker yet."""
    rig = CeleryRig()
    yield rig
    rig.close()


class Followed:
    """A run with the id `run`, as each process makes it anew."""

    def __init__(
        self, engine: Engine, work: Any, given: Any = None, lost_retries: int = 2,
        start: bool = True,
    ) -> None:
        self.outcomes: queue.Queue[Outcome] = queue.Queue()
        self.run = Run(read_work(work, 'work'), {'actor_input': given}, engine, Progress(),
                       lambda run, outcome: self.outcomes.put(outcome), run_id='run', keep=True,
                       lost_retries=lost_retries)
        if start:
            self.run.start()

    def outcome(self) -> Outcome:
        return self.outcomes.get(timeout=60)


def robot(rig: CeleryRig) -> CeleryEngine:
    return CeleryEngine(rig.url, name=NAME)


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_a_later_process_gets_the_output_and_repeats_no_task(
    rig: CeleryRig, tmp_path: Path, eventually: Eventually
) -> None:
    rig.start_worker()
    done, path = tmp_path / 'done', tmp_path / 'waits'
    work = [task('note', input=str(done)), {
        'a': task('note', input=str(tmp_path / 'a')),
        'b': task('note_and_wait_for', input=str(path))}, task('echo')]
    first = robot(rig)
    before = Followed(first, work)
    eventually(path.exists)
    first.close(keep=True)
    with robot(rig) as second:
        after = Followed(second, work)
        eventually(lambda: after.run.progress.done >= 3)
        (tmp_path / 'waits.go').touch()
        assert after.outcome().value == {'a': str(tmp_path / 'a'), 'b': 1}
    assert before.outcomes.empty() and after.outcomes.empty()
    assert [lines(tmp_path / name) for name in ('done', 'a', 'waits')] == [1, 1, 1]


def test_an_outcome_from_before_the_restart_arrives_again_until_it_is_released(
    rig: CeleryRig, tmp_path: Path, eventually: Eventually
) -> None:
    rig.start_worker()
    work = {'map': task('note'), 'over': [str(tmp_path / 'a'), str(tmp_path / 'b')]}
    for _ in range(2):
        with robot(rig) as engine:
            followed = Followed(engine, work)
            assert len(followed.outcome().value) == 2
    assert lines(tmp_path / 'a') == lines(tmp_path / 'b') == 1
    client = rig.server.client
    keys = client.keys('action_lifecycle:invoke:celery-task-meta-*')
    assert len(keys) == 3 and all(client.ttl(key) > RETAINED - 120 for key in keys)
    with robot(rig) as engine:
        followed = Followed(engine, work)
        followed.outcome()
        followed.run.release()
        eventually(lambda: all(0 < client.ttl(key) <= KEPT for key in keys))


def test_a_job_that_was_recorded_but_not_sent_is_sent(
    rig: CeleryRig, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    first = robot(rig)
    stopped: list[object] = []
    monkeypatch.setattr(first._app, 'send_task', lambda *args, **more: stopped.append(args))
    Followed(first, task('echo'), 7)
    eventually(lambda: stopped)
    first.close(keep=True)
    record, = rig.server.client.keys('action_lifecycle:invoke:celery-task-meta-*')
    assert SENT in rig.server.client.get(record) and not rig.server.client.llen(QUEUE)
    rig.start_worker()
    with robot(rig) as second:
        assert Followed(second, task('echo'), 7).outcome() == Outcome(7)


@pytest.mark.long  # the lease of a killed worker has to lapse
@pytest.mark.parametrize('lost_retries, expected', [
    (2, Outcome(2)), (0, Outcome(None, "task 'tasks_of_tests:note_and_wait_for': "
                                 'its worker is gone'))])
def test_robot_and_worker_are_killed(
    rig: CeleryRig, tmp_path: Path, eventually: Eventually, lost_retries: int, expected: Outcome
) -> None:
    rig.start_worker()
    path = tmp_path / 'tries'
    first = robot(rig)
    Followed(first, task('note_and_wait_for'), str(path), lost_retries)
    eventually(path.exists)
    first.close(keep=True)
    rig.kill_workers()
    (tmp_path / 'tries.go').touch()
    rig.start_worker()
    for _ in range(2):
        with robot(rig) as engine:
            after = Followed(engine, task('note_and_wait_for'), str(path), lost_retries)
            assert after.outcome() == expected
    assert lines(path) == (2 if lost_retries else 1)


def test_a_failure_stays_the_outcome(rig: CeleryRig, tmp_path: Path) -> None:
    rig.start_worker()
    path = tmp_path / 'tries'
    for _ in range(2):
        with robot(rig) as engine:
            outcome = Followed(engine, task('works_the_third_time'), str(path)).outcome()
            assert 'ConnectionError: not yet' in outcome.error
    assert lines(path) == 1


@pytest.mark.parametrize('started', [True, False])
def test_a_canceled_run_stops_its_tasks_before_it_says_so(
    engine: Engine, tmp_path: Path, eventually: Eventually, started: bool
) -> None:
    path, stopped = tmp_path / 'pids', queue.Queue[bool]()
    work = {'map': task('hang'), 'over': [str(path)] + [''] * 3}
    followed = Followed(engine, work, start=started)
    if started:
        eventually(path.exists)
    followed.run.cancel(lambda: stopped.put(True))
    assert stopped.get(timeout=20)
    if started:
        assert not any(map(is_running, map(int, path.read_text().split())))
    assert followed.outcomes.empty() and stopped.empty()
