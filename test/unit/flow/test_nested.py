# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows that actions run: results, progress, parameters, resources, limits, edits, history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
import pytest

from .nested_flows import INNER, OUTER, submit
from .robot import Clock, MOTION, Robot, Start


def test_a_nested_flow_is_one_action_with_the_results_of_its_actions(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, flow_folder, priority=2)
    clock.run(1.0)
    nested = process.orchestrator.runs['f/pick']
    assert (nested.parent, nested.priority, nested.state) == (run, 2, 'CONTINUE')
    assert run.actions[0].state is ActionState.IN_PROGRESS
    for index in range(2):
        assert robot.motions[index].request.flow_id == 'f/pick'
        robot.motions[index].end(result={'n': index})
        clock.run(1.0)
    action = run.actions[0]
    assert action.outcome is ActionOutcome.SUCCEEDED
    assert action.result == {'total': 2, 'succeeded': 2,
                             'results': {'grip': {'n': 0}, 'lift': {'n': 1}}}
    robot.motions[2].end()
    clock.run()
    assert run.state == 'FINISH' and set(process.orchestrator.runs) == {'f'}


def test_progress_is_that_of_the_actions_inside(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    robot.by_hand.add('motion')
    run = submit(start(), flow_folder)
    clock.run(1.0)
    robot.motions[0].end()
    clock.run(1.0)
    assert run.actions[0].progress == (0, 0.5, '1 of 2 actions')


def test_a_flow_in_the_action_fills_in_its_own_templates(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    start().submit(
        'flow: f\nparameters: {place: {default: bin}}\nactions:\n  a:\n    flow:\n      flow:\n'
        '        flow: inner\n        parameters: {to: {type: text}}\n        actions:\n'
        '          move: {motion: {server: "{{ to }}", type: a/action/B}, confirm: z > 0}\n'
        '      parameters: {to: "{{ place }}/{{ facts.z }}"}\n')
    clock.run(1.0)
    assert robot.motions[0].request.steps[0].server == 'bin/0.5'


def test_a_parameter_that_is_wrong_at_run_time_fails_the_action(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    (flow_folder / 'outer.yaml').write_text(
        'flow: outer\nactions:\n  pick: {flow: {flow: inner, '
        'parameters: {speed: "{{ facts.z * 10 }}"}}}\n')
    run = submit(start(), flow_folder)
    clock.run()
    assert run.actions[0].error_code is ErrorCode.GOAL_INVALID
    assert 'expected at most 1, got 5.0' in run.actions[0].error_msg and not robot.motions


def test_a_failure_inside_fails_the_action_which_may_be_retried(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    (flow_folder / 'outer.yaml').write_text(
        'flow: outer\nactions:\n  pick: {flow: inner, retry: {times: 1}}\n')
    robot.verdicts['grip', 'confirm'] = ['refuted']
    process = start()
    run = submit(process, flow_folder)
    clock.run(1.5)
    assert run.actions[0].error_code is ErrorCode.WORK_FAILED
    assert 'grip: ' in run.actions[0].error_msg
    clock.run()
    assert run.state == 'FINISH' and run.actions[0].attempt == 2
    assert {row.flow_id for row in process.journal.rows()} == {'f', 'f/pick', 'f/pick.2'}


def test_several_steps_of_an_action_may_be_flows(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    (flow_folder / 'outer.yaml').write_text(
        'flow: outer\nactions:\n  pick:\n    steps: [{flow: inner}, {motion: {server: up, '
        'type: a/action/B}}, {flow: {flow: inner}}]\n    confirm: z > 0\n')
    run = submit(start(), flow_folder)
    clock.run()
    assert run.state == 'FINISH' and [m.request.action_id for m in robot.motions] == [
        'grip', 'lift', 'pick', 'grip', 'lift']


def test_resources_of_the_outer_action_are_lent_to_one_action_at_a_time(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(
        f'flow: f\nactions:\n  a:\n    resources: [arm]\n    flow: {{flow: {{flow: i, actions: {{'
        f'x: {{{MOTION}, resources: [arm]}}, y: {{{MOTION}, resources: [arm]}}}}}}}}\n')
    process.submit(f'flow: g\nactions: {{z: {{{MOTION}, resources: [arm]}}}}', 'g')
    for number in range(3):
        clock.run(1.0)
        assert len(robot.motions) == number + 1
        robot.motions[number].end()
    clock.run()
    assert [m.request.action_id for m in robot.motions] == ['x', 'y', 'z']


def test_actions_inside_count_for_the_limits_of_the_outer_flow(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    inner = '{flow: {flow: i, actions: {' + ', '.join(
        f'{name}: {{{MOTION}}}' for name in 'wxyz') + '}}}'
    run = start().submit(f'flow: f\nmax_motions: 2\nactions:\n  a: {{flow: {inner}}}\n'
                         f'  b: {{flow: {inner}}}\n')
    most = 0
    while not run.ended:
        clock.run(1.0)
        at_work = [m for m in robot.motions if not m.canceled]
        most = max(most, len(at_work))
        for motion in at_work:
            motion.canceled = True
            motion.end()
    assert most == 2 and run.state == 'FINISH' and len(robot.motions) == 8


def test_one_motion_at_a_time_does_not_stop_the_flow_inside(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    (flow_folder / 'outer.yaml').write_text(OUTER.replace('actions:', 'max_motions: 1\nactions:'))
    (flow_folder / 'inner.yaml').write_text(INNER.replace('actions:', 'max_motions: 1\nactions:'))
    run = submit(start(), flow_folder)
    clock.run()
    assert run.state == 'FINISH'


def test_an_edit_adds_a_nested_flow_and_changes_one_that_runs(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, flow_folder)
    clock.run(1.0)
    process.orchestrator.edit('f', parse_edit(
        '- add: {more: {flow: inner, after: home}}'), 'planner', '')
    process.orchestrator.edit('f/pick', parse_edit(
        f'- add: {{wipe: {{{MOTION}, after: lift}}}}'), 'planner', '')
    process.kill()
    for name in ('inner.yaml', 'outer.yaml'):
        (flow_folder / name).unlink()
    process = start()
    runs = {run.flow_id: run for run in process.orchestrator.restore()}
    robot.by_hand.clear()
    robot.motions[-1].end()
    clock.run()
    run = runs['f']
    assert run.state == 'FINISH'
    assert [m.request.action_id for m in robot.motions if not m.request.resume] == [
        'grip', 'lift', 'wipe', 'home', 'grip', 'lift']


def test_a_fallback_may_be_a_flow(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    (flow_folder / 'outer.yaml').write_text(
        f'flow: outer\nactions:\n  pick: {{{MOTION}, fallback: [{{flow: inner}}]}}\n')
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = submit(process, flow_folder)
    clock.run(1.5)
    process.kill()
    for name in ('inner.yaml', 'outer.yaml'):
        (flow_folder / name).unlink()
    process = start()
    run, *_ = process.orchestrator.restore()
    clock.run()
    assert run.state == 'FINISH'
    assert [m.request.action_id for m in robot.motions if not m.request.resume] == [
        'pick', 'grip', 'lift']


def test_history_and_list_show_and_take_the_paths_of_actions_inside(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    process = start()
    submit(process, flow_folder)
    clock.run()
    process.kill()

    def told(*arguments: str) -> list[dict[str, Any]]:
        assert main([*arguments, '--json', '--journal', str(process.journal.path)]) == 0
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        return found

    for arguments in (('f/pick/grip',), ('pick/grip', '--flow', 'f'), ('grip',)):
        changes = told('history', *arguments)
        assert {(one['flow_id'], one['action_id']) for one in changes} == {('f', 'pick/grip')}
        assert changes[-1]['to'] == 'terminated'
    assert {one['action_id'] for one in told('list', '--flow', 'f')} == {
        'pick', 'pick/grip', 'pick/lift', 'home'}
    assert 'pick/lift' in {one['action_id'] for one in told('history', 'f')}
