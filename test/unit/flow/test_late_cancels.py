# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cancels of actions that wait, that are between two runs, or that have ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_lifecycle.documents.errors import TransitionNotAllowed
from action_lifecycle.flow import parse_edit, parse_flow
from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.flow.files.edit import EditRefused
from action_lifecycle.journal import Entry
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
import pytest

from .robot import Clock, Killed, MOTION, one, Process, Robot, Start
from .scheduled import Life

TWO = f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'
UNTIL = one(', repeat: {until: z > 5, times: 3}')


def row(event: str, action_id: str = '') -> Callable[[Entry], bool]:
    """Return what matches the rows of an event, of one action or of all."""
    return lambda entry: entry.event == event and (
        not action_id or entry.action_id == action_id)


def cancel(process: Process, name: str) -> Any:
    return process.orchestrator.fire('f', name, 'cancel', actor='anna', cause='enough')


# Actions that wait

def test_a_canceled_action_whose_end_is_not_recorded_yet_does_not_start(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(TWO)
    clock.run(0.8)
    with process.full_disk(row('terminate', 'b')):
        cancel(process, 'b')
        clock.run(5.0)
        assert run.runners['a'].action.outcome is ActionOutcome.SUCCEEDED
        with pytest.raises(EditRefused, match="'b' has ended"):
            process.orchestrator.edit('f', parse_edit('- remove: [b]\n'), 'ben', 'x')
    clock.run()
    assert robot.executed('b') == 0
    assert run.runners['b'].action.outcome is ActionOutcome.CANCELED and run.ended


def test_an_action_past_its_deadline_whose_end_is_not_recorded_yet_does_not_start(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(TWO.replace('after: a', 'after: a, deadline: 1.0'))
    with process.full_disk(row('fail', 'b')):
        clock.run(5.0)
        assert run.runners['a'].action.outcome is ActionOutcome.SUCCEEDED
    clock.run()
    assert robot.executed('b') == 0
    assert run.runners['b'].action.error_code is ErrorCode.DEADLINE_EXCEEDED and run.ended


def test_a_skip_of_a_waiting_action_is_ordered_once(start: Start, clock: Clock) -> None:
    process = start()
    run = process.submit(TWO)
    clock.run(0.5)
    with process.full_disk(row('terminate', 'b')):
        assert process.orchestrator.control.skip('f', 'b', 'anna').seq
        assert process.orchestrator.control.skip('f', 'b', 'ben').seq == 0
        clock.run(5.0)
    clock.run()
    assert run.runners['b'].action.outcome is ActionOutcome.SKIPPED and run.state == 'FINISH'


# Actions between two runs

@pytest.mark.parametrize('killed', ['', 'cancel_action', 'reassign'])
def test_an_action_that_is_canceled_while_until_is_evaluated_does_not_run_again(
    start: Start, clock: Clock, robot: Robot, killed: str
) -> None:
    robot.by_hand.add('until')
    process = start()
    run = process.submit(UNTIL)
    clock.run(5.0)
    assert run.actions[0].state is ActionState.TERMINATED
    if killed:
        process.die_after(1 if killed == 'cancel_action' else 2)
        with pytest.raises(Killed):
            cancel(process, 'pick')
        assert list(process.journal.rows())[-1].event == killed
        process.kill()
        process = start()
        (run,) = process.orchestrator.restore()
    else:
        cancel(process, 'pick')
        assert robot.questions[-1].canceled
    clock.run(5.0)
    assert robot.executed('pick') == 1
    assert run.actions[0].outcome is ActionOutcome.CANCELED and run.ended


def test_an_action_that_is_canceled_before_its_next_run_is_recorded_does_not_run_again(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(one(', repeat: {times: 2}'))
    with process.full_disk(row('reassign')):
        clock.run(5.0)
        assert run.actions[0].state is ActionState.TERMINATED
        cancel(process, 'pick')
    clock.run()
    assert robot.executed('pick') == 1
    assert run.actions[0].outcome is ActionOutcome.CANCELED and run.ended


@pytest.mark.parametrize('killed', [False, True])
def test_an_action_that_is_canceled_when_it_is_completed_does_not_run_again(
    start: Start, clock: Clock, robot: Robot, killed: bool
) -> None:
    process = start()
    run = process.submit(one(', repeat: {times: 2}'))
    with process.full_disk(row('terminate')):
        while run.actions[0].state is not ActionState.COMPLETED:
            clock.run(0.1)
    if killed:
        process.die_after(2)
        with pytest.raises(Killed):
            cancel(process, 'pick')
        process.kill()
        process = start()
        (run,) = process.orchestrator.restore()
    else:
        cancel(process, 'pick')
    clock.run()
    assert robot.executed('pick') == 1
    assert run.actions[0].outcome is ActionOutcome.CANCELED and run.ended


SCHEDULED = ('flow: f\nactions:\n  pick:\n    motion: {server: arm, type: a/action/B}\n'
             '    confirm: z > 0\n    schedule: {every: 10, times: 3, clock: ros}\n')


@pytest.mark.parametrize('whole', [False, True])
def test_a_scheduled_action_that_is_canceled_before_its_next_run_is_recorded_ends(
    life: Life, clock: Clock, robot: Robot, whole: bool
) -> None:
    here = life()
    run = here.orchestrator.submit(parse_flow(SCHEDULED, 'f'), 'f')
    with here.process.full_disk(row('reassign')):
        clock.run(15.0)
        assert run.actions[0].state is ActionState.TERMINATED
        if whole:
            here.orchestrator.cancel('f', 'anna', 'enough')
        else:
            cancel(here.process, 'pick')
    clock.run(60.0)
    assert robot.executed('pick') == 1
    assert run.actions[0].outcome is ActionOutcome.CANCELED and run.ended
    assert not here.jobs.jobs and not here.process.journal.open_rows('job')


def test_a_scheduled_action_runs_again_after_a_kill_between_two_runs(
    life: Life, clock: Clock, robot: Robot
) -> None:
    here = life()
    here.orchestrator.submit(parse_flow(SCHEDULED, 'f'), 'f')
    with here.process.full_disk(row('reassign')):
        clock.run(12.0)
        assert here.orchestrator.runs['f'].actions[0].state is ActionState.TERMINATED
        here = life()
    clock.run(60.0)
    assert robot.executed('pick') == 3


# Actions that have ended

def test_the_cancel_of_an_action_that_has_ended_is_refused(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one())
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'anna')
    clock.run(5.0)
    rows = len(list(process.journal.rows()))
    with pytest.raises(TransitionNotAllowed, match='it has ended'):
        cancel(process, 'pick')
    assert len(list(process.journal.rows())) == rows
    assert run.actions[0].outcome is ActionOutcome.FAILED


def test_a_cancel_that_is_recorded_late_does_not_cancel_a_later_retry(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(TWO)
    process.orchestrator.control.pause('f', 'anna')
    with process.full_disk(row('cancel_action')):
        cancel(process, 'b')
        clock.run(0.5)
        assert run.runners['b'].action.outcome is ActionOutcome.CANCELED
    process.orchestrator.control.retry('f', 'b', 'anna')
    clock.run(5.0)
    process.orchestrator.control.resume('f', 'anna')
    clock.run(0.5)
    process.kill()
    process = start()
    (run,) = process.orchestrator.restore()
    clock.run()
    assert run.state == 'FINISH' and robot.executed('b') == 1


def test_a_retry_after_the_cancel_of_an_ended_action_in_an_older_journal_is_not_canceled(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    process.submit(one())
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'anna')
    clock.run(5.0)
    process.orchestrator.recorder.note('f', 'cancel_action', {'action': 'pick'}, 'anna', 'x')
    process.orchestrator.control.retry('f', 'pick', 'anna')
    clock.run(0.5)
    process.kill()
    process = start()
    (run,) = process.orchestrator.restore()
    process.orchestrator.control.resume('f', 'anna')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('pick') == 2


def test_an_action_that_is_being_canceled_is_not_retried(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one(', retry: {times: 1, delay: 5.0, jitter: 0}'))
    while run.actions[0].state is not ActionState.ERROR:
        clock.run(0.1)
    with process.full_disk(row('terminate')):
        cancel(process, 'pick')
        with pytest.raises(OrderRefused, match='it is being canceled'):
            process.orchestrator.control.retry('f', 'pick', 'ben')
        with pytest.raises(TransitionNotAllowed, match='it is being canceled'):
            process.orchestrator.fire('f', 'pick', 'retry', actor='ben')
    clock.run()
    assert robot.executed('pick') == 1
    assert run.actions[0].outcome is ActionOutcome.CANCELED
