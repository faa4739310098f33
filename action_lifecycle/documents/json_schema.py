# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Validates values by a JSON Schema: arguments of tools, answers of language models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import json
from pathlib import Path
import subprocess
import sys
from typing import Any

from . import schema_judge
from .errors import LifecycleError

MAX_SCHEMA = 65_536
"""Maximum length of a schema, in characters of JSON."""
TIME_LIMIT = 5.0
"""Maximum time (s) of a validation."""
_QUICK_SCHEMA = 4096  # maximum length of a schema that is checked in this process
_QUICK_VALUE = 4_000_000  # the same for a value: its length times that of the schema
_SLOW = ('$ref', '$dynamicRef', 'pattern', 'patternProperties', 'uniqueItems')
"""Keywords whose validation time may grow exponentially with the value."""


class SchemaError(LifecycleError):
    """A JSON Schema is not usable."""


def object_schema(
    properties: Mapping[str, Any], required: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the schema of an object with these properties only; by default all are required."""
    return {'type': 'object', 'properties': dict(properties),
            'required': list(properties if required is None else required),
            'additionalProperties': False}


def check_schema(schema: Any) -> None:
    """
    Raise `SchemaError` unless `schema` is a valid JSON Schema without outside references.

    References to other documents are refused, since resolving them would use the network.
    """
    if not isinstance(schema, Mapping):
        raise SchemaError(f'a JSON Schema is a mapping, not {type(schema).__name__}')
    try:
        size = len(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f'no JSON Schema: {error}') from error
    if size > MAX_SCHEMA:
        raise SchemaError(f'the schema has {size} characters, at most {MAX_SCHEMA} are taken')
    faults = schema_judge.faults_of_schema(schema) if size <= _QUICK_SCHEMA else _apart(schema)
    if faults:
        raise SchemaError(faults[0])
    for reference in _references(schema):
        if not (isinstance(reference, str) and reference.startswith('#')):
            raise SchemaError(f"reference '{reference}' leads out of the schema")


def schema_faults(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """
    Return the faults of a value, each as `path: message`; an empty list if it is valid.

    A validation that may take long runs in a separate process. Raises `SchemaError` after
    `TIME_LIMIT` s, and for a schema that is not usable.
    """
    try:
        text, known = json.dumps(value), json.dumps(schema)
    except RecursionError:
        return ['.: it is nested too deeply']
    except (TypeError, ValueError) as error:
        return [f'.: it is no JSON: {error}']
    if len(text) * len(known) > _QUICK_VALUE or any(f'"{word}"' in known for word in _SLOW):
        return _apart(schema, value)
    try:
        return schema_judge.faults_of_value(schema, value)
    except ValueError as error:
        raise SchemaError(str(error)) from error


def _apart(*asked: Any) -> list[str]:
    """Validate in another process, which is killed after `TIME_LIMIT` s."""
    try:
        done = subprocess.run(
            [sys.executable, str(Path(schema_judge.__file__))], input=json.dumps(asked),
            capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise SchemaError(f'validation by the schema takes longer than {TIME_LIMIT:g} s') from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise SchemaError(f'the schema can not be used: {done.stderr[-300:].strip()}') from None
    if 'error' in answer:
        raise SchemaError(answer['error'])
    faults: list[str] = answer['faults']
    return faults


def _references(schema: Any) -> Iterator[Any]:
    if isinstance(schema, Mapping):
        for key, item in schema.items():
            if key in ('$ref', '$dynamicRef', '$recursiveRef'):
                yield item
            else:
                yield from _references(item)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)
