# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work of several kinds that a cancel, a time limit or a hold stops."""

from __future__ import annotations

from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
import pytest

from .kills import restart
from .robot import Clock, Robot, Start
from .task_work import MIXED, task

pytestmark = pytest.mark.usefixtures('task_kind')


def test_a_cancel_stops_the_work_and_waits_for_its_end(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    process = start()
    run = process.submit(task())
    clock.run(1.0)
    process.orchestrator.cancel('f', 'anna', 'enough')
    clock.run(1.0)
    assert robot.works[0].canceled and run.actions[0].state is ActionState.IN_PROGRESS
    robot.works[0].end('canceled')
    clock.run(1.0)
    assert run.actions[0].outcome is ActionOutcome.CANCELED and run.ended


def test_work_that_moves_nothing_and_does_not_stop_locks_nothing(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    process = start()
    run = process.submit(task(', resources: [camera], stop_timeout: 2.0'))
    clock.run(1.0)
    process.orchestrator.cancel('f', 'anna', 'enough')
    clock.run(10.0)
    assert run.actions[0].outcome is ActionOutcome.CANCELED
    assert not process.orchestrator.resources.locked


def test_a_time_limit_stops_the_work(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('task')
    run = start().submit(task(', timeout: 5.0'))
    clock.run(6.0)
    assert robot.works[0].canceled
    robot.works[0].end('canceled')
    clock.run()
    assert run.actions[0].error_code is ErrorCode.DEADLINE_EXCEEDED


def test_a_hold_lets_a_task_end_and_begins_no_further_step(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    robot.by_hand |= {'motion', 'task'}
    run = process.submit(MIXED)
    clock.run(5.0)
    robot.motions[0].end()
    clock.run(5.0)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    assert not robot.works[0].canceled
    robot.works[0].end(result={'seen': 'b'})
    clock.run(50.0)
    assert len(robot.motions) == 1 and len(run.actions[0].results) == 3
    assert process.orchestrator.blocked_for(run.actions[0]).endswith(
        'stopped: the flow is held by ann')
    process.orchestrator.control.resume('f', 'ann')
    clock.run(1.0)
    assert [step.server for step in robot.motions[1].request.steps] == ['lift']
    assert not robot.motions[1].request.resume
    robot.motions[1].end()
    clock.run()
    assert run.state == 'FINISH' and len(robot.works) == 1


def test_killed_in_a_hold_between_two_steps_the_next_one_is_asked_for_first(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """After the kill it is not known whether the goal of the next step was sent."""
    process = start()
    robot.by_hand |= {'motion', 'task'}
    process.submit(MIXED)
    clock.run(5.0)
    robot.motions[0].end()
    clock.run(5.0)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    robot.works[0].end()
    clock.run(5.0)
    process, (run,) = restart(start, process)
    assert robot.motions[1].request.resume and robot.motions[1].canceled
    robot.motions[1].end('not_running')
    clock.run(5.0)
    assert len(robot.motions) == 2
    process.orchestrator.control.resume('f', 'ann')
    robot.motions[2].end('not_running')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('pick') == 1  # the sensors show the outcome


@pytest.mark.parametrize('kill', [False, True])
def test_a_hold_lets_work_that_moves_nothing_end(
    start: Start, clock: Clock, robot: Robot, kill: bool
) -> None:
    process = start()
    robot.by_hand.add('task')
    run = process.submit(task(', timeout: 50'))
    clock.run(5.0)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    if kill:
        process, (run,) = restart(start, process)
        assert robot.works[-1].resumed
    clock.run(100.0)
    assert not robot.works[-1].canceled
    robot.works[-1].end()
    clock.run(5.0)
    assert run.actions[0].outcome is ActionOutcome.SUCCEEDED and not run.ended
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH'
