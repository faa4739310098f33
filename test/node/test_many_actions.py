# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Many actions of one flow at once, on a robot whose server has rclpy's own short queues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from control_msgs.action import GripperCommand
import pytest
from rclpy.action import ActionServer
from rclpy.task import Future
from std_msgs.msg import Bool, Float64

from .system import System

ACTIONS = 120
ENDS = 6  #: motions that end in 0.02 s, not to be one burst of results
FACTS = """\
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 5.0}
facts:
  level: {topic: level, type: std_msgs/msg/Float64, field: data, max_age: 5.0}
"""
FLOW = """\
flow: many
max_motions: 120
defaults:
  motion: {server: move, type: control_msgs/action/GripperCommand}
  confirm: {condition: level > 0.5, hold: 0.1, within: 20.0}
actions:
"""


class Robot:
    """Executes any number of motions at once; none ends before all have begun."""

    def __init__(self, node: Any) -> None:
        self.started = 0
        self.running = 0
        self.most = 0
        self._moving: list[Any] = []
        ActionServer(node, GripperCommand, 'move', self._execute)
        level = node.create_publisher(Float64, 'level', 10)
        estop = node.create_publisher(Bool, 'estop', 10)
        node.create_timer(0.02, self._tick)
        node.create_timer(0.05, lambda: (level.publish(Float64(data=1.0)), estop.publish(Bool())))

    async def _execute(self, handle: Any) -> Any:
        self.started += 1
        self.running += 1
        self.most = max(self.most, self.running)
        moved: Any = Future()
        self._moving.append(moved)
        await moved
        self.running -= 1
        handle.succeed()
        return GripperCommand.Result(reached_goal=True)

    def _tick(self) -> None:
        if self.started >= ACTIONS:
            for moved in self._moving[:ENDS]:
                moved.set_result(None)
            del self._moving[:ENDS]


@pytest.mark.long
def test_many_actions_at_once_all_succeed_at_the_first_try(system: System, tmp_path: Path) -> None:
    facts, flow = tmp_path / 'facts.yaml', tmp_path / 'many.yaml'
    facts.write_text(FACTS)
    flow.write_text(FLOW + ''.join(f'  action_{number}: {{}}\n' for number in range(ACTIONS)))
    robot = Robot(system.node)
    system.start('composed', use_sim_time=False, facts_file=facts,
                 journal_path=system.journal_path)
    with open(tmp_path / 'run.log', 'w') as log:
        run = system.run(flow, stdout=log)
    system.until(lambda: run.poll() is not None, 120.0, 'end of the flow')
    rows = system.rows(kind='transition')
    assert [row for row in rows if row.event == 'fail'] == []
    ends = [row.data['outcome'] for row in rows if row.event == 'terminate']
    assert ends == ['succeeded'] * ACTIONS
    assert robot.started == ACTIONS
    assert robot.most == ACTIONS, 'they did not run at once'
