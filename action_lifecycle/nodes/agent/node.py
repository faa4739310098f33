# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The language_model node: lets a language model plan flows and choose transitions.

Network and tools run in a separate thread, so they do not block the executor. This node only
checks the form of the model's answers; the client that asked checks their content and uses them.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError, Future
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from action_lifecycle_msgs.srv import ChooseTransition, Plan

from ..shared.authorization import run_attended
from ..shared.operators import Operators
from ..shared.tools_file import load_tools
from ...agents.chooser import Choice, first_ready
from ...agents.handler import StateHandler
from ...agents.llm.chooser import ModelChooser
from ...agents.llm.model import LanguageModel, ModelError, ModelSettings, whole_characters
from ...agents.llm.planner import ModelPlanner
from ...agents.steps import Session
from ...agents.tools.registry import ToolRegistry
from ...documents.errors import LifecycleError
from ...documents.json_schema import check_schema
from ...documents.json_text import read_json
from ...fleet.loop_thread import LoopThread
from ...flow.planning.planners import PlanRequest
from ...graphs.packaged import packaged_graph
from ...ros.calls.threads import from_thread
from ...ros.conversions.plain_data import plan_request_from
from ...ros.interfaces.names import name_fault
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.process import run

MAX_MESSAGE = 2000
"""Maximum length of the message that comes with a plan, in characters."""


class LanguageModelNode(ManagedNode):
    """
    Managed node `language_model`.

    | interface | name | type |
    |---|---|---|
    | service | `~/plan` | action_lifecycle_msgs/srv/Plan |
    | service | `~/choose_transition` | action_lifecycle_msgs/srv/ChooseTransition |
    | service | `~/respond` | action_lifecycle_msgs/srv/Respond |
    | topic (latched) | `~/operator_requests` | action_lifecycle_msgs/msg/OperatorRequestArray |
    | calls | `<action_node>/execute_flow` | action_lifecycle_msgs/action/ExecuteFlow |
    | calls | the services of `tools_file` | of any type |

    Parameters: `base_url`, `model` (strings; empty: from OPENAI_BASE_URL and OPENAI_MODEL of the
    environment; the key comes from OPENAI_API_KEY only); `time_limit` (double, s) for an answer
    with all its tries, `tries` (int); `fallback` (none, first): the choice if the model gives no
    usable answer; `tools_file` (string): tools that the planner may use before it plans, at most
    `tool_calls` (int) times; `authorization_timeout` (double, s): time for a person to authorise a
    tool; `action_node` (string): the node that runs the motions of tools.
    """

    def __init__(self, name: str = 'language_model', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.declare('base_url', '', 'URL of the endpoint; empty: OPENAI_BASE_URL.')
        self.declare('model', '', 'Name of the model; empty: OPENAI_MODEL.')
        self.declare('time_limit', 30.0, 'Seconds for an answer with all its tries.',
                     limits=(0.1, 3600.0))
        self.declare('tries', 3, 'Maximum number of answers until one is usable.',
                     limits=(1, 20))
        self.declare('fallback', 'none', 'Choice if the model gives no usable answer: '
                     'none (the machine takes its default) or first.', choices=('none', 'first'))
        self.declare('tools_file', '', 'Tools that the planner may use; empty: none.')
        self.declare('tool_calls', 8, 'Maximum number of tool calls per plan.', limits=(0, 100))
        self.declare('authorization_timeout', 300.0,
                     'Time (s) for a person to authorise a tool.', limits=(1.0, 86400.0))
        self.declare('action_node', 'action_lifecycle',
                     'Name of the node that runs the motions of tools.', check=name_fault)
        self.network: LoopThread | None = None
        self.settings: ModelSettings | None = None
        self.model: LanguageModel | None = None
        self.tools: ToolRegistry | None = None
        self.user = ''

    def configure(self) -> None:
        """Create the interfaces; raises LifecycleError for missing or wrong settings."""
        self.claim_name()
        self.settings = self.model_settings()
        self.operators = Operators(self)
        self.load_tools()
        self.offer_model()

    def model_settings(self) -> ModelSettings:
        """Return the settings of the model; raises ModelError if there are none."""
        return ModelSettings(
            str(self.parameter('base_url')), str(self.parameter('model')),
            float(self.parameter('time_limit')), int(self.parameter('tries'))).resolved()

    def load_tools(self) -> None:
        """Load the file of tools."""
        self.tools, self.user = None, ''
        if path := str(self.parameter('tools_file')):
            self.tools, spec = load_tools(
                Path(path).expanduser(), self, str(self.parameter('action_node')))
            self.user = spec.user or ''

    def offer_model(self) -> None:
        """Offer the services of the model."""
        self.graph = packaged_graph('planner')
        self.add_service(Plan, '~/plan', self._plan, inactive=True)  # they report it themselves
        self.add_service(ChooseTransition, '~/choose_transition', self._choose, inactive=True)

    def activate(self) -> None:
        """Start the network thread."""
        self.model = None if self.settings is None else LanguageModel(self.settings)
        self.network = LoopThread()
        self.operators.topic.publish()

    def deactivate(self) -> None:
        """Cancel the running requests and stop the network thread."""
        network, self.network = self.network, None
        if network is not None:
            network.submit(self._end_clients()).result()
            network.stop()

    async def _end_clients(self) -> None:
        if self.model is not None:
            await self.model.close()
        if self.tools is not None:
            await self.tools.close()

    async def _plan(self, request: Any, response: Any) -> Any:
        try:
            answer = await self.in_network(self._planned(plan_request_from(request)))
        except LifecycleError as error:
            response.message = whole_characters(str(error))
            return response
        response.accepted = True
        response.flow_yaml, response.edit_yaml = answer.flow_yaml, answer.edit_yaml
        response.message = whole_characters(answer.message[:MAX_MESSAGE])
        return response

    async def _planned(self, request: PlanRequest) -> Any:
        """Call tools to gather information, then plan."""
        model = self.running_model()
        found: list[Any] = []
        if self.tools is not None and not request.flow_yaml:
            chooser = ModelChooser(model, fallback=None)
            session = Session(
                StateHandler(graph=self.graph),
                [{'request': request.request, 'facts': request.facts}],
                SimpleNamespace(tool_manager=self.tools, chooser=chooser,
                                current_user_id=self.user),
                chooser=chooser, choice_timeout=None)
            await run_attended(
                session, 2 * int(self.parameter('tool_calls')), self, self.operators.desk,
                float(self.parameter('authorization_timeout')))
            found = session.context[1:]
        return await ModelPlanner(model).plan(request, found)

    async def _choose(self, request: Any, response: Any) -> Any:
        try:
            answer = await self.in_network(self._chosen(request))
        except LifecycleError as error:
            response.reason = whole_characters(str(error))
            return response
        if isinstance(answer, dict) and list(answer) == ['next_state']:
            answer = answer['next_state']
        response.transition = answer if isinstance(answer, str) else json.dumps(answer)
        return response

    async def _chosen(self, request: Any) -> Any:
        choice = await asyncio.to_thread(_choice, request)
        return await self.model_chooser(self.running_model())(choice)

    def model_chooser(self, model: LanguageModel) -> ModelChooser:
        """Return a chooser that asks the model, with the fallback of the parameter."""
        fallback = None if self.parameter('fallback') == 'none' else first_ready
        return ModelChooser(model, fallback)

    def running_model(self) -> LanguageModel:
        """Return the model; raises ModelError while the node is not active."""
        if self.model is None:
            raise ModelError('the node is not active')
        return self.model

    async def in_network(self, work: Any) -> Any:
        """Run a coroutine in the network thread and return its result."""
        if self.network is None:
            work.close()
            raise ModelError('the node is not active')
        asked: Future[Any] = self.network.submit(work)
        await from_thread(self, asked)
        try:
            return asked.result()
        except CancelledError:
            raise ModelError('given up: the node was deactivated') from None


def _choice(request: Any) -> Choice:
    """Return the choice of a request; raises `LifecycleError` if the request is not valid."""
    context = read_json(request.context_json or 'null', 'context_json is no JSON')
    schema = read_json(request.answer_schema or 'null', 'answer_schema is no JSON')
    names = tuple(request.transitions)
    if schema is not None:
        check_schema(schema)
        if list(schema.get('properties', {})) == ['next_state']:
            schema = None  # `transitions` gives the legal names
    if schema is None and not names:
        raise LifecycleError('there are no transitions to choose from')
    descriptions = (*request.descriptions, *[''] * len(names))[:len(names)]
    return Choice(request.state, (), names, descriptions, context, schema)


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(LanguageModelNode, args=args)
