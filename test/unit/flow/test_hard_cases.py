# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Crash, cancel, refusal and strange input together: nothing moves unseen, nothing hangs."""

from __future__ import annotations

from collections.abc import Callable
import math

from action_lifecycle.documents.errors import DocumentError, TransitionNotAllowed
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.files import journaled
from action_lifecycle.lifecycle.ports import Confirmation
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
import pytest

from .kills import restart
from .robot import Clock, Robot, Start


def flow(*actions: str) -> str:
    return 'flow: f\nactions:\n' + ''.join(
        f'  {name}: {{motion: {{server: s, type: a/action/B}}, confirm: z > 0{extra}}}\n'
        for name, _, extra in (action.partition(';') for action in actions))


@pytest.mark.parametrize('event', ['fail', 'start', 'execute', 'motion_done', 'confirmed'])
def test_what_only_the_world_knows_can_not_be_fired_from_outside(
    start: Start, clock: Clock, robot: Robot, event: str
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(flow('a;, resources: [arm]', 'b;, after: a, resources: [arm]'))
    clock.run(1.0)
    for name in ('a', 'b'):
        with pytest.raises(TransitionNotAllowed):
            process.orchestrator.fire('f', name, event, actor='bob', evidence=[{}], ended=0.0)
    clock.run(5.0)
    assert [motion.request.action_id for motion in robot.motions] == ['a']


def test_nobody_verifies_what_no_sensor_has_confirmed(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('confirm')
    process = start()
    process.submit('flow: f\nactions:\n  a: {confirm: z > 0}\n')
    clock.run(1.0)
    with pytest.raises(TransitionNotAllowed, match='the sensors have not confirmed'):
        process.orchestrator.fire('f', 'a', 'verified', actor='bob')
    assert 'completed' not in process.states('a')


def test_evidence_that_the_journal_does_not_take_is_an_error_not_a_hang(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('confirm')
    run = start().submit(flow('a'))
    clock.run(2.0)
    robot.questions[-1].result(Confirmation('confirmed', [{'numbers': [math.inf]}]))
    clock.run(60.0)
    assert run.actions[0].error_code is ErrorCode.INTERNAL
    assert run.actions[0].outcome is ActionOutcome.FAILED


def test_a_cancel_survives_a_crash(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(flow('a;, idempotent: true'))
    clock.run(1.0)
    process.orchestrator.fire('f', 'a', 'cancel', actor='ann', cause='enough')
    process, (run,) = restart(start, process)
    assert robot.motions[-1].request.resume and robot.motions[-1].canceled
    robot.motions[-1].end('canceled')
    clock.run(60.0)
    assert run.actions[0].outcome is ActionOutcome.CANCELED
    assert robot.executed('a') == 1


def test_a_cancel_while_the_end_of_the_motion_is_being_recorded_counts(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(flow('a'))
    clock.run(0.5)
    with process.full_disk():
        clock.run(2.0)
        process.orchestrator.cancel('f', 'ann', 'enough')
    clock.run(60.0)
    assert run.actions[0].outcome is ActionOutcome.CANCELED


def test_a_cancel_stops_the_motion_even_when_it_can_not_be_recorded(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(flow('a'))
    clock.run(1.0)
    with process.full_disk():
        process.orchestrator.cancel('f', 'ann', 'enough')
    assert robot.motions[0].canceled


def test_canceled_before_the_goal_has_left_nothing_is_waited_for(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.orchestrator.recorder.synced = lambda callback: None  # type: ignore[method-assign]
    run = process.submit(flow('a'))
    clock.run(1.0)
    assert run.actions[0].state is ActionState.EXECUTING_MOTION and not robot.motions
    process.orchestrator.cancel('f', 'ann', 'enough')
    clock.run(1.0)
    assert run.actions[0].outcome is ActionOutcome.CANCELED


def test_a_time_limit_counts_from_the_start_of_the_attempt_across_a_restart(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand |= {'motion', 'confirm'}
    process = start()
    process.submit(flow('a;, timeout: 100'))
    clock.run(60.0)
    robot.motions[0].end()
    clock.run(10.0)
    process, (run,) = restart(start, process)
    clock.run(31.0)
    assert run.actions[0].error_code is ErrorCode.DEADLINE_EXCEEDED


def test_a_flow_that_can_not_be_read_back_keeps_its_resources(
    start: Start, clock: Clock, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(flow('a;, resources: [arm]'))
    clock.run(1.0)
    process.kill()
    process = start()

    def refuse(*arguments: object) -> None:
        raise DocumentError([])

    with monkeypatch.context() as patch:
        patch.setattr(journaled, 'parse_flow', refuse)
        process.orchestrator.restore()
    process.submit(flow('b;, resources: [arm]'), 'g')
    clock.run(5.0)
    assert 'arm' in process.orchestrator.resources.locked
    assert [motion.request.action_id for motion in robot.motions] == ['a']


def test_parameters_from_outside_that_do_not_fit_are_refused(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    process.submit('flow: f\nactions:\n  a:\n    parameters: {limit: 5}\n'
                   "    timeout: '{{ limit }}'\n    confirm: z > 0\n    fallback: [ask]\n")
    clock.run(5.0)
    with pytest.raises(DocumentError):
        process.orchestrator.fire('f', 'a', 'receive_fallback', actor='bob', strategy='retry',
                                  next_fallback=1, parameters={'limit': 'much'})
    process.kill()
    assert start().orchestrator.restore()


@pytest.mark.parametrize(('text', 'message'), [
    (flow('a').replace('z > 0', '1 < 2'), "'confirm' reads no fact"),
    ("flow: f\nactions:\n  a:\n    parameters: {side: left}\n    resources: ['{{ side }}']\n"
     '    confirm: z > 0\n    fallback: [{strategy: retry, parameters: {side: right}}]\n',
     'can not change the resources'),
])
def test_flows_that_could_pass_unseen_or_take_two_arms_are_refused(
    text: str, message: str
) -> None:
    with pytest.raises(DocumentError, match=message):
        parse_flow(text, 'f.yaml')


def test_what_follows_an_end_starts_at_once_and_the_flow_ends_when_all_ends_are_durable(
    start: Start, clock: Clock
) -> None:
    process = start()
    waiting: list[Callable[[], None]] = []
    process.orchestrator.recorder.synced = waiting.append  # type: ignore[method-assign]
    run = process.submit('flow: f\nactions:\n  a: {confirm: z > 0}\n'
                         '  b: {confirm: z > 0, after: a}\n')
    clock.run(10.0)
    assert all(action.outcome is ActionOutcome.SUCCEEDED for action in run.actions)
    assert run.state == 'CONTINUE' and not run.ended
    while waiting:
        waiting.pop()()
        clock.run(1.0)
    assert run.state == 'FINISH'
