# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How many messages of a type wait until they are read: many small ones, never much memory."""

from __future__ import annotations

from array import array
from typing import Any

from action_lifecycle.ros.interfaces.types import installed_types, message_class, usual_limit
from action_lifecycle.ros.node import subscriptions
from action_lifecycle.ros.node.subscriptions import DEPTH, QUEUE_BYTES, TopicNeed
from action_lifecycle.world.facts.facts_file import QosSpec
from geometry_msgs.msg import PoseStamped, TransformStamped
from nav_msgs.msg import OccupancyGrid, Odometry, Path
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CompressedImage, Image, Imu, JointState, LaserScan
from std_msgs.msg import Float64, Float64MultiArray, Header, String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

HEADER = Header(frame_id='a_robot/with_a_long_name/base_link')
NAMES = [f'left_arm/joint_{number}' for number in range(40)]
POSE = PoseStamped(header=HEADER)


def name_of(message: Any) -> str:
    return '/'.join((type(message).__module__.split('.')[0], 'msg', type(message).__name__))


def depth(name: str, rate: float = 0.0, given: int | None = None) -> int:
    return TopicNeed('t', name, QosSpec(depth=given), print, rate=rate).depth


@pytest.fixture(autouse=True, params=['rmw_fastrtps_cpp', 'rmw_cyclonedds_cpp'])
def middleware(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(subscriptions.rclpy, 'get_rmw_implementation_identifier',
                        lambda: request.param)
    return str(request.param)


@pytest.mark.parametrize('message', [
    Float64(), Imu(header=HEADER), Odometry(header=HEADER, child_frame_id=HEADER.frame_id),
    JointState(header=HEADER, name=NAMES, position=[0.0] * 40, velocity=[0.0] * 40,
               effort=[0.0] * 40),
    LaserScan(header=HEADER, ranges=[0.0] * 1440, intensities=[0.0] * 1440),
    TFMessage(transforms=[TransformStamped(header=HEADER, child_frame_id=name) for name in NAMES]),
], ids=name_of)
def test_what_comes_at_1_khz_has_room_for_4_s(message: Any) -> None:
    found = depth(name_of(message))
    assert found >= DEPTH
    assert found * len(serialize_message(message)) <= QUEUE_BYTES


@pytest.mark.parametrize('message', [
    Path(header=HEADER, poses=[POSE] * 18_000),  # 2 MB
    MarkerArray(markers=[Marker(header=HEADER, ns='obstacles')] * 7500),
    OccupancyGrid(header=HEADER, data=array('b', bytes(2450 * 2450))),
    CompressedImage(header=HEADER, data=array('B', bytes(3_000_000))),
    Image(header=HEADER, data=array('B', bytes(1920 * 1080 * 3))),
    Float64MultiArray(data=[0.0] * 30_000),
    String(data='x' * 250_000),
], ids=name_of)
def test_what_may_be_large_takes_no_more_than_64_mb(message: Any) -> None:
    found = depth(name_of(message))
    assert found >= 10
    assert found * len(serialize_message(message)) <= QUEUE_BYTES


def test_no_type_has_a_deep_queue_of_large_messages() -> None:
    names = installed_types('msg')
    assert 'nav_msgs/msg/Path' in names
    for name in names:
        assert depth(name) == 10 or depth(name) * usual_limit(name) <= QUEUE_BYTES, name


def test_a_type_says_how_large_its_messages_are() -> None:
    for name in ('geometry_msgs/msg/PoseWithCovariance', 'std_msgs/msg/UInt8',
                 'sensor_msgs/msg/NavSatStatus', 'geometry_msgs/msg/Twist'):
        size = len(serialize_message(message_class(name)()))
        assert size / 2 <= usual_limit(name) <= size, name


@pytest.mark.parametrize(('name', 'rate', 'expected'), [
    ('std_msgs/msg/Float64', 5000.0, 20_000), ('std_msgs/msg/Float64', 10.0, DEPTH),
    ('std_msgs/msg/Float64', float('inf'), DEPTH), ('nav_msgs/msg/Path', 1.0, 32),
    ('std_msgs/msg/Float64MultiArray', 1000.0, 4000), ('sensor_msgs/msg/Image', 60.0, 10)])
def test_a_declared_rate_makes_room_for_4_s_but_not_of_images(
    name: str, rate: float, expected: int
) -> None:
    assert depth(name, rate) == expected


@pytest.mark.parametrize(('name', 'given', 'unnumbered'), [
    ('std_msgs/msg/Float64', 10, DEPTH), ('std_msgs/msg/Float64', 9000, 9000),
    ('nav_msgs/msg/Path', 10, 32), ('nav_msgs/msg/Path', 500, 500),
    ('sensor_msgs/msg/CompressedImage', 2, 2)])
def test_a_depth_of_the_file_counts_where_its_losses_show(
    middleware: str, name: str, given: int, unnumbered: int
) -> None:
    assert depth(name, given=given) == (given if middleware == 'rmw_fastrtps_cpp' else unnumbered)
