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

"""
pydantic models of documents: checked with marks, exported as JSON Schema.

This is the one place that knows which pydantic is installed (1.10 or 2).
"""

from __future__ import annotations

import copy
import types
import typing
from typing import Any, TypeVar, Union

import pydantic

from .document import Document, Key
from .errors import DocumentError, Fault, nearest

_PYDANTIC_1 = pydantic.VERSION.startswith('1.')
SCHEMA_DIALECT = ('http://json-schema.org/draft-07/schema#' if _PYDANTIC_1
                  else 'https://json-schema.org/draft/2020-12/schema')
"""The `$schema` of what json_schema() returns: pydantic 1 and 2 write tuples differently."""

if _PYDANTIC_1:
    class StrictModel(pydantic.BaseModel):
        """A model that refuses unknown fields and can't be changed after it was checked."""

        class Config:
            """What pydantic 1 calls its settings."""

            extra = 'forbid'
            frozen = True
            smart_union = True

    def _parse(model: type[Any], data: Any) -> Any:
        return model.parse_obj(data)

    def json_schema(model: type[Any]) -> dict[str, Any]:
        """Return the JSON Schema of a model."""
        schema: dict[str, Any] = model.schema()
        return copy.deepcopy(schema)  # pydantic 1 gives all callers the same object
else:
    class StrictModel(pydantic.BaseModel):  # type: ignore[no-redef]
        """A model that refuses unknown fields and can't be changed after it was checked."""

        model_config = pydantic.ConfigDict(extra='forbid', frozen=True)

    def _parse(model: type[Any], data: Any) -> Any:
        return model.model_validate(data)

    def json_schema(model: type[Any]) -> dict[str, Any]:
        """Return the JSON Schema of a model."""
        schema: dict[str, Any] = model.model_json_schema()
        return schema


ModelT = TypeVar('ModelT', bound=pydantic.BaseModel)


def as_written(model: pydantic.BaseModel) -> dict[str, Any]:
    """Return what was given to a model as plain data, what it added itself left out."""
    dump = model.dict if _PYDANTIC_1 else model.model_dump
    return dump(exclude_unset=True)


def validate(
    document: Document,
    model: type[ModelT],
    *,
    data: Any = None,
    path: typing.Sequence[Key] = (),
    error: type[DocumentError] = DocumentError,
) -> ModelT:
    """
    Check the document against a pydantic model; all faults at once, each with its mark.

    `data` and `path`: check only this part of the document, which stands at `path`.
    """
    subject = document.data if data is None else data
    if not isinstance(subject, dict):
        raise error([document.fault(path, f'expected a mapping, got {_kind(subject)}')])
    try:
        result: ModelT = _parse(model, subject)
    except pydantic.ValidationError as failed:
        raise error(
            _model_fault(document, model, tuple(path), subject, entry)
            for entry in failed.errors()
        ) from failed
    return result


def _model_fault(
    document: Document, model: type[Any], base: tuple[Key, ...], data: Any, entry: Any
) -> Fault:
    """Turn one of pydantic's errors into a fault."""
    location = tuple(entry['loc'])
    kind = str(entry['type']).removeprefix('value_error.')
    field = str(location[-1])
    if kind in ('extra', 'extra_forbidden'):
        known = _fields_at(model, location[:-1])
        message = f"unknown field '{field}'" + nearest(field, known)
        if known:
            message += f" (known: {', '.join(sorted(known))})"
        return document.fault(base + location, message)
    if kind == 'missing':
        return document.fault(base + location[:-1], f"missing field '{field}'")
    value, dotted, written = data, '', document.data
    for key in base:
        written = _entry(written, key)
    for key in location:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            continue  # pydantic 2 names the member of a union it tried, the data does not
        if isinstance(key, int) and isinstance(written, (dict, str)):
            continue  # a single entry, written without the list around it
        written = _entry(written, key)
        dotted += f'.{key}'
    message = str(entry['msg'])
    return document.fault(
        base + location, f"field '{dotted[1:]}': {message[:1].lower()}{message[1:]}, got "
        + _kind(value))


def _entry(data: Any, key: Key) -> Any:
    try:
        return data[key]
    except (KeyError, IndexError, TypeError):
        return None


def _fields_at(model: Any, location: tuple[Key, ...]) -> set[str]:
    """Return the field names of the model that stands at `location` inside `model`."""
    if not location:
        if isinstance(model, type) and issubclass(model, pydantic.BaseModel):
            return set(_hints(model))
        arguments = typing.get_args(model)
        if typing.get_origin(model) in (Union, types.UnionType):
            return set().union(*(_fields_at(member, ()) for member in arguments))
        return set()
    origin, arguments = typing.get_origin(model), typing.get_args(model)
    if origin in (Union, types.UnionType):
        return set().union(*(_fields_at(member, location) for member in arguments))
    if origin in (dict, list, tuple):
        return _fields_at(arguments[-1], location[1:])
    if isinstance(model, type) and issubclass(model, pydantic.BaseModel):
        hints = _hints(model)
        if location[0] in hints:
            return _fields_at(hints[str(location[0])], location[1:])
    return set()


def _hints(model: type[pydantic.BaseModel]) -> dict[str, Any]:
    """Return the type of each field, by the name that it has in a document."""
    hints = typing.get_type_hints(model)
    fields: dict[str, Any] = getattr(model, '__fields__' if _PYDANTIC_1 else 'model_fields')
    return {field.alias or name: hints[name] for name, field in fields.items()}


def _kind(value: Any) -> str:
    """Say what a value is, in YAML's words."""
    if isinstance(value, dict):
        return 'a mapping'
    if isinstance(value, list):
        return 'a list'
    text = 'null' if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + '...'
