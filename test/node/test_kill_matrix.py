# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Nodes killed in every phase of an action on the cell; the cell counts the motions.

The nodes are three processes, of which one or two are killed, or one process. KILL_VICTIMS: who is
killed, `node`, `bridge`, `both` or `composed`, separated by commas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import os
import signal
import time
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import OperatorRequestArray
from action_lifecycle_msgs.srv import Respond
from action_msgs.msg import GoalStatus, GoalStatusArray
import pytest
from rclpy.action import ActionClient
from rclpy.qos import (
    DurabilityPolicy,
    qos_profile_action_status_default,
    qos_profile_sensor_data,
    QoSProfile,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from .system import System

pytestmark = pytest.mark.long

FACTS = """
estop: none
facts:
  tool: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[0:3]',
         max_age: 0.3, unit: m}
  speed: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'velocity[0:4]',
          reduce: norm, max_age: 0.3}
  target: {topic: target, type: std_msgs/msg/Float64, field: data, max_age: 0.3}
"""
FLOW = """\
flow: FLOW
actions:
  move:
    parameters: {x: X}
    resources: [arm]
    motion:
      server: arm_controller/follow_joint_trajectory
      type: control_msgs/action/FollowJointTrajectory
      server_timeout: 30.0
      goal:
        trajectory:
          joint_names: [x_joint]
          points: [{positions: [GOAL], time_from_start: {sec: SECONDS}}]
    stopped: {condition: speed < 0.01, hold: 0.1}
    confirm: {condition: 'abs(tool[0] - x) < 0.01', hold: HOLD, within: WITHIN}
    on_resume: POLICY
"""
ARM, NODE, BRIDGE = 'arm_controller', 'action_lifecycle_node', 'world_model_bridge'
VICTIMS = {'node': (NODE,), 'bridge': (BRIDGE,), 'both': (NODE, BRIDGE), 'composed': (NODE,)}


class Robot(System):
    """The cell and the nodes, with a flow of one motion for each test."""

    def start_up(self) -> None:
        """Start all; the bridge has facts of its own, without an e-stop that would stop too."""
        self.facts.write_text(FACTS)
        self.start_all()
        self.x = 0.0
        self.node.create_subscription(
            JointState, 'joint_states', self._joints, qos_profile_sensor_data)
        target = self.node.create_publisher(Float64, 'target', 10)
        self.target: float | None = None
        self.node.create_timer(0.05, lambda: target.publish(Float64(data=self.target))
                               if self.target is not None else None)
        self.requests: list[Any] = []
        self.node.create_subscription(
            OperatorRequestArray, 'action_lifecycle/operator_requests', self._asked,
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.flows = ActionClient(self.node, ExecuteFlow, 'action_lifecycle/execute_flow')
        self.respond = self.node.create_client(Respond, 'action_lifecycle/respond')
        self.confirming = False
        self.node.create_subscription(
            GoalStatusArray, f'{BRIDGE}/confirm_outcome/_action/status', self._note_confirming,
            qos_profile_action_status_default)
        self.until(lambda: ARM in self.motions and self.flows.server_is_ready(), 30.0, 'the cell')
        # A flow is accepted when all have found each other, for which they need the cell's clock.
        flow, _, before = self.begin('first')
        self.succeeded(flow, before)

    def _note_confirming(self, message: GoalStatusArray) -> None:
        self.confirming = any(
            status.status == GoalStatus.STATUS_EXECUTING for status in message.status_list)

    def _joints(self, message: JointState) -> None:
        self.x = message.position[0]

    def _asked(self, message: OperatorRequestArray) -> None:
        self.requests = list(message.requests)

    def begin(self, name: str, *, seconds: int = 1, hold: float = 0.1, within: float = 3.0,
              goal: str = '', policy: str = 'ask') -> tuple[str, float, int]:
        """Start a flow to the other side; returns its id, where it goes, the motions so far."""
        x = -0.2 if self.x > 0 else 0.2
        text = FLOW
        for key, value in (('FLOW', name), ('SECONDS', seconds), ('HOLD', hold),
                           ('WITHIN', within), ('POLICY', policy), ('GOAL', goal or x),
                           ('X', x)):
            text = text.replace(key, str(value))
        before = self.motions[ARM]
        goal_message = ExecuteFlow.Goal(flow=text, flow_id=name)
        for _ in range(30):  # of a server that was killed just now, DDS tells no better
            self.until(self.flows.server_is_ready, 20.0, 'the action node')
            sent = time.monotonic()
            self.flows.send_goal_async(goal_message)
            self.until(lambda sent=sent: self.state(name) or time.monotonic() > sent + 2.0,
                       5.0, 'the flow is taken')
            if self.state(name):
                return name, x, before
        raise AssertionError(f'the flow is not taken\n{self.logs()}')

    def state(self, flow: str) -> str:
        """Return the state of its action, by the journal."""
        rows = self.rows(flow_id=flow, action_id='move', kind='transition')
        return str(rows[-1].to_state) if rows else ''

    def until_in(self, flow: str, state: str, timeout: float = 30.0) -> None:
        self.until(lambda: self.state(flow) == state, timeout, f'{flow}: {state}')

    def pause(self, seconds: float) -> None:
        moment = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > moment, seconds + 5.0, 'a pause')

    def retry(self, flow: str) -> None:
        """Answer what is asked of a flow: execute the motion again."""
        def asked() -> Any:
            return next((one for one in self.requests if one.flow_id == flow), None)
        request = Respond.Request(
            id=self.until(asked, 40.0, 'a person is asked').id, answer='retry', actor='anna')
        self.until(self.respond.service_is_ready, 40.0, 'the service for answers')
        answer = self.respond.call_async(request)
        self.until(answer.done, 40.0, 'the answer is taken')
        assert answer.result().accepted

    def kill_all(self, victim: str) -> None:
        for name in VICTIMS[victim]:
            self.kill(name)

    def start_again(self, victim: str) -> None:
        for name in VICTIMS[victim]:
            self.start(name)

    def succeeded(self, flow: str, before: int, motions: int = 1) -> None:
        """Wait for its end: succeeded, by evidence, with this many motions."""
        self.until_in(flow, 'terminated', 40.0)
        rows = self.rows(flow_id=flow, action_id='move', kind='transition')
        assert rows[-1].data['outcome'] == 'succeeded', [(row.event, row.cause) for row in rows]
        self.until(lambda: self.motions[ARM] - before >= motions, 40.0, 'the count of motions')
        assert self.motions[ARM] - before == motions
        assert any(row.data.get('evidence') for row in rows)

    def history_tells_of_the_bridge(self, flow: str, victim: str) -> None:
        """Look for how long it was away, if only the bridge was."""
        told = [row.cause for row in self.rows(flow_id=flow, action_id='move', kind='transition')
                if 'the world model bridge did not answer for' in row.cause]
        assert victim == 'both' or len(told) == (victim == 'bridge'), told


@pytest.fixture(scope='module')
def robots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[bool], Robot]]:
    """Give a function that returns the robot with three processes, or the composed one."""
    started: dict[bool, Robot] = {}

    def started_one(composed: bool) -> Robot:
        if composed not in started:
            started[composed] = robot = Robot(tmp_path_factory.mktemp('matrix'), composed)
            robot.start_up()
        return started[composed]

    yield started_one
    for robot in started.values():
        robot.close()


@pytest.fixture
def robot(robots: Callable[[bool], Robot], victim: str) -> Robot:
    return robots(victim == 'composed')


victims = pytest.mark.parametrize(
    'victim', os.environ.get('KILL_VICTIMS', 'node,bridge,composed').split(','))


@victims
def test_killed_before_the_goal_is_sent(robot: Robot, victim: str) -> None:
    """The goal waits for a fact; after the restart no server knows it, and policy says retry."""
    flow, x, before = robot.begin(f'before_{victim}', goal='{fact: target}', policy='retry')
    robot.until_in(flow, 'executing_motion')
    robot.pause(0.5)  # the bridge waits for the fact
    robot.kill_all(victim)
    assert robot.motions[ARM] == before
    robot.start_again(victim)
    robot.target = x
    robot.succeeded(flow, before)
    robot.target = None
    robot.pause(0.5)  # nor is it known to the next


@victims
def test_killed_when_the_goal_is_sent_and_not_accepted(robot: Robot, victim: str) -> None:
    """
    The cell hangs, so that it takes the goal only when its sender is gone.

    A killed process may take what it sent along: then nothing moved, and a person is asked.
    """
    cell = robot.processes['sim_cell']
    for attempt in range(3):
        cell.send_signal(signal.SIGSTOP)
        try:
            flow, _, before = robot.begin(f'sent_{victim}_{attempt}')
            robot.until_in(flow, 'executing_motion')
            robot.pause(0.7)  # the goal is sent
            robot.kill_all(victim)
        finally:
            cell.send_signal(signal.SIGCONT)
        robot.start_again(victim)
        robot.until(lambda flow=flow: robot.state(flow) in ('terminated', 'fallback_requested'),
                    60.0, f'{flow}: ended or asked about')
        if robot.state(flow) == 'terminated':
            robot.succeeded(flow, before)
            return
        assert robot.motions[ARM] == before
        robot.retry(flow)
        robot.succeeded(flow, before)
    raise AssertionError('the goal was lost each time')


@victims
def test_killed_while_the_motion_runs(robot: Robot, victim: str) -> None:
    flow, _, before = robot.begin(f'running_{victim}', seconds=4)
    robot.until(lambda: robot.motions[ARM] > before, 20.0, 'the arm moves')
    robot.kill_all(victim)
    robot.start_again(victim)
    robot.succeeded(flow, before)
    robot.history_tells_of_the_bridge(flow, victim)


@victims
def test_killed_when_the_motion_has_ended_and_nobody_has_read_it(
    robot: Robot, victim: str,
) -> None:
    flow, x, before = robot.begin(f'finished_{victim}', seconds=2)
    robot.until(lambda: robot.motions[ARM] > before, 20.0, 'the arm moves')
    robot.kill_all(victim)
    robot.until(lambda: abs(robot.x - x) < 0.002, 20.0, 'the arm has arrived')
    robot.start_again(victim)
    robot.succeeded(flow, before)


@victims
def test_killed_while_the_sensors_are_asked(robot: Robot, victim: str) -> None:
    flow, _, before = robot.begin(f'confirming_{victim}', hold=4.0, within=8.0)
    robot.until(lambda: any(row.to_state == 'sensor_confirm' for row in robot.rows(flow_id=flow)),
                30.0, f'{flow}: the sensors are to be asked')
    robot.until(lambda: robot.confirming, 10.0, f'{flow}: the sensors are asked')
    robot.kill_all(victim)
    robot.start_again(victim)
    robot.succeeded(flow, before)
    robot.history_tells_of_the_bridge(flow, victim)


@pytest.mark.parametrize('victim', ['both', 'composed'])
def test_an_outcome_that_is_not_there_after_a_crash_of_all_is_asked_about(
    robot: Robot, victim: str
) -> None:
    """The cell is killed too: nobody knows the goal, the sensors refute it, a person decides."""
    flow, _, before = robot.begin(f'crash_{victim}', seconds=20)
    robot.until(lambda: robot.motions[ARM] > before, 20.0, 'the arm moves')
    robot.kill_all(victim)
    robot.kill('sim_cell')
    robot.motions.clear()
    robot.start('sim_cell')
    robot.until(lambda: ARM in robot.motions, 20.0, 'the cell is back')
    robot.start_again(victim)
    robot.until_in(flow, 'fallback_requested', 40.0)
    robot.until(lambda: any(request.kind == 'resume' for request in robot.requests), 10.0,
                'a person is asked')
    assert robot.motions[ARM] == 0
    rows = robot.rows(flow_id=flow, action_id='move', kind='transition')
    assert not any(row.to_state == 'completed' for row in rows)
