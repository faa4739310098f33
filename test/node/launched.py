# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bringup as processes beside a robot of the test's own, whose gripper it holds up."""

from __future__ import annotations

from pathlib import Path
import re
import signal
import subprocess
import sys
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from control_msgs.action import GripperCommand
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rclpy.action import ActionClient, ActionServer
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from .system import System

TOOL = Path(__file__).parents[2] / 'tools' / 'launch'
NODES = ('world_model_bridge', 'ledger', 'action_lifecycle')
FACTS = """\
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 5.0}
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=gripper]',
        max_age: 1.0, unit: m}
"""
FLOW = """\
flow: hold
actions:
  grip:
    motion:
      server: gripper
      type: control_msgs/action/GripperCommand
      goal: {command: {position: 0.02, max_effort: 5.0}}
    confirm: {condition: gap < 1.0, within: 20.0}
"""


class Robot(System):
    """A gripper that ends what it is told when the test lets it, its joint, and an e-stop."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / 'facts.yaml').write_text(FACTS)
        (folder / 'flow.yaml').write_text(FLOW)
        self.pressed = False
        self.goals: list[Any] = []
        self.server = ActionServer(
            self.node, GripperCommand, 'gripper', self._succeed,
            handle_accepted_callback=self.goals.append)
        self.joints = self.node.create_publisher(JointState, 'joint_states', 10)
        self.estop = self.node.create_publisher(Bool, 'estop', 10)
        self.node.create_timer(0.05, self._sample)
        self.flows = ActionClient(self.node, ExecuteFlow, 'action_lifecycle/execute_flow')
        self.states = {name: self.node.create_client(GetState, f'{name}/get_state')
                       for name in NODES}
        self.launches: list[Launch] = []

    def _sample(self) -> None:
        message = JointState(name=['gripper'], position=[0.02])
        message.header.stamp = self.node.get_clock().now().to_msg()
        self.joints.publish(message)
        self.estop.publish(Bool(data=self.pressed))

    def _succeed(self, handle: Any) -> Any:
        handle.succeed()
        return GripperCommand.Result(reached_goal=True)

    def launch(self, file: str = 'bringup.launch.py', **arguments: Any) -> Launch:
        """Start the launch file on this robot's facts and journal."""
        launch = Launch(self, file, {'facts_file': self.folder / 'facts.yaml',
                                     'journal_path': self.journal_path, **arguments})
        self.launches.append(launch)
        return launch

    def until_active(self, timeout: float = 30.0) -> None:
        """Wait until each node says that it is active, whoever of that name was killed before."""
        for name, client in self.states.items():
            self.until(lambda client=client: self._is_active(client), timeout, f'{name} is active')

    def until_state_of(self, name: str, state: int, timeout: float = 60.0) -> None:
        """Wait until the node `name`, with its namespace, says that it is in a state."""
        client = self.client(GetState, f'{name}/get_state')
        self.until(lambda: self._is_in(client, state), timeout, f'{name} is in the state {state}')

    def _is_active(self, client: Any) -> bool:
        return self._is_in(client, State.PRIMARY_STATE_ACTIVE)

    def _is_in(self, client: Any, state: int) -> bool:
        """Ask once; the answer may get lost while both still discover each other."""
        answer = client.call_async(GetState.Request())
        self.executor.spin_until_future_complete(answer, 0.5)
        if answer.done() and answer.result().current_state.id == state:
            return True
        self.executor.spin_until_future_complete(Future(), 0.1)  # else it is asked at 1 kHz
        return False

    def begin(self) -> None:
        """Run the flow until the gripper has its goal."""
        self.until(self.flows.server_is_ready, 20.0, 'the action node')
        self.flows.send_goal_async(ExecuteFlow.Goal(flow=FLOW, flow_id='hold'))
        self.until(lambda: self.goals, 20.0, 'the gripper moves')

    def finish(self) -> None:
        """Let the gripper go; the action is done by evidence, and was commanded once."""
        for goal in self.goals:
            goal.execute()
        row = self.until_state('grip', 'terminated')
        assert row.data['outcome'] == 'succeeded', row
        assert len(self.goals) == 1
        (confirmed,) = (row for row in self.rows(action_id='grip') if row.event == 'confirmed')
        assert confirmed.data['evidence']

    def close(self) -> None:
        for launch in self.launches:
            launch.end()
        super().close()


class Launch:
    """A launch by tools/launch; what it tells is in `text`."""

    def __init__(self, robot: Robot, file: str, arguments: dict[str, Any]) -> None:
        self._path = robot.folder / f'launch_{len(robot.launches)}.log'
        with open(self._path, 'wb') as log:
            self._process = subprocess.Popen(
                [sys.executable, str(TOOL), 'action_lifecycle', file,
                 *(f'{name}:={value}' for name, value in arguments.items())],
                env=robot.environment, cwd=robot.folder, stdout=log, stderr=subprocess.STDOUT)

    @property
    def text(self) -> str:
        """Return what it has told so far."""
        return self._path.read_text(errors='replace')

    def pids(self, executable: str) -> list[int]:
        """Return the processes that it has started of this executable, the last one last."""
        return [int(pid) for pid in re.findall(
            rf'\[{executable}-\d+\]: process started with pid \[(\d+)\]', self.text)]

    def started(self) -> dict[int, str]:
        """Return all processes that it has started, with the names of the executables."""
        return {int(pid): name for name, pid in re.findall(
            r'\[(\w+)-\d+\]: process started with pid \[(\d+)\]', self.text)}

    def end(self) -> int | None:
        """End it as Ctrl-C does; returns its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(20.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(5.0)
        return self._process.returncode
