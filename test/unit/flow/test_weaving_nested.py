# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Replacements and ends in flows whose actions run other flows."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.flow import load_flow
from action_lifecycle.flow.planning.asker import PlanReply
import pytest

from .robot import Clock, MOTION, Robot, Start
from .test_steering import steered
from .test_weaving import GRASP, outcomes, refuse

INNER = f'flow: inner\nactions:\n  grip: {{{MOTION}}}\n  lift: {{{MOTION}, after: grip}}\n'
OUTER = (f'flow: outer\nsteering: true\nactions:\n  pick: {{{MOTION}}}\n'
         f'  work: {{flow: inner, after: pick}}\n  tidy: {{{MOTION}, after: work}}\n')


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    (tmp_path / 'inner.yaml').write_text(INNER)
    (tmp_path / 'outer.yaml').write_text(OUTER)
    return tmp_path / 'outer.yaml'


@pytest.mark.parametrize('killed_at', [0.0, 2.5, 4.0])
def test_a_nested_flow_inherits_its_place_although_its_file_has_gone(
    start: Start, clock: Clock, robot: Robot, outer: Path, killed_at: float
) -> None:
    refuse(robot, 'pick')
    process, _ = steered(start, clock, PlanReply(True, GRASP))
    run = process.orchestrator.submit(load_flow(outer), 'f')
    (outer.parent / 'inner.yaml').unlink()
    if killed_at:
        clock.run(killed_at)
        process.kill()
        process, _ = steered(start, clock)
        run = next(run for run in process.orchestrator.restore() if run.flow_id == 'f')
        for motion in robot.motions:
            if motion.request.resume:
                clock.call_later(1.0, motion.end)
    clock.run()
    assert run.state == 'FINISH', run.error_msg
    assert outcomes(run) == {'pick': 'failed', 'grasp': 'succeeded', 'work': 'succeeded',
                             'tidy': 'succeeded'}


def test_a_nested_flow_that_has_failed_is_replaced_as_one_action(
    start: Start, clock: Clock, robot: Robot, outer: Path
) -> None:
    refuse(robot, 'grip')
    process, planner = steered(start, clock, PlanReply(True), PlanReply(
        True, f'- add: {{again: {{{MOTION}, replaces: work}}}}'))
    run = process.orchestrator.submit(load_flow(outer), 'f')
    clock.run()
    assert [names for names, _ in planner.asked[:2]] == [['pick'], ['work']]
    assert run.state == 'FINISH', run.error_msg
    assert outcomes(run) == {'pick': 'succeeded', 'work': 'failed', 'again': 'succeeded',
                             'tidy': 'succeeded'}


def test_the_planner_of_an_inner_flow_weaves_the_inner_flow(
    start: Start, clock: Clock, robot: Robot, outer: Path
) -> None:
    outer.write_text(OUTER.replace('steering: true\n', ''))
    (outer.parent / 'inner.yaml').write_text(INNER.replace('actions:', 'steering: true\nactions:'))
    refuse(robot, 'grip')
    process, planner = steered(start, clock, PlanReply(
        True, f'- add: {{suck: {{{MOTION}, replaces: grip}}}}'))
    run = process.orchestrator.submit(load_flow(outer), 'f')
    clock.run()
    assert planner.asked[0] == (['grip'], [])
    assert run.state == 'FINISH', run.error_msg
    assert robot.executed('suck') == robot.executed('lift') == robot.executed('tidy') == 1
