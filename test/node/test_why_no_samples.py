# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Why no sample comes: another namespace, QoS that does not match, messages that can't be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from action_lifecycle.ros.interfaces.type_hashes import node_of
from action_lifecycle.ros.node.subscriptions import TopicReader
from action_lifecycle.world.evidence import Validity
from action_lifecycle.world.unmet_conditions import silence
from action_lifecycle_msgs.msg import Condition
from action_lifecycle_msgs.srv import Check
from geometry_msgs.msg import PoseArray
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
import rclpy.utilities
from std_msgs.msg import Float64, String

from .bridge_rig import Rig

FACTS = """
estop: none
facts:
  load: {topic: load, type: std_msgs/msg/Float64, field: data, max_age: 1.0, always: true}
  name: {topic: name, type: std_msgs/msg/String, field: data, max_age: 1.0, always: true}
  poses: {topic: poses, type: geometry_msgs/msg/PoseArray, field: 'poses[*].position.x',
          reduce: max, always: true}
  exact: {topic: exact, type: std_msgs/msg/Float64, field: data, always: true,
          qos: {reliability: reliable}}
"""
CUT_OFF = b'\x00\x01\x00\x00\x02'  #: CDR that ends within its first field


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path, FACTS)
    yield found
    found.close()


def why(rig: Rig, name: str) -> str:
    now = rig.bridge.now()
    fact = rig.bridge._facts.model.value(name, now)
    return '' if fact.validity is Validity.VALID else silence(fact, now, rig.bridge._facts.names)


def test_a_topic_of_another_namespace_is_named(rig: Rig) -> None:
    rig.robot.create_publisher(Float64, '/r2/load', 10)
    rig.robot.create_publisher(String, '/r3/load', 10)
    rig.start()
    rig.until(lambda: why(rig, 'load') == (
        'no sample on /load yet (nobody publishes it; /r2/load is: look at the namespaces, or '
        'remap the topic)'))


def test_qos_that_does_not_match_is_told_before_anything_moves(rig: Rig) -> None:
    best = rig.robot.create_publisher(
        Float64, 'exact', QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    rig.robot.create_timer(0.05, lambda: best.publish(Float64(data=1.0)))
    rig.start()
    told = 'is published as best effort, and the file says reliability: reliable, so that no ' \
        'message comes: leave that out, or write best_effort'
    rig.until(lambda: why(rig, 'exact') == f'no sample on /exact yet ({told})')
    checked = rig.call(rig.check_client, Check.Request(
        conditions=[Condition(name='confirm', expression='exact > 0', within=1.0)]))
    assert [fault.message for fault in checked.faults] == [f"topic '/exact' {told}"]


@pytest.mark.skipif(
    rclpy.utilities.get_rmw_implementation_identifier() != 'rmw_fastrtps_cpp',
    reason='Cyclone DDS reads what follows the message')
def test_messages_that_can_not_be_read_are_told_once(
    rig: Rig, capfd: pytest.CaptureFixture[str]
) -> None:
    publishers = [(rig.robot.create_publisher(cls, topic, 10), length) for cls, topic, length in (
        (String, 'name', 5), (PoseArray, 'poses', 5), (PoseArray, 'poses', 4))]

    def publish() -> None:
        for publisher, length in publishers:
            publisher.publish(CUT_OFF[:length])

    timer = rig.robot.create_timer(0.05, publish)
    rig.start()
    for topic, kind in (('name', 'std_msgs/msg/String'), ('poses', 'geometry_msgs/msg/PoseArray')):
        rig.until(lambda topic=topic, kind=kind: (
            f'no sample on /{topic} yet (a message of' in why(rig, topic)
            and f'bytes can not be read as {kind}' in why(rig, topic)), 15.0)
    rig.spin(2.5)
    rig.robot.destroy_timer(timer)
    assert capfd.readouterr().err.count("topic '/name': a message of") == 1
    publishers[0][0].publish(String(data='part'))
    rig.until(lambda: not why(rig, 'name'))


def test_a_node_that_is_not_known_yet_is_said_so() -> None:
    def endpoint(name: str, namespace: str) -> Any:
        return SimpleNamespace(node_name=name, node_namespace=namespace)

    assert node_of(endpoint('_NODE_NAME_UNKNOWN_', '_NODE_NAMESPACE_UNKNOWN_')) == \
        'a node that is not known yet'
    assert node_of(endpoint('driver', '/r1/')) == '/r1/driver'


def test_a_finding_is_logged_once_although_the_name_of_the_node_comes_later(
    rig: Rig, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.start()
    original, names = TopicReader.publishers, iter(['a node that is not known yet', '/driver'])
    name = [next(names)]

    def publishers(reader: TopicReader) -> Any:
        found = original(reader)
        return found._replace(
            misread=True, strange=f'has another definition of std_msgs/msg/String: {name[0]} has '
            'RIHS01_8') if reader.need.topic == 'name' else found

    monkeypatch.setattr(TopicReader, 'publishers', publishers)
    reader = rig.bridge._facts.subscriptions.readers['name']
    rig.until(lambda: 'not known yet' in reader.trouble)
    name[0] = next(names)
    rig.until(lambda: '/driver' in reader.trouble)
    rig.spin(0.5)
    assert capfd.readouterr().err.count("topic '/name' has another definition") == 1
