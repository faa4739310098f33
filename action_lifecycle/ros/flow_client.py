# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs flows from any node of rclpy: from a file, as text, or written in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
import dataclasses
import json
import threading
from typing import Any
import uuid

from action_lifecycle_msgs.action import ExecuteFlow
from rclpy.action import get_action_names_and_types
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future

from .calls.flow_call import FlowCall, FlowEnd
from .calls.goal_client import GoalClient
from .calls.journaled_end import SERVICES
from .calls.threads import pass_on
from .conversions.status import at_time_limit
from .node.call_host import CallHost
from .node.timers import Timeout
from ..documents.errors import LifecycleError
from ..flow.authoring import Flow
from ..flow.files.flow import LoadedFlow

STOP_LIMIT = 20.0
"""Maximum time (s) for a flow to stop that was canceled at its time limit."""
NOTICE = 3.0
"""Time (s) after which a warning says that the action node is not there."""
STARTED = 2.0
"""Time (s) after which an executor that has not begun a task is taken to be blocked."""


class StartedFlow:
    """
    A flow that was started.

    `await run` in a coroutine of rclpy, or `await run.in_asyncio()`, gives its `FlowEnd`. `done`
    is a future of it; it raises LifecycleError if there is no end to be had.
    """

    def __init__(self, flow_id: str, host: CallHost) -> None:
        self.flow_id = flow_id
        self.done: Any = Future()
        self.status: Any = None  #: the last FlowStatus; None before the first
        self._call: FlowCall | None = None
        self._host = host
        self._canceled = False

    def cancel(self) -> None:
        """Cancel the flow; it ends when everything has stopped. From any thread."""
        self._canceled = True
        self._host.call_soon(lambda: self._call and self._call.cancel())

    def in_asyncio(self) -> asyncio.Future[FlowEnd]:
        """Return the end as a future of the running asyncio loop; a thread spins the node."""
        return pass_on(self.done, asyncio.get_running_loop().create_future())

    def __await__(self) -> Generator[Any, Any, FlowEnd]:
        return (yield from self.done.__await__())


class FlowClient:
    """
    A client of the action node.

    `node`: any node of rclpy, with any executor. `action_node`: the name of the action node, with
    its namespace if that is another one than the node's. A flow that is started is not started a
    second time and not lost if the action node is restarted; see `FlowCall`.
    """

    def __init__(self, node: Node, action_node: str = 'action_lifecycle') -> None:
        self._node = node
        self._host = CallHost(node)
        self._client = GoalClient(
            self._host, ExecuteFlow, f'{action_node}/execute_flow', local=False)
        self._journal = {kind: node.create_client(kind, f'{action_node}/{name}')
                         for kind, name in SERVICES.items()}

    def start(
        self, flow: Flow | LoadedFlow | str, parameters: Mapping[str, Any] | None = None, *,
        flow_id: str = '', priority: int = 0, requester: str = '', lease: str = '',
        on_status: Callable[[Any], None] = lambda status: None,
        on_away: Callable[[bool], None] = lambda away: None,
    ) -> StartedFlow:
        """
        Start a flow; returns at once.

        `flow`: a `Flow`, a checked flow, YAML text, or the name of a file of the action node. A
        `Flow` is checked here first; raises `DocumentError` with the lines of the Python file.
        `flow_id`: by default a new one; a flow that the action node knows by this id is followed,
        and if it has ended, that is the end: it is not run again.
        `on_status` gets each FlowStatus; `on_away`: whether the action node has gone with the
        flow. Both are called in the executor's thread.
        """
        given = _parameters(parameters)
        run = StartedFlow(_text(flow_id, 'flow_id') or f'py_{uuid.uuid4().hex[:12]}',
                          self._host)
        goal = ExecuteFlow.Goal(
            flow_id=run.flow_id, priority=priority, lease=_text(lease, 'lease'),
            requester=_text(requester, 'requester') or self._node.get_fully_qualified_name())
        in_python = str
        if isinstance(flow, Flow):
            flow.load(**given)
            goal.flow, goal.kind, goal.source = flow.to_yaml(), 'yaml', f'{flow.name}.yaml'
            in_python = _lines(flow, goal.source)
        elif isinstance(flow, LoadedFlow):
            given = {**flow.parameters, **given}
            goal.flow, goal.kind, goal.source = flow.text, 'yaml', f'{flow.name}.yaml'
        elif isinstance(flow, str):
            goal.flow = flow
        else:
            raise TypeError(f'expected a Flow, a loaded flow, YAML text, or the name of a flow of '
                            f'the action node, got {flow!r}')
        goal.parameters_json = _json(given) if given else ''

        def told(status: Any) -> None:
            run.status = status
            on_status(status)

        def begin() -> None:
            run._call = FlowCall(
                self._host, self._client, self._journal, goal, on_status=told, on_away=on_away)
            run._call.done.add_done_callback(ended)
            if run._canceled:
                run._call.cancel()

        def ended(done: Any) -> None:
            if done.exception() is not None:
                run.done.set_exception(done.exception())
            else:
                end = done.result()
                run.done.set_result(dataclasses.replace(
                    end, flow_id=end.flow_id or run.flow_id, error_msg=in_python(end.error_msg)))

        self._host.call_soon(begin)
        self._host.call_soon(lambda: self._watch(run))
        return run

    def run(
        self, flow: Flow | LoadedFlow | str, parameters: Mapping[str, Any] | None = None, *,
        timeout: float | None = None, **options: Any,
    ) -> FlowEnd:
        """
        Run a flow and return its end; spins the node if nobody else does.

        `timeout` (s): then the flow is canceled, and LifecycleError is raised when it has
        stopped; its text has what the flow did and waited for at the time limit. It can't be
        called in a callback, which would wait for itself: there, use `await client.start(…)`.
        `options`: see `start`.
        """
        run = self.start(flow, parameters, **options)
        if not self._wait(run, timeout):
            at = at_time_limit(run.status)
            where = '' if self._client.server_is_there() else f'; {self._missing()}'
            run.cancel()
            said = f': {_end_in_words(run.done)}' if self._wait(run, STOP_LIMIT) \
                else ', and has not been seen to have stopped'
            raise LifecycleError(f'flow {run.flow_id}: not done within {timeout:g} s; it was '
                                 f'canceled{said}{at}{where}')
        end: FlowEnd = run.done.result()
        return end

    def destroy(self) -> None:
        """Destroy the clients; flows that run go on."""
        self._client.destroy()
        for client in self._journal.values():
            self._node.destroy_client(client)

    def _watch(self, run: StartedFlow) -> None:
        """Warn when the action node has not been there for a while."""
        def warn() -> None:
            if not run.done.done() and not self._client.server_is_there():
                self._node.get_logger().warning(f'flow {run.flow_id} waits: {self._missing()}')
        Timeout(self._host, NOTICE, warn)

    def _missing(self) -> str:
        name = self._node.resolve_service_name(self._client.server)
        seen = ', '.join(sorted(
            other for other, types in get_action_names_and_types(self._node)
            if 'action_lifecycle_msgs/action/ExecuteFlow' in types and other != name))
        return f"the action '{name}' is not there (seen: {seen or 'none'})"

    def _wait(self, run: StartedFlow, timeout: float | None) -> bool:
        """Wait for the end of a flow; returns whether it has ended."""
        executor = self._host.executor_of_node()
        if executor is None:
            executor = SingleThreadedExecutor(context=self._node.context)
            executor.add_node(self._node)
            try:
                executor.spin_until_future_complete(run.done, timeout)
            finally:
                self._node.executor = None
                executor.shutdown()
        elif self._is_spun(executor):
            over = threading.Event()
            run.done.add_done_callback(lambda done: over.set())
            over.wait(timeout)
        else:
            try:
                executor.spin_until_future_complete(run.done, timeout)
            except RuntimeError as error:
                raise LifecycleError(
                    'run() was called in a callback of the executor that it waits for; use '
                    '`await client.start(…)` in a coroutine') from error
        return bool(run.done.done())

    def _is_spun(self, executor: Any) -> bool:
        """Return whether another thread runs the tasks of an executor."""
        if getattr(executor, 'is_spinning', True) is False:
            return False
        beat = threading.Event()
        executor.create_task(beat.set)
        return beat.wait(STARTED)


def _end_in_words(done: Any) -> str:
    error = done.exception()
    return str(error) if error is not None else str(done.result().error_msg)


def _text(value: str, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f'{name}: expected a text, got {value!r}')
    return value


def _parameters(given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f'parameters: expected a mapping of names to values, got {given!r}')
    return {name: value.tolist() if hasattr(value, 'tolist') else value
            for name, value in (given or {}).items()}


def _json(given: Mapping[str, Any]) -> str:
    for name, value in given.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"parameter '{name}': {error}") from error
    return json.dumps(given)


def _lines(flow: Flow, source: str) -> Callable[[str], str]:
    """Return a function that puts places in the Python file into a message."""
    return lambda message: flow.in_python(message, source) if source in message else message
