# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Facts from messages of many types, as rclpy deserializes them."""

from __future__ import annotations

import array
from collections.abc import Callable
import importlib.util
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.interfaces.field_kinds import field_kind
from action_lifecycle.ros.interfaces.types import message_class
from action_lifecycle.world import Condition, parse_facts, Validity, WorldModel
from action_lifecycle.world.expressions.value_types import Kind, kind_of
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message


def scan(message: Any) -> None:
    message.ranges = [3.0, float('nan'), 0.5, float('inf')]


def cloud(message: Any) -> None:
    from sensor_msgs.msg import PointField
    points = np.arange(12, dtype='<f4').reshape(4, 3)
    message.height, message.width, message.point_step, message.row_step = 1, 4, 12, 48
    message.fields = [PointField(name=name, offset=4 * n, datatype=7, count=1)
                      for n, name in enumerate('xyz')]
    message.data = array.array('B', points.tobytes())


def image(message: Any) -> None:
    message.height, message.width, message.step, message.encoding = 2, 3, 3, 'mono8'
    message.data = array.array('B', [0, 10, 20, 30, 40, 50])


def poses(message: Any) -> None:
    from geometry_msgs.msg import Pose
    for n in range(3):
        message.poses.append(Pose())
        message.poses[-1].position.x = float(n)


def joints(message: Any) -> None:
    message.name, message.position = ['a', 'b'], [1.0, 2.0]


def odometry(message: Any) -> None:
    message.pose.pose.position.x, message.twist.twist.linear.x = 4.0, 0.5


def set_field(path: str, value: Any) -> Callable[[Any], None]:
    def change(message: Any) -> None:
        *parents, last = path.split('.')
        for parent in parents:
            message = getattr(message, parent)
        setattr(message, last, value)
    return change


def controller(message: Any) -> None:
    message.joint_names, message.error.positions = ['x', 'y'], [0.01, 0.02]


def dynamic(message: Any) -> None:
    from control_msgs.msg import InterfaceValue
    message.joint_names = ['x', 'finger']
    message.interface_values = [
        InterfaceValue(interface_names=['position', 'effort'], values=[n, 10.0 * n])
        for n in (1.0, 2.0)]


def detections(message: Any) -> None:
    from vision_msgs.msg import Detection3D, ObjectHypothesisWithPose
    for name, x in (('cup', 1.0), ('plate', 2.0)):
        found = Detection3D(id=name)
        found.bbox.center.position.x = x
        found.results.append(ObjectHypothesisWithPose())
        found.results[0].hypothesis.score = 0.9
        message.detections.append(found)


def many_detections(message: Any) -> None:
    from vision_msgs.msg import Detection3D, ObjectHypothesisWithPose
    for names in ((), ('plate', 'cup'), ('cup',)):
        found = Detection3D(id=str(len(names)))
        for n, name in enumerate(names):
            found.results.append(ObjectHypothesisWithPose())
            found.results[-1].hypothesis.class_id = name
            found.results[-1].hypothesis.score = 0.5 + 0.25 * n
        message.detections.append(found)


def diagnostics(message: Any) -> None:
    from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
    for name, level in (('left', DiagnosticStatus.OK), ('right', DiagnosticStatus.ERROR)):
        message.status.append(DiagnosticStatus(
            name=name, level=level, values=[KeyValue(key='voltage', value='24.5 V')]))


CASES = [
    ('vision_msgs/msg/Detection3DArray', 'detections[*].results[*].hypothesis.score',
     {'reduce': 'max'}, many_detections, 0.75),
    ('vision_msgs/msg/Detection3DArray', 'detections[*].results[*].hypothesis.score', {},
     many_detections, [0.5, 0.75, 0.5]),
    ('vision_msgs/msg/Detection3DArray', 'detections[results[0].hypothesis.class_id=cup].id', {},
     many_detections, '1'),
    ('diagnostic_msgs/msg/DiagnosticArray', 'status[name=right].level', {}, diagnostics, 2),
    ('diagnostic_msgs/msg/DiagnosticArray', 'status[*].level', {'reduce': 'max'}, diagnostics, 2),
    ('diagnostic_msgs/msg/DiagnosticArray', 'status[level=ERROR].name', {}, diagnostics, 'right'),
    ('diagnostic_msgs/msg/DiagnosticArray',
     'status[name=left].values[key=voltage].value|number', {}, diagnostics, 24.5),
    ('diagnostic_msgs/msg/DiagnosticArray', 'status[*].values[key=voltage].value|number', {},
     diagnostics, [24.5, 24.5]),
    ('sensor_msgs/msg/JointState', 'position[name=b,a]', {}, joints, [2.0, 1.0]),
    ('std_msgs/msg/ByteMultiArray', 'data', {}, set_field('data', [b'\x01', b'\x03']), [1, 3]),
    ('sensor_msgs/msg/JointState', 'position[name=b]', {}, joints, 2.0),
    ('sensor_msgs/msg/LaserScan', 'ranges', {'reduce': 'min'}, scan, 0.5),
    ('sensor_msgs/msg/LaserScan', 'ranges[0]', {}, scan, 3.0),
    ('sensor_msgs/msg/PointCloud2', 'data.z', {'reduce': 'mean'}, cloud, 6.5),
    ('sensor_msgs/msg/PointCloud2', 'data.x', {'reduce': 'count'}, cloud, 4),
    ('sensor_msgs/msg/Image', 'data', {'reduce': 'mean'}, image, 25.0),
    ('sensor_msgs/msg/Image', 'data[0:2, 1:3]', {'reduce': 'max'}, image, 50),
    ('sensor_msgs/msg/Imu', 'linear_acceleration', {'reduce': 'norm'},
     set_field('linear_acceleration.z', 9.81), 9.81),
    ('sensor_msgs/msg/Range', 'range', {}, set_field('range', 0.25), 0.25),
    ('sensor_msgs/msg/BatteryState', 'percentage', {}, set_field('percentage', 0.5), 0.5),
    ('geometry_msgs/msg/WrenchStamped', 'wrench.force', {},
     set_field('wrench.force.z', -3.0), [0.0, 0.0, -3.0]),
    ('nav_msgs/msg/Odometry', 'pose.pose.position', {}, odometry, [4.0, 0.0, 0.0]),
    ('nav_msgs/msg/Odometry', 'twist.twist.linear.x', {}, odometry, 0.5),
    ('geometry_msgs/msg/PoseStamped', 'pose', {}, set_field('pose.position.y', 1.5),
     [0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 1.0]),
    ('geometry_msgs/msg/PoseArray', 'poses[2].position.x', {}, poses, 2.0),
    ('geometry_msgs/msg/PoseArray', 'poses', {'reduce': 'count'}, poses, 3),
    ('geometry_msgs/msg/PoseArray', 'poses[*].position.x', {'reduce': 'max'}, poses, 2.0),
    ('std_msgs/msg/Bool', 'data', {}, set_field('data', True), True),
    ('std_msgs/msg/Float64', 'data', {}, set_field('data', 1.25), 1.25),
    ('std_msgs/msg/Int32', 'data', {}, set_field('data', -7), -7),
    ('std_msgs/msg/String', 'data', {}, set_field('data', 'open'), 'open'),
    ('control_msgs/msg/JointTrajectoryControllerState', 'error.positions', {'reduce': 'max'},
     controller, 0.02),
    ('control_msgs/msg/DynamicJointState', 'interface_values[joint_names=finger].values[1]', {},
     dynamic, 20.0),
    ('vision_msgs/msg/Detection3DArray', 'detections[id=plate].bbox.center.position', {},
     detections, [2.0, 0.0, 0.0]),
    ('vision_msgs/msg/Detection3DArray', 'detections', {'reduce': 'count'}, detections, 2),
    ('vision_msgs/msg/Detection3DArray', 'detections[0].results[0].hypothesis.score', {},
     detections, 0.9),
]


@pytest.mark.parametrize(('type_name', 'field', 'more', 'fill', 'expected'), CASES)
def test_a_fact_from(
    type_name: str, field: str, more: dict[str, Any], fill: Callable[[Any], None], expected: Any,
) -> None:
    package = type_name.split('/')[0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f'{package} is not installed')
    extra = ''.join(f', {key}: {value}' for key, value in more.items())
    facts = parse_facts('estop: none\nfacts:\n'
                        f"  x: {{topic: t, type: {type_name}, field: '{field}'{extra}}}\n",
                        field_kind=field_kind)
    kind = message_class(type_name)
    message = kind()
    fill(message)
    if hasattr(message, 'header'):
        message.header.stamp = to_time(4.5)
    model = WorldModel(facts)
    model.ingest('t', deserialize_message(serialize_message(message), kind), 5.0)
    value = model.value('x', 5.0)
    assert value.validity == Validity.VALID, value
    assert value.stamp == (4.5 if hasattr(message, 'header') else 5.0)
    assert kind_of(value.value) is facts.kinds['x'] or facts.kinds['x'] is Kind.NUMBERS
    if isinstance(expected, str):
        assert value.value == expected
    else:
        assert np.allclose(np.asarray(value.value, dtype=float), expected)


@pytest.mark.parametrize(('type_name', 'field', 'words'), [
    ('sensor_msgs/msg/JointState', 'positions[name=b]', "did you mean 'position'"),
    ('sensor_msgs/msg/JointState', 'position[names=b]', "did you mean 'name'"),
    ('geometry_msgs/msg/PoseStamped', 'pose.positon.x', "did you mean 'position'"),
    ('vision_msgs/msg/Detection3DArray', 'detections[header.frame=x]', "did you mean 'frame_id'"),
    ('std_msgs/msg/Bool', 'data[0]', 'is no array'),
    ('geometry_msgs/msg/PoseArray', 'poses[0:2].position', "write 'poses[*].position'"),
    ('geometry_msgs/msg/PoseArray', 'poses.position', 'or an index'),
    ('sensor_msgs/msg/JointState', 'position[0, 1]', 'several indices are for images'),
    ('std_msgs/msg/Bol', 'data', "did you mean 'std_msgs/msg/Bool'"),
    ('std_msgs/msg/Float64', 'data|number', "'|number' reads a string, and 'data' is a number"),
    ('std_msgs/msg/String', 'data|jsn', "did you mean 'json'"),
    ('diagnostic_msgs/msg/DiagnosticArray', 'status[level=EROR].name',
     'neither a number nor a constant of diagnostic_msgs/msg/DiagnosticStatus; '
     "did you mean 'ERROR'?"),
    ('diagnostic_msgs/msg/DiagnosticArray', 'status[values[0].kay=x].name', "did you mean 'key'"),
    ('sensor_msgs/msg/BatteryState', 'header', 'a message whose fields are not all numbers'),
    ('vision_msgs/msg/Detection3DArray', 'detections[0]', 'add the one to read to the path'),
])
def test_a_path_that_the_type_does_not_have_is_named(
    type_name: str, field: str, words: str,
) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_facts(f"estop: none\nfacts:\n  x: {{topic: t, type: {type_name}, field: '{field}'}}",
                    'facts.yaml', field_kind)
    assert words in str(caught.value) and str(caught.value).startswith('facts.yaml:3:')


@pytest.mark.parametrize(('text', 'words'), [
    ('estop: {topic: e, type: std_msgs/msg/Bool, field: dta}', "did you mean 'data'"),
    ('estop: {topic: e, type: std_msgs/msg/Bol, field: data}', "did you mean 'std_msgs/msg/Bool'"),
    ('estop: {topic: e, type: std_msgs/msg/Bool, field: data, stop_when: stop}', "never 'stop'"),
    ('estop: {topic: e, type: std_msgs/msg/String, field: data}', 'is a text: it is never True'),
    ('estop: {topic: e, type: sensor_msgs/msg/JointState, field: position}', 'expected one value'),
    ('estop: {topic: e, type: lifecycle_msgs/msg/State, field: id, '
     'stop_when: TRANSITION_STATE_CONFIGURNG}',
     "did you mean 'TRANSITION_STATE_CONFIGURING'?"),
    ('estop: {topic: e, type: std_msgs/msg/UInt8, field: data, ok_when: [1, two]}',
     "it is never 'two'"),
    ('{estop: none, limits: {control_msgs/action/GripperCommand: {command.effort: [0, 1]}}}',
     "no field 'effort'"),
    ('{estop: none, limits: {control_msgs/action/GriperCommand: {command: [0, 1]}}}',
     "did you mean 'control_msgs/action/GripperCommand'"),
])
def test_safety_topics_and_limits_that_the_types_do_not_have_are_named(
    text: str, words: str,
) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_facts(text, 'facts.yaml', field_kind)
    assert words in str(caught.value) and str(caught.value).startswith('facts.yaml:1:')


def test_constants_of_message_types_are_known_by_name() -> None:
    facts = parse_facts("""
estop: {topic: e, type: lifecycle_msgs/msg/State, field: id,
        ok_when: [PRIMARY_STATE_ACTIVE, PRIMARY_STATE_INACTIVE]}
facts:
  power: {topic: battery, type: sensor_msgs/msg/BatteryState, field: power_supply_status}
  worst: {topic: diagnostics, type: diagnostic_msgs/msg/DiagnosticArray, field: 'status[*].level',
          reduce: max}
  charging: {expression: power == POWER_SUPPLY_STATUS_CHARGING}
""", 'facts.yaml', field_kind)
    assert facts.safety[0].values == (3, 2) and facts.safety[0].permits
    assert facts.constants.values['ERROR'] == 2  # of the elements of an array, a byte
    message = message_class('sensor_msgs/msg/BatteryState')(power_supply_status=1)
    model = WorldModel(facts)
    model.ingest('battery', message, 1.0)
    assert model.value('charging', 1.0).value is True
    verdict, (evidence,) = model.evaluate([Condition(
        'c', 'power == POWER_SUPPLY_STATUS_FULL or power == BatteryState_POWER_SUPPLY_STATUS_FULL'
    )], 1.0)
    assert verdict.name == 'FALSE'
    assert {fact.name: fact.value for fact in evidence.facts} == {
        'power': 1, 'POWER_SUPPLY_STATUS_FULL': 4, 'BatteryState_POWER_SUPPLY_STATUS_FULL': 4}
    with pytest.raises(DocumentError, match="did you mean 'POWER_SUPPLY_STATUS_CHARGING'"):
        model.evaluate([Condition('c', 'power == POWER_SUPPLY_STATUS_CHARGNG')], 1.0)
    with pytest.raises(DocumentError, match='they are never equal'):
        model.evaluate([Condition('c', "ERROR == 'a'")], 1.0)
