# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Scheduled jobs: each time of a schedule is run once, whatever clocks and processes do."""

from __future__ import annotations

import itertools
from pathlib import Path

from action_lifecycle.documents.errors import LifecycleError
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from .robot import Clock, Process, Robot
from .scheduled import FLOW, iso, Life, Scheduled


def test_a_flow_starts_at_its_time_and_once(life: Life, clock: Clock) -> None:
    here = life()
    here.create(start_at=iso(1100.0))
    clock.run(99.0)
    assert not here.flows() and here.jobs.jobs['j'].next == 1100.0
    clock.run(100.0)
    assert here.flows() == ['j.1']
    assert not here.jobs.jobs and not here.process.journal.open_rows('job')
    assert not here.process.journal.open_rows('job_order')


def test_a_flow_runs_every_so_often(life: Life, clock: Clock) -> None:
    here = life()
    here.create(every=60.0, times=3)
    clock.run(1000.0)
    assert here.flows() == ['j.1', 'j.2', 'j.3']
    accepted = [row.wall_time for row in here.process.journal.rows(kind='flow')
                if row.event == 'accepted']
    assert accepted == pytest.approx([1060.0, 1120.0, 1180.0], abs=1.1)


def test_by_ros_time_too(life: Life, clock: Clock) -> None:
    here = life()
    here.create(clock='ros', start_at=1010.0, every=5.0, times=2)
    clock.run(100.0)
    assert here.flows() == ['j.1', 'j.2']


@pytest.mark.parametrize(('missed', 'flows', 'left_out'), [
    ('skip', [], 3), ('once', ['j.1'], 2), ('all', ['j.1', 'j.2', 'j.3'], 0)])
def test_runs_missed_while_nobody_was_there(
    life: Life, clock: Clock, missed: str, flows: list[str], left_out: int
) -> None:
    here = life()
    here.create(start_at=iso(1100.0), every=100.0, missed=missed)
    clock.run(50.0)
    here.process.kill()
    clock.run(300.0)  # 1100, 1200 and 1300 pass
    here = life()
    clock.run(40.0)
    assert here.flows() == flows
    assert here.jobs.jobs['j'].missed == left_out
    clock.run(20.0)
    assert len(here.flows()) == len(flows) + 1  # and 1400 is on time


def test_what_is_made_up_for_runs_one_after_the_other(
    life: Life, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    here = life()
    here.create(every=100.0, times=3, missed='all')
    here.process.kill()
    clock.run(1000.0)
    here = life()
    clock.run(10.0)
    assert here.flows() == ['j.1']
    robot.motions[-1].end()
    clock.run(10.0)
    assert here.flows() == ['j.1', 'j.2']


def test_a_week_of_missed_seconds_is_taken_in_at_once(life: Life, clock: Clock) -> None:
    here = life()
    job = here.create(every=1.0, missed='skip')
    here.process.kill()
    clock.time += 7 * 86400.0
    here = life()
    job = here.jobs.jobs['j']
    assert job.count == pytest.approx(7 * 86400, abs=2)
    assert job.missed + len(here.flows()) == job.count


@pytest.mark.parametrize(('overlap', 'running', 'flows'), [
    ('skip', 1, 1), ('queue', 1, 3), ('allow', 3, 3)])
def test_runs_that_would_overlap(
    life: Life, clock: Clock, robot: Robot, overlap: str, running: int, flows: int
) -> None:
    robot.by_hand.add('motion')
    here = life()
    here.create(every=10.0, times=3, overlap=overlap)
    clock.run(35.0)
    assert len(here.flows()) == running
    for _ in range(3):
        for motion in robot.motions:
            if not motion.canceled:
                motion.canceled = True
                motion.end()
        clock.run(5.0)
    assert len(here.flows()) == flows


def test_a_wall_clock_set_back_an_hour_runs_nothing_twice(
    life: Life, clock: Clock, wall: list[float]
) -> None:
    here = life()
    here.create(start_at=iso(1100.0), job_id='once')
    here.create(start_at=iso(1000.0), every=600.0, job_id='often')
    clock.run(650.0)
    assert here.flows() == ['often.1', 'once.1', 'often.2']
    wall[0] = -3600.0
    clock.run(3550.0)
    assert len(here.flows()) == 3  # 1100 and 1600 came a second time
    clock.run(700.0)
    assert here.flows()[3:] == ['often.3']


def test_intervals_go_on_when_their_clock_goes_back(
    life: Life, clock: Clock, wall: list[float]
) -> None:
    here = life()
    here.create(every=600.0)
    clock.run(610.0)
    wall[0] = -1500.0
    clock.run(580.0)
    assert here.flows() == ['j.1']
    clock.run(20.0)
    assert here.flows() == ['j.1', 'j.2']
    here = life()  # and so they do after a restart
    wall[0] = -3000.0
    clock.run(1210.0)
    assert len(here.flows()) == 4


def test_ros_time_that_begins_anew_while_the_process_is_dead_runs_nothing_twice(
    life: Life, clock: Clock
) -> None:
    here = life()
    here.create(clock='ros', start_at=1010.0, job_id='once')
    here.create(clock='ros', every=20.0, job_id='often')
    clock.run(25.0)
    assert here.flows() == ['once.1', 'often.1']
    here.process.kill()
    clock.time = 5.0
    here = life()
    clock.run(10.0)
    assert len(here.flows()) == 2
    clock.run(10.0)
    assert here.flows()[2:] == ['often.2']


def test_a_clock_that_jumps_ahead_counts_as_missed(
    life: Life, clock: Clock, wall: list[float]
) -> None:
    here = life()
    here.create(every=60.0, missed='skip')
    clock.run(1.0)
    wall[0] = 3630.0
    clock.run(2.0)
    assert not here.flows() and here.jobs.jobs['j'].missed == 60


@pytest.mark.parametrize('after', range(1, 16))
def test_killed_at_any_row_each_time_is_run_exactly_once(
    life: Life, clock: Clock, robot: Robot, after: int
) -> None:
    here = life()
    here.create(every=20.0, times=3, missed='all', overlap='queue')
    written = itertools.count(1)
    with here.process.full_disk(lambda entry: next(written) > after):
        clock.run(50.0)
    here = life()
    clock.run(400.0)
    assert here.flows() == ['j.1', 'j.2', 'j.3']
    assert robot.executed('pick') == 3
    assert not here.process.journal.open_rows('job')


def test_a_journal_that_refuses_for_a_while_delays_a_run_and_loses_none(
    life: Life, clock: Clock
) -> None:
    here = life()
    here.create(every=20.0, times=1)
    with here.process.full_disk():
        clock.run(22.0)
        assert not here.flows()
    clock.run(10.0)
    assert here.flows() == ['j.1']


def test_a_run_that_can_not_start_is_told_and_the_next_one_comes(
    life: Life, clock: Clock
) -> None:
    here = life()
    here.create('flow: one\n', every=20.0, times=2)
    clock.run(25.0)
    assert here.jobs.jobs['j'].last_result == 'failed'
    clock.run(25.0)
    assert here.started == ['j.1', 'j.2']


def test_a_canceled_job_starts_nothing_any_more_also_after_a_restart(
    life: Life, clock: Clock
) -> None:
    here = life()
    here.create(every=20.0)
    clock.run(25.0)
    here.jobs.cancel('j', 'me', 'enough')
    here = life()
    clock.run(100.0)
    assert here.flows() == ['j.1'] and not here.jobs.jobs
    with pytest.raises(LifecycleError, match="no scheduled job 'j'"):
        here.jobs.cancel('j', 'me', '')
    last = list(here.process.journal.rows(kind='job'))[-1]
    assert (last.event, last.actor, last.cause) == ('canceled', 'me', 'enough')


@settings(max_examples=6)
@given(data=st.data())
def test_whatever_clocks_and_processes_do_no_time_is_run_twice(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    clock, wall = Clock(), [0.0]
    path: Path = tmp_path_factory.mktemp('jobs') / 'journal'

    def live() -> Scheduled:
        return Scheduled(lambda: Process(path, clock, Robot(clock)), clock, wall)

    here = live()
    for name, missed in (('a', 'skip'), ('b', 'once'), ('c', 'all')):
        here.create(FLOW, name, start_at=iso(1010.0), every=7.0, missed=missed, overlap='queue')
    for _ in range(data.draw(st.integers(2, 8))):
        action = data.draw(st.sampled_from(['run', 'jump', 'kill']))
        if action == 'run':
            clock.run(data.draw(st.floats(0.0, 40.0)))
        elif action == 'jump':
            wall[0] += data.draw(st.floats(-60.0, 60.0))
        else:
            here.process.kill()
            clock.run(data.draw(st.floats(0.0, 30.0)))
            here = live()
    clock.run(200.0)
    rows = list(here.process.journal.rows(kind='job'))
    for name in 'abc':
        due = [row.data['last'] for row in rows
               if row.action_id == name and row.event == 'started']
        assert len(due) == len(set(due)) and all((moment - 1010.0) % 7.0 == 0 for moment in due)
        assert sum(flow_id.startswith(name) for flow_id in here.flows()) == len(due)
        job = here.jobs.jobs[name]
        assert len(due) + len(job.owed) + job.missed == job.count
    here.process.journal.close()
