# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The sensors judge whether ended physical work stands; what happens meanwhile, and after it."""

from __future__ import annotations

import pytest

from .kills import restart
from .robot import Clock, MOTION, one, Process, Robot, Start

TWO = ('flow: two\nactions:\n'
       f'  pick: {{{MOTION}, resources: [arm], retry: {{times: 1, delay: 0}}}}\n'
       f'  place: {{{MOTION}, resources: [arm], after: {{pick: completion}}}}\n')


def refuted(start: Start, clock: Clock, robot: Robot, text: str = TWO) -> Process:
    """Return a process whose motion was refuted, and of which it is not known if it stands."""
    robot.by_hand.add('stop')
    robot.verdicts['pick', 'confirm'] = ['refuted', 'confirmed']
    process = start()
    process.submit(text)
    clock.run(10.0)
    assert len(robot.stops_judged) == 1 and robot.executed('pick') == 1
    return process


@pytest.mark.parametrize('stands', [True, False])
def test_a_retry_waits_until_it_is_known_whether_it_stands(
    start: Start, clock: Clock, robot: Robot, stands: bool
) -> None:
    process = refuted(start, clock, robot)
    action = process.orchestrator.runs['f'].runners['pick'].action
    assert action.state.value == 'sensor_confirm'
    robot.stops_judged[0].end('not_running' if stands else 'failed', stopped=stands,
                              error_msg='' if stands else 'not seen to stop within 3 s')
    clock.run(100.0)
    assert robot.executed('pick') == 1 + stands and robot.executed('place') == stands
    assert ('arm' in process.orchestrator.resources.locked) is not stands
    if not stands:
        assert action.error_code.name == 'STOP_UNCONFIRMED'
        assert 'z > 0 is false' in action.error_msg  # what the sensors have refuted
        assert 'locked until clear_stop: arm' in action.error_msg


@pytest.mark.parametrize('stands', [True, False])
def test_a_cancel_meanwhile_ends_it_when_the_stop_is_judged(
    start: Start, clock: Clock, robot: Robot, stands: bool
) -> None:
    process = refuted(start, clock, robot)
    process.orchestrator.cancel('f', 'ann', 'enough')
    clock.run(1.0)
    run = process.orchestrator.runs['f']
    assert not run.ended
    robot.stops_judged[0].end('not_running', stopped=stands)
    clock.run(1.0)
    assert run.ended and robot.executed('pick') == 1
    action = run.runners['pick'].action
    assert action.outcome is not None and action.outcome.value == 'canceled'
    assert action.error_code.name == ('CANCELED' if stands else 'STOP_UNCONFIRMED')


@pytest.mark.parametrize('how', ['killed', 'halted'])
def test_after_a_restart_it_is_judged_again(
    start: Start, clock: Clock, robot: Robot, how: str
) -> None:
    process = refuted(start, clock, robot)
    if how == 'halted':
        halted: list[bool] = []
        process.orchestrator.halt(lambda: halted.append(True))
        clock.run(0.0)
        assert halted
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process, _ = restart(start, process)
    clock.run(10.0)
    assert len(robot.stops_judged) == 2 and robot.executed('pick') == 1
    robot.stops_judged[1].end('failed', stopped=False)
    clock.run(100.0)
    assert robot.executed('pick') == 1 and robot.executed('place') == 0


@pytest.mark.parametrize('stands', [True, False])
def test_an_interrupted_motion_is_repeated_only_when_it_stands(
    start: Start, clock: Clock, robot: Robot, stands: bool
) -> None:
    robot.by_hand |= {'motion', 'stop'}
    process = start()
    process.submit(one(', idempotent: true, resources: [arm]'))
    clock.run(1.0)
    process, _ = restart(start, process)
    clock.run(0.0)
    robot.verdicts['pick', 'confirm'] = ['refuted', 'confirmed']
    robot.motions[1].end('not_running')
    clock.run(10.0)
    assert robot.executed('pick') == 1 and len(robot.stops_judged) == 1
    robot.stops_judged[0].end('not_running', stopped=stands)
    clock.run(10.0)
    assert robot.executed('pick') == 1 + stands
    assert ('arm' in process.orchestrator.resources.locked) is not stands


def test_a_repetition_waits_for_the_end_of_a_pause_that_began_meanwhile(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand |= {'motion', 'stop'}
    process = start()
    process.submit(one(', idempotent: true'))
    clock.run(1.0)
    process, _ = restart(start, process)
    clock.run(0.0)
    robot.verdicts['pick', 'confirm'] = ['refuted', 'refuted', 'confirmed']
    robot.motions[1].end('not_running')
    clock.run(10.0)
    process.orchestrator.control.pause('f', 'ann', 'wait')
    robot.stops_judged[0].end('not_running')
    clock.run(10.0)
    assert robot.executed('pick') == 1
    process.orchestrator.control.resume('f', 'ann', 'go')
    clock.run(10.0)
    robot.stops_judged[1].end('not_running')
    clock.run(10.0)
    assert robot.executed('pick') == 2


def test_a_time_limit_meanwhile_does_not_hide_what_was_refuted(
    start: Start, clock: Clock, robot: Robot
) -> None:
    text = TWO.replace('retry: {times: 1, delay: 0}', 'timeout: 8')
    process = refuted(start, clock, robot, text)
    clock.run(100.0)
    robot.stops_judged[0].end('not_running')
    clock.run(1.0)
    action = process.orchestrator.runs['f'].runners['pick'].action
    assert action.error_code.name == 'REFUTED'
