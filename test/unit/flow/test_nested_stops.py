# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cancels, time limits, locks, pauses and holds of flows that actions run."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.lifecycle.states import ActionOutcome, ErrorCode
import pytest

from .kills import restart
from .nested_flows import submit
from .robot import Clock, MOTION, Robot, Start


def test_a_cancel_ends_when_everything_inside_has_stopped(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, flow_folder)
    clock.run(1.0)
    process.orchestrator.cancel('f', 'anna', 'enough')
    clock.run(1.0)
    assert robot.motions[0].canceled and not run.ended
    robot.motions[0].end('canceled')
    clock.run()
    assert run.actions[0].outcome is ActionOutcome.CANCELED and run.ended
    assert len(robot.motions) == 1 and set(process.orchestrator.runs) == {'f'}


def test_a_motion_inside_that_is_not_seen_to_stop_locks_what_the_outer_action_holds(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(
        f'flow: f\nactions:\n  a:\n    resources: [cell]\n    flow: {{flow: {{flow: i, actions: {{'
        f'x: {{{MOTION}, resources: [arm]}}}}}}}}\n')
    process.submit(f'flow: g\nactions: {{z: {{{MOTION}, resources: [cell]}}}}', 'g')
    clock.run(1.0)
    process.orchestrator.cancel('f', 'anna', 'enough')
    robot.motions[0].end('canceled', stopped=False)
    clock.run()
    assert run.actions[0].error_code is ErrorCode.STOP_UNCONFIRMED
    assert set(process.orchestrator.resources.locked) == {'arm', 'cell'}
    assert len(robot.motions) == 1
    process.orchestrator.clear_locks(['arm', 'cell'], 'anna', 'looked')
    clock.run(1.0)
    assert len(robot.motions) == 2


def test_a_lock_of_a_lent_resource_stops_the_next_action_inside(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(
        f'flow: f\nactions:\n  a:\n    resources: [arm]\n    flow: {{flow: {{flow: i, actions: {{'
        f'x: {{{MOTION}, resources: [arm]}}, y: {{{MOTION}, resources: [arm]}}}}}}}}\n')
    clock.run(1.0)
    robot.motions[0].end('failed', stopped=False)
    clock.run(5.0)
    assert len(robot.motions) == 1 and set(process.orchestrator.resources.locked) == {'arm'}
    assert "'arm' is locked" in process.orchestrator.locked_for(
        process.orchestrator.runs['f/a'].runners['y'].action)
    process.orchestrator.clear_locks(['arm'], 'anna', 'looked')
    clock.run(1.0)
    assert len(robot.motions) == 2


def test_a_cancel_of_the_flow_inside_cancels_the_action(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, flow_folder)
    clock.run(1.0)
    process.orchestrator.cancel('f/pick', 'anna', 'enough')
    robot.motions[0].end('canceled')
    clock.run()
    assert run.actions[0].outcome is ActionOutcome.CANCELED
    assert 'canceled by anna: enough' in run.actions[0].error_msg


def test_a_time_limit_of_the_action_stops_the_flow_inside(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    robot.by_hand.add('motion')
    (flow_folder / 'outer.yaml').write_text(
        'flow: outer\nactions:\n  pick: {flow: inner, timeout: 5.0}\n')
    run = submit(start(), flow_folder)
    clock.run(6.0)
    robot.motions[0].end('canceled')
    clock.run()
    assert run.actions[0].error_code is ErrorCode.DEADLINE_EXCEEDED and len(robot.motions) == 1


def test_a_pause_also_holds_the_flow_inside(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, flow_folder)
    clock.run(1.0)
    process.orchestrator.control.pause('f', 'anna')
    robot.motions[0].end()
    clock.run(5.0)
    assert len(robot.motions) == 1 and not run.ended
    process, (run, *_) = restart(start, process)
    clock.run(5.0)
    assert len(robot.motions) == 1
    robot.by_hand.clear()
    process.orchestrator.control.resume('f', 'anna')
    clock.run()
    assert run.state == 'FINISH' and len(robot.motions) == 3


def test_a_hold_stops_the_motion_inside(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, flow_folder)
    clock.run(1.0)
    process.orchestrator.control.pause('f', 'anna', hold=True)
    assert robot.motions[0].canceled
    robot.motions[0].end('canceled')
    clock.run(5.0)
    robot.by_hand.clear()
    process.orchestrator.control.resume('f', 'anna')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('grip') == 1


@pytest.mark.parametrize('kill', [False, True])
def test_a_failed_action_of_an_inner_flow_is_retried_while_the_outer_one_is_paused(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path, kill: bool
) -> None:
    robot.verdicts['grip', 'confirm'] = ['refuted']
    process = start()
    run = submit(process, flow_folder)
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(10.0)
    if kill:
        process, (run, *_) = restart(start, process)
        clock.run(10.0)
    control = process.orchestrator.control
    inner = process.orchestrator.runs['f/pick']
    assert not inner.ended and inner.outcomes['skipped'] == 1
    assert control.retry('f/pick', 'grip', 'ann').note.endswith('paused by ann')
    clock.run(10.0)
    assert robot.executed('grip') == 1
    control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('grip') == 2


def test_an_inner_flow_is_paused_and_resumed_by_its_action(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    process = start()
    run = submit(process, flow_folder)
    clock.run(0.5)
    control = process.orchestrator.control
    control.pause('f/pick', 'ann')
    clock.run(10.0)
    assert robot.executed('lift') == 0 and not run.control.paused
    control.resume('f', 'ben', action_id='pick')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('lift') == 1
