# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Restarts on a journal whose rows were altered, lost, or hold what no flow can be made of."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

from action_lifecycle.journal import Entry, Row
from action_lifecycle.lifecycle.ports import WorkResult
from action_lifecycle.lifecycle.states import ActionState
import pytest

from .robot import Clock, one, Process, Robot, Start

COLUMNS = [name for name in Row._fields if name != 'seq']
FLOW = one(', resources: [arm], parameters: {x: 0.25}')


def crash_in_motion(start: Start, clock: Clock, robot: Robot) -> Process:
    """Return the process that died while the motion of flow f was executed."""
    robot.by_hand.add('motion')
    process = start()
    process.submit(FLOW)
    clock.run(1.0)
    assert len(robot.motions) == 1
    process.kill()
    return process


def change(process: Process, sql: str, *values: Any) -> None:
    with contextlib.closing(sqlite3.connect(process.journal.path)) as connection:
        assert connection.execute(sql, values).rowcount == 1
        connection.commit()


def alter(process: Process, seq: int, column: str, value: Any) -> None:
    change(process, f'UPDATE entry SET {column} = ? WHERE seq = ?', value, seq)


def replace(process: Process, old: str, new: str, event: str) -> None:
    change(process, 'UPDATE entry SET data_json = replace(data_json, ?, ?) WHERE event = ? '
           'AND data_json LIKE ?', old, new, event, f'%{old}%')


def restart(start: Start, clock: Clock, seconds: float = 1000.0) -> Process:
    process = start()
    process.orchestrator.restore()
    clock.run(seconds)
    return process


def question(process: Process) -> Any:
    (request,) = process.desk.open.values()
    return request


@pytest.mark.parametrize(('old', 'new', 'event'), [
    ('0.25', '9.25', 'accepted'), ('"arm"', '"leg"', 'start'),
    ('"goal_id":"', '"goal_id":"f', 'execute')],
    ids=['parameter', 'resource', 'goal id'])
def test_a_flow_with_an_altered_row_moves_nothing_and_is_asked_about(
    start: Start, clock: Clock, robot: Robot, old: str, new: str, event: str
) -> None:
    replace(crash_in_motion(start, clock, robot), old, new, event)
    process = restart(start, clock)
    assert len(robot.motions) == 1  # neither sent again nor followed
    request = question(process)
    assert (request.question.flow_id, request.question.options) == ('f', ('give_up',))
    assert 'damaged' in request.question.text and 'pick' in request.question.text
    assert '*' in process.orchestrator.resources.locked
    process.submit(FLOW, 'next')
    clock.run()
    assert len(robot.motions) == 1


def test_a_given_up_flow_stays_ended_and_its_resources_stay_locked(
    start: Start, clock: Clock, robot: Robot
) -> None:
    replace(crash_in_motion(start, clock, robot), '0.25', '9.25', 'accepted')
    process = restart(start, clock)
    process.desk.respond(question(process).id, 'give_up', 'ann')
    rows = list(process.journal.rows(flow_id='f'))
    assert (rows[-1].kind, rows[-1].to_state, rows[-1].final, rows[-1].actor) == \
        ('flow', 'FAIL', True, 'ann')
    assert not process.journal.open_actions()
    process.kill()
    process = restart(start, clock)
    assert not process.desk.open and not process.orchestrator.runs
    assert set(process.orchestrator.resources.locked) == {'*', 'arm'}
    process.orchestrator.clear_locks(['*', 'arm'], 'ann', 'has looked')
    process.kill()
    robot.by_hand.clear()
    process = restart(start, clock)  # the damage is known by now
    assert not process.orchestrator.resources.locked
    process.submit(FLOW, 'next')
    clock.run()
    assert process.orchestrator.runs['next'].state == 'FINISH'


def test_a_flow_that_began_after_the_damage_was_told_of_is_resumed(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(FLOW)
    clock.run()
    process.kill()
    replace(process, '0.25', '9.25', 'accepted')
    process = restart(start, clock)
    assert not process.desk.open and list(process.orchestrator.resources.locked) == ['*']
    process.orchestrator.clear_locks(['*'], 'ann', 'has looked')
    robot.by_hand.add('motion')
    process.submit(FLOW, 'next')
    clock.run(1.0)
    process.kill()
    restart(start, clock, 0.0)
    assert robot.motions[-1].request.resume and robot.motions[-1].request.flow_id == 'next'


def test_the_question_about_a_flow_keeps_its_id_and_its_answer_over_restarts(
    start: Start, clock: Clock, robot: Robot
) -> None:
    replace(crash_in_motion(start, clock, robot), '0.25', '9.25', 'accepted')
    process = restart(start, clock)
    first = question(process).id
    process.kill()
    process = restart(start, clock)
    assert question(process).id == first
    with process.full_disk(lambda entry: entry.kind != 'note'):
        process.desk.respond(first, 'give_up', 'ann')
    process.kill()  # the answer is recorded, what follows from it is not
    process = restart(start, clock)
    assert not process.desk.open and not process.journal.open_flows()


@pytest.mark.parametrize('column', COLUMNS)
@pytest.mark.parametrize('seq', range(1, 5))
def test_whichever_field_of_whichever_row_is_altered_nothing_moves_until_a_person_has_looked(
    start: Start, clock: Clock, robot: Robot, column: str, seq: int
) -> None:
    process = crash_in_motion(start, clock, robot)
    with contextlib.closing(sqlite3.connect(process.journal.path)) as connection:
        (before,), = connection.execute(f'SELECT {column} FROM entry WHERE seq = ?', (seq,))
    alter(process, seq, column, f'{before}x' if isinstance(before, str) else (before or 0) + 1)
    process = restart(start, clock)
    assert len(robot.motions) == 1
    assert '*' in process.orchestrator.resources.locked
    process.submit(FLOW, 'next')
    clock.run()
    assert len(robot.motions) == 1


def test_a_lost_row_is_damage(start: Start, clock: Clock, robot: Robot) -> None:
    process = crash_in_motion(start, clock, robot)
    change(process, "DELETE FROM entry WHERE event = 'start'")
    process = restart(start, clock)
    assert len(robot.motions) == 1 and question(process).question.flow_id == 'f'


def test_an_intact_row_that_no_action_can_be_made_of_sets_the_flow_aside(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(one(', resources: [arm], require: z > 0'))
    process.journal.append(Entry(  # of a version that calls it otherwise
        kind='transition', flow_id='f', action_id='pick', attempt=1, event='execute',
        from_state='in_progress', to_state='executing_motion', data={'goal': 'a'}))
    process.kill()
    process = restart(start, clock)
    assert not robot.motions and 'goal_id' in question(process).question.text
    assert set(process.orchestrator.resources.locked) == {'arm'}
    robot.by_hand.clear()
    process.submit(one(', resources: [leg]'), 'next')
    clock.run()
    assert process.orchestrator.runs['next'].state == 'FINISH'


def test_resources_that_can_not_be_read_lock_everything(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(one(', resources: [arm], require: z > 0'))
    for event, to_state, data in (('start', 'in_progress', {'resources': 1.5}),
                                  ('execute', 'executing_motion', {'goal': 'a'})):
        process.journal.append(Entry(
            kind='transition', flow_id='f', action_id='pick', attempt=1, event=event,
            from_state='in_progress', to_state=to_state, data=data))
    process.kill()
    process = restart(start, clock)
    assert not robot.motions and question(process)
    assert '*' in process.orchestrator.resources.locked


def test_a_flow_that_fails_when_it_is_resumed_stops_what_it_has_taken_up(
    start: Start, clock: Clock, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_in_motion(start, clock, robot)
    process = start()

    def fail(*_: object) -> None:
        raise KeyError('began')

    process.orchestrator.begin = fail  # type: ignore[method-assign,assignment]
    assert not process.orchestrator.restore()
    followed = robot.motions[-1]
    assert followed.request.resume and followed.canceled
    followed.result(WorkResult('canceled', clock.time))
    assert question(process).question.flow_id == 'f'
    assert process.orchestrator.resources.locked['arm']
    assert not process.orchestrator.runs
    rows = list(process.journal.rows(flow_id='f', kind='transition'))
    assert rows[-1].to_state == ActionState.EXECUTING_MOTION


def test_a_damaged_lock_is_not_forgotten(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    process.orchestrator.recorder.lock('arm', 'it may still move', {})
    process.submit(FLOW, 'later')  # rows of after it: the last one is the writer's own to judge
    process.kill()
    alter(process, 1, 'final', 1)
    process = restart(start, clock, 0.0)
    process.submit(FLOW, 'next')
    clock.run()
    assert robot.executed('pick') <= 1  # of the flow of before the damage was found
    assert not any(motion.request.flow_id == 'next' for motion in robot.motions)


def test_a_lock_with_another_name_locks_everything_but_not_that(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.orchestrator.recorder.lock('arm', 'it may still move', {})
    process.kill()
    alter(process, 1, 'action_id', 'leg')
    process = restart(start, clock, 0.0)
    assert list(process.orchestrator.resources.locked) == ['*']
