# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stops that meet the end of a step, another stop, or a restart between two rows."""

from __future__ import annotations

from action_lifecycle.journal import Entry
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
import pytest

from .kills import restart
from .robot import Clock, Killed, MOTION, one, Robot, Start

NESTED = ('flow: f\nactions:\n  outer:\n    resources: [arm]\n    flow:\n      flow:\n'
          f'        flow: inner\n        actions:\n          a: {{{MOTION}}}\n'
          f'          b: {{after: a, {MOTION}}}\n')
STEPS = ('flow: f\nactions:\n  a:\n    resources: [arm]\n    steps:\n'
         '      - motion: {server: arm, type: a/action/B}\n'
         '      - call: {service: s, type: std_srvs/srv/Trigger, physical: true}\n'
         '      - motion: {server: arm, type: a/action/B}\n    confirm: z > 0\n')


@pytest.mark.parametrize('whole', [True, False])
def test_killed_between_the_cancel_of_a_flow_and_of_the_flow_inside_the_motion_is_awaited(
    start: Start, clock: Clock, robot: Robot, whole: bool
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(NESTED)
    clock.run(0.5)
    process.die_after(1)
    with pytest.raises(Killed):
        if whole:
            process.orchestrator.cancel('f', 'anna', 'enough')
        else:
            process.orchestrator.fire('f', 'outer', 'cancel', actor='anna', cause='enough')
    process, _ = restart(start, process)
    clock.run(1.0)
    runs = process.orchestrator.runs
    assert runs['f/outer'].runners['a'].action.state is ActionState.EXECUTING_MOTION
    assert not runs['f/outer'].ended and not runs['f'].ended
    assert not process.orchestrator.resources.free('arm')


def test_a_held_step_that_succeeds_is_followed_by_the_next_one_after_the_resume(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    action = process.submit(STEPS).actions[0]
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'anna', hold=True)
    robot.motions[0].end()
    clock.run(20.0)
    assert action.error_code is ErrorCode.NONE and len(robot.motions) == 1
    process.orchestrator.control.resume('f', 'anna')
    clock.run(20.0)
    assert len(robot.motions) == 2 and not robot.motions[1].canceled
    assert action.error_code is ErrorCode.NONE


def test_a_hold_that_is_resumed_before_its_step_succeeds_does_not_hang(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    action = process.submit(STEPS).actions[0]
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'anna', hold=True)
    process.orchestrator.control.resume('f', 'anna')
    robot.motions[0].end()
    clock.run(20.0)
    assert len(robot.motions) == 2 and action.error_code is ErrorCode.NONE


@pytest.mark.parametrize('state, more, refused', [
    (ActionState.ERROR, ', retry: {times: 1, delay: 2.0, jitter: 0}', 'terminate'),
    (ActionState.FALLBACK_REQUESTED, ', fallback: ask', 'fail'),
    (ActionState.SENSOR_CONFIRM, '', 'fail'),
    (ActionState.IN_PROGRESS, ', require: z > 1', 'fail')])
def test_a_cancel_whose_row_is_repeated_is_not_overtaken(
    start: Start, clock: Clock, robot: Robot, state: ActionState, more: str, refused: str
) -> None:
    if state is not ActionState.SENSOR_CONFIRM:
        robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one(more))
    while run.actions[0].state is not state:
        clock.run(0.01)
    begun = len(robot.motions)
    full = [True]

    def once(entry: Entry) -> bool:
        return entry.event == refused and full and full.pop()

    with process.full_disk(once):
        process.orchestrator.cancel('f', 'anna', 'enough')
        for question in list(process.desk.open.values()):
            process.desk.respond(question.id, 'retry', 'ben')
        clock.run(100.0)
    assert run.state == 'FAIL' and len(robot.motions) == begun
    assert run.actions[0].outcome is ActionOutcome.CANCELED


def test_a_cancel_while_the_time_limit_stops_a_motion_prevents_the_retry(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(one(', timeout: 2, retry: {times: 3}'))
    clock.run(2.5)
    process.orchestrator.cancel('f', 'anna', 'enough')
    robot.motions[0].end('canceled')
    clock.run(100.0)
    assert len(robot.motions) == 1
    assert run.actions[0].outcome is ActionOutcome.CANCELED


def test_the_cancel_of_a_paused_flow_whose_actions_have_all_ended_ends_it(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(one())
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'anna')
    clock.run(20.0)
    assert run.actions[0].outcome is ActionOutcome.SUCCEEDED and not run.ended
    process.orchestrator.cancel('f', 'anna', 'enough')
    clock.run(20.0)
    assert run.ended
