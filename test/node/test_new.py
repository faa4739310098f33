# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `new`: drafts for a robot that runs, which are valid and whose cases pass."""

from __future__ import annotations

from collections.abc import Iterator
import math
from pathlib import Path
import threading
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.cli.drafts.fact_drafts import draft_facts, FIELDS
from action_lifecycle.cli.drafts.seen_graph import SeenGraph, SeenTopic
from action_lifecycle.flow import load_flow
from action_lifecycle.ros.interfaces.types import action_class, message_class
from action_lifecycle.world import load_facts, parse_facts
from control_msgs.action import GripperCommand
from geometry_msgs.msg import TransformStamped
from hypothesis import given
from hypothesis import strategies as st
from isolation import domain_id
import pytest
import rclpy
from rclpy.action import ActionServer
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from sensor_msgs.msg import BatteryState, JointState
from std_msgs.msg import Bool, String
from tf2_msgs.msg import TFMessage
import yaml

LATCHED = QoSProfile(depth=1, durability=1)
ODOMETRY = 'nav_msgs/msg/Odometry'
NAVIGATE = 'nav2_msgs/action/NavigateToPose'
SPIN = 'nav2_msgs/action/Spin'


class Base:
    """A mobile base with a gripper: publishers at 20 Hz, and two action servers."""

    def __init__(self, domain: int, namespace: str = '') -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        node = self.node = rclpy.create_node('base', context=self.context, namespace=namespace)
        self.odom = node.create_publisher(message_class(ODOMETRY), 'odom', 10)
        self.tf = node.create_publisher(TFMessage, '/tf', 10)
        self.joints = node.create_publisher(JointState, 'joint_states', 10)
        self.estop = node.create_publisher(Bool, 'safety/e_stop', 10)
        self.mode = node.create_publisher(String, 'mode', LATCHED)
        self.silent = node.create_publisher(BatteryState, 'battery_state', 10)
        self.mode.publish(String(data='auto'))
        self.servers = [
            ActionServer(node, action_class(NAVIGATE), 'navigate_to_pose', lambda handle: None),
            ActionServer(node, GripperCommand, 'gripper_cmd', lambda handle: None)]
        node.create_timer(0.05, self._publish)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(node)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def _publish(self) -> None:
        now = self.node.get_clock().now().to_msg()
        odom = message_class(ODOMETRY)()
        odom.header.stamp = now
        odom.twist.twist.linear.x = 0.3
        odom.twist.twist.linear.y = 0.4
        self.odom.publish(odom)
        frames = []
        for parent, child, x in (('map', 'odom', 1.0), ('odom', 'base_link', 2.0)):
            frame = TransformStamped(child_frame_id=child)
            frame.header.stamp, frame.header.frame_id = now, parent
            frame.transform.translation.x, frame.transform.rotation.w = x, 1.0
            frames.append(frame)
        self.tf.publish(TFMessage(transforms=frames))
        joints = JointState(name=['left_finger/1', 'lift'], position=[0.01, 0.5])
        joints.header.stamp = now
        self.joints.publish(joints)
        self.estop.publish(Bool(data=False))

    def close(self) -> None:
        self.executor.shutdown()
        self.thread.join(10.0)
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> int:
    domain = domain_id()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    return domain


@pytest.fixture
def base(domain: int) -> Iterator[Base]:
    base = Base(domain)
    yield base
    base.close()


def new(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    code = main(['new', *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_drafts_of_a_base_are_valid_and_their_cases_pass(
    base: Base, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / 'my robot'
    code, out, err = new(capsys, str(folder), '--listen', '3')
    assert code == 0, err
    assert sorted(path.name for path in folder.iterdir()) == [
        'facts.yaml', 'go_to.cases.yaml', 'go_to.yaml']
    facts = load_facts(folder / 'facts.yaml')
    assert {'at', 'heading', 'speed', 'turning', 'lift', 'mode'} <= set(facts)
    assert facts.safety[0].spec.topic == 'safety/e_stop'
    text = (folder / 'facts.yaml').read_text(encoding='utf-8')
    assert 'at: {tf: {target: map, source: base_link}, max_age: 0.5, unit: m}  # [3, 0, 0]' in text
    assert '# 0.5\n' in next(line for line in text.splitlines(True) if '  speed:' in line)
    assert '#  battery: {topic: battery_state' in text  # silent: commented out
    assert 'max_age: .inf}  # auto' in text
    flow = load_flow(folder / 'go_to.yaml')
    assert flow.parameters == {'x': 3.0, 'y': 0.0}  # where it is
    assert 'dist(at[:2], [x, y]) < 0.25 and speed < 0.02' in flow.text
    assert ' topics, 2 action servers; 7 of 9 facts were read; e-stop: safety/e_stop' in out
    assert '--server takes another: gripper_cmd' in out
    for command in [line.strip() for line in out.splitlines() if 'action_lifecycle test' in line
                    or 'action_lifecycle validate' in line]:
        arguments = command.replace("'", '').removeprefix('action_lifecycle ')
        verb, *rest = arguments.replace('my robot', 'my%robot').split()
        assert main([verb, *(one.replace('my%robot', 'my robot') for one in rest)]) == 0
    assert '3 passed, 0 failed' in capsys.readouterr().out


def test_a_server_can_be_chosen_and_nothing_is_overwritten(
    base: Base, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = new(capsys, str(tmp_path), '--listen', '3', '--server', '/gripper_cmd')
    assert code == 0, err
    assert load_flow(tmp_path / 'grip.yaml').actions['grip'].motion[0].server == 'gripper_cmd'
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, err = new(capsys, str(tmp_path), '--listen', '2')
    assert (code, err.strip()) == (
        2, f"action_lifecycle: '{tmp_path}/facts.yaml' exists and is not overwritten; give "
        'another folder')
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    code, out, err = new(capsys, str(tmp_path / 'x'), '--listen', '2', '--server', 'griper')
    assert code == 2 and not (tmp_path / 'x').exists()
    assert "'griper': there is no such action server (seen: gripper_cmd, navigate_to_pose)" in err
    (tmp_path / 'file').touch()
    code, out, err = new(capsys, str(tmp_path / 'file' / 'x'), '--listen', '2')
    assert code == 2 and 'can not be written: Not a directory' in err


def test_an_empty_graph_is_said(
    domain: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = new(capsys, str(tmp_path / 'x'), '--listen', '1')
    assert code == 3 and not (tmp_path / 'x').exists()
    assert f'no topic and no action server on the ROS domain {domain}: is the robot on' in err


def test_an_e_stop_that_does_not_stop_now_comes_first_and_the_others_are_named(
    domain: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = Base(domain)
    released = base.node.create_publisher(Bool, 'a/estop_released', 10)
    base.node.create_timer(0.1, lambda: released.publish(Bool(data=True)))
    try:
        assert new(capsys, str(tmp_path), '--listen', '3')[0] == 0
        assert new(capsys, str(tmp_path / 'x'), '--namespace', 'zz', '--listen', '2')[0] == 3
    finally:
        base.close()
    text = (tmp_path / 'facts.yaml').read_text(encoding='utf-8')
    assert '# safety/e_stop looks like an e-stop; now it would not stop.' in text
    assert '# a/estop_released looks like one, too' in text
    assert load_facts(tmp_path / 'facts.yaml').safety[0].spec.topic == 'safety/e_stop'


def test_a_namespace_is_left_out_of_the_names(
    domain: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = Base(domain, 'robot7')
    try:
        assert new(capsys, str(tmp_path), '--namespace', 'robot7', '--listen', '3')[0] == 0
    finally:
        base.close()
    facts = yaml.safe_load((tmp_path / 'facts.yaml').read_text(encoding='utf-8'))
    assert facts['estop']['topic'] == 'safety/e_stop'
    assert facts['facts']['speed']['topic'] == 'odom'
    assert load_flow(tmp_path / 'go_to.yaml').actions['go'].motion[0].server == 'navigate_to_pose'


def test_an_unknown_server_gets_a_flow_with_one_line_to_fill_in(
    domain: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = Base(domain)
    try:
        base.servers.append(
            ActionServer(base.node, action_class(SPIN), 'spin', lambda handle: None))
        code, out, err = new(capsys, str(tmp_path), '--listen', '3', '--server', 'spin')
    finally:
        base.close()
    assert code == 0, err
    assert f'edit {tmp_path}/spin.yaml: the goal, and what shows that it has succeeded' in out
    assert '# target_yaw:  # float' in (tmp_path / 'spin.yaml').read_text(encoding='utf-8')
    assert main(['validate', str(tmp_path / 'spin.yaml'), '--facts',
                 str(tmp_path / 'facts.yaml')]) == 2
    said = capsys.readouterr().err
    assert 'spin.yaml:13:7: ' in said and 'CHANGE_ME' in said


names = st.text(st.sampled_from('abc_/-. 019äin'), min_size=1, max_size=12)
joint_names = names | st.text(st.sampled_from('a ,]["\'=|.é\n'), max_size=6)
values = st.floats() | st.just(math.nan)


@given(st.lists(st.tuples(names, st.sampled_from([*FIELDS, 'sensor_msgs/msg/JointState']),
                          st.booleans()), max_size=6),
       st.lists(st.tuples(joint_names, values), max_size=4),
       st.dictionaries(names, names, max_size=5))
def test_whatever_is_seen_the_facts_file_is_valid(
    topics: Any, joints: Any, frames: dict[str, str]
) -> None:
    seen = SeenGraph('/')
    for name, kind, heard in topics:
        name = '/t' + ''.join(one for one in name if one.isalnum() and one.isascii() or one == '_')
        message = message_class(kind)()
        if kind.endswith('JointState'):
            message.name, message.position = [n for n, _ in joints], [v for _, v in joints]
        seen.topics[name] = SeenTopic(name, kind, False, int(heard),
                                      [(1.0 + n, message) for n in range(3 * heard)])
    if frames:
        message = TFMessage(transforms=[TransformStamped(child_frame_id=child)
                                        for child in frames])
        for transform, parent in zip(message.transforms, frames.values()):
            transform.header.frame_id, transform.transform.rotation.w = parent, 1.0
        seen.topics['/tf'] = SeenTopic('/tf', 'tf2_msgs/msg/TFMessage', False, 1, [(3.0, message)])
        seen.frames = frames
    draft = draft_facts(seen, 3.0)
    assert set(parse_facts(draft.text)) == set(draft.valid())


@pytest.mark.parametrize('joint', ['arm lift', 'a,b]', 'the "left" one', "robot's"])
def test_a_joint_with_any_name_becomes_a_fact(joint: str) -> None:
    seen = SeenGraph('/')
    message = JointState(name=['other', joint], position=[0.1, 0.7])
    seen.topics['/joints'] = SeenTopic(
        '/joints', 'sensor_msgs/msg/JointState', False, 1, [(3.0, message)])
    found = {fact.joint: fact for fact in draft_facts(seen, 3.0).joints()}
    assert found[joint].value == 0.7
