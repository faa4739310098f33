# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots of a fleet as real processes, the grippers that the test moves, and their Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
import time
from typing import Any

from action_lifecycle.journal import Row
from action_lifecycle.ros.interfaces.qos import state_qos
from action_lifecycle_msgs.msg import LedgerSync, OperatorRequestArray
from action_lifecycle_msgs.srv import Respond
from control_msgs.action import GripperCommand
import pytest
from rclpy.action import ActionServer, CancelResponse
from rclpy.task import Future
from sensor_msgs.msg import JointState

from .forked import Forked
from .process_rig import ProcessRig
from .waiting import rows_of

STREAM = 'flows'
IDLE = 7.5  #: s until a silent robot counts as lost
FLOW = """\
flow: shared
actions:
  look:
    confirm: {condition: gap < 1.0, within: 5.0}
    verify: [{by: operator, timeout: 120.0}]
  grip:
    after: look
    motion:
      server: gripper
      type: control_msgs/action/GripperCommand
      goal: {command: {position: 0.02, max_effort: 5.0}}
    confirm: {condition: gap < 1.0, within: 5.0}
"""


class Robot:
    """The processes of the three nodes, and what is outside them: gripper, sensors, journal."""

    def __init__(self, fleet: Fleet, name: str) -> None:
        self.fleet = fleet
        self.name = name
        self.journal_path = fleet.folder / f'{name}.journal'
        self.processes: dict[str, Forked] = {}
        self.goals = 0
        self.hold = False
        self.sync = LedgerSync()
        self.asked: dict[str, OperatorRequestArray] = {}
        node = fleet.node
        self.server = ActionServer(
            node, GripperCommand, f'/{name}/gripper', self._execute,
            cancel_callback=lambda handle: CancelResponse.ACCEPT)
        self.release: Any = Future()
        self.joints = node.create_publisher(JointState, f'/{name}/joint_states', 10)
        node.create_subscription(
            LedgerSync, f'/{name}/ledger/sync', lambda message: setattr(self, 'sync', message),
            state_qos())
        for asker in ('action_lifecycle', 'ledger'):
            node.create_subscription(
                OperatorRequestArray, f'/{name}/{asker}/operator_requests',
                lambda message, asker=asker: self.asked.__setitem__(asker, message), state_qos())
        self.answers = {asker: node.create_client(Respond, f'/{name}/{asker}/respond')
                        for asker in ('action_lifecycle', 'ledger')}

    def start(self, *names: str, **parameters: Any) -> None:
        """Start one process with all nodes, or those that are named."""
        given = {'autostart': True, 'journal_path': str(self.journal_path),
                 'facts_file': str(self.fleet.facts), 'ledger_url': self.fleet.redis.url,
                 'work_streams': f'[{STREAM}]', 'work_min_idle': IDLE, **parameters}
        self.asked, self.sync = {}, LedgerSync()
        for name in names or ('composed',):
            self.processes[name] = self.fleet.spawn(
                name, given, '-r', f'__ns:=/{self.name}', log=self.name)

    def kill(self, name: str = 'composed') -> None:
        """End a process as a power switch would; the gripper goes on by itself."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(10.0)
        self.asked, self.sync = {}, LedgerSync()

    def rows(self, **query: Any) -> list[Row]:
        """Return what the journal has now."""
        return rows_of(self.journal_path, **query)

    def question(self, asker: str, kind: str) -> Any:
        """Return the open question of a kind, None if there is none."""
        told = self.asked.get(asker)
        return next((one for one in told.requests if one.kind == kind), None) if told else None

    def respond(self, asker: str, kind: str, answer: str) -> None:
        """Answer the open question of a kind."""
        request = Respond.Request(
            id=self.question(asker, kind).id, answer=answer, actor='anna')
        calls: list[Any] = []
        client, since = self.answers[asker], 0.0

        def answered() -> Any:
            nonlocal since
            if client.service_is_ready() and time.monotonic() > since + 5.0:  # the last was lost
                calls.append(client.call_async(request))
                since = time.monotonic()
            return next((call.result() for call in calls if call.done()), None)

        told = self.fleet.until(answered, 30.0, 'an answer is taken')
        # Where the answer to the first call was lost, the second one finds no question any more.
        assert told.accepted or len(calls) > 1, told.error_msg

    async def _execute(self, handle: Any) -> Any:
        self.goals += 1
        if self.hold:
            await self.release
        handle.succeed()
        return GripperCommand.Result(position=0.02, reached_goal=True)


class Fleet(ProcessRig):
    """Two robots, one Redis."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.robots = [Robot(self, name) for name in ('r1', 'r2')]
        self.sampling = self.node.create_timer(0.05, self._sample)

    def _sample(self) -> None:
        message = JointState(name=['gripper'], position=[0.02], velocity=[0.0])
        message.header.stamp = self.node.get_clock().now().to_msg()
        for robot in self.robots:
            robot.joints.publish(message)

    def ask(self, trace: str, **fields: str) -> None:
        """Ask the fleet for a flow, as anybody with a Redis client can."""
        self.redis.client.xadd(STREAM, {'trace_id': trace, **fields})

    def state(self, trace: str) -> str | None:
        """Return the state of an operation."""
        return self.redis.client.hget(f'sg:trace:{trace}', 'state')

    def until_one(self, done: Callable[[Robot], Any], timeout: float, what: str
                  ) -> tuple[Robot, Robot]:
        """Wait until something is so of one robot; return that one and the other one."""
        one = self.until(lambda: next((r for r in self.robots if done(r)), None), timeout, what)
        return one, next(robot for robot in self.robots if robot is not one)

    def close(self) -> None:
        """End everything."""
        for robot in self.robots:
            robot.server.destroy()
        self.end(process for robot in self.robots for process in robot.processes.values())


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Give the robots, which end with the test."""
    fleet = Fleet(tmp_path)
    yield fleet
    fleet.close()
