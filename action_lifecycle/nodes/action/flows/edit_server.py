# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service `~/edit_flow`, and the bridge's check of the actions that edits add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_lifecycle_msgs.srv import EditFlow
from rclpy.task import Future

from .flow_check import FlowCheck, FlowRefused
from ....documents.errors import LifecycleError
from ....flow.files.edit import EditRefused, EditResult, parse_edit
from ....flow.files.flow import LoadedFlow
from ....flow.orchestrator import Orchestrator
from ....journal.row import JournalError
from ....lifecycle.states import ErrorCode
from ....ros.node.lifecycle_node import ManagedNode


class EditServer:
    """
    Receives edits of running flows; added actions are checked like those of a new flow.

    `running()` returns the orchestrator, or raises `LifecycleError`.
    """

    def __init__(
        self, node: ManagedNode, check: FlowCheck, running: Callable[[], Orchestrator]
    ) -> None:
        self._node = node
        self._check = check
        self._running = running
        node.add_service(EditFlow, '~/edit_flow', self._edit)

    async def check(self, flow: LoadedFlow, done: Callable[[LifecycleError | None], None]) -> None:
        """Check the actions that an edit adds, then call `done` with their faults."""
        error: LifecycleError | None = None
        try:
            await self._check.check(flow)
        except LifecycleError as refused:
            error = refused
        except Exception as unexpected:  # who edits must get an answer
            self._node.log_exception('edit_flow')
            error = LifecycleError(f'internal error: {unexpected!r}')
        self._node.guarded(done)(error)

    async def _edit(self, request: Any, response: Any) -> Any:
        orchestrator = self._running()
        if not request.author:
            raise LifecycleError('author: must say who edits')
        if request.flow_id not in orchestrator.runs:
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = f"there is no flow '{request.flow_id}'"
            return response
        answered: Any = Future(executor=self._node.executor)
        try:
            edit = parse_edit(request.edit_yaml)
        except LifecycleError as error:
            response.error_code = int(ErrorCode.EDIT_REFUSED)
            response.error_msg = str(error)
            return response
        orchestrator.propose(
            request.flow_id, edit, request.author, request.reason, request.base_seq,
            answered.set_result)
        result: EditResult | LifecycleError = await answered
        if isinstance(result, LifecycleError):
            response.error_code = int(_code(result))
            response.error_msg = str(result)
        else:
            response.accepted = True
            response.seq = result.seq
            response.error_msg = ', '.join(
                f'left out, overtaken: {step}' for step in result.left_out)
        return response


def _code(error: LifecycleError) -> ErrorCode:
    if isinstance(error, FlowRefused) and error.code is not ErrorCode.FLOW_INVALID:
        return error.code
    if isinstance(error, JournalError):
        return ErrorCode.JOURNAL_FAILED
    return ErrorCode.EDIT_REFUSED if isinstance(error, (EditRefused, FlowRefused)) \
        else ErrorCode.INTERNAL
