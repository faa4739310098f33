# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Validates schemas and values by JSON Schema; also a program, which can be killed if it hangs.

The program reads a JSON list of a schema and an optional value, and writes the faults as JSON. It
imports nothing of this package, so that it starts quickly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
import math
import resource
import sys
from typing import Any

MEMORY_LIMIT = 1024 ** 3
"""Memory limit of the program, in bytes."""
MAX_FAULTS = 20
"""Maximum number of faults reported for one value."""


def faults_of_schema(schema: Any) -> list[str]:
    """Return the faults of a schema."""
    import jsonschema  # here, not above: only tools and language models need its 3 MB
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except (jsonschema.SchemaError, TypeError, ValueError, RecursionError) as error:
        return [f'no JSON Schema: {getattr(error, "message", error)!s:.300}']
    return []


def faults_of_value(schema: Mapping[str, Any], value: Any) -> list[str]:
    """Return the faults of a value; raises `ValueError` if the schema is not usable."""
    import jsonschema
    try:
        faults = [f'{path}: {found} is not finite' for path, found in _infinite(value, '')]
        for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
            where = ''.join(map(_step, error.absolute_path)) or '.'
            faults.append(f'{where}: {error.message:.300}')
            if len(faults) >= MAX_FAULTS:
                break
    except RecursionError:
        return ['.: it is nested too deeply']
    except Exception as error:  # e.g. an unresolvable reference or an invalid pattern
        raise ValueError(f'the schema can not be used: {error!s:.300}') from error
    return faults


def _step(key: str | int) -> str:
    return f'[{key}]' if isinstance(key, int) else f'.{key}'


def _infinite(value: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, float) and not math.isfinite(value):
        yield path or '.', value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _infinite(item, f'{path}.{key}')
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _infinite(item, f'{path}[{index}]')


def main() -> None:
    """Validate the input from stdin."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    schema, *values = json.load(sys.stdin)
    try:
        faults = faults_of_value(schema, *values) if values else faults_of_schema(schema)
        json.dump({'faults': faults}, sys.stdout)
    except ValueError as error:
        json.dump({'error': str(error)}, sys.stdout)


if __name__ == '__main__':
    del sys.path[0]  # this folder: its modules must not be imported without their package
    main()
