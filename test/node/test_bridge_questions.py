# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""confirm_outcome, evaluate, check and facts over real DDS."""

from __future__ import annotations

from collections.abc import Iterator
import json
import math
from pathlib import Path
import re
import time
from typing import Any

from action_lifecycle.documents.stamps import to_seconds
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.interfaces.qos import event_qos
from action_lifecycle.world import parse_facts
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import (
    CheckFault,
    Condition,
    Confirmation,
    ErrorCode,
    Evidence,
    Fact,
    Motion,
)
from action_lifecycle_msgs.srv import Check, Evaluate
import pytest
import rclpy
from rclpy.context import Context
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64

from .bridge_rig import FACTS, GRIPPER, Rig
from .ending import destroy

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


def check(rig: Rig, *steps: Motion, **fields: Any) -> list[CheckFault]:
    answer = rig.call(rig.check_client, Check.Request(steps=steps, **fields))
    assert answer.error_code == 0, answer.error_msg
    return list(answer.faults)


def gripper(goal: Any, server: str = 'gripper', kind: str = GRIPPER) -> Motion:
    return Motion(server=server, type=kind, goal_json=json.dumps(goal))


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


def test_all_facts_of_the_file_are_declared_with_kind_and_unit(rig: Rig) -> None:
    rig.until(lambda: rig.declared)
    facts = {fact.name: fact for fact in rig.declared[-1].facts}
    assert set(facts) == set(parse_facts(FACTS))
    assert all(fact.validity == Fact.UNKNOWN for fact in facts.values())
    assert (facts['gap'].topic, facts['gap'].value_json) == (
        '/joint_states', '{"type": "number"}')
    assert facts['present'].value_json == '{"type": "boolean"}'


# -- each with a bridge of its own

QOS_FACTS = """
estop: none
facts:
  ready: {topic: ready, type: std_msgs/msg/Bool, field: data, max_age: .inf}
  load: {topic: load, type: std_msgs/msg/Float64, field: data, max_age: 1.0}
  fast: {topic: fast, type: sensor_msgs/msg/JointState, field: 'position[0]', max_rate: 20}
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, QOS_FACTS)
    rig.start()
    yield rig
    rig.close()


def test_a_latched_sample_from_before_is_read(own: Rig) -> None:
    latched = own.robot.create_publisher(Bool, 'ready', QoSProfile(
        depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    latched.publish(Bool(data=True))
    assert own.result(own.confirm('ready')).verdict == CONFIRMED


def test_a_sample_that_was_latched_before_the_end_of_the_motion_does_not_confirm(own: Rig) -> None:
    latched = own.robot.create_publisher(Bool, 'ready', QoSProfile(
        depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    begin = own.now()
    latched.publish(Bool(data=True))
    published = own.now()
    own.spin(0.3)
    result = own.result(own.confirm('ready', within=0.8, after=own.now()))
    assert result.verdict == TIMED_OUT
    assert begin <= to_seconds(result.evidence[0].facts[0].stamp) <= published + 0.05
    handle = own.confirm('ready', after=own.now())
    own.spin(0.1)
    latched.publish(Bool(data=True))
    assert own.result(handle).verdict == CONFIRMED


def test_what_one_publisher_latched_is_read_beside_volatile_ones(own: Rig) -> None:
    own.robot.create_publisher(Bool, 'ready', QoSProfile(depth=1))
    latched = own.robot.create_publisher(Bool, 'ready', QoSProfile(
        depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    latched.publish(Bool(data=True))
    assert own.result(own.confirm('ready')).verdict == CONFIRMED


def test_check_names_topics_of_another_type_than_the_facts_file_says(own: Rig) -> None:
    asked = [Condition(expression='ready', within=1.0), Condition(expression='load > 1')]
    assert check(own, conditions=asked) == []  # nobody publishes them: that may yet come
    own.robot.create_publisher(Bool, 'load', 1)
    own.until(lambda: own.bridge.count_publishers('/load'))
    goal = {'command': {'position': {'expr': 'load / 2'}}}
    words = "topic '/load' carries std_msgs/msg/Bool; the facts file says std_msgs/msg/Float64"
    faults = check(own, gripper(goal), conditions=asked)
    assert [(fault.kind, fault.index, fault.path) for fault in faults] == [
        (CheckFault.MOTION, 0, 'goal.command.position'), (CheckFault.CONDITION, 1, '')]
    assert all(words in fault.message for fault in faults)
    context = Context()  # one participant has but one type for a topic
    rclpy.init(context=context, domain_id=own.domain)
    other = rclpy.create_node('other', context=context)
    other.create_publisher(Float64, 'load', 1)
    own.until(lambda: own.bridge.count_publishers('/load') == 2)
    assert check(own, conditions=asked) == []  # it can be read
    destroy(other)
    rclpy.try_shutdown(context=context)


def test_a_burst_of_2_khz_does_not_hide_the_deciding_sample(own: Rig) -> None:
    best = own.robot.create_publisher(
        Float64, 'load', QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    handle = own.confirm('load > 0.5', within=20.0, after=own.now())
    own.until(best.get_subscription_count)
    for _ in range(2000):
        best.publish(Float64(data=0.0))
        time.sleep(0.0003)  # nobody spins: the bridge is stalled, and the queue is full
    best.publish(Float64(data=1.0))
    assert own.result(handle).verdict == CONFIRMED


def test_a_simulation_that_is_reset_voids_what_was_seen(tmp_path: Path) -> None:
    from action_lifecycle.ros.conversions.basic import to_time
    from rosgraph_msgs.msg import Clock
    rig = Rig(tmp_path, QOS_FACTS, use_sim_time=True)
    clock = rig.robot.create_publisher(Clock, '/clock', 10)
    load = rig.robot.create_publisher(Float64, 'load', 10)
    rig.until(clock.get_subscription_count)
    seconds = [100.0]

    def tick() -> None:
        seconds[0] += 0.01
        clock.publish(Clock(clock=to_time(seconds[0])))

    rig.start()
    refused = rig.wait(rig.confirmation.send_goal_async(ConfirmOutcome.Goal()))
    assert not refused.accepted  # its time would be up with the first message on /clock
    untimed = rig.call(rig.evaluate_client, Evaluate.Request())
    assert (untimed.error_code, rig.bridge.now()) == (ErrorCode.NOT_READY, 0.0)
    rig.robot.create_timer(0.005, tick)
    rig.until(lambda: rig.bridge.now() > 0.0)
    handle = rig.confirm('load > 0.5', hold=0.5, within=2.0, after=100.0)
    rig.until(load.get_subscription_count)
    load.publish(Float64(data=1.0))
    rig.until(lambda: rig.bridge._facts.model.value('load', rig.bridge.now()).value == 1.0)
    seconds[0] = 3.0
    rig.until(lambda: rig.bridge.now() < 50.0)
    assert rig.bridge._facts.model.value('load', rig.bridge.now()).value is None
    again = rig.robot.create_timer(0.02, lambda: load.publish(Float64(data=1.0)))
    result = rig.result(handle)
    assert result.verdict == CONFIRMED and to_seconds(result.evidence[0].stamp) < 50.0
    rig.robot.destroy_timer(again)
    rig.close()


def test_a_publisher_that_appears_late_with_its_own_qos_is_read(own: Rig) -> None:
    handle = own.confirm('ready')
    own.spin(0.3)
    latched = own.robot.create_publisher(Bool, 'ready', QoSProfile(
        depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    latched.publish(Bool(data=True))
    assert own.result(handle).verdict == CONFIRMED


def test_publishers_with_different_qos_are_all_read(own: Rig) -> None:
    reliable = own.robot.create_publisher(Float64, 'load', QoSProfile(depth=1))
    best = own.robot.create_publisher(
        Float64, 'load', QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    for publisher, value in ((reliable, 1.0), (best, 2.0)):
        handle = own.confirm(f'load == {value}')
        timer = own.robot.create_timer(
            0.05, lambda publisher=publisher, value=value: publisher.publish(Float64(data=value)))
        assert own.result(handle).verdict == CONFIRMED
        own.robot.destroy_timer(timer)


def test_a_topic_of_another_type_is_named_in_diagnostics(own: Rig) -> None:
    from diagnostic_msgs.msg import DiagnosticArray
    told: list[DiagnosticArray] = []
    own.asker.create_subscription(DiagnosticArray, '/diagnostics', told.append, 10)
    own.robot.create_publisher(Bool, 'load', 1)
    own.confirm('load > 1')
    own.until(lambda: any('carries std_msgs/msg/Bool' in status.message
                          for array in told for status in array.status))


def test_a_capped_fact_is_read_at_its_rate_and_keeps_the_newest(own: Rig) -> None:
    publisher = own.robot.create_publisher(JointState, 'fast', 10)
    own.confirm('fast > 1e9', within=60.0)
    own.until(lambda: publisher.get_subscription_count())
    taken: list[float] = []
    model = own.bridge._facts.model
    ingest = model.ingest

    def counted(topic: str, message: Any, *times: float) -> None:
        taken.append(message.position[0])
        ingest(topic, message, *times)

    model.ingest = counted  # type: ignore[method-assign]
    start = time.monotonic()
    sent = 0
    while sent < 200 or time.monotonic() < start + 0.5:
        sent += 1
        publisher.publish(JointState(position=[float(sent)]))
        own.executor.spin_once(timeout_sec=0.001)
    own.until(lambda: taken and taken[-1] == sent)
    elapsed = time.monotonic() - start
    assert len(taken) <= elapsed * 20 + 3 < sent


def test_a_file_that_does_not_fit_the_installed_types_keeps_it_unconfigured(
    tmp_path: Path, capfd: pytest.CaptureFixture[str],
) -> None:
    rig = Rig(tmp_path, 'estop: none\nfacts:\n'
              '  a: {topic: t, type: std_msgs/msg/Flot64, field: data}\n'
              '  b: {topic: u, type: std_msgs/msg/Float64, field: dta}\n')
    assert not rig.bridge.start()
    told = capfd.readouterr().err
    assert "did you mean 'std_msgs/msg/Float64'" in told and "did you mean 'data'" in told
    rig.close()
