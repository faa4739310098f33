# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Message and action classes by name, and what fields they have."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from rosidl_parser.definition import AbstractNestedType, NamespacedType

from ..engine.errors import LifecycleError, nearest
from ..world.selectors import FieldStep, MatchStep, parse_path


class UnknownType(LifecycleError):
    """A type that is not installed."""


def message_class(name: str) -> Any:
    """Return the class of `package/msg/Name`."""
    return _load(name, 'msg', 'sensor_msgs/msg/JointState')


def action_class(name: str) -> Any:
    """Return the class of `package/action/Name`."""
    return _load(name, 'action', 'control_msgs/action/GripperCommand')


@functools.lru_cache(maxsize=1000)
def _load(name: str, kind: str, example: str) -> Any:
    parts = name.split('/')
    if len(parts) != 3 or parts[1] != kind or not all(part.isidentifier() for part in parts):
        raise UnknownType(f"type '{name}': expected a name such as {example}"
                          + nearest(name, installed_types(kind)))
    try:
        found = getattr(importlib.import_module(f'{parts[0]}.{kind}'), parts[2])
    except (ImportError, AttributeError):
        raise UnknownType(f"type '{name}' is not installed"
                          + nearest(name, installed_types(kind))) from None
    return found


@functools.lru_cache(maxsize=10)
def installed_types(kind: str) -> tuple[str, ...]:
    """Return the names of all installed types of a kind (msg, srv, action)."""
    from ament_index_python import get_resource, get_resources
    names = []
    for package in get_resources('rosidl_interfaces'):
        for line in get_resource('rosidl_interfaces', package)[0].splitlines():
            if line.startswith(f'{kind}/') and line.endswith('.idl'):
                names.append(f'{package}/{line[:-4]}')
    return tuple(sorted(names))


def fields_of(cls: Any) -> Mapping[str, Any]:
    """Return the fields of a message class, each with its type (of rosidl_parser)."""
    return dict(zip(cls.get_fields_and_field_types(), cls.SLOT_TYPES))


def class_of(kind: NamespacedType) -> Any:
    """Return the message class that a field's type names."""
    return getattr(importlib.import_module('.'.join(kind.namespaces)), kind.name)


def path_fault(cls: Any, path: str, type_name: str) -> str:
    """Return what is wrong with a field path into messages of this class; empty: nothing."""
    if type_name == 'sensor_msgs/msg/PointCloud2' and path.startswith('data.'):
        return ''  # the fields of a cloud are known when it comes
    kind: Any = None
    for step in parse_path(path):
        if isinstance(step, FieldStep):
            if kind is not None:
                if not isinstance(kind, NamespacedType):
                    return f"field path '{path}': what '.{step.name}' is read of has no fields"
                cls = class_of(kind)
            known = fields_of(cls)
            if step.name not in known:
                name = '/'.join(cls.__module__.split('.')[:2] + [cls.__name__])
                return (f"field path '{path}': {name} has no field '{step.name}'"
                        + nearest(step.name, known) + f" (fields: {', '.join(known)})")
            owner, kind = cls, known[step.name]
        else:
            if not isinstance(kind, AbstractNestedType):
                return f"field path '{path}': what '[…]' selects from is no array"
            kind = kind.value_type
            if isinstance(step, MatchStep):
                fault = _match_fault(owner, kind, step, path)
                if fault:
                    return fault
    return ''


def _match_fault(owner: Any, kind: Any, step: MatchStep, path: str) -> str:
    """Return what is wrong with `[key=text]`: the key stands beside the array or in its parts."""
    if step.key in fields_of(owner):
        return ''
    if isinstance(kind, NamespacedType):
        fault = path_fault(class_of(kind), step.key, '')
        return f"field path '{path}': {fault}" if fault else ''
    return (f"field path '{path}': there is no array '{step.key}' beside it"
            + nearest(step.key, fields_of(owner)))
