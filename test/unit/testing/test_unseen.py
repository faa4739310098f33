# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A motion is not sent while a fact that would show its outcome has no value."""

from __future__ import annotations

from typing import Any

from action_lifecycle.flow import parse_flow
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.testing import Behaviour, Event, RobotScript, ScriptedRobot
from action_lifecycle.world import parse_facts
import pytest

FACTS = parse_facts("""
estop: none
facts:
  gap: {topic: gap, type: std_msgs/msg/Float64, field: data, max_age: 0.5}
  part: {topic: part, type: std_msgs/msg/Float64, field: data, max_age: 0.5,
         health: {range: [0, 1], recover: 0}}
  both: {expression: gap + part}
  home: {constant: 0.3}
""")
WORK = {
    'motion': 'motion: {server: go, type: t/action/T, server_timeout: 2}',
    'call': 'call: {service: go, type: t/srv/T, server_timeout: 2, physical: true}',
    'publish': 'publish: {topic: go, type: t/msg/T, server_timeout: 2, physical: true}'}
DOES = Behaviour(takes=1.0, after={'gap': 2.0, 'part': 0.5})
KNOWN = {'gap': 0.0, 'part': 0.0}


def run(
    work: str, confirm: str, facts: Any, events: Any = (), more: str = '', does: Behaviour = DOES
) -> tuple[Any, ScriptedRobot]:
    robot = ScriptedRobot(FACTS, RobotScript(facts=facts, servers={'go': does}))
    text = f'flow: f\nactions:\n  a:\n    {WORK[work]}\n    confirm: {confirm}\n{more}'
    return robot.run(parse_flow(text, 'f.yaml'), events=events), robot


@pytest.mark.parametrize('work', list(WORK))
@pytest.mark.parametrize(('confirm', 'missing', 'said'), [
    ('gap > 1', 'gap', 'gap unknown: no sample on gap yet'),
    ('gap > 1 or part > 2', 'part', 'part unknown: no sample on part yet'),
    ('[gap > 1, part > 0.4]', 'part', 'part unknown'),
    ('both > home', 'part', 'part unknown')])
def test_nothing_is_sent_while_a_fact_of_confirm_was_never_seen(
    work: str, confirm: str, missing: str, said: str
) -> None:
    report, robot = run(work, confirm, {**KNOWN, missing: None})
    assert report.actions['a'].error == ErrorCode.REQUIRE_UNKNOWN.name
    assert not robot.servers.goals
    row = next(row for row in report.rows if row.event == 'fail')
    assert said in row.cause and 'nothing was sent' in row.cause
    assert '`confirm_unseen: allow`' in row.cause


@pytest.mark.parametrize(('max_age', 'sent'), [('0.5', 2), ('0.2', 1)])
def test_the_max_age_of_the_condition_counts(max_age: str, sent: int) -> None:
    more = ('  b:\n    after: a\n'
            '    motion: {server: go, type: t/action/T, server_timeout: 0.01}\n'
            f'    confirm: {{condition: part > 0.4, max_age: {max_age}}}\n')
    report, robot = run('motion', 'gap > 1', {**KNOWN, 'part': 0.5}, [
        Event(at=0.7, facts={'part': None})], more, does=Behaviour(takes=1.0, after={'gap': 2.0}))
    assert len(robot.servers.goals) == sent


@pytest.mark.parametrize('work', list(WORK))
def test_a_known_outcome_that_is_not_there_yet_is_no_hindrance(work: str) -> None:
    report, robot = run(work, '[gap > 1, part > 0.4]', KNOWN)
    assert report.actions['a'].outcome == 'succeeded' and len(robot.servers.goals) == 1


@pytest.mark.parametrize('work', list(WORK))
def test_a_flow_may_say_that_the_outcome_is_only_seen_afterwards(work: str) -> None:
    report, robot = run(work, '[gap > 1, part > 0.4]', {'gap': 0.0, 'part': None},
                        more='    confirm_unseen: allow\n')
    assert report.actions['a'].outcome == 'succeeded' and len(robot.servers.goals) == 1


def test_a_fact_that_is_unhealthy_or_silent_is_named_with_its_cause() -> None:
    report, robot = run('motion', 'part > 0.4', {'gap': 0.0, 'part': 7.0})
    assert not robot.servers.goals
    assert any('range: 7; expected 0 to 1' in row.cause for row in report.rows)


def test_a_fact_that_went_silent_before_is_named_with_its_age() -> None:
    more = ('  b:\n    after: a\n    motion: {server: go, type: t/action/T, server_timeout: 1}\n'
            '    confirm: part > 0.4\n')
    report, robot = run('motion', 'gap > 1', {**KNOWN, 'part': 0.5}, [
        Event(at=0.2, facts={'part': None})], more, does=Behaviour(takes=1.0, after={'gap': 2.0}))
    assert report.actions['b'].error == 'REQUIRE_UNKNOWN' and len(robot.servers.goals) == 1
    assert any('part 0.5 stale: part has been silent for' in row.cause for row in report.rows)


def test_the_facts_are_needed_before_the_first_step_and_awaited_for_its_server_timeout() -> None:
    """A part that the arm hides on the way is seen again at its end, or is not confirmed."""
    steps = ('[{server: go, type: t/action/T, server_timeout: 2},'
             ' {server: go, type: t/action/T, server_timeout: 9}]')
    for at, sent, error in ((0.5, 2, 'CONFIRM_STALE'), (-1.0, 0, 'REQUIRE_UNKNOWN')):
        facts = {**KNOWN, 'part': 0.0 if at > 0 else None}
        robot = ScriptedRobot(FACTS, RobotScript(facts=facts, servers={
            'go': Behaviour(takes=1.0, after={'gap': 2.0})}))
        report = robot.run(
            parse_flow(f'flow: f\nactions:\n  a: {{motion: {steps}, confirm: part > 0.4}}\n', 'f'),
            events=[Event(at=at, facts={'part': None})] if at > 0 else [])
        assert (report.actions['a'].error, len(robot.servers.goals)) == (error, sent)
        assert at > 0 or 2.0 <= robot.clock.time < 3.0


def test_a_fact_that_comes_in_time_is_waited_for() -> None:
    report, robot = run('motion', '[gap > 1, part > 0.4]', {'gap': 0.0, 'part': None},
                        [Event(at=1.0, facts={'part': 0.0})])
    assert report.actions['a'].outcome == 'succeeded' and len(robot.servers.goals) == 1
    report, robot = run('motion', '[gap > 1, part > 0.4]', {'gap': 0.0, 'part': None},
                        [Event(at=2.5, facts={'part': 0.0})])
    assert report.actions['a'].error == 'REQUIRE_UNKNOWN' and not robot.servers.goals


def test_a_cancel_ends_the_wait() -> None:
    report, robot = run('motion', 'part > 0.4', {'gap': 0.0, 'part': None},
                        [Event(at=0.5, cancel=True)])
    assert report.actions['a'].error == 'CANCELED' and not robot.servers.goals
