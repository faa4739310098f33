# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finds the kind of value of a field path by the installed message type, without a message."""

from __future__ import annotations

import functools
from typing import Any

from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    AbstractWString,
    BasicType,
)

from .types import class_of, constants_of, fields_of, KIND_OF_TYPE, message_class, sent_class
from ...world.expressions.value_types import Kind
from ...world.facts.facts_checks import FieldKind
from ...world.facts.field_walk import FieldType, FieldWalk, is_described, MessageType


class _FieldKinds(FieldKind):
    """The look-up in installed message types."""

    def __call__(self, type_name: str, path: str) -> Kind:
        """
        Return the kind of the field at `path` of a message, an action's goal or a request.

        Raises PathError for a path that the type does not have, UnknownType for the type.
        """
        cls = _class(type_name)
        if not path:
            return Kind.ANY
        return Kind.NUMBERS if is_described(type_name, path) else kind_in(cls, path)

    def constants(self, type_name: str, path: str) -> dict[str, dict[str, Any]]:
        """Return the constants of the message types along a path, by type name."""
        if not path or is_described(type_name, path):
            return {}
        return {found.name.rpartition('/')[2]: dict(found.constants)
                for found in FieldWalk(_message_type(_class(type_name)), path).messages()
                if found.constants}


field_kind = _FieldKinds()


def kind_in(cls: Any, path: str) -> Kind:
    """Return the kind of the field at `path` of a message class; raises PathError."""
    return FieldWalk(_message_type(cls), path).kind()


def _class(type_name: str) -> Any:
    kind = KIND_OF_TYPE.get('/'.join(type_name.split('/')[1:2]))
    return message_class(type_name) if kind is None else sent_class(kind, type_name)


@functools.lru_cache(maxsize=1000)
def _message_type(cls: Any) -> MessageType:
    return MessageType(
        '/'.join(cls.__module__.split('.')[:2] + [cls.__name__]),
        {name: _field_type(kind) for name, kind in fields_of(cls).items()}, constants_of(cls))


def _field_type(kind: Any) -> FieldType:
    many = isinstance(kind, AbstractNestedType)
    element = kind.value_type if many else kind
    if isinstance(element, BasicType):
        return FieldType(Kind.TRUTH if element.typename == 'boolean' else Kind.NUMBER, many,
                         element.typename == 'octet')
    if isinstance(element, (AbstractString, AbstractWString)):
        return FieldType(Kind.TEXT, many)
    return FieldType(Kind.MESSAGE, many, message=lambda: _message_type(class_of(element)))
