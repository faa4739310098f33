# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows that can not resume after a restart: they are set aside and given up by a person."""

from __future__ import annotations

from action_lifecycle.flow import FlowRun
from action_lifecycle.journal import verify_journal
from action_lifecycle.lifecycle.states import ActionState
import pytest

from .robot import Clock, MOTION, one, Robot, Start

NESTED = ('flow: f\nactions:\n  outer:\n    resources: [arm]\n    flow:\n'
          f'      flow:\n        flow: inner\n        actions:\n          a: {{{MOTION}}}\n'
          f'          b: {{after: a, {MOTION}}}\n')


@pytest.mark.parametrize('when', ['open', 'begin'])
def test_a_flow_inside_one_that_can_not_resume_is_set_aside_too(
    start: Start, clock: Clock, robot: Robot, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(NESTED + f'  other: {{{MOTION}, resources: [hand], after: outer}}\n'
                   f'  free: {{{MOTION}, require: z > 1}}\n')
    process.submit(one(', resources: [hand]'), 'next')
    clock.run(0.05)
    process.kill()
    before = len(robot.motions)
    process = start()
    orchestrator = process.orchestrator
    usual = getattr(orchestrator, when)

    def broken(run: FlowRun) -> None:
        if when == 'begin':
            usual(run)
        if run.flow_id == 'f':
            raise RuntimeError('an extension fails')
        if when == 'open':
            usual(run)

    monkeypatch.setattr(orchestrator, when, broken)
    orchestrator.restore()
    clock.run(1.0)
    assert set(orchestrator.runs) == {'next'}
    assert {question.question.flow_id for question in process.desk.open.values()} == {
        'f', 'f/outer'}
    assert not orchestrator.resources.free('arm')
    motions = len(robot.motions)
    for motion in robot.motions[before:]:
        motion.end()
    clock.run(5.0)
    assert len(robot.motions) == motions and orchestrator.runs['next'].state == 'FINISH'
    for question in list(process.desk.open.values()):
        process.desk.respond(question.id, 'give_up', 'anna')
    clock.run(5.0)
    assert not process.journal.open_rows('flow') and not process.journal.open_rows('transition')
    orchestrator.clear_locks(['arm'], 'anna', 'it stands still')
    process.submit(one(', resources: [arm]'), 'later')
    clock.run(0.5)
    robot.motions[-1].end()
    clock.run(5.0)
    assert orchestrator.runs['later'].state == 'FINISH'


@pytest.mark.parametrize('state', [
    ActionState.IN_PROGRESS, ActionState.SENSOR_CONFIRM, ActionState.FALLBACK_REQUESTED,
    ActionState.ERROR])
def test_a_flow_that_can_not_resume_is_given_up_in_any_state_of_its_action(
    start: Start, clock: Clock, robot: Robot, monkeypatch: pytest.MonkeyPatch, state: ActionState
) -> None:
    robot.by_hand.update({ActionState.IN_PROGRESS: ['require'],
                          ActionState.SENSOR_CONFIRM: ['confirm']}.get(state, []))
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    action = process.submit(one(', resources: [arm], require: z > 1' + (
        ', fallback: ask' if state is ActionState.FALLBACK_REQUESTED
        else ', retry: {times: 1, delay: 50}'))).actions[0]
    clock.run(5.0)
    assert action.state is state
    process.kill()
    process = start()
    monkeypatch.setattr(process.orchestrator, 'open', lambda run: 1 / 0)
    assert process.orchestrator.restore() == []
    question = next(question for question in process.desk.open.values()
                    if question.question.key == 'set_aside')
    process.desk.respond(question.id, 'give_up', 'anna')
    clock.run(5.0)
    assert not process.journal.open_rows('flow') and not process.journal.open_rows('transition')
    assert verify_journal(process.journal.path) == []
