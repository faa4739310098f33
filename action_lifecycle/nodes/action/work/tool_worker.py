# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Does work of the kind `tool`: calls of the tools in the file of the node."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

from .followed import Followed, FollowedWork, shown
from ...shared.authorization import ask_for_authorization, MAX_PAUSES
from ...shared.tools_file import load_tools, ToolsFile
from ....agents.tool_state import ArgumentsError, ToolError, ToolTimeout
from ....agents.tools.arguments import argument_faults
from ....agents.tools.registry import ToolRegistry
from ....dialogue.desk import OperatorDesk
from ....documents.errors import LifecycleError
from ....fleet.loop_thread import LoopThread
from ....graphs.state_types import Pause
from ....lifecycle.ports import Handle
from ....lifecycle.states import ErrorCode
from ....lifecycle.work import Ended, WorkRequest, WorkResult
from ....ros.calls.threads import from_thread
from ....ros.node.lifecycle_node import ManagedNode
from ....work.tool import ToolSpec

CODES = {ArgumentsError: ErrorCode.GOAL_INVALID, ToolTimeout: ErrorCode.MOTION_TIMEOUT}
"""The error codes of failed calls; others are WORK_FAILED."""


class ToolWorker(Followed):
    """
    Calls tools in an asyncio loop of its own; to be created in `configure`.

    `path`: the file of tools; empty: there are none. `timeout`: time (s) for a person to authorise
    a tool. Raises DocumentError for a file that is not valid.
    """

    def __init__(
        self, node: ManagedNode, desk: OperatorDesk, path: str, timeout: float
    ) -> None:
        super().__init__(node)
        self._desk = desk
        self._timeout = timeout
        self._spec = ToolsFile()
        self._tools: ToolRegistry | None = None
        self._network: LoopThread | None = None
        if path:
            self._tools, self._spec = load_tools(Path(path).expanduser(), node, '')
            self._network = LoopThread()

    async def faults(  # type: ignore[override]
        self, spec: ToolSpec, parameters: Any
    ) -> list[tuple[str, str]]:
        """Return an unknown tool, and arguments that do not fit; starts MCP servers."""
        if why := self._refused(spec):
            return [why]
        assert self._network is not None
        found: Future[list[tuple[str, str]]] = self._network.submit(self._faults(spec))
        await from_thread(self.node, found)
        return found.result()

    def _refused(self, spec: ToolSpec) -> tuple[str, str] | None:
        if self._tools is None:
            return '', "this node has no tools, since its parameter 'tools_file' is empty"
        action = self._spec.actions.get(spec.name)
        if action is not None:
            return 'name', (
                f"tool '{spec.name}' is the ROS action {action.server}, which a flow uses "
                f'directly: motion: {{server: {action.server}, type: {action.type}, goal: …}}')
        return None

    async def _faults(self, spec: ToolSpec) -> list[tuple[str, str]]:
        assert self._tools is not None
        try:
            tool = await self._tools.find(spec.name)
        except ToolError as error:
            return [('name', str(error))]
        return await asyncio.to_thread(
            lambda: list(argument_faults(spec.arguments, tool.inputSchema)))

    def resume(self, spec: ToolSpec, request: WorkRequest, ended: Ended) -> Handle:
        """Repeat the call if that does no harm, or if it only waited to be authorised."""
        if self.knows(request.id):
            return self.start(spec, request, ended)
        waited = self._desk.is_pending(request.flow_id, request.action_id, request.id)
        return self.follow(self._made(spec, request, again=not waited), request, ended)

    def make(self, spec: ToolSpec, request: WorkRequest) -> FollowedWork:
        """Call a tool."""
        return self._made(spec, request, again=False)

    def _made(self, spec: ToolSpec, request: WorkRequest, again: bool) -> FollowedWork:
        if why := self._refused(spec):
            raise LifecycleError(why[1])
        assert self._network is not None
        return _ToolCall(self.node, self._network, self._call(spec, request, again))

    async def _call(self, spec: ToolSpec, request: WorkRequest, again: bool) -> WorkResult:
        """Call a tool, after it was authorised if it asks for that."""
        assert self._tools is not None
        if again and await self._tools.after_crash(spec.name) != 'harmless':
            return WorkResult('not_running', self.node.now(),
                              f"whether the tool '{spec.name}' was called is not known")
        for _ in range(MAX_PAUSES):
            call = self._tools.call_tool(spec.name, spec.arguments, self._spec.user or '')
            try:
                result = await asyncio.wait_for(call, spec.time_limit or None)
                return WorkResult('executed', self.node.now(), shown(result), result=result)
            except asyncio.TimeoutError:
                raise ToolTimeout(f"tool '{spec.name}': no result within {spec.time_limit:g} s; "
                                  'whether it was done is not known') from None
            except ToolError as error:
                link = getattr(error, 'connect_url', None)
                if link is None:
                    raise
                self._told(request, f'waits until a person authorises it at {link}')
                if not await ask_for_authorization(
                        self.node, self._desk, Pause(str(error), str(link)), self._timeout,
                        flow_id=request.flow_id, action_id=request.action_id, key=request.id):
                    raise ToolError(f'{error}; it was not authorised at {link}') from error
                self._told(request, '')
        raise ToolError(f"tool '{spec.name}' asks to be authorised again and again")

    def _told(self, request: WorkRequest, text: str) -> None:
        self.node.call_soon(lambda: request.told(-1.0, text))

    def close(self) -> None:
        """End the calls, and stop the MCP servers."""
        super().close()
        network, self._network = self._network, None
        if network is not None and self._tools is not None:
            network.submit(self._tools.close()).result()
            network.stop()


class _ToolCall(FollowedWork):
    """A call in the loop of the tools."""

    def __init__(
        self, node: ManagedNode, network: LoopThread, call: Coroutine[Any, Any, WorkResult]
    ) -> None:
        super().__init__(node)
        self._call: Future[WorkResult] = network.submit(call)
        self._call.add_done_callback(lambda _: node.call_soon(self._done))

    def _done(self) -> None:
        try:
            self.end(self._call.result())
        except CancelledError:
            self.end(WorkResult('canceled', self.node.now(), 'its result is not awaited'))
        except LifecycleError as error:
            self.fail(CODES.get(type(error), ErrorCode.WORK_FAILED), str(error))
        except Exception as error:
            self.node.log_exception('tool')
            self.fail(ErrorCode.INTERNAL, f'{type(error).__name__}: {error}')

    def cancel(self) -> None:
        """Stop to wait for the result; a Python function continues in its thread."""
        self._call.cancel()
