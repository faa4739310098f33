# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""An error of a planner, or of the check of its answer, is a row, and the flow goes on."""

from __future__ import annotations

from typing import Any

from action_lifecycle.flow.planning.asker import MAX_TRIES
import pytest

from .robot import Clock, MOTION, Robot, Start
from .test_steering import Planner, steered
from .test_weaving import FLOW, GRASP, outcomes, refuse, yes


class Raises(Planner):
    """Raises an exception as soon as it is asked."""

    def ask_edit(self, *arguments: Any) -> Any:
        raise RuntimeError('no brain')


def test_an_exception_of_the_planner_is_a_row_and_the_flow_goes_on(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    process = start()
    process.orchestrator.steering.planner = Raises(clock)
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FAIL' and outcomes(run)['place'] == 'skipped'
    (row,) = [row for row in process.journal.rows() if row.event == 'steering_answered']
    assert 'RuntimeError: no brain' in row.cause


@pytest.mark.parametrize('where', ['stage', 'check', 'edit', 'edit later'])
def test_an_exception_of_the_judge_is_a_row_and_the_flow_goes_on(
    start: Start, clock: Clock, robot: Robot, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> Any:
        raise RuntimeError('a bug')

    refuse(robot, 'pick')
    process, _ = steered(start, clock, *[yes(GRASP)] * MAX_TRIES)
    if where == 'check':
        process.orchestrator.editor.check = broken
    else:
        monkeypatch.setattr(process.orchestrator.editor, where.split()[0], broken)
    if where == 'edit later':
        process.orchestrator.editor.check = lambda flow, done: (
            clock.call_later(1.0, lambda: done(None)) and None)
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FAIL' and outcomes(run)['place'] == 'skipped'
    (row,) = [row for row in process.journal.rows() if row.event == 'steering_answered']
    assert 'a bug' in row.cause


def test_claims_that_wait_for_a_resource_do_not_start_while_the_planner_is_asked(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'a')
    process, planner = steered(start, clock, yes('- remove: b'))
    run = process.submit(
        f'flow: f\nsteering: true\ndefaults: {{resources: [arm]}}\nactions:\n'
        f'  a: {{{MOTION}}}\n  b: {{{MOTION}}}\n')
    clock.run()
    assert robot.executed('b') == 0 and 'b' not in run.flow.actions


def test_a_halted_planner_changes_nothing_any_more(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    process, planner = steered(start, clock, yes(GRASP))
    process.submit(FLOW)
    clock.run(1.5)
    process.orchestrator.halt(lambda: None)
    clock.run()
    assert 'edited' not in [row.event for row in process.journal.rows()]
