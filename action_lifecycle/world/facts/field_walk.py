# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finds the kind of value of a field path by the description of the message type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..expressions.field_paths import (
    ConvertStep,
    FieldStep,
    IndexStep,
    MatchStep,
    parse_path,
    PathError,
)
from ..expressions.value_types import Kind
from ...documents.suggestions import nearest

_SEVERAL = {Kind.NUMBER: Kind.VECTOR, Kind.TRUTH: Kind.TRUTHS, Kind.TEXT: Kind.TEXTS,
            Kind.ANY: Kind.ANY, Kind.MESSAGE: Kind.MESSAGE}


@dataclass(frozen=True)
class FieldType:
    """The type of a field; `kind`: NUMBER, TRUTH, TEXT, or MESSAGE, the type of `message`."""

    kind: Kind
    many: bool = False  #: an array or a sequence
    octet: bool = False  #: a number that is raw data
    message: Callable[[], MessageType] | None = None


@dataclass(frozen=True)
class MessageType:
    """A message type, `package/Name`."""

    name: str
    fields: Mapping[str, FieldType]
    constants: Mapping[str, Any]


def is_described(type_name: str, path: str) -> bool:
    """Whether the message describes the data at a path: points of clouds, pixels."""
    return (type_name == 'sensor_msgs/msg/PointCloud2' and path.startswith('data.')) or (
        type_name == 'sensor_msgs/msg/Image' and path.split('[')[0] == 'data')


class FieldWalk:
    """Follows a path through the fields of message types; raises PathError."""

    def __init__(self, message: MessageType, path: str) -> None:
        self.path = path
        self.owner = message  #: of the last field
        self.owners = [message]
        self.name = ''
        self.type: FieldType | None = None  #: type reached so far; None: the message `owner`
        self.converted = ''
        self.levels = 0  #: nesting depth of lists of the value
        for step in parse_path(path):
            if self.converted == 'json':
                pass  # the content of JSON is unknown before the message
            elif isinstance(step, FieldStep):
                self._field(step.name)
            elif isinstance(step, ConvertStep):
                self._convert(step.to)
            else:
                self._select(step)

    def kind(self) -> Kind:
        """Return the kind of the field, as converted by `message_values.to_value`."""
        if self.converted == 'json' or self.type is None:
            return Kind.ANY
        found = Kind.NUMBER if self.converted else _kind(self.type)
        for _ in range(self.levels):
            found = _SEVERAL.get(found, Kind.NUMBERS)
        return found

    def messages(self) -> list[MessageType]:
        """Return the message types on the path, including the field's at its end."""
        last = self.type.message if self.type is not None else None
        return [*self.owners, *([last()] if last is not None else [])]

    def _field(self, name: str) -> None:
        if self.type is not None:
            if self.type.message is None or self.type.many:
                raise self._fault(
                    f"'{self.name}', before '.{name}', "
                    + (f"is an array: write '{self.name}[*].{name}', or an index"
                       if self.type.many else 'has no fields'))
            self.owner = self.type.message()
            self.owners.append(self.owner)
        known = self.owner.fields
        if name not in known:
            raise self._fault(f"{self.owner.name} has no field '{name}'"
                              + nearest(name, known) + f" (fields: {', '.join(known)})")
        self.name, self.type = name, known[name]

    def _convert(self, to: str) -> None:
        found = self.type
        assert found is not None
        if found.many and to == 'number':
            self.levels += 1
            found = replace(found, many=False)
        if found.many or found.kind is not Kind.TEXT:
            raise self._fault(f"'|{to}' reads a string, and '{self.name}' is {_kind(found).value}")
        self.converted = to

    def _select(self, step: IndexStep | MatchStep) -> None:
        if self.type is None or not self.type.many:
            raise self._fault("what '[…]' selects from is no array")
        element = replace(self.type, many=False)
        if isinstance(step, MatchStep):
            self._check_match(element, step)
            self.levels += len(step.texts) > 1
            self.type = element
        elif isinstance(step.index, tuple):
            raise self._fault('several indices are for images')
        elif step.every:
            self.levels = 1  # gives one flat list
            self.type = element
        elif isinstance(step.index, int):
            self.type = element

    def _check_match(self, element: FieldType, step: MatchStep) -> None:
        """Check `[key=text]`: the key must be a field of the same message or of the elements."""
        if step.key in self.owner.fields:
            return
        if element.message is None:
            raise self._fault(f"there is no array '{step.key}' beside it"
                              + nearest(step.key, self.owner.fields))
        try:
            key = FieldWalk(element.message(), step.key)
        except PathError as error:
            raise self._fault(str(error)) from None
        if key.kind() not in (Kind.NUMBER, Kind.VECTOR):
            return
        constants = key.owner.constants
        for text in step.texts:
            if text not in constants and not _is_number(text):
                raise self._fault(
                    f"'{text}' is neither a number nor a constant of {key.owner.name}"
                    + nearest(text, constants))

    def _fault(self, message: str) -> PathError:
        return PathError(f"field path '{self.path}': {message}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _kind(found: FieldType) -> Kind:
    """Return the kind of a field's type, as converted by `message_values.to_value`."""
    single = found.kind if found.message is None else _of_message(found.message())
    return _SEVERAL.get(single, Kind.NUMBERS) if found.many else single


def _of_message(message: MessageType) -> Kind:
    """Return the kind of a message's numbers, without its header."""
    fields = {name: kind for name, kind in message.fields.items() if name != 'header'}
    if set(fields) == {'sec', 'nanosec'}:
        return Kind.NUMBER
    found: list[Kind] = []
    for field in fields.values():
        if field.many:
            number = field.kind is Kind.NUMBER and not field.octet
            inner = Kind.NUMBERS if number else Kind.MESSAGE
        else:
            inner = _kind(field)
        if inner not in (Kind.NUMBER, Kind.VECTOR, Kind.NUMBERS):
            return Kind.MESSAGE
        found.append(inner)
    if not found:
        return Kind.MESSAGE
    if Kind.NUMBERS in found:
        return Kind.NUMBERS  # their number is unknown before the message
    return Kind.NUMBER if found == [Kind.NUMBER] else Kind.VECTOR
