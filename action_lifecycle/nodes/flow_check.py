# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Asks the bridge, before anything moves, whether all that a flow speaks of is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from action_lifecycle_msgs.msg import CheckFault
from action_lifecycle_msgs.srv import Check

from ..engine.errors import DocumentError, Fault, LifecycleError
from ..flow.loading import Flow
from ..lifecycle.spec import ActionSpec, ConditionSpec
from ..lifecycle.states import ErrorCode
from .messages import condition_to, motion_to

Path = tuple['str | int', ...]


class FlowRefused(LifecycleError):
    """A flow that is not started, and the error code of the result."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        self.code = code
        super().__init__(message)


async def check_flow(flow: Flow, client: Any) -> None:
    """Raise `FlowRefused` with every fault, each with file and line, if a flow can't be run."""
    if not client.service_is_ready():
        raise FlowRefused(ErrorCode.NOT_READY, f"service '{client.srv_name}' of the world model "
                          'bridge is not there, so the flow can not be checked')
    faults: list[Fault] = []
    for action_id, action in flow.actions.items():
        faults += await _check_action(flow, ('actions', action_id), action, client)
        for index, strategy in enumerate(action.fallback):
            if strategy.parameters:
                faults += await _check_action(
                    flow, ('actions', action_id, 'fallback', index),
                    flow.render(action_id, strategy.parameters), client)
    if faults:
        raise FlowRefused(ErrorCode.FLOW_INVALID, str(DocumentError(dict.fromkeys(faults))))


async def _check_action(
    flow: Flow, path: Path, action: ActionSpec, client: Any
) -> Iterator[Fault]:
    conditions = list(_conditions(action))
    request = Check.Request(
        steps=[motion_to(step) for step in action.motion],
        conditions=[condition_to(condition, where[0]) for where, condition in conditions],
        parameters_json=json.dumps(action.parameters),
        wait=max((step.server_timeout for step in action.motion), default=0.0))
    response = await client.call_async(request)
    if response.error_code:
        raise FlowRefused(ErrorCode(response.error_code), response.error_msg)
    faults = []
    for fault in response.faults:
        if fault.kind == CheckFault.MOTION:
            where: Path = ('motion', fault.index, *map(_key, fault.path.split('.')))
        else:
            where = (*conditions[fault.index][0], 'condition')
        faults.append(flow.document.fault((*path, *where), f"action '{path[1]}': {fault.message}"))
    return iter(faults)


def _key(text: str) -> str | int:
    return int(text) if text.isdigit() else text


def _conditions(action: ActionSpec) -> Iterator[tuple[tuple[str, int], ConditionSpec]]:
    for field in ('require', 'maintain', 'confirm'):
        for index, condition in enumerate(getattr(action, field)):
            yield (field, index), condition
    if action.stopped is not None:
        yield ('stopped', 0), action.stopped
