# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A checked flow with the values of its parameters."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping, MutableMapping
import copy
from typing import Any

import yaml

from .edit_provenance import ActionSource, EditedDocument, Path
from .loops import FOR_EACH, lists_of_facts, loop_body, loop_fault, loop_texts, LoopSpec
from .shorthand import in_full, merged, render_late, render_work, without_late, work_of
from .sources import Reference, Sources, to_rows
from .spec import FlowSpec
from ...documents.budget import budget, BudgetExceeded, spend, spend_on
from ...documents.errors import DocumentError, Fault, LifecycleError
from ...documents.models import validate
from ...documents.suggestions import nearest
from ...documents.templates.template import (
    names_read,
    render,
    RENDER_STEPS,
    TemplateError,
    texts,
    VALUE_STEPS,
)
from ...documents.yaml_document import Document
from ...lifecycle.spec import ActionSpec
from ...lifecycle.work import WORK, WorkSpec

LATE = ('facts', 'results')
"""Names in templates whose values are only known when an action starts."""
MAY_BE_LATE = ('after', FOR_EACH)
"""Fields, besides `parameters` and its work, that may contain such templates."""
KINDS = ('success', 'completion', 'unconditional')


class LoadedFlow:
    """
    A checked flow with the values of its parameters.

    `actions`: the spec of each action, in topological order. `text`: the source, from which the
    flow can be parsed again. `raws`: the actions as written. `late`: the templates by action that
    read facts or results, with their paths; they are filled in when the action starts.

    `nested`: the flows that actions nest, with the step, by action and index of the step;
    `refers`: the files that they are in. `bound`: values of parameters by action. `given`: values
    of `results`, if the flow nests in an action that may read them. `chain`: the files of the
    outer flows and of this one.
    """

    def __init__(
        self, document: Document, text: str, spec: FlowSpec, values: Mapping[str, Any]
    ) -> None:
        self.document = document
        self.text = text
        self.spec = spec
        self.name = spec.flow
        self.description = spec.description
        self.max_motions = spec.max_motions
        self.deadline = spec.deadline
        self.schedule = spec.schedule
        self.steering = spec.steering
        self.parameters = dict(values)
        self.defaults = spec.defaults
        self.raws: MutableMapping[str, Mapping[str, Any]] = dict(spec.actions)
        self.actions: dict[str, ActionSpec] = {}
        self.late: dict[str, list[tuple[Path, str]]] = {}
        self.nested: dict[str, dict[int, tuple[WorkSpec, LoadedFlow]]] = {}
        self.refers: set[Reference] = set()
        self.sources = Sources()
        self.bound: Mapping[str, Mapping[str, Any]] = {}
        self.given: Mapping[str, Any] = {}
        self.chain: tuple[str, ...] = ()
        self.is_loop = False

    def copy(self) -> LoadedFlow:
        """Return a copy that can be edited independently."""
        other = copy.copy(self)
        other.raws, other.actions = dict(self.raws), dict(self.actions)
        other.late, other.nested = dict(self.late), dict(self.nested)
        other.refers = set(self.refers)
        return other

    def with_changes(self, changes: Mapping[str, ActionSource | None]) -> LoadedFlow:
        """Return a view of the flow with changed sources, without specs."""
        other = copy.copy(self)
        new = {name: source for name, source in changes.items() if source is not None}
        base, known = self._documents()
        other.document = EditedDocument(base, ChainMap(new, dict(known) if not new else known))
        other.raws = ChainMap({name: source.raw for name, source in new.items()}, self.raws)
        other.actions, other.late, other.nested, other.refers = {}, {}, {}, set()
        return other

    def apply(self, view: LoadedFlow, changes: Mapping[str, ActionSource | None]) -> None:
        """Apply changes, with the checked specs of a view made by `with_changes`."""
        base, known = self._documents()
        for name, source in changes.items():
            if source is None:
                for memory in (self.raws, self.actions, self.late, self.nested, known):
                    memory.pop(name, None)
            else:
                self.raws[name], self.actions[name] = source.raw, view.actions[name]
                self.late[name] = view.late[name]
                self.nested[name] = view.nested.get(name, {})
                known[name] = source
        self.refers |= view.refers
        self.document = EditedDocument(base, known)

    def all_refers(self) -> set[Reference]:
        """Return the references of this flow and of those that nest in it."""
        return self.refers.union(*(flow.all_refers() for steps in self.nested.values()
                                   for _, flow in steps.values()))

    def named_actions(self) -> Iterator[tuple[str, ActionSpec]]:
        """Yield the actions with their names; those of nested flows as ACTION/INNER."""
        for name, action in self.actions.items():
            yield name, action
            for _, flow in self.nested.get(name, {}).values():
                for inner, spec in flow.named_actions():
                    yield f'{name}/{inner}', spec

    def nested_sources(self) -> list[list[str]]:
        """Return the files of the flows that nest in this one, as the journal stores them."""
        return to_rows((reference, self.sources.find(reference))
                       for reference in sorted(self.all_refers()))

    def source(self, name: str) -> ActionSource:
        """Return the source of an action."""
        base, known = self._documents()
        return known.get(name) or ActionSource(base, ('actions', name), self.raws[name])

    def _documents(self) -> tuple[Document, dict[str, ActionSource]]:
        if isinstance(self.document, EditedDocument):
            assert isinstance(self.document.sources, dict)
            return self.document.base, self.document.sources
        return self.document, {}

    def text_now(self) -> str:
        """Return the YAML text of the flow, including its edits."""
        if not isinstance(self.document, EditedDocument):
            return self.text
        written = {**self.document.data, 'actions': {
            name: dict(self.raws[name]) for name in self.actions}}
        text: str = yaml.safe_dump(written, sort_keys=False, allow_unicode=True)
        return text

    def render(
        self, action_id: str, overrides: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None, seen: Mapping[str, Any] | None = None,
    ) -> ActionSpec:
        """
        Return the spec of an action with templates filled in; raises `DocumentError`.

        `overrides`: values that replace its own parameters. `fields`: fields, with templates, that
        replace those of the file. `seen`: values of `facts` and `results`; if None, templates that
        read them stay. Templates of questions and service requests always stay.
        """
        try:
            with budget(RENDER_STEPS, 'filling in the action'):
                return self._render(action_id, overrides, fields, seen)
        except (TemplateError, BudgetExceeded) as error:
            path = error.path if isinstance(error, TemplateError) else ('actions', action_id)
            raise DocumentError(
                [self.document.fault(path, f"action '{action_id}': {error}")]) from error

    def _render(
        self, action_id: str, overrides: Mapping[str, Any] | None,
        fields: Mapping[str, Any] | None, seen: Mapping[str, Any] | None,
    ) -> ActionSpec:
        spend(len(self.parameters))
        spend_on(dict(overrides or {}), VALUE_STEPS)
        raw = self.raws[action_id]
        path: Path = ('actions', action_id)
        written = merged(self.defaults, raw, fields or {})
        own = {**self.own_parameters(action_id), **_own_parameters(fields or {})}
        body = loop_body(written, own)
        own = own if body is None else {}
        bound = self.bound.get(action_id, {})
        names = {**self.parameters, **bound, **(seen or {}), **self.given, 'action': action_id}
        later = set() if seen else set(LATE) - self.given.keys()
        own = {**render(own, names, (*path, 'parameters'), later), **(overrides or {})}
        late = [] if seen else list(texts(own, ('parameters',)))
        later |= {str(where[1]) for where, _ in late}
        names.update(own)
        filled = {}
        for key, value in written.items():
            where = (*path, key)
            if key in ('fallback', 'verify'):
                filled[key] = render_late(key, value, names, where)
            elif key in MAY_BE_LATE:
                filled[key] = render(value, names, where, later)
                if not seen:
                    late += texts(filled[key], (key,))
                elif key == FOR_EACH:
                    filled[key] = lists_of_facts(value, filled[key])
            elif key in WORK.fields:
                filled[key] = render_work(key, value, names, where, later)
                if not seen:
                    late += texts(without_late(key, filled[key]), (key,))
            elif key == 'repeat':  # its condition is filled in when it is evaluated
                filled[key] = render(value, names, where, LATE)
                late += texts(filled[key], (key,)) if not seen else ()
            elif key != 'parameters':
                self._not_late(action_id, value, where, later)
                filled[key] = render(value, names, where)
        if body is not None and not seen:
            late += loop_texts(body)
        if overrides is None and not fields and not seen:
            self.late[action_id] = late
        filled['parameters'] = {**self.parameters, **bound, **own}
        full = in_full(filled)
        self._check_kinds(full, path)
        return self._validated(full, path, body)

    def _validated(
        self, full: dict[str, Any], path: Path, body: dict[str, Any] | None
    ) -> ActionSpec:
        """
        Return the spec of an action; raises `DocumentError` with all faults.

        `body`: the fields of its elements' actions, if it has `for_each`.
        """
        faults: list[Fault] = []
        fields = sorted(WORK.fields.intersection(full))
        if len(fields) > 1:
            faults.append(self.document.fault(
                (*path, fields[1]), f"action '{path[1]}' has {' and '.join(map(repr, fields))}: "
                "expected one of them, or 'steps'"))
        steps = []
        for kind, below, given in work_of(full):
            try:
                steps.append(self._step(kind, below, given, path))
            except DocumentError as error:
                faults += error.faults
        rest = {key: value for key, value in full.items() if key not in WORK.fields}
        if body is not None:
            steps = self._loop(full, body, path, faults)
        if fields or body is not None:
            rest['steps'] = steps
        try:
            spec = validate(self.document, ActionSpec, data=rest, path=path, more=WORK.fields)
        except DocumentError as error:
            raise DocumentError([*error.faults, *faults]) from error
        if faults:
            raise DocumentError(faults)
        return spec

    def _loop(
        self, full: dict[str, Any], body: dict[str, Any], path: Path, faults: list[Fault]
    ) -> list[WorkSpec]:
        """Return the work of an action with `for_each`."""
        fault = loop_fault(full[FOR_EACH])
        if fault is not None:
            faults.append(self.document.fault(
                (*path, FOR_EACH, *fault[0]), f"action '{path[1]}', {FOR_EACH}: {fault[1]}"))
            return []
        (name, elements), = full[FOR_EACH].items()
        return [LoopSpec(name=name, elements=elements, in_order=full.get('in_order') is True,
                         action=body)]

    def _step(self, kind: str, below: Path, given: Any, path: Path) -> WorkSpec:
        """Return one step of an action's work."""
        if not kind:
            raise DocumentError([self.document.fault(
                (*path, *below), f"action '{path[1]}': expected a mapping with one kind of work "
                f"({', '.join(WORK.names())})")])
        try:
            model = WORK.find(kind)
        except LifecycleError as error:
            raise DocumentError([self.document.fault(
                (*path, *below), f"action '{path[1]}': {error}")]) from error
        if model.short and isinstance(given, str):
            given = {model.short: given}
        return validate(self.document, model, data=given, path=path, below=below).placed(below)

    def _not_late(self, action_id: str, value: Any, path: Path, later: Collection[str]) -> None:
        for name, where in names_read(value, path).items():
            if name in later:
                raise DocumentError([self.document.fault(
                    where, f"action '{action_id}': '{name}' is only known when the action starts; "
                    "it can be read in parameters, in its work such as 'motion', and in after")])

    def _check_kinds(self, full: Mapping[str, Any], path: Path) -> None:
        """Raise `DocumentError` for an unknown kind of dependency, with the nearest kind."""
        after = full.get('after')
        faults = [self.document.fault(
            (*path, 'after', name), f"'{kind}' is no kind of dependency" + nearest(kind, KINDS)
            + f" (known: {', '.join(KINDS)}, or a mapping with 'condition')")
            for name, kind in (after.items() if isinstance(after, dict) else ())
            if not isinstance(kind, dict) and kind not in KINDS]
        if faults:
            raise DocumentError(faults)

    def own_parameters(self, action_id: str) -> dict[str, Any]:
        """Return an action's own parameters as written, without those of the flow."""
        return _own_parameters({**self.defaults, **self.raws[action_id]})


def _own_parameters(raw: Mapping[str, Any]) -> dict[str, Any]:
    own = raw.get('parameters')
    return own if isinstance(own, dict) else {}


def with_nested(flow: LoadedFlow) -> Iterator[LoadedFlow]:
    """Yield a flow and, once each, the flows that nest in it, as far as they are known."""
    known: set[int] = set()
    front = [flow]
    while front:
        one = front.pop()
        if id(one) not in known:
            known.add(id(one))
            yield one
            front += [nested for steps in one.nested.values() for _, nested in steps.values()]
