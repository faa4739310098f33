# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Values of a script as messages of ROS: facts and the bridge read them back."""

from __future__ import annotations

from collections.abc import Iterator
import importlib.util
from pathlib import Path
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_flow
from action_lifecycle.nodes.scripted.fact_publishers import new_element
from action_lifecycle.ros.conversions.evidence import fact_value
from action_lifecycle.ros.interfaces.field_kinds import field_kind
from action_lifecycle.ros.interfaces.types import message_class
from action_lifecycle.testing import RobotScript, ScriptedNode
from action_lifecycle.testing.fact_messages import TopicMessages
from action_lifecycle.world import parse_facts, Validity, WorldModel
from action_lifecycle.world.expressions.constant_values import as_value
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from .bridge_rig import Rig
from .test_fact_types import CASES

DESCRIBED = ('sensor_msgs/msg/PointCloud2', 'sensor_msgs/msg/Image')


@pytest.mark.parametrize(('type_name', 'field', 'more', 'expected'), [
    (type_name, field, more, expected) for type_name, field, more, _, expected in CASES
    if type_name not in DESCRIBED or 'count' in more])
def test_a_value_of_each_type_is_read_from_its_message(
    type_name: str, field: str, more: dict[str, Any], expected: Any
) -> None:
    if importlib.util.find_spec(type_name.split('/')[0]) is None:
        pytest.skip(f'{type_name} is not installed')
    if type_name in DESCRIBED:
        pytest.skip('points and pixels are given under `messages`')
    extra = ''.join(f', {key}: {value}' for key, value in more.items())
    facts = parse_facts('estop: none\nfacts:\n'
                        f"  x: {{topic: t, type: {type_name}, field: '{field}'{extra}}}\n",
                        field_kind=field_kind)
    kind = message_class(type_name)
    topic = TopicMessages(facts.values(), (), kind, new_element)
    message = topic.message({'x': as_value(expected)}, exact=True)
    model = WorldModel(facts)
    model.ingest('t', deserialize_message(serialize_message(message), kind), 5.0)
    value = model.value('x', 5.0)
    assert value.validity == Validity.VALID, value
    assert value.value == expected if isinstance(expected, str) else np.allclose(
        np.asarray(value.value, float), expected, rtol=1e-6)


FACTS = """\
estop: none
safety:
  - {topic: robot_mode, type: std_msgs/msg/UInt8, field: data, ok_when: [3, 7], mode: on_change}
  - {topic: heart, type: std_msgs/msg/Empty, max_age: 2.0}
facts:
  at: {tf: {target: map, source: base}, max_age: 1.0, always: true}
  heading: {tf: {target: map, source: base, part: rotation}, max_age: 1.0, always: true}
  odometry: {tf: {target: odom, source: base}, max_age: 1.0, always: true}
  speed: {topic: odom, type: nav_msgs/msg/Odometry, field: twist.twist.linear, reduce: norm,
          max_age: 1.0, always: true}
  variance: {topic: pose, type: geometry_msgs/msg/PoseWithCovarianceStamped,
             field: 'pose.covariance[0:8:7]', reduce: max, max_age: .inf, always: true}
  near: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: [min, median],
         window: 0.5, max_age: 1.0, always: true}
  gap: {topic: fingers, type: sensor_msgs/msg/JointState, field: 'position[name=finger]',
        max_age: 1.0, always: true, health: {frozen: 0.5}}
  mode: {topic: robot_mode, type: std_msgs/msg/UInt8, field: data, max_age: 2.0, always: true}
  door: {topic: door, type: std_msgs/msg/String, field: 'data|json.open', max_age: 1.0,
         always: true}
  beats: {topic: beat, type: std_msgs/msg/Bool, field: data, reduce: rate, window: 2.0,
          max_age: 2.0, always: true}
  silent: {topic: silence, type: std_msgs/msg/Float64, field: data, max_age: 1.0, always: true}
  cloud: {topic: cloud, type: sensor_msgs/msg/Image, field: data, reduce: mean, max_age: 1.0,
          always: true}
"""
VALUES: dict[str, Any] = {
    'at': [1.0, 2.0, 0.5], 'heading': [0.0, 0.0, 1.0, 0.0], 'odometry': [-3.0, 0.0, 0.0],
    'speed': 0.4, 'variance': 0.01, 'near': 0.75, 'gap': 0.03, 'mode': 7, 'door': True,
    'beats': 10.0, 'cloud': 25.0}
IMAGE = {'height': 1, 'width': 2, 'step': 2, 'encoding': 'mono8', 'data': [20, 30]}
FLOW = parse_flow("""\
flow: wait
actions:
  wait: {confirm: speed < 0.5}
""", 'flow.yaml')


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, FACTS)
    yield rig
    rig.close()


def node(rig: Rig, **script: Any) -> ScriptedNode:
    """Start a robot of a script beside the bridge of a rig."""
    found = ScriptedNode(FLOW, rig.folder / 'facts.yaml', RobotScript(**script),
                         context=rig.context)
    rig.executor.add_node(found)
    rig.nodes.append(found)
    return found


def test_the_bridge_reads_the_values_of_the_script(rig: Rig) -> None:
    robot = node(rig, facts=VALUES, messages={'cloud': IMAGE})
    rig.start()

    def read() -> dict[str, Any]:
        facts = rig.world[-1].facts if rig.world else []
        return {fact.name: fact_value(fact) for fact in facts if fact.validity == fact.VALID}

    def is_read(name: str, wanted: Any) -> bool:
        close = 1.5 if name == 'beats' else 1e-4
        found = read().get(name)
        return found is not None and np.allclose(np.asarray(found, float), wanted, atol=close)

    for name, value in VALUES.items():
        rig.until(lambda name=name, value=value: is_read(name, value), 10.0)
    assert 'silent' not in read()
    for name, value in {'at': [0.0, 1.0, 0.0], 'speed': 0.0, 'mode': 3, 'variance': 4.0,
                        'door': False, 'near': 0.1}.items():
        robot.signals.begin({name: value}, robot.clock.time, 0.0)
        rig.until(lambda name=name, value=value: is_read(name, value), 10.0)
    assert is_read('gap', 0.03), 'a sensor with noise is not frozen'
    robot.estop = True
    rig.until(lambda: rig.safety[-1].state != rig.safety[-1].READY, 10.0)


@pytest.mark.parametrize(('script', 'words'), [
    ({'facts': {**VALUES, 'cloud': 30.0}}, "fact 'cloud': no message is known in which field"),
    ({'facts': VALUES, 'messages': {'cloud': {'hight': 1}}}, "did you mean 'height'"),
    ({'facts': {**VALUES, 'mode': 300}}, "fact 'mode'"),
])
def test_what_can_not_be_played_is_told_at_the_start(
    rig: Rig, script: dict[str, Any], words: str
) -> None:
    with pytest.raises(LifecycleError, match=words):
        node(rig, **script)


def test_frames_that_contradict_each_other_are_told(rig: Rig) -> None:
    from action_lifecycle.nodes.scripted.transforms import Transforms
    facts = parse_facts("""\
estop: none
facts:
  a: {tf: {target: map, source: base, part: pose}}
  b: {tf: {target: /base, source: tool}}
  c: {tf: {target: map, source: tool}}
""")
    transforms = Transforms(rig.robot, facts)
    stamp = rig.robot.get_clock().now().to_msg()
    turned = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    values = {'a': np.array(turned), 'b': np.array([1.0, 0, 0]), 'c': np.array([0.0, 0, 0])}
    message = transforms.message(values, stamp)
    assert [one.child_frame_id for one in message.transforms] == ['base', 'tool']
    with pytest.raises(LifecycleError, match="fact 'c': the pose of tool in map is to be"):
        transforms.message({**values, 'c': np.array([5.0, 0, 0])}, stamp)
