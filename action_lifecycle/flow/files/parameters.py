# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The values of a flow's parameters: types, limits, defaults."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import math
from typing import Any

from .spec import FlowSpec, ParameterSpec
from ...documents.errors import Fault
from ...documents.suggestions import nearest
from ...documents.yaml_document import Document

MAX_PARAMETERS = 10_000
"""Maximum number of parameters of a flow."""
NAMES_SHOWN = 50
"""Maximum number of names that a message lists."""


def parameter_values(
    document: Document, spec: FlowSpec, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Fault]]:
    """Return the values of a flow's parameters by name, and the faults of those given."""
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
_EXAMPLES: dict[str, Any] = {
    'boolean': False, 'integer': 1, 'number': 1.0, 'text': 'x', 'list': [], 'mapping': {}}


def example(declared: Any) -> Any:
    """Return a possible value of a parameter, given its declaration as written."""
    if not isinstance(declared, dict):
        return 1.0
    if declared.get('choices'):
        return declared['choices'][0]
    if declared.get('min') is not None:
        return declared['min']
    if declared.get('max') is not None:
        return declared['max']
    return _EXAMPLES.get(str(declared.get('type')), 1.0)
