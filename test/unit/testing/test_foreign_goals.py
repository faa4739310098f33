# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals of an operator at the server that a flow uses, on the scripted robot."""

from __future__ import annotations

from typing import Any

from action_lifecycle.testing import Event
import pytest

from .scripted import GO, MOVE, run, STILL

RETRY = '    retry: {times: 3, delay: 0.5}\n'
MAST = """\
  mast:
    after: {move: completion}
    resources: [base]
    motion: {server: mast, type: a/action/Go}
    confirm: speed < 0.01
"""
AGAIN = '    fallback: [{strategy: retry}, {strategy: ask, options: {never: give_up}}]\n'


def flow(policy: str = '', extra: str = '') -> str:
    given = f', foreign_goals: {policy}' if policy else ''
    return MOVE.replace('timeout: 20}', f'timeout: 20{given}}}') + extra


def operator(at: float, seconds: float, speed: float = 0.4) -> list[Event]:
    """Return the events of a goal of an operator, and of the robot that moves meanwhile."""
    return [Event(at=at, operator_goals={'arm': seconds}, facts={'speed': speed}),
            Event(at=at + seconds, facts={'speed': 0.0})]


def sent(report: Any) -> list[float]:
    return [round(goal.at, 1) for goal in report.goals]


@pytest.mark.parametrize('kill', [False, True])
def test_nothing_is_sent_beside_an_operator_until_a_person_has_answered(kill: bool) -> None:
    events = operator(0.0, 20.0) + [Event(at=0.5, kill=True)] * kill
    report, _ = run(flow(), servers={'arm': GO}, events=events, within=60.0)
    assert (report.outcome, sent(report)) == ('open', [])
    (asked,) = report.asked
    assert asked[0] == 'move' and 'goal of an operator of another client' in asked[1]
    report, _ = run(flow(), servers={'arm': GO}, events=events, answers={'move': ['retry']})
    assert report.outcome == 'succeeded' and 20.0 < sent(report)[0] < 21.0
    assert len(report.asked) == 1


def test_what_an_operator_ends_is_not_sent_again_before_a_person_has_answered() -> None:
    text = flow('', RETRY + AGAIN)
    report, _ = run(text, servers={'arm': GO}, events=operator(1.0, 2.0), within=60.0)
    assert (report.outcome, sent(report)) == ('open', [0.0])  # although that goal is over
    assert "aborted; server 'arm' has a goal of another client" in report.asked[0][1]
    report, _ = run(text, servers={'arm': GO}, events=operator(1.0, 20.0),
                    answers={'move': ['retry']})
    assert report.outcome == 'succeeded' and 21.0 < sent(report)[1] < 22.0


@pytest.mark.parametrize('at', [0.0, 1.0])
def test_a_person_may_take_the_server_over_for_one_attempt(at: float) -> None:
    events = [*operator(at, 30.0, 0.0), *operator(at + 3.0, 2.0, 0.0)]
    text = flow('', RETRY)
    report, _ = run(text, servers={'arm': GO}, events=events,
                    answers={'move': ['take_over', 'retry']})
    assert report.outcome == 'succeeded', report.error_msg
    assert len(sent(report)) == (2 if at == 0.0 else 3) and sent(report)[-1] > at + 5.0
    assert len(report.asked) == 2  # also about the second goal of the operator


@pytest.mark.parametrize(('policy', 'error'), [('', 'NOT_ALLOWED'), ('fail', 'STOP_UNCONFIRMED')])
@pytest.mark.parametrize('speed', [0.4, 0.0])
def test_giving_up_while_the_operator_drives_keeps_the_resources_locked(
    speed: float, policy: str, error: str
) -> None:
    text = flow(policy).replace('confirm:', 'resources: [base]\n    confirm:') + MAST
    report, robot = run(text, servers={'arm': GO}, events=operator(1.0, 40.0, speed),
                        answers={'move': ['give_up']}, within=60.0)
    assert report.actions['move'].outcome == 'failed'
    assert report.actions['move'].error == (error if speed else 'NOT_ALLOWED')
    assert robot.servers.count('mast') == (0 if speed else 1)
    assert [row.action_id for row in report.rows if row.event == 'lock'] == ['base'] * bool(speed)


TWO = """\
flow: two
actions:
  both:
    motion:
      - {server: arm, type: a/action/Go, goal: {x: {fact: x}}, timeout: 20POLICY}
      - {server: leg, type: a/action/Go, timeout: 20POLICY}
    stopped: {condition: still, hold: 0.1}
    confirm: {condition: x > 0.9, within: 2}
"""


@pytest.mark.parametrize(('policy', 'at', 'first'), [
    ('', 0.0, None), ('wait', 0.0, 5.0), ('wait', 1.0, 0.0)])
def test_no_step_is_sent_while_a_later_one_would_have_to_wait(
    policy: str, at: float, first: float | None
) -> None:
    text = TWO.replace('POLICY', policy and f', foreign_goals: {policy}')
    events = [Event(at=at, operator_goals={'leg': 5.0})]
    report, _ = run(text, servers={'arm': GO, 'leg': GO}, events=events, within=60.0)
    if first is None:
        assert not report.goals and "'leg' has" in report.asked[0][1]
    else:
        assert [goal.server for goal in report.goals] == ['arm', 'leg']
        assert first <= sent(report)[0] < first + 1.0 and sent(report)[1] >= at + 5.0


@pytest.mark.parametrize('policy', ['', 'wait'])
def test_a_goal_that_begins_while_ours_waits_for_its_facts_is_seen(policy: str) -> None:
    text = MOVE.replace('{x: 1.0}, timeout: 20', '{x: {fact: x}}, timeout: 20'
                        + (policy and f', foreign_goals: {policy}'))
    report, _ = run(text, {**STILL, 'x': None}, servers={'arm': GO}, within=60.0, events=[
        Event(at=0.5, operator_goals={'arm': 5.0}), Event(at=1.0, facts={'x': 0.0})])
    assert [5.5 <= at < 6.5 for at in sent(report)] == ([True] if policy else [])
    assert bool(report.asked) is not bool(policy)


@pytest.mark.parametrize(('at', 'goals'), [(0.0, 1), (1.0, 2)])
def test_a_flow_may_wait_for_the_end_of_another_goal_and_the_standstill(
    at: float, goals: int
) -> None:
    events = [*operator(at, 5.0)[:1], Event(at=at + 7.0, facts={'speed': 0.0})]
    report, _ = run(flow('wait'), servers={'arm': GO}, events=events)
    assert report.outcome == 'succeeded' and not report.asked
    assert len(sent(report)) == goals and at + 7.0 < sent(report)[-1] < at + 8.0


@pytest.mark.parametrize('kill', [False, True])
@pytest.mark.parametrize(('policy', 'answers'), [('wait', {}), ('ask', {'move': ['retry']})])
def test_the_next_attempt_waits_for_the_standstill_when_the_other_goal_has_ended(
    policy: str, answers: dict[str, list[str]], kill: bool
) -> None:
    """It ends while the stop of ours is judged, and the robot drives on."""
    events = [*operator(1.0, 1.0)[:1], *[Event(at=6.0, kill=True)] * kill,
              Event(at=20.0, facts={'speed': 0.0})]
    report, _ = run(flow(policy, '    idempotent: true\n'), servers={'arm': GO}, events=events,
                    answers=answers)
    assert report.outcome == 'succeeded' and len(report.asked) == len(answers)
    assert len(sent(report)) == 2 and 20.0 < sent(report)[1] < 22.0


@pytest.mark.parametrize('seconds', [1.0, 40.0])
@pytest.mark.parametrize(('policy', 'answers'), [('wait', []), ('ask', ['retry'])])
@pytest.mark.parametrize(('how', 'error'), [
    ('canceled', 'CANCELED'), ('killed and canceled', 'CANCELED'),
    ('out of time', 'DEADLINE_EXCEEDED')])
def test_a_wait_that_ends_while_the_robot_moves_keeps_the_resources_locked(
    how: str, error: str, policy: str, answers: list[str], seconds: float
) -> None:
    limit = '    timeout: 6\n' if how == 'out of time' else ''
    events = operator(1.0, seconds)[:1]
    if how == 'killed and canceled':
        events.append(Event(at=7.0, kill=True))
    if not limit:
        events.append(Event(at=12.0, cancel=True))
    report, robot = run(
        flow(policy, limit).replace('confirm:', 'resources: [base]\n    confirm:') + MAST,
        servers={'arm': GO}, events=events, answers={'move': answers}, within=60.0)
    move = report.actions['move']
    assert move.error == error and robot.servers.count('mast') == 0
    assert [row.action_id for row in report.rows if row.event == 'lock'] == ['base']


def test_waiting_ends_with_the_time_limit_of_the_action() -> None:
    report, robot = run(flow('wait', '    timeout: 5\n'), servers={'arm': GO},
                        events=operator(0.0, 60.0))
    assert report.actions['move'].error == 'DEADLINE_EXCEEDED' and not sent(report)
    assert 4.9 < robot.clock.time < 5.5


@pytest.mark.parametrize(('at', 'goals'), [(0.0, 0), (1.0, 1)])
def test_a_flow_may_fail_beside_another_goal_and_tries_nothing_again(
    at: float, goals: int
) -> None:
    report, _ = run(flow('fail', RETRY + AGAIN), servers={'arm': GO},
                    events=operator(at, 3.0, 0.0), answers={'move': ['never']})
    move = report.actions['move']
    assert (move.outcome, move.error, len(sent(report))) == ('failed', 'NOT_ALLOWED', goals)
    assert "server 'arm'" in move.cause


def test_a_server_for_several_clients_is_used_beside_others() -> None:
    report, _ = run(flow('allow'), servers={'arm': GO}, events=operator(0.0, 3.0, 0.0))
    assert (report.outcome, sent(report)) == ('succeeded', [0.0])
