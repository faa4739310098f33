# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The cell's node over real DDS: a process of its own, used as hardware would be."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import statistics
import subprocess
import sys
import time

from action_lifecycle.sim.picture import LIMITS
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand
from geometry_msgs.msg import PoseStamped, WrenchStamped
from isolation import domain_id
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data, QoSDurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CompressedImage, JointState
from std_msgs.msg import Bool, UInt32
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from .ending import destroy

LATCHED = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
TOPICS = {
    'joint_states': (JointState, 10), 'gripper/wrench': (WrenchStamped, 10), 'estop': (Bool, 10),
    'camera/part_a/pose': (PoseStamped, qos_profile_sensor_data),
    'camera/part_b/pose': (PoseStamped, qos_profile_sensor_data),
    '/clock': (Clock, 10), '/tf': (TFMessage, 100),
    'arm_controller/motions_started': (UInt32, LATCHED),
    'gripper_controller/motions_started': (UInt32, LATCHED),
}
SERVICES = {
    'estop/set': SetBool, 'cell/set_parameters': SetParameters, 'cell/save_picture': Trigger}


@pytest.fixture(scope='module')
def isolated(tmp_path_factory):
    """Give this module a domain of its own and return the environment of it."""
    changed = {
        'ROS_DOMAIN_ID': str(domain_id()),
        'ROS_LOG_DIR': str(tmp_path_factory.mktemp('log')),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in changed.items():
            patch.setenv(name, value)
        yield dict(os.environ)


def _start(environment, *parameters, module='node'):
    arguments = [part for parameter in parameters for part in ('-p', parameter)]
    return subprocess.Popen(
        [sys.executable, '-c', f'from action_lifecycle.sim.{module} import main; '
         'raise SystemExit(main())', '--ros-args', *arguments],
        env=environment, stderr=subprocess.PIPE, text=True)


class Client:
    """Talks to the cell; `last`, `count` and `times` (stamps in s) have what each topic said."""

    def __init__(self):
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('client', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.last, self.count = {}, dict.fromkeys(TOPICS, 0)
        self.times = {topic: [] for topic in TOPICS}
        for topic, (kind, qos) in TOPICS.items():
            self.node.create_subscription(
                kind, topic, lambda message, topic=topic: self._hear(topic, message), qos)
        self.arm = ActionClient(
            self.node, FollowJointTrajectory, 'arm_controller/follow_joint_trajectory')
        self.gripper = ActionClient(self.node, GripperCommand, 'gripper_controller/gripper_cmd')
        self.services = {name: self.node.create_client(kind, name)
                         for name, kind in SERVICES.items()}
        self.until(lambda: 'joint_states' in self.last, 20.0)
        self.until(lambda: self.arm.server_is_ready() and self.gripper.server_is_ready())

    def close(self):
        self.executor.shutdown()
        destroy(self.node)
        rclpy.shutdown(context=self.context)

    def _hear(self, topic, message):
        self.last[topic] = message
        self.count[topic] += 1
        if '/clock' in self.last:
            clock = self.last['/clock'].clock
            stamp = message.header.stamp if hasattr(message, 'header') else clock
            self.times[topic].append(stamp.sec + stamp.nanosec * 1e-9)

    def until(self, condition, seconds=60.0):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, 'it does not come about'
            self.executor.spin_once(timeout_sec=0.05)

    def answer(self, future, seconds=60.0):
        self.until(future.done, seconds)
        return future.result()

    def call(self, name, request):
        self.until(self.services[name].service_is_ready)
        return self.answer(self.services[name].call_async(request))

    def send_move(self, seconds, feedback=None, **axes):
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names = [f'{axis}_joint' for axis in axes]
        whole = int(seconds)
        goal.trajectory.points = [JointTrajectoryPoint(
            positions=list(axes.values()),
            time_from_start=Duration(sec=whole, nanosec=int((seconds - whole) * 1e9)))]
        return self.answer(self.arm.send_goal_async(goal, feedback_callback=feedback))

    def move(self, seconds, **axes):
        handle = self.send_move(seconds, **axes)
        assert handle.accepted
        outcome = self.answer(handle.get_result_async())
        assert outcome.status == GoalStatus.STATUS_SUCCEEDED, outcome.result.error_string

    def grip(self, gap, effort):
        goal = GripperCommand.Goal()
        goal.command.position, goal.command.max_effort = gap, effort
        handle = self.answer(self.gripper.send_goal_async(goal))
        outcome = self.answer(handle.get_result_async())
        assert outcome.status == GoalStatus.STATUS_SUCCEEDED
        return outcome.result

    def joint(self, index, field='position'):
        return getattr(self.last['joint_states'], field)[index]

    def press(self, pressed):
        assert self.call('estop/set', SetBool.Request(data=pressed)).success
        self.until(lambda: self.last['estop'].data == pressed)


@pytest.fixture(scope='module')
def process(isolated, tmp_path_factory):
    picture = tmp_path_factory.mktemp('picture') / 'cell.png'
    process = _start(isolated, 'seed:=3', 'real_time_factor:=2.0', f'picture_path:={picture}',
                     'camera_rate:=10.0')
    button = _start(isolated, module='estop')
    yield process
    for ended in process, button:
        ended.send_signal(signal.SIGINT)
        assert ended.wait(20.0) == 0
        assert ended.stderr.read().count('Traceback') == 0


@pytest.fixture(scope='module')
def client(process):
    client = Client()
    yield client
    client.close()


def test_topics_come_at_their_rates_and_in_simulated_time(client):
    client.until(lambda: client.times['/clock'])
    started = client.times['/clock'][-1]
    for times in client.times.values():
        times.clear()
    client.until(lambda: len(client.times['camera/part_a/pose']) > 30, 20.0)
    # The median, as a client that stands still loses samples.
    for topic, rate, error in (('joint_states', 125, 0.01), ('gripper/wrench', 125, 0.01),
                               ('camera/part_a/pose', 10, 0.01)):
        times = client.times[topic]
        spaces = [later - earlier for earlier, later in zip(times, times[1:])]
        assert statistics.median(spaces) == pytest.approx(1 / rate, rel=error), topic
    times = client.times['joint_states']
    assert started - 0.1 <= times[0] and times[-1] <= client.times['/clock'][-1] + 0.1


def test_pick_and_place_is_seen_by_sensors_and_counted(client):
    started = {name: client.last[f'{name}/motions_started'].data
               for name in ('arm_controller', 'gripper_controller')}
    feedback = []
    handle = client.send_move(0.8, feedback.append, x=-0.2, y=-0.12)
    assert client.answer(handle.get_result_async()).status == GoalStatus.STATUS_SUCCEEDED
    client.until(lambda: feedback)
    assert feedback[-1].feedback.joint_names == ['x_joint', 'y_joint', 'z_joint', 'yaw_joint']
    client.until(lambda: feedback[-1].feedback.desired.positions[0] < -0.05)
    client.move(0.6, z=0.052)
    assert client.grip(0.0, 15.0).stalled
    client.move(0.6, z=0.2)
    assert client.joint(4) == pytest.approx(0.04, abs=0.001)
    assert client.joint(4, 'effort') < -13.0
    assert client.last['gripper/wrench'].wrench.force.y > 12.0
    client.move(0.9, x=0.2)
    client.move(0.6, z=0.053)
    assert client.grip(0.08, 30.0).reached_goal
    client.move(0.6, z=0.25)
    client.until(lambda: client.last['camera/part_a/pose'].pose.position.x > 0.1)
    pose = client.last['camera/part_a/pose']
    assert pose.header.frame_id == 'world'
    at = pose.pose.position
    assert (at.x, at.y, at.z) == pytest.approx((0.2, -0.12, 0.045), abs=0.008)
    client.until(lambda: client.last['arm_controller/motions_started'].data
                 == started['arm_controller'] + 6)
    client.until(lambda: client.last['gripper_controller/motions_started'].data
                 == started['gripper_controller'] + 2)


def test_tf_has_the_tool_and_the_parts(client):
    frames = {}

    def known():
        for transform in client.last['/tf'].transforms:
            frames[transform.child_frame_id] = transform
        return {'gripper_tool', 'part_b'} <= frames.keys()

    client.until(known)
    assert frames['gripper_tool'].header.frame_id == 'world'
    assert frames['gripper_tool'].transform.translation.x == pytest.approx(
        client.joint(0), abs=0.01)
    assert frames['part_b'].transform.translation.z == pytest.approx(0.045, abs=0.01)


def test_cancel_is_reported_at_standstill(client):
    client.move(1.2, x=-0.3)
    handle = client.send_move(20.0, x=0.3)
    result = handle.get_result_async()
    client.until(lambda: client.joint(0, 'velocity') > 0.02)
    assert len(client.answer(handle.cancel_goal_async()).goals_canceling) == 1
    assert client.answer(result).status == GoalStatus.STATUS_CANCELED
    seen = client.count['joint_states']
    client.until(lambda: client.count['joint_states'] > seen + 10)
    assert abs(client.joint(0, 'velocity')) < 0.01
    assert client.joint(0) < 0.25


def test_new_goal_preempts_the_running_one(client):
    first = client.send_move(15.0, y=0.2)
    second = client.send_move(1.0, y=0.0)
    outcome = client.answer(first.get_result_async())
    assert outcome.status == GoalStatus.STATUS_ABORTED
    assert outcome.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert client.answer(second.get_result_async()).status == GoalStatus.STATUS_SUCCEEDED


def test_goal_outside_the_limits_is_rejected_and_moves_nothing(client):
    started = client.last['arm_controller/motions_started'].data
    assert not client.send_move(3.0, x=0.5).accepted
    assert not client.send_move(3.0, x=float('nan')).accepted
    assert client.last['arm_controller/motions_started'].data == started


def test_estop_aborts_rejects_and_releases(client):
    client.move(1.2, x=0.0)
    handle = client.send_move(15.0, x=-0.3)
    client.until(lambda: client.joint(0, 'velocity') < -0.015)
    client.press(True)
    outcome = client.answer(handle.get_result_async())
    assert outcome.status == GoalStatus.STATUS_ABORTED
    assert outcome.result.error_code == FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
    assert 'e-stop' in outcome.result.error_string
    assert not client.send_move(1.0, x=0.0).accepted
    client.press(False)
    client.move(1.0, x=0.0)


def _set(client, name, value):
    parameter = Parameter(name=name, value=ParameterValue(
        type=ParameterType.PARAMETER_STRING, string_value=value))
    request = SetParameters.Request(parameters=[parameter])
    return client.call('cell/set_parameters', request).results[0]


def test_muted_topic_falls_silent_and_a_wrong_name_is_refused(client):
    assert _set(client, 'muted_topics', 'camera/part_a/pose, gripper/wrench').successful
    for _ in range(2):  # what was sent before may be heard first
        before = dict(client.count)
        client.until(
            lambda before=before: client.count['joint_states'] > before['joint_states'] + 100)
    assert client.count['camera/part_a/pose'] - before['camera/part_a/pose'] <= 1
    refused = _set(client, 'muted_topics', 'gripper/wrensh')
    assert not refused.successful
    assert "did you mean 'gripper/wrench'" in refused.reason
    assert _set(client, 'muted_topics', '').successful
    client.until(lambda: client.count['gripper/wrench'] > before['gripper/wrench'] + 3)


@pytest.mark.timeout(60 + sum(LIMITS.values()))
def test_picture_is_saved_while_the_cell_goes_on(client):
    trigger = client.services['cell/save_picture']
    client.until(trigger.service_is_ready)
    answer = trigger.call_async(Trigger.Request())
    second = trigger.call_async(Trigger.Request())  # the same picture, not a refusal
    client.move(1.0, x=0.1)
    response = client.answer(answer, sum(LIMITS.values()))
    assert response.success, response.message
    assert client.answer(second).message == response.message
    assert Path(response.message).read_bytes()[:4] == b'\x89PNG'


def _drawing(process):
    """Return the processes that the cell has started."""
    task = Path(f'/proc/{process.pid}/task')
    return [child for thread in task.iterdir()
            for child in (thread / 'children').read_text().split()]


@pytest.mark.timeout(60 + sum(LIMITS.values()))
def test_pictures_are_published_and_drawn_only_while_somebody_subscribes(process, client):
    client.until(lambda: not _drawing(process))
    topic = 'camera/image/compressed'
    info, = client.node.get_publishers_info_by_topic(topic)
    assert info.qos_profile.reliability == qos_profile_sensor_data.reliability
    pictures = []
    subscription = client.node.create_subscription(
        CompressedImage, topic, pictures.append, qos_profile_sensor_data)
    client.until(lambda: len(pictures) > 1, sum(LIMITS.values()))
    client.node.destroy_subscription(subscription)
    assert all(picture.format == 'jpeg' and bytes(picture.data[:3]) == b'\xff\xd8\xff'
               for picture in pictures)
    stamps = [picture.header.stamp.sec + picture.header.stamp.nanosec * 1e-9
              for picture in pictures]
    assert 0.0 < stamps[0] < stamps[1] <= client.times['/clock'][-1]
    client.until(lambda: not _drawing(process))


def test_bad_parameter_ends_the_process_with_a_sentence(isolated):
    process = _start(isolated, 'slippery:=part_d')
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "no part named 'part_d'; did you mean" in errors
    process = _start(isolated, 'real_time_factor:=2.0', 'publish_clock:=false')
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert 'real_time_factor is 2' in errors
    process = _start(isolated, 'camera_rate:=50.0')
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert 'camera_rate is 50; expected 0 to 10' in errors


def test_without_clock_stamps_are_system_time_and_sigterm_ends_it(isolated, client):
    environment = {**isolated, 'ROS_DOMAIN_ID': str(domain_id())}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_DOMAIN_ID', environment['ROS_DOMAIN_ID'])
        process = _start(environment, 'publish_clock:=false')
        other = Client()
    try:
        now = time.time()
        seen = other.count['joint_states']
        other.until(lambda: other.count['joint_states'] > seen + 5)
        assert now - 2.0 <= other.last['joint_states'].header.stamp.sec <= time.time() + 1.0
        assert other.count['/clock'] == 0
        other.move(0.8, x=0.1)
    finally:
        other.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20.0) == 0
