# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""confirm_outcome, evaluate, check and facts over real DDS."""

from __future__ import annotations

from collections.abc import Iterator
import json
import math
import re
import time
from typing import Any

from action_lifecycle.documents.stamps import to_seconds
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.interfaces.qos import event_qos, state_qos
from action_lifecycle.ros.node.rclpy_internals import take_message
from action_lifecycle.world import parse_facts
from action_lifecycle.world.facts.facts import ConstantFact
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import (
    CheckFault,
    Condition,
    Confirmation,
    ErrorCode,
    Evidence,
    Fact,
    Motion,
    WorldState,
)
from action_lifecycle_msgs.srv import Evaluate
import pytest
import rclpy

from .bridge_checks import check, gripper
from .bridge_rig import FACTS, Rig

CONFIRMED, REFUTED = ConfirmOutcome.Result.CONFIRMED, ConfirmOutcome.Result.REFUTED
TIMED_OUT, STALE = ConfirmOutcome.Result.TIMED_OUT, ConfirmOutcome.Result.STALE


@pytest.fixture(scope='module')
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp('bridge'), linger=0.2)
    rig.start()
    yield rig
    rig.close()


@pytest.fixture
def rig(shared: Rig) -> Iterator[Rig]:
    shared.gap, shared.moving = 0.02, 0.0
    shared.spin(0.05)
    yield shared


def test_confirmed_with_evidence_and_feedback(rig: Rig) -> None:
    after = rig.now()
    result = rig.result(rig.confirm('gap > least', hold=0.3, after=after, least=0.01))
    assert (result.verdict, result.error_code, result.error_msg) == (CONFIRMED, 0, '')
    evidence = result.evidence[0]
    assert (evidence.condition, evidence.expression) == ('confirm', 'gap > least')
    assert evidence.verdict == Evidence.TRUE and evidence.held == pytest.approx(0.3)
    fact = evidence.facts[0]
    assert (fact.name, fact.topic, fact.unit) == ('gap', '/joint_states', 'm')
    assert fact.validity == Fact.VALID and list(fact.numbers) == [0.02]
    assert to_seconds(fact.stamp) > after
    seen: list[Any] = []
    handle = rig.confirm('gap > 1', within=60.0,
                         feedback=lambda message: seen.append(message.feedback))
    rig.until(lambda: seen and seen[-1].evidence[0].facts[0].name == 'gap')
    rig.wait(handle.cancel_goal_async())


def test_a_confirmation_is_published_with_what_repeats_it(rig: Rig) -> None:
    told: list[Any] = []
    subscription = rig.asker.create_subscription(
        Confirmation, 'world_model_bridge/confirmations', told.append, event_qos())
    rig.until(lambda: rig.bridge.count_subscribers('world_model_bridge/confirmations'))
    after = rig.now()
    result = rig.result(rig.confirm('gap > least', hold=0.1, within=2.0, after=after, least=0.01))
    rig.until(lambda: told)
    event = told[0]
    assert (event.verdict, event.evidence) == (result.verdict, result.evidence)
    assert event.evidence[0].stamp == event.stamp
    assert event.after == to_time(after)
    assert after <= to_seconds(event.started) <= to_seconds(event.stamp) - 0.1
    condition, = event.conditions
    assert (condition.expression, condition.hold, condition.within) == ('gap > least', 0.1, 2.0)
    assert json.loads(event.parameters_json) == {'least': 0.01}
    rig.wait(rig.confirm('gap > 1', within=60.0).cancel_goal_async())
    rig.spin(0.1)
    assert len(told) == 1  # one that was canceled has no verdict
    rig.asker.destroy_subscription(subscription)


def test_refuted_by_fresh_facts(rig: Rig) -> None:
    rig.gap = 0.001
    rig.spin(0.05)
    result = rig.result(rig.confirm('gap > 0.01', within=0.3, after=rig.now()))
    assert (result.verdict, result.error_code) == (REFUTED, ErrorCode.REFUTED)
    assert result.error_msg == 'confirm: gap > 0.01 is false (gap 0.001 m)'


def test_samples_stamped_before_the_end_of_the_motion_do_not_count(rig: Rig) -> None:
    rig.gap = None
    handle = rig.confirm('gap > 0.01', within=0.4, after=rig.now() + 0.0)
    after = rig.now()
    for _ in range(5):
        rig.publish_gap(0.05, stamp=after - 0.2)
        rig.spin(0.05)
    result = rig.result(handle)
    assert result.verdict in (TIMED_OUT, STALE)
    assert result.evidence[0].verdict == Evidence.UNKNOWN
    assert 'does not count' in result.error_msg or 'silent' in result.error_msg


def test_a_silent_topic_never_confirms(rig: Rig) -> None:
    result = rig.result(rig.confirm('present', within=0.3))
    assert (result.verdict, result.error_code) == (TIMED_OUT, ErrorCode.CONFIRM_TIMEOUT)
    assert 'present unknown: no sample on /present yet (nobody publishes it)' in result.error_msg
    result = rig.result(rig.confirm('not present', within=0.3))
    assert result.verdict == TIMED_OUT


def test_a_topic_that_falls_silent_is_stale(rig: Rig) -> None:
    rig.gap = 0.02
    seen: list[Any] = []
    handle = rig.confirm('gap > 0.01', hold=3.9, within=4.0, feedback=seen.append)
    rig.until(lambda: seen and seen[-1].feedback.evidence[0].facts[0].validity == Fact.VALID)
    rig.gap = None
    result = rig.result(handle)
    assert re.search(r'gap 0\.02 m stale: /joint_states has been silent for \d', result.error_msg)
    assert (result.verdict, result.error_code) == (STALE, ErrorCode.CONFIRM_STALE)
    assert result.evidence[0].facts[0].validity == Fact.STALE


def test_a_canceled_question(rig: Rig) -> None:
    handle = rig.confirm('gap > 1.0', within=60.0)
    rig.wait(handle.cancel_goal_async())
    assert rig.result(handle).error_code == ErrorCode.CANCELED


def test_signs_of_life_come_while_nothing_changes(rig: Rig) -> None:
    rig.gap = None
    told: list[Any] = []
    handle = rig.confirm('present', within=60.0, feedback=told.append)
    rig.until(lambda: len(told) >= 3)
    rig.wait(handle.cancel_goal_async())


@pytest.mark.parametrize(('expression', 'within', 'hold', 'words'), [
    ('gapp > 1', 1.0, 0.0, "unknown name 'gapp'; did you mean 'gap'"),
    ('gap', 1.0, 0.0, "'gap' is a number; expected something true or false"),
    ("gap == 'open'", 1.0, 0.0, 'they are never equal'),
    ('gap > name', 1.0, 0.0, "'name' is a text"),
    ('gap + 1', 1.0, 0.0, 'expected something true or false'),
    ('gap > 1', 1.0, 2.0, 'hold 2.0 is longer than within 1.0'),
    ('gap > 1', math.nan, 0.0, 'within nan'),
])
def test_a_question_that_is_not_usable_says_why(
    rig: Rig, expression: str, within: float, hold: float, words: str,
) -> None:
    result = rig.result(rig.confirm(expression, within=within, hold=hold, name='x'))
    assert result.error_code == ErrorCode.INVALID_REQUEST and words in result.error_msg


def test_evaluate_judges_at_once_or_waits_for_what_is_unknown(rig: Rig) -> None:
    conditions = [Condition(name='a', expression='gap > 0.01'),
                  Condition(name='b', expression='speed > limit')]
    answer = rig.call(rig.evaluate_client, Evaluate.Request(
        conditions=conditions, parameters_json='{"limit": 0.5}', wait=8.0))
    assert answer.error_code == 0, answer.error_msg
    assert answer.verdict == Evidence.FALSE
    assert [entry.verdict for entry in answer.evidence] == [Evidence.TRUE, Evidence.FALSE]
    start = time.monotonic()
    unknown = rig.call(rig.evaluate_client, Evaluate.Request(
        conditions=[Condition(expression='present')], wait=0.3))
    assert unknown.verdict == Evidence.UNKNOWN and time.monotonic() - start >= 0.3
    wrong = rig.call(rig.evaluate_client, Evaluate.Request(
        conditions=[Condition(expression='gap.x > 1')]))
    assert wrong.error_code == ErrorCode.INVALID_REQUEST and 'attribute' in wrong.error_msg


def test_check_finds_nothing_wrong_with_what_fits(rig: Rig) -> None:
    goal = {'command': {'position': {'expr': 'gap + wide'}, 'max_effort': 3}}
    assert check(rig, gripper(goal), parameters_json='{"wide": 0.01}',
                 conditions=[Condition(expression='gap > wide', within=1.0, hold=0.5)]) == []


@pytest.mark.parametrize(('step', 'path', 'words'), [
    (gripper({}, server='griper'), 'server',
     "no action server 'griper'; did you mean '/gripper'?"),
    (gripper({}, server='gripper cmd?'), 'server', "server 'gripper cmd?'"),
    (gripper({}, kind='control_msgs/action/GripperComand'), 'type', 'did you mean'),
    (gripper({}, kind='control_msgs/action/FollowJointTrajectory'), 'type',
     'is of type control_msgs/action/GripperCommand'),
    (gripper({'command': {'positon': 1}}), 'goal.command.positon', "did you mean 'position'?"),
    (gripper({'command': {'position': [1]}}), 'goal.command.position', 'expected a number'),
    (gripper({'command': {'position': math.nan}}), 'goal.command.position', 'not finite'),
    (gripper({'command': {'max_effort': -1, 'position': 0.1}}), 'goal.command.max_effort',
     'out of its limits'),
    (gripper({'command': {'position': {'fact': 'gp'}}}), 'goal.command.position',
     "did you mean 'gap'"),
    (gripper({'command': {'position': {'expr': 'gap ** 99'}}}), 'goal.command.position',
     'column 8'),
])
def test_check_names_what_is_wrong_with_a_motion(
    rig: Rig, step: Motion, path: str, words: str,
) -> None:
    faults = check(rig, gripper({}), step)
    assert [(fault.kind, fault.index, fault.path) for fault in faults] == [
        (CheckFault.MOTION, 1, path)]
    assert words in faults[0].message
    assert not rig.gripper.goals


def test_check_judges_limits_of_servers_but_not_of_values_to_come(rig: Rig) -> None:
    goal = {'command': {'position': {'fact': 'gap'}}}
    assert [fault.path for fault in check(rig, gripper(goal, server='strict'))] == ['server']
    assert [fault.path for fault in check(rig, gripper({}, server='/strict'))] == [
        'server', 'goal.command.position']
    (_, wrong) = check(rig, gripper({}, server='misnamed'))
    assert wrong.path == 'goal.command.positon' and "limits of 'command.positon'" in wrong.message


def test_check_names_what_is_wrong_with_a_condition(rig: Rig) -> None:
    faults = check(rig, conditions=[Condition(expression='gap > 1', within=1.0),
                                    Condition(expression='gap > 1 and x > 2', within=1.0)])
    assert [(fault.kind, fault.index) for fault in faults] == [(CheckFault.CONDITION, 1)]
    assert faults[0].message.startswith('column 13: unknown name')


def test_facts_are_told_while_they_are_read_and_topics_let_go_after(rig: Rig) -> None:
    rig.gap = 0.033
    handle = rig.confirm('gap > 1', within=60.0)
    rig.until(lambda: rig.world and any(
        fact.name == 'gap' and list(fact.numbers) == [0.033] for fact in rig.world[-1].facts))
    assert {fact.name for fact in rig.world[-1].facts} == {'gap', 'speed'}
    rig.wait(handle.cancel_goal_async())
    rig.until(lambda: rig.robot.count_subscribers('joint_states') == 0)
    rig.until(lambda: not rig.world[-1].facts)
    told = len(rig.world)
    rig.spin(0.3)
    assert len(rig.world) == told  # nothing new, nothing told


def test_all_facts_are_read_while_somebody_looks_at_them(rig: Rig) -> None:
    read = {name for name, fact in parse_facts(FACTS).items()
            if not isinstance(fact, ConstantFact)}
    looker = rclpy.create_node('looker', context=rig.context)
    looking = looker.create_subscription(
        WorldState, '/world_model_bridge/all_facts', lambda _: None, state_qos())
    rig.until(lambda: rig.world and {fact.name for fact in rig.world[-1].facts} == read)
    assert len(read) > 2
    found, _ = take_message(looking)
    assert {fact.name for fact in found.facts} == read
    rig.until(lambda: rig.bridge._facts.health().values['topics read'] == 0)  # for no other use
    looker.destroy_node()
    rig.until(lambda: rig.robot.count_subscribers('joint_states') == 0)
    rig.until(lambda: not rig.world[-1].facts)


def test_all_facts_of_the_file_are_declared_with_kind_and_unit(rig: Rig) -> None:
    rig.until(lambda: rig.declared)
    facts = {fact.name: fact for fact in rig.declared[-1].facts}
    assert set(facts) == set(parse_facts(FACTS))
    assert all(fact.validity == Fact.UNKNOWN for fact in facts.values())
    assert (facts['gap'].topic, facts['gap'].value_json) == (
        '/joint_states', '{"type": "number"}')
    assert facts['present'].value_json == '{"type": "boolean"}'
