# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public names of agents/tools/."""

from .agents.tool_state import ToolError
from .agents.tools.mcp_server import McpServer
from .agents.tools.registry import AuthRequiredError, MAX_RESULT, Tool, ToolRegistry, ToolSource

__all__ = [
    'MAX_RESULT', 'AuthRequiredError', 'McpServer', 'Tool', 'ToolError', 'ToolRegistry',
    'ToolSource',
]
