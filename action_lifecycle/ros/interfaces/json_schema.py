# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The JSON Schema of a ROS message, for data accepted by `message_fields.fill`."""

from __future__ import annotations

from typing import Any

from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    AbstractWString,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)

from .message_fields import FLOATS, RANGES
from .types import class_of, fields_of


def message_schema(cls: Any) -> dict[str, Any]:
    """
    Return the schema of a message class; missing fields keep their defaults.

    A Duration or Time is a number of seconds.
    """
    return {'type': 'object', 'additionalProperties': False,
            'properties': {name: _field_schema(kind) for name, kind in fields_of(cls).items()
                           if name != 'structure_needs_at_least_one_member'}}


def _field_schema(kind: Any) -> dict[str, Any]:
    if isinstance(kind, AbstractNestedType):
        schema: dict[str, Any] = {'type': 'array', 'items': _field_schema(kind.value_type)}
        if isinstance(kind, Array):
            schema.update(minItems=kind.size, maxItems=kind.size)
        elif isinstance(kind, BoundedSequence):
            schema['maxItems'] = kind.maximum_size
        return schema
    if isinstance(kind, NamespacedType):
        if kind.namespaces[0] == 'builtin_interfaces' and kind.name in ('Duration', 'Time'):
            return {'type': 'number', 'description': 'seconds'}
        return message_schema(class_of(kind))
    if isinstance(kind, (AbstractString, AbstractWString)):
        longest = getattr(kind, 'maximum_size', None)
        return {'type': 'string', **({} if longest is None else {'maxLength': longest})}
    assert isinstance(kind, BasicType)
    if kind.typename == 'boolean':
        return {'type': 'boolean'}
    if kind.typename in FLOATS:
        return {'type': 'number'}
    low, high = RANGES[kind.typename]
    return {'type': 'integer', 'minimum': low, 'maximum': high}
