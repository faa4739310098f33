# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages of bags have the same values, of the same types, as those of rclpy."""

from __future__ import annotations

import array
import contextlib
import math
from typing import Any

from action_lifecycle.bags import BagError
from action_lifecycle.bags.message_types import BagType
from action_lifecycle.bags.storage import Definition
from action_lifecycle.ros.interfaces.definitions import message_definition
from action_lifecycle.ros.interfaces.types import constants_of, message_class
from action_lifecycle.world.facts.selectors import compile_path
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from .random_messages import messages

pytest.importorskip('rosbags')

OF_SENSORS = [
    'sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu', 'sensor_msgs/msg/LaserScan',
    'sensor_msgs/msg/PointCloud2', 'sensor_msgs/msg/Image', 'sensor_msgs/msg/BatteryState',
    'sensor_msgs/msg/Joy', 'sensor_msgs/msg/Range', 'tf2_msgs/msg/TFMessage',
    'diagnostic_msgs/msg/DiagnosticArray', 'geometry_msgs/msg/WrenchStamped',
    'nav_msgs/msg/Odometry', 'std_msgs/msg/Byte', 'std_msgs/msg/String', 'std_msgs/msg/Empty',
    'std_msgs/msg/ByteMultiArray', 'control_msgs/msg/DynamicJointState',
    'trajectory_msgs/msg/JointTrajectory', 'action_lifecycle_msgs/msg/Confirmation']
OF_TESTS = [f'test_msgs/msg/{name}' for name in (
    'Arrays', 'UnboundedSequences', 'BoundedSequences', 'BasicTypes', 'Defaults', 'Strings',
    'Nested', 'MultiNested', 'Constants', 'Empty')]
_types: dict[str, BagType] = {}


def bag_type(name: str) -> BagType:
    if name not in _types:
        _types[name] = BagType(name, Definition('ros2msg', message_definition(name)))
    return _types[name]


def plain(value: Any) -> Any:
    """Return a value with the types of all its parts."""
    if hasattr(value, 'get_fields_and_field_types'):
        return type(value).__name__, {
            name: plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, (array.array, np.ndarray)):
        return type(value).__name__, np.array(value).dtype.str, bytes(value.tobytes())
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return 'nan'
    return type(value).__name__, value


@pytest.mark.parametrize('name', OF_SENSORS + OF_TESTS)
@settings(max_examples=8, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_messages_are_those_of_rclpy(name: str, data: st.DataObject) -> None:
    cls = message_class(name)
    cdr = serialize_message(data.draw(messages(cls)))
    expected = deserialize_message(cdr, cls)
    assert plain(bag_type(name).read(cdr)) == plain(expected)
    swapped = bag_type(name)._reader_of('>')  # the other byte order must be read, too
    assert swapped is not bag_type(name)._reader_of('<')


@pytest.mark.parametrize('name', OF_SENSORS + OF_TESTS)
def test_constants_are_those_of_rclpy(name: str) -> None:
    assert constants_of(bag_type(name).message_class) == constants_of(message_class(name))


@pytest.mark.parametrize('name', [
    name for name in OF_SENSORS if 'action_lifecycle' not in name and 'control' not in name])
def test_without_a_definition_the_types_of_jazzy_are_used(name: str) -> None:
    cdr = serialize_message(message_class(name)())
    assert plain(BagType(name, Definition()).read(cdr)) == plain(bag_type(name).read(cdr))


@pytest.mark.parametrize(('name', 'path', 'count'), [
    ('sensor_msgs/msg/JointState', 'position[name=gripper]', False),
    ('sensor_msgs/msg/JointState', 'position', False),
    ('sensor_msgs/msg/JointState', 'name', False),
    ('sensor_msgs/msg/LaserScan', 'ranges[0]', False),
    ('sensor_msgs/msg/LaserScan', 'ranges[0:2]', False),
    ('sensor_msgs/msg/PointCloud2', 'data', True),
    ('sensor_msgs/msg/Imu', 'orientation', False),
    ('sensor_msgs/msg/Imu', 'orientation_covariance', False),
    ('sensor_msgs/msg/Imu', 'header.stamp', False),
    ('sensor_msgs/msg/BatteryState', 'present', False),
    ('sensor_msgs/msg/BatteryState', 'power_supply_status', False),
    ('sensor_msgs/msg/Joy', 'buttons', False),
    ('std_msgs/msg/Byte', 'data', False),
    ('std_msgs/msg/ByteMultiArray', 'data', False),
    ('std_msgs/msg/String', 'data', False),
    ('diagnostic_msgs/msg/DiagnosticArray', 'status[*].level', False),
    ('diagnostic_msgs/msg/DiagnosticArray', 'status[level=OK].message', False),
    ('diagnostic_msgs/msg/DiagnosticArray', 'status[*].values[*].value', False),
    ('tf2_msgs/msg/TFMessage', 'transforms[*].transform.translation.x', False),
    ('test_msgs/msg/Arrays', 'bool_values', False),
    ('test_msgs/msg/UnboundedSequences', 'bool_values', False),
    ('test_msgs/msg/UnboundedSequences', 'uint8_values[bool_values=true]', False),
    ('test_msgs/msg/UnboundedSequences', 'int64_values[uint8_values=0]', False),
    ('test_msgs/msg/UnboundedSequences', 'basic_types_values[bool_value=true].float32_value',
     False),
    ('test_msgs/msg/UnboundedSequences', 'basic_types_values[byte_value=0].char_value', False),
])
@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_facts_read_the_same_values(
    name: str, path: str, count: bool, data: st.DataObject
) -> None:
    cls = message_class(name)
    cdr = serialize_message(data.draw(messages(cls)))
    for reader in compile_path(path, name, count=count):
        assert _outcome(reader, bag_type(name).read(cdr)) \
            == _outcome(reader, deserialize_message(cdr, cls))


def _outcome(reader: Any, message: Any) -> Any:
    try:
        value = reader(message)
    except Exception as error:
        return type(error).__name__, str(error)
    return plain(value)


def test_both_byte_orders_are_read() -> None:
    kind = BagType('a/msg/B', Definition('ros2msg', 'uint8 x\nfloat64[] y\nint32[2] z\nstring s'))
    little = bytes.fromhex('00010000' '07000000' '01000000' '000000000000f83f' '01000000'
                           'feffffff' '03000000' '686900')
    big = bytes.fromhex('00000000' '07000000' '00000001' '3ff8000000000000' '00000001'
                        'fffffffe' '00000003' '686900')
    for data in (little, big):
        message = kind.read(data)
        assert (message.x, list(message.y), list(message.z), message.s) \
            == (7, [1.5], [1, -2], 'hi')


@pytest.mark.parametrize(('name', 'definition', 'words'), [
    ('my_pkg/msg/Grip', Definition(), "'my_pkg/msg/Grip' is not defined in the bag"),
    ('grip', Definition(), 'expected a name such as'),
    ('a/msg/B', Definition('ros2msg', 'float64 x\na/C c'), "needs 'a/msg/C'"),
    ('a/msg/B', Definition('ros2msg', 'a/B b'), "'a/msg/B' contains itself"),
    ('a/msg/B', Definition('ros2msg', 'float64 [[['), "can't be parsed"),
    ('a/msg/B', Definition('protobuf', 'x'), "in the language 'protobuf'"),
    ('a/msg/B', Definition('ros2msg', 'wstring x'), "type 'a/msg/B'"),
    ('a/msg/B', Definition('ros2msg', 'x' * 2000000), 'at most'),
    ('a/msg/T0', Definition('ros2msg', 'a/T1 t\n' + ''.join(
        f"{'=' * 80}\nMSG: a/T{n}\na/T{n + 1} t\n" for n in range(1, 300))
        + f"{'=' * 80}\nMSG: a/T300\nint8 x\n"), 'more than 50 deep'),
])
def test_types_that_cannot_be_read_are_named(
    name: str, definition: Definition, words: str
) -> None:
    with pytest.raises(BagError, match='.*'.join(words.split('.*'))) as caught:
        BagType(name, definition)
    assert words in str(caught.value)


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.sampled_from(OF_SENSORS), st.binary(max_size=200))
def test_bytes_of_something_else_are_refused_or_read(name: str, data: bytes) -> None:
    with contextlib.suppress(ValueError):
        bag_type(name).read(b'\x00\x01\x00\x00' + data)
