# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks the fields of a facts file by the message definitions of a bag, without ROS."""

from __future__ import annotations

import functools
from typing import Any

from .bag import Bag, CDR
from .definitions import FieldDef, type_table, TypeDef
from .errors import BagError
from .message_types import BagType
from .storage import Definition
from ..world.expressions.value_types import Kind
from ..world.facts.facts_checks import FieldKind
from ..world.facts.field_walk import FieldType, FieldWalk, is_described, MessageType


class BagFieldKinds(FieldKind):
    """
    The look-up in the types of a bag; types that it does not have are those of ROS 2 Jazzy.

    Of other types any field is accepted, as are goals and requests: a bag has none.
    """

    def __init__(self, bag: Bag) -> None:
        self._bag = bag
        self._messages: dict[str, MessageType | None] = {}

    def __call__(self, type_name: str, path: str) -> Kind:
        """Return the kind of a field; raises PathError for a path that the type lacks."""
        message = self._message(type_name)
        if message is None or not path:
            return Kind.ANY
        return Kind.NUMBERS if is_described(type_name, path) else FieldWalk(message, path).kind()

    def constants(self, type_name: str, path: str) -> dict[str, dict[str, Any]]:
        """Return the constants of the message types along a path, by type name."""
        message = self._message(type_name)
        if message is None or not path or is_described(type_name, path):
            return {}
        return {found.name.rpartition('/')[2]: dict(found.constants)
                for found in FieldWalk(message, path).messages() if found.constants}

    def _message(self, type_name: str) -> MessageType | None:
        if type_name not in self._messages:
            self._messages[type_name] = self._find(type_name)
        return self._messages[type_name]

    def _find(self, type_name: str) -> MessageType | None:
        topic = next((topic.name for topic in self._bag.topics.values()
                      if topic.type == type_name and topic.encoding == CDR), None)
        if topic is not None:
            found: BagType = self._bag.type_of(topic)
            return _described(type_name, found.table)
        try:
            return _described(type_name, type_table(type_name, Definition()))
        except BagError:
            return None


def _described(name: str, table: dict[str, TypeDef]) -> MessageType:
    definition = table[name]
    package, _, short = name.split('/')
    return MessageType(f'{package}/{short}', {
        field.name: _field_type(field, table) for field in definition.fields}, {
            key: value for key, value in definition.constants.items() if key.isupper()})


def _field_type(field: FieldDef, table: dict[str, TypeDef]) -> FieldType:
    many = field.form != 'one'
    if field.is_message:
        return FieldType(Kind.MESSAGE, many,
                         message=functools.partial(_described, field.base, table))
    if field.base in ('string', 'wstring'):
        return FieldType(Kind.TEXT, many)
    return FieldType(Kind.TRUTH if field.base == 'bool' else Kind.NUMBER, many,
                     field.base in ('byte', 'octet'))
