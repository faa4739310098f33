# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs a case of a file over DDS: the nodes of the launch file beside the scripted node."""

from __future__ import annotations

import json
import os
from pathlib import Path
import signal
from typing import Any

from action_lifecycle.graphs.packaged import packaged_graph
from action_lifecycle.journal import JournalReader, Projection
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.ros.interfaces.qos import state_qos
from action_lifecycle.testing import ActionReport, Cases, RunReport, ScriptedNode
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import OperatorRequestArray
from action_lifecycle_msgs.srv import Respond
from rclpy.action import ActionClient

from .ending import destroy
from .launched import Launch
from .system import System
from .waiting import until_answered

HEARTBEAT, PATIENT = 'mode: heartbeat, max_age: 0.5', 'mode: heartbeat, max_age: 5.0'
ENDS = {'FINISH': 'succeeded', 'FAIL': 'failed'}


class CaseRig(System):
    """The launch file on the facts of a file of cases, and the people that a case has."""

    def __init__(self, folder: Path, path: Path, **arguments: Any) -> None:
        super().__init__(folder)
        self.cases = Cases(path)
        self.launches: list[Launch] = []
        self.robot: ScriptedNode | None = None
        self.questions: dict[str, Any] = {}  #: of all flows, by id
        self.node.create_subscription(
            OperatorRequestArray, 'action_lifecycle/operator_requests', self._asked, state_qos())
        self.respond = self.node.create_client(Respond, 'action_lifecycle/respond')
        self.flows = ActionClient(self.node, ExecuteFlow, 'action_lifecycle/execute_flow')
        self.launch = Launch(self, 'bringup.launch.py', {
            'facts_file': self._facts(folder), 'journal_path': self.journal_path,
            'use_respawn': 'true', **arguments})

    def _facts(self, folder: Path) -> Path:
        """Return the facts, with an e-stop that a busy machine may leave silent for longer."""
        own = self.cases.facts_path.read_text()
        assert own.count(HEARTBEAT) == 1
        path = folder / self.cases.facts_path.name
        path.write_text(own.replace(HEARTBEAT, PATIENT))
        return path

    def _asked(self, message: OperatorRequestArray) -> None:
        self.questions.update({request.id: request for request in message.requests})

    def play(self, case: str) -> ScriptedNode:
        """Start the robot of a case; the earlier one is gone."""
        self.stop()
        self.robot = ScriptedNode.of_file(self.cases.path, case, context=self.context)
        self.executor.add_node(self.robot)
        return self.robot

    def stop(self) -> None:
        """End the robot."""
        if self.robot is not None:
            self.executor.remove_node(self.robot)
            destroy(self.robot)
            self.robot = None

    def run_case(self, name: str, flow_id: str) -> RunReport:
        """Run a case as `Cases.run` does; returns its report, from the journal."""
        case = self.cases.spec.cases[name]
        robot = self.play(name)
        self.until(self.flows.server_is_ready, 30.0, 'the action node')
        until_answered(self.until, self.flows)
        answers = {action: [given] if isinstance(given, str) else list(given)
                   for action, given in case.answers.items()}
        given: set[str] = set()
        self.flows.send_goal_async(ExecuteFlow.Goal(
            flow=self.cases.flow_path.read_text(), kind='yaml', flow_id=flow_id,
            parameters_json=json.dumps({**self.cases.spec.parameters, **case.parameters})))
        kills = [event.at for event in case.events if event.kill]

        def over() -> Any:
            if kills and robot.goals and robot.clock.time >= robot.goals[0].at + kills[0]:
                kills.pop(0)
                os.kill(self.launch.pids('composed')[-1], signal.SIGKILL)
            for request in self._open(flow_id):
                if answers.get(request.action_id) and request.id not in given:
                    given.add(request.id)
                    self.respond.call_async(Respond.Request(
                        id=request.id, answer=answers[request.action_id].pop(0), actor='case'))
            return self._end(flow_id)

        end = self.until(over, 120.0, f"the end of '{name}'")
        return self._report(name, flow_id, end, answers)

    def _open(self, flow_id: str) -> list[Any]:
        return [one for one in self.questions.values() if one.flow_id == flow_id]

    def _end(self, flow_id: str) -> Any:
        rows = self.rows(flow_id=flow_id, kind='flow')
        return next((row for row in rows if row.to_state in ENDS), None)

    def _report(self, name: str, flow_id: str, end: Any, answers: dict[str, list[str]]
                ) -> RunReport:
        assert self.robot is not None
        rows = self.rows(flow_id=flow_id)
        with JournalReader(self.journal_path) as reader:
            found = Projection(reader, packaged_graph('action')).find(flow_id=flow_id)
        actions = {action.action_id: ActionReport(
            action.outcome.value if action.outcome else '', action.error_code.name,
            action.error_msg, action.attempt,
            [row.to_state for row in rows if row.action_id == action.action_id
             and row.kind == 'transition']) for action in found}
        asked = [(one.action_id, one.question) for one in self._open(flow_id)]
        return RunReport(
            ENDS[end.to_state], ErrorCode.NONE, '', 0.0, actions, list(self.robot.goals), asked,
            rows, 0, {action: left for action, left in answers.items() if left})

    def close(self) -> None:
        self.stop()
        self.launch.end()
        super().close()
