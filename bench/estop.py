# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The e-stop beside large messages and many facts.

estop_within_100: of ROUNDS motions, those whose server got the cancel within 100 ms of publishing
    the e-stop's sample, in percent. The bridge keeps 100 facts of ten topics of 200 Hz; a planner
    answers it with results of 5 MB, a path of 2 MB is published at 10 Hz.
estop_median_ms, estop_max_ms: the same times; bare_estop_max_ms: those until a bare node has
    answered the same sample.
false_stops: stops that were latched without the e-stop; its heartbeat has 20 Hz and a max_age of
    0.5 s; heartbeat_max_ms: the longest time between two that were published.

The robot's process, which publishes the heartbeat and serves the motion, has the clock of both.
"""

from __future__ import annotations

import os
from pathlib import Path
import random
import statistics
import tempfile
import time
from typing import Any
import uuid

from _process import Process, ros_environment
from _report import parser, report

LOADS = Path(__file__).parents[1] / 'test' / 'node' / 'load_process.py'
PROCESSES = Path(__file__).with_name('_world_processes.py')
ROUNDS = 100
HEARTBEAT = 0.05  # s
MAX_AGE = 0.5
GRIPPER = {'server': 'gripper', 'type': 'control_msgs/action/GripperCommand'}
PLANNER = {'server': 'compute_path_to_pose', 'type': 'nav2_msgs/action/ComputePathToPose'}


class Robot:
    """The heartbeat, the server of the motion, and who asks the bridge."""

    def __init__(self) -> None:
        from action_lifecycle.ros.interfaces.qos import state_qos
        from action_lifecycle.ros.node.executor import make_executor
        from action_lifecycle_msgs.action import ExecuteMotion
        from action_lifecycle_msgs.msg import SafetyState
        from action_lifecycle_msgs.srv import ClearStop
        import rclpy
        from rclpy.action import ActionClient
        from std_msgs.msg import Bool, Empty
        from world import Canceled
        self.node = rclpy.create_node('robot')
        self.executor = make_executor()
        self.executor.add_node(self.node)
        self.gripper = Canceled(self.node, 'gripper')
        self.states: list[int] = []
        self.echoed = self.gap = 0.0  #: s; `gap`: the longest time between two heartbeats
        self._beaten = time.monotonic()
        self._message = Bool
        self._estop = self.node.create_publisher(Bool, 'estop', 10)
        self.node.create_subscription(
            SafetyState, 'world_model_bridge/safety',
            lambda told: self.states.append(told.state), state_qos())
        self.node.create_subscription(Empty, 'echo', self._hear, 10)
        self.motions = ActionClient(self.node, ExecuteMotion, 'world_model_bridge/execute_motion')
        self.clearing = self.node.create_client(ClearStop, 'world_model_bridge/clear_stop')
        self.node.create_timer(HEARTBEAT, self.beat)
        self.pressed = False

    def _hear(self, message: Any) -> None:
        self.echoed = self.echoed or time.perf_counter()

    def beat(self) -> None:
        """Publish the heartbeat."""
        now = time.monotonic()
        self.gap, self._beaten = max(self.gap, now - self._beaten), now
        self._estop.publish(self._message(data=self.pressed))

    def until(self, condition: Any, seconds: float = 60.0) -> None:
        """Spin until the condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise SystemExit('bench/estop.py: it did not happen in time')
            self.executor.spin_once(timeout_sec=0.005)

    def send(self, step: dict[str, Any]) -> Any:
        """Send a motion of one step; returns the future of its result."""
        from action_lifecycle_msgs.action import ExecuteMotion
        from action_lifecycle_msgs.msg import Motion
        order = ExecuteMotion.Goal(steps=[Motion(
            goal_json='{}', server_timeout=20.0, timeout=60.0, **step)])
        order.goal_id.uuid = list(uuid.uuid4().bytes)
        sending = self.motions.send_goal_async(order)
        self.until(sending.done)
        return sending.result().get_result_async()

    def clear(self) -> None:
        """Release the e-stop and clear the stop, as soon as this is accepted."""
        from action_lifecycle_msgs.srv import ClearStop
        self.pressed = False
        while not self.states or self.states[-1] != 1:
            answer = self.clearing.call_async(ClearStop.Request(actor='bench', reason='bench'))
            self.until(answer.done)
            settled = time.monotonic() + HEARTBEAT
            self.until(lambda settled=settled: time.monotonic() > settled)


def measure(rounds: int, seed: int) -> dict[str, float]:
    """Measure `rounds` stops, each at a random time after a result was asked for."""
    robot, ours, bare, false_stops = Robot(), [], [], 0
    randomly = random.Random(seed)
    robot.until(lambda: robot.states and robot.states[-1] == 1
                and robot.motions.server_is_ready() and robot.clearing.service_is_ready()
                and robot.node.count_publishers('echo') == 1
                and robot._estop.get_subscription_count() == 2)
    for _ in range(rounds):
        robot.gripper.canceled = 0.0
        ended = robot.send(GRIPPER)
        robot.until(lambda: robot.gripper.runs)
        planned = robot.send(PLANNER)
        at = time.monotonic() + randomly.uniform(0.1, 1.5)
        robot.until(lambda at=at: time.monotonic() >= at)
        if robot.gripper.canceled:
            false_stops += 1
        robot.echoed, begin = 0.0, time.perf_counter()
        robot.pressed = True
        robot.beat()
        robot.until(lambda: robot.gripper.canceled and robot.echoed)
        ours.append(1e3 * max(0.0, robot.gripper.canceled - begin))
        bare.append(1e3 * (robot.echoed - begin))
        robot.until(lambda ended=ended, planned=planned: ended.done() and planned.done())
        robot.clear()
    return {'estop_within_100': 100.0 * sum(took <= 100.0 for took in ours) / rounds,
            'estop_median_ms': statistics.median(ours), 'estop_max_ms': max(ours),
            'bare_estop_max_ms': max(bare), 'false_stops': float(false_stops),
            'heartbeat_max_ms': 1e3 * robot.gap}


def main() -> None:
    """Measure everything."""
    options = parser(__doc__)
    options.add_argument('--rounds', type=int, default=ROUNDS, help='motions that are stopped')
    options.add_argument('--seed', type=int, default=1, help='of the times of the stops')
    arguments = options.parse_args()
    import rclpy
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= ros_environment(folder)
        environment = dict(os.environ)
        processes = [
            Process(PROCESSES, environment, 'stopping', folder),
            Process(PROCESSES, environment, 'noise', 10, 200.0),
            *(Process(LOADS, environment, role) for role in ('planner', 'path', 'echo'))]
        try:
            rclpy.init()
            processes[0].line()
            found = measure(arguments.rounds, arguments.seed)
        finally:
            for process in processes:
                process.end()
    report(found, arguments.json)


if __name__ == '__main__':
    main()
