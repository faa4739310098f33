# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tools that states call by name: Python callables, MCP servers and (in ros/) ROS interfaces."""

from .mcp_server import McpServer
from .registry import AuthRequiredError, MAX_RESULT, Tool, ToolRegistry, ToolSource
from ..tool_state import ToolError

__all__ = [
    'MAX_RESULT', 'AuthRequiredError', 'McpServer', 'Tool', 'ToolError', 'ToolRegistry',
    'ToolSource',
]
