# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The definitions of installed message types, as bags have them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from rosidl_parser.definition import AbstractNestedType, NamespacedType

from .types import class_of, fields_of, message_class

_SEPARATOR = '=' * 80


@functools.lru_cache(maxsize=1000)
def message_definition(type_name: str) -> str:
    """
    Return the text (ros2msg) of a type with the types of its fields, as rosbag2 writes it to MCAP.

    '' if one of them is not installed as a .msg file. Raises UnknownType.
    """
    texts: dict[str, str] = {}
    todo = [(type_name, message_class(type_name))]
    while todo:
        name, cls = todo.pop()
        if name in texts:
            continue
        package, folder, short = name.split('/')
        try:
            texts[name] = _file(package, folder, short).read_text(encoding='utf-8')
        except (LookupError, OSError, ValueError):
            return ''
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


def _file(package: str, folder: str, name: str) -> Path:
    from ament_index_python import get_package_share_directory
    return Path(get_package_share_directory(package), folder, f'{name}.msg')
