# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
ROS services and actions as tools, by the names of their types.

A service is called directly. The goal of an action becomes a flow of one action, which the
action_lifecycle node runs. So it passes the bridge's checks (type, limits, safety), waits for its
resources, is journaled, and must be confirmed by the sensors.

Calls are made in the executor's thread of the node and awaited in an asyncio loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
import math
from typing import Any

from rosidl_runtime_py.convert import message_to_ordereddict
import yaml

from .flow_calls import FlowCalls, STOP_LIMIT
from .service_call import NoAnswer, POLL_PERIOD, RetryPolicy
from .threads import call_from_loop
from ..interfaces.json_schema import message_schema
from ..interfaces.message_fields import fill
from ..interfaces.types import action_class, service_class
from ..node.lifecycle_node import ManagedNode
from ...agents.tool_state import ToolError
from ...agents.tools.registry import TIME_LIMIT, Tool
from ...flow.files.loader import parse_flow


def service_tool(
    node: ManagedNode, name: str, service: str, type_name: str, *, description: str = '',
    time_limit: float = TIME_LIMIT, idempotent: bool = False,
) -> Tool:
    """Return a tool that calls a service once; raises `UnknownType`."""
    kind = service_class(type_name)
    client = node.add_client(kind, service)

    async def call(arguments: dict[str, Any], user_id: Any) -> Any:
        request = kind.Request()
        faults = list(fill(request, arguments, 'request'))
        if faults:
            raise ToolError('; '.join(map(str, faults)))
        try:
            return plain(await call_from_loop(node, client, request, RetryPolicy(time_limit)))
        except NoAnswer as error:
            raise ToolError(str(error)) from error

    return Tool(name, service, description or f'Calls the service {service}.',
                message_schema(kind.Request), call, time_limit + POLL_PERIOD, idempotent)


def action_tool(
    flows: FlowCalls, name: str, server: str, type_name: str, action: Mapping[str, Any], *,
    description: str = '', time_limit: float = TIME_LIMIT,
) -> Tool:
    """
    Return a tool that executes a motion; its arguments are the goal.

    `action`: the other fields of the action as in a flow file; `confirm` is required. The id of a
    call is the id of its flow. Raises `DocumentError` with all faults.
    """
    goal = action_class(type_name).Goal
    flow = partial(_flow, name, server, type_name, action)
    parse_flow(flow({}), f"tool '{name}'")
    return Tool(
        name, server, description or f'Moves: a goal of the action {server}.',
        message_schema(goal),
        lambda arguments, user_id: _execute(
            flows, name, flow(_checked(goal, arguments)), str(user_id or ''), time_limit),
        time_limit + 2 * STOP_LIMIT,
        call_by_id=lambda arguments, user_id, call_id, again: _execute(
            flows, name, flow(_checked(goal, arguments)), str(user_id or ''), time_limit, call_id,
            again))


def _flow(
    name: str, server: str, type_name: str, action: Mapping[str, Any], goal: Mapping[str, Any]
) -> str:
    motion = {'server': server, 'type': type_name, 'goal': dict(goal)}
    return yaml.safe_dump({'flow': f'tool_{name}', 'actions': {name: {
        **action, 'motion': motion}}}, allow_unicode=True, sort_keys=False)


def _checked(goal: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments if they are a valid goal without templates; raises `ToolError`."""
    faults = [*map(str, fill(goal(), arguments)), *_templates(arguments, 'goal')]
    if faults:
        raise ToolError('; '.join(faults))
    return arguments


def _templates(value: Any, path: str) -> list[str]:
    if isinstance(value, str):
        return [f'{path}: templates are not taken'] if '{{' in value or '{%' in value else []
    items = value.items() if isinstance(value, Mapping) else \
        enumerate(value) if isinstance(value, list) else ()
    return [fault for key, item in items for fault in _templates(item, f'{path}.{key}')]


async def _execute(
    flows: FlowCalls, name: str, flow: str, user: str, time_limit: float, flow_id: str = '',
    again: bool = False,
) -> Any:
    end = await flows.run(flow, f"tool '{name}'", user=user, time_limit=time_limit,
                          flow_id=flow_id, again=again)
    end.require_success()
    return {'done': True, 'flow': end.flow_id, 'summary': end.summary}


def plain(message: Any) -> Any:
    """Return a message as JSON-compatible data; NaN and infinities become null."""
    return _finite(message_to_ordereddict(message))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
