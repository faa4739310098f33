# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""An action waits at its breakpoint until a person resumes it."""

from __future__ import annotations

from action_lifecycle.flow import parse_edit
from action_lifecycle.flow.control.orders import OrderRefused
import pytest

from .controlled import CHAIN, outcomes
from .kills import restart
from .robot import Clock, MOTION, Robot, Start


def test_nothing_of_an_action_starts_at_its_breakpoint(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a, resources: [arm]}}\n'
        f'  c: {{{MOTION}, after: b}}\n')
    control = process.orchestrator.control
    control.set_breakpoint('f', 'b', 'ann', 'look first')
    assert control.set_breakpoint('f', 'b', 'ben') == (0, 'it is set already, by ann')
    with pytest.raises(OrderRefused, match='it has not come to its breakpoint'):
        control.resume('f', 'ann', action_id='b')
    clock.run(10.0)
    assert robot.executed('b') == 0 and not process.orchestrator.resources.holders
    assert process.orchestrator.blocked_for(run.actions[1]) == \
        'approval_required: breakpoint, set by ann'
    process, (run,) = restart(start, process)
    clock.run(10.0)
    assert robot.executed('b') == 0 and run.control.breakpoints == {'b': 'ann'}
    control = process.orchestrator.control
    with pytest.raises(OrderRefused, match="'a' is succeeded: it has begun"):
        control.set_breakpoint('f', 'a', 'ann')
    with pytest.raises(OrderRefused, match='it has no breakpoint'):
        control.resume('f', 'ann', action_id='c')
    control.resume('f', 'ann', action_id='b')
    assert not run.control.breakpoints
    clock.run()
    assert run.state == 'FINISH' and robot.executed('b') == 1


def test_a_breakpoint_is_cleared(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    run = process.submit(CHAIN)
    control = process.orchestrator.control
    control.set_breakpoint('f', 'b', 'ann')
    control.set_breakpoint('f', 'c', 'ann')
    clock.run(10.0)
    control.clear_breakpoint('f', 'b', 'ann')
    process, (run,) = restart(start, process)
    robot.motions[-1].end()
    clock.run(10.0)
    assert outcomes(run) == {'a': 'succeeded', 'b': 'succeeded'}
    control = process.orchestrator.control
    control.clear_breakpoint('f', 'c', 'ann')
    assert control.clear_breakpoint('f', 'c', 'ann') == (0, 'it has no breakpoint')
    clock.run()
    assert run.state == 'FINISH'


def test_a_breakpoint_takes_an_action_out_of_the_queue_of_a_resource(
    start: Start, clock: Clock, robot: Robot
) -> None:
    arm = f'{MOTION}, resources: [arm]'
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a: {{{arm}}}\n  b: {{{arm}}}\n  c: {{{arm}}}\n')
    process.orchestrator.control.set_breakpoint('f', 'b', 'ann')
    clock.run(10.0)
    assert outcomes(run) == {'a': 'succeeded', 'c': 'succeeded'}
    process.orchestrator.edit('f', parse_edit('- remove: [b]\n'), 'ben', 'not needed')
    clock.run(10.0)
    assert run.state == 'FINISH' and not run.control.breakpoints


def test_an_action_that_passed_its_breakpoint_waits_for_a_paused_flow(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(CHAIN)
    control = process.orchestrator.control
    control.set_breakpoint('f', 'b', 'ann')
    clock.run(10.0)
    control.pause('f', 'ann')
    assert 'when the flow is resumed' in control.resume('f', 'ben', action_id='b').note
    clock.run(10.0)
    assert robot.executed('b') == 0
    control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH'
