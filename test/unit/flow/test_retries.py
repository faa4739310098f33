# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A person retries an action that has ended, and with it those that it had doomed."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.flow import FlowRun, parse_edit
from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.flow.files.edit import EditRefused
from action_lifecycle.journal import verify_journal
from action_lifecycle.lifecycle.states import ActionState
import pytest

from .controlled import CHAIN, outcomes
from .kills import killed_at_every_row, restart
from .robot import Clock, Killed, MOTION, Process, Robot, Start


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
        process, (run,) = restart(start, process)
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
    process, (run,) = restart(start, process)
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


def test_a_retry_while_the_end_of_the_flow_waits_for_durable_rows(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    process.orchestrator.recorder.synced = (  # type: ignore[method-assign]
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
    process, (run,) = restart(start, process)
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
    process, (run,) = restart(start, process)
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH' and run.runners['a'].action.attempt == 2
    assert [row.attempt for row in process.journal.rows(action_id='a')
            if row.event == 'start'] == [1, 2]


@pytest.mark.parametrize('update', ['', '- update: {a: {priority: 3}}\n'])
def test_an_edit_removes_nothing_that_has_a_record(
    start: Start, clock: Clock, robot: Robot, update: str
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(CHAIN)
    orchestrator = process.orchestrator
    orchestrator.control.pause('f', 'ann')
    clock.run(10.0)
    orchestrator.control.retry('f', 'a', 'ann')
    if update:
        orchestrator.edit('f', parse_edit(update), 'ben', 'why not')
    with pytest.raises(EditRefused, match="'a' is assigned again, .* can not be removed"):
        orchestrator.edit('f', parse_edit('- remove: [a, b, c]'), 'ben', 'too many')
    with pytest.raises(EditRefused, match="can not replace 'a': it is assigned again; change it"):
        orchestrator.edit('f', parse_edit(
            f'- add: {{z: {{{MOTION}, replaces: a}}}}\n'), 'ben', 'better')
    orchestrator.edit('f', parse_edit(
        f'- clear: true\n- add: {{z: {{{MOTION}, after: c}}}}\n'), 'ben', 'anew')
    process, (run,) = restart(start, process)
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    assert outcomes(run) == dict.fromkeys('abcz', 'succeeded')
    assert {row.action_id: row.to_state for row in process.journal.rows(
        kind='transition')} == dict.fromkeys('abcz', 'terminated')


def test_killed_at_every_row_an_order_is_carried_out(
    start: Start, tmp_path: Path, clock: Clock, robot: Robot
) -> None:
    """A retry with two dependents, in a paused flow that is then resumed; killed in between."""
    def prepare(process: Process, flow_id: str) -> None:
        robot.motions.clear()
        robot.verdicts['a', 'confirm'] = ['refuted']
        process.submit(CHAIN, flow_id)
        process.orchestrator.control.pause(flow_id, 'ann')
        clock.run(10.0)

    def work(process: Process, flow_id: str) -> None:
        process.orchestrator.control.retry(flow_id, 'a', 'ann')
        process.orchestrator.control.resume(flow_id, 'ann')
        run = process.orchestrator.runs[flow_id]
        clock.run()
        assert_all_done(run)

    def assert_all_done(run: FlowRun) -> None:
        assert run.state == 'FINISH', run.flow_id
        assert outcomes(run) == dict.fromkeys('abc', 'succeeded'), run.flow_id

    for flow_id, process, runs in killed_at_every_row(start, work, prepare=prepare, fewest=11):
        for _ in range(5):
            for motion in robot.motions:
                if motion.request.resume:
                    motion.end()
            clock.run(5.0)
        for run in runs:
            if run.control.paused:
                process.orchestrator.control.resume(flow_id, 'ann')
            clock.run()
            assert_all_done(run)
        *_, last = process.journal.rows(flow_id=flow_id, kind='flow')
        assert last.to_state == 'FINISH', flow_id
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
