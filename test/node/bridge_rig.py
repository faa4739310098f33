# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bridge beside real action servers and publishers whose behaviour the test controls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import json
import math
import os
from pathlib import Path
import sys
import time
from typing import Any
import uuid

from action_lifecycle.nodes.bridge.node import WorldModelBridge
from action_lifecycle.ros.conversions.basic import to_time, to_uuid
from action_lifecycle.ros.conversions.motion import CALLER
from action_lifecycle.ros.interfaces.qos import event_qos, state_qos
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle_msgs.action import ConfirmOutcome, ExecuteMotion
from action_lifecycle_msgs.msg import Condition, ErrorCode, Motion, SafetyState, WorldState
from action_lifecycle_msgs.srv import Check, ClearStop, Evaluate
from control_msgs.action import GripperCommand
from isolation import domain_id
import rclpy
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from .ending import destroy
from .forked import Forked, ros_arguments

GRIPPER = 'control_msgs/action/GripperCommand'
FACTS = """
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 4.0}
stopped: {/held: {condition: speed < 0.01, hold: 0.05}}
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=gripper]',
        max_age: 0.5, unit: m}
  speed: {topic: joint_states, type: sensor_msgs/msg/JointState, field: velocity, reduce: norm,
          max_age: 0.5}
  present: {topic: present, type: std_msgs/msg/Bool, field: data, max_age: .inf}
limits:
  control_msgs/action/GripperCommand: {command.max_effort: [0, 40]}
  /gripper: {command.position: [0, 0.5]}
  strict: {command.position: [0.001, 0.5]}
  misnamed: {command.positon: [0, 1]}
"""


def action_qos() -> dict[str, Any]:
    """Return profiles for an action of this package, which queue more than ten messages."""
    return {f'{service}_service_qos_profile': event_qos()
            for service in ('goal', 'result', 'cancel')}


class Gripper:
    """A real action server; what it does with a goal is set by the test."""

    def __init__(self, node: Any, name: str = 'gripper', **options: Any) -> None:
        self.node = node
        self.behaviour: str = 'succeed'
        self.goals: list[Any] = []
        self.ids: list[bytes] = []
        self.asked = 0  #: goals that came
        self.canceled = 0
        self.refuse_cancel = False
        self.release: Any = Future()
        self.server = ActionServer(
            node, GripperCommand, name, self.execute, goal_callback=self.decide,
            cancel_callback=self.on_cancel, **options)

    async def decide(self, goal: Any) -> GoalResponse:
        self.asked += 1
        if self.behaviour == 'never_answer':
            await self.release
        return GoalResponse.REJECT if self.behaviour == 'reject' else GoalResponse.ACCEPT

    def on_cancel(self, handle: Any) -> CancelResponse:
        self.canceled += 1
        if self.refuse_cancel:
            return CancelResponse.REJECT
        if self.behaviour == 'wait' and not self.release.done():
            self.release.set_result(None)
        return CancelResponse.ACCEPT

    async def execute(self, handle: Any) -> Any:
        self.goals.append(handle.request)
        self.ids.append(bytes(handle.goal_id.uuid))
        result = GripperCommand.Result(position=0.01, reached_goal=True)
        if self.behaviour == 'preempt':  # as Nav2's servers do: the goal before is aborted
            self.let_go()
        if self.behaviour in ('wait', 'hang', 'preempt'):
            await self.release
        if handle.is_cancel_requested:
            handle.canceled()
        elif self.behaviour == 'abort' or self.ids[-1] != bytes(handle.goal_id.uuid):
            handle.abort()
        else:
            handle.succeed()
        return result

    def let_go(self) -> None:
        if not self.release.done():
            self.release.set_result(None)
        self.release = Future()

    def destroy(self) -> None:
        self.server.destroy()


class Rig:
    """One process, one executor: the bridge, the robot, and who asks the bridge."""

    joint = 'gripper'

    def __init__(self, folder: Path, facts: str = FACTS, *, own_bridge: bool = True,
                 arguments: Sequence[str] = (), **parameters: Any) -> None:
        os.environ.setdefault('ROS_LOG_DIR', str(folder))
        self.folder = folder
        path = folder / 'facts.yaml'
        path.write_text(facts)
        self.context = Context()
        self.domain = domain_id()
        self.environment = {
            **os.environ, 'ROS_DOMAIN_ID': str(self.domain), 'ROS_LOG_DIR': str(folder)}
        rclpy.init(args=list(arguments), context=self.context, domain_id=self.domain)
        self.executor = make_executor(context=self.context)
        given = {'facts_file': str(path), 'facts_rate': 20.0, **parameters}
        self.bridge: Any = WorldModelBridge(context=self.context, parameter_overrides=[
            Parameter(name, value=value) for name, value in given.items()]) if own_bridge else None
        self.robot = rclpy.create_node('robot', context=self.context)
        self.asker = rclpy.create_node('asker', context=self.context)
        self.process: Forked | None = None  #: of the bridge, unless it is our own
        self.nodes = [node for node in (self.bridge, self.robot, self.asker) if node is not None]
        for node in self.nodes:
            self.executor.add_node(node)
        self.gripper = Gripper(self.robot)
        self.joints = self.robot.create_publisher(JointState, 'joint_states', QoSProfile(depth=10))
        self.estop = self.robot.create_publisher(Bool, 'estop', QoSProfile(depth=1))
        self.heartbeat = self.robot.create_timer(0.05, self._beat)
        self.beating = True
        self.moving = 0.0
        self.gap: float | None = None
        self.sampling = self.robot.create_timer(0.02, self._sample)
        self.safety: list[SafetyState] = []
        self.world: list[WorldState] = []
        name = 'world_model_bridge'
        self.asker.create_subscription(
            SafetyState, f'{name}/safety', self.safety.append, state_qos())
        self.asker.create_subscription(
            WorldState, f'{name}/facts', self.world.append, state_qos())
        self.declared: list[WorldState] = []
        self.asker.create_subscription(
            WorldState, f'{name}/declared_facts', self.declared.append, state_qos())
        self.motion = ActionClient(
            self.asker, ExecuteMotion, f'{name}/execute_motion', **action_qos())
        self.confirmation = ActionClient(
            self.asker, ConfirmOutcome, f'{name}/confirm_outcome', **action_qos())
        self.check_client = self.asker.create_client(Check, f'{name}/check')
        self.evaluate_client = self.asker.create_client(Evaluate, f'{name}/evaluate')
        self.clear_client = self.asker.create_client(ClearStop, f'{name}/clear_stop')

    def _beat(self) -> None:
        if self.beating:
            self.estop.publish(Bool(data=False))

    def _sample(self) -> None:
        if self.gap is not None:
            self.publish_gap(self.gap)

    def publish_gap(self, gap: float, stamp: float | None = None) -> None:
        message = JointState(name=[self.joint], position=[gap], velocity=[self.moving])
        message.header.stamp = to_time(self.now() if stamp is None else stamp)
        self.joints.publish(message)

    def now(self) -> float:
        return float(self.robot.get_clock().now().nanoseconds) * 1e-9

    def start(self) -> None:
        """Configure and activate the bridge, wait until it may move."""
        assert self.bridge.start()
        self.until(lambda: self.safety and self.safety[-1].state == SafetyState.READY)
        self.until(lambda: self.motion.server_is_ready() and self.confirmation.server_is_ready())

    def start_bridge(self, **parameters: Any) -> None:
        """Start the bridge as a process of its own."""
        given = {'facts_file': self.folder / 'facts.yaml', 'autostart': True, **parameters}
        with open(self.folder / 'bridge.log', 'ab') as log:
            self.process = Forked(
                ['world_model_bridge', *ros_arguments(given)], self.environment, log)

    @contextmanager
    def beside(self, *programs: Sequence[str]) -> Iterator[None]:
        """Run sensors and busy programs in processes of their own: see sensor_process.py."""
        with open(self.folder / 'sensors.log', 'w') as log:
            started = [Forked([sys.executable, '-m', 'node.sensor_process', *program],
                              self.environment, log) for program in programs]
            try:
                yield
            finally:
                for process in started:
                    process.kill()
                    process.wait(10.0)

    def until(self, condition: Callable[[], Any], timeout: float = 30.0) -> float:
        """Spin until the condition holds; returns how long that took (s)."""
        start = time.monotonic()
        while not condition():
            left = start + timeout - time.monotonic()
            assert left > 0, 'did not happen in time'
            self.executor.spin_once(timeout_sec=min(left, 0.05))
        return time.monotonic() - start

    def wait(self, future: Any, timeout: float = 30.0) -> Any:
        self.until(future.done, timeout)
        return future.result()

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)

    # -- asking the bridge

    def order(self, *goals: Any, **fields: Any) -> ExecuteMotion.Goal:
        """Return a request; each goal is the data of a GripperCommand goal, or a Motion."""
        steps = [goal if isinstance(goal, Motion) else Motion(
            server='gripper', type=GRIPPER, goal_json=json.dumps(goal), server_timeout=10.0,
            timeout=20.0) for goal in goals]
        fields.setdefault('goal_id', to_uuid(uuid.uuid4().hex))
        return ExecuteMotion.Goal(steps=steps, **fields)

    def send(self, order: ExecuteMotion.Goal, caller: bytes = b'test') -> Any:
        """Send an order, return the accepted goal's handle; `caller`: four bytes."""
        goal_id = bytearray(uuid.uuid4().bytes)
        goal_id[CALLER] = caller
        handle = self.wait(self.motion.send_goal_async(
            order, goal_uuid=to_uuid(goal_id.hex())))
        assert handle.accepted
        return handle

    def execute(self, *goals: Any, timeout: float = 15.0, **fields: Any) -> ExecuteMotion.Result:
        handle = self.send(self.order(*goals, **fields))
        return self.wait(handle.get_result_async(), timeout).result

    def confirm(self, expression: str, *, hold: float = 0.0, within: float = 8.0,
                after: float = 0.0, max_age: float = 0.0, feedback: Any = None, **parameters: Any
                ) -> Any:
        """Send a question, return the accepted goal's handle."""
        goal = ConfirmOutcome.Goal(
            conditions=[Condition(name='confirm', expression=expression, hold=hold,
                                  within=within, max_age=max_age)],
            parameters_json=json.dumps(parameters))
        if after:
            goal.after = to_time(after)
        handle = self.wait(self.confirmation.send_goal_async(goal, feedback))
        assert handle.accepted
        return handle

    def result(self, handle: Any, timeout: float = 10.0) -> Any:
        return self.wait(handle.get_result_async(), timeout).result

    def until_it_answers(self, client: Any, goal: Any) -> None:
        """Wait until a bridge that has just started hears a goal it can't use, and is heard."""
        asked: list[Any] = []
        last = -math.inf

        def ask() -> bool:
            nonlocal last
            if time.monotonic() > last + 1.0 and client.server_is_ready():
                last = time.monotonic()
                client.send_goal_async(goal).add_done_callback(
                    lambda sent: asked.append(sent.result().get_result_async()))
            return any(result.done() for result in asked)

        self.until(ask, 20.0)
        answer = next(result for result in asked if result.done())
        assert answer.result().result.error_code == ErrorCode.INVALID_REQUEST

    def call(self, client: Any, request: Any) -> Any:
        self.until(client.service_is_ready)
        return self.wait(client.call_async(request))

    def clear_when_possible(self, client: Any) -> None:
        """Clear a stop: refused until it is over for max_age, and the topics are heard."""
        end = time.monotonic() + 30.0
        while not (answer := self.call(
                client, ClearStop.Request(actor='anna', reason='looked'))).accepted:
            assert answer.error_code == ErrorCode.NOT_ALLOWED, answer.error_msg
            assert time.monotonic() < end, answer.error_msg
            self.spin(0.2)

    def close(self) -> None:
        self.gripper.let_go()
        if self.bridge is not None:
            self.bridge.trigger_shutdown()
        self.executor.shutdown()
        destroy(*self.nodes)
        rclpy.try_shutdown(context=self.context)
