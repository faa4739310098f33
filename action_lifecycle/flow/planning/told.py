# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Compares what a planner's answer uses with what the planner was told of.

Every answer is compared, a new flow or an edit: the servers, services, topics, tools and other
things that its actions, fallbacks, verifiers and nested flows use, and the facts that they read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from ..files.alternatives import alternative_specs, no_recipes, Recipes, strategies
from ..files.checks import judged_conditions, RESULT_NAMES
from ..files.edit import FlowEdit
from ..files.edit_provenance import Path
from ..files.flow import LoadedFlow
from ..files.loader import nested_flow
from ..files.loops import loop_fault, LoopSpec
from ..files.shorthand import CONDITIONS, in_full, merged, work_of
from ...documents.errors import DocumentError, Fault, LifecycleError
from ...documents.models import as_written, read_back, StrictModel
from ...documents.suggestions import nearest
from ...documents.templates.template import has_template, parts_read, texts
from ...documents.yaml_document import Document, parse_document
from ...lifecycle.ports import gaps
from ...lifecycle.spec import ActionSpec
from ...lifecycle.work import NestingSpec, WORK
from ...world.expressions.expression import compile_expression

FACT, UNCLEAR = 'fact', 'expression'
"""Types of a `Use`: a fact, and what can't be compared before the action starts."""
PERMISSION = 'permission'
"""Type of a `Use` that loosens a check, which only a person decides: `FIELD:allow`."""
SHOWN = 10
"""Maximum number of names that a fault shows."""
_WORDS = {'action': 'action server', 'srv': 'service', 'msg': 'topic'}


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


class Told(StrictModel):
    """
    What a planner was told of; None: of this kind nothing is compared.

    `things`: what actions may use, each as `NAME TYPE`, further words are ignored; `facts`: names;
    `namespace`: the one in which relative names of servers, services and topics are meant.
    """

    things: Optional[list[str]] = None
    facts: Optional[list[str]] = None
    namespace: str = '/'

    def faults(self, uses: Iterable[PlacedUse], known: Iterable[PlacedUse] = ()) -> list[Fault]:
        """
        Return the faults of the uses that the planner was not told of.

        `known`: what it was told of besides, such as the running flow that it edits; it is only
        read if there are faults without it.
        """
        things = None if self.things is None else {
            (self._full(*words), words[1]): words[0]
            for words in (line.split()[:2] for line in self.things) if len(words) == 2}
        facts = None if self.facts is None else dict.fromkeys(self.facts)
        found = [one for one in uses if not self._is_told(one.use, things, facts)]
        if found:
            more = {(self._full(use.name, use.type), use.type) for *_, use in known}
            found = [one for one in found
                     if (self._full(one.use.name, one.use.type), one.use.type) not in more]
        return [_fault(*one, things or {}, facts or {}) for one in found]

    def _is_told(
        self, use: Use, things: Collection[tuple[str, str]] | None, facts: Collection[str] | None
    ) -> bool:
        if use.type in (FACT, UNCLEAR):
            return facts is None or (use.type == FACT and use.name in facts)
        return things is None or (self._full(use.name, use.type), use.type) in things

    def _full(self, name: str, kind: str) -> str:
        if '/' not in kind or name.startswith('/'):
            return name
        return f"{self.namespace.rstrip('/')}/{name}"


def check_flow(
    flow: LoadedFlow, told: Told, recipes: Recipes = no_recipes, known: LoadedFlow | None = None
) -> None:
    """
    Raise `DocumentError` if the flow of an answer uses what the planner was not told of.

    `known`: the running flow, if the answer was an edit of it and `flow` has its changes.
    """
    def of_known() -> Iterator[PlacedUse]:
        if known is not None:
            try:
                yield from uses_of(known, recipes)
            except DocumentError:  # a recipe that is not there any more: not a fault of the answer
                return

    if faults := told.faults(uses_of(flow, recipes), of_known()):
        raise DocumentError(dict.fromkeys(faults))


def check_edit_text(edit: FlowEdit, flow_yaml: str, told: Told) -> None:
    """
    Raise `DocumentError` if an edit uses what the planner was not told of; see `check_flow`.

    For a process that has only the text of the running flow.
    """
    data = parse_document(flow_yaml, 'flow_yaml').data
    flow = data if isinstance(data, dict) else {}
    written, defaults = _mapping(flow.get('actions')), _mapping(flow.get('defaults'))
    names = set(_mapping(flow.get('parameters')))

    def of_edit() -> Iterator[PlacedUse]:
        for step in edit.steps:
            for name, raw in step.value.items() if step.verb in ('add', 'update', 'build') else ():
                earlier = _mapping(written.get(name)) if step.verb == 'update' else {}
                yield from _uses_as_written(
                    edit.document, (step.number, step.verb, name),
                    merged(defaults, earlier, raw), names)

    def of_flow() -> Iterator[PlacedUse]:
        for name, raw in written.items():
            yield from _uses_as_written(
                edit.document, ('actions', name), merged(defaults, _mapping(raw)), names)

    if faults := told.faults(of_edit(), (one for one in of_flow() if one.use.type != UNCLEAR)):
        raise DocumentError(dict.fromkeys(faults))


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
                    yield from _uses_as_written(
                        flow.document, place, step.action, {*spec.parameters, step.name})


def _uses_as_written(
    document: Document, path: Path, fields: Mapping[str, Any], names: Collection[str]
) -> Iterator[PlacedUse]:
    """
    Yield what an action uses whose templates can't be filled in; `names`: the flow's parameters.

    A template in the name of a server, or in a condition, is a name that no planner is told of.
    """
    own = {*names, *_mapping(fields.get('parameters'))}
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
        yield from _uses_as_written(document, path, step.action, {*names, step.name})
    elif isinstance(step.flow, dict):
        flow = step.flow
        for name, raw in _mapping(flow.get('actions')).items():
            yield from _uses_as_written(
                document, (*path, 'flow', 'actions', name),
                merged(_mapping(flow.get('defaults')), _mapping(raw)),
                set(_mapping(flow.get('parameters'))))
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
                step = read_back(model, {key: value for key, value in _mapping(given).items()
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
        yield Use(('confirm_unseen',), 'confirm_unseen:allow', PERMISSION)
    for step in action.steps:
        if getattr(step, 'foreign_goals', '') == 'allow':
            yield Use((*step.path, 'foreign_goals'), 'foreign_goals:allow', PERMISSION)
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


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _fault(
    document: Document, path: Path, action: ActionSpec, use: Use,
    things: Mapping[tuple[str, str], str], facts: Collection[str],
) -> Fault:
    """Return the fault of a use: field, what is used, and what the planner was told of."""
    field = '.'.join(map(str, use.path))
    said = f"action '{path[2] if path[0] != 'actions' else path[1]}'{field and ', '}{field}: "
    if use.type == UNCLEAR:
        return document.fault(
            (*path, *use.path), f'{said}{use.name:.200}: it can not be compared with what the '
            'planner was told of before the action starts')
    if use.type == FACT:
        what, known = f"there is no fact '{use.name}'", list(facts)
    else:
        what = f"there is no {_word(use.type)} '{use.name:.200}'" + (
            f" of type '{use.type}'" if '/' in use.type else '')
        known = [f'{name} {kind}' if name == use.name else name
                 for (_, kind), name in things.items() if _word(kind) == _word(use.type)]
    return document.fault(
        (*path, *use.path), f'{said}{what} among those that the planner was told of: '
        + _listed(known) + nearest(use.name, known))


def _word(kind: str) -> str:
    parts = kind.split('/')
    return _WORDS.get(parts[1], kind) if len(parts) == 3 else kind


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return (', '.join(names[:SHOWN]) or 'none') + (f' and {more} more' if more > 0 else '')
