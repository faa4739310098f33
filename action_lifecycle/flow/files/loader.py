# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Loads flow files as a `LoadedFlow`; reports all faults with their lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
import json
import os
from pathlib import Path as FilePath
from typing import Any

from .alternatives import strategies
from .checks import checked_action, order_faults
from .edit_provenance import FlowDocument, Path, PlacedDocument
from .flow import LoadedFlow
from .loops import element_names, FOR_EACH, LoopDocument, LoopSpec
from .names import IDENTIFIER, name_fault
from .parameters import example, MAX_PARAMETERS, parameter_values
from .sources import Sources
from .spec import FlowSpec
from ..scheduling.dag import CycleError, topological_order
from ...documents.budget import Budget, budget, BudgetExceeded, spend_on
from ...documents.errors import DocumentError, Fault, LifecycleError, MAX_FAULTS
from ...documents.input_file import read_text
from ...documents.json_text import read_json
from ...documents.models import validate
from ...documents.suggestions import nearest
from ...documents.templates.template import has_template, names_read, render, TemplateError
from ...documents.yaml_document import Document, parse_document, read_document
from ...lifecycle.schedule.schedule import schedule_faults
from ...lifecycle.spec import ActionSpec
from ...lifecycle.work import NestingSpec, WORK

MAX_FLOW_BYTES = 4 * 1024 * 1024
MAX_ACTIONS = 20_000
MAX_NESTED = 8
"""Maximum depth of nested flows."""
FEWEST_STEPS, STEPS_PER_CHARACTER, MOST_STEPS = 2_000_000, 20, 24_000_000
"""Limits (steps) of the budget for reading a flow or checking an edit; see `steps_for`."""


def steps_for(text: str) -> int:
    """Return the budget (steps) for reading `text`, which bounds the expansion of templates."""
    return min(MOST_STEPS, FEWEST_STEPS + STEPS_PER_CHARACTER * len(text))


class CyclicFlow(DocumentError):
    """A flow has a cycle of dependencies."""


def load_flow(path: str | FilePath, **parameters: Any) -> LoadedFlow:
    """Load a flow file; `parameters`: values by name. Raises `DocumentError` with all faults."""
    document = read_document(path, max_bytes=MAX_FLOW_BYTES)
    return load_document(document, read_text(path), parameters)


def parse_flow(
    text: str, name: str, parameters: Mapping[str, Any] | None = None,
    sources: Sources | None = None,
) -> LoadedFlow:
    """
    Parse a flow from YAML text; raises `DocumentError` with all faults.

    `name`: file name for messages, from whose folder nested flows are read; see `Sources`.
    """
    return load_document(parse_document(text, name, max_bytes=MAX_FLOW_BYTES), text,
                         parameters or {}, sources)


def load_document(
    document: Document, text: str, given: Mapping[str, Any], sources: Sources | None = None,
    chain: tuple[str, ...] = (),
) -> LoadedFlow:
    """Return the flow of a document; `chain`: the files of the flows that it nests in."""
    faults: list[Fault] = []
    try:
        with budget(steps_for(text), 'reading the flow') as limit:
            flow = _checked(document, text, given, faults, limit)
    except BudgetExceeded as error:
        raise DocumentError(dict.fromkeys(
            [Fault(document.name, *document.mark(), str(error)), *faults])) from error
    flow.sources = sources or Sources()
    flow.chain = (*chain, document.name)
    if faults := nested_faults(flow, flow.actions):
        raise DocumentError(dict.fromkeys(faults))
    return flow


def _checked(
    document: Document, text: str, given: Mapping[str, Any], faults: list[Fault], limit: Budget,
) -> LoadedFlow:
    """Return the flow; adds its faults to `faults`, also if the budget is exceeded."""
    spend_on(dict(given))
    declared = document.data.get('parameters') if isinstance(document.data, dict) else None
    if isinstance(declared, dict) and len(declared) > MAX_PARAMETERS:
        raise DocumentError([document.fault(
            ('parameters',), f'{len(declared)} parameters, at most {MAX_PARAMETERS} are allowed')])
    spec = validate(document, FlowSpec)
    document = FlowDocument(document)
    faults += _name_faults(document, spec)
    values, value_faults = parameter_values(document, spec, given)
    faults += value_faults
    faults += _dialogue_faults(document, spec)
    if spec.schedule is not None:
        faults += [document.fault(('schedule', field), f'schedule: {message}')
                   for field, message in schedule_faults(spec.schedule, of_action=False)]
    if faults:
        raise DocumentError(faults)
    flow = LoadedFlow(document, text, spec, values)
    check_actions(flow, faults, limit)
    return flow


def check_actions(flow: LoadedFlow, faults: list[Fault], limit: Budget) -> None:
    """Add the specs of its actions to a flow; raises `DocumentError` with all faults."""
    document, actions = flow.document, dict[str, ActionSpec]()
    for action_id in flow.raws:
        action, found = checked_action(flow, action_id, flow.raws)
        faults += found
        if action is not None:
            actions[action_id] = action
            if action.replaces:
                faults.append(document.fault(
                    ('actions', action_id, 'replaces'), f"action '{action_id}' replaces "
                    f"'{action.replaces}': only an edit of a running flow can replace an action"))
        if len(faults) >= MAX_FAULTS or limit.left < 0:
            faults.append(document.fault(('actions', action_id), 'the rest is not checked'))
            break
    if not faults:
        try:
            order = topological_order({name: action.after for name, action in actions.items()})
        except CycleError as error:
            raise CyclicFlow(
                [document.fault(('actions', error.cycle[0], 'after'), str(error))]) from error
        flow.actions = {name: actions[name] for name in order}
        if not flow.is_loop:  # its templates that read results are checked in the outer flow
            faults += order_faults(flow, order, lambda name: actions[name].after)
    if faults:
        raise DocumentError(dict.fromkeys(faults))


def _name_faults(document: Document, spec: FlowSpec) -> Iterator[Fault]:
    if message := name_fault(spec.flow):
        yield document.fault(('flow',), message)
    if not spec.actions:
        yield document.fault(('actions',), 'expected at least one action')
    if len(spec.actions) > MAX_ACTIONS:
        yield document.fault(('actions',), f'more than {MAX_ACTIONS} actions')
    for action_id in spec.actions:
        if message := name_fault(action_id):
            yield document.fault(('actions', action_id), message)
    for name in spec.parameters:
        if not IDENTIFIER.match(name):
            yield document.fault(('parameters', name), f'{name!r} is not an identifier')


def _dialogue_faults(document: Document, spec: FlowSpec) -> Iterator[Fault]:
    known = {*spec.parameters, 'actor_input', 'dialogue', 'state', 'flow', 'name'}
    try:
        texts_of = {state: getattr(spec.dialogue, state)
                    for state in ('asking', 'working', 'ended')}
        for name, path in names_read(texts_of, ('dialogue',)).items():
            if name not in known:
                yield document.fault(path, f"the template reads '{name}', which a dialogue does "
                                     'not know' + nearest(name, known))
    except TemplateError as error:
        yield document.fault(error.path, str(error))


def nested_faults(flow: LoadedFlow, names: Iterable[str]) -> list[Fault]:
    """Load the flows that these actions nest; returns the faults, and where each is used."""
    faults: list[Fault] = []
    with budget(MOST_STEPS, 'reading the nested flows'):
        for action_id in names:
            for path, spec in ((('actions', action_id), flow.actions[action_id]),
                               *_alternatives(flow, action_id)):
                for index, step in enumerate(spec.steps):
                    if isinstance(step, NestingSpec):
                        try:
                            nested = nested_flow(flow, action_id, step, path=path)
                        except (DocumentError, BudgetExceeded) as error:
                            faults += _used(flow, action_id, step, path, error)
                            continue
                        if nested is not None and len(path) == 2:
                            flow.nested.setdefault(action_id, {})[index] = step, nested
            if len(faults) >= MAX_FAULTS:
                break
    return faults


def _alternatives(flow: LoadedFlow, action_id: str) -> Iterator[tuple[Path, ActionSpec]]:
    """Yield the alternatives of an action that have work of their own, with their paths."""
    for below, strategy in strategies(flow.actions[action_id]):
        if not WORK.fields.isdisjoint(strategy.fields):
            yield ('actions', action_id, *below), flow.render(
                action_id, strategy.parameters, strategy.fields)


def _used(
    flow: LoadedFlow, action_id: str, step: NestingSpec, path: Path, error: Exception
) -> Iterator[Fault]:
    """Yield the faults of a nested flow; those in another file say where it is used."""
    place = (*path, *step.path) if len(path) == 2 else path
    if not isinstance(error, DocumentError):
        yield flow.document.fault(place, f"action '{action_id}': {error}")
        return
    line = flow.document.mark(place)[0]
    found = error.faults if not isinstance(step, LoopSpec) else {  # elements have equal faults
        fault[:3]: fault for fault in reversed(error.faults)}.values()
    for fault in found:
        yield fault if fault.file == flow.document.name else fault._replace(
            message=f'{fault.message} (used in {flow.document.name}:{line}, '
                    f"action '{action_id}')")


def nested_flow(
    outer: LoadedFlow, action_id: str, step: Any, seen: Mapping[str, Any] | None = None,
    path: Path | None = None,
) -> LoadedFlow | None:
    """
    Return the flow that a step of an action nests; raises `DocumentError` with all faults.

    `seen`: values that the action has read at its start; None if it has not started. Then values
    that are not known yet have the defaults, or a flow is not checked in full and None is
    returned. `path`: of the step's action or alternative in the document.
    """
    path = path or ('actions', action_id)
    if len(outer.chain) >= MAX_NESTED:
        raise DocumentError([outer.document.fault(
            path, f"action '{action_id}': flows are nested more than {MAX_NESTED} deep")])
    if isinstance(step, LoopSpec):
        return _loop(outer, action_id, step, path, seen)
    flow, given = step.flow, dict(step.parameters)
    where = (*path, *step.path) if len(path) == 2 else path
    if isinstance(flow, dict):
        document: Document = PlacedDocument(outer.document, (*where, 'flow'), flow)
        text = json.dumps(flow)
    else:
        document, text = _referenced(outer, action_id, flow, where)
    if seen is None:
        given = _examples(document, given)
    loaded = load_document(document, text, given, outer.sources, outer.chain)
    if loaded.schedule is not None:
        raise DocumentError([loaded.document.fault(
            ('schedule',), 'a nested flow has no schedule; give one to the action')])
    return loaded


def _referenced(
    outer: LoadedFlow, action_id: str, name: str, where: Path
) -> tuple[Document, str]:
    """Return the document and the text of a flow in another file."""
    said = f"action '{action_id}', flow: "
    try:
        if has_template(name):
            name = str(render(name, {**outer.parameters, **outer.bound.get(action_id, {})}))
        reference = outer.document.name, name
        file, text = outer.sources.find(reference)
    except LifecycleError as error:
        raise DocumentError([outer.document.fault((*where, 'flow'), f'{said}{error}')]) from error
    outer.refers.add(reference)
    known = [os.path.abspath(link) for link in outer.chain]
    if os.path.abspath(file) in known:
        circle = [*outer.chain[known.index(os.path.abspath(file)):], file]
        raise DocumentError([outer.document.fault(
            (*where, 'flow'), f"{said}it would run itself: {' → '.join(circle)}")])
    return parse_document(text, file, max_bytes=MAX_FLOW_BYTES), text


def _examples(document: Document, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of parameters; those that are not known yet are taken from the flow."""
    declared = document.data.get('parameters') if isinstance(document.data, dict) else None
    known = declared if isinstance(declared, dict) else {}
    return {name: example(known[name]) if name in known and has_template(value) else value
            for name, value in given.items()
            if not has_template(value) or name not in known
            or not isinstance(known[name], dict) or known[name].get('default') is None}


def _loop(
    outer: LoadedFlow, action_id: str, step: LoopSpec, path: Path, seen: Mapping[str, Any] | None
) -> LoadedFlow | None:
    """Return the flow of an action with `for_each`; see `nested_flow`."""
    elements = step.elements
    if isinstance(elements, list) and len(elements) > MAX_ACTIONS:
        raise DocumentError([outer.document.fault(
            (*path, FOR_EACH), f"action '{action_id}', {FOR_EACH}: {len(elements)} elements, at "
            f'most {MAX_ACTIONS} are allowed')])
    known = isinstance(elements, list)
    body = step.action if known else _without(step.action, step.name)
    data = {
        'flow': action_id, 'max_motions': outer.max_motions, 'parameters': outer.parameters,
        FOR_EACH: step.name, 'elements': elements if known else [None], 'action': body,
        'in_order': step.in_order, 'results': (seen or {}).get('results') or None}
    flow = _loop_flow(data, lambda raws, numbers: LoopDocument(
        outer.document, path, step.name, {'flow': action_id, 'actions': raws}, numbers))
    flow.sources, flow.chain = outer.sources, (*outer.chain, f'{action_id}: {FOR_EACH}')
    if not known:  # the types of the fields that do not depend on the element
        flow.render('1')
        return None
    _check_loop(flow)
    return flow


def _without(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the fields of an action that do not depend on the parameter `name`."""
    own = body.get('parameters')
    unknown = {name, *(key for key, value in (own if isinstance(own, dict) else {}).items()
                       if name in names_read(value))}
    return {key: value for key, value in body.items() if unknown.isdisjoint(names_read(value))}


def parse_loop(text: str, name: str, sources: Sources) -> LoadedFlow:
    """Return the flow of an action with `for_each` from the text that was journaled."""
    flow = _loop_flow(read_json(text, name), lambda raws, numbers: Document(
        name, {'flow': name, 'actions': raws}, (1, 1), {}))
    flow.sources, flow.chain = sources, (name,)
    _check_loop(flow)
    return flow


def _check_loop(flow: LoadedFlow) -> None:
    with budget(MOST_STEPS, 'reading the elements') as limit:
        faults: list[Fault] = []
        try:
            check_actions(flow, faults, limit)
        except BudgetExceeded as error:
            raise DocumentError([flow.document.fault((), str(error)), *faults]) from error
    if faults := nested_faults(flow, flow.actions):
        raise DocumentError(dict.fromkeys(faults))


def _loop_flow(
    data: Mapping[str, Any],
    document: Callable[[Mapping[str, Any], Mapping[str, int]], Document],
) -> LoadedFlow:
    """Return the flow of an action with `for_each`, not checked; `data`: as journaled."""
    names = element_names(data['elements'])
    raws: dict[str, Any] = {}
    before: str | None = None
    for name in names:
        raws[name] = {**data['action'], 'after': {before: 'success'}} \
            if data['in_order'] and before is not None else data['action']
        before = name
    flow = LoadedFlow(
        document(raws, {name: index for index, name in enumerate(names)}), json.dumps(data),
        FlowSpec(flow=data['flow'], max_motions=data['max_motions'], actions={}),
        data['parameters'])
    flow.raws = raws
    flow.bound = {name: {data[FOR_EACH]: element}
                  for name, element in zip(names, data['elements'])}
    flow.given = {} if data['results'] is None else {'results': data['results']}
    flow.is_loop = True
    return flow
