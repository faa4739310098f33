# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the real bridge decided over DDS is repeated from the bag of another subscriber."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
import time
from typing import Any

from action_lifecycle.bags import BagWriter, read_bag
from action_lifecycle.bags.field_kinds import BagFieldKinds
from action_lifecycle.bags.replay import recorded_in_bag, replay, Status, TopicNames
from action_lifecycle.ros.interfaces.definitions import message_definition
from action_lifecycle.ros.interfaces.qos import event_qos
from action_lifecycle.world import parse_facts
from action_lifecycle_msgs.msg import Confirmation
import pytest
from sensor_msgs.msg import JointState

from .bridge_rig import FACTS, Rig

pytest.importorskip('mcap')
pytest.importorskip('rosbags')

ROUNDS = [0.02, 0.004, None, 0.015, 0.002, 0.03, None, 0.008, 0.05, 0.001]
TOPICS = {'/joint_states': JointState, '/world_model_bridge/confirmations': Confirmation}


@pytest.mark.long
def test_fifty_confirmations_over_dds(tmp_path: Path) -> None:
    rig = Rig(tmp_path, linger=0.2)
    heard: list[tuple[str, bytes, float]] = []
    try:
        rig.start()
        for topic, kind in TOPICS.items():
            rig.asker.create_subscription(
                kind, topic, lambda data, topic=topic: heard.append((topic, data, time.time())),
                event_qos(), raw=True)
        rig.until(lambda: rig.bridge.count_subscribers('/world_model_bridge/confirmations')
                  and rig.robot.count_subscribers('/joint_states'))
        rig.gap = 0.02
        rig.until(lambda: heard)
        for gap in ROUNDS:
            rig.gap = gap
            rig.spin(0.1)
            handles = [
                rig.confirm('gap > least', hold=0.2, within=0.9, least=0.01),
                rig.confirm('gap > 0.003', within=0.3, after=rig.now()),
                rig.confirm('gap < 0.01 and speed < 0.1', hold=0.1, within=0.8),
                rig.confirm('present or gap > 0.02', within=0.4, max_age=0.3),
                rig.confirm('speed > 0.1 or gap > 0.012', within=0.2)]
            for handle in handles:
                rig.result(handle)
        rig.until(lambda: sum(topic.endswith('confirmations') for topic, *_ in heard) == 50)
    finally:
        rig.close()
    path = tmp_path / 'run.mcap'
    with BagWriter(path) as bag:
        for topic, kind in TOPICS.items():
            name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
            bag.add_topic(topic, name, message_definition(name))
        bag.add_topic('/present', 'std_msgs/msg/Bool', message_definition('std_msgs/msg/Bool'))
        for topic, data, arrival in heard:
            bag.write(topic, data, arrival)
    with read_bag(path) as opened:
        facts: Any = parse_facts(FACTS, field_kind=BagFieldKinds(opened))
        found = replay(opened, facts, recorded_in_bag(
            opened, '/world_model_bridge/confirmations'), TopicNames(), tolerance=0.03)
    assert [(one.recorded.conditions, one.recorded.verdict, one.verdict, one.reason,
             one.recorded.evidence, one.evidence) for one in found
            if one.differs or one.reason] == []
    verdicts = Counter(one.recorded.verdict for one in found)
    assert len(found) == 50 and len(verdicts) >= 3
    assert sum(one.status is Status.SAME for one in found) >= 40


@pytest.mark.long
def test_black_boxes_are_repeated_to_the_last_digit(tmp_path: Path) -> None:
    boxes = tmp_path / 'boxes'
    rig = Rig(tmp_path, linger=0.2, **{
        'black_box.folder': str(boxes), 'black_box.seconds': 5.0, 'black_box.after': 0.3})
    try:
        rig.start()
        rig.gap = 0.004
        for number in range(12):
            rig.moving = 0.01 * number
            # the sampling goes on, and the limit is anywhere between two samples
            handles = [rig.confirm(text, hold=0.05, within=0.2 + 0.013 * number, after=rig.now())
                       for text in ('gap > 0.01', 'gap < 0.01 and speed < -0.05', 'present')]
            for handle in handles:
                rig.result(handle)
        rig.until(lambda: len(list(boxes.glob('*.mcap'))) >= 8)
    finally:
        rig.close()
    found = []
    for path in boxes.glob('*.mcap'):
        with read_bag(path) as box:
            facts = parse_facts(FACTS, field_kind=BagFieldKinds(box))
            found += replay(box, facts, recorded_in_bag(
                box, '/world_model_bridge/confirmations'), TopicNames(), tolerance=0.0)
    judged = [one for one in found if not one.reason]
    assert [(one.recorded.conditions, one.verdict, one.differences) for one in judged
            if one.status is not Status.SAME] == []
    assert len(judged) >= 20, Counter(one.reason for one in found)
