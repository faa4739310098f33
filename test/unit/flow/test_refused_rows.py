# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Stops, pauses and limits while a row of the action is repeated, since the journal refused it."""

from __future__ import annotations

from action_lifecycle.documents.errors import TransitionNotAllowed
from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.journal import Entry
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
import pytest

from .robot import Clock, MOTION, one, Robot, Start

STEPS = ('flow: f\nactions:\n  a:\n    steps:\n      - tool: {name: t}\n'
         '      - motion: {server: arm, type: a/action/B}\n    confirm: z > 0\n')
RETRY = ', retry: {times: 3, delay: 1, jitter: 0}'


def of_actions(entry: Entry) -> bool:
    return entry.kind == 'transition'


@pytest.mark.parametrize('whole', [True, False])
def test_a_cancel_while_an_error_is_recorded_prevents_the_retry(
    start: Start, clock: Clock, robot: Robot, whole: bool
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(one(RETRY))
    clock.run(0.5)
    with process.full_disk(of_actions):
        robot.motions[0].end('failed', ErrorCode.MOTION_ABORTED)
        if whole:
            process.orchestrator.cancel('f', 'anna', 'enough')
        else:
            process.orchestrator.fire('f', 'pick', 'cancel', actor='anna')
        clock.run(2.5)
    clock.run(100.0)
    assert len(robot.motions) == 1 and run.ended
    assert run.actions[0].outcome is ActionOutcome.CANCELED
    assert run.actions[0].error_code is ErrorCode.MOTION_ABORTED


def test_a_deadline_while_an_error_is_recorded_prevents_the_retry(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(one(RETRY + ', deadline: 1.0'))
    clock.run(0.5)
    with process.full_disk(of_actions):
        robot.motions[0].end('failed', ErrorCode.MOTION_ABORTED)
        clock.run(1.0)
    clock.run(100.0)
    assert len(robot.motions) == 1 and run.actions[0].outcome is ActionOutcome.FAILED


def test_a_deadline_does_not_take_the_place_of_a_cancel(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one(', deadline: 3.0, retry: {times: 1, delay: 60}'))
    clock.run(2.0)
    assert run.actions[0].state is ActionState.ERROR
    with process.full_disk(of_actions):
        process.orchestrator.cancel('f', 'anna', 'enough')
        clock.run(2.5)
    clock.run(100.0)
    assert run.actions[0].outcome is ActionOutcome.CANCELED


def test_a_retry_does_not_take_the_place_of_a_deadline(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one(', deadline: 3.0, retry: {times: 1, delay: 60}'))
    clock.run(2.5)
    with process.full_disk(of_actions):
        clock.run(0.6)
    with pytest.raises(OrderRefused, match='is being recorded'):
        process.orchestrator.control.retry('f', 'pick', 'anna')
    clock.run(100.0)
    assert len(robot.motions) == 1 and run.actions[0].outcome is ActionOutcome.FAILED


def test_a_hold_keeps_the_lock_of_a_motion_that_was_not_seen_to_stop(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(one(', resources: [arm]'))
    clock.run(0.5)
    with process.full_disk(of_actions):
        robot.motions[0].end('failed', ErrorCode.SERVER_VANISHED, stopped=False)
        process.orchestrator.control.pause('f', 'anna', hold=True)
    assert run.runners['pick'].held == ''
    clock.run(2.0)
    assert run.actions[0].error_code is ErrorCode.STOP_UNCONFIRMED
    assert set(process.orchestrator.resources.locked) == {'arm'}


@pytest.mark.parametrize('resumed', [0.2, 5.0])
@pytest.mark.parametrize('is_held', [True, False])
def test_a_hold_keeps_the_result_of_a_step_whose_row_is_repeated(
    start: Start, clock: Clock, robot: Robot, is_held: bool, resumed: float
) -> None:
    """The step that has ended is not asked for again; `is_held`: before it ends."""
    robot.by_hand |= {'motion', 'tool'}
    process = start()
    run = process.submit(STEPS)
    clock.run(0.5)
    if is_held:
        process.orchestrator.control.pause('f', 'anna', hold=True)
    with process.full_disk():
        robot.works[0].end(result=7)
    if not is_held:
        process.orchestrator.control.pause('f', 'anna', hold=True)
    clock.run(resumed)
    assert run.runners['a'].held == 'stopped' and not robot.motions
    process.orchestrator.control.resume('f', 'anna')
    clock.run(2.0)
    assert len(robot.works) == len(robot.motions) == 1
    assert run.actions[0].results == [7]


@pytest.mark.parametrize('event', ['retry', 'apply_fallback'])
def test_an_attempt_whose_row_is_repeated_does_not_begin_in_a_pause(
    start: Start, clock: Clock, robot: Robot, event: str
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one(RETRY if event == 'retry' else ', fallback: [{strategy: retry}]'))
    with process.full_disk(lambda entry: entry.event == event) as refused:
        while not refused:
            clock.run(0.1)
    process.orchestrator.control.pause('f', 'anna')
    clock.run(20.0)
    assert len(robot.motions) == 1 and run.runners['pick'].held == 'waiting'
    process.orchestrator.control.resume('f', 'anna')
    clock.run(20.0)
    assert len(robot.motions) == 2 and run.state == 'FINISH'


def test_a_motion_that_is_repeated_after_a_pause_asks_the_sensors_again(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    robot.verdicts['pick', 'confirm'] = ['refuted', 'confirmed']
    process = start()
    run = process.submit(one(', on_resume: retry'))
    clock.run(0.5)
    with process.full_disk(lambda entry: entry.event == 'repeat_motion') as refused:
        robot.motions[0].end('not_running')
        clock.run(0.5)
        assert refused
        process.orchestrator.control.pause('f', 'anna', hold=True)
    clock.run(20.0)
    assert run.actions[0].state is ActionState.SENSOR_CONFIRM and len(robot.motions) == 1
    process.orchestrator.control.resume('f', 'anna')
    clock.run(20.0)
    assert len(robot.motions) == 1 and run.state == 'FINISH'


@pytest.mark.parametrize('event', ['cancel', 'deadline'])
@pytest.mark.parametrize('paused', [True, False])
def test_a_waiting_action_whose_end_is_repeated_does_not_start(
    start: Start, clock: Clock, robot: Robot, event: str, paused: bool
) -> None:
    """Meanwhile its flow is resumed, or it becomes ready."""
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a, deadline: 2}}\n')
    clock.run(0.5)
    if paused:
        process.orchestrator.control.pause('f', 'anna')
        robot.motions[0].end()
    clock.run(1.1)
    with process.full_disk(lambda entry: entry.action_id == 'b'):
        if event == 'cancel':
            process.orchestrator.fire('f', 'b', 'cancel', actor='anna')
        clock.run(0.6)
    if paused:
        process.orchestrator.control.resume('f', 'anna')
    else:
        robot.motions[0].end()
    clock.run(20.0)
    assert robot.executed('b') == 0
    assert run.runners['b'].action.outcome is (
        ActionOutcome.CANCELED if event == 'cancel' else ActionOutcome.FAILED)


@pytest.mark.parametrize('state, more, event', [
    (ActionState.ERROR, ', retry: {times: 1, delay: 60}', 'retry'),
    (ActionState.ERROR, ', retry: {times: 1, delay: 60}', 'request_fallback'),
    (ActionState.FALLBACK_REQUESTED, ', fallback: ask', 'receive_fallback')])
def test_an_event_from_outside_does_not_take_the_place_of_a_cancel(
    start: Start, clock: Clock, robot: Robot, state: ActionState, more: str, event: str
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one(more))
    clock.run(2.0)
    assert run.actions[0].state is state
    with process.full_disk(of_actions):
        process.orchestrator.cancel('f', 'anna', 'enough')
    with pytest.raises(TransitionNotAllowed, match='is being recorded'):
        process.orchestrator.fire('f', 'pick', event, strategy='retry', next_fallback=1)
    clock.run(20.0)
    assert len(robot.motions) == 1 and run.actions[0].outcome is ActionOutcome.CANCELED


def test_the_time_limit_of_an_attempt_does_not_fail_an_action_that_is_done(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(one(RETRY + ', timeout: 3'), recipe='r')
    with process.full_disk(lambda entry: entry.event == 'receive_recipe') as refused:
        clock.run(20.0)
    assert len(refused) > 3 and run.actions[0].state is ActionState.RECIPE_REQUESTED
    clock.run(20.0)
    assert len(robot.motions) == 1 and run.actions[0].outcome is ActionOutcome.SUCCEEDED


@pytest.mark.parametrize('whole', [True, False])
def test_a_cancel_before_the_verification_is_recorded_is_carried_out_after_a_kill(
    start: Start, clock: Clock, robot: Robot, whole: bool
) -> None:
    process = start()
    process.submit('flow: f\nactions:\n  a: {tool: {name: t}}\n')
    with process.full_disk(lambda entry: entry.event in ('verified', 'fail')):
        clock.run(1.2)
        if whole:
            process.orchestrator.cancel('f', 'anna', 'enough')
        else:
            process.orchestrator.fire('f', 'a', 'cancel', actor='anna')
    process.kill()
    process = start()
    (run,) = process.orchestrator.restore()
    clock.run(20.0)
    assert run.ended and run.actions[0].outcome is ActionOutcome.CANCELED


def test_no_work_begins_after_a_kill_if_the_action_was_canceled_before(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    with process.full_disk(lambda entry: entry.event in ('step', 'fail')):
        process.submit('flow: f\nactions:\n  a: {tool: {name: t}}\n')
        process.orchestrator.fire('f', 'a', 'cancel', actor='anna')
    process.kill()
    process = start()
    (run,) = process.orchestrator.restore()
    clock.run(20.0)
    assert not robot.works and run.actions[0].outcome is ActionOutcome.CANCELED
