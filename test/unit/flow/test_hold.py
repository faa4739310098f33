# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A pause with hold stops what moves; after the resume the sensors are asked first."""

from __future__ import annotations

from action_lifecycle.flow import parse_edit
from action_lifecycle.lifecycle.states import ActionState, ErrorCode
import pytest

from .controlled import held, outcomes
from .kills import restart
from .robot import Clock, Killed, MOTION, Robot, Start


def test_hold_stops_what_moves_and_resume_asks_the_sensors_first(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, run = held(start, clock, robot)
    action = run.runners['a'].action
    assert 'is being stopped: the flow is held by ann' in process.orchestrator.blocked_for(action)
    shown: list[str] = []
    process.orchestrator.flow_changed = \
        lambda run: shown.append(process.orchestrator.blocked_for(action))
    robot.motions[0].end('canceled')
    assert shown == ['approval_required: stopped: the flow is held by ann']
    clock.run(100.0)
    assert action.state is ActionState.EXECUTING_MOTION and not run.ended
    assert 'stopped: the flow is held by ann' in process.orchestrator.blocked_for(action)
    assert process.orchestrator.resources.held_by('f', 'a') == ['arm']
    process.orchestrator.control.resume('f', 'ann')
    assert robot.motions[1].request.resume
    assert robot.motions[1].request.goal_id == robot.motions[0].request.goal_id
    robot.motions[1].end('canceled')  # as the bridge remembers it
    clock.run()
    assert run.state == 'FINISH' and robot.executed('a') == 1  # the world showed the outcome


@pytest.mark.parametrize(('extra', 'motions', 'state'), [
    (', idempotent: true', 2, 'FINISH'), (', on_resume: confirm', 1, 'FAIL'), ('', 1, 'CONTINUE')])
def test_a_held_motion_is_repeated_only_by_on_resume(
    start: Start, clock: Clock, robot: Robot, extra: str, motions: int, state: str
) -> None:
    process, run = held(start, clock, robot, extra)
    robot.motions[0].end('canceled')
    robot.verdicts['a', 'confirm'] = ['refuted']
    process.orchestrator.control.resume('f', 'ann')
    robot.motions[1].end('canceled')
    robot.by_hand.clear()
    clock.run(100.0)
    assert robot.executed('a') == motions and run.state == state
    assert len(process.desk.open) == (state == 'CONTINUE')


def test_a_motion_that_has_just_ended_is_confirmed_in_spite_of_a_hold(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, run = held(start, clock, robot)
    robot.motions[0].end()
    clock.run(10.0)
    assert outcomes(run) == {'a': 'succeeded'} and not run.ended
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH' and len(robot.motions) == 1


def test_a_motion_that_was_not_sent_when_it_was_held_is_sent_after_the_resume(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, run = held(start, clock, robot)
    robot.motions[0].end('canceled', sent=False)  # the bridge was not there yet
    clock.run(10.0)
    assert len(robot.motions) == 1
    process.orchestrator.control.resume('f', 'ann')
    clock.run(0.5)
    first, second = (motion.request for motion in robot.motions)
    assert not second.resume and second.goal_id == first.goal_id
    robot.motions[1].end()
    clock.run()
    assert run.state == 'FINISH' and not process.desk.open


@pytest.mark.parametrize('answer', [True, False])
def test_a_hold_that_is_not_seen_to_stop_locks_the_resources(
    start: Start, clock: Clock, robot: Robot, answer: bool
) -> None:
    process, run = held(start, clock, robot, ', stop_timeout: 2')
    if answer:
        robot.motions[0].end('canceled', stopped=False, error_msg='still 0.3 m/s')
    clock.run(3.0)
    action = run.runners['a'].action
    assert action.error_code is ErrorCode.STOP_UNCONFIRMED and outcomes(run) == {'a': 'failed'}
    assert 'its flow was paused' in action.error_msg
    assert set(process.orchestrator.resources.locked) == {'arm'} and not run.ended


def test_a_resume_before_the_stop_is_confirmed_waits_for_it(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, run = held(start, clock, robot)
    process.orchestrator.control.resume('f', 'ann')
    clock.run(1.0)
    assert len(robot.motions) == 1
    robot.motions[0].end('canceled')
    clock.run(0.0)
    assert len(robot.motions) == 2 and robot.motions[1].request.resume
    robot.motions[1].end('canceled')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('a') == 1


def test_a_hold_before_the_goal_is_sent_sends_it_after_the_resume(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{MOTION}}}\n')
    assert run.runners['a'].action.state is ActionState.EXECUTING_MOTION
    process.orchestrator.control.pause('f', 'ann', hold=True)
    clock.run(10.0)
    assert not robot.motions
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH' and [m.request.resume for m in robot.motions] == [False]


def test_a_hold_while_the_required_is_checked_checks_it_again(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{MOTION}, require: z < 1}}\n')
    process.orchestrator.control.pause('f', 'ann', hold=True)
    clock.run(10.0)
    assert run.runners['a'].action.state is ActionState.IN_PROGRESS and not robot.motions
    process, (run,) = restart(start, process)
    clock.run(10.0)
    assert run.runners['a'].action.state is ActionState.IN_PROGRESS and not robot.motions
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('a') == 1


def test_killed_after_the_row_of_a_hold_the_motion_is_followed_and_stopped(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(f'flow: f\nactions:\n  a: {{{MOTION}, resources: [arm]}}\n')
    clock.run(0.5)
    process.die_after(1)
    with pytest.raises(Killed):
        process.orchestrator.control.pause('f', 'ann', hold=True)
    assert not robot.motions[0].canceled
    process, (run,) = restart(start, process)
    followed = robot.motions[1]
    assert followed.request.resume and followed.canceled
    followed.end('canceled')
    clock.run(100.0)
    assert run.runners['a'].action.state is ActionState.EXECUTING_MOTION
    assert len(robot.motions) == 2
    process.orchestrator.control.resume('f', 'ann')
    robot.motions[2].end('canceled')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('a') == 1


def test_the_limit_of_a_held_attempt_starts_again(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, run = held(start, clock, robot, ', timeout: 10')
    robot.motions[0].end('canceled')
    clock.run(100.0)
    process.orchestrator.control.resume('f', 'ann')
    clock.run(8.0)
    process, (run,) = restart(start, process)
    clock.run(1.0)
    assert not robot.motions[-1].canceled
    clock.run(2.0)
    assert robot.motions[-1].canceled  # 10 s after the resume


@pytest.mark.parametrize('stopped', [True, False])
def test_a_held_flow_is_canceled(
    start: Start, clock: Clock, robot: Robot, stopped: bool
) -> None:
    process, run = held(start, clock, robot)
    if stopped:
        robot.motions[0].end('canceled')
    process.orchestrator.cancel('f', 'ben', 'enough')
    if not stopped:
        clock.run(1.0)
        assert not run.ended
        robot.motions[0].end('canceled')
    clock.run(10.0)
    assert run.ended and outcomes(run) == {'a': 'canceled'}
    assert not process.orchestrator.resources.locked


def test_a_held_flow_is_shut_down_and_goes_on(start: Start, clock: Clock, robot: Robot) -> None:
    process, run = held(start, clock, robot)
    halted: list[bool] = []
    process.orchestrator.halt(lambda: halted.append(True))
    robot.motions[0].end('canceled')
    clock.run(1.0)
    assert halted == [True]
    process, (run,) = restart(start, process)
    robot.motions[1].end('not_running')
    clock.run(10.0)
    assert run.runners['a'].action.state is ActionState.EXECUTING_MOTION
    process.orchestrator.control.resume('f', 'ann')
    robot.motions[2].end('not_running')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('a') == 1


def test_a_held_action_of_a_flow_that_an_edit_ends_goes_on_after_the_resume(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, run = held(start, clock, robot)
    robot.motions[0].end('canceled')
    process.orchestrator.edit('f', parse_edit('- finish: enough\n'), 'ben', 'enough')
    clock.run(10.0)
    assert not run.ended
    process.orchestrator.control.resume('f', 'ann')
    robot.motions[1].end('canceled')
    clock.run()
    assert run.state == 'FINISH' and outcomes(run) == {'a': 'succeeded'}
