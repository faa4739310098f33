# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The definitions of installed message types, as bags have them."""

from __future__ import annotations

import functools
from pathlib import Path
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

from .types import class_of, constants_of, fields_of, message_class

_SEPARATOR = '=' * 80
_NAMES = {'boolean': 'bool', 'octet': 'byte', 'float': 'float32', 'double': 'float64'}


@functools.lru_cache(maxsize=1000)
def message_definition(type_name: str) -> str:
    """
    Return the text (ros2msg) of a type with the types of its fields, as rosbag2 writes it to MCAP.

    Raises UnknownType.
    """
    texts: dict[str, str] = {}
    todo = [(type_name, message_class(type_name))]
    while todo:
        name, cls = todo.pop()
        if name in texts:
            continue
        text = _installed(name)
        texts[name] = _generated(cls) if text is None else text
        for kind in fields_of(cls).values():
            inner: Any = kind.value_type if isinstance(kind, AbstractNestedType) else kind
            if isinstance(inner, NamespacedType):
                todo.append(('/'.join((*inner.namespaces, inner.name)), class_of(inner)))
    head = texts.pop(type_name)
    return ''.join((_ended(head), *(
        f"{_SEPARATOR}\nMSG: {name.replace('/msg/', '/')}\n{_ended(text)}"
        for name, text in texts.items())))


def _ended(text: str) -> str:
    return text if text.endswith('\n') or not text else f'{text}\n'


def _installed(name: str) -> str | None:
    """Return the text of the installed file; None if there is none (the package has IDL files)."""
    from ament_index_python import get_package_share_directory
    package, folder, short = name.split('/')
    try:
        path = Path(get_package_share_directory(package), folder, f'{short}.msg')
        return path.read_text(encoding='utf-8')
    except (LookupError, OSError, ValueError):
        return None


def _generated(cls: Any) -> str:
    """Return a definition with the fields and whole-number constants of a message class."""
    lines = [f"{'bool' if isinstance(value, bool) else 'int64'} {name}={value}"
             for name, value in constants_of(cls).items() if isinstance(value, int)]
    fields = [f'{_type_of(kind)} {name}' for name, kind in fields_of(cls).items()
              if name != 'structure_needs_at_least_one_member']
    return ''.join(f'{line}\n' for line in [*lines, *fields])


def _type_of(kind: Any) -> str:
    if isinstance(kind, AbstractNestedType):
        size = (str(kind.size) if isinstance(kind, Array) else
                f'<={kind.maximum_size}' if isinstance(kind, BoundedSequence) else '')
        return f'{_type_of(kind.value_type)}[{size}]'
    if isinstance(kind, (AbstractString, AbstractWString)):
        name = 'wstring' if isinstance(kind, AbstractWString) else 'string'
        return f'{name}<={kind.maximum_size}' if kind.has_maximum_size() else name
    if isinstance(kind, BasicType):
        return _NAMES.get(kind.typename, kind.typename)
    return f'{kind.namespaces[0]}/{kind.name}'
