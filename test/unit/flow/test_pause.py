# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A paused flow starts nothing, also after a kill; what is at work ends."""

from __future__ import annotations

from collections.abc import Callable

from action_lifecycle.documents.errors import TransitionNotAllowed
from action_lifecycle.flow import parse_edit
from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.journal import JournalError
from action_lifecycle.lifecycle.states import ActionState
import pytest

from .controlled import CHAIN, orders, outcomes
from .kills import restart
from .robot import Clock, MOTION, Robot, Start


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
    process, (run,) = restart(start, process)
    robot.motions[-1].end()
    clock.run(100.0)
    assert run.control.paused and run.control.paused_by == 'ann'
    assert outcomes(run) == {'a': 'succeeded'} and robot.executed('b') == 0
    process.orchestrator.control.resume('f', 'ben')
    process, (run,) = restart(start, process)
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
    process, (run,) = restart(start, process)
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
    process, (run,) = restart(start, process)
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


def test_a_pause_without_hold_repeats_no_interrupted_motion(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """After a kill the sensors do not show the outcome, and on_resume says retry."""
    robot.by_hand.add('motion')
    process = start()
    process.submit(f'flow: f\nactions:\n  a: {{{MOTION}, idempotent: true}}\n')
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    process, (run,) = restart(start, process)
    robot.verdicts['a', 'confirm'] = ['refuted', 'refuted']
    robot.motions[1].end('not_running')
    clock.run(100.0)
    assert run.runners['a'].action.state is ActionState.SENSOR_CONFIRM
    assert robot.executed('a') == 1
    process.orchestrator.control.resume('f', 'ann')
    clock.run(1.0)
    assert robot.executed('a') == 2  # the sensors were asked once more
    assert len(robot.questions) == 2


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
