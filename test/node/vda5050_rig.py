# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots with real nodes and scripted hardware, a mosquitto, and a simulated fleet manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from action_lifecycle.flow import parse_flow
from action_lifecycle.journal import Row
from action_lifecycle.testing import Behaviour, Ramp, RobotScript, ScriptedNode
from unit.vda5050.fleet_manager import FleetManager
from unit.vda5050.mosquitto import Mosquitto
from unit.vda5050.orders import MANUFACTURER

from .ending import destroy
from .forked import Forked
from .process_rig import ProcessRig
from .waiting import rows_of

FACTS = """\
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, mode: heartbeat, max_age: 3.0}
facts:
  at: {topic: at, type: std_msgs/msg/Float64, field: data, max_age: 3.0, unit: m, always: true}
  lifted: {topic: lifted, type: std_msgs/msg/Bool, field: data, max_age: 3.0, always: true}
  battery: {topic: battery, type: std_msgs/msg/Float64, field: data, max_age: 3.0, always: true}
"""
MAPPING = """\
vda5050: 1
drive:
  resources: [base]
  motion:
    server: navigate_to_pose
    type: nav2_msgs/action/NavigateToPose
    goal: {pose: {pose: {position: {x: '{{ x }}', y: '{{ y }}'}}}}
  confirm: {condition: abs(at - x) < 0.1, within: 10}
  stopped: at > -1.0
  idempotent: true
actions:
  lift:
    blocking: [HARD, SOFT]
    scopes: [NODE, INSTANT]
    parameters: {height: {type: number, min: 0.0, max: 0.5}}
    action:
      resources: [fork]
      motion:
        server: lift
        type: control_msgs/action/GripperCommand
        goal: {command: {position: '{{ height }}'}}
      confirm: {condition: lifted, within: 10}
      idempotent: true
  measure: {action: {confirm: no_such_fact > 0.0}}  # which only the bridge can tell
  beep: {blocking: [NONE], scopes: [NODE, EDGE], action: {confirm: battery > 0.0}}
state:
  battery: {charge: battery * 100}
  position: {x: at, y: '0.0 * at', theta: '0.0 * at', map: hall}
factsheet:
  typeSpecification: {seriesName: test, agvKinematic: DIFF, agvClass: CARRIER, maxLoadMass: 1.0,
                      localizationTypes: [NATURAL], navigationTypes: [AUTONOMOUS]}
  physicalParameters: {speedMin: 0.0, speedMax: 1.0, accelerationMax: 1.0, decelerationMax: 1.0,
                       heightMax: 1.0, width: 1.0, length: 1.0}
"""
USED = """\
flow: used
actions:
  drive:
    motion: {server: navigate_to_pose, type: nav2_msgs/action/NavigateToPose, goal: {}}
    confirm: at > 0
  lift:
    motion: {server: lift, type: control_msgs/action/GripperCommand, goal: {}}
    confirm: lifted
"""


def script(takes: float, drives: int, slow: Mapping[int, float]) -> RobotScript:
    """Return a robot whose n-th drive ends at x = n; `slow`: how long (s) some of them take."""
    return RobotScript(
        facts={'at': 0.0, 'lifted': False, 'battery': 0.8},
        servers={
            'navigate_to_pose': [
                Behaviour(takes=slow.get(number, takes), during={'at': Ramp(to=float(number))})
                for number in range(1, drives + 1)],
            'lift': Behaviour(takes=takes / 2, after={'lifted': True})})


class Vda5050Rig(ProcessRig):
    """Robots by serial number, each in a namespace of its own."""

    def __init__(self, folder: Path, users: dict[str, str] | None = None) -> None:
        self.broker = Mosquitto(users)
        super().__init__(folder, redis=False)
        self.facts.write_text(FACTS)
        self.mapping = folder / 'mapping.yaml'
        self.mapping.write_text(MAPPING)
        self.fleet = FleetManager(self.broker.port) if not users else None
        self.robots: dict[str, ScriptedNode] = {}
        self.processes: dict[tuple[str, str], Forked] = {}

    def until(self, done: Callable[[], Any], timeout: float, what: str) -> Any:
        """Serve callbacks until something is so; with the last states in the failure."""
        try:
            return super().until(done, timeout, what)
        except AssertionError as failed:
            states = {robot: self.fleet.last(robot) for robot in self.robots} if self.fleet else {}
            raise AssertionError(f'{failed}\n{states}') from failed

    def journal(self, robot: str) -> Path:
        return self.folder / f'{robot}.journal'

    def add(
        self, robot: str, *, takes: float = 0.5, drives: int = 6, slow: Mapping[int, float] = {},
    ) -> None:
        """Start a robot: its hardware in this process, its nodes in processes of their own."""
        node = ScriptedNode(
            parse_flow(USED, 'used.yaml'), self.facts, script(takes, drives, slow),
            context=self.context, namespace=f'r{robot}')
        self.executor.add_node(node)
        self.robots[robot] = node
        self.start_nodes(robot)
        self.start_node(robot)

    def start_nodes(self, robot: str) -> None:
        """Start the action node, the bridge and the ledger node."""
        self.start(robot, 'composed', facts_file=self.facts, journal_path=self.journal(robot),
                   stop_file=self.folder / f'{robot}.stop')

    def start_node(self, robot: str, **more: Any) -> None:
        """Start the node under test."""
        self.start(robot, 'vda5050', broker_url=self.broker.url, manufacturer=MANUFACTURER,
                   serial_number=f"'{robot}'", mapping_file=self.mapping,
                   order_file=self.folder / f'{robot}.order', **more)

    def start(self, robot: str, executable: str, **parameters: Any) -> None:
        self.processes[robot, executable] = self.spawn(
            executable, {'autostart': True, **parameters}, '-r', f'__ns:=/r{robot}',
            log=f'{robot}_{executable}')

    def kill(self, robot: str, executable: str) -> None:
        """Kill a process as a power switch would."""
        process = self.processes.pop((robot, executable))
        process.kill()
        process.wait(10.0)

    def rows(self, robot: str, **query: Any) -> list[Row]:
        return rows_of(self.journal(robot), **query)

    def until_ready(self, robot: str, timeout: float = 30.0) -> None:
        """Wait until the robot is online, and nothing keeps it from driving."""
        self.until(lambda: self.fleet.last(robot, 'connection').get('connectionState') == 'ONLINE'
                   and self.fleet.last(robot).get('errors') == [], timeout, f'{robot} is ready')

    def until_done(self, robot: str, order: str, update: int = 0, timeout: float = 60.0) -> None:
        self.until(lambda: self.fleet.is_done(robot, order, update), timeout,
                   f'{robot}: order {order} is done')

    def goals(self, robot: str, server: str = 'navigate_to_pose') -> list[Any]:
        return [goal for goal in self.robots[robot].goals if goal.server == server]

    def close(self) -> None:
        for node in self.robots.values():
            self.executor.remove_node(node)
            destroy(node)
        if self.fleet is not None:
            self.fleet.close()
        self.end(self.processes.values())
        self.broker.close()
