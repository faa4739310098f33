# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions with `repeat`: until a condition is true, or a number of times."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.lifecycle.states import ActionOutcome, ErrorCode
import pytest

from .kills import killed_at_every_row, restart
from .robot import Clock, MOTION, one, Process, Robot, Start


def flow(repeat: str, more: str = '') -> str:
    return (f'flow: f\nactions:\n  wipe: {{{MOTION}, repeat: {repeat}{more}}}\n'
            f'  home: {{{MOTION}, after: wipe}}\n')


UNTIL = '{until: z > 1, times: 4}'


@pytest.mark.parametrize('repeat, fault', [
    ('0', "f.yaml:3:67: field 'repeat.times': expected at least 1, got 0"),
    ('{until: z > 1}', "missing field 'times'"),
    ('{until: z >, times: 2}', "action 'wipe', repeat until 'z >', character"),
    ('{times: 2, unitl: z}', "unknown field 'unitl'; did you mean 'until'?"),
    ("{times: 2, until: '{{ results.home.result }}'}", "reads the result of 'home', which does"),
    ("{times: 2, until: '{{ facts.z }} > 1'}", 'a condition reads facts by their names'),
    ('2, schedule: {clock: wall, every: 5}', "has 'schedule' and 'repeat'"),
])
def test_a_wrong_repeat_is_refused(repeat: str, fault: str) -> None:
    with pytest.raises(DocumentError) as error:
        parse_flow(flow(repeat), 'f.yaml')
    assert fault in str(error.value)


def test_it_runs_until_the_condition_is_true(start: Start, clock: Clock, robot: Robot) -> None:
    robot.verdicts['wipe', 'until'] = ['refuted', 'refuted', 'confirmed']
    process = start()
    run = process.submit(flow(UNTIL))
    clock.run()
    action = run.runners['wipe'].action
    assert (robot.executed('wipe'), action.attempt, action.runs) == (3, 3, 2)
    assert action.outcome is ActionOutcome.SUCCEEDED and run.state == 'FINISH'
    assert process.states('wipe').count('assigned') == 2
    asked = [q.request for q in robot.questions if q.request.name == 'until']
    assert [request.parameters['iteration'] for request in asked] == [1, 2, 3]
    assert asked[0].conditions[0].expression == 'z > 1'


def test_a_condition_that_is_never_true_fails_it_with_its_own_code(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['wipe', 'until'] = ['refuted'] * 9
    run = start().submit(flow(UNTIL, ', retry: {times: 5}, fallback: [ask]'))
    clock.run()
    action = run.runners['wipe'].action
    assert (action.outcome, action.error_code) == (
        ActionOutcome.FAILED, ErrorCode.REPEAT_EXHAUSTED)
    assert 'after 4 of 4 runs' in action.error_msg and robot.executed('wipe') == 4
    assert run.runners['home'].action.outcome is ActionOutcome.SKIPPED and run.state == 'FAIL'


def test_without_a_condition_it_runs_so_many_times(
    start: Start, clock: Clock, robot: Robot
) -> None:
    run = start().submit(flow('3'))
    clock.run()
    assert robot.executed('wipe') == 3 and run.state == 'FINISH'
    assert not [q for q in robot.questions if q.request.name == 'until']


def test_the_condition_reads_the_result_of_the_action(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    start().submit(flow("{until: '{{ results.wipe.result.left }} == 0', times: 9}"))
    clock.run(1.0)
    robot.motions[0].end(result={'left': 7})
    clock.run(1.0)
    asked, = [q.request for q in robot.questions if q.request.name == 'until']
    assert asked.conditions[0].expression == '7 == 0'


def test_a_failed_run_is_retried_and_does_not_count(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['wipe', 'confirm'] = ['refuted', 'confirmed', 'refuted', 'confirmed']
    run = start().submit(flow('2', ', retry: {times: 1}'))
    clock.run()
    assert run.state == 'FINISH' and robot.executed('wipe') == 4


def test_a_run_that_fails_for_good_ends_it(start: Start, clock: Clock, robot: Robot) -> None:
    robot.verdicts['wipe', 'confirm'] = ['confirmed', 'refuted']
    run = start().submit(flow('5'))
    clock.run()
    action = run.runners['wipe'].action
    assert action.error_code is ErrorCode.REFUTED and robot.executed('wipe') == 2


def test_its_resources_are_free_during_the_delay(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(flow('{times: 2, delay: 60.0}', ', resources: [arm]'))
    clock.run(30.0)
    assert not process.orchestrator.resources.holders and robot.executed('wipe') == 1
    clock.run(60.0)
    assert robot.executed('wipe') == 2


@pytest.mark.parametrize('until, code', [
    ('{condition: z > 1, within: 10}', ErrorCode.REQUIRE_UNKNOWN),
    ('{condition: z > 1, unknown: fail}', ErrorCode.REQUIRE_UNKNOWN)])
def test_a_condition_that_stays_unknown_fails_it(
    start: Start, clock: Clock, robot: Robot, until: str, code: ErrorCode
) -> None:
    robot.verdicts['wipe', 'until'] = ['stale'] * 9999
    run = start().submit(flow(f'{{until: {until}, times: 3}}'))
    clock.run(100.0)
    action = run.runners['wipe'].action
    assert action.error_code is code and robot.executed('wipe') == 1 and run.ended


def test_a_cancel_while_the_condition_is_evaluated(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('until')
    process = start()
    run = process.submit(flow(UNTIL))
    clock.run(5.0)
    process.orchestrator.cancel('f', 'anna', 'enough')
    clock.run(5.0)
    assert run.ended and run.outcomes['canceled'] == 2 and robot.executed('wipe') == 1


def test_a_deadline_ends_it_between_two_runs(start: Start, clock: Clock, robot: Robot) -> None:
    run = start().submit(flow('{times: 9, delay: 10}', ', deadline: 25.0'))
    clock.run(100.0)
    action = run.runners['wipe'].action
    assert action.error_code is ErrorCode.DEADLINE_EXCEEDED and robot.executed('wipe') == 3


def test_a_deadline_that_passes_during_the_evaluation_ends_it(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('until')
    run = start().submit(flow(UNTIL, ', deadline: 5.0'))
    clock.run(10.0)
    robot.questions[-1].answer('refuted')
    clock.run(10.0)
    action = run.runners['wipe'].action
    assert action.error_code is ErrorCode.DEADLINE_EXCEEDED and robot.executed('wipe') == 1


def test_a_person_may_retry_what_was_exhausted(start: Start, clock: Clock, robot: Robot) -> None:
    robot.verdicts['wipe', 'until'] = ['refuted'] * 4 + ['refuted', 'confirmed']
    process = start()
    run = process.submit(flow(UNTIL) + f'  stay: {{{MOTION}, timeout: 900.0}}\n')
    robot.by_hand.add('motion')
    clock.run(0.1)
    while run.runners['wipe'].action.error_code is not ErrorCode.REPEAT_EXHAUSTED:
        clock.run(1.0)
        for motion in robot.motions:
            if motion.request.action_id == 'wipe' and not motion.canceled:
                motion.canceled = True
                motion.end()
    clock.run(1.0)
    robot.by_hand.clear()
    process.orchestrator.control.retry('f', 'wipe', 'anna')
    for motion in robot.motions:
        if motion.request.action_id == 'stay':
            clock.call_later(20.0, motion.end)
    clock.run()
    assert run.state == 'FINISH' and robot.executed('wipe') == 6


def test_an_edit_between_two_runs_keeps_the_count(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(flow('{times: 3, delay: 60.0}'))
    clock.run(30.0)
    process.orchestrator.edit('f', parse_edit(
        '- update: {wipe: {motion: {server: other, type: a/action/B}}}'), 'planner', '')
    process, (run,) = restart(start, process)
    clock.run()
    assert [m.request.steps[0].server for m in robot.motions] == [
        'arm', 'other', 'other', 'arm'] and run.state == 'FINISH'
    assert run.runners['wipe'].action.attempt == 3


def test_a_loop_is_repeated_as_a_whole(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    run = process.submit(flow('2', ', for_each: {part: [a, b]}'))
    clock.run()
    assert run.state == 'FINISH'
    assert sorted(m.request.flow_id + '/' + m.request.action_id for m in robot.motions) == [
        'f/home', 'f/wipe.2/a', 'f/wipe.2/b', 'f/wipe/a', 'f/wipe/b']


def test_killed_at_every_row_it_runs_as_often_as_it_should(
    start: Start, clock: Clock, robot: Robot
) -> None:
    def work(process: Process, flow_id: str) -> None:
        robot.motions.clear()
        robot.verdicts['wipe', 'until'] = ['refuted'] * 50
        process.submit(flow('{until: z > 1, times: 3, delay: 2}'), flow_id)
        clock.run()

    for flow_id, _, runs in killed_at_every_row(start, work, fewest=20):
        clock.run()
        goals = {m.request.goal_id for m in robot.motions}
        assert len([m for m in robot.motions if not m.request.resume]) <= len(goals) <= 3, \
            flow_id
        if runs:
            action = runs[0].runners['wipe'].action
            assert (len(goals), action.error_code) == (3, ErrorCode.REPEAT_EXHAUSTED), flow_id


def test_what_has_ended_is_not_judged_again_after_a_restart(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(flow(UNTIL))
    clock.run(1.5)
    assert process.states('wipe')[-1] == 'terminated'
    process.kill()
    robot.verdicts['wipe', 'until'] = ['refuted'] * 9
    process = start()
    run, = process.orchestrator.restore()
    clock.run()
    assert robot.executed('wipe') == 1 and run.state == 'FINISH'


def test_memory_stays_flat(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    process.submit(flow('1000', ', for_each: {part: [a]}'))

    def used(seconds: float) -> int:
        clock.run(seconds)
        process.changes.clear()
        for memory in (robot.motions, robot.questions, process.flow_rows):
            memory.clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    clock.run(400.0)
    tracemalloc.start()
    try:
        before = used(200.0)
        after = used(200.0)
    finally:
        tracemalloc.stop()
    action: Any = process.orchestrator.runs['f'].runners['wipe'].action
    assert action.runs > 300 and after - before < 50_000


def test_a_deadline_that_passes_before_the_next_run_is_recorded_fails_the_action(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(one(', deadline: 4.0, repeat: {times: 2}'))
    with process.full_disk(lambda entry: entry.event == 'reassign'):
        clock.run(6.0)
    clock.run()
    assert robot.executed('pick') == 1
    assert run.actions[0].error_code is ErrorCode.DEADLINE_EXCEEDED and run.ended


@pytest.mark.parametrize('verb, state', [('finish', 'FINISH'), ('fail', 'FAIL')])
def test_an_edit_that_ends_the_flow_does_not_wait_for_until(
    start: Start, clock: Clock, robot: Robot, verb: str, state: str
) -> None:
    robot.by_hand.add('until')
    process = start()
    run = process.submit(one(', repeat: {until: z > 5, times: 3}'))
    clock.run(5.0)
    process.orchestrator.edit('f', parse_edit(f'- {verb}: enough\n'), 'ben', 'x')
    clock.run(5.0)
    assert run.state == state and run.actions[0].outcome is ActionOutcome.SUCCEEDED
    assert robot.questions[-1].canceled
    robot.questions[-1].answer('refuted')
    clock.run()
    assert robot.executed('pick') == 1
