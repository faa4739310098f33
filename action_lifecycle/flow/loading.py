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

"""From the text of a flow file to a `Flow`, with every fault at its line."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
import copy
import math
from pathlib import Path as FilePath
from typing import Any

import yaml

from .alternatives import render_late, strategy_in_full
from .checks import checked_action, CONDITIONS, IDENTIFIER, NAME, order_faults
from .dag import CycleError, topological_order
from .sources import EditedDocument, FlowDocument, Path, Source
from .spec import FlowSpec, ParameterSpec
from .templates import names_read, render, TemplateError, texts
from ..engine.document import Document, parse_document, read_document
from ..engine.errors import DocumentError, Fault, nearest
from ..engine.models import validate
from ..lifecycle.schedule import schedule_faults
from ..lifecycle.spec import ActionSpec

MAX_FLOW_BYTES = 4 * 1024 * 1024
MAX_ACTIONS = 20_000
LATE = ('facts', 'results')
"""Names of templates that have a value only when an action starts."""
MAY_BE_LATE = ('motion', 'after')
"""Fields beside `parameters` in which such templates may stand."""
KINDS = ('success', 'completion', 'unconditional')


class CyclicFlow(DocumentError):
    """A flow whose actions wait for one another."""


class Flow:
    """
    A checked flow with the values of its parameters.

    `actions`: the spec of each action, in an order in which each comes behind all it waits for.
    `text`: the source, from which the same flow can be made again. `raws`: the actions as they
    are written. `late`: by action, the templates that read facts or results, and where they stand;
    they are filled in when the action starts.
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

    def copy(self) -> Flow:
        """Return a flow that can be edited by itself."""
        other = copy.copy(self)
        other.raws, other.actions = dict(self.raws), dict(self.actions)
        other.late = dict(self.late)
        return other

    def with_changes(self, changes: Mapping[str, Source | None]) -> Flow:
        """Return a view with other sources, as yet without specs."""
        other = copy.copy(self)
        new = {name: source for name, source in changes.items() if source is not None}
        base, known = self._documents()
        other.document = EditedDocument(base, ChainMap(new, dict(known) if not new else known))
        other.raws = ChainMap({name: source.raw for name, source in new.items()}, self.raws)
        other.actions, other.late = {}, {}
        return other

    def apply(self, view: Flow, changes: Mapping[str, Source | None]) -> None:
        """Take over what a view with these changes has, once its actions are checked."""
        base, known = self._documents()
        for name, source in changes.items():
            if source is None:
                for memory in (self.raws, self.actions, self.late, known):
                    memory.pop(name, None)
            else:
                self.raws[name], self.actions[name] = source.raw, view.actions[name]
                self.late[name] = view.late[name]
                known[name] = source
        self.document = EditedDocument(base, known)

    def _documents(self) -> tuple[Document, dict[str, Source]]:
        if isinstance(self.document, EditedDocument):
            assert isinstance(self.document.sources, dict)
            return self.document.base, self.document.sources
        return self.document, {}

    def text_now(self) -> str:
        """Return YAML of the flow as it is after edits."""
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
        Return the spec of an action, its own parameters changed by `overrides`.

        `fields`: fields of the action, with templates, in place of those of the file. What people
        and services are asked is left as it is until they are asked. `seen`: values of `facts` and
        `results`; without it what reads them is left as it is.
        """
        raw = self.raws[action_id]
        path: Path = ('actions', action_id)
        merged = {**self.defaults, **raw, **(fields or {})}
        own = {**_own_parameters({**self.defaults, **raw}), **_own_parameters(fields or {})}
        names = {**self.parameters, **(seen or {}), 'action': action_id}
        later = set() if seen else set(LATE)
        try:
            own = {**render(own, names, (*path, 'parameters'), later), **(overrides or {})}
            late = [] if seen else list(texts(own, ('parameters',)))
            later |= {str(where[1]) for where, _ in late}
            names.update(own)
            filled = {}
            for key, value in merged.items():
                where = (*path, key)
                if key in ('fallback', 'verify'):
                    filled[key] = render_late(key, value, names, where)
                elif key in MAY_BE_LATE:
                    filled[key] = render(value, names, where, later)
                    if not seen:
                        late += texts(filled[key], (key,))
                elif key != 'parameters':
                    self._not_late(action_id, value, where, later)
                    filled[key] = render(value, names, where)
        except TemplateError as error:
            raise DocumentError(
                [self.document.fault(error.path, f"action '{action_id}': {error}")]) from error
        if overrides is None and not fields and not seen:
            self.late[action_id] = late
        filled['parameters'] = {**self.parameters, **own}
        full = in_full(filled)
        self._check_kinds(full, path)
        return validate(self.document, ActionSpec, data=full, path=path)

    def _not_late(self, action_id: str, value: Any, path: Path, later: Collection[str]) -> None:
        for name, where in names_read(value, path).items():
            if name in later:
                raise DocumentError([self.document.fault(
                    where, f"action '{action_id}': '{name}' is only known when the action starts; "
                    f"it can be read in {', '.join(('parameters', *MAY_BE_LATE))}")])

    def _check_kinds(self, full: Mapping[str, Any], path: Path) -> None:
        """Name the nearest kind of dependency, of which there are several shapes."""
        after = full.get('after')
        faults = [self.document.fault(
            (*path, 'after', name), f"'{kind}' is no kind of dependency" + nearest(kind, KINDS)
            + f" (known: {', '.join(KINDS)}, or a mapping with 'condition')")
            for name, kind in (after.items() if isinstance(after, dict) else ())
            if not isinstance(kind, dict) and kind not in KINDS]
        if faults:
            raise DocumentError(faults)

    def own_parameters(self, action_id: str) -> dict[str, Any]:
        """Return the parameters of an action beside those of the flow, as they are written."""
        return _own_parameters({**self.defaults, **self.raws[action_id]})


def _own_parameters(raw: Mapping[str, Any]) -> dict[str, Any]:
    own = raw.get('parameters')
    return own if isinstance(own, dict) else {}


def load_flow(path: str | FilePath, **parameters: Any) -> Flow:
    """Read a flow file; `DocumentError` with all faults if it can't be run."""
    document = read_document(path, max_bytes=MAX_FLOW_BYTES)
    return _load(document, FilePath(path).read_text(encoding='utf-8'), parameters)


def parse_flow(text: str, name: str, parameters: Mapping[str, Any] | None = None) -> Flow:
    """Read a flow from YAML text; `name` stands for the file in messages."""
    return _load(parse_document(text, name, max_bytes=MAX_FLOW_BYTES), text, parameters or {})


def _load(document: Document, text: str, given: Mapping[str, Any]) -> Flow:
    spec = validate(document, FlowSpec)
    document = FlowDocument(document)
    faults = [*_name_faults(document, spec)]
    values, value_faults = _values(document, spec, given)
    faults += value_faults
    faults += _dialogue_faults(document, spec)
    if spec.schedule is not None:
        faults += [document.fault(('schedule', field), f'schedule: {message}')
                   for field, message in schedule_faults(spec.schedule, of_action=False)]
    if faults:
        raise DocumentError(faults)
    flow = Flow(document, text, spec, values)
    actions: dict[str, ActionSpec] = {}
    for action_id in spec.actions:
        action, found = checked_action(flow, action_id, spec.actions)
        faults += found
        if action is not None:
            actions[action_id] = action
    if not faults:
        try:
            order = topological_order({name: action.after for name, action in actions.items()})
        except CycleError as error:
            raise CyclicFlow(
                [document.fault(('actions', error.cycle[0], 'after'), str(error))]) from error
        flow.actions = {name: actions[name] for name in order}
        faults += order_faults(flow, order, lambda name: actions[name].after)
    if faults:
        raise DocumentError(dict.fromkeys(faults))
    return flow


def _name_faults(document: Document, spec: FlowSpec) -> Iterator[Fault]:
    if not is_name(spec.flow):
        yield document.fault(('flow',), f'{spec.flow!r} is not a name: expected up to 64 letters, '
                             'digits, _ or -, a letter first')
    if not spec.actions:
        yield document.fault(('actions',), 'expected at least one action')
    if len(spec.actions) > MAX_ACTIONS:
        yield document.fault(('actions',), f'more than {MAX_ACTIONS} actions')
    for action_id in spec.actions:
        if not is_name(action_id):
            yield document.fault(
                ('actions', action_id), f'{action_id!r} is not a name: expected up to 64 '
                'letters, digits, _ or -, a letter first')
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


def _values(
    document: Document, spec: FlowSpec, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Fault]]:
    values = {name: given.get(name, parameter.default)
              for name, parameter in spec.parameters.items()}
    faults = [
        document.fault(('parameters',), f"the flow has no parameter '{name}'"
                       + nearest(name, spec.parameters))
        for name in given if name not in spec.parameters]
    for name, parameter in spec.parameters.items():
        message = _value_fault(parameter, values[name])
        if message:
            faults.append(document.fault(('parameters', name), f"parameter '{name}': {message}"))
    return values, faults


def _value_fault(parameter: ParameterSpec, value: Any) -> str:
    """Say what is wrong with a parameter's value, or nothing."""
    default = parameter.default
    if value is None:
        return 'must be given, it has no default'
    if parameter.choices and value not in parameter.choices:
        return f'expected one of {parameter.choices}, got {value!r}'
    number = _IS['number'](value)
    kind: str | None = parameter.type or next(
        (kind for kind, fits in _IS.items() if fits(default) and kind != 'integer'), None)
    if kind is not None and not _IS[kind](value):
        return f'expected {_WORDS[kind]}, got {value!r}'
    if number and not math.isfinite(value):
        return f'expected a finite number, got {value!r}'
    if parameter.min is not None and (not number or value < parameter.min):
        return f'expected at least {parameter.min:g}, got {value!r}'
    if parameter.max is not None and (not number or value > parameter.max):
        return f'expected at most {parameter.max:g}, got {value!r}'
    return ''


_IS: dict[str, Callable[[Any], bool]] = {
    'boolean': lambda value: isinstance(value, bool),
    'integer': lambda value: isinstance(value, int) and not isinstance(value, bool),
    'number': lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    'text': lambda value: isinstance(value, str),
    'list': lambda value: isinstance(value, list),
    'mapping': lambda value: isinstance(value, dict),
}
_WORDS = {'boolean': 'true or false', 'integer': 'a whole number', 'number': 'a number',
          'text': 'a text', 'list': 'a list', 'mapping': 'a mapping'}


def in_full(raw: dict[str, Any]) -> dict[str, Any]:
    """Write the short forms of an action's fields out in full."""
    full = dict(raw)
    for field in (*CONDITIONS, 'motion', 'fallback', 'verify'):
        value = full.get(field)
        if field == 'stopped':
            if isinstance(value, str):
                full[field] = {'condition': value}
        elif value is not None:
            full[field] = [
                {'condition': item} if field in CONDITIONS and isinstance(item, str)
                else strategy_in_full(item) if field == 'fallback'
                else {'by': item} if field == 'verify' and isinstance(item, str)
                else item
                for item in (value if isinstance(value, list) else [value])]
    if 'after' in full:
        full['after'] = after_in_full(full['after'])
    return full


def after_in_full(after: Any) -> Any:
    """Write `after` out in full, as far as it is one of its forms."""
    if isinstance(after, str):
        after = [after]
    if isinstance(after, list) and all(isinstance(item, str) for item in after):
        return dict.fromkeys(after, 'success')
    return {} if after is None else after


def is_name(text: str) -> bool:
    """Whether something may be called this: up to 64 letters, digits, _ or -, a letter first."""
    return NAME.match(text) is not None
