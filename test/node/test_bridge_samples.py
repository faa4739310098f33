# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which samples of a topic the bridge reads: QoS of publishers, types, stamps, rates."""

from __future__ import annotations

from collections.abc import Iterator
import itertools
from pathlib import Path
import time
from typing import Any

from action_lifecycle.documents.stamps import to_seconds
from action_lifecycle.ros.node import subscriptions
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import CheckFault, Condition, ErrorCode
from action_lifecycle_msgs.srv import Evaluate
import pytest
import rclpy
from rclpy.context import Context
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64

from .bridge_checks import check, gripper
from .bridge_rig import Rig
from .ending import destroy

CONFIRMED, TIMED_OUT = ConfirmOutcome.Result.CONFIRMED, ConfirmOutcome.Result.TIMED_OUT
QOS_FACTS = """
estop: none
facts:
  ready: {topic: ready, type: std_msgs/msg/Bool, field: data, max_age: .inf}
  load: {topic: load, type: std_msgs/msg/Float64, field: data, max_age: 1.0, publishers: any}
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


def test_a_reliable_publisher_that_appears_late_is_heard_without_a_loss(own: Rig) -> None:
    handle = own.confirm('load > 0.5', hold=1.5, within=8.0)
    own.spin(0.1)
    load = own.robot.create_publisher(Float64, 'load', 100)
    timer = own.robot.create_timer(0.01, lambda: load.publish(Float64(data=1.0)))
    assert own.result(handle).verdict == CONFIRMED
    assert own.bridge._facts._lost == {}
    own.robot.destroy_timer(timer)


def test_messages_that_come_as_fast_as_they_are_read_block_nothing(
    own: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.robot.create_publisher(Float64, 'load', 10)
    handle = own.confirm('load > 0.5', hold=0.2, within=60.0)
    reader = own.bridge._facts.subscriptions.readers['load']
    own.until(lambda: reader.subscribed)
    numbers = itertools.count()

    def take(subscription: Any) -> Any:
        time.sleep(0.01)
        return Float64(data=1.0), {'publication_sequence_number': next(numbers),
                                   'received_timestamp': time.time_ns()}

    with monkeypatch.context() as patch:
        patch.setattr(subscriptions, 'take_message', take)
        start = time.monotonic()
        own.bridge._facts._read_waiting()
        assert time.monotonic() < start + 5.0
    assert own.bridge._facts._lost == {'load': 1}, 'those that are left were not seen'
    own.wait(handle.cancel_goal_async())


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
