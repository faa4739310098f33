# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows whose process dies, is halted, or finds the disk full."""

from __future__ import annotations

from action_lifecycle.journal import JournalError
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
import pytest

from .kills import restart
from .robot import Clock, Killed, MOTION, one, Process, Robot, Start


def crash_in_motion(start: Start, clock: Clock, robot: Robot, extra: str = '') -> Process:
    robot.by_hand.add('motion')
    process = start()
    process.submit(one(extra))
    clock.run(1.0)
    assert len(robot.motions) == 1
    process, _ = restart(start, process)
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
    process, _ = restart(start, process)
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
    process, _ = restart(start, process)
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
    process, _ = restart(start, process)
    clock.run(3490.0)
    assert robot.executed('pick') == 1
    clock.run(20.0)  # 3610 s since the error, of which 3510 s in this life of the process
    assert robot.executed('pick') == 2


def test_halt_stops_motions_and_leaves_the_states_for_the_next_start(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(one())
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
        process.submit(one())
    assert not process.orchestrator.runs
    process, runs = restart(start, process)
    assert not runs


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
        'pick': ActionOutcome.FAILED, 'place': ActionOutcome.SKIPPED,
        'look': ActionOutcome.SUCCEEDED}
    assert run.state == 'FAIL'
    assert list(process.journal.rows(kind='flow'))[-1].final


def test_while_the_journal_refuses_nothing_changes_and_later_it_goes_on(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(one())
    state = run.actions[0].state
    with process.full_disk():
        clock.run(30.0)
    assert run.actions[0].state in (state, ActionState.EXECUTING_MOTION)
    last = list(process.journal.rows())[-1]
    assert last.to_state == run.actions[0].state
    clock.run(30.0)
    assert run.state == 'FINISH'
    assert robot.executed('pick') == 1


# What was canceled is stopped in the next life, too


def crash_after_cancel(start: Start, clock: Clock, robot: Robot, whole: bool) -> Process:
    """Cancel a flow or its action in mid-motion; the process dies before the stop is seen."""
    robot.by_hand.add('motion')
    process = start()
    process.submit(one(', resources: [arm]'))
    clock.run(1.0)
    if whole:
        process.orchestrator.cancel('f', 'ann', 'enough')
    else:
        process.orchestrator.fire('f', 'pick', 'cancel', actor='ann', cause='enough')
    process, _ = restart(start, process)
    return process


@pytest.mark.parametrize('whole', [True, False], ids=['flow', 'action'])
def test_a_canceled_motion_is_stopped_by_the_next_life_before_its_end_is_recorded(
    start: Start, clock: Clock, robot: Robot, whole: bool
) -> None:
    process = crash_after_cancel(start, clock, robot, whole)
    (action,) = process.orchestrator.runs['f'].actions
    clock.run(0.0)
    assert action.state is ActionState.EXECUTING_MOTION
    assert process.orchestrator.resources.held_by('f', 'pick') == ['arm']
    followed = robot.motions[-1]
    assert followed.request.resume and followed.canceled
    followed.end('canceled')
    clock.run(1.0)
    assert action.outcome is ActionOutcome.CANCELED
    assert process.orchestrator.resources.free('arm')


@pytest.mark.parametrize('whole', [True, False], ids=['flow', 'action'])
def test_a_canceled_motion_that_the_next_life_can_not_stop_locks_its_resources(
    start: Start, clock: Clock, robot: Robot, whole: bool
) -> None:
    process = crash_after_cancel(start, clock, robot, whole)
    clock.run(30.0)
    (action,) = process.orchestrator.runs['f'].actions
    assert action.error_code is ErrorCode.STOP_UNCONFIRMED
    assert 'arm' in process.orchestrator.resources.locked
    process.submit(one(', resources: [arm]'), 'next')
    clock.run(30.0)
    assert robot.executed('pick') == 1


def test_the_cancel_of_an_attempt_that_has_ended_does_not_cancel_the_next_one(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit('flow: two\nactions:\n'
                   f'  pick: {{{MOTION}}}\n  wait: {{{MOTION}}}\n')
    process.orchestrator.fire('f', 'pick', 'cancel', actor='ann', cause='enough')
    clock.run(0.0)
    runner = process.orchestrator.runs['f'].runners['pick']
    assert runner.action.outcome is ActionOutcome.CANCELED
    runner.fire('reassign')
    process, (run, *_) = restart(start, process)
    assert not run.canceled_actions
