# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions that wait for locked resources: in the journal from the first to the last moment."""

from __future__ import annotations

from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.graphs.packaged import packaged_graph
from action_lifecycle.journal.projection import Projection
import pytest

from .kills import restart
from .robot import Clock, Killed, MOTION, one, Process, Robot, Start

TOLD = "'arm' is locked: f/pick was not seen to stop"


@pytest.fixture
def locked(start: Start, clock: Clock, robot: Robot) -> Process:
    """Return a process whose resource 'arm' is locked."""
    robot.by_hand.add('motion')
    process = start()
    process.submit(one(', resources: [arm]'))
    clock.run(1.0)
    process.orchestrator.cancel('f', 'ann', 'enough')
    clock.run(4.0)
    assert list(process.orchestrator.resources.locked) == ['arm']
    return process


def notes(process: Process, flow_id: str = 'g') -> list[tuple[str, str]]:
    return [(row.event, row.cause) for row in process.journal.rows(flow_id=flow_id, kind='note')
            if row.event in ('blocked', 'unblocked')]


def states(process: Process, flow_id: str = 'g') -> list[str]:
    return [row.to_state for row in process.journal.rows(flow_id=flow_id, kind='transition')]


def reason(process: Process, flow_id: str = 'g', name: str = 'pick') -> str | None:
    """Return what somebody sees who reads the journal."""
    action = Projection(process.journal, packaged_graph('action')).get(flow_id, name)
    return action.blocked_reason if action is not None else None


def test_wait_is_noted_until_the_start_and_once_only(
    locked: Process, start: Start, clock: Clock, robot: Robot
) -> None:
    locked.submit(one(', resources: [arm]'), 'g')
    locked.submit(one(', resources: [leg]'), 'h')
    clock.run(1.0)
    assert notes(locked) == [('blocked', TOLD)] and notes(locked, 'h') == []
    assert reason(locked) == f'dependency: {TOLD}'
    for _ in range(2):
        locked, _ = restart(start, locked)
        clock.run(1.0)
    assert notes(locked) == [('blocked', TOLD)]
    locked.orchestrator.clear_locks(['arm'], 'ann', 'looked')
    clock.run(1.0)
    assert len(notes(locked)) == 1 and reason(locked) == ''
    assert 'executing_motion' in states(locked)


def test_action_that_waits_on_for_another_reason_is_unblocked(
    locked: Process, clock: Clock
) -> None:
    for flow_id in 'gh':
        locked.submit(one(', resources: [arm]'), flow_id)
    clock.run(1.0)
    assert [notes(locked, flow_id) for flow_id in 'gh'] == [[('blocked', TOLD)]] * 2
    locked.orchestrator.clear_locks(['arm'], 'ann', 'looked')
    clock.run(1.0)
    assert reason(locked, 'g') == '' and reason(locked, 'h') is None
    assert [notes(locked, flow_id) for flow_id in 'gh'] == [
        [('blocked', TOLD)], [('blocked', TOLD), ('unblocked', '')]]


def test_action_that_waited_before_the_lock_is_noted(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(one(', resources: [arm]'))
    process.submit(one(', resources: [arm]'), 'g')
    clock.run(1.0)
    assert notes(process) == []
    process.orchestrator.cancel('f', 'ann', 'enough')
    clock.run(4.0)
    assert notes(process) == [('blocked', TOLD)]


def test_canceled_and_removed_actions_wait_no_longer(locked: Process, clock: Clock) -> None:
    locked.submit(one(', resources: [arm]'), 'g')
    locked.submit(one(', resources: [arm]'), 'h')
    clock.run(1.0)
    locked.orchestrator.cancel('g', 'ann', 'enough')
    locked.orchestrator.edit('h', parse_edit(
        f'- add: {{other: {{{MOTION}}}}}\n- remove: [pick]\n'), 'ben', 'not needed')
    clock.run(1.0)
    assert notes(locked) == [('blocked', TOLD)] and reason(locked) == ''
    assert notes(locked, 'h') == [('blocked', TOLD), ('unblocked', '')]
    assert reason(locked, 'h') is None


def test_edited_action_that_needs_no_locked_resource_starts(
    locked: Process, clock: Clock
) -> None:
    locked.submit(one(', resources: [arm]'), 'g')
    clock.run(1.0)
    locked.orchestrator.edit('g', parse_edit('- update: {pick: {resources: [leg]}}\n'), 'ben', '')
    clock.run(1.0)
    assert 'executing_motion' in states(locked) and reason(locked) == ''


def test_notes_that_the_journal_refuses_come_later_and_tell_what_is_so_then(
    locked: Process, clock: Clock
) -> None:
    for flow_id in 'gh':
        locked.submit(one(', resources: [arm]'), flow_id)
    with locked.full_disk(lambda entry: entry.event == 'blocked') as refused:
        clock.run(3.0)
        assert refused and notes(locked) == []
        locked.orchestrator.clear_locks(['arm'], 'ann', 'looked')
    clock.run(3.0)
    assert notes(locked, 'g') == notes(locked, 'h') == []


def test_many_actions_that_wait_are_noted_in_slices(locked: Process, clock: Clock) -> None:
    names = [f'a{number}' for number in range(250)]
    actions = '\n'.join(f'  {name}: {{{MOTION}, resources: [arm]}}' for name in names)
    locked.submit(f'flow: many\nactions:\n{actions}\n', 'g')
    clock.run(1.0)
    waiting = Projection(locked.journal, packaged_graph('action')).find(flow_id='g')
    assert {one.action_id for one in waiting if one.blocked_reason} == set(names)
    locked.orchestrator.clear_locks(['arm'], 'ann', 'looked')
    clock.run(5.0)
    waiting = Projection(locked.journal, packaged_graph('action')).find(flow_id='g')
    assert waiting and not any(one.blocked_reason for one in waiting)


@pytest.mark.parametrize('rows', range(1, 5))
def test_killed_after_any_row_the_journal_tells_what_waits(
    locked: Process, start: Start, clock: Clock, rows: int
) -> None:
    locked.die_after(rows)
    try:
        locked.submit(one(', resources: [arm]'), 'g')
        clock.run(1.0)
        locked.orchestrator.clear_locks(['arm'], 'ann', 'looked')
        clock.run(1.0)
        killed = False
    except Killed:
        killed = True
        locked, _ = restart(start, locked)
        clock.run(1.0)
    assert killed == (rows < 4)
    action = locked.orchestrator.runs['g'].actions[0]
    told = locked.orchestrator.locked_for(action)
    assert (reason(locked) or '') == (f'dependency: {told}' if told else '')
    locked.orchestrator.clear_locks(['arm'], 'ann', 'looked')
    clock.run(1.0)
    assert not reason(locked) and 'executing_motion' in states(locked)
