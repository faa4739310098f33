# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""From the text of a flow file to a `Flow`, with every fault at its line."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..engine.document import Document, parse_document, read_document, validate
from ..engine.errors import DocumentError, Fault, nearest
from ..lifecycle.spec import ActionSpec, ConditionSpec
from ..world.expressions import compile_expression
from ..world.kinds import Kind, kind_of
from .dag import CycleError, topological_order
from .spec import FlowSpec, ParameterSpec
from .templates import TemplateError, render

MAX_FLOW_BYTES = 4 * 1024 * 1024
MAX_ACTIONS = 20_000
_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_-]{0,63}\Z')
_IDENTIFIER = re.compile(r'[A-Za-z_][A-Za-z0-9_]{0,63}\Z')
_CONDITIONS = ('require', 'maintain', 'confirm', 'stopped')


class Flow:
    """
    A checked flow with the values of its parameters.

    `actions`: the spec of each action, in an order in which each comes behind all it waits for.
    `text`: the source, from which the same flow can be made again.
    """

    def __init__(
        self, document: Document, text: str, spec: FlowSpec, values: Mapping[str, Any]
    ) -> None:
        self.document = document
        self.text = text
        self.name = spec.flow
        self.description = spec.description
        self.max_motions = spec.max_motions
        self.parameters = dict(values)
        self.actions: dict[str, ActionSpec] = {}
        self._defaults = spec.defaults

    def render(self, action_id: str, overrides: Mapping[str, Any] | None = None) -> ActionSpec:
        """Return the spec of an action, its own parameters changed by `overrides`."""
        raw = self.document.data['actions'][action_id]
        path = ('actions', action_id)
        merged = {**self._defaults, **raw}
        own = _own_parameters(merged)
        names = {**self.parameters, 'action': action_id}
        try:
            own = {**render(own, names, (*path, 'parameters')), **(overrides or {})}
            filled = render({key: value for key, value in merged.items()
                             if key not in ('parameters', 'fallback')}, {**names, **own}, path)
            if 'fallback' in merged:
                filled['fallback'] = render(
                    merged['fallback'], {**names, **own}, (*path, 'fallback'))
        except TemplateError as error:
            raise DocumentError(
                [self.document.fault(error.path, f"action '{action_id}': {error}")]) from error
        filled['parameters'] = {**self.parameters, **own}
        return validate(self.document, ActionSpec, data=_in_full(filled), path=path)


def _own_parameters(raw: Mapping[str, Any]) -> dict[str, Any]:
    own = raw.get('parameters')
    return own if isinstance(own, dict) else {}


def load_flow(path: str | Path, **parameters: Any) -> Flow:
    """Read a flow file; `DocumentError` with all faults if it can't be run."""
    document = read_document(path, max_bytes=MAX_FLOW_BYTES)
    return _load(document, Path(path).read_text(encoding='utf-8'), parameters)


def parse_flow(text: str, name: str, parameters: Mapping[str, Any] | None = None) -> Flow:
    """Read a flow from YAML text; `name` stands for the file in messages."""
    return _load(parse_document(text, name, max_bytes=MAX_FLOW_BYTES), text, parameters or {})


def _load(document: Document, text: str, given: Mapping[str, Any]) -> Flow:
    spec = validate(document, FlowSpec)
    faults = [*_name_faults(document, spec)]
    values, value_faults = _values(document, spec, given)
    faults += value_faults
    if faults:
        raise DocumentError(faults)
    flow = Flow(document, text, spec, values)
    actions: dict[str, ActionSpec] = {}
    for action_id in spec.actions:
        try:
            actions[action_id] = flow.render(action_id)
        except DocumentError as error:
            faults += error.faults
    for action_id, action in actions.items():
        faults += _action_faults(document, action_id, action, spec)
        faults += _fallback_faults(flow, action_id, action)
    if not faults:
        try:
            order = topological_order({name: action.after for name, action in actions.items()})
            flow.actions = {name: actions[name] for name in order}
        except CycleError as error:
            faults.append(document.fault(('actions', error.cycle[0], 'after'), str(error)))
    if faults:
        raise DocumentError(dict.fromkeys(faults))
    return flow


def _name_faults(document: Document, spec: FlowSpec) -> Iterator[Fault]:
    if not _NAME.match(spec.flow):
        yield document.fault(('flow',), f'{spec.flow!r} is not a name: expected up to 64 letters, '
                             'digits, _ or -, a letter first')
    if not spec.actions:
        yield document.fault(('actions',), 'expected at least one action')
    if len(spec.actions) > MAX_ACTIONS:
        yield document.fault(('actions',), f'more than {MAX_ACTIONS} actions')
    for action_id in spec.actions:
        if not _NAME.match(action_id):
            yield document.fault(
                ('actions', action_id), f'{action_id!r} is not a name: expected up to 64 '
                'letters, digits, _ or -, a letter first')
    for name in spec.parameters:
        if not _IDENTIFIER.match(name):
            yield document.fault(('parameters', name), f'{name!r} is not an identifier')


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
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(default, bool) or isinstance(value, bool):
        if default is not None and type(default) is not type(value):
            return f'expected {_TYPES.get(type(default), "another type")}, got {value!r}'
    elif isinstance(default, (int, float)) and not number:
        return f'expected a number, got {value!r}'
    elif isinstance(default, (str, list, dict)) and not isinstance(value, type(default)):
        return f'expected {_TYPES[type(default)]}, got {value!r}'
    if number and not math.isfinite(value):
        return f'expected a finite number, got {value!r}'
    if parameter.min is not None and (not number or value < parameter.min):
        return f'expected at least {parameter.min:g}, got {value!r}'
    if parameter.max is not None and (not number or value > parameter.max):
        return f'expected at most {parameter.max:g}, got {value!r}'
    return ''


_TYPES: dict[type, str] = {bool: 'true or false', str: 'a text', list: 'a list',
                           dict: 'a mapping', int: 'a number', float: 'a number'}


def _in_full(raw: dict[str, Any]) -> dict[str, Any]:
    """Write the short forms of an action's fields out in full."""
    full = dict(raw)
    for field in (*_CONDITIONS, 'motion', 'fallback', 'verify'):
        value = full.get(field)
        if field == 'stopped':
            if isinstance(value, str):
                full[field] = {'condition': value}
        elif value is not None:
            full[field] = [
                {'condition': item} if field in _CONDITIONS and isinstance(item, str)
                else {'strategy': item} if field == 'fallback' and isinstance(item, str)
                else {'by': item} if field == 'verify' and isinstance(item, str)
                else item
                for item in (value if isinstance(value, list) else [value])]
    after = full.get('after')
    if isinstance(after, str):
        after = [after]
    if isinstance(after, list) and all(isinstance(item, str) for item in after):
        full['after'] = dict.fromkeys(after, 'success')
    return full


def _action_faults(
    document: Document, action_id: str, action: ActionSpec, spec: FlowSpec
) -> Iterator[Fault]:
    path = ('actions', action_id)
    for name in action.parameters:
        if not _IDENTIFIER.match(name):
            yield document.fault((*path, 'parameters', name), f'{name!r} is not an identifier')
    for name in action.after:
        if name not in spec.actions:
            yield document.fault((*path, 'after', name), f"action '{action_id}' waits for "
                                 f"'{name}', which the flow does not have"
                                 + nearest(name, spec.actions))
    for name in action.resources:
        if not _NAME.match(name):
            yield document.fault((*path, 'resources'), f'{name!r} is not a name of a resource')
    if not action.confirm:
        yield document.fault(path, f"action '{action_id}' has no 'confirm': nothing would show "
                             'that it is done')
    if action.confirm and not any(_facts_read(item, action) for item in action.confirm):
        yield document.fault((*path, 'confirm'), f"action '{action_id}': 'confirm' reads no fact, "
                             'so no sensor would be asked')
    if action.maintain and not action.physical:
        yield document.fault((*path, 'maintain'), f"action '{action_id}' has 'maintain' but no "
                             "'motion' that it could stop")
    for index, verifier in enumerate(action.verify):
        if verifier.by in ('service', 'checker') and not getattr(verifier, verifier.by):
            yield document.fault(
                (*path, 'verify', index), f"action '{action_id}': a verifier by {verifier.by} "
                f"needs '{verifier.by}', its name")
    yield from _condition_faults(document, action_id, action, _AnyName())
    for index, motion in enumerate(action.motion):
        yield from _number_faults(document, (*path, 'motion', index, 'goal'), motion.goal)


def check_names(flow: Flow, facts: Mapping[str, Kind]) -> None:
    """Raise DocumentError if a condition does not go with these facts (kinds by name)."""
    faults = [
        fault for action_id, action in flow.actions.items()
        for fault in _condition_faults(
            flow.document, action_id, action, {*facts, *action.parameters}, facts)]
    if faults:
        raise DocumentError(faults)


def _condition_faults(
    document: Document, action_id: str, action: ActionSpec, names: Collection[str],
    facts: Mapping[str, Kind] = MappingProxyType({}),
) -> Iterator[Fault]:
    kinds = {**facts, **{name: kind_of(value) for name, value in action.parameters.items()}}
    for field in _CONDITIONS:
        value = getattr(action, field)
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if item is None:
                continue
            try:
                compile_expression(item.condition, names, condition=True, kinds=kinds)
            except DocumentError as error:
                for fault in error.faults:
                    yield document.fault(
                        ('actions', action_id, field, index, 'condition'),
                        f"action '{action_id}', {field} {item.condition!r}, "
                        f'character {fault.column}: {fault.message}')


def _facts_read(condition: ConditionSpec, action: ActionSpec) -> set[str]:
    """Return the names that a condition reads beside the action's parameters."""
    try:
        expression = compile_expression(condition.condition, _AnyName(), condition=True)
    except DocumentError:
        return {'?'}  # told as a fault of its own
    return set(expression.names) - set(action.parameters)


class _AnyName(Collection[str]):
    """Which facts there are is not known yet; every name will do."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _number_faults(
    document: Document, path: tuple[str | int, ...], goal: Any
) -> Iterator[Fault]:
    if isinstance(goal, float) and not math.isfinite(goal):
        dotted = '.'.join(map(str, path[path.index('goal'):]))
        yield document.fault(path, f"field '{dotted}': expected a finite number, got {goal}")
    elif isinstance(goal, dict):
        for key, value in goal.items():
            yield from _number_faults(document, (*path, key), value)
    elif isinstance(goal, list):
        for index, value in enumerate(goal):
            yield from _number_faults(document, (*path, index), value)


def _fallback_faults(flow: Flow, action_id: str, action: ActionSpec) -> Iterator[Fault]:
    """Fill the action in with each fallback's parameters, so that none fails in the night."""
    own = _own_parameters(flow.document.data['actions'][action_id])
    defaults = _own_parameters(flow._defaults)
    for index, strategy in enumerate(action.fallback):
        path = ('actions', action_id, 'fallback', index)
        unknown = [name for name in strategy.parameters if name not in {**defaults, **own}]
        for name in unknown:
            yield flow.document.fault(
                (*path, 'parameters', name),
                f"action '{action_id}' has no parameter '{name}'" + nearest(name, own))
        if strategy.parameters and not unknown:
            try:
                changed = flow.render(action_id, strategy.parameters)
            except DocumentError as error:
                yield from error.faults
                continue
            if changed.resources != action.resources:
                yield flow.document.fault(
                    (*path, 'parameters'), f"action '{action_id}': a fallback can not change "
                    'the resources that it holds')
