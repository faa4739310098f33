# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The JSON Schema of a Python callable's arguments, from its type hints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
import inspect
import types
import typing
from typing import Any

from ..tool_state import ToolError
from ...documents.json_schema import object_schema

_SIMPLE = {bool: 'boolean', int: 'integer', float: 'number', str: 'string', dict: 'object',
           list: 'array', type(None): 'null', Mapping: 'object'}


def arguments_schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the schema of a callable's arguments; raises `ToolError` for unsupported hints."""
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError) as error:
        raise ToolError(f"tool '{function.__name__}': {error}") from error
    properties: dict[str, Any] = {}
    required = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolError(f"tool '{function.__name__}': '{name}' can not be given by name")
        if name not in hints:
            raise ToolError(f"tool '{function.__name__}': '{name}' has no type hint")
        try:
            properties[name] = schema_of_hint(hints[name])
        except TypeError as error:
            raise ToolError(f"tool '{function.__name__}', '{name}': {error}") from None
        if parameter.default is parameter.empty:
            required.append(name)
    return object_schema(properties, required)


def schema_of_hint(hint: Any) -> dict[str, Any]:
    """Return the schema of a type hint; raises `TypeError` if it is not supported."""
    if hint is Any:
        return {}
    if hint in _SIMPLE:
        return {'type': _SIMPLE[hint]}
    if isinstance(hint, type) and issubclass(hint, Enum) and issubclass(hint, str):
        return {'enum': [member.value for member in hint]}
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return {'enum': list(parts)}
    if origin is list:
        return {'type': 'array', 'items': schema_of_hint(parts[0])}
    if origin in (dict, Mapping) and parts[0] is str:
        return {'type': 'object', 'additionalProperties': schema_of_hint(parts[1])}
    if origin in (typing.Union, types.UnionType):
        return {'anyOf': [schema_of_hint(part) for part in parts]}
    raise TypeError(f'{hint} has no counterpart in JSON')
