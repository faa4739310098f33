# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks arguments of tools of which some are only known when the tool is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import re
from typing import Any

from ...documents.json_schema import schema_faults
from ...documents.suggestions import nearest
from ...documents.templates.template import has_template

_PLAIN = frozenset({'type', 'properties', 'required', 'additionalProperties', 'title',
                    'description', '$schema', '$id', '$defs', 'definitions', 'default'})
"""Keywords of a schema that judge each argument by itself, or nothing."""


def argument_faults(
    arguments: Mapping[str, Any], schema: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """
    Yield the faults of arguments, as (path, message); the path is such as `arguments.size`.

    Arguments with templates count as given, and their values are not checked.
    """
    open_ = {name for name, value in arguments.items() if has_template(value)}
    properties = schema.get('properties')
    known = properties if isinstance(properties, Mapping) else {}
    if open_ and schema.get('additionalProperties') is False:
        for name in sorted(open_ - set(known)):
            yield f'arguments.{name}', f"unknown argument '{name}'" + nearest(name, known)
    if open_ and not set(schema) <= _PLAIN:
        return  # its other keywords may depend on the values that are not known yet
    required = schema.get('required')
    if isinstance(required, list):
        schema = {**schema, 'required': [name for name in required if name not in open_]}
    given = {name: value for name, value in arguments.items() if name not in open_}
    for fault in schema_faults(given, schema):
        place, _, message = fault.partition(': ')
        path = re.sub(r'\[(\d+)\]', r'.\1', place).rstrip('.')
        yield f'arguments{path}', f'{place}: {message}' if path else message
