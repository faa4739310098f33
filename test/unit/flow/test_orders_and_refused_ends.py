# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Orders that meet an end which the journal has refused, or work that ends while it is held."""

from __future__ import annotations

from collections.abc import Callable

from action_lifecycle.journal import Entry
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
import pytest

from .controlled import held, outcomes
from .kills import restart
from .robot import Clock, MOTION, Robot, Start
from .task_work import task

TWO = f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'


def row(event: str, action_id: str) -> Callable[[Entry], bool]:
    return lambda entry: entry.event == event and entry.action_id == action_id


# Retries of the action before

def test_an_action_that_was_canceled_is_not_freed_by_a_retry_of_the_one_before(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(TWO)
    clock.run(0.5)
    with process.full_disk(row('terminate', 'b')):
        process.orchestrator.fire('f', 'b', 'cancel', actor='anna', cause='enough')
        robot.motions[0].end('failed', ErrorCode.MOTION_ABORTED)
        clock.run(0.3)
        assert run.runners['a'].action.outcome is ActionOutcome.FAILED
        process.orchestrator.control.retry('f', 'a', 'ben')
    robot.by_hand.clear()
    clock.run()
    robot.motions[1].end()
    clock.run()
    assert robot.executed('b') == 0 and outcomes(run)['b'] == 'canceled'


@pytest.mark.parametrize('event, state', [
    ('fail', ActionState.ASSIGNED), ('terminate', ActionState.ERROR)])
def test_an_action_whose_deadline_has_passed_is_not_freed_by_a_retry_of_the_one_before(
    start: Start, clock: Clock, robot: Robot, event: str, state: ActionState
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(TWO.replace('after: a', 'after: a, deadline: 1.0'))
    with process.full_disk(row(event, 'b')):
        clock.run(1.2)
        assert run.runners['b'].action.state is state
        robot.motions[0].end('failed', ErrorCode.MOTION_ABORTED)
        clock.run(0.3)
        process.orchestrator.control.retry('f', 'a', 'ben')
        clock.run(0.3)
    robot.by_hand.clear()
    robot.motions[1].end()
    clock.run()
    assert robot.executed('b') == 0 and run.ended and outcomes(run)['b'] == 'failed'


# Hold

def test_the_time_limit_of_an_attempt_counts_after_a_hold_that_came_too_late(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """The motion ends by itself; then nobody answers the verification."""
    process, run = held(
        start, clock, robot,
        ', timeout: 5, verify: [{by: service, service: judge, timeout: 500}]')
    robot.motions[0].end()
    process.orchestrator.control.resume('f', 'ann')
    clock.run(100.0)
    assert run.runners['a'].action.error_code is ErrorCode.DEADLINE_EXCEEDED


@pytest.mark.usefixtures('task_kind')
@pytest.mark.parametrize('killed', [False, True])
def test_work_that_is_interrupted_while_it_is_held_is_repeated_once(
    start: Start, clock: Clock, robot: Robot, killed: bool
) -> None:
    robot.by_hand |= {'task', 'confirm'}
    process = start()
    process.submit(task(', confirm: z > 0, on_resume: retry'))
    clock.run(5.0)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    if killed:
        process, _ = restart(start, process)
    robot.works[-1].end('not_running')
    ended = len(robot.works)
    asked = list(robot.questions)
    process.orchestrator.control.resume('f', 'ann')
    assert all(question.canceled for question in asked)
    for work in robot.works[ended:]:
        work.end('not_running')
    for question in list(robot.questions):
        if not question.canceled:
            question.answer('refuted')
    assert [work.resumed for work in robot.works].count(False) == 2
