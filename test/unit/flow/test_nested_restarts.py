# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows of flows that actions run: kills, compaction, damage, a full disk."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.lifecycle.states import ActionState
from action_lifecycle.lifecycle.work import WORK

from .kills import killed_at_every_row, restart
from .nested_flows import submit
from .robot import Clock, Process, Robot, Start


def compact(process: Process) -> None:
    process.journal.compact(synced_to=[row.seq for row in process.journal.rows()][-1])


def test_killed_at_every_row_no_action_is_done_twice_and_none_is_lost(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    def work(process: Process, flow_id: str) -> None:
        robot.motions.clear()
        submit(process, flow_folder, flow_id)
        clock.run()

    for flow_id, process, _ in killed_at_every_row(start, work, fewest=25, most=60):
        clock.run()
        goals = [m.request.goal_id for m in robot.motions if not m.request.resume]
        assert len(goals) == len(set(goals)), flow_id
        found = {row.flow_id: row.to_state for row in process.journal.rows(kind='flow')
                 if row.flow_id.partition('/')[0] == flow_id}
        if flow_id in found:  # accepted before the kill
            assert found == {flow_id: 'FINISH', f'{flow_id}/pick': 'FINISH'}
            assert list(dict.fromkeys(m.request.action_id for m in robot.motions)) == [
                'grip', 'lift', 'home'], flow_id
        assert not [row for row, _ in process.journal.checked_open_rows('flow')], flow_id
        assert not process.orchestrator.resources.holders


def test_an_order_to_cancel_survives_a_kill_at_every_row(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    def prepare(process: Process, flow_id: str) -> None:
        robot.motions.clear()
        robot.by_hand.add('motion')
        submit(process, flow_folder, flow_id)
        clock.run(1.0)

    def work(process: Process, flow_id: str) -> None:
        process.orchestrator.cancel(flow_id, 'anna', 'enough')
        robot.motions[0].end('canceled')
        clock.run()

    for flow_id, process, restored in killed_at_every_row(
            start, work, prepare=prepare, fewest=5, most=20):
        runs = {run.flow_id: run for run in restored}
        clock.run(1.0)
        for motion in robot.motions:
            if motion.request.resume and motion.canceled:
                motion.end('canceled')
        clock.run()
        assert len([m for m in robot.motions if not m.request.resume]) == 1, flow_id
        if flow_id in runs:
            assert runs[flow_id].outcomes['canceled'] == 2
        assert not [row for row, _ in process.journal.checked_open_rows('flow')], flow_id


def test_rows_of_a_nested_flow_are_removed_when_its_result_is_taken(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    process = start()
    submit(process, flow_folder)
    clock.run(1.0)
    compact(process)
    assert list(process.journal.rows(flow_id='f/pick'))
    clock.run(1.8)
    compact(process)
    assert list(process.journal.rows(flow_id='f')) and 'f' in process.orchestrator.runs
    assert not list(process.journal.rows(flow_id='f/pick'))
    process, (run,) = restart(start, process)
    clock.run()
    assert run.runners['home'].action.state in (
        ActionState.TERMINATED, ActionState.FALLBACK_REQUESTED)
    assert robot.executed('grip') == 1


def test_a_damaged_nested_flow_is_set_aside_and_giving_it_up_fails_its_action(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    robot.by_hand.add('motion')
    process = start()
    submit(process, flow_folder)
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
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    process = start()
    with process.full_disk(lambda entry: entry.flow_id == 'f/pick') as refused:
        run = submit(process, flow_folder)
        clock.run(5.0)
    assert refused and not robot.motions
    clock.run()
    assert run.state == 'FINISH' and robot.executed('grip') == 1
