# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Any job under any clock: bounded work, bounded data, and the same after a restart."""

from __future__ import annotations

import json
import math
from pathlib import Path

from action_lifecycle.flow.jobs.job import MAX_OWED, read_job, ScheduledJob, valid_time
from action_lifecycle.journal.row import MAX_DATA
from action_lifecycle.lifecycle.schedule.schedule import LATEST, ScheduleSpec
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from .robot import Clock, Process, Robot
from .scheduled import FLOW, Scheduled
from ..lifecycle.schedules import calls, readings, specs, WORK

odd_readings = st.one_of(
    readings, st.sampled_from([math.nan, math.inf, -math.inf, 1e18, -1e18, 1e308, -5.0]))


def look(job: ScheduledJob, reading: float) -> None:
    """Look at a clock as `Jobs` does."""
    now = valid_time(reading)
    job.moved(now)
    if job.next is not None and job.next <= now:
        before = job.taken, job.count, job.missed + len(job.owed)
        job.take(now)
        assert job.taken is not None and job.taken <= now
        assert before[0] is None or job.taken > before[0]
        assert job.count > before[1]
        assert job.missed + len(job.owed) - before[2] == job.count - before[1]
    assert len(job.owed) <= MAX_OWED
    assert job.next is None or job.next > now
    assert not job.spec.times or job.count <= job.spec.times


@settings(max_examples=30, deadline=None)
@given(specs(), readings, st.lists(st.tuples(odd_readings, st.integers(0, 3)), max_size=4))
def test_a_job_read_back_behaves_like_the_one_in_memory(
    spec: ScheduleSpec, created: float, steps: list[tuple[float, int]]
) -> None:
    job = ScheduledJob('j', 'one', spec, created, seen=created)
    for reading, ended in steps:
        again = read_job(json.loads(json.dumps(job.data())))
        assert again.data() == job.data() and again.next == job.next
        for one in (job, again):
            look(one, reading)
            one.owed = one.owed[ended:]
        assert again.data() == job.data() and again.next == job.next
        job = again
    assert len(json.dumps(job.data())) < MAX_DATA


@settings(max_examples=25, deadline=None)
@given(specs(), readings, st.lists(odd_readings, min_size=1, max_size=3))
def test_each_look_takes_bounded_work(
    spec: ScheduleSpec, created: float, steps: list[float]
) -> None:
    job = ScheduledJob('j', 'one', spec, created, seen=created)
    for reading in steps:
        assert calls(lambda reading=reading: look(job, reading)) < 2 * WORK


@pytest.mark.parametrize('times', [0, 10**18])
@pytest.mark.parametrize('missed', ['skip', 'once', 'all'])
def test_years_of_missed_runs_are_taken_in_at_once(times: int, missed: str) -> None:
    spec = ScheduleSpec(clock='wall', every=0.1, missed=missed, times=times)
    job = ScheduledJob('j', 'one', spec, 1.0, seen=1.0)
    assert calls(lambda: look(job, LATEST)) < 20_000
    assert job.count == pytest.approx((LATEST - 1.0) / 0.1, abs=2)
    assert len(job.owed) == {'skip': 1, 'once': 1, 'all': MAX_OWED}[missed]
    assert job.count == job.missed + len(job.owed)


def test_runs_that_are_owed_stay_bounded_while_one_goes_on() -> None:
    spec = ScheduleSpec(clock='ros', every=0.1, overlap='queue', missed='all')
    job = ScheduledJob('j', 'one', spec, 1.0, seen=1.0)
    job.running = ['j.1']
    for second in range(1, 300):
        look(job, float(second))
    assert len(job.owed) == MAX_OWED and job.owed[-1] == pytest.approx(299.0, abs=0.11)
    assert job.missed + len(job.owed) == job.count


@settings(max_examples=20, deadline=None)
@given(jumps=st.lists(odd_readings, min_size=1, max_size=5))
def test_jobs_go_on_whatever_the_wall_clock_tells(
    tmp_path_factory: pytest.TempPathFactory, jumps: list[float]
) -> None:
    clock, wall = Clock(), [0.0]
    process = Process(tmp_path_factory.mktemp('jobs') / 'journal', clock, Robot(clock))
    here = Scheduled(lambda: process, clock, wall)
    here.create(FLOW, 'wall', every=60.0, missed='skip')
    here.create(FLOW, 'ros', clock='ros', every=60.0)
    for jump in jumps:
        wall[0] = jump
        clock.run(5.0)
    wall[0] = 0.0
    before = len(here.flows())
    clock.run(125.0)
    assert not here.jobs.aside.reasons
    assert {one.split('.')[0] for one in here.flows()[before:]} == {'wall', 'ros'}
    process.journal.close()


def test_what_runs_at_the_same_time_is_bounded(tmp_path: Path) -> None:
    clock = Clock()
    robot = Robot(clock)
    robot.by_hand.add('motion')
    process = Process(tmp_path / 'journal', clock, robot)
    here = Scheduled(lambda: process, clock, [0.0])
    here.create(FLOW, every=1.0, overlap='allow')
    clock.run(150.0)
    assert len(here.jobs.jobs['j'].running) == 100
    assert len(here.flows()) == 100 and len(here.jobs.jobs['j'].owed) >= 45
    process.journal.close()
