# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The e-stop beside large messages, many facts and a page of the viewer.

estop_within_100: of ROUNDS motions, those whose server got the cancel within 100 ms of publishing
    the e-stop's sample, in percent. The composed nodes keep 100 facts of ten topics of 200 Hz; a
    planner answers them with results of 5 MB, a path of 2 MB is published at 10 Hz; the page of
    the present state is open in Chromium (`--no-page`: without).
estop_median_ms, estop_max_ms: the same times. bare_within_100, bare_max_ms: those until a bare
    node has answered the same sample, which is what the machine needs by itself.
false_stops: stops that were latched although the e-stop was not set and its heartbeat of 20 Hz was
    published without a gap of max_age (0.5 s). silences: those with such a gap.
load: the load average at the end.

The robot's process, which publishes the heartbeat and serves the motion, has the clock of both.
Needs NiceGUI, Playwright and Chromium, unless `--no-page` is given.
"""

from __future__ import annotations

from collections import deque
import contextlib
import os
from pathlib import Path
import random
import statistics
import tempfile
import time
from typing import Any
import uuid

from _nodes import Pair
from _process import Process, ros_environment
from _report import parser, report
from _world_processes import NOISE
from web import start_browser, web_node

LOADS = Path(__file__).parents[1] / 'test' / 'node' / 'load_process.py'
PROCESSES = Path(__file__).with_name('_world_processes.py')
ROUNDS = 100
HEARTBEAT = 0.05  # s
MAX_AGE = 0.5
RECENT = 4 * MAX_AGE  # s before a stop in which a silence explains it
PAGE_S = 60.0  # until the page is there
SAFETY_READY, SAFETY_STOPPED = 1, 2  # of SafetyState
FACTS = (
    f'estop: {{topic: estop, type: std_msgs/msg/Bool, field: data, max_age: {MAX_AGE}}}\n'
    'facts:\n  poses: {topic: planned, type: nav_msgs/msg/Path, field: poses, reduce: count, '
    'always: true}\n' + ''.join(
        f'  noise_{number}_{item}: {{topic: noise_{number}, type: '
        f"std_msgs/msg/Float64MultiArray, field: 'data[{item}]', always: true}}\n"
        for number in range(NOISE) for item in range(10)))
GRIPPER = {'server': 'gripper', 'type': 'control_msgs/action/GripperCommand'}
PLANNER = {'server': 'compute_path_to_pose', 'type': 'nav2_msgs/action/ComputePathToPose'}


class Robot:
    """The heartbeat, the server of the motion, and who asks the bridge."""

    def __init__(self) -> None:
        from action_lifecycle.ros.interfaces.qos import state_qos
        from action_lifecycle.ros.node.executor import make_executor
        from action_lifecycle_msgs.action import ExecuteMotion
        from action_lifecycle_msgs.msg import ErrorCode, SafetyState
        from action_lifecycle_msgs.srv import ClearStop
        import rclpy
        from rclpy.action import ActionClient
        from std_msgs.msg import Bool, Empty
        from world import Canceled
        self.node = rclpy.create_node('robot')
        self.executor = make_executor()
        self.executor.add_node(self.node)
        self.gripper = Canceled(self.node, 'gripper')
        self.said_stop = ErrorCode.ESTOP
        self.states: list[int] = []
        self.stops: list[bool] = []  #: by silence; whether the heartbeat had a gap
        self.echoed = 0.0
        self._beats = deque([time.monotonic()])
        self._message = Bool
        self._estop = self.node.create_publisher(Bool, 'estop', 10)
        self.node.create_subscription(
            SafetyState, 'world_model_bridge/safety', self._note, state_qos())
        self.node.create_subscription(Empty, 'echo', self._hear, 10)
        self.motions = ActionClient(self.node, ExecuteMotion, 'world_model_bridge/execute_motion')
        self.clearing = self.node.create_client(ClearStop, 'world_model_bridge/clear_stop')
        self.node.create_timer(HEARTBEAT, self.beat)
        self.pressed = False

    def _hear(self, message: Any) -> None:
        self.echoed = self.echoed or time.perf_counter()

    def _note(self, told: Any) -> None:
        if told.state == SAFETY_STOPPED and told.state != (self.states or [0])[-1] \
                and told.error_code != self.said_stop:
            beats = [beat for beat in self._beats if beat > self._beats[-1] - RECENT]
            self.stops.append(any(
                later - earlier > MAX_AGE for earlier, later in zip(beats, beats[1:])))
        self.states.append(told.state)

    def beat(self) -> None:
        """Publish the heartbeat."""
        self._estop.publish(self._message(data=self.pressed))
        self._beats.append(time.monotonic())

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
        while not self.states or self.states[-1] != SAFETY_READY:
            answer = self.clearing.call_async(ClearStop.Request(actor='bench', reason='bench'))
            self.until(answer.done)
            settled = time.monotonic() + HEARTBEAT
            self.until(lambda settled=settled: time.monotonic() > settled)


def measure(rounds: int, seed: int) -> dict[str, float]:
    """Measure `rounds` stops, each at a random time after a result was asked for."""
    robot, ours, bare = Robot(), [], []
    randomly = random.Random(seed)
    robot.until(lambda: robot.states and robot.states[-1] == SAFETY_READY
                and robot.motions.server_is_ready() and robot.clearing.service_is_ready()
                and robot.node.count_publishers('echo') == 1
                and robot._estop.get_subscription_count() == 2)
    while len(ours) < rounds:
        robot.gripper.canceled = 0.0
        ended = robot.send(GRIPPER)
        robot.until(lambda ended=ended: robot.gripper.runs or ended.done())
        planned = robot.send(PLANNER)
        at = time.monotonic() + randomly.uniform(0.1, 1.5)
        robot.until(lambda at=at: time.monotonic() >= at)
        if robot.gripper.runs and not robot.gripper.canceled:
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
            'bare_within_100': 100.0 * sum(took <= 100.0 for took in bare) / rounds,
            'bare_max_ms': max(bare), 'false_stops': float(robot.stops.count(False)),
            'silences': float(robot.stops.count(True)), 'load': os.getloadavg()[0]}


def main() -> None:
    """Measure everything."""
    options = parser(__doc__)
    options.add_argument('--rounds', type=int, default=ROUNDS, help='motions that are stopped')
    options.add_argument('--seed', type=int, default=1, help='of the times of the stops')
    options.add_argument('--no-page', action='store_true', help='without the viewer')
    arguments = options.parse_args()
    import rclpy
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        os.environ |= ros_environment(folder)
        environment = dict(os.environ)
        pair = Pair(environment, folder)
        Path(folder, 'facts.yaml').write_text(FACTS)
        for process in (Process(PROCESSES, environment, 'noise', 10, 200.0),
                        *(Process(LOADS, environment, role)
                          for role in ('planner', 'path', 'echo'))):
            running.callback(process.end)
        nodes = pair.start('ours')
        running.callback(nodes.wait)
        running.callback(nodes.kill)
        if not arguments.no_page:
            server = running.enter_context(web_node(environment, folder, 'ready.journal', pair))
            page = running.enter_context(start_browser()).new_page()
            page.goto(f'{server.address}/now')
            page.get_by_text('noise_0_0').first.wait_for(timeout=PAGE_S * 1000)
        rclpy.init()
        found = measure(arguments.rounds, arguments.seed)
    report(found, arguments.json)


if __name__ == '__main__':
    main()
