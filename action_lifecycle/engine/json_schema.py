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

"""Judging values by a JSON Schema: arguments of tools, answers of language models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
import math
from typing import Any

from .errors import LifecycleError

MAX_SCHEMA = 65_536
"""Longest schema, in characters of JSON."""
MAX_FAULTS = 20
"""Most faults that are told of one value."""


class SchemaError(LifecycleError):
    """A JSON Schema that can't be used."""


def check_schema(schema: Any) -> None:
    """
    Raise `SchemaError` unless `schema` is one of an object that needs nothing from elsewhere.

    A reference to another document is refused: looking it up would ask the network.
    """
    import jsonschema  # here, not above: only tools and language models need its 3 MB
    if not isinstance(schema, Mapping):
        raise SchemaError(f'a JSON Schema is a mapping, not {type(schema).__name__}')
    try:
        size = len(json.dumps(schema, allow_nan=False))
        if size > MAX_SCHEMA:
            raise SchemaError(f'the schema has {size} characters, at most {MAX_SCHEMA} are taken')
        jsonschema.Draft202012Validator.check_schema(schema)
    except (jsonschema.SchemaError, TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f'no JSON Schema: {getattr(error, "message", error)}') from error
    for reference in _references(schema):
        if not (isinstance(reference, str) and reference.startswith('#')):
            raise SchemaError(f"reference '{reference}' leads out of the schema")


def schema_faults(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return what of a value the schema doesn't admit, each as `place: what`; empty: nothing."""
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
    except Exception as error:  # an unresolvable reference, a pattern that is none
        raise SchemaError(f'the schema can not be used: {error}') from error
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
