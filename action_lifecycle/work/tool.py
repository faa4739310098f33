# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kind `tool`: a call of a Python function, a ROS service or an MCP tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from ..documents.models import seconds
from ..lifecycle.work import register_work, WorkSpec


@register_work('tool')
class ToolSpec(WorkSpec):
    """A call of a tool of the action node; its result is the result."""

    name: str = Field(description='Name of the tool, as in the file of tools.')
    arguments: dict[str, Any] = Field(
        default={}, description='Its arguments, which must fit its JSON Schema.')
    time_limit: float = seconds(
        0.0, 'Seconds for the result; 0: the limit of the tool.', most=86400)

    def uses(self) -> Iterator[tuple[str, str, str]]:
        yield 'name', self.name, 'tool'
