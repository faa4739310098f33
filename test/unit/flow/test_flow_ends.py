# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""An edit finishes a flow or fails it; what had begun goes on to its end."""

from __future__ import annotations

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.lifecycle.states import ErrorCode
import pytest

from .kills import restart
from .robot import Clock, Killed, MOTION, Robot, Start
from .test_steering import steered
from .test_weaving import FLOW, GRASP, outcomes, refuse, yes


def test_fail_ends_the_flow_with_its_reason(start: Start, clock: Clock, robot: Robot) -> None:
    refuse(robot, 'pick')
    process, planner = steered(start, clock, yes('- fail: the part is broken'))
    robot.by_hand.add('motion')
    run = process.submit(f'{FLOW}  long: {{{MOTION}}}\n')
    clock.run(0.1)
    robot.motions[0].end()
    clock.run(10.0)
    long = robot.motions[1]
    assert run.progress('long') == 'at_work' and not long.canceled and not run.ended
    long.end()
    clock.run()
    assert run.state == 'FAIL' and run.error_msg == 'the part is broken'
    assert run.error_code is ErrorCode.FLOW_PARTIALLY_FAILED
    assert outcomes(run) == {'pick': 'failed', 'place': 'skipped', 'tidy': 'skipped',
                             'long': 'succeeded'}
    skipped = next(process.journal.rows(action_id='place'))
    assert (skipped.cause, skipped.actor) == ('the part is broken', 'planner')
    assert run.summary['ended_by'] == {
        'verb': 'fail', 'reason': 'the part is broken', 'author': 'planner'}


def test_what_runs_goes_on_to_its_end(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    run = process.submit(FLOW)
    clock.run(0.5)
    process.orchestrator.edit('f', parse_edit('- finish: enough'), 'ann', '')
    assert run.progress('pick') == 'at_work'
    clock.run()
    assert run.state == 'FINISH' and not run.error_msg
    assert outcomes(run) == {'pick': 'succeeded', 'place': 'skipped', 'tidy': 'skipped'}
    assert run.summary['ended_by']['reason'] == 'enough'


def test_finish_makes_no_success_of_a_failure(start: Start, clock: Clock, robot: Robot) -> None:
    refuse(robot, 'pick')
    process, _ = steered(start, clock, yes('- finish: good enough'))
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FAIL' and run.error_msg.startswith('pick: ')
    assert run.summary['ended_by']['reason'] == 'good enough'


def test_finish_after_a_replacement(start: Start, clock: Clock, robot: Robot) -> None:
    refuse(robot, 'pick')
    process, _ = steered(start, clock, yes(GRASP), yes('- finish: it is where it should be'))
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FINISH' and robot.executed('place') == 0


def test_an_ended_flow_takes_no_edit_and_a_cancel_comes_before_it(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(FLOW)
    clock.run(0.5)
    process.orchestrator.edit('f', parse_edit('- fail: broken'), 'ann', '')
    with pytest.raises(LifecycleError, match='is being ended by ann: broken'):
        process.orchestrator.edit('f', parse_edit(GRASP), 'bob', '')
    process.orchestrator.cancel('f', 'bob', 'enough')
    for motion in robot.motions:
        motion.end('canceled')
    clock.run()
    assert run.state == 'FAIL' and run.error_code is ErrorCode.CANCELED


@pytest.mark.parametrize('verb', ['finish', 'fail'])
@pytest.mark.parametrize('rows', range(1, 5))
def test_an_end_survives_a_kill_after_any_row(
    start: Start, clock: Clock, robot: Robot, verb: str, rows: int
) -> None:
    process = start()
    process.submit(FLOW)
    clock.run(0.5)
    process.die_after(rows)
    with pytest.raises(Killed):
        process.orchestrator.edit('f', parse_edit(f'- {verb}: enough'), 'ann', '')
        clock.run()
    process, (run,) = restart(start, process)
    assert run.ending is not None and run.ending.reason == 'enough'
    clock.run(0.2)
    assert outcomes(run)['tidy'] == 'skipped'
    for motion in robot.motions:
        if motion.request.resume:
            clock.call_later(1.0, motion.end)
    clock.run()
    assert run.state == ('FINISH' if verb == 'finish' else 'FAIL')
    assert outcomes(run) == {'pick': 'succeeded', 'place': 'skipped', 'tidy': 'skipped'}


def test_a_person_ends_the_flow_while_the_planner_is_asked(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    process, planner = steered(start, clock, yes(GRASP))
    planner.delay = 500.0
    run = process.submit(FLOW)
    clock.run(2.0)
    process.orchestrator.edit('f', parse_edit('- fail: broken'), 'ann', '')
    clock.run(1.0)
    assert run.state == 'FAIL' and run.error_msg == 'broken' and not run.planning
    clock.run()
    assert not [row for row in process.journal.rows() if row.event == 'edited'][1:]
