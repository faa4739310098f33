# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tool registry: tools of all servers by name, with checked calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
import functools
import inspect
import json
import logging
from typing import Any, Protocol, TypeVar

from .python import arguments_schema
from ..time_limit import limited
from ..tool_state import ArgumentsError, ToolError, ToolTimeout
from ...documents.errors import LifecycleError
from ...documents.json_schema import check_schema, schema_faults
from ...documents.suggestions import nearest

MAX_RESULT = 65_536
"""Maximum length of a tool's result, in characters of JSON, since it is added to a context."""
TIME_LIMIT = 60.0
"""Default time limit (s) of a call."""

_LOG = logging.getLogger(__name__)
CallableT = TypeVar('CallableT', bound=Callable[..., Any])
Caller = Callable[[str, Mapping[str, Any], Any], Awaitable[Any]]
"""Calls a tool: its name, arguments, user id; such as `ToolRegistry.call_tool`."""


class AuthRequiredError(ToolError):
    """A tool must be authorised first, at `connect_url`."""

    def __init__(self, service: str, connect_url: str, message: str = '') -> None:
        self.service = service
        self.service_info = {'name': service}
        self.connect_url = connect_url
        super().__init__(message or f'{service} has to be authorised at {connect_url}')


@dataclass(frozen=True)
class Tool:
    """
    A tool: `call(arguments, user_id)` returns its result, or an awaitable of it.

    `call_by_id(arguments, user_id, call_id, again)` does the same for a call that can be found
    again after a crash; `again`: an earlier process may have made it. `idempotent`: a call whose
    fate is not known may be repeated. `call_by_steps(arguments, user_id, caller)` does the same
    for a tool that only calls other tools, by `caller`, in the same order whenever it is repeated.
    """

    name: str
    server: str
    description: str
    inputSchema: Mapping[str, Any]  # noqa: N815  (name in the protocol)
    call: Callable[[dict[str, Any], Any], Any]
    time_limit: float = TIME_LIMIT  #: s
    idempotent: bool = False
    call_by_id: Callable[[dict[str, Any], Any, str, bool], Any] | None = None
    call_by_steps: Callable[[dict[str, Any], Any, Caller], Any] | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """Return the description of the tool for a chooser."""
        return {'name': self.name, 'server': self.server, 'description': self.description,
                'inputSchema': self.inputSchema}


class ToolSource(Protocol):
    """A server that provides its own list of tools."""

    name: str

    async def tools(self) -> Iterable[Tool]:
        """Return the current tools; raises `ToolError` if the server can't be reached."""

    async def close(self) -> None:
        """Stop the server."""


class ToolRegistry:
    """
    Tools by name; used as `tool_manager` of the agent of a tool state.

    Arguments are validated by the tool's schema before the call; a result must be JSON of at most
    `MAX_RESULT` characters. If several tools have the same name, the first one is used.
    """

    def __init__(self) -> None:
        self._own: dict[str, Tool] = {}
        self._sources: list[ToolSource] = []
        self._tools: dict[str, Tool] = {}

    def add(self, tool: Tool) -> None:
        """Add a tool; raises `ToolError` for a known name, `SchemaError` for a bad schema."""
        if tool.name in self._own:
            raise ToolError(f"tool '{tool.name}' of server '{tool.server}' is already one of "
                            f"server '{self._own[tool.name].server}'")
        check_schema(tool.inputSchema)
        self._own[tool.name] = self._tools[tool.name] = tool

    def add_source(self, source: ToolSource) -> None:
        """Add a server that provides its own list of tools."""
        self._sources.append(source)

    def tool(
        self, name: str = '', *, server: str = 'python', time_limit: float = TIME_LIMIT,
        idempotent: bool = False,
    ) -> Callable[[CallableT], CallableT]:
        """
        Return a decorator that adds a callable; its schema comes from its type hints.

        A function runs in a separate thread and may block; a coroutine function runs in the loop.
        `time_limit` in s.
        """
        def register(function: CallableT) -> CallableT:
            description = inspect.cleandoc(function.__doc__ or function.__name__)
            self.add(Tool(
                name or function.__name__, server, description, arguments_schema(function),
                functools.partial(_call_python, function), time_limit, idempotent))
            return function
        return register

    async def list_all_tools(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the specs of all tools, {server: {tool: spec}}; skips unreachable servers."""
        found = dict(self._own)
        for source in self._sources:
            try:
                offered = list(await source.tools())
            except ToolError as error:
                _LOG.warning('%s', error)
                continue
            for tool in offered:
                await asyncio.to_thread(self._take, tool, found)
        self._tools = found
        specs: dict[str, dict[str, dict[str, Any]]] = {}
        for tool in found.values():
            specs.setdefault(tool.server, {})[tool.name] = tool.spec
        return specs

    def _take(self, tool: Tool, found: dict[str, Tool]) -> None:
        try:
            if tool.name in found:
                raise ToolError(f"server '{found[tool.name].server}' has one of that name")
            check_schema(tool.inputSchema)
            found[tool.name] = tool
        except LifecycleError as error:
            _LOG.warning("tool '%s' of server '%s' is left out: %s", tool.name, tool.server, error)

    async def find(self, name: str) -> Tool:
        """Return a tool; raises `ToolError` if it does not exist."""
        if name not in self._tools:
            await self.list_all_tools()
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"there is no tool '{name}'" + nearest(name, self._tools))
        return tool

    async def after_crash(self, tool_name: str) -> str:
        """Return what becomes of a call after a crash: harmless, by_id, by_steps or ask."""
        try:
            tool = await self.find(tool_name)
        except ToolError:
            return 'ask'
        if tool.call_by_id is not None:
            return 'by_id'
        if tool.call_by_steps is not None:
            return 'by_steps'
        return 'harmless' if tool.idempotent else 'ask'

    async def call_tool(
        self, tool_name: str, arguments: Mapping[str, Any], user_id: Any = None, *,
        call_id: str = '', again: bool = False, caller: Caller | None = None,
    ) -> Any:
        """
        Call a tool and return its result; `call_id`, `again` and `caller`: see `Tool`.

        Raises `ToolError` if the tool does not exist, its arguments are not valid (then it is not
        called), it fails, or its time limit is exceeded. Errors with a `connect_url` are raised
        unchanged.
        """
        tool = await self.find(tool_name)
        if not isinstance(arguments, Mapping):
            raise ArgumentsError(
                f"tool '{tool_name}': arguments are an object, not {arguments!r:.200}")
        faults = await asyncio.to_thread(schema_faults, arguments, tool.inputSchema)
        if faults:
            raise ArgumentsError(
                f"tool '{tool_name}': arguments that do not fit: " + '; '.join(faults))
        try:
            if tool.call_by_id is not None and call_id:
                result = tool.call_by_id(dict(arguments), user_id, call_id, again)
            elif tool.call_by_steps is not None and caller is not None:
                result = tool.call_by_steps(dict(arguments), user_id, caller)
            else:
                result = tool.call(dict(arguments), user_id)
            if inspect.isawaitable(result):
                result = await limited(result, tool.time_limit)
        except asyncio.TimeoutError:
            raise ToolTimeout(f"tool '{tool_name}': no result within {tool.time_limit:g} s; "
                              'whether it was done is not known') from None
        except Exception as error:
            if hasattr(error, 'connect_url') or isinstance(error, ToolError):
                raise
            raise ToolError(
                f"tool '{tool_name}' failed: {type(error).__name__}: {error!s:.2000}") from error
        return _checked(tool_name, result)

    async def close(self) -> None:
        """Stop the servers."""
        for source in self._sources:
            await source.close()


def _call_python(function: Callable[..., Any], arguments: dict[str, Any], user_id: Any) -> Any:
    if inspect.iscoroutinefunction(function):
        return function(**arguments)
    return asyncio.to_thread(function, **arguments)


def _checked(tool: str, result: Any) -> Any:
    try:
        text = json.dumps(result, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"tool '{tool}': its result is no JSON: {error}") from error
    if len(text) > MAX_RESULT:
        raise ToolError(f"tool '{tool}': its result has {len(text)} characters, "
                        f'at most {MAX_RESULT} are taken')
    return result
