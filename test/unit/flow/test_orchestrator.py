# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows on a real journal: what runs when, and what failure and people lead to."""

from __future__ import annotations

from action_lifecycle.documents.errors import LifecycleError, TransitionNotAllowed
from action_lifecycle.lifecycle.states import (
    ActionOutcome,
    ActionState,
    ErrorCode,
    LedgerTaskStatus,
)
import pytest

from .kills import restart
from .robot import Clock, MOTION, one, Robot, Start


def test_an_action_passes_every_state_and_only_then_the_next_one_starts(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(f'flow: two\nactions:\n  pick: {{{MOTION}, require: z < 1}}\n'
                         f'  place: {{{MOTION}, after: pick}}\n')
    clock.run()
    assert process.states('pick') == [
        'in_progress', 'executing_motion', 'sensor_confirm', 'status_verification_requested',
        'completed', 'terminated']
    names = [name for name, _, _ in process.changes]
    assert names == ['pick'] * 6 + ['place'] * 6
    assert run.state == 'FINISH' and run.summary['succeeded'] == 2
    assert run.summary['unverified'] == 0
    assert run.actions[0].ledger_status is LedgerTaskStatus.COMPLETED


def test_refuted_outcome_never_completes(start: Start, clock: Clock, robot: Robot) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one())
    clock.run()
    action = run.actions[0]
    assert 'completed' not in process.states('pick')
    assert (action.outcome, action.error_code) == (ActionOutcome.FAILED, ErrorCode.REFUTED)
    assert action.controller_said == 'EXECUTED' and action.sensors_said == 'refuted'
    assert 'z > 0 is false (z=0.5)' in action.error_msg
    assert action.ledger_status is LedgerTaskStatus.FAILED
    assert run.state == 'FAIL' and run.error_code is ErrorCode.FLOW_FAILED


@pytest.mark.parametrize(('verdict', 'code'), [
    ('stale', ErrorCode.CONFIRM_STALE), ('timed_out', ErrorCode.CONFIRM_TIMEOUT)])
def test_what_the_sensors_can_not_tell_never_completes(
    start: Start, clock: Clock, robot: Robot, verdict: str, code: ErrorCode
) -> None:
    robot.verdicts['pick', 'confirm'] = [verdict]
    run = start().submit(one())
    clock.run()
    assert run.actions[0].error_code is code


@pytest.mark.parametrize(('verdict', 'code'), [
    ('refuted', ErrorCode.REQUIRE_REFUTED), ('stale', ErrorCode.REQUIRE_UNKNOWN)])
def test_nothing_moves_unless_what_is_required_is_so(
    start: Start, clock: Clock, robot: Robot, verdict: str, code: ErrorCode
) -> None:
    robot.verdicts['pick', 'require'] = [verdict]
    run = start().submit(one(', require: z < 1'))
    clock.run()
    assert run.actions[0].error_code is code
    assert not robot.motions


def test_only_samples_after_the_end_of_the_motion_are_asked_for(
    start: Start, clock: Clock, robot: Robot
) -> None:
    start().submit(one())
    clock.run()
    assert robot.questions[0].request.after == 1001.0


def test_retries_wait_longer_each_time_and_end(start: Start, clock: Clock, robot: Robot) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted'] * 9
    process = start()
    run = process.submit(one(', retry: {times: 2, delay: 10, factor: 3, jitter: 0}'))
    clock.run(11.0)
    assert robot.executed('pick') == 1
    clock.run(1.0)
    assert robot.executed('pick') == 2
    clock.run(1000.0)
    assert robot.executed('pick') == 3
    assert run.actions[0].attempt == 3
    times = [motion.request.goal_id for motion in robot.motions]
    assert len(set(times)) == 3


def test_fallback_changes_the_parameters_and_recovers(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted', 'confirmed']
    process = start()
    run = process.submit(
        'flow: one\nactions:\n  pick:\n    parameters: {force: 5.0}\n'
        "    motion: {server: arm, type: a/action/B, goal: {effort: '{{ force }}'}}\n"
        '    confirm: z > 0\n'
        '    fallback: [{strategy: retry, parameters: {force: 30.0}}, give_up]\n')
    clock.run()
    assert [motion.request.steps[0].goal for motion in robot.motions] == [
        {'effort': 5.0}, {'effort': 30.0}]
    assert process.states('pick')[3:7] == [
        'error', 'fallback_requested', 'fallback_received', 'in_progress']
    assert run.state == 'FINISH' and run.summary['recovered'] == 1


def test_when_no_fallback_helps_the_action_fails(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted'] * 9
    run = start().submit(one(', fallback: [retry, give_up]'))
    clock.run()
    assert robot.executed('pick') == 2
    assert run.actions[0].outcome is ActionOutcome.FAILED


def test_a_person_may_decide(start: Start, clock: Clock, robot: Robot) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one(', fallback: [{strategy: ask, question: Again?}]'))
    clock.run(100.0)
    (request,) = process.desk.open.values()
    assert request.question.text == 'Again?'
    assert run.actions[0].ledger_status is LedgerTaskStatus.BLOCKED
    with pytest.raises(LifecycleError, match='not one of the options: retry, give_up'):
        process.desk.respond(request.id, 'perhaps', 'ann')
    process.desk.respond(request.id, 'retry', 'ann')
    clock.run()
    assert run.state == 'FINISH'
    with pytest.raises(LifecycleError, match='was answered by ann already'):
        process.desk.respond(request.id, 'retry', 'bob')
    assert [row.actor for row in process.journal.rows() if row.event == 'receive_fallback'] == [
        'ann']


def test_dependents_of_a_failure_are_skipped_and_the_flow_ends(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    run = start().submit(
        f'flow: many\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'
        f'  c: {{{MOTION}, after: b}}\n  d: {{{MOTION}, after: {{a: completion}}}}\n'
        f'  e: {{{MOTION}, after: {{c: unconditional}}}}\n')
    clock.run()
    outcomes = {action.action_id: action.outcome for action in run.actions}
    assert outcomes == {'a': ActionOutcome.FAILED, 'b': ActionOutcome.SKIPPED,
                        'c': ActionOutcome.SKIPPED, 'd': ActionOutcome.SUCCEEDED,
                        'e': ActionOutcome.SUCCEEDED}
    assert run.error_code is ErrorCode.FLOW_PARTIALLY_FAILED
    assert run.runners['b'].action.ledger_status is LedgerTaskStatus.SKIPPED


def test_a_resource_is_held_by_one_action_at_a_time(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit('flow: many\nmax_motions: 9\nactions:\n' + ''.join(
        f'  a{i}: {{{MOTION}, resources: [arm], priority: {i}}}\n' for i in range(3))
        + f'  b: {{{MOTION}, resources: [base]}}\n')
    clock.run(1.0)
    assert [motion.request.action_id for motion in robot.motions] == ['a2', 'b']
    robot.motions[0].end()
    clock.run(1.0)
    assert [motion.request.action_id for motion in robot.motions] == ['a2', 'b', 'a1']
    assert run.counts()['running'] == 2


def test_no_more_actions_are_at_work_than_the_flow_allows(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    start().submit('flow: many\nmax_motions: 2\nactions:\n' + ''.join(
        f'  a{i}: {{{MOTION}}}\n' for i in range(5)))
    clock.run(1.0)
    assert len(robot.motions) == 2


def test_cancel_stops_the_motion_first_and_then_everything_is_canceled(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(f'flow: two\nactions:\n  pick: {{{MOTION}}}\n'
                         f'  place: {{{MOTION}, after: pick}}\n')
    clock.run(1.0)
    process.orchestrator.cancel('f', 'ann', 'enough')
    assert robot.motions[0].canceled
    assert run.runners['pick'].action.state is ActionState.EXECUTING_MOTION
    robot.motions[0].end('canceled')
    clock.run(1.0)
    assert [action.outcome for action in run.actions] == [ActionOutcome.CANCELED] * 2
    assert run.constellation_state() == 'cancelled' and run.error_code is ErrorCode.CANCELED
    assert process.states('pick')[-2:] == ['error', 'terminated']
    assert run.actions[0].ledger_status is LedgerTaskStatus.CANCELLED


def test_a_motion_that_is_not_seen_to_stop_keeps_its_resources_until_they_are_cleared(
    start: Start, clock: Clock, robot: Robot, caplog: pytest.LogCaptureFixture
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(one(', resources: [arm]'))
    before = process.submit(one(', resources: [arm]'), 'before')
    clock.run(1.0)
    assert process.orchestrator.locked_for(before.actions[0]) == ''
    process.orchestrator.cancel('f', 'ann', 'enough')
    clock.run(4.0)
    assert run.actions[0].error_code is ErrorCode.STOP_UNCONFIRMED
    said = run.actions[0].error_msg
    assert said.count('not seen to stop') == 1 and said.endswith('locked until clear_stop: arm')
    after = process.submit(one(', resources: [arm]'), 'g')
    clock.run(1.0)
    assert len(robot.motions) == 1
    told = "'arm' is locked: f/pick was not seen to stop"
    for flow_id, waiting in (('before', before), ('g', after)):
        assert process.orchestrator.locked_for(waiting.actions[0]) == told
        assert f'{flow_id}/pick waits: {told}' in caplog.text
    process.orchestrator.cancel('before', 'ann', 'enough')
    clock.run(1.0)
    process, (run,) = restart(start, process)
    clock.run(1.0)
    assert process.orchestrator.locked_for(run.actions[0]) == told
    assert len(robot.motions) == 1
    assert process.orchestrator.clear_locks(['arm'], 'ann', 'looked') == ['arm']
    assert process.orchestrator.locked_for(run.actions[0]) == ''
    clock.run(1.0)
    assert len(robot.motions) == 2


def test_a_time_limit_stops_the_motion(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('motion')
    run = start().submit(one(', timeout: 5'))
    clock.run(5.0)
    assert robot.motions[0].canceled
    robot.motions[0].end('canceled')
    clock.run(1.0)
    assert run.actions[0].error_code is ErrorCode.DEADLINE_EXCEEDED


def test_events_from_outside_are_judged_by_the_state(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(one())
    clock.run(1.0)
    with pytest.raises(TransitionNotAllowed, match="'verified' is not allowed"):
        process.orchestrator.fire('f', 'pick', 'verified', actor='ann')
    assert process.orchestrator.runs['f'].actions[0].state is ActionState.EXECUTING_MOTION
