# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Action node and bridge as processes, which call services and publish.

The gripper and the conveyor are doubles (vacuum.py) in the test's own process, which outlives the
nodes.
"""

from __future__ import annotations

import json
from pathlib import Path
import time
from typing import Any

from action_lifecycle.ros.interfaces.qos import state_qos
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ActionStatusArray, SafetyState
from action_lifecycle_msgs.srv import ClearStop, ControlFlow
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from .system import System
from .vacuum import Conveyor, FACTS, Vacuum
from .waiting import until_answered

NODE, BRIDGE = 'action_lifecycle_node', 'world_model_bridge'
FACTS_FILE = f"""\
estop: {{topic: estop, type: std_msgs/msg/Bool, field: data, mode: heartbeat, max_age: 5.0}}
facts:
{FACTS}
limits:
  conveyor/speed: {{data: [-1, 1]}}
"""


class CallsRig(System):
    """Action node and bridge as processes, or one process, beside the doubles."""

    def __init__(self, folder: Path, composed: bool = False) -> None:
        super().__init__(folder, composed)
        self.executor.remove_node(self.node)
        self.executor = make_executor(context=self.context)  # serves others while a double waits
        self.executor.add_node(self.node)
        self.facts.write_text(FACTS_FILE, encoding='utf-8')
        self.vacuum = Vacuum(self.node)
        self.conveyor = Conveyor(self.node)
        self.looks = 0
        self.node.create_service(Trigger, 'camera/look', self._look)
        self.estop = self.node.create_publisher(Bool, 'estop', QoSProfile(depth=1))
        self.pressed = False
        self.node.create_timer(0.05, lambda: self.estop.publish(Bool(data=self.pressed)))
        self.safety = SafetyState()
        self.node.create_subscription(
            SafetyState, 'action_lifecycle/safety',
            lambda message: setattr(self, 'safety', message), state_qos())
        self.blocked: dict[str, str] = {}  #: why the action of a flow waits
        self.node.create_subscription(
            ActionStatusArray, 'action_lifecycle/actions', self._note, state_qos())
        self.flows = ActionClient(self.node, ExecuteFlow, 'action_lifecycle/execute_flow')
        for name in (BRIDGE, NODE):
            self.start(name, use_sim_time=False)
        self.until_ready()

    def _note(self, message: ActionStatusArray) -> None:
        self.blocked = {one.flow_id: one.blocked_reason for one in message.actions}

    def _look(self, request: Any, response: Any) -> Any:
        self.looks += 1
        response.success, response.message = True, 'part 7'
        return response

    def until_ready(self) -> None:
        self.until(lambda: self.safety.state == SafetyState.READY
                   and self.flows.server_is_ready(), 40.0, 'the nodes are ready')
        until_answered(self.until, self.flows)

    def begin(self, actions: dict[str, Any], flow_id: str = 'f') -> Any:
        """Run a flow; returns a future of the accepted goal's handle."""
        sent = self.flows.send_goal_async(ExecuteFlow.Goal(
            flow=json.dumps({'flow': 'calls', 'actions': actions}), kind='yaml',
            flow_id=flow_id, requester='anna'))
        self.until(sent.done, 20.0, 'the goal is answered')
        return sent.result()

    def control(self, flow_id: str, **order: Any) -> None:
        """Give an order to a flow; it is accepted."""
        client = self.client(ControlFlow, 'action_lifecycle/control_flow')
        self.until(client.service_is_ready, 20.0, 'control_flow')
        answer = client.call_async(ControlFlow.Request(flow_id=flow_id, actor='anna', **order))
        self.until(answer.done, 20.0, 'an answer of control_flow')
        assert answer.result().accepted, answer.result().error_msg

    def clear_stop(self) -> None:
        """Release the e-stop and clear the stop, which is refused for the e-stop's max_age."""
        self.pressed = False
        client = self.client(ClearStop, 'action_lifecycle/clear_stop')

        def cleared() -> bool:
            asked = client.call_async(ClearStop.Request(actor='anna', reason='looked'))
            self.until(asked.done, 10.0, 'an answer')
            end = time.monotonic() + 0.3
            self.until(lambda: time.monotonic() > end, 5.0, 'the state comes')
            return bool(asked.result().accepted and self.safety.state == SafetyState.READY)
        self.until(cleared, 30.0, 'the stop is cleared')

    def run_flow(self, actions: dict[str, Any], flow_id: str = 'f') -> Any:
        """Run a flow to its end; returns the result."""
        ended = self.begin(actions, flow_id).get_result_async()
        self.until(ended.done, 40.0, 'the flow ends')
        return ended.result().result

    def until_ended(self, flow_id: str = 'f') -> dict[str, tuple[str, str]]:
        """Wait for the end of a flow; returns outcome and error of each action."""
        self.until(lambda: any(row.final for row in self.rows(flow_id=flow_id, kind='flow')),
                   40.0, 'the flow ends')
        return self.ends(flow_id)

    def states(self, flow_id: str) -> list[str]:
        """Return the states that the actions of a flow entered."""
        return [row.to_state for row in self.rows(flow_id=flow_id, kind='transition')] or ['']

    def ends(self, flow_id: str = 'f') -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        codes: dict[str, str] = {}
        for row in self.rows(flow_id=flow_id, kind='transition'):
            if row.event == 'fail':
                codes[row.action_id] = row.data['error_code']
            if row.final:
                found[row.action_id] = row.data['outcome'], codes.get(row.action_id, '')
        return found

    def replace(self, *names: str) -> None:
        """Kill processes and start them again."""
        self.safety = SafetyState()
        for name in names:
            self.kill(name)
        for name in names:
            self.start(name, use_sim_time=False)
