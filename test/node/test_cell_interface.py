# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""One interface for every cell: MuJoCo's on a live graph, Gazebo's in its configuration."""

from __future__ import annotations

from collections import Counter
import ctypes
import os
from pathlib import Path
import signal
import subprocess
import time
from typing import Any
from xml.etree import ElementTree

from action_lifecycle.documents.stamps import to_seconds
from action_lifecycle.ros.interfaces.types import message_class
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from isolation import domain_id
import pytest
import rclpy
from rclpy.action import get_action_names_and_types
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
import yaml

from .ending import destroy

CONFIG = Path(get_package_share_directory('action_lifecycle')) / 'config'
GAZEBO = CONFIG / 'gazebo'
CELL = yaml.safe_load((CONFIG / 'cell_interface.yaml').read_text())
JOINTS = CELL['joints']
LOOKED = 3.0  # s of simulated time: what is published in it does not depend on the machine
QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class Graph:
    """What is heard of the cell for some time."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node('looker', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.count: Counter[str] = Counter()
        self.frames: dict[str, str] = {}
        self.joints: set[str] = set()
        self.time = 0.0  # s, of /clock
        for topic, spec in CELL['topics'].items():
            self.node.create_subscription(
                message_class(spec['type']), topic,
                lambda message, topic=topic: self.hear(topic, message), QOS)

    def hear(self, topic: str, message: Any) -> None:
        self.count[topic] += 1
        if topic == '/clock':
            self.time = to_seconds(message.clock)
        elif topic == '/tf':
            self.frames.update({each.child_frame_id: each.header.frame_id
                                for each in message.transforms})
        elif hasattr(message, 'header'):
            self.frames[topic] = message.header.frame_id
        if topic == 'joint_states':
            self.joints.update(message.name)

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        destroy(self.node)
        self.context.try_shutdown()


def test_the_mujoco_cell_offers_the_interface_on_a_live_graph(tmp_path: Path) -> None:
    pytest.importorskip('mujoco')
    domain = domain_id()
    folder = Path(get_package_prefix('action_lifecycle'), 'lib/action_lifecycle')
    processes = [subprocess.Popen(
        [str(folder / name)],
        env={**os.environ, 'ROS_DOMAIN_ID': str(domain), 'ROS_LOG_DIR': str(tmp_path)})
        for name in ('sim_cell', 'sim_estop')]
    graph = Graph(domain)
    try:
        limit = time.monotonic() + 20.0
        while not set(graph.count) >= set(CELL['topics']) and time.monotonic() < limit:
            graph.spin(0.2)
        graph.count.clear()
        begin = graph.time
        while graph.time < begin + LOOKED:
            graph.spin(0.1)
            assert time.monotonic() < limit + 40.0, f'/clock has come to {graph.time}'
        slow = [topic for topic, spec in CELL['topics'].items()
                if graph.count[topic] < 0.5 * (graph.time - begin) * spec['rate']]
        types = dict(graph.node.get_topic_names_and_types())
        actions = dict(get_action_names_and_types(graph.node))
    finally:
        graph.close()
        for process in processes:
            process.send_signal(signal.SIGINT)
        assert [process.wait(10.0) for process in processes] == [0, 0]
    assert not slow
    for topic, spec in CELL['topics'].items():
        name = '/' + topic.lstrip('/')
        assert types[name] == [spec['type']]
        if 'frame' in spec:
            assert graph.frames[topic] == spec['frame'], topic
    assert {f'/{name}': [kind] for name, kind in CELL['actions'].items()} == actions
    assert CELL['frames'].items() <= graph.frames.items()
    assert graph.joints == set(JOINTS)


def test_the_joints_of_the_mujoco_model_are_those_of_the_interface() -> None:
    mujoco = pytest.importorskip('mujoco')
    from action_lifecycle.sim.scene import MODEL
    model = mujoco.MjModel.from_xml_path(str(MODEL))
    for name, joint in JOINTS.items():
        force = model.actuator(name).forcerange[1]
        assert force == pytest.approx(joint['force']), name
        if name != 'finger_joint':  # there it is the sum of two
            assert list(model.joint(name).range) == pytest.approx(joint['position']), name
    ranges = [model.joint(f'{side}_joint').range[1] for side in ('left', 'right')]
    assert sum(ranges) == pytest.approx(JOINTS['finger_joint']['position'][1])


def _world() -> Any:
    return ElementTree.parse(GAZEBO / 'cell.sdf').getroot().find('world')


def _bridged() -> dict[str, dict[str, str]]:
    return {entry['ros_topic_name']: entry
            for entry in yaml.safe_load((GAZEBO / 'bridge.yaml').read_text())}


def test_gazebos_bridge_controllers_and_launch_file_give_every_topic_and_action() -> None:
    bridged = _bridged()
    for topic, entry in bridged.items():
        assert entry['ros_type_name'] == CELL['topics'][topic]['type'], topic
        assert entry['direction'] == 'GZ_TO_ROS'
    launch = (CONFIG.parent / 'launch' / 'gazebo.launch.py').read_text()
    controllers = yaml.safe_load((GAZEBO / 'controllers.yaml').read_text())['/**']
    managed = controllers['controller_manager']['ros__parameters']
    given = {'joint_states': managed['joint_state_broadcaster']['type'].endswith(
        'JointStateBroadcaster'), 'estop': 'sim_estop' in launch,
        '/tf': 'robot_state_publisher' in launch}
    assert all(given.values())
    assert set(bridged) | set(given) == set(CELL['topics'])
    types = {'arm_controller': 'joint_trajectory_controller/JointTrajectoryController',
             'gripper_controller': 'effort_controllers/GripperActionController'}
    for action in CELL['actions']:
        controller = action.split('/')[0]
        assert managed[controller]['type'] == types[controller]
        assert f"'{controller}'" in launch
    arm = controllers['arm_controller']['ros__parameters']['joints']
    gripper = controllers['gripper_controller']['ros__parameters']
    assert [*arm, gripper['joint']] == list(JOINTS)
    assert gripper['max_effort'] == JOINTS['finger_joint']['force']
    assert managed['update_rate'] == CELL['topics']['joint_states']['rate']


def test_the_sdf_publishes_what_the_bridge_takes() -> None:
    world = _world()
    topics = {'/clock'}
    for model in world.iter('model'):
        for plugin in model.findall('plugin'):
            if plugin.get('name') == 'gz::sim::systems::PosePublisher':
                topics.add(f"/model/{model.get('name')}/pose")
                rate = CELL['topics'][f"camera/{model.get('name')}/pose"]['rate']
                assert float(plugin.findtext('update_frequency')) == rate
    for sensor in world.iter('sensor'):
        topics.add(sensor.findtext('topic'))
        rate = CELL['topics'][sensor.findtext('topic')]['rate']
        assert float(sensor.findtext('update_rate')) == rate
    assert {entry['gz_topic_name'] for entry in _bridged().values()} == topics


def test_sdf_and_urdf_have_the_joints_of_the_interface() -> None:
    urdf = ElementTree.parse(GAZEBO / 'gantry.urdf').getroot()
    limits = {joint.get('name'): joint.find('limit') for joint in urdf.findall('joint')}
    controlled = [joint.get('name') for joint in urdf.find('ros2_control').findall('joint')]
    assert controlled == list(JOINTS)
    in_sdf = {joint.get('name'): joint for joint in _world().iter('joint')}
    for name, spec in JOINTS.items():
        wanted = [*spec['position'], spec['speed'], spec['force']]
        limit = in_sdf[name].find('axis').find('limit')
        assert [float(limit.findtext(key)) for key in (
            'lower', 'upper', 'velocity', 'effort')] == wanted, name
        assert [float(limits[name].get(key)) for key in (
            'lower', 'upper', 'velocity', 'effort')] == wanted, name
    links = {link.get('name') for link in urdf.findall('link')}
    for child, parent in CELL['frames'].items():
        assert {child, parent} <= links


def test_the_sdf_has_the_parts_and_nests_of_the_mujoco_model() -> None:
    mujoco = pytest.importorskip('mujoco')
    from action_lifecycle.sim.scene import MODEL, PARTS
    model = mujoco.MjModel.from_xml_path(str(MODEL))
    models = {each.get('name'): each for each in _world().findall('model')}
    for part in PARTS:
        link = models[part].find('link')
        size = [float(text) for text in link.find('collision').findtext(
            'geometry/box/size').split()]
        assert size == pytest.approx(2 * model.geom(part).size), part
        pose = [float(text) for text in models[part].findtext('pose').split()]
        assert pose[:3] == pytest.approx(model.body(part).pos), part
    table = {each.get('name'): each for each in models['table'].find('link').iter('collision')}
    for name in ('table', 'supply', 'nests'):
        size = [float(text) for text in table[name].findtext('geometry/box/size').split()]
        pose = [float(text) for text in table[name].findtext('pose').split()]
        assert size == pytest.approx(2 * model.geom(name).size), name
        assert pose[:3] == pytest.approx(model.geom(name).pos), name


def test_libsdformat_accepts_the_world() -> None:
    try:
        library = ctypes.CDLL('libsdformat14.so')
    except OSError:
        pytest.skip('libsdformat 14 is not installed')
    assert library.cmdCheck(str(GAZEBO / 'cell.sdf').encode()) == 0
