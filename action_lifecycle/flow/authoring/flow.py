# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows that are written in Python: the same document as a flow file, the same checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import yaml

from .document import document_of, line_of
from .parts import FlowPart, of_steps, Seconds, Text
from .source_places import place_of_caller, SourcePlace
from .values import parameter, Result, result_of, Value
from ..files.flow import LoadedFlow
from ..files.loader import load_document
from ..files.shorthand import CONDITIONS
from ..files.sources import Sources
from ...documents.yaml_document import Document, parse_document

OF_ACTION = (*CONDITIONS, 'after', 'repeat')
"""Fields of an action that contain expressions."""
Conditions = Union[Text, FlowPart, Sequence[Union[Text, FlowPart]]]


class ActionRef:
    """An action of a `Flow`; `result` is the value that later actions can read."""

    def __init__(self, name: str, fields: Mapping[str, Any], place: SourcePlace) -> None:
        self.name = name
        self.fields = dict(fields)
        self.place = place

    @property
    def result(self) -> Result:
        """Return the result of its work: `results.NAME.result`; fields are attributes."""
        return Result(result_of(self.name).result._node)

    @property
    def outcome(self) -> Result:
        """Return all that is known of its end: `.attempts`, `.duration`, `.facts` and so on."""
        return result_of(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f'<action {self.name}>'


class Flow:
    """
    A flow in Python; `to_yaml()` is its flow file, `load()` checks it.

    The fields are those of a flow file. Faults name the line of the Python file.
    """

    def __init__(
        self, name: str, *, description: str | None = None, max_motions: int | None = None,
        schedule: Mapping[str, Any] | None = None, steering: bool | None = None,
        deadline: float | None = None, dialogue: Mapping[str, Any] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._place = place_of_caller('Flow')
        self._fields = _given(
            description=description, max_motions=max_motions, schedule=schedule,
            steering=steering, deadline=deadline, dialogue=dialogue,
            defaults=defaults and FlowPart(
                self._place, defaults, positional=(), conditions=OF_ACTION))
        self._parameters: dict[str, FlowPart] = {}
        self._actions: dict[str, ActionRef] = {}

    def parameter(
        self, name: str, default: Any = None, *, type: str | None = None,  # noqa: A002
        min: float | None = None, max: float | None = None,  # noqa: A002
        choices: Sequence[Any] | None = None, unit: str | None = None,
        description: str | None = None,
    ) -> Value:
        """Declare a parameter and return its value; without `default`, it must be given."""
        self._new(name, self._parameters, 'parameter')
        self._parameters[name] = FlowPart(place_of_caller('parameter'), {
            'type': type, 'default': default, 'min': min, 'max': max, 'choices': choices,
            'unit': unit, 'description': description}, positional=('name', 'default'))
        return parameter(name)

    def action(
        self, name: str, *steps: FlowPart,
        description: str | None = None, parameters: Mapping[str, Any] | None = None,
        after: ActionRef | str | Sequence[ActionRef | str] | Mapping[Any, Any] | None = None,
        schedule: Mapping[str, Any] | None = None, for_each: Mapping[str, Any] | None = None,
        in_order: bool | None = None, repeat: int | Mapping[str, Any] | None = None,
        resources: Sequence[str] | None = None, priority: int | None = None,
        timeout: Seconds | None = None, deadline: Seconds | None = None,
        require: Conditions | None = None, maintain: Conditions | None = None,
        stopped: Text | FlowPart | None = None, stop_timeout: Seconds | None = None,
        confirm: Conditions | None = None, confirm_unseen: str | None = None,
        verify: Any = None, verify_when: str | None = None,
        ask_again: Seconds | None = None, retry: Mapping[str, Any] | None = None,
        fallback: Any = None, idempotent: bool | None = None, on_resume: str | None = None,
    ) -> ActionRef:
        """
        Add an action with the steps of its work and return it.

        `after`: an action, several, or a mapping of them to a kind of dependency or `when(…)`.
        """
        self._new(name, self._actions, 'action')
        for one in fallback if isinstance(fallback, (list, tuple)) else [fallback]:
            if isinstance(one, FlowPart) and one.wrapped:
                raise TypeError(f"action '{name}', fallback: expected a strategy; write "
                                f'instead({one.wrapped}(…), confirm=…)')
        action = ActionRef(name, {**_given(
            description=description, parameters=parameters, after=_dependencies(after),
            schedule=schedule, for_each=for_each, in_order=in_order, repeat=repeat,
            resources=resources, priority=priority, timeout=timeout, deadline=deadline,
            require=require), **of_steps(steps), **_given(
                maintain=maintain, stopped=stopped, stop_timeout=stop_timeout, confirm=confirm,
                confirm_unseen=confirm_unseen, verify=verify, verify_when=verify_when,
                ask_again=ask_again, retry=retry,
                fallback=fallback, idempotent=idempotent, on_resume=on_resume)},
            place_of_caller('action'))
        self._actions[name] = action
        return action

    @property
    def file(self) -> str:
        """Return the Python file in which it is written."""
        return self._place.file

    def load(self, **parameters: Any) -> LoadedFlow:
        """Check the flow with values of its parameters; raises `DocumentError` with all faults."""
        document = self._document()
        return load_document(document, self.to_yaml(), parameters, Sources())

    def to_yaml(self) -> str:
        """Return the flow file."""
        text: str = yaml.safe_dump(
            self._document().data, sort_keys=False, allow_unicode=True, width=99)
        return text

    def in_python(self, message: str, source: str) -> str:
        """Return a message about lines of `to_yaml()` with those of the Python file."""
        text = self.to_yaml()
        return line_of(message, source, parse_document(text, source), self._document())

    def fields(self) -> FlowPart:
        """Return the fields of the flow file, with their places."""
        return FlowPart(self._place, {
            'flow': self.name, **self._fields, 'parameters': self._parameters or None,
            'actions': {name: FlowPart(
                action.place, action.fields, positional=(), conditions=OF_ACTION)
                        for name, action in self._actions.items()}}, positional=('flow',))

    def _document(self) -> Document:
        return document_of(self.fields(), self._place.file)

    def _new(self, name: str, known: Mapping[str, Any], what: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f'the name of {what} {name!r}: expected a text')
        if name in known:
            raise ValueError(f"flow '{self.name}' has two {what}s '{name}'; the first one is in "
                             f'{known[name].place.file}:{known[name].place.position[0]}')

    def __repr__(self) -> str:
        return f'<flow {self.name}, {len(self._actions)} actions>'


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _dependencies(after: Any) -> Any:
    if isinstance(after, (ActionRef, str)):
        return str(after)
    if isinstance(after, Mapping):
        return {str(name): kind for name, kind in after.items()}
    return after if after is None else [str(name) for name in after]
