# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Jobs that are found again by their id in the process that has sent them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import queue
from typing import Any
import uuid

from action_lifecycle.engine import LifecycleError
from action_lifecycle.invoke import Engine, Job, LocalEngine, Outcome
from action_lifecycle.invoke.held_jobs import HeldJobs, KEPT
from action_lifecycle.invoke.jobs import LOST

Eventually = Callable[..., Any]


class Asked:
    """A job with an id, as each of its owners makes it anew."""

    def __init__(self, call: str, value: Any, name: str, **more: Any) -> None:
        self.outcomes: queue.Queue[Outcome] = queue.Queue()
        self.dropped: queue.Queue[bool] = queue.Queue()
        self.is_wanted = True
        self.job = Job(f'tasks_of_tests:{call}', None, {'actor_input': value}, None,
                       lambda: self.is_wanted, self.outcomes.put, id=name, keep=True,
                       dropped=lambda: self.dropped.put(True), **more)

    def outcome(self) -> Outcome:
        return self.outcomes.get(timeout=60)


def new_id() -> str:
    return uuid.uuid4().hex


def test_a_running_job_replies_to_its_last_owner_and_runs_once(
    engine: Engine, tmp_path: Path, eventually: Eventually
) -> None:
    path, name = tmp_path / 'tries', new_id()
    first, last = (Asked('note_and_wait_for', str(path), name, retries=1) for _ in range(2))
    engine.submit(first.job)
    eventually(path.exists)
    engine.resume(last.job, True)
    first.is_wanted = False
    engine.withdraw()
    (tmp_path / 'tries.go').touch()
    assert last.outcome() == Outcome(1)
    assert first.outcomes.empty() and first.dropped.empty()


def test_an_outcome_is_kept_until_it_is_released(
    local_engine: LocalEngine, tmp_path: Path
) -> None:
    path, name = tmp_path / 'lines', new_id()
    for sent in False, True, False:
        asked = Asked('note', str(path), name)
        local_engine.resume(asked.job, sent)
        assert asked.outcome() == Outcome(str(path))
    assert len(path.read_text().splitlines()) == 1
    local_engine.release([asked.job])
    local_engine.resume(asked.job, True)
    assert asked.outcome() == Outcome(None, LOST)


def test_a_job_whose_sending_was_not_recorded_is_sent_later(local_engine: LocalEngine) -> None:
    def refuse() -> None:
        raise LifecycleError('the disk is full')
    name = new_id()
    first, last = Asked('echo', 7, name, sent=refuse), Asked('echo', 7, name)
    local_engine.submit(first.job)
    assert first.outcome() == Outcome(None, 'the disk is full')
    local_engine.resume(last.job, False)
    assert last.outcome() == Outcome(7)


def test_a_job_that_nobody_takes_over_is_stopped(
    local_engine: LocalEngine, tmp_path: Path, eventually: Eventually
) -> None:
    name = new_id()
    first, last = (Asked('wait_for', str(tmp_path / 'go'), name) for _ in range(2))
    local_engine.submit(first.job)
    first.is_wanted = False
    local_engine.withdraw()
    assert first.dropped.get(timeout=20)
    local_engine.resume(last.job, True)
    assert last.outcome() == Outcome(None, LOST) and first.outcomes.empty()


def test_the_number_of_kept_outcomes_is_limited() -> None:
    jobs = HeldJobs()
    asked = [Asked('echo', 7, str(number)) for number in range(KEPT + 1)]
    for number, one in enumerate(asked):
        jobs.hold(one.job).reply(Outcome(number))
    assert jobs.rebind(asked[0].job) == (False, None)
    assert jobs.rebind(asked[1].job) == (True, Outcome(1))
    for keep, wanted in (False, True), (True, False):
        one = Asked('echo', 7, 'other')
        one.is_wanted = wanted
        jobs.hold(one.job._replace(keep=keep)).reply(Outcome(7))
        assert jobs.rebind(one.job) == (False, None)
