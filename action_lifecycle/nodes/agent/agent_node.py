# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The agent node: hosts sessions, which are graphs of typed states, in a journal of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .motions import Motions
from .node import LanguageModelNode
from .session_server import SessionServer
from ..shared.authorization import ask_person
from ..shared.operators import Operators
from ..shared.paths import new_journal_path
from ..shared.ros_log import log_to
from ..shared.task_engine import declare_engine, node_engine
from ...agents.chooser import Chooser
from ...agents.llm.model import ModelError
from ...agents.sessions.host import Host
from ...agents.sessions.hosting import Sessions
from ...agents.sessions.record import CONTEXT_LIMIT, KIND
from ...agents.skills.skill import SkillStore
from ...agents.steps import MAX_ITER
from ...agents.tools.registry import ToolRegistry
from ...documents.errors import LifecycleError
from ...graphs.packaged import config_file
from ...graphs.state_types import REGISTRY
from ...invoke import Engine
from ...journal.journal import Journal
from ...ros.calls.flow_calls import FlowCalls
from ...ros.calls.service_chooser import ServiceChooser
from ...ros.interfaces.names import name_fault
from ...ros.node.process import run


class AgentNode(LanguageModelNode):
    """
    Managed node `agent`.

    | interface | name | type |
    |---|---|---|
    | action | `~/run_graph` | action_lifecycle_msgs/action/RunGraph |
    | service | `~/send_event` | action_lifecycle_msgs/srv/SendSessionEvent |
    | service | `~/get_session` | action_lifecycle_msgs/srv/GetSession |
    | service | `~/list_sessions` | action_lifecycle_msgs/srv/ListSessions |
    | service | `~/respond` | action_lifecycle_msgs/srv/Respond |
    | service (with a model) | `~/plan` | action_lifecycle_msgs/srv/Plan |
    | service (with a model) | `~/choose_transition` | action_lifecycle_msgs/srv/ChooseTransition |
    | topic (latched) | `~/sessions` | action_lifecycle_msgs/msg/SessionArray |
    | topic (latched) | `~/operator_requests` | action_lifecycle_msgs/msg/OperatorRequestArray |
    | calls | `<action_node>/execute_flow` | action_lifecycle_msgs/action/ExecuteFlow |
    | calls | `<action_node>/list_actions` | action_lifecycle_msgs/srv/ListActions |
    | calls | `<action_node>/get_history` | action_lifecycle_msgs/srv/GetHistory |
    | calls | what `choose_transition` names | action_lifecycle_msgs/srv/ChooseTransition |
    | calls | the services of `tools_file` | of any type |

    Parameters, beside those of `language_model`: `journal_path` (string): file of its journal;
    `graph_folders` (string list): folders of the graphs that goals give by name; `states_folder`
    (string): folder with further state types; `skills_folder` (string): folder of skills;
    `engine` (local, celery), `workers` (int), `broker` (string), `task_time_limit`, `queue_limit`
    (double, s): outside work; `choose_transition` (string): service that chooses between next
    states, by default the model of this node; `choice_timeout`, `state_time_limit`,
    `motion_time_limit` (double, s); `max_steps` (int): states that may run without an event of the
    user; `context_limit` (int, characters of JSON); `compact_keep` (int, rows).
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('agent', **kwargs)
        self.declare('journal_path', '', 'File of the journal; empty: in the ROS home.')
        self.declare('graph_folders', [str(config_file('graphs'))],
                     'Folders of the graphs that are given by name.')
        self.declare('states_folder', '', 'Folder with state types, state_NAME.py; empty: none.')
        self.declare('skills_folder', '', 'Folder of the skills that states learn; empty: none.')
        declare_engine(self)
        self.declare('choose_transition', '', 'Service (ChooseTransition) that chooses between '
                     'next states; empty: the model of this node.',
                     check=lambda name: name_fault(name) if name else '')
        self.declare('choice_timeout', 60.0, 'Time limit (s) of a choice.', limits=(0.1, 3600.0))
        self.declare('state_time_limit', 0.0, 'Time limit (s) of one run of a state; 0: none.',
                     limits=(0.0, 86400.0))
        self.declare('motion_time_limit', 300.0, 'Time limit (s) of the motion or condition of a '
                     'state.', limits=(0.1, 86400.0))
        self.declare('max_steps', MAX_ITER, 'Maximum number of states that run without an event '
                     'of the user.', limits=(1, 100_000))
        self.declare('context_limit', CONTEXT_LIMIT, 'Maximum size of the context of a session, '
                     'in characters of JSON.', limits=(1000, 400_000))
        self.declare('compact_keep', 100_000, 'Number of rows that stay in the journal, beside '
                     'those of open sessions; 0: all.', limits=(0, 2**53))
        self.journal: Journal | None = None
        self._engine: Engine | None = None
        self._sessions: Sessions | None = None

    def configure(self) -> None:
        """Open the journal and create the interfaces; raises LifecycleError."""
        self.claim_name()
        path = new_journal_path(self, '.agent')
        self.journal = Journal(path)
        self.defer(self._close_journal)
        self.get_logger().info(f'journal: {path}')
        log_to(self)
        try:
            self.settings = self.model_settings()
        except ModelError:
            if self.parameter('base_url') or self.parameter('model'):
                raise
            self.settings = None
            self.get_logger().info('no language model is configured')
        if folder := str(self.parameter('states_folder')):
            REGISTRY.load_folder(folder)
        self.operators = Operators(self, self.journal)
        self.load_tools()
        self.skills: SkillStore | None = None
        if skills := str(self.parameter('skills_folder')):
            self.tools = self.tools or ToolRegistry()
            self.skills = SkillStore(Path(skills).expanduser(), self.tools)
            self.tools.add_source(self.skills)
        self.motions = Motions(
            FlowCalls(self, str(self.parameter('action_node'))),
            float(self.parameter('motion_time_limit')), self.user or self.get_name())
        self.chooser = self._service_chooser()
        self.server = SessionServer(self, list(self.parameter('graph_folders')), self.in_network)
        if self.settings is not None:
            self.offer_model()
        if self.parameter('engine') == 'celery' and not self.parameter('broker'):
            raise LifecycleError("the engine 'celery' needs the parameter broker, such as "
                                 'redis://localhost')

    def activate(self) -> None:
        """Go on with the open sessions of the journal."""
        assert self.journal is not None
        super().activate()
        self._engine = node_engine(self, self.journal.path)
        for opened, damage in self.journal.checked_open_rows(KIND):
            for row, fault in () if damage else self.journal.checked_rows(
                    flow_id=opened.flow_id, kind='note'):
                if not fault:
                    self.operators.desk.read_back(row)
        assert self.network is not None
        self._sessions, statuses = self.network.submit(
            self._restore(self.journal, self._engine)).result()
        self.server.sessions = self._sessions
        self.server.show(statuses)

    async def _restore(self, journal: Journal, engine: Engine) -> Any:
        chooser: Chooser | None = self.chooser
        if chooser is None and self.model is not None:
            chooser = self.model_chooser(self.model)
        sessions = Sessions(Host(
            journal, self._agent(chooser), engine, chooser,
            float(self.parameter('choice_timeout')), float(self.parameter('state_time_limit')),
            float(self.parameter('authorization_timeout')), int(self.parameter('max_steps')),
            int(self.parameter('context_limit')), self.now,
            partial(ask_person, self, self.operators.desk), self.server.changed,
            set_aside=self.server.set_aside), int(self.parameter('compact_keep')))
        sessions.restore()
        return sessions, sessions.statuses()

    def _agent(self, chooser: Chooser | None) -> Any:
        """Return what the states of sessions call."""
        agent = SimpleNamespace(
            current_user_id=self.user, execute_motion=self.motions.execute_motion,
            confirm=self.motions.confirm, stop_call=self.motions.stop_call)
        if self.tools is not None:
            agent.tool_manager = self.tools
        if self.skills is not None:
            agent.skills = self.skills
        if self.model is not None:
            agent.call_llm = self.model.call_llm
        if chooser is not None:
            agent.chooser = chooser
        return agent

    def halt(self) -> None:
        """End the goals; the sessions stay as they are."""
        self.server.interrupt()

    def deactivate(self) -> None:
        """Leave all sessions as they are in the journal, and stop the threads."""
        sessions, self._sessions = self._sessions, None
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close(keep=True)  # first, so that no outcome is lost
        if self.network is not None and sessions is not None:
            self.network.submit(sessions.close()).result()
        super().deactivate()

    def _close_journal(self) -> None:
        if self.journal is not None:
            self.journal.close()
            self.journal = None

    def _service_chooser(self) -> Chooser | None:
        name = str(self.parameter('choose_transition'))
        if not name:
            return None
        chooser: Chooser = self.keep(
            ('chooser', name), lambda: ServiceChooser(self, name, self.get_name()))
        return chooser


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(AgentNode, args=args)
