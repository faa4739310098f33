# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Loads tools from a YAML file: ROS services and actions, MCP servers, Python callables."""

from __future__ import annotations

from pathlib import Path
import pkgutil
from typing import Any, Optional

from pydantic import Field

from ...agents.tools.mcp_server import McpServer
from ...agents.tools.registry import TIME_LIMIT, ToolRegistry
from ...documents.errors import DocumentError, Fault, LifecycleError
from ...documents.models import StrictModel, validate
from ...documents.yaml_document import read_document
from ...ros.calls.flow_calls import FlowCalls
from ...ros.calls.tools import action_tool, service_tool
from ...ros.node.lifecycle_node import ManagedNode


class _Limited(StrictModel):
    """The field of every tool."""

    time_limit: float = Field(default=TIME_LIMIT, gt=0, le=86400, description='Seconds a call.')


class _Idempotent(StrictModel):
    """The field of tools whose calls can't be found again after a crash."""

    idempotent: bool = Field(
        default=False, description='Whether a call may be repeated after a crash.')


class _RosTool(_Limited):
    """Fields of every ROS tool."""

    description: str = Field(default='', description='Description for the chooser.')


class ServiceToolSpec(_RosTool, _Idempotent):
    """A ROS service."""

    service: str = Field(description='Name of the service.')
    type: str = Field(description='Such as std_srvs/srv/SetBool.')  # noqa: A003


class ActionToolSpec(_RosTool):
    """A ROS action; runs as a flow of one action."""

    server: str = Field(description='Name of the action, such as gripper_controller/gripper_cmd.')
    type: str = Field(description='Such as control_msgs/action/GripperCommand.')  # noqa: A003
    action: dict[str, Any] = Field(
        description='Fields of the action in the flow, except motion: confirm, resources…')


class McpSpec(_Limited):
    """An MCP server."""

    command: str = Field(description='The program.')
    args: list[str] = Field(default=[], description='Its arguments.')
    env: dict[str, str] = Field(default={}, description='Further environment variables.')


class PythonSpec(_Limited, _Idempotent):
    """A Python callable."""

    call: str = Field(pattern=r'^[A-Za-z_][\w.]*:[A-Za-z_]\w*$', description='module:function')


class ToolsFile(StrictModel):
    """A file of tools by name; for MCP, the name of the server."""

    services: dict[str, ServiceToolSpec] = {}
    actions: dict[str, ActionToolSpec] = {}
    mcp: dict[str, McpSpec] = {}
    python: dict[str, PythonSpec] = {}
    user: Optional[str] = Field(default=None, description='User for whom tools are called.')


def load_tools(path: Path, node: ManagedNode, action_node: str) -> tuple[ToolRegistry, ToolsFile]:
    """
    Return the tools of a file; raises `DocumentError` with all its faults.

    Without the name of an action node, tools that are ROS actions are left out.
    """
    document = read_document(path)
    spec = validate(document, ToolsFile)
    registry = ToolRegistry()
    actions = spec.actions if action_node else {}
    flows = FlowCalls(node, action_node) if actions else None
    faults: list[Fault] = []

    def attempt(section: str, name: str, add: Any) -> None:
        try:
            add()
        except (LifecycleError, ImportError, AttributeError, ValueError) as error:
            faults.append(document.fault((section, name), str(error)))

    for name, service in spec.services.items():
        attempt('services', name, lambda name=name, given=service: registry.add(service_tool(
            node, name, given.service, given.type, description=given.description,
            time_limit=given.time_limit, idempotent=given.idempotent)))
    for name, action in actions.items():
        attempt('actions', name, lambda name=name, given=action: registry.add(action_tool(
            flows, name, given.server, given.type, given.action,
            description=given.description, time_limit=given.time_limit)))
    for name, server in spec.mcp.items():
        attempt('mcp', name, lambda name=name, given=server: registry.add_source(McpServer(
            name, given.command, given.args, env=given.env, time_limit=given.time_limit)))
    for name, function in spec.python.items():
        attempt('python', name, lambda name=name, given=function: registry.tool(
            name, time_limit=given.time_limit, idempotent=given.idempotent)(
                pkgutil.resolve_name(given.call)))
    if faults:
        raise DocumentError(faults)
    return registry, spec
