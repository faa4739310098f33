# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots in namespaces as processes, and what the web node has of them, in the test's process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
import threading
from typing import Any

from action_lifecycle.journal import Row
from action_lifecycle.nodes.web.link import RobotLink
from action_lifecycle.ros.node.lifecycle_node import ManagedNode
from action_lifecycle.viewer.record.sources import LocalRows
from action_lifecycle.viewer.robots import Heard, Robot
from action_lifecycle_msgs.action import ExecuteFlow
from rclpy.action import ActionClient
from std_msgs.msg import Float64

from .forked import Forked
from .process_rig import ProcessRig
from .waiting import rows_of

FACTS = """\
estop: none
facts:
  level: {topic: level, type: std_msgs/msg/Float64, field: data, max_age: 2.0, always: true,
          unit: m}
"""
ACTION_NODE, BRIDGE, LEDGER = 'action_lifecycle_node', 'world_model_bridge', 'ledger'


class Links(ManagedNode):
    """Links to robots by their namespaces; `journals`: paths of files on this machine."""

    def __init__(self, journals: Mapping[str, Path], **kwargs: Any) -> None:
        super().__init__('viewer_of_test', **kwargs)
        self._journals = journals
        self.links: dict[str, RobotLink] = {}

    def configure(self) -> None:
        for name, path in self._journals.items():
            self.links[name] = RobotLink(
                self, f'/{name}', Robot(name, None), LocalRows(path, name))


class Viewer:
    """The links, with a loop in a thread as in the web node."""

    def __init__(self, rig: ProcessRig, journals: Mapping[str, Path]) -> None:
        self._rig = rig
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.node = Links(journals, context=rig.context)
        rig.executor.add_node(self.node)
        assert self.node.start()
        self.robots = {name: link.robot for name, link in self.node.links.items()}
        self.heard: dict[str, list[Heard]] = {name: [] for name in journals}
        for name, link in self.node.links.items():
            link.open(self.loop)
            self.loop.call_soon_threadsafe(link.robot.listen, self.heard[name].append)

    def do(self, work: Coroutine[Any, Any, Any], timeout: float = 30.0) -> Any:
        """Await something in the loop while the executor is spun."""
        done = asyncio.run_coroutine_threadsafe(work, self.loop)
        self._rig.until(done.done, timeout, 'the viewer')
        return done.result()

    def until_node(self, name: str, node: str, state: str, timeout: float = 20.0) -> None:
        """Wait until a node of a robot is shown in this state."""
        robot = self.robots[name]
        self._rig.until(
            lambda: node in robot.now.nodes and robot.now.nodes[node].state == state, timeout,
            f'{name}/{node} {state}')

    def close(self) -> None:
        self.node.finish()
        self._rig.executor.remove_node(self.node)
        asyncio.run_coroutine_threadsafe(_tasks_end(), self.loop).result(5.0)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5.0)
        self.loop.close()
        self.node.destroy_node()


async def _tasks_end() -> None:
    """End the tasks of the links, as asyncio.run does."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Fleet(ProcessRig):
    """Robots without motions, each of which has the fact `level`."""

    def __init__(self, folder: Path, levels: Mapping[str, float]) -> None:
        super().__init__(folder, redis=False)
        self.facts.write_text(FACTS)
        self.processes: dict[tuple[str, str], Forked] = {}
        self.levels = dict(levels)
        self.goals: dict[str, ActionClient] = {}
        publishers = {}
        for robot in levels:
            publishers[robot] = self.node.create_publisher(Float64, f'/{robot}/level', 10)
            self.goals[robot] = ActionClient(
                self.node, ExecuteFlow, f'/{robot}/action_lifecycle/execute_flow')

        def publish() -> None:
            for robot, publisher in publishers.items():
                publisher.publish(Float64(data=self.levels[robot]))

        self.node.create_timer(0.1, publish)

    def journal(self, robot: str) -> Path:
        return self.folder / f'{robot}.journal'

    def start(self, robot: str, *names: str, **more: Any) -> None:
        """Start nodes of a robot; `more`: parameters of these nodes."""
        for name in names:
            parameters = {'facts_file': self.facts} if name == BRIDGE else {
                'journal_path': self.journal(robot)}
            self.processes[robot, name] = self.spawn(
                name, {'autostart': True, **parameters, **more}, '-r', f'__ns:=/{robot}',
                log=f'{robot}_{name}')

    def kill(self, robot: str, name: str) -> None:
        """Kill a process as a power switch would."""
        process = self.processes.pop((robot, name))
        process.kill()
        process.wait(10.0)

    def send(self, robot: str, flow_id: str, actions: str) -> Any:
        """Start a flow of these actions; returns its handle."""
        client = self.goals[robot]
        self.until(client.server_is_ready, 30.0, f'the action node of {robot}')
        text = f'flow: {flow_id}\nactions:\n  ' + actions.replace('\n', '\n  ') + '\n'
        sent = client.send_goal_async(
            ExecuteFlow.Goal(flow=text, flow_id=flow_id, source='test.yaml'))
        self.until(sent.done, 20.0, 'an answer to the goal')
        assert sent.result().accepted
        return sent.result()

    def rows(self, robot: str, **query: Any) -> list[Row]:
        return rows_of(self.journal(robot), **query)

    def until_row(self, robot: str, timeout: float = 20.0, **fields: Any) -> Row:
        """Wait for a row with these fields; returns the last one."""
        def found() -> Row | None:
            rows = [row for row in self.rows(robot) if all(
                getattr(row, name) == value for name, value in fields.items())]
            return rows[-1] if rows else None
        row: Row = self.until(found, timeout, f'a row with {fields}')
        return row

    def close(self) -> None:
        self.end(self.processes.values())
