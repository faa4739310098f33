# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""What a field path gives of the messages of a type, told before any message has come."""

from __future__ import annotations

from typing import Any

from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    AbstractWString,
    BasicType,
    NamespacedType,
)

from .types import action_class, class_of, fields_of, message_class
from ..engine.errors import nearest
from ..world.kinds import Kind
from ..world.selectors import FieldStep, IndexStep, MatchStep, parse_path, PathError

_SEVERAL = {Kind.NUMBER: Kind.VECTOR, Kind.TRUTH: Kind.TRUTHS, Kind.TEXT: Kind.TEXTS,
            Kind.ANY: Kind.ANY}


def field_kind(type_name: str, path: str) -> Kind:
    """
    Return the kind of what `path` reads of a message type, or of an action's goal.

    Raises PathError for a path that the type does not have, UnknownType for the type.
    """
    cls = action_class(type_name).Goal if '/action/' in type_name else message_class(type_name)
    if not path:
        return Kind.ANY
    if type_name == 'sensor_msgs/msg/PointCloud2' and path.startswith('data.'):
        return Kind.NUMBERS  # which fields a cloud has is known when it comes
    if type_name == 'sensor_msgs/msg/Image' and path.split('[')[0] == 'data':
        return Kind.NUMBERS
    return _walk(cls, path)


def _walk(cls: Any, path: str) -> Kind:
    owner, kind, name, every = cls, None, '', False
    for step in parse_path(path):
        if isinstance(step, FieldStep):
            if kind is not None:
                if not isinstance(kind, NamespacedType):
                    array = isinstance(kind, AbstractNestedType)
                    raise _fault(path, f"what '.{step.name}' is read of "
                                 + (f"is an array: write '{name}[*].{step.name}', or an index"
                                    if array else 'has no fields'))
                owner = class_of(kind)
            known = fields_of(owner)
            name = step.name
            if name not in known:
                type_name = '/'.join(owner.__module__.split('.')[:2] + [owner.__name__])
                raise _fault(path, f"{type_name} has no field '{name}'" + nearest(name, known)
                             + f" (fields: {', '.join(known)})")
            kind = known[name]
            continue
        if not isinstance(kind, AbstractNestedType):
            raise _fault(path, "what '[…]' selects from is no array")
        if isinstance(step, MatchStep):
            _check_match(owner, kind.value_type, step, path)
        elif isinstance(step.index, tuple):
            raise _fault(path, 'several indices are for images')
        every = every or (isinstance(step, IndexStep) and step.every)
        if not isinstance(step, IndexStep) or step.every or isinstance(step.index, int):
            kind = kind.value_type
    found = _kind(kind)
    return _SEVERAL.get(found, Kind.NUMBERS) if every else found


def _check_match(owner: Any, kind: Any, step: MatchStep, path: str) -> None:
    """Check `[key=text]`: the key stands beside the array or in its parts."""
    if step.key in fields_of(owner):
        return
    if not isinstance(kind, NamespacedType):
        raise _fault(path, f"there is no array '{step.key}' beside it"
                     + nearest(step.key, fields_of(owner)))
    try:
        _walk(class_of(kind), step.key)
    except PathError as error:
        raise _fault(path, str(error)) from None


def _fault(path: str, message: str) -> PathError:
    return PathError(f"field path '{path}': {message}", 1)


def _kind(kind: Any) -> Kind:
    """Return the kind of a field's type, as `selectors.to_value` reads it."""
    if isinstance(kind, BasicType):
        return {'boolean': Kind.TRUTH, 'octet': Kind.ANY}.get(kind.typename, Kind.NUMBER)
    if isinstance(kind, (AbstractString, AbstractWString)):
        return Kind.TEXT
    if isinstance(kind, AbstractNestedType):
        return _SEVERAL.get(_kind(kind.value_type), Kind.NUMBERS)
    numbers = _numbers(class_of(kind))
    if numbers is None:
        return Kind.NUMBERS
    return numbers[0] if len(numbers) == 1 else Kind.VECTOR


def _numbers(cls: Any) -> list[Kind] | None:
    """Return the kinds of a message's numbers, texts and headers left out; None: it varies."""
    fields = fields_of(cls)
    if set(fields) == {'sec', 'nanosec'}:
        return [Kind.NUMBER]
    found: list[Kind] = []
    for name, kind in fields.items():
        if isinstance(kind, BasicType):
            found.append(_kind(kind))
        elif isinstance(kind, AbstractNestedType):
            return None
        elif isinstance(kind, NamespacedType) and name != 'header':
            inner = _numbers(class_of(kind))
            if inner is None:
                return None
            found += inner
    return found
