# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Recipes: the actions of a verified run of a flow, to be run again without planning.

docs/recipes.md describes when a recipe is made, and the checks before it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
import copy
from datetime import datetime, timezone
import difflib
import hashlib
import json
from pathlib import Path
from typing import Any

from .recipe_file import FactThen, read_recipe, recipe_path, RecipeAction, RecipeSpec, SourceSpec
from .recipe_world import world_differences
from ..files.flow import LoadedFlow
from ...documents.durable_file import replacing
from ...documents.errors import LifecycleError
from ...documents.models import as_written
from ...documents.suggestions import nearest
from ...lifecycle.fragment import widened
from ...lifecycle.ports import Evidence, knows

SHOWN = 12
"""Maximum number of lines shown of a difference."""
_OWN_PLANS = ('after', 'schedule', 'retry', 'fallback')
"""Fields for order, schedule and retries, which a fallback does not take from a recipe."""
_LATE = ('verify', 'fallback')
"""Fields whose templates are filled in when they are used."""


class Recipe:
    """A checked recipe; `spec` is the content of its file."""

    def __init__(self, spec: RecipeSpec) -> None:
        self.spec = spec
        self.name = spec.recipe

    @classmethod
    def load(cls, folder: str | Path, name: str) -> Recipe:
        """Load a recipe; raises `LifecycleError` if there is none, `DocumentError` for faults."""
        path = recipe_path(folder, name)
        if not path.is_file():
            raise LifecycleError(f"there is no recipe '{name}' in {folder}" + nearest(
                name, [found.stem for found in Path(folder).glob('*.json')]))
        return cls(read_recipe(path))

    @classmethod
    def of(cls, name: str, flow_id: str, flow: LoadedFlow, fragments: Sequence[Mapping[str, Any]],
           origin: Mapping[str, Any], now: float) -> Recipe:
        """Return the recipe of a verified run from its fragments; `now`: wall time (s)."""
        source = origin.get('source') or source_of(flow, str(origin.get('file', '')))
        return cls(RecipeSpec(
            recipe=name, version=1, runs=1, flow_id=flow_id, flow=SourceSpec(**source),
            max_motions=flow.max_motions,
            made=datetime.fromtimestamp(now, timezone.utc).isoformat(timespec='seconds'),
            world={fact: FactThen(**then) for fact, then in origin.get('world', {}).items()},
            actions=[RecipeAction(**fragment) for fragment in fragments]))

    def fragment(self, action_id: str) -> dict[str, Any]:
        """Return the fields of an action, without order, schedule and retries."""
        known = {action.action: action.fields for action in self.spec.actions}
        if action_id not in known:
            raise LifecycleError(f"recipe '{self.name}' has no action '{action_id}'"
                                 + nearest(action_id, known))
        return copy.deepcopy({key: value for key, value in known[action_id].items()
                              if key not in _OWN_PLANS})

    def data(self) -> dict[str, Any]:
        """Return the content of the file."""
        return as_written(self.spec)

    def text(self) -> str:
        """Return the recipe as YAML of a flow, in order and without templates."""
        actions = {}
        for action in self.spec.actions:
            fields = {key: value for key, value in action.fields.items() if key != 'schedule'}
            # Goals are stored as sent; parameters do not affect them.
            fields['fallback'] = [entry for entry in fields.get('fallback', ())
                                  if not entry.get('parameters')]
            actions[action.action] = {
                key: value if key in _LATE else _literal(value) for key, value in fields.items()}
        return json.dumps({
            'flow': self.spec.flow.name, 'description': f'Recipe {self.name}.',
            'max_motions': self.spec.max_motions, 'actions': actions}, indent=1)

    def merged(self, earlier: Recipe) -> Recipe:
        """Return this recipe with ranges merged from an earlier one of the same flow."""
        then, now = earlier.spec, self.spec
        if (then.flow.sha256, then.flow.parameters_sha256) != (
                now.flow.sha256, now.flow.parameters_sha256):
            return self
        if then.flow_id == now.flow_id:
            return earlier  # it was made before a restart
        before = {action.action: action for action in then.actions}
        data = self.data()
        data['runs'] = then.runs + 1
        for action in data['actions']:
            old = before.get(action['action'])
            if old is None:
                continue
            action['duration'] = [min(old.duration[0], action['duration'][0]),
                                  max(old.duration[-1], action['duration'][-1])]
            for field in ('evidence', 'required'):
                seen = getattr(old, field)
                action[field] = {
                    name: widened(seen[name], found) if name in seen else found
                    for name, found in action[field].items()}
        return Recipe(RecipeSpec(**data))

    def differences(
        self, text: str | None, given: Mapping[str, Any], evidence: Sequence[Evidence]
    ) -> list[str]:
        """
        Return descriptions of all differences from the time when the recipe was made.

        `text`: the current flow file, None if it does not exist; `given`: the requested
        parameters; `evidence`: the current evidence of the conditions of `questions`.
        """
        source, found = self.spec.flow, []
        if source.file and text is None:
            found.append(f'the flow file {source.file} is not there any more')
        elif source.file and text is not None and digest(text) != source.sha256:
            lines = list(difflib.unified_diff(
                source.text.splitlines(), text.splitlines(), 'then', 'now', n=0, lineterm=''))
            more = [f'… {len(lines) - SHOWN} more lines'] if len(lines) > SHOWN else []
            found.append('\n  '.join(
                [f'the flow file {source.file} has changed:', *lines[:SHOWN], *more]))
        for name, value in given.items():
            if name not in source.parameters:
                found.append(f"parameter '{name}': the flow has none of this name"
                             + nearest(name, source.parameters))
            elif value != source.parameters[name]:
                found.append(f"parameter '{name}': {source.parameters[name]!r} then, "
                             f'{value!r} now')
        return found + world_differences(self.spec.world, evidence)

    def questions(self) -> list[tuple[str, str]]:
        """Return the conditions to evaluate before the recipe runs: (name, expression)."""
        asked = [('world', knows(name)) for name in self.spec.world]
        for action in self.spec.actions:
            if not action.fields.get('after'):
                asked += [(f'require of {action.action}', item['condition'])
                          for item in action.fields.get('require', ())]
        return asked

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that the conditions of `questions` read."""
        return {name: value for action in self.spec.actions if not action.fields.get('after')
                for name, value in action.fields.get('parameters', {}).items()}


def _literal(data: Any) -> Any:
    """Return data with template syntax escaped."""
    if isinstance(data, str):
        return '{% raw %}' + data + '{% endraw %}' if '{{' in data or '{%' in data else data
    if isinstance(data, dict):
        return {key: _literal(value) for key, value in data.items()}
    return list(map(_literal, data)) if isinstance(data, (list, tuple)) else data


def write_recipe(folder: str | Path, recipe: Recipe) -> Recipe:
    """
    Write a recipe atomically and return the recipe written.

    Ranges of an earlier recipe of the same flow and parameters are merged.
    """
    path = recipe_path(folder, recipe.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(LifecycleError):  # there is no recipe yet, or a damaged one, which is replaced
        recipe = recipe.merged(Recipe.load(folder, recipe.name))
    text = json.dumps(recipe.data(), indent=1, ensure_ascii=False)
    with replacing(path) as part:
        part.write_text(f'{text}\n', encoding='utf-8')
    return recipe


def digest(text: str) -> str:
    """Return the hash of a string, in the format of recipes."""
    return hashlib.sha256(text.encode()).hexdigest()


def source_of(flow: LoadedFlow, file: str) -> dict[str, Any]:
    """Return the source of a flow in the format of recipes; `file`: '' if there is none."""
    parameters = json.dumps(flow.parameters, sort_keys=True)
    return {'name': flow.name, 'file': file, 'sha256': digest(flow.text), 'text': flow.text,
            'parameters': flow.parameters, 'parameters_sha256': digest(parameters)}
