# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions that people hold back: a reader of the journal sees the order that they wait for."""

from __future__ import annotations

from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.graphs.packaged import packaged_graph
from action_lifecycle.journal.action_rows import concerns_action, status_after
from action_lifecycle.journal.projection import Projection
import pytest

from .robot import Clock, Killed, MOTION, one, Process, Robot, Start

PAUSED = 'approval_required: the flow is paused by ann'
PAIR = f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'


def notes(process: Process, flow_id: str = 'f') -> list[tuple[str, str, str]]:
    return [(row.event, row.action_id, row.cause)
            for row in process.journal.rows(flow_id=flow_id, kind='note')
            if row.event in ('blocked', 'unblocked')]


def waits(process: Process, flow_id: str = 'f') -> dict[str, str]:
    """Return what the actions wait for, to a reader of the journal; it is what is shown."""
    read = Projection(process.journal, packaged_graph('action'))
    found = {action.action_id: action.blocked_reason for action in read.find(flow_id=flow_id)}
    for action in process.orchestrator.runs[flow_id].actions:
        assert found.get(action.action_id, '') == process.orchestrator.blocked_for(action)
    for row in process.journal.rows(flow_id=flow_id):
        if concerns_action(row):  # of a row alone, as in the ledger
            found[f'{row.action_id} in the ledger'] = ' '.join(status_after(row))
    return found


def test_ready_action_of_a_paused_flow_waits_until_the_resume(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(PAIR)
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    assert notes(process) == []  # nothing is ready
    clock.run(10.0)
    assert waits(process)['b'] == PAUSED
    assert waits(process)['b in the ledger'] == 'PENDING approval_required'
    process.kill()
    process = start()
    process.orchestrator.restore()
    clock.run(1.0)
    assert notes(process) == [('blocked', 'b', PAUSED)] and waits(process)['b'] == PAUSED
    process.orchestrator.control.resume('f', 'ben')
    clock.run(0.5)
    assert waits(process)['b'] == '' and len(notes(process)) == 1  # its start says enough
    process.kill()
    process = start()
    process.orchestrator.restore()
    clock.run(0.5)
    assert waits(process)['b'] == '' and len(notes(process)) == 1


def test_ready_action_waits_for_a_resource_after_the_resume(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(one(', resources: [arm]'), 'g')
    process.submit(one(', resources: [arm]'))
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(0.5)
    assert waits(process)['pick'] == PAUSED
    process.orchestrator.control.resume('f', 'ann')
    clock.run(0.5)
    assert waits(process).get('pick', '') == ''
    assert notes(process) == [('blocked', 'pick', PAUSED), ('unblocked', 'pick', '')]


def test_breakpoint_is_told_when_the_action_comes_to_it(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(PAIR)
    process.orchestrator.control.set_breakpoint('f', 'b', 'ben')
    clock.run(0.5)
    assert notes(process) == []
    clock.run(10.0)
    told = 'approval_required: breakpoint, set by ben'
    assert waits(process)['b'] == told and notes(process) == [('blocked', 'b', told)]
    process.orchestrator.control.resume('f', 'ann', action_id='b')
    clock.run(0.5)
    assert waits(process)['b'] == ''


def test_held_motion_is_told_from_its_stop_to_the_resume(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(one())
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    clock.run(0.1)
    assert waits(process)['pick'] == \
        'approval_required: is being stopped: the flow is held by ann'
    assert waits(process)['pick in the ledger'] == 'IN_PROGRESS approval_required'
    robot.motions[0].end('canceled')
    clock.run(0.1)
    assert waits(process)['pick'] == 'approval_required: stopped: the flow is held by ann'
    process.orchestrator.control.resume('f', 'ann')
    clock.run(0.1)
    assert waits(process)['pick'] == ''
    assert waits(process)['pick in the ledger'] == 'IN_PROGRESS '


def test_failed_action_of_a_paused_flow_waits_for_its_next_attempt(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    process.submit(one(', retry: {times: 1, delay: 1}'))
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(10.0)
    assert waits(process)['pick'] == PAUSED
    assert waits(process)['pick in the ledger'] == 'FAILED approval_required'
    process.orchestrator.control.resume('f', 'ann')
    clock.run(100.0)
    assert waits(process)['pick in the ledger'] == 'COMPLETED '


def test_actions_of_an_inner_flow_wait_for_the_resume_of_the_outer_one(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit('flow: f\nactions:\n  outer:\n    for_each: {part: [x, y]}\n'
                   f'    {MOTION.replace(", confirm", chr(10) + "    confirm")}\n'
                   '    resources: [arm]\n')
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(100.0)
    inner, = (flow_id for flow_id in process.orchestrator.runs if flow_id != 'f')
    assert PAUSED in waits(process, inner).values()
    process.orchestrator.control.resume('f', 'ann')
    clock.run(0.5)
    assert PAUSED not in waits(process, inner).values()


def test_removed_action_waits_no_longer(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    process.submit(PAIR)
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(10.0)
    process.orchestrator.edit('f', parse_edit('- remove: [b]\n'), 'ben', 'not needed')
    clock.run(0.5)
    assert notes(process) == [('blocked', 'b', PAUSED), ('unblocked', 'b', '')]


def test_wait_that_the_journal_refuses_is_told_later(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(PAIR)
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    with process.full_disk(lambda entry: entry.event == 'blocked') as refused:
        clock.run(10.0)
        assert refused and notes(process) == []
    clock.run(10.0)
    assert waits(process)['b'] == PAUSED


@pytest.mark.parametrize('rows', range(1, 4))
def test_killed_after_any_row_of_a_pause_or_resume_the_journal_tells_what_waits(
    start: Start, clock: Clock, robot: Robot, rows: int
) -> None:
    """The rows: the pause, what it holds back; the resume, the start of the action."""
    process = start()
    process.submit(f'flow: f\nmax_motions: 1\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}}}\n')
    robot.by_hand.add('motion')
    clock.run(0.5)
    process.die_after(rows)
    try:
        process.orchestrator.control.pause('f', 'ann')
        clock.run(0.5)
        process.orchestrator.control.resume('f', 'ann')
        clock.run(0.5)
        raise AssertionError('it was not killed')
    except Killed:
        process.kill()
    process = start()
    run, = process.orchestrator.restore()
    clock.run(0.5)
    assert waits(process).get('b', '') == (PAUSED if run.paused else '')
    process.orchestrator.control.pause('f', 'ann')
    clock.run(0.5)
    assert waits(process)['b'] == PAUSED
