# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of a flow in the journal, and a flow that changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from action_lifecycle.flow import parse_edit
from action_lifecycle.flow.recipes.recipe_making import RecipeMaker
from action_lifecycle.journal import Row
from action_lifecycle.journal.flow_rows import is_flow_change

from .robot import MOTION, Process

FLOW = f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'
REBUILD = parse_edit(f'- build: {{b: {{{MOTION}, after: a}}, c: {{{MOTION}, after: b}}}}')


def with_recipes(process: Process, folder: Path, apart: Any = None) -> Process:
    def soon(work: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
        process.clock.call_later(1.0, lambda: done(work(), None))

    process.orchestrator.extensions.append(
        RecipeMaker(process.orchestrator, folder, apart or soon, lambda: 1e9))
    return process


def events(rows: list[Row]) -> list[str]:
    """Return the events of rows, with the stages that they enter."""
    return [' '.join(filter(None, (row.event, row.data.get('stage', '')))) for row in rows]


def recorded(process: Process) -> list[Row]:
    return [row for row in process.journal.rows() if is_flow_change(row)]
