# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Loads flow files as a `Flow`; reports all faults with their lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
import math
from pathlib import Path as FilePath
from typing import Any

from .checks import checked_action, IDENTIFIER, name_fault, order_faults
from .edit_provenance import FlowDocument
from .flow import Flow
from .spec import FlowSpec, ParameterSpec
from ..scheduling.dag import CycleError, topological_order
from ...documents.budget import Budget, budget, BudgetExceeded, spend_on
from ...documents.errors import DocumentError, Fault, MAX_FAULTS
from ...documents.models import validate
from ...documents.suggestions import nearest
from ...documents.templates.template import names_read, TemplateError
from ...documents.yaml_document import Document, parse_document, read_document
from ...lifecycle.schedule.schedule import schedule_faults
from ...lifecycle.spec import ActionSpec

MAX_FLOW_BYTES = 4 * 1024 * 1024
MAX_ACTIONS = 20_000
MAX_PARAMETERS = 10_000
"""Maximum number of parameters of a flow."""
NAMES_SHOWN = 50
"""Maximum number of names that a message lists."""
FEWEST_STEPS, STEPS_PER_CHARACTER, MOST_STEPS = 2_000_000, 20, 24_000_000
"""Limits (steps) of the budget for reading a flow or checking an edit; see `steps_for`."""


def steps_for(text: str) -> int:
    """Return the budget (steps) for reading `text`, which bounds the expansion of templates."""
    return min(MOST_STEPS, FEWEST_STEPS + STEPS_PER_CHARACTER * len(text))


class CyclicFlow(DocumentError):
    """A flow has a cycle of dependencies."""


def load_flow(path: str | FilePath, **parameters: Any) -> Flow:
    """Load a flow file; `parameters`: values by name. Raises `DocumentError` with all faults."""
    document = read_document(path, max_bytes=MAX_FLOW_BYTES)
    return _load(document, FilePath(path).read_text(encoding='utf-8'), parameters)


def parse_flow(text: str, name: str, parameters: Mapping[str, Any] | None = None) -> Flow:
    """Parse a flow from YAML text; `name`: file name for messages. Raises `DocumentError`."""
    return _load(parse_document(text, name, max_bytes=MAX_FLOW_BYTES), text, parameters or {})


def _load(document: Document, text: str, given: Mapping[str, Any]) -> Flow:
    faults: list[Fault] = []
    try:
        with budget(steps_for(text), 'reading the flow') as limit:
            return _checked(document, text, given, faults, limit)
    except BudgetExceeded as error:
        raise DocumentError(dict.fromkeys(
            [Fault(document.name, *document.mark(), str(error)), *faults])) from error


def _checked(
    document: Document, text: str, given: Mapping[str, Any], faults: list[Fault], limit: Budget,
) -> Flow:
    """Return the flow; adds its faults to `faults`, also if the budget is exceeded."""
    spend_on(dict(given))
    declared = document.data.get('parameters') if isinstance(document.data, dict) else None
    if isinstance(declared, dict) and len(declared) > MAX_PARAMETERS:
        raise DocumentError([document.fault(
            ('parameters',), f'{len(declared)} parameters, at most {MAX_PARAMETERS} are allowed')])
    spec = validate(document, FlowSpec)
    document = FlowDocument(document)
    faults += _name_faults(document, spec)
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
        faults += order_faults(flow, order, lambda name: actions[name].after)
    if faults:
        raise DocumentError(dict.fromkeys(faults))
    return flow


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


def _values(
    document: Document, spec: FlowSpec, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Fault]]:
    values = {name: given.get(name, parameter.default)
              for name, parameter in spec.parameters.items()}
    faults = [
        document.fault(('parameters',), f"the flow has no parameter '{name}'"
                       + nearest(name, spec.parameters) + _known(spec.parameters))
        for name in given if name not in spec.parameters]
    for name, parameter in spec.parameters.items():
        message = _value_fault(parameter, values[name])
        if message:
            faults.append(document.fault(('parameters', name), f"parameter '{name}': {message}"))
    return values, faults


def _known(names: Collection[str]) -> str:
    """Return names as a string, at most `NAMES_SHOWN`."""
    shown = list(names)[:NAMES_SHOWN]
    more = f' and {len(names) - len(shown)} more' if len(names) > len(shown) else ''
    return f" (known: {', '.join(shown) or 'none'}{more})"


def _value_fault(parameter: ParameterSpec, value: Any) -> str:
    """Return why a parameter's value is not valid; '' if it is."""
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
