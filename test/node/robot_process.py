# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Two arms and a gripper as a process of their own, which outlives the nodes that command them.

`python -m node.robot_process LOG` reads commands (a JSON object a line) from its standard input,
ends when that is closed, and writes what happens to LOG, a JSON object a line. RobotDouble
(robot_double.py) starts it, sends it commands and reads the log.

A joint moves evenly to its target within the time that the goal gives, and stands when a cancel
was accepted. Facts and e-stop are published from threads of their own.

Each line of the log has `event`, `boot` (CLOCK_BOOTTIME, as in the journal), `mono`, `wall` (s).
Lines about a goal have `server`, `resource` and `goal` (32 hex digits) too:

asked       a goal came (a second time, too)
rejected    it was refused: an id that is known, or the fault `reject`
accepted    the motion starts; `fault`: what will go wrong, `seconds`: how long it takes
canceling   a cancel was accepted; cancel_refused: it was not
succeeded, canceled, aborted     what the server says of the end
still       the joint stands, or another goal has taken over: the true end of the motion
died        the server of the joint is gone, and comes back
lost        an answer was not sent; `answer`: acceptance or result
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import json
import math
from pathlib import Path
import queue
import signal
import sys
import threading
import time
from typing import Any

from action_lifecycle.journal.clock import boot_time
from action_lifecycle.ros.node.executor import make_executor
from action_msgs.msg import GoalInfo
from control_msgs.action import FollowJointTrajectory, GripperCommand
import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

PARTS: dict[str, tuple[str, Any]] = {
    'left': ('arm_left/follow_joint_trajectory', FollowJointTrajectory),
    'right': ('arm_right/follow_joint_trajectory', FollowJointTrajectory),
    'gripper': ('gripper/gripper_cmd', GripperCommand)}
"""Server and type of each joint; its name is that of the resource, too."""

GRIPPER_SPEED = 0.1  #: m/s; the goal of a gripper has no time

FAULTS = frozenset({
    'lie',              # says succeeded, the joint has not moved
    'abort',            # gives up half way
    'drive_on',         # ends as `end` says (aborted) half way or at `share` of it, and stops
                        # `seconds` later
    'hang',             # goes on moving to and fro until it is canceled or released
    'slow_stop',        # accepts a cancel, and stops `seconds` later
    'creep',            # says canceled at once, and stops `seconds` later
    'refuse_cancel',
    'reject',           # refuses the goal
    'lose_acceptance',  # starts the motion, and its answer to the goal does not arrive
    'lose_result',      # the result of the motion does not arrive, unless it is asked for again
})

TICK = 0.02  #: s


class Log:
    """Appends lines to the log; from any thread."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open('a', encoding='utf-8')  # noqa: SIM115
        self._lock = threading.Lock()

    def __call__(self, event: str, **fields: Any) -> None:
        line = {'event': event, 'boot': boot_time(),
                'mono': time.monotonic(), 'wall': time.time(), **fields}
        with self._lock:
            self._file.write(json.dumps(line) + '\n')
            self._file.flush()


class Motion:
    """One goal: moves its joint, until it has ended for its client and the joint stands."""

    def __init__(self, part: Part, handle: Any, target: float, seconds: float,
                 fault: dict[str, Any]) -> None:
        self.part = part
        self.handle = handle
        self.fault = str(fault.get('fault', ''))
        self.extra = float(fault.get('seconds', 1.0))
        self.how = str(fault.get('end', 'aborted'))
        self.share = float(fault.get('share', 0.5))
        self.told = False  #: its client has its end
        self.still = False
        self._from, self._target, self._seconds = part.position, target, max(seconds, TICK)
        self._began = time.monotonic()
        self._stop_at: float | None = None
        self._moved_at = self._began
        part.log('accepted', handle, fault=self.fault, seconds=seconds, target=target)
        with suppress(Exception):  # it is canceled already
            handle.executing()

    def tick(self, now: float) -> None:
        """Move on, and end when it is time to."""
        if self._stop_at is None and self.handle.is_cancel_requested:
            slow = self.fault in ('slow_stop', 'creep')
            self._stop_at = now + (self.extra if slow else 0.0)
            if self.fault == 'creep':
                self._tell('canceled')
        share = (now - self._began) / self._seconds
        if self._stop_at is not None and now >= self._stop_at:
            self._end('canceled')
        elif self.fault == 'hang' or self._stop_at is not None:  # to and fro
            self._go(self._from + 0.5 * (self._target - self._from) * abs((share + 1) % 2 - 1))
        elif self.fault == 'abort' and share >= 0.5:
            self._end('aborted')
        elif self.fault == 'drive_on' and share >= self.share:
            self._tell(self.how)
            self._stop_at = now + self.extra
        else:
            if self.fault != 'lie':
                self._go(self._from + (self._target - self._from) * min(share, 1.0))
            if share >= 1.0:
                self._end('succeeded')
        self._moved_at = now

    def give_way(self) -> None:
        """End for another goal, which moves the joint from now on."""
        self._end('aborted')

    def orphan(self, seconds: float) -> None:
        """Move on for so long without a server."""
        self.told = True
        self._stop_at = time.monotonic() + seconds

    def release(self) -> None:
        """Let what hangs go on to its end, what stops slowly stand now."""
        self.fault = ''
        if self._stop_at is not None:
            self._stop_at = 0.0

    def _go(self, position: float) -> None:
        elapsed = max(time.monotonic() - self._moved_at, 1e-3)
        # Also while it passes a point of rest: a motion that has not ended is not a standstill.
        self.part.speed = max(abs(position - self.part.position) / elapsed, 0.02)
        self.part.position = position

    def _end(self, how: str) -> None:
        self.still = True
        self.part.speed = 0.0
        self.part.log('still', self.handle, position=self.part.position)
        self._tell(how)

    def _tell(self, how: str) -> None:
        if self.told:
            return
        self.told = True
        if self.handle.is_cancel_requested and how == 'succeeded':
            how = 'canceled'
        self.part.log(how, self.handle)
        {'succeeded': self.handle.succeed, 'canceled': self.handle.canceled,
         'aborted': self.handle.abort}[how](self.part.type.Result())


class Server(ActionServer):
    """An action server whose answers may be lost."""

    part: Part

    async def _execute_goal_request(self, taken: Any) -> None:
        _, request = taken
        self.part.asked(bytes(request.goal_id.uuid))
        key = bytes(request.goal_id.uuid)
        if self.part.upcoming() != 'lose_acceptance' or key in self._goal_handles:
            await super()._execute_goal_request(taken)
            return
        info = GoalInfo(goal_id=request.goal_id, stamp=self._node.get_clock().now().to_msg())
        handle = ServerGoalHandle(self, info, request.goal)
        self._goal_handles[key] = handle
        self._result_futures[key] = Future()
        self.add_future(self._result_futures[key])
        self._handle.publish_status()
        self.part.log('lost', handle, answer='acceptance')
        self.part.accepted(handle)

    def _send_result_response(self, header: Any, future: Any) -> None:
        if not self.part.loses_result():
            super()._send_result_response(header, future)


class Part:
    """A joint and its server."""

    def __init__(self, node: Node, name: str, log: Log) -> None:
        self.name = name
        self.position = 0.0
        self.speed = 0.0
        self.motions: list[Motion] = []
        self.faults: list[dict[str, Any]] = []
        self._log = log
        self._losing = 0
        self._node = node
        self.server_name, self.type = PARTS[name]
        self.serve()

    def serve(self) -> None:
        self.back_at = math.inf
        self.server = Server(
            self._node, self.type, self.server_name, lambda handle: self.type.Result(),
            goal_callback=self._decide, handle_accepted_callback=self.accepted,
            cancel_callback=self._cancel, result_timeout=900)
        self.server.part = self

    def die(self, seconds: float, back: float) -> None:
        """Lose the server, and have another one some time (s) later."""
        for motion in self.motions:
            motion.orphan(seconds)
        self.server.destroy()
        self.back_at = time.monotonic() + back
        self._log('died', server=self.server_name, resource=self.name)

    def log(self, event: str, handle: Any, **fields: Any) -> None:
        self._line(event, bytes(handle.goal_id.uuid), **fields)

    def _line(self, event: str, goal_id: bytes, **fields: Any) -> None:
        self._log(event, server=self.server_name, resource=self.name, goal=goal_id.hex(),
                  **fields)

    def asked(self, goal_id: bytes) -> None:
        self._line('asked', goal_id)
        if goal_id in self.server._goal_handles or self.upcoming() == 'reject':
            self._line('rejected', goal_id)

    def upcoming(self) -> str:
        """Return the fault that the next motion will have."""
        return str(self.faults[0]['fault']) if self.faults else ''

    def _take(self) -> dict[str, Any]:
        if not self.faults:
            return {}
        fault = self.faults[0]
        fault['times'] = fault.get('times', 1) - 1
        if fault['times'] == 0:
            self.faults.pop(0)
        return fault

    def loses_result(self) -> bool:
        losing = self._losing > 0
        if losing:
            self._losing -= 1
            self._log('lost', server=self.server_name, resource=self.name, answer='result')
        return losing

    def _decide(self, goal: Any) -> GoalResponse:
        if self.upcoming() == 'reject':
            self._take()
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def accepted(self, handle: Any) -> None:
        fault = self._take()
        if fault.get('fault') == 'lose_result':
            self._losing += 1
        if fault.get('preempts'):
            for motion in self.motions:
                motion.give_way()
        target, seconds = self._wanted(handle.request)
        self.motions.append(Motion(self, handle, target, seconds, fault))

    def _wanted(self, goal: Any) -> tuple[float, float]:
        """Return where a goal wants the joint, and how long (s) that takes."""
        if self.type is GripperCommand:
            target = goal.command.position
            return target, abs(target - self.position) / GRIPPER_SPEED
        point = goal.trajectory.points[-1]
        return point.positions[0], point.time_from_start.sec + point.time_from_start.nanosec * 1e-9

    def _cancel(self, handle: Any) -> CancelResponse:
        refused = any(motion.handle == handle and motion.fault == 'refuse_cancel'
                      for motion in self.motions)
        self.log('cancel_refused' if refused else 'canceling', handle)
        return CancelResponse.REJECT if refused else CancelResponse.ACCEPT

    def tick(self, now: float) -> None:
        if now >= self.back_at:
            self.serve()
        for motion in self.motions:
            if not motion.still:
                motion.tick(now)
        self.motions = [motion for motion in self.motions if not motion.still]

    def worsen(self, fault: dict[str, Any]) -> None:
        for motion in self.motions:
            motion.fault = fault['fault']
            motion.extra = float(fault.get('seconds', motion.extra))

    def release(self) -> None:
        self.faults.clear()
        self._losing = 0
        for motion in self.motions:
            motion.release()


class Robot:
    """All parts, the topics, and the commands."""

    def __init__(self, path: str) -> None:
        self.log = Log(path)
        self.node = rclpy.create_node('robot_double')
        self.parts = {name: Part(self.node, name, self.log) for name in PARTS}
        self.estop, self.facts, self.ended = 'clear', 'publish', False
        self._commands: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._joints = self.node.create_publisher(JointState, 'joint_states', 10)
        self._estop = self.node.create_publisher(Bool, 'estop', 10)
        self.node.create_timer(TICK, self._tick)
        for loop in (lambda: self._each(0.05, self._beat), lambda: self._each(0.04, self._sample),
                     self._read):
            threading.Thread(target=loop, daemon=True).start()

    def _each(self, period: float, call: Callable[[], None]) -> None:
        while not self.ended:
            with suppress(Exception):  # the context ends
                call()
            time.sleep(period)

    def _beat(self) -> None:
        if self.estop != 'silent':
            self._estop.publish(Bool(data=self.estop == 'pressed'))

    def _sample(self) -> None:
        if self.facts == 'publish':
            parts = self.parts.values()
            message = JointState(name=[part.name for part in parts],
                                 position=[part.position for part in parts],
                                 velocity=[part.speed for part in parts])
            message.header.stamp = self.node.get_clock().now().to_msg()
            self._joints.publish(message)

    def _read(self) -> None:
        for line in sys.stdin:
            self._commands.put(json.loads(line))
        self._commands.put({'do': 'quit'})

    def _tick(self) -> None:
        while not self._commands.empty():
            command = self._commands.get()
            self._obey(command)
            self.log('command', **command)
        now = time.monotonic()
        for part in self.parts.values():
            part.tick(now)

    def _obey(self, command: dict[str, Any]) -> None:
        do = command['do']
        chosen = [part for name, part in self.parts.items() if command.get('part', name) == name]
        if do == 'fault':
            for part in chosen:
                if command.get('now'):
                    part.worsen(command)
                else:
                    part.faults.append(dict(command))
        elif do == 'release':
            for part in chosen:
                part.release()
        elif do == 'die':
            for part in chosen:
                part.die(command['seconds'], command['back'])
        elif do == 'estop':
            self.estop = command['state']
        elif do == 'facts':
            self.facts = command['state']
        elif do == 'quit':
            self.ended = True


def main() -> None:
    """Run the robot until its standard input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # who started it ends it
    rclpy.init(signal_handler_options=rclpy.SignalHandlerOptions.NO)
    robot = Robot(sys.argv[1])
    executor = make_executor()
    executor.add_node(robot.node)
    robot.log('ready')
    while not robot.ended:
        executor.spin_once(timeout_sec=0.1)
    robot.log('ended')
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
