# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The agent node as a real process that can be killed, and a client of its sessions."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import io
import json
import os
from pathlib import Path
import subprocess
import time
from typing import Any
from unittest.mock import patch

from action_lifecycle.cli import main
from action_lifecycle.journal import Row
from action_lifecycle_msgs.action import RunGraph
from action_lifecycle_msgs.msg import (
    OperatorRequestArray,
    SafetyState,
    Session,
    SessionArray,
)
from action_lifecycle_msgs.srv import GetSession, ListSessions, Respond, SendSessionEvent
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from unit.invoke.celery_rig import TASKS

from .forked import Forked
from .process_rig import ProcessRig
from .robot_double import FACTS, RobotDouble
from .waiting import rows_of

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
AGAIN = 3.0  # s after which a request is sent again: rclpy may lose what a new node is asked


class AgentRig(ProcessRig):
    """The node `agent`; `system` has the other nodes, if a test needs them."""

    def __init__(self, folder: Path, redis: bool = False, **environment: str) -> None:
        super().__init__(folder, redis=redis)
        self.environment.update(
            {'PYTHONPATH': os.pathsep.join([str(TASKS), os.environ.get('PYTHONPATH', '')]),
             'OPENAI_BASE_URL': '', 'OPENAI_MODEL': '', **environment})
        self.journal_path = folder / 'agent.journal'
        self.parameters: dict[str, Any] = {
            'autostart': True, 'journal_path': str(self.journal_path)}
        self.process: Forked | None = None
        self.sessions: dict[str, Any] = {}  #: as ~/sessions has them
        self.progress: dict[str, list[float]] = {}  #: of working sessions, also over restarts
        self.questions: list[Any] = []
        self.feedback: list[Any] = []
        self.runs = ActionClient(self.node, RunGraph, 'agent/run_graph')
        self.clients = {kind: self.node.create_client(kind, f'agent/{name}') for kind, name in (
            (SendSessionEvent, 'send_event'), (GetSession, 'get_session'),
            (ListSessions, 'list_sessions'), (Respond, 'respond'))}
        self.node.create_subscription(SessionArray, 'agent/sessions', self._seen, LATCHED)
        self.node.create_subscription(
            OperatorRequestArray, 'agent/operator_requests',
            lambda message: setattr(self, 'questions', list(message.requests)), LATCHED)

    def _seen(self, message: SessionArray) -> None:
        self.sessions = {session.id: session for session in message.sessions}
        for session in message.sessions:
            if session.status == Session.WORKING:
                self.progress.setdefault(session.id, []).append(session.progress)

    def start(self, **parameters: Any) -> None:
        self.parameters.update(parameters)
        self.sessions = {}
        self.questions = []
        self.process = self.spawn('agent', self.parameters, log='agent')

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(10.0)

    def kill_and_start(self) -> None:
        self.kill()
        self.start()

    def close(self) -> None:
        self.runs.destroy()
        self.end([] if self.process is None else [self.process])

    def call(self, kind: Any, request: Any) -> Any:
        """Return the response of a service; only for requests that may be repeated."""
        client = self.clients[kind]
        for _ in range(10):
            self.until(client.service_is_ready, 30.0, f'the service {client.srv_name}')
            future = client.call_async(request)
            end = time.monotonic() + AGAIN
            self.until(lambda future=future, end=end: future.done() or time.monotonic() > end,
                       10.0, 'an answer')
            if future.done():
                return future.result()
        raise AssertionError(f'{client.srv_name} does not answer')

    def begin(self, graph: str, session_id: str, given: Any = None) -> Any:
        """Send a goal that is accepted; returns the future of its result."""
        goal = RunGraph.Goal(
            graph=graph, source='test.yaml', session_id=session_id, requester='anna',
            input_json='' if given is None else json.dumps(given))
        for _ in range(10):
            self.until(self.runs.server_is_ready, 30.0, 'the action')
            sent = self.runs.send_goal_async(goal, lambda message: self.feedback.append(
                message.feedback.session))
            end = time.monotonic() + AGAIN
            self.until(lambda sent=sent, end=end: sent.done() or time.monotonic() > end,
                       10.0, 'an answer to the goal')
            if sent.done() and sent.result().accepted:
                self.handle = sent.result()
                return self.handle.get_result_async()
        raise AssertionError('the goal is not accepted')

    def send(self, session_id: str, event: str, given: Any = None) -> Any:
        """Send an event once; returns the response."""
        return self.ask(self.clients[SendSessionEvent], SendSessionEvent.Request(
            session_id=session_id, event=event, actor='anna',
            input_json='' if given is None else json.dumps(given)))

    def poll(self, session_id: str) -> Any:
        return self.call(SendSessionEvent, SendSessionEvent.Request(
            session_id=session_id, event='poll'))

    def until_session(self, session_id: str, wanted: Callable[[Any], Any], what: str,
                      seconds: float = 40.0) -> Any:
        """Wait until ~/sessions shows a session as wanted."""
        def seen() -> Any:
            session = self.sessions.get(session_id)
            return session if session is not None and wanted(session) else None
        return self.until(seen, seconds, what)

    def view(self, session_id: str) -> Any:
        return self.call(GetSession, GetSession.Request(session_id=session_id))

    def context_of(self, session_id: str) -> Any:
        return json.loads(self.view(session_id).context_json)

    def shell(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a console command in this process."""
        out, err = io.StringIO(), io.StringIO()
        with patch.dict(os.environ, ROS_DOMAIN_ID=self.environment['ROS_DOMAIN_ID'],
                        COLUMNS='140'), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(arguments)
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    def rows(self, event: str = '') -> list[Row]:
        return [row for row in rows_of(self.journal_path) if event in ('', row.event)]


class MovingRig(AgentRig):
    """The agent, the nodes that move for it, and a robot that outlives them."""

    def __init__(
        self, folder: Path, redis: bool = False, facts: str = FACTS, **environment: str
    ) -> None:
        super().__init__(folder, redis, **environment)
        self.others: dict[str, Forked] = {}
        self.safety = 0
        self.facts.write_text(facts)
        self.robot = RobotDouble(folder, self.environment)
        self.node.create_subscription(
            SafetyState, 'action_lifecycle/safety',
            lambda message: setattr(self, 'safety', message.state), LATCHED)
        self.start_others()

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return the nodes beside the agent with their parameters."""
        return {'world_model_bridge': {'facts_file': self.facts},
                'action_lifecycle_node': {'journal_path': self.folder / 'robot.journal'}}

    def start_others(self) -> None:
        self.safety = 0
        for name, parameters in self.nodes().items():
            if name not in self.others:
                self.others[name] = self.spawn(
                    name, {'autostart': True, **parameters}, log=name)
        self.until(lambda: self.safety == SafetyState.READY, 60.0, 'motions may run')

    def kill_action_node(self) -> None:
        process = self.others.pop('action_lifecycle_node')
        process.kill()
        process.wait(10.0)

    def close(self) -> None:
        self.runs.destroy()
        self.end([*self.others.values(), *([self.process] if self.process else [])])
        self.robot.close()
