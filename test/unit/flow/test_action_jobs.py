# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions of a flow that have a schedule: each time is run once."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.flow import parse_flow
from action_lifecycle.journal import Entry
from action_lifecycle.lifecycle.states import ActionOutcome
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .robot import Clock, Process, Robot
from .scheduled import FLOW, Life, Scheduled


def flow_with(schedule: str) -> str:
    return FLOW + ('  place:\n    after: pick\n    motion: {server: arm, type: a/action/B}\n'
                   f'    confirm: z > 0\n    schedule: {{{schedule}}}\n')


def test_an_action_waits_for_its_time_behind_what_it_waits_for(
    life: Life, clock: Clock, robot: Robot
) -> None:
    here = life()
    run = here.orchestrator.submit(
        parse_flow(flow_with('start_at: 1050, clock: ros'), 'f'), 'f')
    clock.run(49.0)
    assert robot.executed('pick') == 1 and robot.executed('place') == 0
    (job,) = here.jobs.jobs.values()
    assert (job.job_id, job.flow_id, job.action_id) == ('f/place', 'f', 'place')
    clock.run(10.0)
    assert run.state == 'FINISH' and robot.executed('place') == 1
    assert not here.jobs.jobs and not here.process.journal.open_rows('job')


def test_an_action_runs_as_many_times_as_it_says(
    life: Life, clock: Clock, robot: Robot
) -> None:
    here = life()
    run = here.orchestrator.submit(
        parse_flow(flow_with('every: 10, times: 3, clock: ros'), 'f'), 'f')
    clock.run(25.0)
    assert robot.executed('place') == 2 and not run.ended
    clock.run(20.0)
    assert robot.executed('place') == 3 and run.state == 'FINISH'
    assert here.process.states('place').count('assigned') == 2


def test_an_action_that_fails_does_not_run_again(
    life: Life, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['place', 'confirm'] = ['confirmed', 'refuted']
    here = life()
    run = here.orchestrator.submit(
        parse_flow(flow_with('every: 10, times: 3, clock: ros'), 'f'), 'f')
    clock.run(100.0)
    assert robot.executed('place') == 2 and run.state == 'FAIL'
    assert not here.jobs.jobs


@pytest.mark.parametrize(('missed', 'outcome'), [
    ('skip', ActionOutcome.SKIPPED), ('once', ActionOutcome.SUCCEEDED)])
def test_an_action_whose_time_has_passed(
    life: Life, clock: Clock, missed: str, outcome: ActionOutcome
) -> None:
    here = life()
    run = here.orchestrator.submit(parse_flow(
        flow_with(f'start_at: 900, clock: ros, missed: {missed}'), 'f'), 'f')
    clock.run(20.0)
    assert run.ended and run.actions[1].outcome is outcome
    assert not here.jobs.jobs


def test_a_canceled_job_of_an_action_cancels_the_action(life: Life, clock: Clock) -> None:
    here = life()
    run = here.orchestrator.submit(
        parse_flow(flow_with('start_at: 5000, clock: ros'), 'f'), 'f')
    clock.run(10.0)
    here.jobs.cancel('f/place', 'me', 'enough')
    clock.run(1.0)
    assert run.actions[1].outcome is ActionOutcome.CANCELED and run.ended
    assert not here.process.journal.open_rows('job')


def test_a_canceled_flow_takes_the_jobs_of_its_actions_along(life: Life, clock: Clock) -> None:
    here = life()
    run = here.orchestrator.submit(
        parse_flow(flow_with('start_at: 5000, clock: ros'), 'f'), 'f')
    clock.run(10.0)
    here.orchestrator.cancel('f', 'me', 'enough')
    clock.run(1.0)
    assert run.ended and not here.jobs.jobs


@pytest.mark.parametrize('readable', [True, False])
def test_the_end_of_an_action_s_job_that_the_disk_refuses_is_recorded_later(
    life: Life, clock: Clock, readable: bool
) -> None:
    """Also if its time comes meanwhile, which is not noted any more."""
    here = life()
    here.orchestrator.submit(parse_flow(flow_with('start_at: 1020, clock: ros'), 'f'), 'f')
    clock.run(10.0)
    if not readable:
        here.process.journal.append(Entry(kind='job', action_id='f/place', event='due'))
        here = life()
    rows = len(list(here.process.journal.rows(kind='job')))
    with here.process.full_disk(lambda entry: entry.kind == 'job' and entry.final) as refused:
        here.orchestrator.cancel('f', 'me', 'enough')
        clock.run(10.0)
        assert here.orchestrator.runs['f'].ended and len(refused) == 11  # once a second
        assert [row.action_id for row in here.process.journal.open_rows('job')] == ['f/place']
    clock.run(2.0)
    assert not here.process.journal.open_rows('job')
    assert len(list(here.process.journal.rows(kind='job'))) == rows + 1
    assert not here.jobs.jobs and not here.jobs.aside.reasons


@settings(max_examples=6,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_killed_at_random_an_action_runs_as_many_times_as_it_says(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    clock = Clock()
    robot = Robot(clock)
    path: Path = tmp_path_factory.mktemp('jobs') / 'journal'
    lives: list[Scheduled] = []

    def one_more() -> Process:
        return Process(path, clock, robot)

    lives.append(Scheduled(one_more, clock, [0.0]))
    lives[-1].orchestrator.submit(parse_flow(
        flow_with('every: 10, times: 3, clock: ros, missed: all, overlap: queue'), 'f'), 'f')
    for _ in range(data.draw(st.integers(1, 4))):
        clock.run(data.draw(st.floats(0.0, 15.0)))
        lives[-1].process.kill()
        for motion in robot.motions:  # what ran at its controller comes to its end
            motion.result = lambda result: None
        clock.run(data.draw(st.floats(0.0, 25.0)))
        lives.append(Scheduled(one_more, clock, [0.0]))
    clock.run(500.0)
    ended = [row for row in lives[-1].process.journal.rows(
        flow_id='f', action_id='place', kind='transition') if row.to_state == 'terminated']
    assert [row.data['outcome'] for row in ended] == ['succeeded'] * 3
    assert not lives[-1].process.journal.open_flows()
    lives[-1].process.journal.close()


@pytest.mark.parametrize('kill', [False, True])
def test_a_time_that_comes_during_a_pause_is_made_up_for_once(
    life: Life, clock: Clock, robot: Robot, kill: bool
) -> None:
    here = life()
    run = here.orchestrator.submit(
        parse_flow(flow_with('start_at: 1020, clock: ros'), 'f'), 'f')
    clock.run(10.0)
    here.orchestrator.control.pause('f', 'ann')
    clock.run(5.0)
    if kill:
        here = life()
        run = here.orchestrator.runs['f']
    clock.run(50.0)
    assert robot.executed('place') == 0
    here.orchestrator.control.resume('f', 'ann')
    clock.run(10.0)
    assert robot.executed('place') == 1 and run.state == 'FINISH'
    assert not here.jobs.jobs


@pytest.mark.parametrize('kill', [False, True])
def test_the_retry_of_a_scheduled_action_does_not_wait_for_its_time(
    life: Life, clock: Clock, robot: Robot, kill: bool
) -> None:
    robot.verdicts['place', 'confirm'] = ['refuted']
    here = life()
    run = here.orchestrator.submit(
        parse_flow(flow_with('start_at: 1020, clock: ros, missed: skip'), 'f'), 'f')
    clock.run(15.0)
    here.orchestrator.control.pause('f', 'ann')
    here.orchestrator.control.resume('f', 'ann')
    clock.run(5.5)
    here.orchestrator.control.pause('f', 'ann')
    clock.run(10.0)
    here.orchestrator.control.retry('f', 'place', 'ann')
    if kill:
        here = life()
        run = here.orchestrator.runs['f']
    here.orchestrator.control.resume('f', 'ann')
    clock.run(10.0)
    assert robot.executed('place') == 2 and run.state == 'FINISH'
    assert not here.jobs.jobs and not here.process.journal.open_rows('job')


def test_a_flow_ends_when_its_job_is_canceled_while_the_next_run_is_refused(
    life: Life, clock: Clock, robot: Robot
) -> None:
    here = life()
    run = here.orchestrator.submit(
        parse_flow(flow_with('every: 10, times: 3, clock: ros'), 'f'), 'f')
    with here.process.full_disk(lambda entry: entry.event == 'reassign') as refused:
        while not refused:
            clock.run(0.5)
        here.jobs.cancel('f/place', 'ann', 'enough')
    clock.run(100.0)
    assert run.ended and robot.executed('place') == 1
