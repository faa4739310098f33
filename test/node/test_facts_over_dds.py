# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Facts from publishers as robots have them: many types, lossy, stalled, restarted, many."""

from __future__ import annotations

from collections.abc import Iterator
import importlib.util
import json
import os
from pathlib import Path
import random
import re
import sys
import time
from typing import Any

from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.interfaces.types import message_class
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import Condition, ErrorCode, Fact
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64

from .bridge_rig import Rig
from .forked import Forked
from .test_fact_types import CASES

CONFIRMED, STALE = ConfirmOutcome.Result.CONFIRMED, ConfirmOutcome.Result.STALE
PROFILES = (  # as drivers have them: reliable, best effort, latched
    QoSProfile(depth=10),
    QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT),
    QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))


def test_every_type_is_read_from_publishers_of_any_qos(tmp_path: Path) -> None:
    cases = [case for case in CASES if importlib.util.find_spec(case[0].split('/')[0])]
    lines = [f"  f{n}: {{topic: t{n}, type: {type_name}, field: '{field}', always: true"
             + ''.join(f', {key}: {value}' for key, value in more.items()) + '}'
             for n, (type_name, field, more, _, _) in enumerate(cases)]
    rig = Rig(tmp_path, '\n'.join(['estop: none', 'facts:', *lines]))
    publishers = []
    for n, (type_name, _, _, fill, _) in enumerate(cases):
        message = message_class(type_name)()
        fill(message)
        publishers.append((rig.robot.create_publisher(
            type(message), f't{n}', PROFILES[n % len(PROFILES)]), message))

    def publish() -> None:
        for publisher, message in publishers:
            if hasattr(message, 'header'):
                message.header.stamp = to_time(rig.now())
            publisher.publish(message)

    rig.robot.create_timer(0.1, publish)
    rig.start()
    rig.until(lambda: rig.world and len(rig.world[-1].facts) == len(cases) and all(
        fact.validity == Fact.VALID for fact in rig.world[-1].facts), 20.0)
    seen = {fact.name: fact for fact in rig.world[-1].facts}
    for n, (type_name, field, _, _, expected) in enumerate(cases):
        fact = seen[f'f{n}']
        assert fact.topic == f'/t{n}'
        if isinstance(expected, str):
            assert json.loads(fact.value_json) == expected
        else:
            assert np.allclose(fact.numbers, expected), (type_name, field, fact.numbers)
    rig.close()


FACTS = """
estop: none
facts:
  load: {topic: load, type: std_msgs/msg/Float64, field: data, max_age: 0.3}
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=gripper]',
        max_age: 0.3}
  rate: {topic: load, type: std_msgs/msg/Float64, field: data, reduce: rate, window: 0.5}
"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, FACTS, linger=0.1)
    rig.start()
    yield rig
    rig.close()


def test_a_lossy_topic_confirms_by_what_arrives(rig: Rig) -> None:
    """Most samples are lost, some come late and out of order; the newest stamp counts."""
    rng = random.Random(1)
    late: list[float] = []

    def sample() -> None:
        if rng.random() < 0.7:
            return
        if late and rng.random() < 0.3:
            rig.publish_gap(0.0, stamp=late.pop(0))  # from before: no longer so
        stamp = rig.now()
        late.append(stamp - 0.05)
        rig.publish_gap(0.03, stamp=stamp)

    rig.robot.create_timer(0.01, sample)
    handle = rig.confirm('gap > 0.02', hold=0.4, within=8.0, after=rig.now())
    assert rig.result(handle).verdict == CONFIRMED


def test_a_gap_in_a_lossy_topic_resets_the_hold(rig: Rig) -> None:
    seen: list[Any] = []
    handle = rig.confirm('gap > 0.02', hold=0.6, within=4.0, after=rig.now(), feedback=seen.append)
    rig.until(rig.joints.get_subscription_count)
    for _ in range(3):
        rig.publish_gap(0.03)
        rig.spin(0.4)  # longer than max_age: it might have been anything
    result = rig.result(handle)
    assert any(message.feedback.evidence[0].facts[0].numbers for message in seen), 'none was heard'
    assert (result.verdict, result.error_code) == (STALE, ErrorCode.CONFIRM_STALE)
    assert re.search(r'gap 0\.03 stale: /joint_states has been silent for \d', result.error_msg)


def test_a_stalled_publisher_that_repeats_its_last_sample_goes_stale(rig: Rig) -> None:
    frozen = rig.now()
    rig.robot.create_timer(0.02, lambda: rig.publish_gap(0.03, stamp=frozen))
    result = rig.result(rig.confirm('gap > 0.02', hold=0.5, within=3.0))
    assert result.verdict == STALE
    told = re.search(r'the newest stamp on /joint_states is ([0-9.]+) s old; messages arrive, but '
                     'none has a newer stamp', result.error_msg)
    assert told is not None and float(told[1]) >= 1.0, result.error_msg


def test_a_burst_of_2_khz_is_judged_sample_by_sample(rig: Rig) -> None:
    """A topic at 2 kHz with one bad sample in it: the hold starts again."""
    publisher = rig.robot.create_publisher(Float64, 'load', QoSProfile(depth=1000))
    handle = rig.confirm('load > 0.5', hold=4.0, within=30.0)
    rig.until(publisher.get_subscription_count)
    rig.spin(1.2)  # until the bridge has fitted its QoS: reliable
    bad = 0.0
    start = time.monotonic()
    done = handle.get_result_async()
    sent = 0
    while not done.done():
        if sent == 200:
            bad = rig.now()
            publisher.publish(Float64(data=0.0))
        publisher.publish(Float64(data=1.0))
        sent += 1
        rig.executor.spin_once(timeout_sec=0.0)
        left = start + sent / 2000 - time.monotonic()
        if left > 0:
            rig.executor.spin_once(timeout_sec=left)
        assert time.monotonic() < start + 25.0
    assert bad
    evidence = done.result().result.evidence[0]
    assert done.result().result.verdict == CONFIRMED
    assert evidence.stamp.sec + evidence.stamp.nanosec * 1e-9 >= bad + 4.0


OTHER_TYPE = """
import rclpy
from std_msgs.msg import Bool
rclpy.init()
node = rclpy.create_node('other')
publisher = node.create_publisher(Bool, 'load', 1)
node.create_timer(0.05, lambda: publisher.publish(Bool(data=True)))
rclpy.spin(node)
"""


def test_a_publisher_that_comes_back_with_another_type_is_named_and_never_read(rig: Rig) -> None:
    from diagnostic_msgs.msg import DiagnosticArray
    told: list[DiagnosticArray] = []
    rig.asker.create_subscription(DiagnosticArray, '/diagnostics', told.append, 10)
    first = rig.robot.create_publisher(Float64, 'load', 1)
    timer = rig.robot.create_timer(0.05, lambda: first.publish(Float64(data=1.0)))
    assert rig.result(rig.confirm('load > 0.5')).verdict == CONFIRMED
    rig.robot.destroy_timer(timer)
    rig.robot.destroy_publisher(first)
    # Another process, for DDS lets no participant have two types on one topic.
    script = rig.folder / 'other_type.py'
    script.write_text(OTHER_TYPE)
    with open(rig.folder / 'other_type.log', 'wb') as log:
        other = Forked([sys.executable, str(script)],
                       {**os.environ, 'ROS_DOMAIN_ID': str(rig.domain)}, log)
    handle = rig.confirm('load > 0.5', within=60.0, after=rig.now())
    words = "topic '/load' carries std_msgs/msg/Bool; the facts file says std_msgs/msg/Float64"
    try:
        rig.until(lambda: any(words in status.message
                              for array in told for status in array.status), 60.0)
        handle.cancel_goal_async()
        assert rig.result(handle).verdict != CONFIRMED
    finally:
        other.kill()
        other.wait(10.0)


def test_a_window_over_a_silent_topic_says_zero_hertz(rig: Rig) -> None:
    publisher = rig.robot.create_publisher(Float64, 'load', 10)
    timer = rig.robot.create_timer(0.02, lambda: publisher.publish(Float64(data=1.0)))
    assert rig.result(rig.confirm('rate > 30')).verdict == CONFIRMED
    handle = rig.confirm('rate < 1')
    rig.robot.destroy_timer(timer)
    assert rig.result(handle).verdict == CONFIRMED


@pytest.mark.long
def test_500_open_conditions_on_200_facts_of_50_topics(tmp_path: Path) -> None:
    lines = [f'  f{n}: {{topic: t{n % 50}, type: std_msgs/msg/Float64, field: data}}'
             for n in range(200)]
    rig = Rig(tmp_path, '\n'.join(['estop: none', 'facts:', *lines]))
    publishers = [rig.robot.create_publisher(Float64, f't{n}', 10) for n in range(50)]
    rig.start()
    sending = [rig.confirmation.send_goal_async(ConfirmOutcome.Goal(conditions=[Condition(
        name='confirm', expression=f'f{n % 200} > 0.5', hold=0.2, within=60.0)]))
        for n in range(500)]
    rig.until(lambda: all(future.done() for future in sending), 40.0)
    results = [future.result().get_result_async() for future in sending]
    rig.until(lambda: all(publisher.get_subscription_count() for publisher in publishers))
    high = Float64(data=1.0)

    def publish() -> None:
        for publisher in publishers[:25]:
            publisher.publish(high)
        for publisher in publishers[25:]:
            publisher.publish(Float64(data=0.0))

    rig.robot.create_timer(0.1, publish)
    decided = [results[n] for n in range(500) if n % 50 < 25]
    rig.until(lambda: all(future.done() for future in decided), 55.0)
    assert {future.result().result.verdict for future in decided} == {CONFIRMED}
    assert not any(results[n].done() for n in range(500) if n % 50 >= 25)
    rig.close()
