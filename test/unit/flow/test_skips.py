# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A person skips an action: it counts as done for those that depend on it."""

from __future__ import annotations

from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.lifecycle.states import ActionState
import pytest

from .controlled import CHAIN, outcomes
from .kills import restart
from .robot import Clock, MOTION, Robot, Start


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
    process, (run,) = restart(start, process)
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
