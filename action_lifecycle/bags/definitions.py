# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parses the definitions of message types in bags; rosbags has those of Jazzy for other bags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import functools
import re
from typing import Any, NamedTuple

from .errors import BagError, library
from .storage import Definition
from ..documents.suggestions import nearest

_TYPE = re.compile(r'[A-Za-z]\w*/(msg|srv|action)/[A-Za-z]\w*\Z')
_TEXT_LIMIT = 1 << 20
_SEPARATOR = re.compile(r'^=+\n', re.MULTILINE)
_FORMS = ('', 'base', 'name', 'array', 'sequence')  # rosbags' Nodetype
_DEPTH = 50  #: of messages in messages
_PLACEHOLDER = 'structure_needs_at_least_one_member'


class FieldDef(NamedTuple):
    """A field: `base` is a basic type such as float64, or the name of a message type."""

    name: str
    base: str
    form: str  #: one, array or sequence
    length: int = 0  #: of an array
    is_message: bool = False


class TypeDef(NamedTuple):
    """A message type."""

    name: str
    fields: tuple[FieldDef, ...]
    constants: Mapping[str, Any]


def type_table(name: str, definition: Definition) -> dict[str, TypeDef]:
    """
    Return the type `name` and all that it needs, by name.

    Without a definition, those of ROS 2 Jazzy are used. Raises BagError.
    """
    if not _TYPE.match(name):
        raise BagError(f"type '{name}': expected a name such as sensor_msgs/msg/JointState")
    parsed = _parsed(name, definition) if definition.text.strip() else {}
    known = parsed if name in parsed else _jazzy()
    if name not in known and definition == ('ros2msg', ''):
        known = _parsed(name, definition)  # a message without fields has an empty file
    if name not in known:
        raise BagError(f"type '{name}' is not defined in the bag, and it is no type of ROS 2 Jazzy"
                       f'{nearest(name, known)}: record with the message definitions (MCAP; '
                       'rosbag2 of Iron or later), or convert the bag where the type is installed')
    table: dict[str, TypeDef] = {}
    todo = [name]
    while todo:
        wanted = todo.pop()
        if wanted in table:
            continue
        found = known.get(wanted) or _jazzy().get(wanted)
        if found is None:
            raise BagError(f"type '{name}' needs '{wanted}', which is not defined in the bag")
        table[wanted] = _type(wanted, found)
        todo.extend(field.base for field in table[wanted].fields if field.is_message)
    _refuse_circles(name, table)
    return table


def _parsed(name: str, definition: Definition) -> dict[str, Any]:
    """Return rosbags' description of the types in a definition."""
    encoding, text = definition
    if len(text) > _TEXT_LIMIT:
        raise BagError(f"type '{name}': its definition has {len(text)} characters, at most "
                       f'{_TEXT_LIMIT} are read')
    typesys = library('rosbags.typesys')
    found: dict[str, Any] = {}
    try:
        if encoding == 'ros2msg':
            found.update(typesys.get_types_from_msg(text, name))
        elif encoding in ('ros2idl', 'omgidl'):
            for part in _SEPARATOR.split(text):
                found.update(typesys.get_types_from_idl(re.sub(r'\AIDL: .*\n', '', part)))
        else:
            raise BagError(f"type '{name}': its definition is in the language '{encoding}'; "
                           'expected ros2msg or ros2idl')
    except BagError:
        raise
    except Exception as error:  # the parser meets text of any kind
        reason = ' '.join(str(error).split())[:200] or type(error).__name__
        raise BagError(f"type '{name}': its definition can't be parsed: {reason}") from error
    return found


@functools.lru_cache(maxsize=1)
def _jazzy() -> dict[str, Any]:
    typesys = library('rosbags.typesys')
    return dict(typesys.get_typestore(typesys.Stores.ROS2_JAZZY).fielddefs)


def _type(name: str, parsed: Any) -> TypeDef:
    constants, fields = parsed
    return TypeDef(name, tuple(_field(*field) for field in fields if field[0] != _PLACEHOLDER),
                   {key: bytes([value & 255]) if base in ('byte', 'octet') else value
                    for key, base, value in constants})


def _field(name: str, description: Any) -> FieldDef:
    form, content = description
    kind, length = _FORMS[int(form)], 0
    if kind in ('array', 'sequence'):
        (form, content), length = content
    else:
        kind = 'one'
    is_message = _FORMS[int(form)] == 'name'
    base = content if is_message else content[0]
    return FieldDef(name, str(base), kind, int(length) if kind == 'array' else 0, is_message)


def _refuse_circles(name: str, table: Mapping[str, TypeDef]) -> None:
    """Raise BagError if a type contains itself, or types are nested deeper than `_DEPTH`."""
    done: set[str] = set()
    path: dict[str, Iterator[FieldDef]] = {name: iter(table[name].fields)}
    while path:
        current = next(reversed(path))
        for field in path[current]:
            if not field.is_message or field.base in done:
                continue
            if field.base in path:
                raise BagError(f"type '{name}': '{field.base}' contains itself")
            if len(path) >= _DEPTH:
                raise BagError(f"type '{name}': messages in messages, more than {_DEPTH} deep")
            path[field.base] = iter(table[field.base].fields)
            break
        else:
            done.add(current)
            del path[current]
