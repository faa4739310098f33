# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What flows do on scripted robots: each lie of a server, each event, each kind of work."""

from __future__ import annotations

from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_flow
from action_lifecycle.testing import Behaviour, Event, Ramp, RobotScript, ScriptedRobot
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .scripted import CALL, FACTS, GO, MOVE, RATE, run, STILL


@pytest.mark.parametrize(('server', 'outcome', 'error'), [
    (GO, 'succeeded', 'NONE'),
    (Behaviour(takes=4.0), 'failed', 'REFUTED'),
    (Behaviour(result='aborted', text='no path'), 'failed', 'MOTION_ABORTED'),
    (Behaviour(result='canceled'), 'failed', 'MOTION_CANCELED'),
    (Behaviour(result='rejected'), 'failed', 'GOAL_REJECTED'),
    (Behaviour(result='missing'), 'failed', 'SERVER_MISSING'),
    (Behaviour(result='none'), 'failed', 'STOP_UNCONFIRMED'),
    (Behaviour(result='none', on_cancel='stops'), 'failed', 'MOTION_TIMEOUT'),
    (Behaviour(result='none', on_cancel='ignores', during={'speed': 0.1}), 'failed',
     'STOP_UNCONFIRMED'),
    (Behaviour(takes=4.0, during={'x': Ramp(to=1.0)}, after={'x': 0.2}), 'failed', 'REFUTED'),
    (Behaviour(takes=1.0, during={'x': Ramp(to=1.0, over=2.5)}), 'failed', 'REFUTED'),
    (Behaviour(takes=2.0, after={'x': None}), 'failed', 'CONFIRM_STALE'),
])
def test_the_end_of_a_motion_is_what_sensors_say(
    server: Behaviour, outcome: str, error: str
) -> None:
    report, robot = run(MOVE, servers={'arm': server})
    action = report.actions['move']
    assert (action.outcome, action.error) == (outcome, error)
    assert report.outcome == outcome
    assert len(robot.servers.goals) == (server.result != 'missing')
    assert ('completed' in action.states) is (outcome == 'succeeded')


def test_time_and_goals_are_those_of_the_script() -> None:
    report, _ = run(MOVE, servers={'arm': GO})
    assert 4.2 < report.duration < 4.6
    (sent,) = report.goals
    assert sent.server == 'arm' and sent.goal == {'x': 1.0} and sent.at == 0.0


def test_each_goal_of_a_list_has_its_behaviour_and_the_last_one_stays() -> None:
    text = MOVE.replace('timeout: 20}', 'timeout: 20}\n    retry: {times: 3, delay: 0.1}')
    report, robot = run(text, servers={'arm': [
        Behaviour(result='aborted'), Behaviour(takes=1.0), GO]})
    assert report.outcome == 'succeeded'
    assert report.actions['move'].attempts == robot.servers.count('arm') == 3


def test_an_unhealthy_fact_is_unknown() -> None:
    text = MOVE.replace('x > 0.9', 'twin > 0.9')
    good = Behaviour(takes=4.0, during={'x': Ramp(to=1.0), 'twin': Ramp(to=1.0)})
    facts = {**STILL, 'twin': 0.0}
    assert run(text, facts, servers={'arm': good})[0].outcome == 'succeeded'
    bad = Behaviour(takes=4.0, during={'x': Ramp(to=0.5), 'twin': Ramp(to=1.0)})
    assert run(text, facts, servers={'arm': bad})[0].outcome == 'failed'


def test_maintain_stops_the_motion_where_it_is() -> None:
    text = MOVE.replace('    stopped', '    maintain: lamp == false\n    stopped')
    report, robot = run(text, servers={'arm': GO}, events=[Event(at=2.0, facts={'lamp': True})])
    assert report.actions['move'].error == 'MAINTAIN_VIOLATED'
    assert 0.5 < robot.signals.value('x', robot.clock.time) < 0.6
    assert robot.signals.value('speed', robot.clock.time) == 0.0


@pytest.mark.parametrize(('released', 'outcome', 'codes', 'sent'), [
    (2.5, 'succeeded', ['ESTOP'], 2), (100.0, 'failed', ['ESTOP', 'ESTOP'], 1)])
def test_an_estop_stops_and_refuses_until_it_is_cleared(
    released: float, outcome: str, codes: list[str], sent: int
) -> None:
    text = MOVE + '    fallback: [{strategy: ask, question: Again?}]\n'
    report, robot = run(text, servers={'arm': GO}, answers={'move': ['retry']}, events=[
        Event(at=2.0, estop=True), Event(at=released, estop=False)])
    assert report.outcome == outcome and robot.servers.count('arm') == sent
    assert codes == [row.data['error_code'] for row in report.rows
                     if row.event == 'fail' and row.action_id == 'move']


def test_a_person_cancels() -> None:
    report, _ = run(MOVE, servers={'arm': GO}, events=[Event(at=2.0, cancel=True)])
    assert (report.outcome, report.actions['move'].outcome) == ('canceled', 'canceled')
    assert 2.0 < report.duration < 2.5


def test_a_question_that_nobody_answers_leaves_the_flow_open() -> None:
    text = MOVE + '    fallback: [{strategy: ask, question: Again?}]\n'
    report, _ = run(text, servers={'arm': Behaviour()}, within=100.0)
    assert report.outcome == 'open' and report.duration == 100.0
    assert [action for action, _ in report.asked] == ['move']


@pytest.mark.parametrize('physical', ['physical: true', 'physical: false'])
@pytest.mark.parametrize(('server', 'success', 'outcome', 'error'), [
    (Behaviour(after={'lamp': True}), '', 'succeeded', 'NONE'),
    (Behaviour(values={'success': True}), '', 'failed', 'REFUTED'),
    (Behaviour(values={'success': False, 'message': 'no air'}), '', 'failed', 'CALL_FAILED'),
    (Behaviour(values={'status': {'code': 0}}, after={'lamp': True}), 'status.code == 0',
     'succeeded', 'NONE'),
    (Behaviour(values={'status': {'code': 3}}), 'status.code == 0', 'failed', 'CALL_FAILED'),
    (Behaviour(values={}), 'status.code == 0', 'failed', 'CALL_FAILED'),
    (Behaviour(result='missing'), '', 'failed', 'SERVER_MISSING'),
])
def test_calls(
    physical: str, server: Behaviour, success: str, outcome: str, error: str
) -> None:
    more = physical + (success and f", success: '{success}'")
    report, _ = run(CALL.replace('PHYSICAL', more), servers={'vacuum': server})
    action = report.actions['hold']
    assert (action.outcome, action.error) == (outcome, error), action


@pytest.mark.parametrize('physical', ['true', 'false'])
@pytest.mark.parametrize(('drives', 'outcome', 'error'), [
    (True, 'succeeded', 'NONE'), (False, 'failed', 'UNTIL_TIMEOUT')])
def test_publications(physical: str, drives: bool, outcome: str, error: str) -> None:
    text = f"""\
flow: drive
actions:
  drive:
    publish: {{topic: belt, type: std_msgs/msg/Float64, message: {{data: 0.2}}, rate: 20,
              until: x > 0.5, within: 10, finally: {{data: 0.0}}, physical: {physical}}}
    stopped: {{condition: still, hold: 0.1}}
    confirm: {{condition: x > 0.4, within: 1}}
"""
    servers = {'belt': Behaviour(during={'x': Ramp(to=1.0, over=5.0), 'speed': 0.2})} \
        if drives else {}
    report, robot = run(text, servers=servers)
    assert (report.actions['drive'].outcome, report.actions['drive'].error) == (outcome, error)
    assert robot.servers.count('belt') == 1
    if drives:  # it stops where the condition ended it
        assert 0.5 < robot.signals.value('x', robot.clock.time) < 0.6


def test_jobs_and_verifiers() -> None:
    text = """\
flow: inspect
actions:
  look:
    job: {invoke: "tasks:look"}
    verify: {by: service, service: check_it}
  after:
    after: look
    tool: {name: note, arguments: {text: '{{ results.look.result.part }}'}}
"""
    report, robot = run(text, work={'look': Behaviour(values={'part': 'seven'})},
                        verdicts={'check_it': ['pending', 'completed']})
    assert report.outcome == 'succeeded', report
    assert [goal.server for goal in robot.works.goals] == ['look', 'after']
    failed, _ = run(text, work={'look': Behaviour(result='aborted', text='broken')})
    assert failed.actions['look'].error == 'WORK_FAILED' and 'broken' in failed.error_msg


@pytest.mark.parametrize(('script', 'words'), [
    ({'facts': {'y': 1.0}}, "there is no fact 'y'"),
    ({'facts': {'still': True}}, "'still' is an expression; give the facts that it reads: speed"),
    ({'servers': {'arm': {'during': {'spead': 1.0}}}}, "did you mean 'speed'"),
    ({'facts': {'x': {'to': 1.0}}}, "fact 'x': a ramp begins at the value"),
])
def test_what_does_not_fit_is_refused(script: dict[str, Any], words: str) -> None:
    with pytest.raises(LifecycleError, match=words):
        ScriptedRobot(FACTS, RobotScript(**script))


courses = st.fixed_dictionaries({}, optional={
    'x': st.one_of(st.none(), st.floats(-2, 2), st.builds(
        Ramp, to=st.floats(-2, 2), over=st.none() | st.floats(0.1, 20))),
    'speed': st.none() | st.floats(0, 1), 'lamp': st.booleans()})
behaviours = st.builds(
    Behaviour, takes=st.floats(0, 30), during=courses, stops_in=st.floats(0, 5),
    after=courses.map(lambda found: {
        name: value for name, value in found.items() if not isinstance(value, Ramp)}),
    result=st.sampled_from(['succeeded', 'aborted', 'canceled', 'rejected', 'missing', 'none']),
    on_cancel=st.sampled_from(['stops', 'ignores']))
happenings = st.builds(
    Event, at=st.floats(0, 40), estop=st.none() | st.booleans(), cancel=st.booleans(),
    kill=st.booleans(), facts=courses.map(lambda found: {
        name: value for name, value in found.items() if not isinstance(value, Ramp)}))
RETRIED = MOVE.replace('timeout: 20}', 'timeout: 20}\n    retry: {times: 1, delay: 0.1}')


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(behaviours, min_size=1, max_size=3), st.lists(happenings, max_size=4))
def test_whatever_happens_success_is_what_the_sensors_showed(
    servers: list[Behaviour], events: list[Event]
) -> None:
    """An action that is completed has evidence in which its condition is true."""
    try:
        report, robot = run(RETRIED, servers={'arm': servers}, events=events)
    except LifecycleError as error:
        assert 'a ramp begins at the value' in str(error)  # its sensor was silent
        return
    action = report.actions['move']
    assert report.outcome == 'open' or action.outcome
    assert robot.servers.count('arm') <= 2 + sum(event.kill for event in events)
    for row in report.rows:
        if row.to_state == 'status_verification_requested':
            facts = {fact['name']: fact for entry in row.data['evidence']
                     for fact in entry['facts']}
            assert facts['x']['numbers'][0] > 0.9 and facts['x']['validity'] == 'valid'


def test_what_an_event_sets_is_not_undone_by_the_end_of_a_motion() -> None:
    report, robot = run(MOVE, servers={'arm': GO}, events=[
        Event(at=2.0, facts={'speed': 0.5}), Event(at=3.0, facts={'x': 0.0})])
    assert report.actions['move'].error == 'STOP_UNCONFIRMED'  # and REFUTED, if it stood
    assert robot.signals.value('speed', robot.clock.time) == 0.5
    assert robot.signals.value('x', robot.clock.time) == 0.0


def locked(report: Any) -> bool:
    return 'locked until clear_stop' in report.actions[next(iter(report.actions))].cause


@pytest.mark.parametrize(('last', 'error'), [
    ('', 'STOP_UNCONFIRMED'), (', finally: {data: 0.0}', 'UNTIL_TIMEOUT')])
def test_a_stream_that_fails_is_seen_to_stop(last: str, error: str) -> None:
    stuck = Behaviour(during={'speed': 0.3})  # it moves, and x does not
    events = [] if last else [Event(at=1.0, facts={'speed': 0.3})]
    report, _ = run(RATE.replace(' FINALLY', last), servers={'belt': stuck}, events=events)
    assert report.actions['drive'].error == error
    assert locked(report) is (not last)


def test_what_must_be_maintained_and_stays_unknown_stops_the_motion() -> None:
    text = MOVE.replace('    stopped', '    maintain: {condition: lamp, within: 1}\n    stopped')
    report, _ = run(text, {'x': 0.0, 'speed': 0.0}, servers={'arm': GO})
    assert report.actions['move'].error == 'MAINTAIN_VIOLATED'


def test_a_stream_whose_condition_is_unknown_is_not_begun() -> None:
    text = RATE.replace(' FINALLY', '').replace('x > 0.5', 'lamp')
    report, robot = run(text, {'x': 0.0, 'speed': 0.0}, servers={'belt': Behaviour(
        during={'lamp': True})})
    assert report.actions['drive'].error == 'UNTIL_TIMEOUT' and not robot.servers.goals


@pytest.mark.parametrize(('does', 'outcome', 'error'), [
    (True, 'succeeded', 'NONE'), (False, 'failed', 'MOTION_TIMEOUT')])
def test_a_call_that_is_never_answered_is_judged_by_the_sensors(
    does: bool, outcome: str, error: str
) -> None:
    text = CALL.replace('PHYSICAL', 'physical: true, timeout: 5')
    report, _ = run(text, servers={'vacuum': Behaviour(result='none', during={'lamp': does})})
    action = report.actions['hold']
    assert (action.outcome, action.error, action.attempts) == (outcome, error, 1)
    assert report.duration > 5.0


@pytest.mark.parametrize(('work', 'code'), [
    ("job: {invoke: 'tasks:look', time_limit: 3}", 'WORK_FAILED'),
    ('tool: {name: look, time_limit: 3}', 'WORK_FAILED'),
    ('call: {service: look, type: s/srv/Look, timeout: 3}', 'MOTION_TIMEOUT')])
def test_time_limits_of_work_in_the_process(work: str, code: str) -> None:
    slow = {'look': Behaviour(takes=30.0)}
    report, _ = run(f'flow: look\nactions:\n  look: {{{work}}}\n', work=slow, servers=slow)
    assert (report.outcome, report.actions['look'].error) == ('failed', code)
    assert 2.9 < report.duration < 3.5


def test_a_missing_server_is_waited_for() -> None:
    report, _ = run(MOVE, servers={'arm': Behaviour(result='missing')})
    assert 4.9 < report.duration < 5.5
    report, _ = run(MOVE, servers={'arm': Behaviour(result='missing')},
                    events=[Event(at=2.0, cancel=True)])
    assert report.outcome == 'canceled' and report.duration < 2.5


def test_conditions_of_calls_and_streams_read_parameters() -> None:
    text = """\
flow: f
parameters: {far: {default: 0.5}}
actions:
  call: {call: {service: ask, type: s/srv/Ask, success: code == want}, parameters: {want: 3}}
  drive:
    publish: {topic: belt, type: std_msgs/msg/Float64, rate: 20, until: x > far}
"""
    report, _ = run(text, servers={
        'ask': Behaviour(values={'code': 3}),
        'belt': Behaviour(during={'x': Ramp(to=1.0, over=4.0)})})
    assert report.outcome == 'succeeded', report.error_msg


def test_motions_side_by_side_leave_the_facts_as_they_were() -> None:
    text = """\
flow: f
actions:
  a: &go {motion: {server: a, type: a/action/Go}, confirm: speed >= 0}
  b: {<<: *go, motion: {server: b, type: a/action/Go}}
"""
    _, robot = run(text, servers={'a': Behaviour(takes=2.0, during={'speed': 0.4}),
                                  'b': Behaviour(takes=3.0, during={'speed': 0.6})})
    assert robot.signals.value('speed', robot.clock.time) == 0.0


def test_one_robot_runs_several_flows() -> None:
    robot = ScriptedRobot(FACTS, RobotScript(facts=STILL, servers={'arm': GO}))
    flow = parse_flow(MOVE, 'flow.yaml')
    first = robot.run(flow, events=[Event(at=100.0, kill=True)])
    assert (first.outcome, first.missed) == ('succeeded', 1)
    assert robot.run(flow).outcome == 'succeeded' and robot.servers.count('arm') == 2


def test_a_server_may_do_something_else_for_one_action() -> None:
    text = """\
flow: f
actions:
  there: &go {motion: {server: arm, type: a/action/Go}, confirm: x > 0.9}
  back: {<<: *go, after: there, confirm: x < 0.1, retry: {times: 1, delay: 0.1}}
"""
    report, robot = run(text, servers={
        'arm@there': Behaviour(during={'x': Ramp(to=1.0)}),
        'arm@back': [Behaviour(), Behaviour(during={'x': Ramp(to=0.0)})]})
    assert report.outcome == 'succeeded' and robot.servers.count('arm') == 3
