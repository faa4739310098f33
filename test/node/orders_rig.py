# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Action node and bridge that can be killed at an exact place, beside a robot that outlives them.

What a person orders goes the way that orders go: through the services and the goal of the action
node. What became of it is read from the journal, and from what the robot has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
import json
from pathlib import Path
import sys
import time
from typing import Any

from action_lifecycle.ros.interfaces.qos import state_qos
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import OperatorRequestArray, SafetyState
from action_lifecycle_msgs.srv import ClearStop, ControlFlow, EditFlow, Respond, SendEvent
from rclpy.action import ActionClient

from .forked import Forked
from .judge import Case, judge, read_journal
from .robot_double import FACTS, MAX_AGE, RobotDouble
from .robot_process import PARTS
from .system import System

NODE, BRIDGE = 'action_lifecycle_node', 'world_model_bridge'
VICTIMS = {'node': (NODE,), 'bridge': (BRIDGE,), 'both': (BRIDGE, NODE)}
GIVEN_AGAIN = 4.0
"""Seconds until an order is given again: rclpy may lose what a node that is new is asked."""
ACTOR = 'anna'


@dataclass
class Fault:
    """Who kills (`by`), and at which place; see fault_node.py."""

    by: str
    at: str
    fields: dict[str, str] = field(default_factory=dict)


class OrdersRig(System):
    """The processes, what they have told, and a person who gives orders."""

    def __init__(self, folder: Path, facts: str = FACTS) -> None:
        super().__init__(folder)
        (folder / 'facts.yaml').write_text(facts)
        self.robot = RobotDouble(folder, self.environment)
        self.sound = True  #: no case has failed on it
        self.safety: SafetyState | None = None
        self.requests: list[Any] = []
        self.handles: dict[str, Any] = {}
        self._position = 0.0
        self.node.create_subscription(
            SafetyState, 'action_lifecycle/safety', self._take_safety, state_qos())
        self.node.create_subscription(
            OperatorRequestArray, 'action_lifecycle/operator_requests',
            lambda message: setattr(self, 'requests', list(message.requests)), state_qos())
        self.flows = ActionClient(self.node, ExecuteFlow, 'action_lifecycle/execute_flow')
        for kind, name in ((SendEvent, 'send_event'), (EditFlow, 'edit_flow'),
                           (Respond, 'respond'), (ClearStop, 'clear_stop'),
                           (ControlFlow, 'control_flow')):
            self.client(kind, f'action_lifecycle/{name}')
        for name in (BRIDGE, NODE):
            self.start(name)
        self.until(self.ready, 40.0, 'the nodes are ready')

    # The processes

    def program(self, name: str) -> list[str]:
        return [sys.executable, str(Path(__file__).with_name('fault_node.py')), name,
                str(self.folder / f'{name}.fault')]

    def start(self, name: str, **parameters: Any) -> Forked:
        """Start a node as robots do; see System.start."""
        given = {NODE: {'bridge_timeout': 20.0},
                 BRIDGE: {'facts_file': self.folder / 'facts.yaml',
                          'stop_file': self.folder / 'stop'}}[name]
        return super().start(name, use_sim_time=False, **given, **parameters)

    def ready(self) -> bool:
        """Whether the action node hears the bridge, which knows whether motions may run."""
        return self.safety is not None and self.safety.state != SafetyState.NOT_READY \
            and self.flows.server_is_ready()

    def set_fault(self, fault: Fault, victim: str) -> None:
        """Have a running node kill these nodes, itself last, when it comes to that place."""
        names = sorted(VICTIMS[victim], key=lambda name: name == fault.by)
        path = self.folder / f'{fault.by}.fault'
        part = path.with_suffix('.part')
        part.write_text(json.dumps({'at': fault.at, **fault.fields,
                                    'pids': [self.processes[name].pid for name in names]}))
        part.rename(path)

    def struck(self, fault: Fault) -> bool:
        return not (self.folder / f'{fault.by}.fault').exists()

    def restart(self, victim: str) -> None:
        """Start what was killed again."""
        for name in VICTIMS[victim]:
            self.processes.pop(name).wait(10.0)
        self.safety, self.requests = None, []
        self.handles.clear()
        for name in VICTIMS[victim]:
            self.start(name)

    def close(self) -> None:
        super().close()
        self.robot.close()

    # Flows

    def move(self, part: str, seconds: float = 0.3, **fields: Any) -> dict[str, Any]:
        """Return an action that moves a joint to where it never was."""
        self._position += 0.01
        target = round(self._position, 3)
        server, _ = PARTS[part]
        time_from_start = {'sec': int(seconds), 'nanosec': int(seconds % 1 * 1e9)}
        return {
            'resources': [part], 'stop_timeout': 3.0,
            'motion': {'server': server, 'type': 'control_msgs/action/FollowJointTrajectory',
                       'goal': {'trajectory': {'joint_names': [part], 'points': [
                           {'positions': [target], 'time_from_start': time_from_start}]}}},
            'stopped': {'condition': f'{part}_speed < 0.001', 'hold': 0.1},
            'confirm': {'condition': f'abs({part} - {target}) < 0.001', 'hold': 0.1,
                        'within': 3.0},
            **fields}

    def begin(self, flow_id: str, actions: dict[str, Any]) -> None:
        """Run a flow; returns when it is in the journal."""
        goal = ExecuteFlow.Goal(flow=json.dumps({'flow': 'orders', 'actions': actions}),
                                kind='yaml', flow_id=flow_id, requester=ACTOR)
        self.repeat(lambda: self._send(flow_id, goal), lambda: self.rows(flow_id=flow_id),
                    f'{flow_id} begins')

    def _send(self, flow_id: str, goal: ExecuteFlow.Goal) -> Any:
        def answered(future: Any) -> None:
            with suppress(Exception):
                self.handles[flow_id] = future.result()
        future = self.flows.send_goal_async(goal)
        future.add_done_callback(answered)
        return future

    def repeat(self, call: Callable[[], Any], done: Callable[[], Any], what: str) -> None:
        """Call until it has the wanted effect; a call may get lost."""
        for _ in range(5):
            self.until(lambda: self.flows.server_is_ready() and all(
                client.service_is_ready() for client in self.clients.values()),
                20.0, f'{what}: the action node is there')
            call()
            limit = time.monotonic() + GIVEN_AGAIN
            self.until(lambda limit=limit: done() or time.monotonic() > limit, 10.0, what)
            if done():
                return
        raise AssertionError(f'{what}: no effect\n{self.logs()}')

    def state(self, flow_id: str, action_id: str) -> str:
        rows = self.rows(flow_id=flow_id, action_id=action_id, kind='transition')
        return str(rows[-1].to_state) if rows else ''

    def until_moving(self, *parts: str) -> None:
        """Wait until these joints move."""
        def moving() -> bool:
            running = self.robot.running()
            return set(parts) <= {line['resource'] for line in self.robot.log()
                                  if line.get('goal') in running}
        self.until(moving, 20.0, f'{parts} move')

    def until_still(self) -> None:
        self.until(lambda: not self.robot.running(), 20.0, 'nothing moves')

    def until_ended(self, flow_id: str) -> dict[str, str]:
        """
        Wait for the end of a flow and return how each action has ended.

        A person who is asked whether a motion that was interrupted is to be repeated says yes.
        """
        answered: set[str] = set()

        def ended() -> bool:
            for request in self.requests:
                if request.flow_id == flow_id and request.kind == 'resume' \
                        and request.id not in answered:
                    answered.add(request.id)
                    self.call(Respond, 'respond', id=request.id, answer='retry')
            return any(row.final for row in self.rows(flow_id=flow_id, kind='flow'))
        self.until(ended, 60.0, f'{flow_id} ends')
        return {row.action_id: row.data['outcome']
                for row in self.rows(flow_id=flow_id, kind='transition') if row.final}

    def clear_stops(self) -> None:
        """Clear stops until none has come for as long as a silence may go unnoticed."""
        asked, last = 0.0, time.monotonic()

        def ready() -> bool:
            nonlocal asked, last
            now = time.monotonic()
            if self.safety is None or self.safety.state != SafetyState.READY:
                last = now
            if self.safety is not None and self.safety.state == SafetyState.STOPPED \
                    and now > asked + GIVEN_AGAIN:
                self.call(ClearStop, 'clear_stop', reason='looked')
                asked = now
            return now > last + MAX_AGE
        self.until(ready, 60.0, 'the stop is cleared')

    def end_case(self, flow_id: str) -> None:
        """See that all stands, unlock what is locked, and see that the next flow runs."""
        self.until(lambda: not self.robot.running(), 20.0, 'nothing moves')
        self.robot.tell('release')
        if self.locked():
            self.repeat(lambda: self.call(ClearStop, 'clear_stop', reason='looked'),
                        lambda: not self.locked(), 'the unlock')
        following = f'{flow_id}-next'
        self.begin(following, {part: self.move(part) for part in ('left', 'right')})
        assert self.until_ended(following) == {'left': 'succeeded', 'right': 'succeeded'}

    def locked(self) -> set[str]:
        """Return the resources that are locked by the journal."""
        last = {row.action_id: row.event for row in self.rows(kind='lock')}
        return {name for name, event in last.items() if event == 'lock'}

    def violations(self) -> str:
        """Return what the judge has to say of all cases so far; '' is good."""
        return '\n'.join(map(str, judge(Case(
            read_journal(self.journal_path), self.robot.log()))))

    @staticmethod
    def text(data: Any) -> str:
        """Return YAML; JSON is."""
        return json.dumps(data)

    # Orders

    def call(self, kind: type, name: str, **fields: Any) -> Any:
        """Call a service of the action node; its answer may never come."""
        author = 'author' if kind is EditFlow else 'actor'
        return self.client(kind, f'action_lifecycle/{name}').call_async(
            kind.Request(**{author: ACTOR}, **fields))

    def cancel_flow(self, flow_id: str) -> None:
        """Cancel its goal; after a restart of the node one that follows the flow."""
        def cancel(future: Any) -> None:
            handle = future.result()
            if handle.accepted:
                self.handles[flow_id] = handle
                handle.cancel_goal_async()
        if flow_id in self.handles:
            self.handles[flow_id].cancel_goal_async()
        else:
            self.flows.send_goal_async(ExecuteFlow.Goal(
                flow_id=flow_id, requester=ACTOR)).add_done_callback(cancel)

    def _take_safety(self, message: SafetyState) -> None:
        self.safety = message
