# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The state type `tool`: picks a tool, fills in its arguments, checks them and calls it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Optional, Protocol

from pydantic import Field, StrictStr

from .builtin_states import ReadyState
from .chooser import awaited, Choice, ChoiceError, chosen_name, one_of, read_answer
from ..documents.errors import LifecycleError
from ..documents.json_schema import schema_faults
from ..documents.models import StrictModel
from ..graphs.state_types import FieldsModel, Pause, register_state

TRIES = 3
"""Maximum number of requests for arguments; each contains the faults of the last answer."""
_ANY = {'type': 'object', 'properties': {}}


class ToolError(LifecycleError):
    """A tool does not exist, is called with invalid arguments, or fails."""


class ArgumentsError(ToolError):
    """The arguments of a tool do not fit its schema; it was not called."""


class ToolTimeout(ToolError):
    """A tool gives no result in time; whether it was done is not known."""


class ToolManager(Protocol):
    """The interface of `agent.tool_manager`; a tool's spec has `description` and `inputSchema`."""

    def list_all_tools(self) -> Any:
        """Return the specs of all tools: {server: {tool: spec}}."""

    def call_tool(self, tool_name: str, arguments: Mapping[str, Any], user_id: Any) -> Any:
        """
        Call a tool and return its result.

        An error with a `connect_url` means that the user has to authorise the tool first; its
        `service` and `service_info['name']` name the service.
        """


class ToolFields(StrictModel):
    """The fields of a tool state; without `tool`, the agent chooses one."""

    tool: Optional[StrictStr] = None
    arguments: Optional[dict[str, Any]] = Field(
        None, description='the arguments; without them the agent fills them in')
    failed: Optional[StrictStr] = Field(
        None, description='the next state if the tool fails; without it that is an error')


@register_state
class ToolState(ReadyState):
    """
    Calls a tool of `agent.tool_manager` for `agent.current_user_id`; its result is the update.

    If the file does not name the tool or its arguments, `agent.call_llm(context, json_schema)`
    returns them, or `agent.chooser` if there is no such method. Arguments are validated by the
    tool's schema before the call. If a tool needs authorisation, the session pauses with the link;
    on resume the same call is repeated.
    """

    Fields: ClassVar[FieldsModel | None] = ToolFields
    leads_to: ClassVar[tuple[str, ...]] = ('failed',)

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        super().__init__(name, config)
        self.tool: str | None = config.get('tool')
        self._call: tuple[str, Mapping[str, Any]] | None = None

    async def run(self, context: Any, agent: Any = None) -> Any:
        manager: ToolManager = self.needed(agent, 'tool_manager')
        self._next = None
        tool = ''
        try:
            if self._call is None:
                self._call = await self._chosen_call(manager, context, agent)
            tool, arguments = self._call
            result = await awaited(manager.call_tool(
                tool_name=tool, arguments=arguments,
                user_id=getattr(agent, 'current_user_id', None)))
        except Exception as error:
            link = getattr(error, 'connect_url', None)
            if link is not None:
                service = getattr(error, 'service', tool)
                name = (getattr(error, 'service_info', None) or {}).get('name', service)
                return Pause(f'To complete this request, please connect your {name}', str(link))
            self._call = None
            if self.config.get('failed') is None:
                raise
            self._next = self.config['failed']
            return {'role': 'tool', 'name': tool, 'error': str(error) or type(error).__name__}
        self._call = None
        return {'role': 'tool', 'name': tool, 'content': result}

    async def _chosen_call(
        self, manager: ToolManager, context: Any, agent: Any
    ) -> tuple[str, Mapping[str, Any]]:
        tools = {tool: spec for specs in (await awaited(manager.list_all_tools())).values()
                 for tool, spec in specs.items()}
        tool = self.tool
        if tool is None and len(tools) == 1:
            tool, = tools
        elif tool is None:
            tool = chosen_name(await self._ask(
                agent, context, 'Choose the tool that serves the request best.', Choice(
                    self.name, (), tuple(tools), tuple(
                        str(spec.get('description', '')) for spec in tools.values()),
                    context, one_of('tool_name', list(tools)))), 'tool_name')
        if tool is None or tool not in tools:
            raise ChoiceError(self.name, list(tools), f"no tool '{tool}'")
        return tool, await self._arguments(tool, tools[tool], context, agent)

    async def _arguments(
        self, tool: str, spec: Mapping[str, Any], context: Any, agent: Any
    ) -> Mapping[str, Any]:
        """Return valid arguments for the tool; asks again with the faults, up to `TRIES` times."""
        schema = spec.get('inputSchema') or _ANY
        given = self.config.get('arguments')
        faults: list[str] = []
        for _ in range(TRIES if given is None else 1):
            prompt = f"Fill in the arguments of the tool '{tool}': {spec.get('description', '')}"
            if faults:
                prompt += '\nThe last answer was refused:\n' + '\n'.join(faults)
            arguments = given if given is not None else read_answer(await self._ask(
                agent, context, prompt, Choice(self.name, (), (), (), context, schema)))
            if not isinstance(arguments, Mapping):
                faults = [f'.: expected an object, got {arguments!r:.200}']
            else:
                faults = await asyncio.to_thread(schema_faults, arguments, schema)
            if not faults:
                return dict(arguments)
        raise ToolError(f"state '{self.name}': no usable arguments for the tool '{tool}': "
                        + '; '.join(faults))

    async def _ask(self, agent: Any, context: Any, prompt: str, choice: Choice) -> Any:
        asked = [*context, {'role': 'system', 'content': prompt}] \
            if isinstance(context, list) else context
        if hasattr(agent, 'call_llm'):
            output = await awaited(agent.call_llm(asked, json_schema=choice.schema))
        elif getattr(agent, 'chooser', None) is not None:
            output = await awaited(agent.chooser(replace(choice, context=asked)))
        else:
            raise LifecycleError(f"state '{self.name}' of type 'tool' needs an agent with "
                                 f"'call_llm' or 'chooser', got {type(agent).__name__}")
        return getattr(output, 'content', output)
