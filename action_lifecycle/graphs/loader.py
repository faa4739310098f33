# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Loads graph files and reports all faults at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import pydantic

from .checks import findings
from .graph import Graph, GraphState, Invariant, Transition
from .graph_file import (
    GraphModel,
    InvariantModel,
    NextModel,
    STATE_FIELDS,
    StateModel,
    TOP_FIELDS,
    TransitionModel,
)
from .state_types import REGISTRY, State, StateRegistry
from ..documents.errors import DocumentError, Fault, GraphError, LifecycleError
from ..documents.models import validate
from ..documents.suggestions import nearest
from ..documents.yaml_document import Document, Key, parse_document, read_document

Place = tuple[Key, ...]
ModelT = TypeVar('ModelT', bound=pydantic.BaseModel)


def load_graph(
    source: str | Path, *, name: str = '', types: StateRegistry = REGISTRY
) -> Graph:
    """
    Load a graph from a file or a YAML string.

    `source` is a YAML string if `name` is given or it has several lines, else the path of a file.
    `types` are the known state types. Raises `GraphError` with all faults (file, line, column).
    """
    try:
        if isinstance(source, str) and (name or '\n' in source):
            document = parse_document(source, name or '<text>')
        else:
            document = read_document(source)
    except DocumentError as error:
        raise GraphError(error.faults) from error
    return _Loading(document, types).graph()


class _Loading:
    """The loading of one graph document."""

    def __init__(self, document: Document, types: StateRegistry) -> None:
        self.document = document
        self.types = types
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []
        self.states: dict[str, GraphState] = {}
        self.places: dict[Transition, Place] = {}
        self.invariants: list[Invariant] = []
        self.complete = True
        self.base: Place = ('states',)

    def graph(self) -> Graph:
        data = self.document.data
        if not isinstance(data, dict):
            raise GraphError([self.document.fault((), 'expected a mapping of states')])
        if 'states' in data:
            top, states = dict(data), data['states']
        else:
            self.base = ()
            top = {key: value for key, value in data.items()
                   if key in TOP_FIELDS and not _is_state(value)}
            states = {key: value for key, value in data.items() if key not in top}
            top.setdefault('initial', next(iter(states), ''))
        if not isinstance(states, dict) or not states:
            raise GraphError([self.document.fault(self.base, 'no states')])
        transitions = top.get('transitions') or []
        model = self._model(GraphModel, {**top, 'states': {}, 'transitions': []}, ())
        fields = model.fields if model else {}
        for state, config in states.items():
            self._state(state, config, fields)
        if isinstance(transitions, list):
            for index, item in enumerate(transitions):
                self._transition(('transitions', index), item)
        else:
            self._fault(('transitions',), 'expected a list of transitions')
        initial = self._initial(model.initial) if model else None
        self._invariants(model.invariants if model else {})
        self._references()
        if self.complete:
            self._whole(initial)
        if self.faults or model is None or initial is None:
            raise GraphError(dict.fromkeys(self.faults))
        return Graph(
            Path(self.document.name).stem, model.description, initial,
            MappingProxyType(self.states), tuple(self.places), tuple(self.invariants),
            tuple(self.warnings), model.hooks)

    def _state(self, name: str, config: Any, fields: Mapping[str, list[Any]]) -> None:
        path = (*self.base, name)
        known = {key: config[key] for key in config if key in STATE_FIELDS} \
            if isinstance(config, dict) else config
        model = self._model(StateModel, known, path)
        if model is None:
            self.complete = False
            self.states[name] = GraphState(name, '', '', False, (), (), MappingProxyType({}))
            return
        extra = {key: value for key, value in config.items() if key not in STATE_FIELDS}
        cls = None
        try:
            if model.type:
                cls = self.types.find(model.type)
            self._extra_fields(path, extra, fields, cls)
        except LifecycleError as error:
            self._fault((*path, 'type'), f"state '{name}': {error}")
        self.states[name] = GraphState(
            name, model.description, model.type, model.final or bool(cls and cls.is_terminal),
            _names(model.enter), _names(model.exit), MappingProxyType(config))
        if model.transition is not None:
            self._next(name, path, model.transition)

    def _extra_fields(
        self, path: Place, extra: dict[str, Any], fields: Mapping[str, list[Any]],
        cls: type[State] | None,
    ) -> None:
        """Check the fields that the graph or the state's type declares, and report others."""
        of_type = {}
        for key, value in extra.items():
            if key not in fields:
                of_type[key] = value
            elif fields[key] and value not in fields[key]:
                self._fault((*path, key), f"field '{key}': expected one of "
                            f"{', '.join(map(str, fields[key]))}, got {value!r}")
        if cls is not None and cls.Fields is not None:
            self._model(cls.Fields, of_type, path)
        elif cls is None:
            for key in of_type:
                self._fault((*path, key), f"unknown field '{key}'"
                            + nearest(key, [*STATE_FIELDS, *fields]))

    def _next(self, name: str, path: Place, model: NextModel) -> None:
        place = (*path, 'transition', 'next')
        if not model.next:
            self._fault(place, f"state '{name}' has an empty list of next states")
        if model.default is not None and model.default not in model.next:
            self._fault((*path, 'transition', 'default'),
                        f"default '{model.default}' is none of the next states"
                        + nearest(model.default, model.next))
        for index, target in enumerate(model.next):
            self.places[Transition(
                target, name, target, (), (), (), (), (), (), '', 0, target == model.default
            )] = (*place, index)

    def _transition(self, path: Place, data: Any) -> None:
        model = self._model(TransitionModel, data, path)
        if model is None:
            self.complete = False
            return
        sources = _names(model.source)
        if not sources:
            self._fault((*path, 'from'), "an empty list of states in 'from'")
        for source in sources:
            self.places[Transition(
                model.event, source, model.target, _names(model.cond), _names(model.unless),
                _names(model.validators), _names(model.before), _names(model.on),
                _names(model.after), model.description, model.priority, model.default)] = path

    def _initial(self, name: str) -> str | None:
        if name in self.states:
            return name
        self._fault(('initial',), f"initial: no state '{name}'" + nearest(name, self.states))
        return None

    def _invariants(self, models: Mapping[str, InvariantModel]) -> None:
        for name, model in models.items():
            path = ('invariants', name)
            for state in (name, model.must_pass):
                if state not in self.states:
                    self._fault(path, f"invariant of '{name}': no state '{state}'"
                                + nearest(state, self.states))
            self.invariants.append(Invariant(name, model.must_pass, _names(model.given)))

    def _references(self) -> None:
        """Drop transitions from or to unknown states, and report them."""
        for transition, path in list(self.places.items()):
            for key, state in (('from', transition.source), ('to', transition.target)):
                if state not in self.states:
                    self._fault((*path, key), f"{key}: no state '{state}'"
                                + nearest(state, self.states))
                    self.places.pop(transition, None)

    def _whole(self, initial: str | None) -> None:
        """Check the graph as a whole."""
        self._leads()
        for subject, message in findings(
            initial, self.states, self.places, self.invariants
        ):
            path = (*self.base, subject) if isinstance(subject, str) else self.places[subject]
            self._fault(path, message)
        if not any(state.final for state in self.states.values()):
            self.warnings.append(self.document.fault(
                (), 'no state is final: whatever runs on this graph ends by its step limit'))

    def _leads(self) -> None:
        """Check that state fields with next states name existing next states."""
        targets: dict[str, list[str]] = {name: [] for name in self.states}
        for transition in self.places:
            targets[transition.source].append(transition.target)
        for name, state in self.states.items():
            for field in self.types[state.type].leads_to if state.type in self.types else ():
                target = state.config.get(field)
                if target is not None and target not in targets[name]:
                    self._fault((*self.base, name, field), f"field '{field}': '{target}' is none "
                                'of the next states' + nearest(target, targets[name]))

    def _model(self, model: type[ModelT], data: Any, path: Place) -> ModelT | None:
        if not isinstance(data, dict):
            self._fault(path, 'expected a mapping')
            return None
        try:
            return validate(self.document, model, data=data, path=path)
        except DocumentError as error:
            self.faults.extend(error.faults)
            return None

    def _fault(self, path: Iterable[Key], message: str) -> None:
        self.faults.append(self.document.fault(tuple(path), message))


def _is_state(value: Any) -> bool:
    return isinstance(value, dict) and any(key in STATE_FIELDS for key in value)


def _names(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
