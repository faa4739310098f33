# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The action `~/execute_flow`: from a goal to a checked flow, and from its end to a result."""

from __future__ import annotations

import json
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from rclpy.task import Future

from .files import find_flow
from .flow_check import FlowCheck, FlowRefused
from .messages import flow_to
from ..engine.errors import DocumentError, LifecycleError
from ..flow.loading import Flow, load_flow, parse_flow
from ..flow.orchestrator import FlowRun, Orchestrator, summary_json
from ..lifecycle.states import ErrorCode
from ..ros.lifecycle_node import ManagedNode

KINDS = ('', 'file', 'yaml')
FEEDBACK_PERIOD = 0.2
"""Seconds, at least, between two feedbacks of one flow."""


class FlowServer:
    """Takes flows and tells how they go. `orchestrator` is set while the node is active."""

    def __init__(self, node: ManagedNode, check: FlowCheck, folders: list[str]) -> None:
        self.node = node
        self.folders = folders
        self.orchestrator: Orchestrator | None = None
        self._check = check
        self._handles: dict[str, Any] = {}
        self._ended: dict[str, Any] = {}
        self._progress: dict[str, float] = {}
        self._fed_back: dict[str, float] = {}
        node.add_action_server(ExecuteFlow, '~/execute_flow', self._execute, cancel=self._cancel)

    def changed(self, run: FlowRun) -> None:
        """Tell who waits for this flow."""
        handle = self._handles.get(run.flow_id)
        if handle is None:
            return
        now = self.node.steady()
        if run.ended or now - self._fed_back.get(run.flow_id, 0.0) >= FEEDBACK_PERIOD:
            self._fed_back[run.flow_id] = now
            progress = max(self._progress.get(run.flow_id, 0.0), run.done / len(run.runners))
            self._progress[run.flow_id] = progress
            handle.publish_feedback(ExecuteFlow.Feedback(
                status=flow_to(run, self.node.now()), progress=progress))
        if run.ended:
            self._end(run.flow_id)

    def interrupt(self) -> None:
        """End all goals: the node stops; the flows go on when it is active again."""
        self.orchestrator = None
        for flow_id in list(self._handles):
            self._end(flow_id)

    def _end(self, flow_id: str) -> None:
        ended = self._ended[flow_id]
        if not ended.done():
            ended.set_result(None)

    def _cancel(self, handle: Any) -> None:
        flow_id = next((flow_id for flow_id, other in self._handles.items()
                        if other.goal_id == handle.goal_id), None)
        if flow_id is not None and self.orchestrator is not None:
            self.orchestrator.cancel(
                flow_id, handle.request.requester or 'client', 'the goal was canceled')

    async def _execute(self, handle: Any) -> ExecuteFlow.Result:
        goal = handle.request
        try:
            flow = self._load(goal)
            await self._check.check(flow)
            run = self._submit(flow, goal, handle)
        except DocumentError as error:
            return _refuse(handle, ErrorCode.FLOW_INVALID, str(error))
        except FlowRefused as error:
            return _refuse(handle, error.code, str(error))
        except LifecycleError as error:
            return _refuse(handle, ErrorCode.INVALID_REQUEST, str(error))
        if handle.is_cancel_requested:
            self._cancel(handle)
        if not run.ended:
            await self._ended[run.flow_id]
        return self._result(handle, run)

    def _load(self, goal: Any) -> Flow:
        if goal.kind not in KINDS:
            raise LifecycleError(f"kind '{goal.kind}': expected file, yaml or nothing")
        try:
            parameters = json.loads(goal.parameters_json or '{}')
        except ValueError as error:
            raise LifecycleError(f'parameters_json: {error}') from error
        if not isinstance(parameters, dict):
            raise LifecycleError('parameters_json: expected an object')
        if goal.kind == 'yaml' or (not goal.kind and '\n' in goal.flow):
            return parse_flow(goal.flow, goal.source or 'flow', parameters)
        return load_flow(find_flow(goal.flow, self.folders), **parameters)

    def _submit(self, flow: Flow, goal: Any, handle: Any) -> FlowRun:
        orchestrator = self.orchestrator
        if orchestrator is None:
            raise FlowRefused(ErrorCode.NOT_READY, 'the node is not active')
        if goal.flow_id in orchestrator.runs:
            raise FlowRefused(ErrorCode.FLOW_RUNNING,
                              f"a flow with the id '{goal.flow_id}' is there already")
        flow_id = orchestrator.new_id(flow, goal.flow_id)
        self._handles[flow_id] = handle
        self._ended[flow_id] = Future(executor=self.node.executor)
        try:
            return orchestrator.submit(
                flow, flow_id, priority=goal.priority, actor=goal.requester,
                origin={'lease': goal.lease} if goal.lease else None)
        except LifecycleError:
            self._drop(flow_id)
            raise

    def _result(self, handle: Any, run: FlowRun) -> ExecuteFlow.Result:
        self._drop(run.flow_id)
        result = ExecuteFlow.Result(
            flow_id=run.flow_id, state=run.state,
            constellation_state=run.constellation_state(),
            summary_json=summary_json(run) if run.ended else '{}',
            status=flow_to(run, self.node.now()), error_code=int(run.error_code),
            error_msg=run.error_msg)
        if not run.ended:
            result.error_code = int(ErrorCode.INTERRUPTED)
            result.error_msg = 'the node stops; the flow goes on when it is active again'
            handle.abort()
        elif run.state == 'FINISH':
            handle.succeed()
        elif run.canceled_by is not None and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return result

    def _drop(self, flow_id: str) -> None:
        for memory in (self._handles, self._ended, self._progress, self._fed_back):
            memory.pop(flow_id, None)


def _refuse(handle: Any, code: ErrorCode, message: str) -> ExecuteFlow.Result:
    handle.abort()
    return ExecuteFlow.Result(state='FAIL', constellation_state='failed', summary_json='{}',
                              error_code=int(code), error_msg=message)
