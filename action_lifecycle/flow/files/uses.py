# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What the actions of a flow use: servers, services, topics, tools and other things, and facts.

Fallbacks, verifiers and nested flows are looked at, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .alternatives import alternative_specs, no_recipes, Recipes, strategies
from .checks import check_conditions, judged_conditions, RESULT_NAMES
from .edit_provenance import Path
from .flow import LoadedFlow
from .loader import nested_flow
from .loops import loop_fault, LoopSpec
from .shorthand import CONDITIONS, in_full, merged, work_of
from ...documents.errors import DocumentError, Fault, LifecycleError
from ...documents.models import as_written, read_back
from ...documents.suggestions import nearest
from ...documents.templates.template import has_template, parts_read, texts
from ...documents.yaml_document import Document
from ...lifecycle.ports import gaps
from ...lifecycle.spec import ActionSpec
from ...lifecycle.work import NestingSpec, WORK
from ...world.expressions.expression import compile_expression

FACT, UNCLEAR = 'fact', 'expression'
"""Types of a `Use`: a fact, and what can't be compared before the action starts."""
PERMISSION = 'permission'
"""
Type of a `Use` that loosens a check for a fact or a server, which only a person decides:
`confirm_unseen:allow:FACT`, `foreign_goals:allow:SERVER`.
"""


class Use(NamedTuple):
    """Something that an action uses; `path`: of the field, below the action."""

    path: Path
    name: str
    type: str  # noqa: A003  (a ROS type, or a word such as tool, job, checker, fact)

    @property
    def is_thing(self) -> bool:
        """Return whether it is no fact, and is known before the action starts."""
        return self.type not in (FACT, UNCLEAR) and not has_template(self.name)


class PlacedUse(NamedTuple):
    """A use with the document and the path of its action, and the action's spec."""

    document: Document
    path: Path
    action: ActionSpec
    use: Use


def check_names(
    flow: LoadedFlow, facts: Mapping[str, Any], fixed: Mapping[str, Any] = {}
) -> None:
    """
    Raise DocumentError if a flow reads facts that are not there, or a condition is not valid.

    `facts`: kinds by name; `fixed`: the values that no sensor measures, such as constants.
    """
    check_conditions(flow, facts, fixed)
    if faults := dict.fromkeys(
            _unknown_fact(one, facts) for one in uses_of(flow)
            if one.use.type == FACT and one.use.name not in facts):
        raise DocumentError(faults)


def _unknown_fact(placed: PlacedUse, facts: Collection[str]) -> Fault:
    document, path, _, use = placed
    field = '.'.join(map(str, use.path))
    return document.fault(
        (*path, *use.path), f"action '{path[1]}'{field and ', '}{field}: unknown name '{use.name}'"
        + nearest(use.name, facts))


def uses_of(flow: LoadedFlow, recipes: Recipes = no_recipes) -> Iterator[PlacedUse]:
    """Yield what a flow uses, also in fallbacks and nested flows; raises `DocumentError`."""
    for action_id, action in flow.actions.items():
        path: Path = ('actions', action_id)
        for use in _facts_in(path=(), text_of=flow.late.get(action_id, ())):
            yield PlacedUse(flow.document, path, action, use)
        for below, spec in (((), action), *alternative_specs(flow, action_id, action, recipes)):
            place = (*path, *below)
            for use in _uses(spec):
                yield PlacedUse(flow.document, place, spec, use)
            for index, step in enumerate(spec.steps):
                if not isinstance(step, NestingSpec):
                    continue
                known = None if below else flow.nested.get(action_id, {}).get(index)
                nested = known[1] if known else nested_flow(flow, action_id, step, path=place)
                if nested is not None:
                    yield from uses_of(nested, recipes)
                elif isinstance(step, LoopSpec):  # its list is only known when it starts
                    yield from uses_as_written(
                        flow.document, place, step.action, {*spec.parameters, step.name})


def uses_as_written(
    document: Document, path: Path, fields: Mapping[str, Any], names: Collection[str]
) -> Iterator[PlacedUse]:
    """
    Yield what an action uses whose templates can't be filled in; `names`: the flow's parameters.

    A template in the name of a server, or in a condition, is a name that no planner is told of.
    """
    own = {*names, *mapping_of(fields.get('parameters'))}
    try:
        spec = _spec_as_written(fields)
        layers = [((), spec), *(
            (below, _spec_as_written(merged(fields, strategy.fields)))
            for below, strategy in strategies(spec) if strategy.fields)]
    except LifecycleError as error:
        yield PlacedUse(document, path, ActionSpec(), Use((), str(error), UNCLEAR))
        return
    for use in _facts_in((), texts(dict(fields))):
        yield PlacedUse(document, path, spec, use)
    for below, layer in layers:
        for use in _uses(layer, own):
            yield PlacedUse(document, (*path, *below), layer, use)
        for step in layer.steps:
            if isinstance(step, NestingSpec):
                where = (*path, *below, *step.path)
                yield from _uses_nested_as_written(document, where, layer, step, own)


def _uses_nested_as_written(
    document: Document, path: Path, action: ActionSpec, step: Any, names: Collection[str]
) -> Iterator[PlacedUse]:
    """Yield what a nested flow uses that is given in full; a file is not at hand."""
    if isinstance(step, LoopSpec):
        yield from uses_as_written(document, path, step.action, {*names, step.name})
    elif isinstance(step.flow, dict):
        flow = step.flow
        for name, raw in mapping_of(flow.get('actions')).items():
            yield from uses_as_written(
                document, (*path, 'flow', 'actions', name),
                merged(mapping_of(flow.get('defaults')), mapping_of(raw)),
                set(mapping_of(flow.get('parameters'))))
    else:
        yield PlacedUse(document, path, action, Use(('flow',), step.flow, 'flow'))


def _spec_as_written(fields: Mapping[str, Any]) -> ActionSpec:
    """Return the spec of an action without its templated numbers; raises `LifecycleError`."""
    full = in_full(dict(fields))
    steps: list[Any] = []
    if full.get('for_each') is not None:
        if fault := loop_fault(full['for_each']):
            raise LifecycleError(f'for_each: {fault[1]}')
        (name, elements), = full['for_each'].items()
        body = {key: value for key, value in full.items() if key not in ('for_each', 'after')}
        steps.append(LoopSpec(name=name, elements=elements, action=body))
    else:
        for kind, below, given in work_of(full):
            model = WORK.find(kind)
            if model.short and isinstance(given, str):
                given = {model.short: given}
            try:
                step = read_back(model, given)
            except LifecycleError:
                step = read_back(model, {key: value for key, value in mapping_of(given).items()
                                         if not has_template(value)})
            steps.append(step.placed(below))
    kept = () if steps and isinstance(steps[0], LoopSpec) else (*CONDITIONS, 'verify', 'fallback')
    return read_back(ActionSpec, {
        'steps': steps, **{key: full[key] for key in (*kept, 'after', 'repeat') if key in full}})


def _uses(action: ActionSpec, names: Collection[str] = ()) -> Iterator[Use]:
    """Yield what an action uses, without its nested flows; `names`: further parameters."""
    own = {*names, *action.parameters}
    for field in CONDITIONS:
        value = getattr(action, field)
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if item is not None:
                yield from _facts_of((field, index), item.condition, own)
    for where, _, when in judged_conditions(action):
        yield from _facts_of(where, _without_templates(when.condition),
                             {*own, *RESULT_NAMES, 'iteration'})
    if action.confirm_unseen == 'allow':
        for fact in dict.fromkeys(use.name for item in action.confirm
                                  for use in _facts_of((), item.condition, own)):
            yield Use(('confirm_unseen',), f'confirm_unseen:allow:{fact}', PERMISSION)
    for step in action.steps:
        if getattr(step, 'foreign_goals', '') == 'allow':
            yield Use((*step.path, 'foreign_goals'), f'foreign_goals:allow:{step.server}',
                      PERMISSION)
        for field, name, kind in step.uses():
            yield Use((*step.path, field), name, kind)
        written = {key: value for key, value in as_written(step).items() if key not in step.late}
        field, text = step.evidence(False)
        if text and not getattr(step, 'over_response', False):
            yield from _facts_of((*step.path, field), text, own)
        for text in () if isinstance(step, NestingSpec) else gaps(written):
            yield from _facts_of(step.path, text, own)
        yield from _facts_in(step.path, texts(written))
    for index, verifier in enumerate(action.verify):
        for field, name, kind in verifier.uses():
            yield Use(('verify', index, field), name, kind)
        yield from _facts_in(('verify', index), texts(as_written(verifier)))
    for index, strategy in enumerate(action.fallback):
        yield from _facts_in(('fallback', index, 'question'), texts(strategy.question))


def _facts_of(path: Path, text: str, own: Collection[str]) -> Iterator[Use]:
    """Yield the facts that an expression reads; `own`: its other names."""
    try:
        for name in compile_expression(text, None).names:
            if name not in own:
                yield Use(path, name, FACT)
    except DocumentError:  # a template, or a fault that other checks report
        yield Use(path, text, UNCLEAR)


def _facts_in(path: Path, text_of: Iterable[tuple[Path, str]]) -> Iterator[Use]:
    """Yield the facts that templates read."""
    for below, text in text_of:
        for name, _ in sorted(parts_read(text, 'facts')):
            if name:
                yield Use((*path, *below), name, FACT)


def _without_templates(text: str) -> str:
    """Return a condition with a number in place of each of its templates."""
    parts = text.split('{{')
    return parts[0] + ''.join('(0)' + part.partition('}}')[2] for part in parts[1:])


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return a mapping of a file, an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}
