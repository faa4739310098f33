# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
The built-in state types: agent, user, tool, decision, terminal, motion, confirm.

What they need, they ask of the agent that the session runs for. Each class says which methods;
these may be sync or async.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from typing import Any, Optional, Protocol

from pydantic import Field, StrictFloat, StrictInt, StrictStr

from .chooser import ChoiceError, chosen_name, one_of, read_answer
from .document import StrictModel
from .errors import LifecycleError
from .states import Pause, State, register_state


class NoFields(StrictModel):
    """The type adds nothing to the fields of every state."""


class _ReadyState(State):
    """A state that has done its part when `run` returns."""

    def check_transition_ready(self, context: Any) -> bool:
        return True


@register_state
class AgentState(_ReadyState):
    """Lets the agent answer: `agent.call_llm(context)`; its output is the update."""

    type = 'agent'
    Fields = NoFields

    async def run(self, context: Any, agent: Any = None) -> Any:
        return await _result(_method(self, agent, 'call_llm')(context))


@register_state
class UserState(_ReadyState):
    """
    Waits for the user: `agent.get_user_input(context)`; what it returns is the update.

    An agent that has no such method makes the session pause; the answer comes with its `resume`.
    """

    type = 'user'
    Fields = NoFields

    async def run(self, context: Any, agent: Any = None) -> Any:
        if not hasattr(agent, 'get_user_input'):
            return Pause(self.config.get('description') or 'waiting for input')
        return await _result(agent.get_user_input(context))


@register_state
class DecisionState(_ReadyState):
    """Does nothing; it stands where a chooser decides."""

    type = 'decision'
    Fields = NoFields

    def run(self, context: Any, agent: Any = None) -> None:
        return None


@register_state
class TerminalState(_ReadyState):
    """Ends the session."""

    type = 'terminal'
    Fields = NoFields
    is_terminal = True

    def run(self, context: Any, agent: Any = None) -> None:
        return None


class ToolManager(Protocol):
    """Where tools are: `agent.tool_manager`. A spec may have an `inputSchema`."""

    def list_all_tools(self) -> Any:
        """Return the specs of all tools: {server: {tool: spec}}."""

    def call_tool(self, tool_name: str, arguments: Mapping[str, Any], user_id: Any) -> Any:
        """
        Call a tool.

        An error that has a `connect_url` says that the user has to authorise it first; its
        `service` and `service_info['name']` say what.
        """


class ToolFields(StrictModel):
    """A tool by name; without it the agent chooses one."""

    tool: Optional[StrictStr] = None
    arguments: Optional[dict[str, Any]] = Field(
        None, description='the arguments; without them the agent fills them in')


@register_state
class ToolState(_ReadyState):
    """
    Calls a tool of `agent.tool_manager` for `agent.current_user_id`; its result is the update.

    Tool and arguments that the file does not give are asked of `agent.call_llm(context,
    json_schema)`. A tool that needs authorisation pauses the session with the link; when it
    resumes, the same call is made again.
    """

    type = 'tool'
    Fields = ToolFields

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        super().__init__(name, config)
        self._call: tuple[str, Mapping[str, Any]] | None = None

    async def run(self, context: Any, agent: Any = None) -> Any:
        manager: ToolManager = _method(self, agent, 'tool_manager')
        if self._call is None:
            self._call = await self._chosen_call(manager, context, agent)
        tool, arguments = self._call
        try:
            result = await _result(manager.call_tool(
                tool_name=tool, arguments=arguments,
                user_id=getattr(agent, 'current_user_id', None)))
        except Exception as error:
            link = getattr(error, 'connect_url', None)
            if link is None:
                self._call = None
                raise
            service = getattr(error, 'service', tool)
            name = (getattr(error, 'service_info', None) or {}).get('name', service)
            return Pause(f'To complete this request, please connect your {name}', str(link))
        self._call = None
        return {'role': 'tool', 'name': tool, 'content': result}

    async def _chosen_call(
        self, manager: ToolManager, context: Any, agent: Any
    ) -> tuple[str, Mapping[str, Any]]:
        tools = {tool: spec for specs in (await _result(manager.list_all_tools())).values()
                 for tool, spec in specs.items()}
        tool: str | None = self.config.get('tool')
        if tool is None and len(tools) == 1:
            tool, = tools
        elif tool is None:
            tool = chosen_name(await self._ask(
                agent, context, 'Choose the tool that serves the request best.',
                one_of('tool_name', list(tools))), 'tool_name')
        if tool is None or tool not in tools:
            raise ChoiceError(self.name, list(tools), f"no tool '{tool}'")
        arguments = self.config.get('arguments')
        if arguments is None:
            schema = tools[tool].get('inputSchema', {'type': 'object', 'properties': {}})
            arguments = read_answer(await self._ask(
                agent, context, f"Fill in the arguments of the tool '{tool}'.", schema))
        if not isinstance(arguments, Mapping):
            raise LifecycleError(f"state '{self.name}': no usable arguments for the tool "
                                 f"'{tool}': {arguments!r:.200}")
        return tool, arguments

    async def _ask(self, agent: Any, context: Any, prompt: str, schema: Any) -> Any:
        asked = [*context, {'role': 'system', 'content': prompt}] \
            if isinstance(context, list) else context
        output = await _result(_method(self, agent, 'call_llm')(asked, json_schema=schema))
        return getattr(output, 'content', output)


class MotionFields(StrictModel):
    """A motion, and where its end leads."""

    motion: dict[str, Any]
    succeeded: Optional[StrictStr] = None
    failed: Optional[StrictStr] = None


@register_state
class MotionState(_ReadyState):
    """
    Moves the robot: `agent.execute_motion(motion, context)`, true when the motion was executed.

    A failure leads to `failed`; where there is none, it is an error.
    """

    type = 'motion'
    Fields = MotionFields
    leads_to = ('succeeded', 'failed')

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        super().__init__(name, config)
        self._next: str | None = None

    async def run(self, context: Any, agent: Any = None) -> Any:
        executed = await _result(
            _method(self, agent, 'execute_motion')(self.config['motion'], context)) is True
        if not executed and self.config.get('failed') is None:
            raise LifecycleError(f"state '{self.name}': the motion failed")
        self._next = self.config.get('succeeded' if executed else 'failed')
        return {'state': self.name, 'executed': executed}

    def next_state(self, context: Any) -> str | None:
        return self._next


class ConfirmFields(StrictModel):
    """A condition on the world, and where its verdict leads."""

    condition: StrictStr
    within: StrictFloat | StrictInt | None = Field(None, description='time limit in s')
    confirmed: Optional[StrictStr] = None
    refuted: Optional[StrictStr] = None


@register_state
class ConfirmState(_ReadyState):
    """
    Asks the sensors: `agent.confirm(condition, within)` gives True, False or None (not known).

    Only True confirms. All else leads to `refuted`; where there is none, it is an error.
    """

    type = 'confirm'
    Fields = ConfirmFields
    leads_to = ('confirmed', 'refuted')

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        super().__init__(name, config)
        self._next: str | None = None

    async def run(self, context: Any, agent: Any = None) -> Any:
        condition = self.config['condition']
        verdict = await _result(
            _method(self, agent, 'confirm')(condition, self.config.get('within')))
        confirmed = verdict is True
        if not confirmed and self.config.get('refuted') is None:
            raise LifecycleError(f"state '{self.name}': not confirmed: {condition}")
        self._next = self.config.get('confirmed' if confirmed else 'refuted')
        return {'state': self.name, 'condition': condition, 'verdict': verdict}

    def next_state(self, context: Any) -> str | None:
        return self._next


def _method(state: State, agent: Any, name: str) -> Any:
    found = getattr(agent, name, None)
    if found is None:
        raise LifecycleError(f"state '{state.name}' of type '{state.type}' needs an agent with "
                             f"'{name}', got {type(agent).__name__}")
    return found


async def _result(value: Any | Awaitable[Any]) -> Any:
    return await value if inspect.isawaitable(value) else value
