# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The JSON file of a recipe; see docs/recipes.md for an example."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
from typing import Any, Optional

from pydantic import Field

from ..files.loader import MAX_FLOW_BYTES
from ...documents.errors import DocumentError, LifecycleError
from ...documents.models import StrictModel, validate
from ...documents.yaml_document import read_document

TOLERANCE = 0.005
"""Default tolerance of a fact's numbers, in the unit of the fact."""
NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z')


class FactThen(StrictModel):
    """The value of a fact when the run began, with its tolerance."""

    numbers: Optional[list[float]] = None
    value: Any = None
    tolerance: float = Field(default=TOLERANCE, ge=0, description='In the unit of the fact.')
    unit: str = ''


class SourceSpec(StrictModel):
    """The flow from which the recipe was made."""

    name: str
    file: str = Field(default='', description='Its file; empty: it came from no file.')
    sha256: str = Field(description='Of the text.')
    text: str
    parameters: dict[str, Any] = {}
    parameters_sha256: str


class RecipeAction(StrictModel):
    """One action of the recipe."""

    action: str
    fields: dict[str, Any] = Field(description='As below `actions` in a flow file, resolved.')
    attempts: int = Field(description='Attempts until it worked.')
    duration: list[float] = Field(description='Shortest and longest time (s) until verified.')
    evidence: dict[str, Any] = Field(default={}, description='Range of each fact in evidence.')
    required: dict[str, Any] = Field(default={}, description='Range of each fact required before.')


class RecipeSpec(StrictModel):
    """A recipe file."""

    recipe: str = Field(description='Its name.')
    version: int = Field(default=1, ge=1, le=1)
    made: str = Field(description='Wall time (UTC) of the last run that it was made from.')
    flow_id: str = Field(description='Of that run.')
    runs: int = Field(default=1, ge=1, description='Verified runs that it was made from.')
    flow: SourceSpec
    max_motions: int = 4
    world: dict[str, FactThen] = Field(
        default={}, description='Values of facts when the run began.')
    actions: list[RecipeAction] = Field(description='In the order in which they were sorted.')


def read_recipe(path: str | Path) -> RecipeSpec:
    """Read and check a recipe file; raises `DocumentError` with all faults."""
    document = read_document(path, max_bytes=4 * MAX_FLOW_BYTES)
    spec = validate(document, RecipeSpec)
    faults = [document.fault(place, message) for place, message in _action_faults(spec)]
    if faults:
        raise DocumentError(faults)
    return spec


def _action_faults(spec: RecipeSpec) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the faults of fields that are used before the recipe is parsed as a flow."""
    names = set()
    for index, action in enumerate(spec.actions):
        if action.action in names:
            yield ('actions', index, 'action'), f"a second action '{action.action}'"
        names.add(action.action)
        place = 'actions', index, 'fields'
        if not isinstance(action.fields.get('parameters', {}), dict):
            yield (*place, 'parameters'), 'expected a mapping'
        for field, wanted in ('require', 'condition'), ('fallback', 'strategy'):
            entries = action.fields.get(field, [])
            if not (isinstance(entries, list) and all(
                    isinstance(entry, dict) and isinstance(entry.get(wanted), str)
                    for entry in entries)):
                yield (*place, field), f"expected a list of mappings, each with '{wanted}'"


def recipe_path(folder: str | Path, name: str) -> Path:
    """Return the path of a recipe; raises `LifecycleError` if the name is not valid."""
    if not NAME.match(name):
        raise LifecycleError(f'{name!r} is not the name of a recipe: expected up to 64 letters, '
                             'digits, _ and -')
    return Path(folder) / f'{name}.json'
