# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work of several kinds after a kill: resumed, repeated or confirmed, each step once."""

from __future__ import annotations

from action_lifecycle.lifecycle.states import ActionOutcome, ActionState
import pytest

from .kills import killed_at_every_row, restart
from .robot import Clock, Process, Robot, Start
from .task_work import MIXED, task

pytestmark = pytest.mark.usefixtures('task_kind')


@pytest.mark.parametrize('on_resume, known, goes_on', [
    ('', True, True), ('retry', False, True), ('confirm', False, False), ('', False, False)])
def test_after_a_crash_the_work_is_resumed_by_its_id(
    start: Start, clock: Clock, robot: Robot, on_resume: str, known: bool, goes_on: bool
) -> None:
    robot.by_hand.add('task')
    process = start()
    process.submit(task(f', on_resume: {on_resume}' if on_resume else ''))
    clock.run(5.0)
    process, (run,) = restart(start, process)
    clock.run(5.0)
    before, after = robot.works
    assert after.resumed and after.request.id == before.request.id
    if known:
        after.end(result=7)
    else:
        after.end('not_running')
        clock.run(5.0)
        if goes_on:
            again = robot.works[2]
            assert not again.resumed and again.request.id != before.request.id
            again.end(result=7)
    clock.run()
    action = run.runners['look'].action
    if goes_on:
        assert action.outcome is ActionOutcome.SUCCEEDED and action.result == 7
    else:
        assert len(robot.works) == 2
        assert action.state is (ActionState.FALLBACK_REQUESTED if not on_resume
                                else ActionState.TERMINATED)


def test_after_a_crash_the_sensors_are_asked_before_work_is_repeated(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    process = start()
    process.submit(task(', confirm: z > 0, on_resume: retry'))
    clock.run(5.0)
    process, (run,) = restart(start, process)
    clock.run(5.0)
    robot.works[-1].end('not_running')
    clock.run()
    assert run.state == 'FINISH' and len(robot.works) == 2


def test_a_restart_continues_with_the_step_that_was_journaled(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    process = start()
    process.submit(MIXED)
    clock.run(5.0)
    process, (run,) = restart(start, process)
    clock.run(5.0)
    assert robot.works[-1].resumed and robot.works[-1].request.index == 2
    robot.works[-1].end(result='seen')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('pick') == 2
    assert run.runners['pick'].action.results[2] == 'seen'


def test_killed_at_every_row_no_step_is_done_twice(
    start: Start, clock: Clock, robot: Robot
) -> None:
    text = MIXED.replace('    confirm', '    on_resume: confirm\n    confirm')

    def work(process: Process, flow_id: str) -> None:
        robot.motions.clear()
        robot.works.clear()
        process.submit(text, flow_id)
        clock.run()

    for flow_id, _, _ in killed_at_every_row(start, work, fewest=7, most=20):
        clock.run()
        ids = [work.request.id for work in robot.works if not work.resumed]
        assert len(ids) == len(set(ids)) <= 1, flow_id
        goals = [m.request.goal_id for m in robot.motions if not m.request.resume]
        assert len(goals) == len(set(goals)) <= 2, flow_id
