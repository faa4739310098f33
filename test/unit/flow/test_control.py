# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""People pause, resume, skip and retry; orders survive a kill, nothing of a paused flow starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from action_lifecycle.documents.errors import TransitionNotAllowed
from action_lifecycle.flow import FlowRun, parse_edit
from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.flow.run.flow_control import CONTROL_EVENTS
from action_lifecycle.journal import JournalError, verify_journal
from action_lifecycle.lifecycle.states import ActionState, ErrorCode
import pytest

from .robot import Clock, Killed, MOTION, Process, Robot, Start

CHAIN = (f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'
         f'  c: {{{MOTION}, after: b}}\n')


def outcomes(run: FlowRun) -> dict[str, str]:
    return {action.action_id: action.outcome.value for action in run.actions if action.outcome}


def again(start: Start, process: Process) -> tuple[Process, FlowRun]:
    """Kill the process and start the next one."""
    process.kill()
    process = start()
    (run,) = process.orchestrator.restore()
    return process, run


def orders(process: Process) -> list[tuple[str, str, str]]:
    return [(row.event, row.actor, row.cause) for row in process.journal.rows(kind='note')
            if row.event in CONTROL_EVENTS]


# Pause


def test_a_paused_flow_starts_nothing_and_what_is_at_work_ends(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(CHAIN)
    clock.run(0.5)
    ordered = process.orchestrator.control.pause('f', 'ann', 'lunch')
    assert orders(process) == [('paused', 'ann', 'lunch')]
    assert ordered.seq == process.journal.last_seq() and run.control.paused_by == 'ann'
    clock.run(100.0)
    assert outcomes(run) == {'a': 'succeeded'} and robot.executed('b') == 0
    assert process.orchestrator.blocked_for(run.actions[1]) == \
        'approval_required: the flow is paused by ann'
    process.orchestrator.control.resume('f', 'ben', 'back')
    clock.run()
    assert run.state == 'FINISH' and not run.control.paused


def test_a_flow_is_paused_after_a_kill(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    process.submit(CHAIN)
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    process, run = again(start, process)
    robot.motions[-1].end()
    clock.run(100.0)
    assert run.control.paused and run.control.paused_by == 'ann'
    assert outcomes(run) == {'a': 'succeeded'} and robot.executed('b') == 0
    process.orchestrator.control.resume('f', 'ben')
    process, run = again(start, process)
    assert not run.control.paused
    for motion in robot.motions:
        if motion.request.resume and motion.request.action_id == 'b':
            motion.end('not_running')
    clock.run()
    assert run.state == 'FINISH'


def test_claims_that_wait_for_a_resource_are_withdrawn_by_a_pause(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """The paused flow's action was the first in the queue of the arm: another flow gets it."""
    robot.by_hand.add('motion')
    arm = f'{MOTION}, resources: [arm]'
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{arm}}}\n  b: {{{arm}}}\n', priority=9)
    clock.run(0.5)
    other = process.submit(f'flow: g\nactions:\n  x: {{{arm}}}\n', flow_id='g')
    process.orchestrator.control.pause('f', 'ann')
    robot.motions[0].end()
    clock.run(10.0)
    assert robot.motions[1].request.flow_id == 'g'
    process.orchestrator.control.resume('f', 'ann')
    clock.run(10.0)
    assert len(robot.motions) == 2
    robot.motions[1].end()
    clock.run(10.0)
    robot.motions[2].end()
    clock.run()
    assert run.state == other.state == 'FINISH'
    assert run.runners['b'].action.waited < 20.0  # from the resume, not during the pause


@pytest.mark.parametrize('extra', [
    ', retry: {times: 1, delay: 5}', ', fallback: [{strategy: retry}]'])
def test_no_retry_and_no_fallback_begins_in_a_paused_flow(
    start: Start, clock: Clock, robot: Robot, extra: str
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{MOTION}{extra}}}\n')
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(100.0)
    assert run.runners['a'].action.state is ActionState.ERROR
    assert 'paused by ann' in process.orchestrator.blocked_for(run.actions[0])
    process, run = again(start, process)
    clock.run(100.0)
    assert run.runners['a'].action.state is ActionState.ERROR and robot.executed('a') == 1
    process.orchestrator.control.resume('f', 'ann')
    clock.run(2.0)  # the delay has passed
    assert run.state == 'FINISH' and robot.executed('a') == 2


def test_a_timer_that_fires_before_the_pause_ends_changes_nothing(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """The delay continues to count, and only what is left of it is waited for."""
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}, retry: {{times: 1, delay: 50, jitter: 0}}}}\n')
    clock.run(1.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(10.0)
    process.orchestrator.control.resume('f', 'ann')
    clock.run(30.0)
    assert robot.executed('a') == 1
    clock.run(15.0)
    assert run.state == 'FINISH'


def test_an_answer_during_a_pause_takes_effect_after_it(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{MOTION}, fallback: [ask]}}\n')
    clock.run(2.0)
    process.orchestrator.control.pause('f', 'ann')
    (request,) = process.desk.open
    process.desk.respond(request, 'retry', 'ben')
    clock.run(10.0)
    assert run.runners['a'].action.state is ActionState.FALLBACK_RECEIVED
    process, run = again(start, process)
    clock.run(10.0)
    assert run.runners['a'].action.state is ActionState.FALLBACK_RECEIVED
    process.orchestrator.control.resume('f', 'ann')
    clock.run(10.0)
    assert run.state == 'FINISH' and robot.executed('a') == 2


def test_events_that_begin_an_attempt_are_refused_in_a_paused_flow(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    process.submit(f'flow: f\nactions:\n  a: {{{MOTION}, retry: {{times: 1, delay: 50}}}}\n')
    clock.run(2.0)
    process.orchestrator.control.pause('f', 'ann')
    with pytest.raises(TransitionNotAllowed, match='paused by ann'):
        process.orchestrator.fire('f', 'a', 'retry', actor='ben')


def test_a_flow_does_not_end_while_it_is_paused(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['b', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(CHAIN)
    clock.run(1.5)
    control = process.orchestrator.control
    control.pause('f', 'ann')
    clock.run(100.0)
    assert outcomes(run) == {'a': 'succeeded', 'b': 'failed', 'c': 'skipped'} and not run.ended
    control.retry('f', 'b', 'ann', 'it was wet')
    clock.run(100.0)
    assert outcomes(run) == {'a': 'succeeded'} and robot.executed('b') == 1
    control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH' and run.summary['succeeded'] == 3
    assert run.runners['b'].action.attempt == 2


def test_a_second_pause_says_who_paused(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    process.submit(CHAIN)
    control = process.orchestrator.control
    first = control.pause('f', 'ann')
    second = control.pause('f', 'ben')
    assert second == (first.seq, 'it is paused already, by ann')
    assert control.pause('f', 'ben', hold=True).seq > first.seq  # that is more
    assert control.pause('f', 'ben', hold=True).note
    control.resume('f', 'ben')
    assert control.resume('f', 'ben') == (0, 'it is not paused')
    assert [order[0] for order in orders(process)] == ['paused', 'paused', 'resumed']


def test_a_paused_flow_is_edited_and_canceled(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    run = process.submit(CHAIN)
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    process.orchestrator.edit('f', parse_edit(
        f'- remove: [c]\n- add: {{d: {{{MOTION}}}}}\n'), 'ben', 'sooner')
    clock.run(10.0)
    assert robot.executed('d') == 0
    process.orchestrator.cancel('f', 'ben', 'enough')
    clock.run(10.0)
    assert run.ended and outcomes(run) == {'a': 'succeeded', 'b': 'canceled', 'd': 'canceled'}
    with pytest.raises(OrderRefused, match='the flow has ended'):
        process.orchestrator.control.resume('f', 'ann')


def test_an_order_that_is_not_recorded_has_no_effect(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(CHAIN)
    clock.run(0.5)
    control = process.orchestrator.control
    given: list[Callable[[], object]] = [
        lambda: control.pause('f', 'ann', hold=True), lambda: control.skip('f', 'c', 'ann'),
        lambda: control.set_breakpoint('f', 'c', 'ann')]
    with process.full_disk():
        for order in given:
            with pytest.raises(JournalError):
                order()
    clock.run()
    assert run.state == 'FINISH' and run.summary['succeeded'] == 3


# Hold


def held(start: Start, clock: Clock, robot: Robot, extra: str = '') -> tuple[Process, FlowRun]:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{MOTION}, resources: [arm]{extra}}}\n')
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    assert robot.motions[0].canceled
    return process, run


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
    process, run = again(start, process)
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
    process, run = again(start, process)
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
    process, run = again(start, process)
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
    process, run = again(start, process)
    robot.motions[1].end('not_running')
    clock.run(10.0)
    assert run.runners['a'].action.state is ActionState.EXECUTING_MOTION
    process.orchestrator.control.resume('f', 'ann')
    robot.motions[2].end('not_running')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('a') == 1


def test_a_pause_without_hold_repeats_no_interrupted_motion(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """After a kill the sensors do not show the outcome, and on_resume says retry."""
    robot.by_hand.add('motion')
    process = start()
    process.submit(f'flow: f\nactions:\n  a: {{{MOTION}, idempotent: true}}\n')
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    process, run = again(start, process)
    robot.verdicts['a', 'confirm'] = ['refuted', 'refuted']
    robot.motions[1].end('not_running')
    clock.run(100.0)
    assert run.runners['a'].action.state is ActionState.SENSOR_CONFIRM
    assert robot.executed('a') == 1
    process.orchestrator.control.resume('f', 'ann')
    clock.run(1.0)
    assert robot.executed('a') == 2  # the sensors were asked once more
    assert len(robot.questions) == 2


# Breakpoints


def test_nothing_of_an_action_starts_at_its_breakpoint(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a, resources: [arm]}}\n'
        f'  c: {{{MOTION}, after: b}}\n')
    control = process.orchestrator.control
    control.set_breakpoint('f', 'b', 'ann', 'look first')
    assert control.set_breakpoint('f', 'b', 'ben') == (0, 'it is set already, by ann')
    with pytest.raises(OrderRefused, match='it has not come to its breakpoint'):
        control.resume('f', 'ann', action_id='b')
    clock.run(10.0)
    assert robot.executed('b') == 0 and not process.orchestrator.resources.holders
    assert process.orchestrator.blocked_for(run.actions[1]) == \
        'approval_required: breakpoint, set by ann'
    process, run = again(start, process)
    clock.run(10.0)
    assert robot.executed('b') == 0 and run.control.breakpoints == {'b': 'ann'}
    control = process.orchestrator.control
    with pytest.raises(OrderRefused, match="'a' is succeeded: it has begun"):
        control.set_breakpoint('f', 'a', 'ann')
    with pytest.raises(OrderRefused, match='it has no breakpoint'):
        control.resume('f', 'ann', action_id='c')
    control.resume('f', 'ann', action_id='b')
    assert not run.control.breakpoints
    clock.run()
    assert run.state == 'FINISH' and robot.executed('b') == 1


def test_a_breakpoint_is_cleared(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    run = process.submit(CHAIN)
    control = process.orchestrator.control
    control.set_breakpoint('f', 'b', 'ann')
    control.set_breakpoint('f', 'c', 'ann')
    clock.run(10.0)
    control.clear_breakpoint('f', 'b', 'ann')
    process, run = again(start, process)
    robot.motions[-1].end()
    clock.run(10.0)
    assert outcomes(run) == {'a': 'succeeded', 'b': 'succeeded'}
    control = process.orchestrator.control
    control.clear_breakpoint('f', 'c', 'ann')
    assert control.clear_breakpoint('f', 'c', 'ann') == (0, 'it has no breakpoint')
    clock.run()
    assert run.state == 'FINISH'


def test_a_breakpoint_takes_an_action_out_of_the_queue_of_a_resource(
    start: Start, clock: Clock, robot: Robot
) -> None:
    arm = f'{MOTION}, resources: [arm]'
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{arm}}}\n  b: {{{arm}}}\n  c: {{{arm}}}\n')
    process.orchestrator.control.set_breakpoint('f', 'b', 'ann')
    clock.run(10.0)
    assert outcomes(run) == {'a': 'succeeded', 'c': 'succeeded'}
    process.orchestrator.edit('f', parse_edit('- remove: [b]\n'), 'ben', 'not needed')
    clock.run(10.0)
    assert run.state == 'FINISH' and not run.control.breakpoints


def test_an_action_that_passed_its_breakpoint_waits_for_a_paused_flow(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(CHAIN)
    control = process.orchestrator.control
    control.set_breakpoint('f', 'b', 'ann')
    clock.run(10.0)
    control.pause('f', 'ann')
    assert 'when the flow is resumed' in control.resume('f', 'ben', action_id='b').note
    clock.run(10.0)
    assert robot.executed('b') == 0
    control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH'


# Skip


@pytest.mark.parametrize('kind', ['success', 'completion', 'unconditional'])
def test_dependents_of_a_skipped_action_go_on(
    start: Start, clock: Clock, robot: Robot, kind: str
) -> None:
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'
        f'  c: {{{MOTION}, after: {{b: {kind}}}}}\n')
    clock.run(0.5)
    control = process.orchestrator.control
    control.skip('f', 'b', 'ann', 'done by hand')
    assert control.skip('f', 'b', 'ben') == (0, 'it was skipped already, by ann')
    clock.run(0.1)
    process, run = again(start, process)
    clock.run(0.0)
    robot.motions[-1].end()
    clock.run()
    assert outcomes(run) == {'a': 'succeeded', 'b': 'skipped', 'c': 'succeeded'}
    assert run.state == 'FINISH'
    assert (run.summary['skipped'], run.summary['skipped_by_people']) == (1, 1)
    assert robot.executed('b') == 0
    (row,) = (row for row in process.journal.rows(action_id='b') if row.final)
    assert (row.actor, row.cause) == ('ann', 'done by hand')


def test_a_condition_sees_the_outcome_skipped(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'
        f'  c: {{{MOTION}, after: {{b: {{condition: outcome == "skipped"}}}}}}\n')
    process.orchestrator.control.skip('f', 'b', 'ann')
    clock.run()
    (asked,) = (one for one in robot.questions if one.request.name == 'after')
    assert asked.request.parameters['outcome'] == 'skipped'


@pytest.mark.parametrize(('extra', 'state'), [
    (', retry: {times: 3, delay: 500}', ActionState.ERROR),
    (', fallback: [ask]', ActionState.FALLBACK_REQUESTED)])
def test_an_action_that_has_failed_is_skipped(
    start: Start, clock: Clock, robot: Robot, extra: str, state: ActionState
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}{extra}}}\n  b: {{{MOTION}, after: a}}\n')
    clock.run(5.0)
    assert run.runners['a'].action.state is state
    process.orchestrator.control.skip('f', 'a', 'ann', 'good enough')
    clock.run()
    assert run.state == 'FINISH' and outcomes(run) == {'a': 'skipped', 'b': 'succeeded'}
    assert not process.desk.open and robot.executed('a') == 1


def test_an_action_whose_verifier_is_pending_is_skipped(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.answers['look'] = ['pending']
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}, verify: {{by: service, service: look}}, '
        f'ask_again: 100}}\n  b: {{{MOTION}, after: a}}\n')
    clock.run(5.0)
    assert run.runners['a'].action.state is ActionState.PENDING
    process.orchestrator.control.skip('f', 'a', 'ann', 'I have looked')
    clock.run()
    assert run.state == 'FINISH' and outcomes(run) == {'a': 'skipped', 'b': 'succeeded'}


def test_what_is_at_work_is_skipped_only_when_it_is_held(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(CHAIN)
    clock.run(0.5)
    control = process.orchestrator.control
    with pytest.raises(OrderRefused, match="'a' is executing_motion.*pause the flow with hold"):
        control.skip('f', 'a', 'ann')
    control.pause('f', 'ann', hold=True)
    with pytest.raises(OrderRefused, match='it is being stopped'):
        control.skip('f', 'a', 'ann')
    robot.motions[0].end('canceled')
    control.skip('f', 'a', 'ann', 'done by hand')
    clock.run(10.0)
    assert outcomes(run) == {'a': 'skipped'} and len(robot.motions) == 1
    robot.by_hand.clear()
    control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH'


def test_an_action_that_the_scheduler_has_skipped_does_not_count_as_skipped_by_people(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(CHAIN)
    clock.run()
    assert run.state == 'FAIL' and run.summary['skipped_by_people'] == 0


def test_a_skip_is_carried_out_also_when_the_next_rows_are_refused(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """Its delay passes while its end can't be recorded; the attempt does not begin."""
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{MOTION}, retry: {{times: 1, delay: 5}}}}\n')
    clock.run(2.0)
    with process.full_disk(lambda entry: entry.event == 'terminate'):
        process.orchestrator.control.skip('f', 'a', 'ann')
        clock.run(20.0)
    clock.run()
    assert run.state == 'FINISH' and robot.executed('a') == 1


def test_an_action_whose_skip_can_not_be_recorded_yet_does_not_start(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(CHAIN)
    control = process.orchestrator.control
    control.pause('f', 'ann')
    with process.full_disk(lambda entry: entry.event == 'terminate' and entry.action_id == 'b'):
        control.skip('f', 'b', 'ann')
        control.resume('f', 'ann')
        clock.run(10.0)
        assert outcomes(run) == {'a': 'succeeded'}
    clock.run()
    assert run.state == 'FINISH' and robot.executed('b') == 0


def test_a_question_that_is_answered_while_a_skip_can_not_be_recorded_changes_nothing(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.answers['look'] = ['pending', 'completed']
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}, verify: {{by: service, service: look}}, '
        'ask_again: 5}\n')
    clock.run(4.0)
    assert run.runners['a'].action.state is ActionState.PENDING
    with process.full_disk(lambda entry: entry.event == 'fail'):
        process.orchestrator.control.skip('f', 'a', 'ann')
        clock.run(20.0)
    clock.run()
    assert run.state == 'FINISH' and outcomes(run) == {'a': 'skipped'}


# Retry


@pytest.mark.parametrize('kill', [False, True])
def test_a_retry_of_a_failed_action_revives_its_dependents(
    start: Start, clock: Clock, robot: Robot, kill: bool
) -> None:
    robot.verdicts['b', 'confirm'] = ['refuted']
    robot.by_hand.add('require')
    process = start()
    run = process.submit(CHAIN + f'  d: {{{MOTION}, after: {{b: completion}}}}\n'
                         f'  slow: {{{MOTION}, require: {{condition: z > 0}}}}\n')
    clock.run(10.0)
    assert outcomes(run) == {
        'a': 'succeeded', 'b': 'failed', 'c': 'skipped', 'd': 'succeeded'}
    if kill:
        process.die_after(2)
        with pytest.raises(Killed):
            process.orchestrator.control.retry('f', 'b', 'ann', 'dry now')
        process, run = again(start, process)
    else:
        process.orchestrator.control.retry('f', 'b', 'ann', 'dry now')
    (row,) = (row for row in process.journal.rows(kind='note') if row.event == 'retried')
    assert row.data == {'action': 'b', 'actions': ['b', 'c']}
    clock.run(10.0)
    assert outcomes(run) == dict.fromkeys('abcd', 'succeeded')
    assert robot.executed('b') == 2 and robot.executed('d') == 1
    assert [(row.action_id, row.actor) for row in process.journal.rows(kind='transition')
            if row.event == 'reassign'] == [('b', 'ann'), ('c', 'ann')]


def test_a_dependent_that_another_action_dooms_stays_skipped(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    robot.verdicts['x', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}}}\n  x: {{{MOTION}}}\n'
        f'  b: {{{MOTION}, after: [a, x]}}\n  c: {{{MOTION}, after: a}}\n')
    control = process.orchestrator.control
    clock.run(0.5)
    control.pause('f', 'ann')
    clock.run(10.0)
    with pytest.raises(OrderRefused, match="waits for 'a, x'.*retry that"):
        control.retry('f', 'b', 'ann')
    control.retry('f', 'a', 'ann')
    assert outcomes(run) == {'x': 'failed', 'b': 'skipped'}
    control.retry('f', 'x', 'ann')
    assert outcomes(run) == {}
    assert control.retry('f', 'x', 'ann') == (0, 'it is assigned again already')
    control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH'


def test_a_dependent_that_was_ready_waits_again_for_what_is_retried(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """It waited for the arm, since `a` had ended in some way."""
    robot.verdicts['a', 'confirm'] = ['refuted']
    robot.by_hand.add('require')
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}}}\n'
        f'  x: {{{MOTION}, resources: [arm], require: z < 1}}\n'
        f'  b: {{{MOTION}, resources: [arm], after: {{a: completion}}}}\n')
    clock.run(5.0)
    assert outcomes(run) == {'a': 'failed'}
    robot.by_hand.add('motion')
    process.orchestrator.control.retry('f', 'a', 'ann')
    clock.run(1.0)
    robot.by_hand.discard('motion')
    process.orchestrator.fire('f', 'x', 'cancel', actor='ann', cause='enough')
    clock.run(10.0)
    assert robot.executed('b') == 0
    robot.motions[-1].end()
    clock.run(10.0)
    assert outcomes(run) == {'a': 'succeeded', 'x': 'canceled', 'b': 'succeeded'}


def test_a_retry_in_error_does_not_wait_for_its_delay(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted', 'refuted']
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}, retry: {{times: 5, delay: 500, jitter: 0}}}}\n')
    clock.run(2.0)
    process.orchestrator.control.retry('f', 'a', 'ann')
    clock.run(2.0)
    assert robot.executed('a') == 2
    process.orchestrator.control.pause('f', 'ann')
    process.orchestrator.control.retry('f', 'a', 'ben')
    process, run = again(start, process)
    clock.run(10.0)
    assert robot.executed('a') == 2
    process.orchestrator.control.resume('f', 'ann')
    clock.run(10.0)
    assert robot.executed('a') == 3 and run.state == 'FINISH'


def test_refused_retries(start: Start, clock: Clock, robot: Robot) -> None:
    robot.verdicts['q', 'confirm'] = ['refuted']
    process = start()
    process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'
        f'  q: {{{MOTION}, fallback: [ask], deadline: 100}}\n')
    control = process.orchestrator.control
    for name, reason in (('a', 'it has not ended'), ('b', 'it has not ended')):
        with pytest.raises(OrderRefused, match=reason):
            control.retry('f', name, 'ann')
    clock.run(5.0)
    for name, reason in (('a', 'it has succeeded'), ('q', 'answer the question')):
        with pytest.raises(OrderRefused, match=reason):
            control.retry('f', name, 'ann')
    control.pause('f', 'ann')
    clock.run(200.0)
    with pytest.raises(OrderRefused, match='its deadline has passed'):
        control.retry('f', 'q', 'ann')
    control.resume('f', 'ann')
    clock.run()
    with pytest.raises(OrderRefused, match='the flow has ended'):
        control.retry('f', 'q', 'ann')
    with pytest.raises(KeyError):
        control.retry('nobody', 'q', 'ann')


def test_a_retried_action_has_its_retries_again(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """Also after an end without them: its condition was not known in time."""
    robot.verdicts['b', 'after'] = ['stale']
    robot.verdicts['b', 'confirm'] = ['refuted', 'confirmed']
    robot.by_hand.add('require')
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}}}\n'
        f'  b: {{{MOTION}, retry: {{times: 1}}, '
        'after: {a: {condition: z > 0, unknown: fail}}}\n'
        f'  c: {{{MOTION}, require: z < 1}}\n')
    clock.run(5.0)
    assert outcomes(run) == {'a': 'succeeded', 'b': 'failed'}
    process.orchestrator.control.retry('f', 'b', 'ann')
    clock.run(10.0)
    assert outcomes(run) == {'a': 'succeeded', 'b': 'succeeded'}
    next(one for one in robot.questions if one.request.name == 'require').answer('confirmed')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('b') == 2


def test_a_retry_before_the_end_of_the_action_is_durable(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    process.orchestrator.recorder.barrier = (  # type: ignore[method-assign]
        lambda callback: clock.call_later(0.5, callback))
    run = process.submit(CHAIN)
    while run.runners['a'].action.state is not ActionState.TERMINATED:
        clock.run(0.1)
    process.orchestrator.control.retry('f', 'a', 'ann')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('a') == 2


def test_a_retry_that_the_journal_refuses_at_first_and_a_cancel(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(CHAIN)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(5.0)
    with process.full_disk(lambda entry: entry.event == 'reassign'):
        process.orchestrator.control.retry('f', 'a', 'ann')
        clock.run(5.0)
        process.orchestrator.cancel('f', 'ann', 'enough')
        clock.run(5.0)
    clock.run()
    assert run.ended and outcomes(run) == {'a': 'failed', 'b': 'skipped', 'c': 'skipped'}


def test_a_skipped_action_is_retried_and_a_failed_one_skipped_after_a_retry(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(CHAIN)
    control = process.orchestrator.control
    clock.run(0.5)
    control.pause('f', 'ann')
    clock.run(10.0)
    assert outcomes(run) == {'a': 'failed', 'b': 'skipped', 'c': 'skipped'}
    control.retry('f', 'a', 'ann')
    control.skip('f', 'a', 'ann', 'I put it there')
    clock.run(1.0)
    control.skip('f', 'b', 'ann')
    clock.run(1.0)
    control.retry('f', 'b', 'ann')
    process, run = again(start, process)
    clock.run(1.0)
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    assert outcomes(run) == {'a': 'skipped', 'b': 'succeeded', 'c': 'succeeded'}
    assert run.state == 'FINISH' and run.summary['skipped_by_people'] == 1


def test_attempts_of_a_retried_action_are_counted_on_after_an_edit(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(CHAIN)
    control = process.orchestrator.control
    control.pause('f', 'ann')
    clock.run(10.0)
    control.retry('f', 'a', 'ann')
    process.orchestrator.edit('f', parse_edit('- update: {a: {priority: 3}}\n'), 'ben', 'why not')
    process, run = again(start, process)
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH' and run.runners['a'].action.attempt == 2
    assert [row.attempt for row in process.journal.rows(action_id='a')
            if row.event == 'start'] == [1, 2]


@pytest.mark.parametrize('rows', range(1, 12))
def test_killed_after_any_row_an_order_is_carried_out(
    start: Start, tmp_path: Path, clock: Clock, robot: Robot, rows: int
) -> None:
    """A retry with two dependents, in a paused flow that is then resumed; killed in between."""
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    process.submit(CHAIN)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(10.0)
    process.die_after(rows)
    try:
        process.orchestrator.control.retry('f', 'a', 'ann')
        process.orchestrator.control.resume('f', 'ann')
        clock.run()
    except Killed:
        process, run = again(start, process)
        for _ in range(5):
            for motion in robot.motions:
                if motion.request.resume:
                    motion.end()
            clock.run(5.0)
        if run.control.paused:
            process.orchestrator.control.resume('f', 'ann')
        clock.run()
    run = process.orchestrator.runs['f']
    assert run.state == 'FINISH' and outcomes(run) == dict.fromkeys('abc', 'succeeded')
    assert verify_journal(tmp_path / 'journal') == []


def test_a_replaced_action_is_not_retried_and_a_skipped_one_counts(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(CHAIN)
    control = process.orchestrator.control
    control.pause('f', 'ann')
    clock.run(10.0)
    control.retry('f', 'a', 'ann')
    control.skip('f', 'a', 'ann')
    clock.run(1.0)
    process.orchestrator.edit('f', parse_edit(
        f'- add: {{z: {{{MOTION}, replaces: a}}}}\n'), 'ben', 'better')
    with pytest.raises(OrderRefused, match="'z' replaces it"):
        control.retry('f', 'a', 'ann')
    control.skip('f', 'c', 'ann')
    control.resume('f', 'ann')
    clock.run()
    assert outcomes(run) == {'a': 'skipped', 'z': 'succeeded', 'b': 'succeeded', 'c': 'skipped'}
    assert run.state == 'FINISH'


def test_a_paused_flow_that_an_edit_ends_needs_no_resume(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(CHAIN)
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    process.orchestrator.edit('f', parse_edit('- finish: enough\n'), 'ben', 'enough')
    with pytest.raises(OrderRefused, match='being ended, by ben'):
        process.orchestrator.control.skip('f', 'c', 'ann')
    clock.run(10.0)
    assert run.state == 'FINISH'


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
