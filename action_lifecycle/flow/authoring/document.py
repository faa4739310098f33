# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The document of a flow in Python: plain data, with positions in the Python file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
import re
from typing import Any

from .messages import fields_of_message, is_message
from .parts import FlowPart
from .source_places import entries_of, SourcePlace
from .values import Value
from ...documents.errors import DocumentError, Fault
from ...documents.yaml_document import Document, Key, Position

MAX_DEPTH = 60
"""Maximum depth of mappings and lists."""


def document_of(fields: FlowPart, file: str) -> Document:
    """Return a document; raises `DocumentError` for things that no flow file can contain."""
    builder = _Builder(file)
    plain = builder.converted(fields, None, (), fields.place.position)
    if builder.faults:
        raise DocumentError(builder.faults)
    return Document(file, plain, fields.place.position, builder.marks)


class _Builder:
    """
    Converts values to plain data, and notes where they stand.

    `of` in its methods says what the data is of: `condition`; `sent`: a message whose facts are
    read when it is sent; '': anything else.
    """

    def __init__(self, file: str) -> None:
        self.marks: dict[int, dict[Key, Position]] = {}
        self.faults: list[Fault] = []
        self._file = file

    def converted(
        self, value: Any, node: ast.AST | None, path: tuple[Key, ...], position: Position,
        of: str = '',
    ) -> Any:
        """Return a value as plain data; `node` and `position`: where it stands."""
        if isinstance(value, Value):
            return self._value(value, path, position, of)
        if len(path) > MAX_DEPTH:
            return self._fault(path[:6], position, 'nested too deeply; does a flow nest itself?')
        if callable(getattr(type(value), 'fields', None)):  # a flow
            value = value.fields()
        if isinstance(value, FlowPart) and value.place.file == self._file:
            node, position = value.place.node, value.place.position
        if is_message(value):
            value = fields_of_message(value)
        if hasattr(value, 'tolist'):
            value = value.tolist()
        if isinstance(value, Mapping):
            return self._mapping(value, node, path, position, of)
        if isinstance(value, (list, tuple)):
            return self._list(value, node, path, position, of)
        return self._scalar(value, path, position)

    def _mapping(
        self, value: Mapping[Any, Any], node: ast.AST | None, path: tuple[Key, ...],
        position: Position, of: str,
    ) -> dict[str, Any]:
        part = value if isinstance(value, FlowPart) \
            else FlowPart(SourcePlace(self._file, position, None), {})
        arguments = {field: argument for argument, field in part.renamed.items()}
        places: dict[Any, tuple[Position, ast.AST | None]] = {
            key: (at, below) for key, at, below in entries_of(node, part.positional)}
        made: dict[str, Any] = {}
        self.marks[id(made)] = marks = {}
        for key, item in value.items():
            at, below = places.get(arguments.get(key, key), (self._own(item, position), None))
            marks[str(key)] = at
            made[str(key)] = self.converted(
                item, below, (*path, str(key)), at, _inside(part, key, item, of))
        return made

    def _list(
        self, value: Sequence[Any], node: ast.AST | None, path: tuple[Key, ...],
        position: Position, of: str,
    ) -> list[Any]:
        places: list[tuple[Position, ast.AST | None]] = [
            (at, below) for _, at, below in entries_of(node)]
        if len(places) != len(value):  # it was not written as it is
            places = [(self._own(item, position), None) for item in value]
        made: list[Any] = []
        self.marks[id(made)] = {index: at for index, (at, _) in enumerate(places)}
        for index, (item, (at, below)) in enumerate(zip(value, places)):
            made.append(self.converted(item, below, (*path, index), at, of))
        return made

    def _own(self, item: Any, position: Position) -> Position:
        return item.place.position if isinstance(item, FlowPart) \
            and item.place.file == self._file else position

    def _scalar(self, value: Any, path: tuple[Key, ...], position: Position) -> Any:
        if isinstance(value, Enum):
            value = value.value
        if value is None or isinstance(value, bool):
            return value
        for kind in (int, float, str):
            if isinstance(value, kind):
                return kind(value)
        return self._fault(path, position, f'{value!r} can not stand in a flow; expected a '
                           'number, a text, true or false, a list or a mapping')

    def _value(self, value: Value, path: tuple[Key, ...], position: Position, of: str) -> Any:
        try:
            return value.in_message() if of == 'sent' else value.expression \
                if of == 'condition' else value.template
        except RecursionError:
            return self._fault(path, position, 'the expression is nested too deeply')

    def _fault(self, path: tuple[Key, ...], position: Position, message: str) -> None:
        self.faults.append(Fault(
            self._file, *position, f"{'.'.join(map(str, path))}: {message}"))


def _inside(part: FlowPart, key: Any, item: Any, of: str) -> str:
    """Return what the data is of that stands under a key of a part, or of a mapping in it."""
    if key in part.messages:
        return 'sent' if part.wrapped == 'motion' or part.get('physical') is True else ''
    if key in part.conditions:
        return 'condition'
    if of == 'condition':  # a mapping that was written as in a flow file
        return of if key in ('condition', 'until') or isinstance(item, Mapping) else ''
    return of if of == 'sent' else ''


# -- positions in the flow file

def line_of(message: str, source: str, written: Document, in_python: Document) -> str:
    """Return a message with `source:LINE:COLUMN` replaced by the place in the Python file."""
    found = {position: path for path, position in _positions(written, written.data, ())}

    def place(match: re.Match[str]) -> str:
        path = found.get((int(match[1]), int(match[2])))
        if path is None:
            return match[0]
        line, column = in_python.mark(path)
        return f'{in_python.name}:{line}:{column}'
    return re.sub(re.escape(source) + r':(\d+):(\d+)', place, message)


def _positions(
    document: Document, data: Any, path: Sequence[Key]
) -> Iterator[tuple[tuple[Key, ...], Position]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) \
        if isinstance(data, list) else ()
    for key, value in entries:
        yield (*path, key), document.mark((*path, key))
        yield from _positions(document, value, (*path, key))
