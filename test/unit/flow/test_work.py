# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work of several kinds: its steps, their results, failures, progress, fallbacks."""

from __future__ import annotations

from typing import Any

from action_lifecycle.lifecycle.states import ActionOutcome, ErrorCode
import pytest

from .robot import Clock, Robot, Start
from .task_work import ARM, MIXED, task

pytestmark = pytest.mark.usefixtures('task_kind')


def test_work_that_moves_nothing_is_done_in_progress(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    action = process.submit(task()).actions[0]
    clock.run()
    assert process.states('look') == [
        'in_progress', 'status_verification_requested', 'completed', 'terminated']
    assert action.outcome is ActionOutcome.SUCCEEDED
    assert robot.works[0].spec.name == 'look' and not robot.motions
    assert action.evidence[0]['expression'] == 'task: EXECUTED' and action.sensors_said == ''


def test_its_outcome_is_confirmed_by_the_sensors_if_the_flow_says_so(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['look', 'confirm'] = ['refuted']
    process = start()
    action = process.submit(task(', confirm: z > 0')).actions[0]
    clock.run()
    assert (action.outcome, action.error_code) == (ActionOutcome.FAILED, ErrorCode.REFUTED)


def test_the_steps_run_in_order_and_motions_in_a_row_are_one_request(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    robot.by_hand |= {'motion', 'task'}
    action = process.submit(MIXED).actions[0]
    clock.run(5.0)
    assert [step.server for step in robot.motions[0].request.steps] == ['reach', 'grip']
    assert robot.motions[0].request.goal_id == action.goal_id and not robot.works
    robot.motions[0].end(result={'n': 2}, results=[{'n': 1}, {'n': 2}])
    clock.run(5.0)
    assert robot.works[0].request.index == 2 and len(robot.motions) == 1
    robot.works[0].end(result='seen')
    clock.run(5.0)
    assert [step.server for step in robot.motions[1].request.steps] == ['lift']
    ids = {action.goal_id, robot.motions[1].request.goal_id, robot.works[0].request.id}
    assert len(ids) == 3 and len({one[:16] for one in ids}) == 1
    robot.motions[1].end(result={'n': 3})
    clock.run()
    assert action.outcome is ActionOutcome.SUCCEEDED
    assert action.results == [{'n': 1}, {'n': 2}, 'seen', {'n': 3}]
    assert process.states('pick') == [
        'in_progress', 'executing_motion', 'sensor_confirm', 'status_verification_requested',
        'completed', 'terminated']


def test_a_failed_step_ends_the_attempt(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('task')
    action = start().submit(MIXED).actions[0]
    clock.run(5.0)
    robot.works[0].end('failed', ErrorCode.WORK_FAILED, error_msg='no part')
    clock.run()
    assert (action.outcome, action.error_code) == (ActionOutcome.FAILED, ErrorCode.WORK_FAILED)
    assert len(robot.motions) == 1


def test_later_actions_read_the_result_of_each_step(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    start().submit(
        'flow: f\nactions:\n  look: {task: [{name: a}, {name: b}]}\n'
        "  use: {after: look, task: {name: '{{ results.look.results[0].part }}', "
        "input: '{{ results.look.result }}'}}\n")
    clock.run(5.0)
    robot.works[0].end(result={'part': 'nut'})
    clock.run(5.0)
    robot.works[1].end(result=[1, 2])
    clock.run(5.0)
    spec = robot.works[2].spec
    assert (spec.name, spec.input) == ('nut', [1, 2])


def test_a_kind_that_raises_fails_its_action(start: Start, clock: Clock, robot: Robot) -> None:
    def start_it(*arguments: Any, **more: Any) -> Any:
        raise ValueError('out of order')

    robot.start = start_it  # type: ignore[method-assign]
    run = start().submit(task())
    clock.run()
    action = run.actions[0]
    assert (action.error_code, action.error_msg) == (
        ErrorCode.INTERNAL, 'ValueError: out of order')


def test_a_result_that_is_no_json_fails_the_action_and_not_the_flow(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    run = start().submit('flow: f\nactions:\n  look: {task: [{name: a}, {name: b}]}\n')
    clock.run(5.0)
    robot.works[0].end(result=float('nan'))
    clock.run()
    assert run.ended and run.actions[0].outcome is ActionOutcome.FAILED


def test_a_journal_that_refuses_the_step_begins_nothing(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    with process.full_disk(lambda entry: entry.event == 'step') as refused:
        run = process.submit(task())
        clock.run(5.0)
    assert refused and not robot.works
    clock.run()
    assert run.state == 'FINISH' and len(robot.works) == 1


def test_progress_is_told(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('task')
    run = start().submit(task())
    clock.run(1.0)
    robot.works[0].request.told(0.25, '1 of 4')
    assert run.actions[0].progress == (0, 0.25, '1 of 4')


def test_a_fallback_replaces_the_work_by_another_kind(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    run = start().submit(f'flow: f\nactions:\n  pick: {{{ARM}, confirm: z > 0, '
                         'fallback: [{task: {name: other}}]}\n')
    clock.run()
    assert run.state == 'FINISH'
    assert [work.spec.name for work in robot.works] == ['other']
