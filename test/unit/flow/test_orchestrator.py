# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Flows on a real journal: what runs when, what failure leads to, what a restart does."""

from __future__ import annotations

from collections.abc import Callable

from action_lifecycle.engine.errors import LifecycleError, TransitionNotAllowed
from action_lifecycle.ledger import JournalError
from action_lifecycle.lifecycle.states import ActionState, ErrorCode, LedgerTaskStatus, Outcome
import pytest

from .robot import Clock, Killed, Process, Robot

Start = Callable[[], Process]
MOTION = 'motion: {server: arm, type: a/action/B}, confirm: z > 0'
ONE = f'flow: one\nactions:\n  pick: {{{MOTION}}}\n'


def one(extra: str = '') -> str:
    return f'flow: one\nactions:\n  pick: {{{MOTION}{extra}}}\n'


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
    run = process.submit(ONE)
    clock.run()
    action = run.actions[0]
    assert 'completed' not in process.states('pick')
    assert (action.outcome, action.error_code) == (Outcome.FAILED, ErrorCode.REFUTED)
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
    run = start().submit(ONE)
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
    start().submit(ONE)
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
    assert run.actions[0].outcome is Outcome.FAILED


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
    assert outcomes == {'a': Outcome.FAILED, 'b': Outcome.SKIPPED, 'c': Outcome.SKIPPED,
                        'd': Outcome.SUCCEEDED, 'e': Outcome.SUCCEEDED}
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
    assert [action.outcome for action in run.actions] == [Outcome.CANCELED] * 2
    assert run.constellation_state() == 'cancelled' and run.error_code is ErrorCode.CANCELED
    assert process.states('pick')[-2:] == ['error', 'terminated']
    assert run.actions[0].ledger_status is LedgerTaskStatus.CANCELLED


def test_a_motion_that_is_not_seen_to_stop_keeps_its_resources_until_they_are_cleared(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(one(', resources: [arm]'))
    clock.run(1.0)
    process.orchestrator.cancel('f', 'ann', 'enough')
    clock.run(4.0)
    assert run.actions[0].error_code is ErrorCode.STOP_UNCONFIRMED
    process.submit(one(', resources: [arm]'), 'g')
    clock.run(1.0)
    assert len(robot.motions) == 1
    process.kill()
    process = start()
    process.orchestrator.restore()
    clock.run(1.0)
    assert 'arm' in process.orchestrator.resources.locked
    assert len(robot.motions) == 1
    assert process.orchestrator.clear_locks([], 'ann', 'looked') == ['arm']
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
    process.submit(ONE)
    clock.run(1.0)
    with pytest.raises(TransitionNotAllowed, match="'verified' is not allowed"):
        process.orchestrator.fire('f', 'pick', 'verified', actor='ann')
    assert process.orchestrator.runs['f'].actions[0].state is ActionState.EXECUTING_MOTION


# After a crash


def crash_in_motion(start: Start, clock: Clock, robot: Robot, extra: str = '') -> Process:
    robot.by_hand.add('motion')
    process = start()
    process.submit(one(extra))
    clock.run(1.0)
    assert len(robot.motions) == 1
    process.kill()
    process = start()
    process.orchestrator.restore()
    clock.run(0.0)
    return process


def test_a_motion_that_still_runs_is_followed(start: Start, clock: Clock, robot: Robot) -> None:
    process = crash_in_motion(start, clock, robot)
    before, after = robot.motions
    assert after.request.resume and after.request.goal_id == before.request.goal_id
    after.end()
    clock.run()
    assert process.orchestrator.runs['f'].state == 'FINISH'
    assert robot.executed('pick') == 1


def test_an_outcome_that_is_there_after_a_crash_needs_no_second_motion(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = crash_in_motion(start, clock, robot)
    robot.motions[1].end('not_running')
    clock.run()
    assert process.orchestrator.runs['f'].state == 'FINISH'
    assert robot.executed('pick') == 1


def test_without_its_outcome_a_motion_is_repeated_only_when_a_person_says_so(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = crash_in_motion(start, clock, robot)
    robot.verdicts['pick', 'confirm'] = ['refuted']
    robot.motions[1].end('not_running')
    clock.run(100.0)
    assert robot.executed('pick') == 1
    (request,) = process.desk.open.values()
    assert request.question.kind == 'resume'
    process.kill()
    process = start()
    process.orchestrator.restore()
    clock.run(100.0)
    (request,) = process.desk.open.values()
    robot.by_hand.clear()
    process.desk.respond(request.id, 'retry', 'ann')
    clock.run()
    assert process.orchestrator.runs['f'].state == 'FINISH'
    assert robot.executed('pick') == 2


@pytest.mark.parametrize(('policy', 'motions', 'state'), [
    (', idempotent: true', 2, 'FINISH'), (', on_resume: retry', 2, 'FINISH'),
    (', on_resume: confirm', 1, 'FAIL')])
def test_on_resume_decides_when_the_outcome_is_not_there(
    start: Start, clock: Clock, robot: Robot, policy: str, motions: int, state: str
) -> None:
    process = crash_in_motion(start, clock, robot, policy)
    robot.verdicts['pick', 'confirm'] = ['refuted', 'confirmed']
    robot.motions[1].end('not_running')
    robot.by_hand.clear()
    clock.run(0.5)
    clock.run()
    assert robot.executed('pick') == motions
    assert process.orchestrator.runs['f'].state == state


def test_sensors_that_could_not_be_asked_let_no_motion_be_repeated(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = crash_in_motion(start, clock, robot, ', on_resume: retry')
    robot.verdicts['pick', 'confirm'] = ['failed']
    robot.motions[1].end('not_running')
    clock.run(100.0)
    assert robot.executed('pick') == 1
    assert len(process.desk.open) == 1


@pytest.mark.parametrize('rows', range(1, 16))
def test_killed_after_any_row_a_flow_ends_as_it_would_have(
    start: Start, clock: Clock, robot: Robot, rows: int
) -> None:
    text = (f'flow: two\nactions:\n  pick: {{{MOTION}, require: z < 1, retry: {{times: 2}}}}\n'
            f'  place: {{{MOTION}, after: pick}}\n')
    robot.verdicts['pick', 'confirm'] = ['refuted', 'confirmed']
    process = start()
    process.die_after(rows)
    with pytest.raises(Killed):
        process.submit(text)
        clock.run()
    process.kill()
    process = start()
    process.orchestrator.restore()
    for _ in range(20):
        for motion in robot.motions:
            if motion.request.resume:
                motion.end('not_running')  # the controller is silent: only the sensors know
        clock.run(50.0)
    run = process.orchestrator.runs['f']
    assert run.ended or process.desk.open
    for request in list(process.desk.open.values()):
        process.desk.respond(request.id, 'retry', 'ann')
    clock.run()
    assert run.state == 'FINISH'
    assert robot.executed('pick') <= 3 and robot.executed('place') <= 1


def test_retry_delays_go_on_across_a_restart(start: Start, clock: Clock, robot: Robot) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    process.submit(one(', retry: {times: 1, delay: 3600, max_delay: 3600, jitter: 0}'))
    clock.run(100.0)
    process.kill()
    process = start()
    process.orchestrator.restore()
    clock.run(3490.0)
    assert robot.executed('pick') == 1
    clock.run(20.0)  # 3610 s since the error, of which 3510 s in this life of the process
    assert robot.executed('pick') == 2


def test_halt_stops_motions_and_leaves_the_states_for_the_next_start(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(ONE)
    clock.run(1.0)
    halted: list[bool] = []
    process.orchestrator.halt(lambda: halted.append(True))
    assert robot.motions[0].canceled and not halted
    robot.motions[0].end('canceled')
    assert halted and run.actions[0].state is ActionState.EXECUTING_MOTION


def test_halt_journals_a_motion_that_is_not_seen_to_stop(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(one(', resources: [arm]'))
    clock.run(1.0)
    halted: list[bool] = []
    process.orchestrator.halt(lambda: halted.append(True))
    clock.run(4.0)
    assert halted and run.actions[0].error_code is ErrorCode.STOP_UNCONFIRMED
    assert [row.action_id for row in process.journal.open_rows('lock')] == ['arm']


# The journal refuses


def test_a_flow_that_the_journal_refuses_is_not_there_after_a_restart_either(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    with process.full_disk(), pytest.raises(JournalError, match='disk full'):
        process.submit(ONE)
    assert not process.orchestrator.runs
    process.kill()
    process = start()
    assert not process.orchestrator.restore()


@pytest.mark.parametrize('seconds', [0.0, 0.5, 1.05, 1.15, 1.2, 1.3, 2.5])
def test_refused_at_any_moment_the_flow_waits_and_then_ends_as_it_would_have(
    start: Start, clock: Clock, robot: Robot, seconds: float
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(f'flow: two\nactions:\n  pick: {{{MOTION}}}\n'
                         f'  place: {{{MOTION}, after: pick}}\n'
                         f'  look: {{{MOTION}, after: {{pick: completion}}}}\n')
    clock.run(seconds)
    with process.full_disk() as refused:
        clock.run(10.0)
    clock.run()
    assert refused or run.ended
    outcomes = {action.action_id: action.outcome for action in run.actions}
    assert outcomes == {
        'pick': Outcome.FAILED, 'place': Outcome.SKIPPED, 'look': Outcome.SUCCEEDED}
    assert run.state == 'FAIL'
    assert list(process.journal.rows(kind='flow'))[-1].final


def test_while_the_journal_refuses_nothing_changes_and_later_it_goes_on(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(ONE)
    state = run.actions[0].state
    with process.full_disk():
        clock.run(30.0)
    assert run.actions[0].state in (state, ActionState.EXECUTING_MOTION)
    last = list(process.journal.rows())[-1]
    assert last.to_state == run.actions[0].state
    clock.run(30.0)
    assert run.state == 'FINISH'
    assert robot.executed('pick') == 1
