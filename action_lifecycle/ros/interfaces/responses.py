# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conditions over the response of a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import functools
import math
import re
from typing import Any

from rosidl_parser.definition import BasicType

from .field_kinds import kind_in
from .types import fields_of, service_class
from ...documents.errors import DocumentError, Fault
from ...world.evidence import Evidence, FactValue, TruthValue, Validity
from ...world.expressions.constant_values import ConditionParameters
from ...world.expressions.expression import compile_expression, Expression
from ...world.expressions.field_paths import PathError
from ...world.expressions.functions import NoValue
from ...world.expressions.value_types import Kind
from ...world.facts.selectors import compile_path

DEFAULT = 'success'
"""The boolean field of a response that says whether the call has succeeded."""


class ResponseCondition:
    """
    A condition over the fields of a response and the parameters of the action.

    `text` '': the field `success` if the type has a boolean of that name, else always true. Raises
    UnknownType, or DocumentError with columns that count in `text`.
    """

    def __init__(self, type_name: str, text: str, parameters: Mapping[str, Any]) -> None:
        self._parameters = ConditionParameters.of(parameters)
        self.text, self._expression, self._readers = _compiled(
            type_name, text, tuple(self._parameters.kinds.items()),
            tuple(self._parameters.unusable.items()))

    def judge(self, response: Any, service: str, stamp: float) -> Evidence:
        """Return the evidence of a response of `service` that came at `stamp` (ROS time, s)."""
        facts, values, notes = [], [], []
        for name in self._expression.names:
            value, note, topic = self._parameters.get(name), '', ''
            if name in self._readers:
                topic = service
                value, note = _read(self._readers[name], response)
            values.append(value)
            facts.append(FactValue(
                name, value, stamp, topic, Validity.UNKNOWN if value is None else Validity.VALID))
            notes += [f'{name}: {note}'] if note else []
        found = self._expression.evaluate(values)
        verdict = TruthValue.UNKNOWN if found is None else \
            TruthValue.TRUE if found else TruthValue.FALSE
        return Evidence('success', self.text or 'any response', verdict, stamp, 0.0, tuple(facts),
                        '; '.join(notes) or self._expression.error)


@functools.lru_cache(maxsize=1000)
def _compiled(
    type_name: str, text: str, parameters: tuple[tuple[str, Kind], ...],
    unusable: tuple[tuple[str, str], ...],
) -> tuple[str, Expression, Mapping[str, Any]]:
    """Return the text of the condition, its expression, and the readers of its fields."""
    cls = service_class(type_name).Response
    field = fields_of(cls).get(DEFAULT)
    if not text and isinstance(field, BasicType) and field.typename == 'boolean':
        text = DEFAULT
    names = compile_expression(text, None, condition=True, source='success', dotted=True).names
    kinds: dict[str, Kind] = {}
    faults = list(_name_faults(cls, text, names, dict(parameters), dict(unusable), kinds))
    if faults:
        raise DocumentError(faults)
    expression = compile_expression(
        text, kinds, condition=True, source='success', kinds=kinds, dotted=True)
    known = dict(parameters)
    return text, expression, {name: compile_path(name, '')[0] for name in expression.names
                              if name not in known}


def _name_faults(
    cls: Any, text: str, names: tuple[str, ...], parameters: Mapping[str, Kind],
    unusable: Mapping[str, str], kinds: dict[str, Kind],
) -> Iterator[Fault]:
    """Yield the faults of the names that a condition reads; adds their kinds to `kinds`."""
    known = fields_of(cls)
    for name in names:
        root = re.split(r'[.\[]', name)[0]
        found = re.search(rf'(?<![\w.]){re.escape(name)}', text)
        column = found.start() + 1 if found else 1
        if root not in known and name in parameters:
            kinds[name] = parameters[name]
        elif name in unusable and root not in known:
            yield Fault('success', 1, column, f"parameter '{name}' has no value that a "
                        f'condition can read: {unusable[name]}')
        elif root in parameters or root in unusable:
            yield Fault('success', 1, column,
                        f"'{root}' is both a field of the response and a parameter")
        else:
            try:
                kinds[name] = kind_in(cls, name)
            except PathError as error:
                yield Fault('success', 1, column, str(error))


def _read(reader: Any, response: Any) -> tuple[Any, str]:
    """Return a value of a response, or None and the reason why it has none."""
    try:
        value = reader(response)
    except (NoValue, LookupError, AttributeError, TypeError, ValueError) as error:
        return None, str(error)
    if isinstance(value, float) and not math.isfinite(value):
        return None, f'{value} is not a finite number'
    return value, ''
