# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flows that actions run: checks, results, resources, cancels, restarts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow import load_flow, parse_flow
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
from action_lifecycle.lifecycle.work import WORK
import pytest

from .robot import Clock, Killed, MOTION, Process, Robot, Start

INNER = (f'flow: inner\nparameters: {{speed: {{default: 0.5, max: 1.0}}}}\nactions:\n'
         f'  grip: {{{MOTION}, parameters: {{v: "{{{{ speed }}}}"}}}}\n'
         f'  lift: {{{MOTION}, after: grip}}\n')
OUTER = f'flow: outer\nactions:\n  pick: {{flow: inner}}\n  home: {{{MOTION}, after: pick}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / 'inner.yaml').write_text(INNER)
    (tmp_path / 'outer.yaml').write_text(OUTER)
    return tmp_path


def faults_of(folder: Path, outer: str, inner: str = INNER) -> str:
    (folder / 'inner.yaml').write_text(inner)
    (folder / 'outer.yaml').write_text(outer)
    with pytest.raises(DocumentError) as error:
        load_flow(folder / 'outer.yaml')
    return str(error.value).replace(f'{folder}/', '')


def submit(process: Process, folder: Path, flow_id: str = 'f', **options: Any) -> Any:
    return process.orchestrator.submit(load_flow(folder / 'outer.yaml'), flow_id, **options)


def compact(process: Process) -> None:
    process.journal.compact(synced_to=[row.seq for row in process.journal.rows()][-1])


# Checks


def test_faults_name_the_inner_file_and_the_outer_line(folder: Path) -> None:
    assert faults_of(folder, OUTER, INNER.replace('confirm', 'confrim', 1)).startswith(
        "inner.yaml:4:51: unknown field 'confrim'; did you mean 'confirm'?")
    assert faults_of(folder, OUTER, INNER.replace('after: grip', 'after: gripp')).endswith(
        "did you mean 'grip'? (used in outer.yaml:3, action 'pick')")


@pytest.mark.parametrize('work, fault', [
    ('flow: iner', "outer.yaml:3:10: action 'pick', flow: there is no flow 'iner'"),
    ('flow: {flow: ./iner.yaml}', 'there is no file'),
    ('flow: {flow: ./inner}', 'expected a file .yaml or .yml'),
    ('flow: {flow: inner, parameters: {sped: 1}}',
     "the flow has no parameter 'sped'; did you mean 'speed'?"),
    ('flow: {flow: inner, parameters: {speed: 7}}', 'expected at most 1, got 7'),
    ('flow: {flow: inner, parametres: {}}', "unknown field 'parametres'"),
    ('flow: 7', "field 'flow': expected a mapping, got 7"),
    ('flow: {flow: "{{ facts.name }}"}',
     "action 'pick', flow: template '{{ facts.name }}': 'facts' is undefined"),
    ('flow: {flow: {flow: x, actions: {}}}', 'outer.yaml:3:33: expected at least one action'),
    ('flow: {flow: {flow: x, schedule: {clock: wall, every: 1}, '
     f'actions: {{a: {{{MOTION}}}}}}}}}',
     'a nested flow has no schedule'),
    (f'flow: inner, {MOTION}', "has 'flow' and 'motion': expected one of them"),
])
def test_a_wrong_use_is_refused(folder: Path, work: str, fault: str) -> None:
    assert fault in faults_of(folder, f'flow: outer\nactions:\n  pick: {{{work}}}\n')


def test_a_flow_that_nests_itself_is_refused_with_the_circle(folder: Path) -> None:
    assert 'it would run itself: ' in faults_of(
        folder, 'flow: outer\nactions:\n  a: {flow: outer}\n')
    faults = faults_of(folder, OUTER, 'flow: inner\nactions:\n  back: {flow: ./outer.yaml}\n')
    assert faults.startswith('inner.yaml:3:10:')
    assert 'outer.yaml → inner.yaml → outer.yaml' in faults


def test_flows_are_nested_to_a_limited_depth() -> None:
    text = f'{{flow: x, actions: {{a: {{{MOTION}}}}}}}'
    for _ in range(7):
        text = f'{{flow: x, actions: {{a: {{flow: {{flow: {text}}}}}}}}}'
    parse_flow(text, 'f.yaml')
    with pytest.raises(DocumentError, match='nested more than 8 deep'):
        parse_flow(f'{{flow: x, actions: {{a: {{flow: {{flow: {text}}}}}}}}}', 'f.yaml')


# Runs


def test_a_nested_flow_is_one_action_with_the_results_of_its_actions(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, folder, priority=2)
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
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    run = submit(start(), folder)
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
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    (folder / 'outer.yaml').write_text(
        'flow: outer\nactions:\n  pick: {flow: {flow: inner, '
        'parameters: {speed: "{{ facts.z * 10 }}"}}}\n')
    run = submit(start(), folder)
    clock.run()
    assert run.actions[0].error_code is ErrorCode.GOAL_INVALID
    assert 'expected at most 1, got 5.0' in run.actions[0].error_msg and not robot.motions


def test_a_failure_inside_fails_the_action_which_may_be_retried(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    (folder / 'outer.yaml').write_text(
        'flow: outer\nactions:\n  pick: {flow: inner, retry: {times: 1}}\n')
    robot.verdicts['grip', 'confirm'] = ['refuted']
    process = start()
    run = submit(process, folder)
    clock.run(1.5)
    assert run.actions[0].error_code is ErrorCode.WORK_FAILED
    assert 'grip: ' in run.actions[0].error_msg
    clock.run()
    assert run.state == 'FINISH' and run.actions[0].attempt == 2
    assert {row.flow_id for row in process.journal.rows()} == {'f', 'f/pick', 'f/pick.2'}


def test_several_steps_of_an_action_may_be_flows(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    (folder / 'outer.yaml').write_text(
        'flow: outer\nactions:\n  pick:\n    steps: [{flow: inner}, {motion: {server: up, '
        'type: a/action/B}}, {flow: {flow: inner}}]\n    confirm: z > 0\n')
    run = submit(start(), folder)
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
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    (folder / 'outer.yaml').write_text(OUTER.replace('actions:', 'max_motions: 1\nactions:'))
    (folder / 'inner.yaml').write_text(INNER.replace('actions:', 'max_motions: 1\nactions:'))
    run = submit(start(), folder)
    clock.run()
    assert run.state == 'FINISH'


# Cancels


def test_a_cancel_ends_when_everything_inside_has_stopped(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, folder)
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
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, folder)
    clock.run(1.0)
    process.orchestrator.cancel('f/pick', 'anna', 'enough')
    robot.motions[0].end('canceled')
    clock.run()
    assert run.actions[0].outcome is ActionOutcome.CANCELED
    assert 'canceled by anna: enough' in run.actions[0].error_msg


def test_a_time_limit_of_the_action_stops_the_flow_inside(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    (folder / 'outer.yaml').write_text(
        'flow: outer\nactions:\n  pick: {flow: inner, timeout: 5.0}\n')
    run = submit(start(), folder)
    clock.run(6.0)
    robot.motions[0].end('canceled')
    clock.run()
    assert run.actions[0].error_code is ErrorCode.DEADLINE_EXCEEDED and len(robot.motions) == 1


# Edits


def test_an_edit_adds_a_nested_flow_and_changes_one_that_runs(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, folder)
    clock.run(1.0)
    process.orchestrator.edit('f', parse_edit(
        '- add: {more: {flow: inner, after: home}}'), 'planner', '')
    process.orchestrator.edit('f/pick', parse_edit(
        f'- add: {{wipe: {{{MOTION}, after: lift}}}}'), 'planner', '')
    process.kill()
    for name in ('inner.yaml', 'outer.yaml'):
        (folder / name).unlink()
    process = start()
    runs = {run.flow_id: run for run in process.orchestrator.restore()}
    robot.by_hand.clear()
    robot.motions[-1].end()
    clock.run()
    run = runs['f']
    assert run.state == 'FINISH'
    assert [m.request.action_id for m in robot.motions if not m.request.resume] == [
        'grip', 'lift', 'wipe', 'home', 'grip', 'lift']


# Restarts


def test_killed_at_every_row_no_action_is_done_twice_and_none_is_lost(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    for rows in range(1, 60):
        robot.motions.clear()
        process = start()
        process.die_after(rows)
        flow_id = f'f{rows}'
        try:
            submit(process, folder, flow_id)
            clock.run()
        except Killed:
            pass
        else:
            assert rows > 25
            break
        process.kill()
        process = start()
        process.orchestrator.restore()
        clock.run()
        goals = [m.request.goal_id for m in robot.motions if not m.request.resume]
        assert len(goals) == len(set(goals)), rows
        found = {row.flow_id: row.to_state for row in process.journal.rows(kind='flow')
                 if row.flow_id.partition('/')[0] == flow_id}
        if flow_id in found:  # accepted before the kill
            assert found == {flow_id: 'FINISH', f'{flow_id}/pick': 'FINISH'}, rows
            assert list(dict.fromkeys(m.request.action_id for m in robot.motions)) == [
                'grip', 'lift', 'home'], rows
        assert not [row for row, _ in process.journal.checked_open_rows('flow')], rows
        assert not process.orchestrator.resources.holders
        process.journal.close()
    else:
        raise AssertionError('the flow never ended')


def test_an_order_to_cancel_survives_a_kill_at_every_row(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    for rows in range(1, 20):
        robot.motions.clear()
        robot.by_hand.add('motion')
        process = start()
        flow_id = f'f{rows}'
        submit(process, folder, flow_id)
        clock.run(1.0)
        process.die_after(rows)
        try:
            process.orchestrator.cancel(flow_id, 'anna', 'enough')
            robot.motions[0].end('canceled')
            clock.run()
        except Killed:
            pass
        else:
            assert rows > 5
            break
        process.kill()
        process = start()
        runs = {run.flow_id: run for run in process.orchestrator.restore()}
        clock.run(1.0)
        for motion in robot.motions:
            if motion.request.resume and motion.canceled:
                motion.end('canceled')
        clock.run()
        assert len([m for m in robot.motions if not m.request.resume]) == 1, rows
        if flow_id in runs:
            assert runs[flow_id].outcomes['canceled'] == 2, rows
        assert not [row for row, _ in process.journal.checked_open_rows('flow')], rows
        process.journal.close()
    else:
        raise AssertionError('the flow never ended')


def test_rows_of_a_nested_flow_are_removed_when_its_result_is_taken(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    process = start()
    submit(process, folder)
    clock.run(1.0)
    compact(process)
    assert list(process.journal.rows(flow_id='f/pick'))
    clock.run(1.8)
    compact(process)
    assert list(process.journal.rows(flow_id='f')) and 'f' in process.orchestrator.runs
    assert not list(process.journal.rows(flow_id='f/pick'))
    process.kill()
    process = start()
    run, = process.orchestrator.restore()
    clock.run()
    assert run.runners['home'].action.state in (
        ActionState.TERMINATED, ActionState.FALLBACK_REQUESTED)
    assert robot.executed('grip') == 1


def test_a_damaged_nested_flow_is_set_aside_and_giving_it_up_fails_its_action(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    submit(process, folder)
    clock.run(1.0)
    process.kill()
    known = WORK._things.pop('motion')  # rows that this process can not read
    process = start()
    try:
        assert [run.flow_id for run in process.orchestrator.restore()] == []
    finally:
        WORK._things['motion'] = known
    clock.run(1.0)
    asked = {request.question.flow_id for request in process.desk.open.values()}
    assert asked == {'f', 'f/pick'}
    assert not [m for m in robot.motions if m.request.resume]


def test_a_full_disk_delays_the_flow_inside(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    process = start()
    with process.full_disk(lambda entry: entry.flow_id == 'f/pick') as refused:
        run = submit(process, folder)
        clock.run(5.0)
    assert refused and not robot.motions
    clock.run()
    assert run.state == 'FINISH' and robot.executed('grip') == 1


def test_a_pause_also_holds_the_flow_inside(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, folder)
    clock.run(1.0)
    process.orchestrator.control.pause('f', 'anna')
    robot.motions[0].end()
    clock.run(5.0)
    assert len(robot.motions) == 1 and not run.ended
    process.kill()
    process = start()
    run = process.orchestrator.restore()[0]
    clock.run(5.0)
    assert len(robot.motions) == 1
    robot.by_hand.clear()
    process.orchestrator.control.resume('f', 'anna')
    clock.run()
    assert run.state == 'FINISH' and len(robot.motions) == 3


def test_a_hold_stops_the_motion_inside(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = submit(process, folder)
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
    start: Start, clock: Clock, robot: Robot, folder: Path, kill: bool
) -> None:
    robot.verdicts['grip', 'confirm'] = ['refuted']
    process = start()
    run = submit(process, folder)
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(10.0)
    if kill:
        process.kill()
        process = start()
        run = process.orchestrator.restore()[0]
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
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    process = start()
    run = submit(process, folder)
    clock.run(0.5)
    control = process.orchestrator.control
    control.pause('f/pick', 'ann')
    clock.run(10.0)
    assert robot.executed('lift') == 0 and not run.control.paused
    control.resume('f', 'ben', action_id='pick')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('lift') == 1


def test_a_fallback_may_be_a_flow(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    (folder / 'outer.yaml').write_text(
        f'flow: outer\nactions:\n  pick: {{{MOTION}, fallback: [{{flow: inner}}]}}\n')
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = submit(process, folder)
    clock.run(1.5)
    process.kill()
    for name in ('inner.yaml', 'outer.yaml'):
        (folder / name).unlink()
    process = start()
    run, *_ = process.orchestrator.restore()
    clock.run()
    assert run.state == 'FINISH'
    assert [m.request.action_id for m in robot.motions if not m.request.resume] == [
        'pick', 'grip', 'lift']


def test_history_and_list_show_and_take_the_paths_of_actions_inside(
    start: Start, clock: Clock, robot: Robot, folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    process = start()
    submit(process, folder)
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
