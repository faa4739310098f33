# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finds the kind of value of a field path by the message type, without a message."""

from __future__ import annotations

from typing import Any

from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    AbstractWString,
    BasicType,
    NamespacedType,
)

from .types import class_of, constants_of, fields_of, KIND_OF_TYPE, message_class, sent_class
from ...documents.suggestions import nearest
from ...world.expressions.field_paths import (
    ConvertStep,
    FieldStep,
    IndexStep,
    MatchStep,
    parse_path,
    PathError,
)
from ...world.expressions.value_types import Kind
from ...world.facts.facts_checks import FieldKind

_SEVERAL = {Kind.NUMBER: Kind.VECTOR, Kind.TRUTH: Kind.TRUTHS, Kind.TEXT: Kind.TEXTS,
            Kind.ANY: Kind.ANY, Kind.MESSAGE: Kind.MESSAGE}


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
        return Kind.NUMBERS if _is_described(type_name, path) else _PathWalk(cls, path).kind()

    def constants(self, type_name: str, path: str) -> dict[str, dict[str, Any]]:
        """Return the constants of the message types along a path, by type name."""
        if not path or _is_described(type_name, path):
            return {}
        return {cls.__name__: constants for cls in _PathWalk(_class(type_name), path).classes()
                if (constants := constants_of(cls))}


field_kind = _FieldKinds()


def _class(type_name: str) -> Any:
    kind = KIND_OF_TYPE.get('/'.join(type_name.split('/')[1:2]))
    return message_class(type_name) if kind is None else sent_class(kind, type_name)


def kind_in(cls: Any, path: str) -> Kind:
    """Return the kind of the field at `path` of a message class; raises PathError."""
    return _PathWalk(cls, path).kind()


def _is_described(type_name: str, path: str) -> bool:
    """Whether the message describes the data at a path: points of clouds, pixels."""
    return (type_name == 'sensor_msgs/msg/PointCloud2' and path.startswith('data.')) or (
        type_name == 'sensor_msgs/msg/Image' and path.split('[')[0] == 'data')


class _PathWalk:
    """Follows a path through the fields of message classes; raises PathError."""

    def __init__(self, cls: Any, path: str) -> None:
        self.path = path
        self.owner = cls  #: message class of the last field
        self.owners = [cls]
        self.name = ''
        self.type: Any = None  #: type reached so far; None: the message `owner`
        self.converted = ''
        self.levels = 0  #: nesting depth of lists of the value
        for step in parse_path(path):
            if self.converted == 'json':
                pass  # the content of JSON is unknown before the message
            elif isinstance(step, FieldStep):
                self.field(step.name)
            elif isinstance(step, ConvertStep):
                self.convert(step.to)
            else:
                self.select(step)

    def kind(self) -> Kind:
        """Return the kind of the field, as converted by `message_values.to_value`."""
        if self.converted == 'json':
            return Kind.ANY
        found = Kind.NUMBER if self.converted else _kind(self.type)
        for _ in range(self.levels):
            found = _SEVERAL.get(found, Kind.NUMBERS)
        return found

    def classes(self) -> list[Any]:
        """Return the message classes on the path, including the field's class at its end."""
        last = self.type.value_type if isinstance(self.type, AbstractNestedType) else self.type
        return [*self.owners, *([class_of(last)] if isinstance(last, NamespacedType) else [])]

    def field(self, name: str) -> None:
        if self.type is not None:
            if not isinstance(self.type, NamespacedType):
                array = isinstance(self.type, AbstractNestedType)
                raise self.fault(
                    f"'{self.name}', before '.{name}', "
                    + (f"is an array: write '{self.name}[*].{name}', or an index"
                       if array else 'has no fields'))
            self.owner = class_of(self.type)
            self.owners.append(self.owner)
        known = fields_of(self.owner)
        if name not in known:
            raise self.fault(f"{_type_name(self.owner)} has no field '{name}'"
                             + nearest(name, known) + f" (fields: {', '.join(known)})")
        self.name, self.type = name, known[name]

    def convert(self, to: str) -> None:
        kind = self.type
        if isinstance(kind, AbstractNestedType) and to == 'number':
            self.levels += 1
            kind = kind.value_type
        if not isinstance(kind, (AbstractString, AbstractWString)):
            raise self.fault(f"'|{to}' reads a string, and '{self.name}' is {_kind(kind).value}")
        self.converted = to

    def select(self, step: IndexStep | MatchStep) -> None:
        if not isinstance(self.type, AbstractNestedType):
            raise self.fault("what '[…]' selects from is no array")
        element = self.type.value_type
        if isinstance(step, MatchStep):
            self.check_match(element, step)
            self.levels += len(step.texts) > 1
            self.type = element
        elif isinstance(step.index, tuple):
            raise self.fault('several indices are for images')
        elif step.every:
            self.levels = 1  # gives one flat list
            self.type = element
        elif isinstance(step.index, int):
            self.type = element

    def check_match(self, element: Any, step: MatchStep) -> None:
        """Check `[key=text]`: the key must be a field of the same message or of the elements."""
        if step.key in fields_of(self.owner):
            return
        if not isinstance(element, NamespacedType):
            raise self.fault(f"there is no array '{step.key}' beside it"
                             + nearest(step.key, fields_of(self.owner)))
        try:
            key = _PathWalk(class_of(element), step.key)
        except PathError as error:
            raise self.fault(str(error)) from None
        kind = key.kind()
        if kind not in (Kind.NUMBER, Kind.VECTOR):
            return
        constants = constants_of(key.owner)
        for text in step.texts:
            if text not in constants and not _is_number(text):
                raise self.fault(
                    f"'{text}' is neither a number nor a constant of {_type_name(key.owner)}"
                    + nearest(text, constants))

    def fault(self, message: str) -> PathError:
        return PathError(f"field path '{self.path}': {message}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _type_name(cls: Any) -> str:
    return '/'.join(cls.__module__.split('.')[:2] + [cls.__name__])


def _kind(kind: Any) -> Kind:
    """Return the kind of a field's type, as converted by `message_values.to_value`."""
    if isinstance(kind, BasicType):
        return Kind.TRUTH if kind.typename == 'boolean' else Kind.NUMBER
    if isinstance(kind, (AbstractString, AbstractWString)):
        return Kind.TEXT
    if isinstance(kind, AbstractNestedType):
        return _SEVERAL.get(_kind(kind.value_type), Kind.NUMBERS)
    return _of_message(class_of(kind))


def _of_message(cls: Any) -> Kind:
    """Return the kind of a message's numbers, without its header."""
    fields = {name: kind for name, kind in fields_of(cls).items() if name != 'header'}
    if set(fields) == {'sec', 'nanosec'}:
        return Kind.NUMBER
    found: list[Kind] = []
    for kind in fields.values():
        if isinstance(kind, AbstractNestedType):
            number = isinstance(kind.value_type, BasicType) \
                and kind.value_type.typename not in ('boolean', 'octet')
            inner = Kind.NUMBERS if number else Kind.MESSAGE
        else:
            inner = _kind(kind)
        if inner not in (Kind.NUMBER, Kind.VECTOR, Kind.NUMBERS):
            return Kind.MESSAGE
        found.append(inner)
    if not found:
        return Kind.MESSAGE
    if Kind.NUMBERS in found:
        return Kind.NUMBERS  # their number is unknown before the message
    return Kind.NUMBER if found == [Kind.NUMBER] else Kind.VECTOR
