# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action node and the bridge as processes, for flows whose work is done by the action node."""

from __future__ import annotations

from pathlib import Path
import time
from typing import Any

from action_lifecycle.journal import Row
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ActionStatus, ActionStatusArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Float64
from unit.invoke.celery_rig import TASKS

from .forked import Forked
from .process_rig import ProcessRig
from .waiting import rows_of

FACTS = """\
estop: none
facts:
  level: {topic: level, type: std_msgs/msg/Float64, field: data, max_age: 1.0, always: true}
"""
NODE = 'action_lifecycle_node'


class WorkRig(ProcessRig):
    """
    Publishes the fact `level`; flows are judged by the journal.

    `packages`: folders that are on the path of the nodes.
    """

    def __init__(
        self, folder: Path, *packages: Path, facts: str = FACTS, **parameters: Any
    ) -> None:
        super().__init__(folder, redis=False)
        self.environment['PYTHONPATH'] = ':'.join(
            [str(TASKS), *map(str, packages), self.environment.get('PYTHONPATH', '')])
        self.facts.write_text(facts)
        self.journal = folder / 'journal'
        self.parameters = parameters
        self.processes: dict[str, Forked] = {}
        self.level = 1.0
        self._flows = 0
        level = self.node.create_publisher(Float64, 'level', 10)
        self.node.create_timer(0.05, lambda: level.publish(Float64(data=self.level)))
        self.status: dict[str, ActionStatus] = {}
        self.node.create_subscription(
            ActionStatusArray, 'action_lifecycle/actions', self._take,
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.flows = ActionClient(self.node, ExecuteFlow, 'action_lifecycle/execute_flow')
        self.start('world_model_bridge', facts_file=self.facts)
        self.start_node()

    def _take(self, message: ActionStatusArray) -> None:
        self.status = {one.flow_id: one for one in message.actions}

    def start(self, name: str, **parameters: Any) -> None:
        self.processes[name] = self.spawn(name, {'autostart': True, **parameters}, log=name)

    def start_node(self) -> None:
        """Start the action node."""
        self.start(NODE, journal_path=self.journal, **self.parameters)

    def kill(self, name: str = NODE) -> None:
        """Kill a process as a power switch would."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(10.0)

    def transition(self, transition: int) -> None:
        """Change the state of the action node; see lifecycle_msgs/msg/Transition."""
        client = self.node.create_client(ChangeState, 'action_lifecycle/change_state')
        request = ChangeState.Request(transition=Transition(id=transition))
        assert self.ask(client, request).success

    def new_id(self) -> str:
        """Return an id for a flow."""
        self._flows += 1
        return f'flow_{self._flows}'

    def send(self, flow_id: str, actions: str) -> Any:
        """Start a flow of these actions (flow mappings by name); returns its handle."""
        text = f'flow: {flow_id}\nactions:\n  ' + actions.replace('\n', '\n  ') + '\n'
        goal = ExecuteFlow.Goal(flow=text, flow_id=flow_id, source='test.yaml')
        for _ in range(30):  # of a server that was killed just now, DDS tells no better
            self.until(self.flows.server_is_ready, 30.0, 'the action node')
            sent = self.flows.send_goal_async(goal)
            end = time.monotonic() + 5.0
            self.until(lambda sent=sent, end=end: sent.done() or time.monotonic() > end,
                       10.0, 'an answer to the goal')
            if sent.done() and sent.result().accepted:
                return sent.result()
        raise AssertionError('the flow is not accepted')

    def result(self, flow_id: str, actions: str, timeout: float = 60.0) -> Any:
        """Run a flow and return its result."""
        done = self.send(flow_id, actions).get_result_async()
        self.until(done.done, timeout, f'the result of {flow_id}')
        return done.result().result

    def rows(self, flow_id: str) -> list[Row]:
        """Return the changes of the actions of a flow."""
        return rows_of(self.journal, flow_id=flow_id, kind='transition')

    def end_of(self, flow_id: str, action_id: str = 'a', timeout: float = 60.0) -> Row:
        """Wait until an action is terminated; returns this row."""
        def ended() -> Row | None:
            return next((row for row in self.rows(flow_id)
                         if row.action_id == action_id and row.to_state == 'terminated'), None)
        row: Row = self.until(ended, timeout, f'{flow_id}/{action_id} is terminated')
        return row

    def row(self, flow_id: str, event: str) -> Row:
        """Return the last row of a flow with this event."""
        return [row for row in self.rows(flow_id) if row.event == event][-1]

    def close(self) -> None:
        """End everything."""
        self.end(self.processes.values())
