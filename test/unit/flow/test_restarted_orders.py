# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Orders that a kill has interrupted, and deadlines at a shutdown."""

from __future__ import annotations

from action_lifecycle.flow import parse_edit
from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState
import pytest

from .kills import restart
from .robot import Clock, Killed, MOTION, one, Robot, Start

NESTED = ('flow: f\nactions:\n  outer:\n    resources: [arm]\n    deadline: 2.0\n    flow:\n'
          f'      flow:\n        flow: inner\n        actions:\n          a: {{{MOTION}}}\n'
          f'          b: {{after: a, {MOTION}}}\n')


# Orders to an action after an error

def test_a_retry_that_waits_for_the_resume_of_its_flow_is_not_lost_by_a_kill(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one(', fallback: ask'))
    clock.run(0.5)
    control = process.orchestrator.control
    control.pause('f', 'anna')
    clock.run(10.0)
    assert run.actions[0].state is ActionState.ERROR
    control.retry('f', 'pick', 'anna')
    process.die_after(1)
    with pytest.raises(Killed):
        control.resume('f', 'anna')
    process, (run,) = restart(start, process)
    clock.run()
    assert run.state == 'FINISH' and robot.executed('pick') == 2


@pytest.mark.parametrize('order, outcome', [
    ('skip', ActionOutcome.SKIPPED), ('cancel', ActionOutcome.CANCELED),
    ('cancel of the flow', ActionOutcome.CANCELED)])
def test_an_order_goes_before_the_end_of_an_action_that_could_not_be_recorded(
    start: Start, clock: Clock, robot: Robot, order: str, outcome: ActionOutcome
) -> None:
    """The process is killed when the order is recorded."""
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(one(', resources: [arm]'))
    with process.full_disk(lambda entry: entry.event == 'terminate'):
        clock.run(3.5)
    assert run.actions[0].state is ActionState.ERROR
    orchestrator = process.orchestrator
    process.die_after(1)
    with pytest.raises(Killed):
        if order == 'skip':
            orchestrator.control.skip('f', 'pick', 'anna')
        elif order == 'cancel':
            orchestrator.fire('f', 'pick', 'cancel', actor='anna', cause='enough')
        else:
            orchestrator.cancel('f', 'anna', 'enough')
    process, (run,) = restart(start, process)
    clock.run()
    assert run.ended and run.actions[0].outcome is outcome
    assert robot.executed('pick') == 1
    assert process.orchestrator.resources.free('arm')


def test_a_retry_waits_until_a_skip_is_recorded(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    process.submit(one(', retry: {times: 1, delay: 5.0, jitter: 0}')
                   + f'  more: {{{MOTION}, after: {{pick: completion}}, require: z > 0}}\n')
    clock.run(1.5)
    robot.by_hand.update(['motion', 'require'])
    control = process.orchestrator.control
    with process.full_disk(lambda entry: entry.event == 'terminate'):
        control.skip('f', 'pick', 'anna')
        with pytest.raises(OrderRefused, match='is being recorded'):
            control.retry('f', 'pick', 'anna')
    clock.run(2.0)
    control.retry('f', 'pick', 'anna')
    clock.run(0.5)
    process, (run,) = restart(start, process)
    clock.run(0.5)
    assert run.runners['pick'].action.state is ActionState.EXECUTING_MOTION
    assert not robot.motions[-1].canceled
    robot.motions[-1].end()
    robot.by_hand.clear()
    [asked for asked in robot.questions if asked.request.name == 'require'][-1].answer('confirmed')
    clock.run()
    assert run.state == 'FINISH' and not run.waived


def test_an_edit_removes_an_action_that_a_retry_has_freed(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n')
    with process.full_disk(lambda entry: entry.action_id == 'b'):
        while run.runners['b'].action.cause or not run.dependencies.is_doomed('b'):
            clock.run(0.1)
        process.orchestrator.control.pause('f', 'anna')
        process.orchestrator.control.retry('f', 'a', 'anna')
    process.orchestrator.edit('f', parse_edit('- remove: [b]\n'), 'ben', 'x')
    process, (run,) = restart(start, process)
    process.orchestrator.control.resume('f', 'anna')
    clock.run()
    assert run.state == 'FINISH' and set(run.runners) == {'a'}


# Shutdown

def test_a_deadline_that_passes_at_a_shutdown_applies_after_the_restart(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(one(), 'slow')
    process.submit(NESTED)
    clock.run(1.9)
    process.orchestrator.halt(lambda: None)
    robot.motions[1].end('canceled')
    clock.run(0.2)
    robot.motions[0].end('canceled')
    process.kill()
    process = start()
    process.orchestrator.restore()
    runs = process.orchestrator.runs
    assert set(runs) == {'slow', 'f', 'f/outer'} and not process.desk.open
    clock.run(0.5)
    robot.motions[-1].end('canceled')
    clock.run(5.0)
    assert runs['f'].ended and 'f/outer' not in runs
    assert not runs['slow'].ended
