# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A node that is activated again: what the activation before waited for has no effect."""

from __future__ import annotations

from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import FlowRun, Orchestrator, parse_edit
from action_lifecycle.flow.files.edit import EditResult
from action_lifecycle.journal import verify_journal
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState
import pytest

from .robot import Clock, GRAPH, MOTION, one, Process, Robot, Start

WHEN = (f'flow: f\nactions:\n  a: {{{MOTION}}}\n'
        f'  b: {{{MOTION}, after: {{a: {{condition: z > 5}}}}}}\n')


def reactivated(process: Process) -> FlowRun:
    """Deactivate the node, activate it again with the same journal; return its restored flow."""
    stopped: list[bool] = []
    process.orchestrator.halt(lambda: stopped.append(True))
    assert stopped
    old = process.orchestrator
    process.orchestrator = Orchestrator(
        GRAPH, old.recorder, process.robot, process.clock, process.desk, process.robot,
        lambda run: None, process.robot)
    (run,) = process.orchestrator.restore()
    return run


def restarted(start: Start, process: Process) -> FlowRun:
    process.kill()
    assert verify_journal(process.journal.path) == []
    (run,) = start().orchestrator.restore()
    return run


@pytest.mark.parametrize('verdict', ['confirmed', 'refuted'])
def test_until_is_decided_once(start: Start, clock: Clock, robot: Robot, verdict: str) -> None:
    robot.by_hand.add('until')
    process = start()
    process.submit(one(', repeat: {until: z > 5, times: 3}'))
    clock.run(5.0)
    run = reactivated(process)
    clock.run(1.0)
    robot.by_hand.add('motion')
    for question in robot.questions[::-1]:
        question.answer(verdict)
        clock.run(1.0)
    assert robot.executed('pick') == (1 if verdict == 'confirmed' else 2)
    assert run.ended == (verdict == 'confirmed')
    if not run.ended:
        run = restarted(start, process)
        assert run.actions[0].state is ActionState.EXECUTING_MOTION
    rows = list(process.journal.rows(kind='note')) if run.ended else []
    assert [row.event for row in rows if row.event == 'repeated'] == ['repeated'] * run.ended


def test_a_condition_in_after_is_decided_once(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('after')
    process = start()
    process.submit(WHEN)
    clock.run(5.0)
    before = len(robot.questions)
    run = reactivated(process)
    clock.run(1.0)
    robot.by_hand.add('motion')
    robot.questions[-1].answer('confirmed')
    clock.run(1.0)
    robot.questions[before - 1].answer('refuted')
    clock.run(1.0)
    assert robot.executed('b') == 1 and run.runners['b'].action.outcome is None
    run = restarted(start, process)
    assert run.runners['b'].action.state is ActionState.EXECUTING_MOTION


def test_a_deadline_applies_once(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(f'flow: f\nactions:\n  a: {{{MOTION}}}\n'
                   f'  b: {{{MOTION}, after: a, deadline: 5.0}}\n')
    clock.run(1.0)
    process.orchestrator.halt(lambda: None)
    robot.motions[0].end('canceled')
    run = reactivated(process)
    clock.run(10.0)
    assert run.runners['b'].action.outcome is ActionOutcome.FAILED
    ends = [row for row in process.journal.rows(action_id='b') if row.to_state == 'terminated']
    assert len(ends) == 1


def test_an_edit_that_is_still_checked_at_the_deactivation_is_refused(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n')
    clock.run(1.0)
    checks: list[Any] = []
    process.orchestrator.editor.check = lambda flow, done: checks.append(done)
    results: list[EditResult | LifecycleError] = []
    process.orchestrator.propose(
        'f', parse_edit('- update: {b: {priority: 5}}\n'), 'ben', 'x', 0, results.append)
    process.orchestrator.halt(lambda: None)
    robot.motions[0].end('canceled')
    run = reactivated(process)
    checks[0](None)
    assert isinstance(results[0], LifecycleError)
    run = restarted(start, process)
    assert run.edits == [] and run.flow.actions['b'].priority == 0
