# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
pydantic models of documents: validated with positions, exported as JSON Schema.

This is the only module that depends on the version of pydantic (1.10 or 2).
"""

from __future__ import annotations

from collections.abc import Callable
import copy
import functools
import re
import types
import typing
from typing import Any, ClassVar, TypeVar, Union

import pydantic

from .errors import DocumentError, Fault, LifecycleError, MAX_FAULTS
from .registry import Registry
from .suggestions import nearest
from .yaml_document import Document, Key

_PYDANTIC_1 = pydantic.VERSION.startswith('1.')
SCHEMA_DIALECT = ('http://json-schema.org/draft-07/schema#' if _PYDANTIC_1
                  else 'https://json-schema.org/draft/2020-12/schema')
"""The `$schema` of the results of json_schema(); pydantic 1 and 2 write tuples differently."""


class StrictModel(pydantic.BaseModel):
    """An immutable model that refuses unknown fields."""

    if _PYDANTIC_1:
        class Config:
            """Settings of pydantic 1."""

            extra = 'forbid'
            frozen = True
            smart_union = True
    else:
        model_config = pydantic.ConfigDict(extra='forbid', frozen=True)


class VariantModel(StrictModel):
    """A model whose field `by` names its subclass, one of `variants`; see `_variant`."""

    variants: ClassVar[Registry[type[Any]]]

    if _PYDANTIC_1:
        @classmethod
        def validate(cls, value: Any) -> Any:
            """Return the model of a value."""
            variant = _variant(cls, value)
            return super().validate(value) if variant is None else variant.validate(value)
    else:
        @pydantic.model_validator(mode='wrap')
        @classmethod
        def _as_variant(cls, value: Any, validated: Callable[[Any], Any]) -> Any:
            variant = _variant(cls, value)
            return validated(value) if variant is None else _parse(variant, value)


def _parse(model: type[Any], data: Any) -> Any:
    return model.parse_obj(data) if _PYDANTIC_1 else model.model_validate(data)


def json_schema(model: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a model."""
    # pydantic 1 gives all callers the same object
    schema: dict[str, Any] = copy.deepcopy(model.schema()) if _PYDANTIC_1 \
        else model.model_json_schema()
    return schema


_TYPES = {
    'dict': 'a mapping', 'model': 'a mapping', 'list': 'a list', 'tuple': 'a list',
    'string': 'a text', 'str': 'a text', 'float': 'a number', 'int': 'a whole number',
    'integer': 'a whole number', 'bool': 'true or false'}
_TYPE = re.compile(rf"(?:type_error\.)?({'|'.join(_TYPES)})(?:_type|_parsing|_from_float)?\Z")
_BOUNDS = {'gt': 'more than', 'ge': 'at least', 'lt': 'less than', 'le': 'at most'}
_SECONDS = {'ms': 0.001, 's': 1.0, 'min': 60.0, 'h': 3600.0}
_TIME = re.compile(rf"(\d+(?:\.\d+)?) ?({'|'.join(_SECONDS)})\Z")

_NAME = re.compile(r'[\w.-]*\Z')

LONGEST = 31_536_000.0
"""Maximum duration (s) in documents: one year."""

ModelT = TypeVar('ModelT', bound=pydantic.BaseModel)


def as_written(model: pydantic.BaseModel) -> dict[str, Any]:
    """Return the given values of a model as plain data, without defaults."""
    given = getattr(model, '__fields_set__' if _PYDANTIC_1 else 'model_fields_set')
    return {field.alias or name: _plain(getattr(model, name))
            for name, field in _fields(type(model)).items() if name in given}


def _plain(value: Any) -> Any:
    if isinstance(value, pydantic.BaseModel):
        return as_written(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return type(value)(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def _variant(model: type[Any], value: Any) -> type[Any] | None:
    """
    Return the subclass that validates the value of a `VariantModel`; None: the model itself.

    An unknown name is a fault that lists the known ones.
    """
    if model.__base__ is not VariantModel or not isinstance(value, dict):
        return None
    name = value.get('by')
    try:
        found: type[Any] | None = model.variants.load(name) if isinstance(name, str) else None
    except LifecycleError as error:
        raise ValueError(str(error)) from error
    if found is None:
        known: Any = typing.Literal[tuple(model.variants.names())]
        unknown = pydantic.create_model(model.__name__, by=(known, ...))
        _parse(unknown, {key: value[key] for key in ('by',) if key in value})
    return found


def validate(
    document: Document,
    model: type[ModelT],
    *,
    data: Any = None,
    path: typing.Sequence[Key] = (),
    below: typing.Sequence[Key] = (),
    error: type[DocumentError] = DocumentError,
    more: typing.Collection[str] = (),
) -> ModelT:
    """
    Validate a document by a pydantic model; raises `error` with all faults and their positions.

    `data` and `path`: validate only this part of the document, which is at `path`, or at `below`
    of the part at `path`; then messages name fields with `below`. `more`: further fields that the
    document may have there, for hints about unknown ones.
    """
    subject = document.data if data is None else data
    if not isinstance(subject, dict):
        name = f"field '{_dotted(document, tuple(path), tuple(below))}': " if below else ''
        raise error([document.fault(
            (*path, *below), f'{name}expected a mapping, got {_kind(subject)}')])
    try:
        result: ModelT = _parse(model, subject)
    except pydantic.ValidationError as failed:
        entries = failed.errors()
        raise error(_faults(document, model, tuple(path), tuple(below), subject,
                            entries[:MAX_FAULTS + 1], more)) from failed
    return result


def field_names(model: type[pydantic.BaseModel]) -> list[str]:
    """Return the names of a model's fields in documents."""
    return list(_hints(model))


def read_back(model: type[ModelT], data: Any) -> ModelT:
    """Validate data without positions; raises `LifecycleError` with the fields at fault."""
    try:
        return validate(Document('', data, (1, 1), {}), model)
    except DocumentError as error:
        raise LifecycleError('; '.join(fault.message for fault in error.faults)) from error


def seconds(
    default: float, description: str, *, most: float = LONGEST, more: bool = False
) -> Any:
    """
    Return a field for a duration in s, from 0 to `most`; `more`: greater than 0.

    Infinities and NaN are refused; the bound prevents overflows in computed times.
    """
    if most > LONGEST:
        raise ValueError(f'most: expected at most {LONGEST:.0f} s, got {most:g}')
    return pydantic.Field(default=default, description=description, le=most,
                          gt=0 if more else None, ge=None if more else 0)


def listed(least: int, most: int) -> Any:
    """Return a required field for a list of `least` to `most` elements."""
    names = ('min_items', 'max_items') if _PYDANTIC_1 else ('min_length', 'max_length')
    bounds: dict[str, Any] = dict(zip(names, (least, most)))
    return pydantic.Field(..., **bounds)


def _faults(
    document: Document, model: type[Any], base: tuple[Key, ...], below: tuple[Key, ...],
    data: Any, entries: Any, more: typing.Collection[str],
) -> list[Fault]:
    """Convert pydantic's errors to faults; those of the members of a union become one."""
    faults: list[Fault] = []
    refused: dict[tuple[Key, ...], list[str]] = {}  # expectations of the members, by place
    places: set[tuple[Key, ...]] = set()
    for entry in entries:
        kind = str(entry['type']).removeprefix('value_error.')
        location = tuple(entry['loc'])
        field = location[-1] if location else ''  # '': a key is not a valid string
        if kind in ('extra', 'extra_forbidden'):
            place = _place(data, location[:-1])
            known = _fields_at(model, place, data) | (set() if place else set(more))
            message = f"unknown field '{field}'" + nearest(field, known)
            if not _NAME.match(str(field)) and functools.reduce(
                    _entry, (*place, field), data) is None:
                message += "; inside {…}, a text with ',' must be put in quotes"
            if known:
                message += f" (known: {', '.join(sorted(known))})"
            place += (field,)
            faults.append(document.fault(base + below + place, message))
        elif kind == 'missing' and isinstance(field, str):
            place = _place(data, location[:-1])
            faults.append(document.fault(base + below + place, f"missing field '{field}'"))
            place += (field,)
        else:
            place = _place(data, location)
            refused.setdefault(place, []).append(_expected(kind, entry))
        places.add(place)
    for place, expected in refused.items():
        if any(len(other) > len(place) and other[:len(place)] == place for other in places):
            continue  # a member of the union that fits better has a fault inside
        value = functools.reduce(_entry, place, data)
        words = ' or '.join(dict.fromkeys(expected)).replace(' or expected ', ' or ')
        faults.append(document.fault(
            base + below + place, f"field '{_dotted(document, base, below + place)}': {words}, "
            f'got {_kind(value)}' + _hint(value, words)))
    return faults


def _place(data: Any, location: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return the path in the data; pydantic 2 adds the members of unions to locations."""
    place: tuple[Key, ...] = ()
    for key in location:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            continue
        place += (key,)
    return place


def _dotted(document: Document, base: tuple[Key, ...], place: tuple[Key, ...]) -> str:
    """Return the dotted name of a field, as written in the document."""
    written, dotted = functools.reduce(_entry, base, document.data), ''
    for key in place:
        if isinstance(key, int) and isinstance(written, (dict, str, bool, int, float)):
            continue  # a single entry, written without the list around it
        written = _entry(written, key)
        dotted += f'.{key}'
    return dotted[1:]


def _expected(kind: str, entry: Any) -> str:
    """Return what pydantic expected, in terms of YAML; pydantic's message if not known."""
    context = entry.get('ctx') or {}
    if found := _TYPE.match(kind):
        return f'expected {_TYPES[found[1]]}'
    if 'permitted' in context:  # pydantic 1
        return _one_of([repr(name) for name in context['permitted']])
    if kind == 'literal_error':
        return _one_of(re.findall("'[^']*'", str(context['expected'])))
    for name, words in _BOUNDS.items():
        limit = context.get(name, context.get('limit_value'))
        if limit is not None and (name in context or kind.endswith(f'.not_{name}')):
            return f'expected {words} {limit:g}'
    message = str(entry['msg']).removeprefix('Value error, ')
    return message[:1].lower() + message[1:]


def _one_of(names: list[str]) -> str:
    return 'expected ' + ('one of ' if len(names) > 1 else '') + ', '.join(names)


def _hint(value: Any, expected: str) -> str:
    """Return a hint: the nearest expected name, or the seconds for a time with a unit."""
    if not isinstance(value, str):
        return ''
    time = _TIME.match(value)
    if time and 'a number' in expected:
        return f'; write seconds, without a unit: {float(time[1]) * _SECONDS[time[2]]:g}'
    return nearest(value, re.findall("'([^']*)'", expected))


def _entry(data: Any, key: Key) -> Any:
    try:
        return data[key]
    except (KeyError, IndexError, TypeError):
        return None


def _fields_at(model: Any, location: tuple[Key, ...], data: Any) -> set[str]:
    """Return the field names of the model at `location` inside `model`, which describes `data`."""
    origin, arguments = typing.get_origin(model), typing.get_args(model)
    if origin in (Union, types.UnionType):
        return set().union(*(_fields_at(member, location, data) for member in arguments))
    if location and origin in (dict, list, tuple):
        return _fields_at(arguments[-1], location[1:], _entry(data, location[0]))
    if not (isinstance(model, type) and issubclass(model, pydantic.BaseModel)):
        return set()
    hints = _hints(_variant(model, data) or model)
    if not location:
        return set(hints)
    return _fields_at(hints.get(str(location[0])), location[1:], _entry(data, location[0]))


def _hints(model: type[pydantic.BaseModel]) -> dict[str, Any]:
    """Return the type of each field by its name in documents."""
    hints = typing.get_type_hints(model)
    return {field.alias or name: hints[name] for name, field in _fields(model).items()}


def _fields(model: type[pydantic.BaseModel]) -> dict[str, Any]:
    found: dict[str, Any] = getattr(model, '__fields__' if _PYDANTIC_1 else 'model_fields')
    return found


def _kind(value: Any) -> str:
    """Describe a value in terms of YAML."""
    if isinstance(value, dict):
        return 'a mapping'
    if isinstance(value, list):
        return 'a list'
    text = {None: 'null', True: 'true', False: 'false'}[value] \
        if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + '...'
