# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conditions over the response of a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
import re
from typing import Any

from rosidl_parser.definition import BasicType

from .field_kinds import kind_in
from .types import fields_of, service_class
from ...documents.errors import DocumentError, Fault
from ...world.evidence import Evidence, FactValue, TruthValue, Validity
from ...world.expressions.constant_values import ConditionParameters
from ...world.expressions.expression import compile_expression
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
        cls = service_class(type_name).Response
        field = fields_of(cls).get(DEFAULT)
        if not text and isinstance(field, BasicType) and field.typename == 'boolean':
            text = DEFAULT
        self.text = text
        self._parameters = ConditionParameters.of(parameters)
        names = compile_expression(
            text, None, condition=True, source='success', dotted=True).names
        kinds: dict[str, Kind] = {}
        faults = list(self._name_faults(cls, names, kinds))
        if faults:
            raise DocumentError(faults)
        self._expression = compile_expression(
            text, kinds, condition=True, source='success', kinds=kinds, dotted=True)
        self._readers = {name: compile_path(name, '')[0] for name in self._expression.names
                         if name not in self._parameters}

    def _name_faults(
        self, cls: Any, names: tuple[str, ...], kinds: dict[str, Kind]
    ) -> Iterator[Fault]:
        """Yield the faults of the names that the condition reads; adds their kinds."""
        known = fields_of(cls)
        for name in names:
            root = re.split(r'[.\[]', name)[0]
            found = re.search(rf'(?<![\w.]){re.escape(name)}', self.text)
            column = found.start() + 1 if found else 1
            if root not in known and name in self._parameters:
                kinds[name] = self._parameters.kinds[name]
            elif name in self._parameters.unusable and root not in known:
                yield Fault('success', 1, column, f"parameter '{name}' has no value that a "
                            f'condition can read: {self._parameters.unusable[name]}')
            elif root in self._parameters or root in self._parameters.unusable:
                yield Fault('success', 1, column,
                            f"'{root}' is both a field of the response and a parameter")
            else:
                try:
                    kinds[name] = kind_in(cls, name)
                except PathError as error:
                    yield Fault('success', 1, column, str(error))

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


def _read(reader: Any, response: Any) -> tuple[Any, str]:
    """Return a value of a response, or None and the reason why it has none."""
    try:
        value = reader(response)
    except (NoValue, LookupError, AttributeError, TypeError, ValueError) as error:
        return None, str(error)
    if isinstance(value, float) and not math.isfinite(value):
        return None, f'{value} is not a finite number'
    return value, ''
