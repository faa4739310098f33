# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The markers node as a process beside a robot's nodes: what a subscriber has, and when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import time
from typing import Any

from action_lifecycle.journal.clock import boot_time
from action_lifecycle.report.looks import state_look
from action_lifecycle.ros.interfaces.qos import state_qos
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
import pytest
from rclpy.action import ActionServer
from rclpy.qos import QoSProfile
from rclpy.task import Future
from visualization_msgs.msg import Marker, MarkerArray

from .test_security import allowed, opened
from .web_rig import ACTION_NODE, BRIDGE, FACTS, Fleet

LINGER, REFRESH = 1.0, 0.4
MARKERS = 'markers'
TOPIC = '/one/markers/actions'
DRIVE = """\
drive:
  motion:
    server: arm/follow
    type: control_msgs/action/FollowJointTrajectory
    goal: {trajectory: {header: {frame_id: base_link}, joint_names: [x]}}
  confirm: {condition: level > 10.0 and level < 100.0, within: 0.5}"""
WATCH = 'watch: {confirm: {condition: "tool[2] > 0.0 or level > 10.0", within: 60.0}}'
PLAIN = 'plain: {confirm: {condition: level > 10.0, within: 60.0}}'


class Subscriber:
    """What a program like RViz has after the messages so far."""

    def __init__(self, fleet: Fleet, qos: QoSProfile, topic: str = TOPIC) -> None:
        self.seen: dict[tuple[str, int], Marker] = {}
        self.ever: dict[str, Marker] = {}  #: the last text that began with a line, also a past one
        self.messages = 0
        self._node = fleet.node
        self._subscription = fleet.node.create_subscription(MarkerArray, topic, self._take, qos)

    def _take(self, message: MarkerArray) -> None:
        self.messages += 1
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                self.seen.clear()
            elif marker.action == Marker.DELETE:
                self.seen.pop((marker.ns, marker.id), None)
            else:
                self.seen[marker.ns, marker.id] = marker
        self.ever.update(self.texts())

    def texts(self) -> dict[str, Marker]:
        """Return the texts by their first lines."""
        return {marker.text.split('\n')[0]: marker
                for (ns, _), marker in self.seen.items() if ns == 'actions'}

    def close(self) -> None:
        self._node.destroy_subscription(self._subscription)


class Robot(Fleet):
    """The nodes of a robot, with an arm that moves for as long as the test wants."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {'one': 1.0})
        self.facts.write_text(FACTS + '  tool: {tf: {target: world, source: tool0}}\n')
        self.arrived: list[Future] = []
        self.arm = ActionServer(
            self.node, FollowJointTrajectory, '/one/arm/follow', self._move)

    async def _move(self, handle: Any) -> Any:
        self.arrived.append(Future(executor=self.executor))
        await self.arrived[-1]
        handle.succeed()
        return FollowJointTrajectory.Result()

    def start_markers(self, robot: str = 'one', **parameters: Any) -> Path:
        """Start a markers node in a namespace; returns its log."""
        given = {'facts_file': self.facts, 'linger': LINGER, 'refresh': REFRESH,
                 'fixed_frame': 'odom', **parameters}
        self.processes[robot, MARKERS] = self.spawn(
            MARKERS, {'autostart': True, **given}, '-r', f'__ns:=/{robot}', log=f'{robot}_markers')
        return self.folder / f'{robot}_markers.log'

    def until_text(self, subscriber: Subscriber, line: str, timeout: float = 20.0) -> Marker:
        self.until(lambda: line in subscriber.texts(), timeout, line)
        return subscriber.texts()[line]

    def until_passed(self, subscriber: Subscriber, line: str) -> Marker:
        """Wait for a text that stays for a moment only."""
        self.until(lambda: line in subscriber.ever, 20.0, line)
        return subscriber.ever[line]

    def end_flow(self, flow_id: str) -> None:
        self.levels['one'] = 11.0
        self.until_row('one', flow_id=flow_id, kind='flow', final=True)
        self.levels['one'] = 1.0

    def close(self) -> None:
        self.arm.destroy()
        super().close()


@pytest.fixture(scope='module')
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Robot]:
    robot = Robot(tmp_path_factory.mktemp('markers'))
    robot.start('one', BRIDGE, ACTION_NODE)
    robot.start_markers()
    yield robot
    robot.close()


@pytest.fixture
def rviz(robot: Robot) -> Iterator[Subscriber]:
    subscriber = Subscriber(robot, state_qos())
    yield subscriber
    subscriber.close()


def test_the_markers_follow_an_action_to_its_end(robot: Robot, rviz: Subscriber) -> None:
    robot.send('one', 'first', DRIVE)
    moving = robot.until_text(rviz, 'drive: executing')
    robot.until(lambda: 'drive: executing' in rviz.texts() and rviz.texts()[
        'drive: executing'].header.frame_id == 'base_link', 10.0, 'the frame of the goal')
    assert (moving.ns, moving.id, moving.type) == ('actions', 0, Marker.TEXT_VIEW_FACING)
    assert moving.frame_locked and moving.header.stamp.sec == 0
    assert moving.lifetime.sec + moving.lifetime.nanosec / 1e9 == pytest.approx(3 * REFRESH)
    ball = rviz.seen['places', 0]
    assert ball.type == Marker.SPHERE and ball.header.frame_id == 'base_link'
    assert f'#{round(255 * ball.color.r):02x}' == state_look('executing_motion').dark[:3]
    robot.until(lambda: robot.arrived, 10.0, 'the goal at the arm')
    robot.arrived.pop().set_result(None)
    robot.until_passed(rviz, 'drive: confirming')
    failed = robot.until_passed(rviz, 'drive: failed')
    assert failed.text == 'drive: failed\nconfirm false: level = 1 m', 'not the term that is true'
    assert failed.header.frame_id == 'base_link' and failed.id == 0
    robot.until(lambda: not rviz.seen, 10.0, 'the markers are deleted')
    ended = robot.until_row('one', flow_id='first', event='fail').boot_time
    assert boot_time() > ended + LINGER
    count, end = rviz.messages, time.monotonic() + 3 * REFRESH
    robot.until(lambda: time.monotonic() > end, 10.0, 'three periods')
    assert rviz.messages == count, 'nothing is published while there is nothing to show'


def test_frames_without_a_header_are_those_of_facts(robot: Robot, rviz: Subscriber) -> None:
    robot.send('one', 'two', f'{WATCH}\n{PLAIN}')
    expected = {'watch: verifying': 'tool0', 'plain: verifying': 'odom'}
    robot.until(lambda: expected == {
        line: marker.header.frame_id for line, marker in rviz.texts().items()}, 20.0, 'frames')
    assert {marker.id for marker in rviz.texts().values()} == {0, 1}
    late, volatile = Subscriber(robot, state_qos()), Subscriber(robot, QoSProfile(depth=10))
    robot.until(lambda: late.seen.keys() == rviz.seen.keys() == volatile.seen.keys(), 10.0,
                'late subscribers have them, too')
    robot.end_flow('two')
    assert robot.until_passed(late, 'plain: succeeded').text == (
        'plain: succeeded\nconfirm true: level = 11 m')
    robot.until(lambda: not (rviz.seen or late.seen or volatile.seen), 10.0, 'they are deleted')
    late.close()
    volatile.close()


def test_a_node_that_starts_late_shows_what_runs_and_deletes_it_at_its_end(robot: Robot) -> None:
    """Also those of its earlier life, after it was killed."""
    topic = '/one/late/actions'
    rviz = Subscriber(robot, state_qos(), topic)
    robot.send('one', 'three', PLAIN)
    robot.until_row('one', flow_id='three', event='start')
    log = robot.folder / 'late.log'
    for end in (9, 15):
        process = robot.spawn(
            MARKERS, {'autostart': True, 'facts_file': robot.facts, 'refresh': REFRESH},
            '-r', '__ns:=/one', '-r', '__node:=late', log='late')
        count = rviz.messages
        robot.until(
            lambda count=count: rviz.messages > count and 'plain: verifying' in rviz.texts(),
            40.0, 'a message of this process')
        assert rviz.texts()['plain: verifying'].header.frame_id == 'map'
        process.send_signal(end)
        process.wait(10.0)
    robot.until(lambda: not rviz.seen, 10.0, 'it has deleted its markers')
    assert 'Traceback' not in log.read_text()
    robot.end_flow('three')
    rviz.close()


def test_it_is_deactivated_and_activated(robot: Robot, rviz: Subscriber) -> None:
    robot.send('one', 'four', PLAIN)
    robot.until_text(rviz, 'plain: verifying')
    client = robot.node.create_client(ChangeState, '/one/markers/change_state')

    def change(transition: int) -> None:
        assert robot.ask(
            client, ChangeState.Request(transition=Transition(id=transition))).success

    change(Transition.TRANSITION_DEACTIVATE)
    robot.until(lambda: not rviz.seen, 10.0, 'all are deleted')
    change(Transition.TRANSITION_ACTIVATE)
    robot.until_text(rviz, 'plain: verifying')
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP,
                       Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        change(transition)
    robot.until_text(rviz, 'plain: verifying')
    robot.end_flow('four')
    robot.until(lambda: not rviz.seen, 20.0, 'they are deleted')


def test_its_diagnostics_name_the_frames(robot: Robot) -> None:
    told: dict[str, dict[str, str]] = {}
    subscription = robot.node.create_subscription(
        DiagnosticArray, '/diagnostics', lambda message: told.update(
            {status.name: {value.key: value.value for value in status.values}
             for status in message.status}), 10)
    robot.send('one', 'five', WATCH)
    robot.until(lambda: told.get('one/markers: markers', {}).get('five/watch') == 'tool0', 20.0,
                'its frame')
    robot.end_flow('five')
    robot.node.destroy_subscription(subscription)


def test_markers_of_an_action_node_that_has_died_are_deleted(
    robot: Robot, rviz: Subscriber
) -> None:
    robot.send('one', 'six', PLAIN)
    robot.until_text(rviz, 'plain: verifying')
    robot.processes['one', ACTION_NODE].terminate()
    robot.processes.pop(('one', ACTION_NODE)).wait(20.0)
    robot.until(lambda: not rviz.seen, 20.0, 'they are deleted')
    robot.start('one', ACTION_NODE)
    robot.until_text(rviz, 'plain: verifying', 40.0)
    robot.end_flow('six')


@pytest.mark.parametrize(('parameters', 'said'), [
    ({'fixed_frame': "' / '"}, "'fixed_frame': expected the name of a frame"),
    ({'facts_file': '/nowhere/facts.yaml'}, '/nowhere/facts.yaml')])
def test_a_bad_parameter_leaves_it_unconfigured(
    robot: Robot, parameters: dict[str, Any], said: str
) -> None:
    name = f'bad_{next(iter(parameters))}'
    log = robot.start_markers(name, **parameters)
    robot.until(lambda: re.search(f'configure: .*{said}', log.read_text()), 40.0, said)
    client = robot.node.create_client(GetState, f'/{name}/markers/get_state')
    state = robot.ask(client, GetState.Request()).current_state
    assert state.id == State.PRIMARY_STATE_UNCONFIGURED
    assert 'Traceback' not in log.read_text()
    robot.kill(name, MARKERS)


def test_its_policy_is_what_it_opens(robot: Robot) -> None:
    robot.processes['', MARKERS] = robot.spawn(
        MARKERS, {'autostart': True, 'use_sim_time': True}, log='policy_markers')
    rights = {right for right in allowed() if right.node == MARKERS}
    robot.until(lambda: (MARKERS, '/') in robot.node.get_node_names_and_namespaces()
                and rights <= set(opened(robot, MARKERS)), 40.0, 'everything is open')
    assert set(opened(robot, MARKERS)) == rights
    robot.kill('', MARKERS)
