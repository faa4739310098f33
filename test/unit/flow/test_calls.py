# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Calls and publications in flows: their files, lost answers, interruptions, repetitions."""

from __future__ import annotations

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.documents.models import as_written
from action_lifecycle.flow import parse_flow
from action_lifecycle.lifecycle.ports import MotionStep
from action_lifecycle.lifecycle.states import ActionOutcome, ErrorCode
from action_lifecycle.work.bridge_work import work_of_step
from hypothesis import given
from hypothesis import strategies as st
import pytest

from .kills import restart
from .robot import Clock, Killed, Process, Robot, Start

SWITCH = 'call: {service: vacuum/switch, type: std_srvs/srv/SetBool, request: {data: true}, ' \
         'physical: true}'
ASK = 'call: {service: camera/look, type: std_srvs/srv/Trigger}'
DRIVE = 'publish: {topic: cmd_vel, type: geometry_msgs/msg/Twist, message: {linear: {x: 0.2}}, ' \
        'rate: 20, until: z > 1, within: 5, finally: {}, physical: true}'
LOST = {'error_msg': "service '/vacuum/switch' does not answer within 10 s; it may have been "
        'carried out'}


def flow(action: str) -> str:
    return f'flow: f\nactions:\n  a: {{{action}}}\n'


@pytest.mark.parametrize(('action', 'fault'), [
    ('call: {service: s, type: t, succes: x}', "unknown field 'succes'; did you mean 'success'?"),
    ('call: {service: s}', "missing field 'type'"),
    ('call: {service: s, type: t, timeout: 0}', 'expected more than 0, got 0'),
    ("call: {service: s, type: t, success: 'a ='}",
     "f.yaml:3:35: action 'a', call: success 'a =', character 3: "),
    ("call: {service: s, type: t, success: 'status.code'}", ''),
    ("call: {service: s, type: t, success: 'status.code + 1'}", 'expected something true or'),
    ("call: {service: s, type: t, success: 'f(x).y == 1'}", 'is not allowed'),
    ('call: {service: s, type: t, request: {x: {fact: gap}}}',
     "f.yaml:3:35: action 'a', call: {fact: …} and {expr: …} are for physical work"),
    ('call: {service: s, type: t, physical: true}', "has no 'confirm'"),
    ('publish: {topic: s, type: t, rate: 5}', "a publication at a rate needs 'until'"),
    ('publish: {topic: s, type: t, until: z > 1}', "'until' needs a 'rate' greater than 0"),
    ('publish: {topic: s, type: t, rate: 500, until: z > 1}', 'expected at most 200, got 500'),
    ('publish: {topic: s, type: t, rate: 5, until: z >}', 'until'),
    ('publish: {topic: s, type: t, rate: 5, until: z > 1, hold: 3, within: 2}',
     'hold 3.0 is longer than within 2.0'),
    ('publish: {topic: s, type: t, finally: {x: {fact: z}}}', 'have no value after a crash'),
    ('publish: {topic: s, type: t, qos: {reliability: besteffort}}', "did you mean 'best_effort'"),
    ('publish: {topic: s, type: t, rate: 5, until: z > 1, physical: true}, confirm: z > 1',
     "it needs 'finally', or the action needs 'stopped'"),
    ('publish: {topic: s, type: t, message: {x: .nan}}', 'expected a finite number, got nan'),
    ('publish: {topic: s, type: t, finally: {x: .inf}}', "field 'finally.x': expected a finite"),
])
def test_a_fault_of_a_file_names_its_place(action: str, fault: str) -> None:
    if not fault:
        parse_flow(flow(action), 'f.yaml')
        return
    with pytest.raises(DocumentError) as error:
        parse_flow(flow(action), 'f.yaml')
    assert fault in str(error.value)


@pytest.mark.parametrize('action', [
    f'{SWITCH}, confirm: z > 1', ASK, f'{DRIVE}, confirm: z > 1',
    'publish: {topic: s, type: t, rate: 5, until: z > 1, physical: true}, confirm: z > 1, '
    'stopped: z > 0',
    f'steps: [{{{SWITCH}}}, {{motion: {{server: a, type: b}}}}, {{{ASK}}}], confirm: z > 1'])
def test_steps_become_those_of_the_bridge_and_come_back(action: str) -> None:
    spec = parse_flow(flow(action), 'f.yaml').actions['a']
    for step in spec.steps:
        assert as_written(work_of_step(step.bridge_step())) | as_written(step) == as_written(
            work_of_step(step.bridge_step()))


def test_only_motions_in_a_row_share_a_request(start: Start, clock: Clock, robot: Robot) -> None:
    run = start().submit(flow(
        f'steps: [{{motion: {{server: a, type: b}}}}, {{motion: {{server: c, type: b}}}}, '
        f'{{{SWITCH}}}, {{{SWITCH}}}, {{{DRIVE}}}, {{{ASK}}}, {{motion: {{server: d, type: b}}}}'
        '], confirm: z > 1'))
    clock.run()
    assert [[step.server for step in motion.request.steps] for motion in robot.motions] == [
        ['a', 'c'], ['vacuum/switch'], ['vacuum/switch'], ['cmd_vel'], ['d']]
    assert [work.spec.name for work in robot.works] == ['camera/look']
    assert run.state == 'FINISH'


def lost(robot: Robot, clock: Clock) -> None:
    """Lose the answer of the call that is under way."""
    clock.run(1.0)
    under_way = robot.motions or robot.works
    under_way[-1].end('not_running', ErrorCode.MOTION_TIMEOUT, **LOST)
    clock.run(1000.0)


@pytest.mark.parametrize('work', [SWITCH, ASK])
def test_an_answer_that_is_lost_is_no_failure_if_the_sensors_show_the_outcome(
    start: Start, clock: Clock, robot: Robot, work: str
) -> None:
    robot.by_hand |= {'motion', 'call'}
    run = start().submit(flow(f'{work}, confirm: z > 1, retry: {{times: 3}}'))
    lost(robot, clock)
    assert run.state == 'FINISH' and len(robot.motions) + len(robot.works) == 1


@pytest.mark.parametrize('work', [SWITCH, ASK])
@pytest.mark.parametrize(('policy', 'calls'), [
    ('', 1), (', on_resume: ask', 1), (', on_resume: confirm', 1), (', idempotent: true', 3),
    (', on_resume: retry', 3), (', idempotent: true, on_resume: confirm', 1)])
def test_an_answer_that_is_lost_is_repeated_only_if_that_does_no_harm(
    start: Start, clock: Clock, robot: Robot, work: str, policy: str, calls: int
) -> None:
    robot.by_hand |= {'motion', 'call'}
    robot.verdicts['a', 'confirm'] = ['refuted'] * 5
    run = start().submit(flow(f'{work}, confirm: z > 1, retry: {{times: 2}}{policy}'))
    for _ in range(calls):
        lost(robot, clock)
    action = run.actions[0]
    assert len(robot.motions) + len(robot.works) == calls
    assert (action.outcome, action.error_code) == (
        ActionOutcome.FAILED, ErrorCode.MOTION_TIMEOUT)
    assert 'it may have been carried out; its outcome is not confirmed: ' in action.error_msg


def test_a_call_without_sensors_whose_answer_is_lost_is_not_repeated(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('call')
    run = start().submit(flow(f'{ASK}, retry: {{times: 3}}'))
    lost(robot, clock)
    assert run.actions[0].error_code is ErrorCode.MOTION_TIMEOUT and len(robot.works) == 1


def test_another_strategy_follows_a_lost_answer(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('motion')
    robot.verdicts['a', 'confirm'] = ['refuted']
    run = start().submit(flow(
        f'{SWITCH}, confirm: z > 1, retry: {{times: 3}}, fallback: [{{{ASK}, confirm: z > 1}}]'))
    lost(robot, clock)
    assert run.state == 'FINISH' and len(robot.motions) == 1
    assert [work.spec.name for work in robot.works] == ['camera/look']


def test_a_lost_answer_survives_a_restart_while_the_sensors_are_asked(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand |= {'motion', 'confirm'}
    process = start()
    process.submit(flow(f'{SWITCH}, confirm: z > 1, retry: {{times: 3}}'))
    lost(robot, clock)
    process, (run,) = restart(start, process)
    clock.run(1.0)
    robot.questions[-1].answer('refuted')
    clock.run()
    action = run.actions[0]
    assert (action.error_code, len(robot.motions)) == (ErrorCode.MOTION_TIMEOUT, 1)
    assert action.outcome is ActionOutcome.FAILED


@pytest.mark.parametrize('work', [SWITCH, ASK, DRIVE])
def test_after_a_crash_the_sensors_are_asked_and_nothing_is_sent_again(
    start: Start, clock: Clock, robot: Robot, work: str
) -> None:
    robot.by_hand |= {'motion', 'call'}
    process = start()
    process.submit(flow(f'{work}, confirm: z > 1'))
    clock.run(1.0)
    process, (run,) = restart(start, process)
    clock.run(1.0)
    (robot.motions or robot.works)[-1].end('not_running')
    clock.run()
    assert run.state == 'FINISH'
    assert [motion.request.resume for motion in robot.motions] in ([], [False, True])
    assert [one.resumed for one in robot.works] in ([], [False, True])


@given(rows=st.integers(1, 40), policy=st.sampled_from(['confirm', 'ask']),
       order=st.permutations([SWITCH, ASK, DRIVE, SWITCH]))
def test_killed_at_any_row_nothing_is_sent_twice(
    tmp_path_factory: pytest.TempPathFactory, rows: int, policy: str, order: list[str]
) -> None:
    clock = Clock()
    robot = Robot(clock)
    path = tmp_path_factory.mktemp('journal') / 'journal'

    def start() -> Process:
        return Process(path, clock, robot)

    process = start()
    process.die_after(rows)
    steps = ', '.join(f'{{{step}}}' for step in order)
    try:
        process.submit(flow(f'steps: [{steps}], confirm: z > 1, on_resume: {policy}'))
        clock.run()
    except Killed:
        pass
    process, _ = restart(start, process)
    clock.run()
    sent = [motion.request.goal_id for motion in robot.motions if not motion.request.resume] + [
        work.request.id for work in robot.works if not work.resumed]
    assert len(sent) == len(set(sent)) <= 4
    process.kill()


def test_a_step_of_an_unknown_kind_is_refused() -> None:
    from action_lifecycle.documents.errors import LifecycleError
    with pytest.raises(LifecycleError, match='no kind of work'):
        work_of_step(MotionStep('s', 't', {}, 1.0, 1.0, 'nonsense'))
