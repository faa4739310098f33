# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Walks graphs of typed states, with an agent that answers as it is told."""

from __future__ import annotations

import asyncio
from typing import Any

from action_lifecycle.engine import load_graph, run_steps, StateHandler


def handler(text: str) -> StateHandler:
    return StateHandler(graph=load_graph(text, name='g.yaml'))


def walk(text: str, *args: Any, **options: Any) -> Any:
    return asyncio.run(asyncio.wait_for(run_steps(handler(text), *args, **options), 10))


class Agent:
    """Answers like a model, has tools, moves and looks."""

    current_user_id = 'user 7'

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Any, Any]] = []
        self.tool_manager = self
        self.calls: list[tuple[str, Any, Any]] = []
        self.error: Exception | None = None
        self.schema: dict[str, Any] = {'type': 'object'}

    async def call_llm(self, context: Any, json_schema: Any = None) -> Any:
        self.asked.append((context, json_schema))
        return self.answers.pop(0)

    async def list_all_tools(self) -> dict[str, Any]:
        return {'home': {'lamp': {'inputSchema': self.schema}, 'door': {}}}

    async def call_tool(self, tool_name: str, arguments: Any, user_id: Any) -> str:
        self.calls.append((tool_name, arguments, user_id))
        if self.error is not None:
            raise self.error
        return f'{tool_name} done'


class May:
    """Guards of LISTED."""

    may_b = False
