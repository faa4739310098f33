# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tools of MCP servers (Model Context Protocol), which run as child processes with pipes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
import contextlib
from functools import partial
import re
from typing import Any

from .last_words import LastWords
from .registry import AuthRequiredError, TIME_LIMIT, Tool
from ..tool_state import ToolError, ToolTimeout
from ...documents.errors import LifecycleError
from ...documents.json_schema import check_schema, schema_faults

START_LIMIT = 20.0
"""Maximum time (s) for a server to become ready."""
MAX_TOOLS = 1000
_LINK = re.compile(r'https?://[^\s\x00-\x1f]{1,2000}\Z')
_URL_NEEDED = -32042  # error code of the protocol: the user has to open a link first


class McpServer:
    """
    An MCP server that is started with `command` on first use and kept running.

    If it exits, or a call takes longer than `time_limit` s, the call fails and is not repeated;
    the next call restarts the server. The error has the last words of its standard error. Its
    environment is PATH, HOME and a few more variables, and `env`.
    All calls must come from one asyncio loop.
    """

    def __init__(
        self, name: str, command: str, args: Sequence[str] = (), *,
        env: Mapping[str, str] | None = None, time_limit: float = TIME_LIMIT,
    ) -> None:
        try:
            import mcp
        except ImportError as error:
            raise LifecycleError(
                f"the MCP server '{name}' needs mcp: pip install action_lifecycle[mcp]"
            ) from error
        self.name = name
        self._mcp = mcp
        self._parameters = mcp.StdioServerParameters(
            command=command, args=list(args), env=dict(env or {}))
        self._time_limit = time_limit
        self._opening = asyncio.Lock()
        self._session: Any = None
        self._keeper: asyncio.Task[None] | None = None
        self._end = asyncio.Event()  # set when the current process has ended or is to end
        self._words = LastWords()
        self._tools: list[Tool] | None = None
        self.starts = 0
        """Number of starts."""

    async def tools(self) -> Iterable[Tool]:
        """Return the tools of the server, which are read once per start."""
        session = await self._open()
        if self._tools is None:
            self._tools = await self._limited(self._list(session), 'tools/list')
        return self._tools

    async def close(self) -> None:
        """Stop the server."""
        keeper, self._keeper = self._keeper, None
        self._session = None
        self._end.set()
        if keeper is not None:
            await asyncio.wait([keeper])

    async def _list(self, session: Any) -> list[Tool]:
        found: list[Tool] = []
        cursor: str | None = None
        while len(found) < MAX_TOOLS:
            page = await (session.list_tools() if cursor is None
                          else session.list_tools(cursor=cursor))
            data = page.model_dump(by_alias=True)
            found += [
                Tool(tool['name'], self.name, tool.get('description') or '', tool['inputSchema'],
                     partial(self._call, tool['name'], tool.get('outputSchema')),
                     self._time_limit + START_LIMIT)
                for tool in data['tools']]
            cursor = data.get('nextCursor')
            if not cursor:
                break
        return found[:MAX_TOOLS]

    async def _call(
        self, tool: str, schema: Any, arguments: dict[str, Any], user_id: Any
    ) -> Any:
        """Call a tool; `schema`: that of its structured result, None if it declares none."""
        session = await self._open()
        result = await self._limited(session.call_tool(tool, arguments), tool)
        data = result.model_dump(by_alias=True, mode='json')
        if data.get('isError'):
            raise ToolError(f"tool '{tool}' failed: {_text(data)!s:.2000}")
        structured = data.get('structuredContent')
        if schema is not None:
            await asyncio.to_thread(check_schema, schema)
            if faults := await asyncio.to_thread(schema_faults, structured, schema):
                raise ToolError(f"tool '{tool}': an answer that does not fit: "
                                + '; '.join(faults))
        return structured if structured is not None else _text(data)

    async def _limited(self, call: Any, what: str) -> Any:
        """Await a response; raises ToolError. A timeout stops the server."""
        end, words = self._end, self._words  # another call may restart the server
        try:
            return await asyncio.wait_for(call, self._time_limit)
        except asyncio.TimeoutError:
            await self.close()
            raise ToolTimeout(f"MCP server '{self.name}': no answer to '{what}' within "
                              f'{self._time_limit:g} s; it is restarted') from None
        except Exception as error:
            link = _link(error)
            if link is not None:
                raise AuthRequiredError(self.name, *link) from error
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(end.wait(), 0.2)  # it may have failed since the server ends
            if not end.is_set():
                raise ToolError(
                    f"MCP server '{self.name}', '{what}': {error!s:.2000}") from error
            await words.wait()
            raise ToolError(f"MCP server '{self.name}' ended during '{what}'; whether it was done "
                            f'is not known{words}') from error

    async def _open(self) -> Any:
        """Return the session; starts the server if needed."""
        async with self._opening:
            if self._session is not None and not self._end.is_set():
                return self._session
            await self.close()  # clean up after a process that has exited
            self._tools = None
            ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._end = asyncio.Event()
            self._words = LastWords()
            self.starts += 1
            self._keeper = asyncio.create_task(self._keep(ready, self._end, self._words))
            try:
                self._session = await asyncio.wait_for(asyncio.shield(ready), START_LIMIT)
            except asyncio.TimeoutError:
                await self.close()
                raise ToolError(f"MCP server '{self.name}' is not ready after {START_LIMIT:g} s"
                                f'{self._words}') from None
            return self._session

    async def _keep(
        self, ready: asyncio.Future[Any], end: asyncio.Event, words: LastWords
    ) -> None:
        """Keep the session open in one task, since the task that entered it must also exit it."""
        try:
            async with contextlib.AsyncExitStack() as stack:
                errors = await stack.enter_async_context(words.pipe())
                source, target = await stack.enter_async_context(
                    self._mcp.stdio_client(self._parameters, errors))
                errors.close()  # only the server has it now
                watched = _Watched(source, end)
                session = await stack.enter_async_context(
                    self._mcp.ClientSession(watched, target))
                for name in 'validate_tool_result', '_validate_tool_result':
                    setattr(session, name, _judged_later)  # its own validation has no time limit
                await session.initialize()
                ready.set_result(session)
                await end.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(ToolError(
                    f"MCP server '{self.name}' can not be started: {_innermost(error)}"
                    f'{words}'))
        finally:
            end.set()
            if not ready.done():
                ready.set_exception(ToolError(
                    f"MCP server '{self.name}' ended at its start{words}"))
            ready.exception()


async def _judged_later(name: str, result: Any) -> None:
    pass


class _Watched:
    """The output stream of a server; sets `end` when it stops."""

    def __init__(self, stream: Any, end: asyncio.Event) -> None:
        self._stream = stream
        self._end = end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._end.set()
            raise


def _text(data: Mapping[str, Any]) -> Any:
    """Return the text parts of a result; other parts are replaced by their type."""
    return '\n'.join(part['text'] if part.get('type') == 'text' else f"[{part.get('type')}]"
                     for part in data.get('content') or [])


def _link(error: Exception) -> tuple[str, str] | None:
    """Return link and message of an error that asks the user to open a link, else None."""
    fault = getattr(error, 'error', None)
    if getattr(fault, 'code', None) != _URL_NEEDED:
        return None
    data = getattr(fault, 'data', None)
    asked = data.get('elicitations') if isinstance(data, Mapping) else None
    for item in asked if isinstance(asked, list) else []:
        if isinstance(item, Mapping) and _LINK.match(str(item.get('url'))):
            return item['url'], str(item.get('message') or '')
    return None


def _innermost(error: BaseException) -> str:
    while getattr(error, 'exceptions', None):  # groups of anyio
        error = error.exceptions[0]  # type: ignore[attr-defined]
    return f'{type(error).__name__}: {error}'
