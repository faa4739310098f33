# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The alternatives of an action from its fallbacks: other parameters, another motion, a recipe.

All alternatives are rendered and checked when the flow is loaded, so that none fails at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .edit_provenance import Path
from .flow import LoadedFlow
from .shorthand import replaceable
from ...documents.errors import DocumentError, Fault, LifecycleError
from ...documents.suggestions import nearest
from ...documents.templates.template import names_read, TemplateError
from ...lifecycle.action import Action
from ...lifecycle.spec import ActionSpec, StrategySpec

QUESTION_NAMES = frozenset({
    'facts', 'evidence', 'history', 'error', 'attempt', 'description', 'flow', 'action'})
"""Names available in templates of questions and requests, in addition to the parameters."""

Recipes = Callable[[str, str], Mapping[str, Any]]
"""Returns the fields of an action in a recipe; arguments: name of the recipe, action id."""


def no_recipes(name: str, action_id: str) -> Mapping[str, Any]:
    """Raise LifecycleError, since there are no recipes."""
    raise LifecycleError(f"recipe '{name}': no recipes are known here")


class Alternatives:
    """The specs of one action with its fallbacks applied; see `lifecycle.ports.Specs`."""

    def __init__(self, flow: LoadedFlow, action: Action, recipes: Recipes) -> None:
        self._flow = flow
        self._action = action
        self._recipes = recipes

    def render(self, parameters: Mapping[str, Any], fields: Mapping[str, Any]) -> ActionSpec:
        """Return the spec with these parameters and fields replaced; raises `DocumentError`."""
        return self._flow.render(
            self._action.action_id, parameters, fields, self._action.seen or None)

    def fields(self, strategy: StrategySpec) -> Mapping[str, Any]:
        """Return the fields that a strategy replaces."""
        return fields_of(strategy, self._action.action_id, self._recipes)


def fields_of(strategy: StrategySpec, action_id: str, recipes: Recipes) -> Mapping[str, Any]:
    """Return the fields of a strategy, or of its recipe, with templates not filled in."""
    if strategy.strategy != 'recipe':
        return strategy.fields
    name, _, other = strategy.recipe.partition('/')
    found = recipes(name, other or action_id)
    return {name: found[name] for name in (*replaceable(), 'parameters') if name in found}


def strategies(action: ActionSpec) -> Iterator[tuple[Path, StrategySpec]]:
    """Yield all strategies of an action with their paths, including those of options."""
    for index, strategy in enumerate(action.fallback):
        yield ('fallback', index), strategy
        for name, option in strategy.options.items():
            yield ('fallback', index, 'options', name), option


def alternative_specs(
    flow: LoadedFlow, action_id: str, action: ActionSpec, recipes: Recipes
) -> Iterator[tuple[Path, ActionSpec]]:
    """Yield the spec for each strategy, with its path; raises `DocumentError`."""
    for path, strategy in strategies(action):
        if strategy.parameters or strategy.strategy in ('action', 'recipe'):
            try:
                fields = fields_of(strategy, action_id, recipes)
                changed = flow.render(action_id, strategy.parameters, fields)
            except DocumentError:
                raise
            except LifecycleError as error:
                raise DocumentError([flow.document.fault(
                    ('actions', action_id, *path), f"action '{action_id}': {error}")]) from error
            yield path, changed


def fallback_faults(flow: LoadedFlow, action_id: str, action: ActionSpec) -> Iterator[Fault]:
    """Yield the faults of an action's strategies and of the templates of its questions."""
    own = set(flow.own_parameters(action_id))
    for path, strategy in strategies(action):
        where = ('actions', action_id, *path)
        for message, key in _strategy_faults(strategy, own):
            yield flow.document.fault((*where, *key), f"action '{action_id}': {message}")
    names = {*action.parameters, *QUESTION_NAMES}
    late: list[tuple[Path, Any]] = [
        *((('fallback', index, 'question'), strategy.question)
          for index, strategy in enumerate(action.fallback)),
        *((('verify', index, key), getattr(verifier, key))
          for index, verifier in enumerate(action.verify) for key in verifier.late)]
    for path, template in late:
        where = ('actions', action_id, *path)
        try:
            for name, place in names_read(template, where).items():
                if name not in names:
                    yield flow.document.fault(
                        place, f"action '{action_id}': the template reads '{name}', which is not "
                        'known when it is asked' + nearest(name, names))
        except TemplateError as error:
            yield flow.document.fault(error.path, f"action '{action_id}': {error}")


def _strategy_faults(strategy: StrategySpec, own: set[str]) -> Iterator[tuple[str, Path]]:
    kind: str = strategy.strategy
    for name in strategy.parameters:
        if name not in own:
            yield (f"the action has no parameter '{name}'" + nearest(name, own),
                   ('parameters', name))
    for name in strategy.fields:
        if name not in replaceable():
            yield (f"the field '{name}' can not be replaced" + nearest(name, replaceable()),
                   ('fields',))
    if bool(strategy.fields) != (kind == 'action'):
        yield (f"'{kind}' takes no fields of an action" if strategy.fields
               else f"'action' needs one of {', '.join(replaceable())}"), ()
    if bool(strategy.recipe) != (kind == 'recipe'):
        yield ("'recipe' needs the name of one" if kind == 'recipe'
               else f"'{kind}' takes no recipe"), ()
    options = getattr(strategy, 'options', {})
    default = getattr(strategy, 'default', '')
    if options and kind != 'ask':
        yield f"'{kind}' takes no options, only 'ask' does", ('options',)
    for name in options:
        if not name.strip() or len(name) > 100:
            yield f'option {name!r}: expected up to 100 characters', ('options', name)
    known = options or ('retry', 'give_up')
    if default and default not in known:
        yield f"the default '{default}' is not one of the options" + nearest(
            default, known), ('default',)
    if default and not getattr(strategy, 'timeout', 0.0):
        yield "a default is taken when the time is up: 'timeout' is missing", ('default',)
