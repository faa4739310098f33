# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Recipes: what worked in a verified run of a flow, to be executed again without planning.

docs/recipes.md tells when one is made, and what is asked before it is executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import copy
from datetime import datetime, timezone
import difflib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from .flow import Flow
from .recipe_file import FactThen, read_recipe, recipe_path, RecipeAction, RecipeSpec, SourceSpec
from .recipe_world import knows, world_differences
from ..engine.errors import DocumentError, LifecycleError, nearest
from ..engine.models import as_written
from ..lifecycle.fragment import widened
from ..lifecycle.ports import Evidence

SHOWN = 12
"""Lines of a difference that are told."""
_OWN_PLANS = ('after', 'schedule', 'retry', 'fallback')
"""Fields that say when an action runs and what follows an error, not what worked."""
_LATE = ('verify', 'fallback')
"""Fields whose templates are filled in when people and services are asked."""


class Recipe:
    """A checked recipe; `spec` is what its file holds."""

    def __init__(self, spec: RecipeSpec) -> None:
        self.spec = spec
        self.name = spec.recipe

    @classmethod
    def load(cls, folder: str | Path, name: str) -> Recipe:
        """Read a recipe; `LifecycleError` when there is none, `DocumentError` for its faults."""
        path = recipe_path(folder, name)
        if not path.is_file():
            raise LifecycleError(f"there is no recipe '{name}' in {folder}" + nearest(
                name, [found.stem for found in Path(folder).glob('*.json')]))
        return cls(read_recipe(path))

    @classmethod
    def of(cls, name: str, flow_id: str, flow: Flow, fragments: Sequence[Mapping[str, Any]],
           origin: Mapping[str, Any], now: float) -> Recipe:
        """Put the fragments of a verified run together; `now` is wall time in s."""
        source = origin.get('source') or source_of(flow, str(origin.get('file', '')))
        return cls(RecipeSpec(
            recipe=name, version=1, runs=1, flow_id=flow_id, flow=SourceSpec(**source),
            max_motions=flow.max_motions,
            made=datetime.fromtimestamp(now, timezone.utc).isoformat(timespec='seconds'),
            world={fact: FactThen(**then) for fact, then in origin.get('world', {}).items()},
            actions=[RecipeAction(**fragment) for fragment in fragments]))

    def fragment(self, action_id: str) -> dict[str, Any]:
        """Return the fields with which an action worked, without when it runs and its retries."""
        known = {action.action: action.fields for action in self.spec.actions}
        if action_id not in known:
            raise LifecycleError(f"recipe '{self.name}' has no action '{action_id}'"
                                 + nearest(action_id, known))
        return copy.deepcopy({key: value for key, value in known[action_id].items()
                              if key not in _OWN_PLANS})

    def data(self) -> dict[str, Any]:
        """Return what the file holds."""
        return as_written(self.spec)

    def text(self) -> str:
        """Return the text of a flow that does what the recipe says, sorted, nothing to fill in."""
        actions = {}
        for action in self.spec.actions:
            fields = {key: value for key, value in action.fields.items() if key != 'schedule'}
            # Its goals are as they were sent, so there is nothing that parameters could change.
            fields['fallback'] = [entry for entry in fields.get('fallback', ())
                                  if not entry.get('parameters')]
            actions[action.action] = {
                key: value if key in _LATE else _literal(value) for key, value in fields.items()}
        return json.dumps({
            'flow': self.spec.flow.name, 'description': f'Recipe {self.name}.',
            'max_motions': self.spec.max_motions, 'actions': actions}, indent=1)

    def merged(self, earlier: Recipe) -> Recipe:
        """Return this recipe with the ranges of an earlier one of the same flow, if it is one."""
        then, now = earlier.spec, self.spec
        if (then.flow.sha256, then.flow.parameters_sha256) != (
                now.flow.sha256, now.flow.parameters_sha256):
            return self
        if then.flow_id == now.flow_id:
            return earlier  # made before the process died
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
        Return what is not as it was when the recipe was made.

        `text`: the flow file now, None if it is gone; `given`: parameters that are asked for;
        `evidence`: the conditions of `questions`, as they are judged now.
        """
        return [*self._source_differences(text, given),
                *world_differences(self.spec.world, evidence)]

    def _source_differences(self, text: str | None, given: Mapping[str, Any]) -> list[str]:
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
        return found

    def questions(self) -> list[tuple[str, str]]:
        """Return the conditions to judge before it runs: each a name and an expression."""
        asked = [('world', knows(name)) for name in self.spec.world]
        for action in self.spec.actions:
            if not action.fields.get('after'):
                asked += [(f'require of {action.action}', item['condition'])
                          for item in action.fields.get('require', ())]
        return asked

    def parameters(self) -> dict[str, Any]:
        """Return the names that the conditions of `questions` use beside facts."""
        return {name: value for action in self.spec.actions if not action.fields.get('after')
                for name, value in action.fields.get('parameters', {}).items()}


def _literal(data: Any) -> Any:
    """Return data in which nothing is taken for a template any more."""
    if isinstance(data, str):
        return '{% raw %}' + data + '{% endraw %}' if '{{' in data or '{%' in data else data
    if isinstance(data, dict):
        return {key: _literal(value) for key, value in data.items()}
    return list(map(_literal, data)) if isinstance(data, (list, tuple)) else data


def write_recipe(folder: str | Path, recipe: Recipe) -> Recipe:
    """
    Write a recipe so that a crash leaves the old file or the new one; returns what it holds.

    An earlier recipe of the same flow and parameters lends its ranges.
    """
    path = recipe_path(folder, recipe.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        recipe = recipe.merged(Recipe.load(folder, recipe.name))
    except DocumentError:
        pass  # a damaged one is replaced
    except LifecycleError:
        pass  # there is none yet
    part = path.with_suffix('.part')
    with open(part, 'w', encoding='utf-8') as file:
        json.dump(recipe.data(), file, indent=1, ensure_ascii=False)
        file.write('\n')
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return recipe


def digest(text: str) -> str:
    """Return the hash that a recipe holds of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def source_of(flow: Flow, file: str) -> dict[str, Any]:
    """Return where a flow comes from, as a recipe holds it; `file`: empty if from no file."""
    parameters = json.dumps(flow.parameters, sort_keys=True)
    return {'name': flow.name, 'file': file, 'sha256': digest(flow.text), 'text': flow.text,
            'parameters': flow.parameters, 'parameters_sha256': digest(parameters)}
