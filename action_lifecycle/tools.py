# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public names of agents/tools/."""

from .agents.tools import (
    AuthRequiredError,
    MAX_RESULT,
    McpServer,
    Tool,
    ToolError,
    ToolRegistry,
    ToolSource,
)

__all__ = [
    'MAX_RESULT', 'AuthRequiredError', 'McpServer', 'Tool', 'ToolError', 'ToolRegistry',
    'ToolSource',
]
