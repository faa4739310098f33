# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A planner is told of what completed and edits the flow; nothing it says skips a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow.files.flow import LoadedFlow
from action_lifecycle.flow.planning.asker import MAX_FAILURES, MAX_TRIES, PlanReply
from action_lifecycle.flow.run.flow_run import FlowRun
from action_lifecycle.testing.stepped_clock import Later
import pytest

from .robot import Clock, MOTION, Process, Robot, Start

FLOW = (f'flow: f\nsteering: true\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}}}\n'
        f'  c: {{{MOTION}, after: a}}\n')


class Planner:
    """Answers as told, `delay` seconds after it was asked."""

    delay = 1.0

    def __init__(self, clock: Clock, *answers: PlanReply) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.asked: list[tuple[list[str], list[str]]] = []

    def ask_edit(
        self, run: FlowRun, completed: list[str], errors: list[str],
        answer: Callable[[PlanReply], None],
    ) -> Later:
        self.asked.append((sorted(completed), errors))
        said = self.answers.pop(0) if self.answers else PlanReply(True)
        return self.clock.call_later(self.delay, lambda: answer(said))


def steered(start: Start, clock: Clock, *answers: PlanReply) -> tuple[Process, Planner]:
    process = start()
    process.orchestrator.steering.planner = planner = Planner(clock, *answers)
    return process, planner


def test_a_batch_is_one_question_and_its_edit_comes_before_anything_new_starts(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, planner = steered(
        start, clock, PlanReply(True, f'- add: {{d: {{{MOTION}, after: b}}}}\n- remove: c\n'))
    run = process.submit(FLOW)
    clock.run()
    assert planner.asked == [(['a', 'b'], []), (['d'], [])]
    assert robot.executed('c') == 0 and robot.executed('d') == 1
    assert run.state == 'FINISH' and run.summary['edits'] == 1
    assert [row.actor for row in process.journal.rows() if row.event == 'edited'] == ['planner']


def test_an_invalid_answer_is_asked_for_again_with_the_errors(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, planner = steered(
        start, clock, PlanReply(True, '- remove: nobody'), PlanReply(True, '- ['),
        PlanReply(True, f'- add: {{d: {{{MOTION}}}}}'))
    run = process.submit(FLOW)
    clock.run()
    assert [completed for completed, _ in planner.asked[:3]] == [['a', 'b']] * 3
    assert "the flow has no action 'nobody'" in planner.asked[1][1][0]
    assert planner.asked[2][1]
    assert run.state == 'FINISH' and run.summary['total'] == 4


def test_after_three_wrong_answers_the_flow_goes_on_as_it_is(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, planner = steered(start, clock, *[PlanReply(message='nonsense')] * MAX_TRIES)
    run = process.submit(FLOW)
    clock.run()
    assert [errors for _, errors in planner.asked[:3]] == [[], ['nonsense'], ['nonsense']]
    assert run.state == 'FINISH' and run.summary['total'] == 3


def test_a_planner_out_of_reach_is_asked_again_ever_later(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, planner = steered(
        start, clock, *[PlanReply(unreachable='no route')] * 3,
        PlanReply(True, f'- add: {{d: {{{MOTION}}}}}'))
    run = process.submit(FLOW)
    clock.run(10.5)  # asked after 1.1, 3.1, 6.1 and 11.1 s
    assert len(planner.asked) == 3 and robot.executed('c') == 0
    clock.run()
    assert run.state == 'FINISH' and run.summary['total'] == 4


def test_a_planner_that_never_comes_back_does_not_keep_the_flow_from_its_end(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, planner = steered(
        start, clock, *[PlanReply(unreachable='no route')] * MAX_FAILURES)
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FINISH' and len(planner.asked) > MAX_FAILURES


def test_nothing_that_a_planner_says_skips_the_check_of_the_robot(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, planner = steered(
        start, clock, PlanReply(True, f'- add: {{d: {{{MOTION}}}, e: {{{MOTION}}}}}'))
    checked: list[list[str]] = []

    def check(flow: LoadedFlow, done: Callable[[LifecycleError | None], None]) -> None:
        checked.append(sorted(flow.actions))
        clock.call_later(2.0, lambda: done(LifecycleError('there is no server arm')))

    process.orchestrator.editor.check = check
    run = process.submit(FLOW)
    clock.run()
    assert checked == [['d', 'e']]
    assert planner.asked[1] == (['a', 'b'], ['there is no server arm'])
    assert run.summary['total'] == 3


@pytest.mark.parametrize('when', [1.5, 2.05, 2.3])
def test_a_question_that_is_open_survives_a_restart(
    start: Start, clock: Clock, robot: Robot, when: float
) -> None:
    process, _ = steered(start, clock, PlanReply(True, f'- add: {{d: {{{MOTION}, after: a}}}}'))
    process.submit(FLOW)
    clock.run(when)
    before = process.orchestrator.runs['f'].edits
    process.kill()
    process, planner = steered(
        start, clock, PlanReply(True, '' if before else f'- add: {{d: {{{MOTION}, after: a}}}}'))
    (run,) = process.orchestrator.restore()
    for motion in robot.motions:
        if motion.request.resume:
            clock.call_later(1.0, motion.end)
    clock.run()
    assert run.state == 'FINISH' and run.summary['total'] == 4
    assert robot.executed('d') == 1
    if not before:
        assert planner.asked[0][0] == ['a', 'b']


def test_a_cancel_ends_the_asking(start: Start, clock: Clock, robot: Robot) -> None:
    process, planner = steered(start, clock, PlanReply(True, '- remove: c'))
    run = process.submit(FLOW)
    clock.run(1.5)
    process.orchestrator.cancel('f', 'ann', 'enough')
    clock.run()
    assert run.constellation_state() == 'cancelled' and not run.edits


def test_a_cancel_ends_a_flow_that_only_waits_for_the_answer(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, planner = steered(start, clock)
    run = process.submit(f'flow: f\nsteering: true\nactions:\n  a: {{{MOTION}}}\n')
    clock.run(1.5)
    assert run.planning and run.outcomes['succeeded'] == 1
    process.orchestrator.cancel('f', 'ann', 'enough')
    clock.run()
    assert run.ended


def test_a_flow_that_is_not_steered_asks_nobody(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process, planner = steered(start, clock)
    run: Any = process.submit(FLOW.replace('steering: true\n', ''))
    clock.run()
    assert run.state == 'FINISH' and not planner.asked
