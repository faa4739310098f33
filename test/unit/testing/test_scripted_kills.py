# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a scripted robot and its process do when the process is killed."""

from __future__ import annotations

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_flow
from action_lifecycle.testing import Behaviour, Event, Ramp, RobotScript, ScriptedRobot
import pytest

from .scripted import CALL, FACTS, GO, MOVE, RATE, run, STILL


@pytest.mark.parametrize('at', [0.01, 0.5, 3.9, 4.1, 4.3])
def test_a_killed_process_follows_its_goal(at: float) -> None:
    report, robot = run(MOVE, servers={'arm': GO}, events=[Event(at=at, kill=True)])
    assert report.outcome == 'succeeded' and robot.servers.count('arm') == 1


def test_killed_before_the_goal_is_sent_a_person_is_asked() -> None:
    report, robot = run(MOVE, servers={'arm': GO}, events=[Event(at=0.0, kill=True)],
                        answers={'move': ['retry']})
    assert [action for action, _ in report.asked] == ['move']
    assert report.outcome == 'succeeded' and robot.servers.count('arm') == 1


def test_killed_twice_and_canceled_while_it_was_dead() -> None:
    report, robot = run(MOVE, servers={'arm': Behaviour(
        takes=30.0, during={'x': Ramp(to=1.0), 'speed': 0.03})}, events=[
            Event(at=1.0, kill=True), Event(at=3.0, kill=True), Event(at=3.5, cancel=True)])
    assert report.outcome == 'canceled' and robot.servers.count('arm') == 1
    assert robot.servers.goals[0].end == 'canceled'


TWO = """\
flow: two
actions:
  both:
    motion:
      - {server: a, type: a/action/Go}
      - {server: b, type: a/action/Go}
    stopped: {condition: still, hold: 0.1}
    confirm: {condition: x > 0.9, within: 2}
"""


def test_of_several_steps_only_the_last_one_that_was_sent_is_followed() -> None:
    servers = {'a': Behaviour(takes=2.0), 'b': Behaviour(takes=5.0, during={'x': Ramp(to=1.0)})}
    report, robot = run(TWO, servers=servers, events=[Event(at=4.0, kill=True)])
    assert report.outcome == 'succeeded'
    assert [(goal.server, goal.end) for goal in robot.servers.goals] == [
        ('a', 'succeeded'), ('b', 'succeeded')]


@pytest.mark.parametrize('last', ['', ', finally: {data: 0.0}'])
def test_a_killed_stream_lasts_until_finally(last: str) -> None:
    report, robot = run(
        RATE.replace(' FINALLY', last), servers={'belt': Behaviour(
            during={'x': Ramp(to=1.0, over=50.0), 'speed': 0.02})},
        events=[Event(at=2.0, kill=True)])
    assert (report.actions['drive'].error == 'STOP_UNCONFIRMED') is (not last)
    assert (robot.signals.value('speed', robot.clock.time) == 0.0) is bool(last)


def test_a_call_goes_on_when_the_process_is_killed() -> None:
    text = CALL.replace('PHYSICAL', 'physical: true').replace('within: 1', 'within: 3')
    report, robot = run(text, servers={'vacuum': Behaviour(takes=2.0, after={'lamp': True})},
                        events=[Event(at=1.5, kill=True)])
    assert report.outcome == 'succeeded' and robot.servers.count('vacuum') == 1


@pytest.mark.parametrize(('repeat', 'times'), [('true', 2), ('false', 1)])
def test_a_job_loses_its_tasks_with_the_process(repeat: str, times: int) -> None:
    text = ("flow: look\nactions:\n  look: {job: {invoke: 'tasks:look', repeat_lost: "
            f'{repeat}}}}}\n')
    report, robot = run(text, work={'look': Behaviour(takes=2.0)},
                        events=[Event(at=1.0, kill=True)], answers={'look': ['give_up']})
    assert robot.works.count('look') == times
    assert (report.outcome == 'succeeded') is (times == 2)


def test_an_estop_while_it_is_dead_reaches_a_goal_that_does_not_stop() -> None:
    deaf = Behaviour(takes=3000.0, on_cancel='ignores', during={'speed': 0.3})
    report, _ = run(MOVE, servers={'arm': deaf}, events=[
        Event(at=2.0, kill=True), Event(at=2.5, estop=True)])
    assert report.actions['move'].error == 'STOP_UNCONFIRMED' and report.duration < 20.0


def test_a_stop_cleared_while_it_is_dead_is_cleared_when_it_is_back() -> None:
    text = MOVE + '    fallback: [{strategy: ask, question: Again?}]\n'
    report, _ = run(text, servers={'arm': GO}, answers={'move': ['retry']}, events=[
        Event(at=2.0, estop=True), Event(at=2.6, kill=True), Event(at=3.0, estop=False)])
    assert report.outcome == 'succeeded'


def test_an_answer_that_a_kill_prevents_is_given_afterwards() -> None:
    text = MOVE + '    fallback: [{strategy: ask, question: Again?}]\n'
    report, _ = run(text, servers={'arm': Behaviour(result='aborted')},
                    answers={'move': ['give_up']}, events=[Event(at=1.5, kill=True)])
    assert report.outcome == 'failed' and len(report.asked) == 1 and not report.unused


def test_a_flow_whose_time_is_up_while_the_process_is_down_is_said() -> None:
    robot = ScriptedRobot(FACTS, RobotScript(facts=STILL, servers={'arm': GO}))
    flow = parse_flow(MOVE, 'flow.yaml')
    with pytest.raises(LifecycleError, match='give the case more time'):
        robot.run(flow, events=[Event(at=1.0, kill=True)], within=1.5)
    assert robot.run(flow).outcome == 'succeeded'
