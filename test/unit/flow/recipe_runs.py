# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A flow whose verified run leaves a recipe, and what runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from action_lifecycle.flow import FlowRun, parse_flow
from action_lifecycle.flow.recipes.recipe_making import RecipeMaker
import pytest

from .robot import Process

TEXT = """flow: fetch
parameters:
  force: {default: 8.0, min: 2.0, max: 50.0}
max_motions: 2
actions:
  place:
    after: pick
    motion: {server: arm, type: a/action/B, goal: {x: {expr: 'slot[0]'}}}
    confirm: z > 0
  pick:
    parameters: {grip: '{{ force }}'}
    require: z < 1
    motion: {server: hand, type: a/action/B, goal: {effort: '{{ grip }}', at: {fact: part}}}
    confirm: z > 0
    fallback: [{strategy: retry, parameters: {grip: 35.0}}, ask]
"""


def at_once(work: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
    try:
        done(work(), None)
    except OSError as error:
        done(None, error)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / 'recipes'


def with_recipes(process: Process, folder: Path, apart: Any = at_once) -> Process:
    process.orchestrator.extensions.append(
        RecipeMaker(process.orchestrator, folder, apart, lambda: 1e9))
    return process


def run_it(
    process: Process, flow_id: str = 'f', recipe: str = 'fetch', text: str = TEXT,
    origin: dict[str, Any] | None = None,
) -> FlowRun:
    return process.orchestrator.submit(
        parse_flow(text, 'fetch.yaml'), flow_id, recipe=recipe, origin=origin or {})
