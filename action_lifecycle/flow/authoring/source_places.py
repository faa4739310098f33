# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where in a Python file a call, its arguments, and the entries of literals in them stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
import functools
import linecache
import sys
from types import FrameType
from typing import Any, NamedTuple

from ...documents.yaml_document import Position

_PACKAGE = __name__.rpartition('.')[0]


class SourcePlace(NamedTuple):
    """The position of a call in a Python file; `node` is its syntax node, if it is known."""

    file: str
    position: Position  #: line and column (from 1)
    node: ast.Call | None


def place_of_caller(function: str) -> SourcePlace:
    """Return the place of the call of `function` by which this package was entered."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get('__name__', '').startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return SourcePlace('python', (1, 1), None)
    line = frame.f_lineno
    node = min((call for call in _calls(frame.f_code.co_filename)
                if call.lineno <= line <= (call.end_lineno or 0) and _name(call) == function),
               key=lambda call: (call.end_lineno or 0) - call.lineno, default=None)
    return SourcePlace(frame.f_code.co_filename, _start(node) if node else (line, 1), node)


@functools.lru_cache(maxsize=100)
def _calls(file: str) -> tuple[ast.Call, ...]:
    """Return the calls in a file; empty if its source is not there or has changed its syntax."""
    try:
        tree = ast.parse(''.join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) \
        else call.func.id if isinstance(call.func, ast.Name) else ''


def _start(node: ast.AST) -> Position:
    return node.lineno, node.col_offset + 1  # type: ignore[attr-defined]


def entries_of(
    node: ast.AST | None, positional: Sequence[str] = (),
) -> Iterator[tuple[Any, Position, ast.AST]]:
    """
    Yield the entries of a call, a mapping or a list: key, position, and node of the value.

    `positional`: the names of the positional arguments of a call.
    """
    if isinstance(node, ast.Call):
        if not any(isinstance(argument, ast.Starred) for argument in node.args):
            for name, argument in zip(positional, node.args):
                yield name, _start(argument), argument
        for keyword in node.keywords:
            if keyword.arg is not None:
                yield keyword.arg, _start(keyword), keyword.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant):
                yield key.value, _start(key), value
    elif isinstance(node, (ast.List, ast.Tuple)):
        for index, item in enumerate(node.elts):
            yield index, _start(item), item
