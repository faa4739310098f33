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
Templates in flow files: `{{ name }}` in any text, by sandboxed Jinja2.

A text that is one single `{{ expression }}` becomes the expression's value, whatever its type;
any other text stays text. An undefined name is an error. Who writes a template may be a program
that nobody has read, so that nothing small grows large in it, either: there are `if` and `for` (at
most two, one in the other), no other statements, and only the filters and methods listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
import json
import re
from typing import Any, NamedTuple, Union

import jinja2
from jinja2 import nodes
from jinja2.filters import FILTERS
import jinja2.meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..engine.errors import nearest

Path = tuple[Union[str, int], ...]

MAX_TEMPLATE = 4096
"""Longest template, in characters."""
MAX_EXPONENT = 16
MAX_LOOPS = 2
"""Loops, one inside the other."""
MAX_GROWN = 65_536
"""Longest text, in characters, that a filter makes of several."""
MAX_OUTPUT = 16 * 1024 * 1024
"""Longest text, in characters, that a template becomes."""

_METHODS = frozenset({
    'get', 'items', 'keys', 'values', 'lower', 'upper', 'strip', 'startswith', 'endswith', 'count',
})
_AS_IN_JINJA = (
    'abs', 'capitalize', 'count', 'd', 'default', 'dictsort', 'first', 'float', 'int',
    'items', 'last', 'length', 'list', 'lower', 'map', 'max', 'min', 'reject', 'rejectattr',
    'reverse', 'round', 'select', 'selectattr', 'sort', 'string', 'sum', 'title', 'trim',
    'truncate', 'unique', 'upper')
_STATEMENTS = (nodes.Output, nodes.If, nodes.For)


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox in which nothing small grows large, either."""

    intercepted_binops = frozenset({'*', '**', '%'})

    def call_binop(
        self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any
    ) -> Any:
        if not (_is_number(left) and _is_number(right)):
            raise TypeError(f"'{operator}' takes numbers only")
        if operator == '**' and abs(right) > MAX_EXPONENT:
            raise ValueError(f'exponent larger than {MAX_EXPONENT}')
        return super().call_binop(context, operator, left, right)

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether a template may call this."""
        return getattr(obj, '__name__', '') in _METHODS and super().is_safe_callable(obj)

    def format_string(self, *arguments: Any, **named: Any) -> str:
        """Refuse `format`, which Jinja before 3.1.5 calls without asking is_safe_callable."""
        raise jinja2.exceptions.SecurityError("'format' is not for templates")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < 1e300


def _join(value: Iterable[Any], separator: str = '') -> str:
    """Join the texts of a list."""
    parts = list(value)
    texts = [str(part) for part in parts[:MAX_GROWN]]
    if sum(map(len, texts)) + len(str(separator)) * len(parts) > MAX_GROWN:
        raise ValueError(f'join makes a text longer than {MAX_GROWN} characters')
    return str(separator).join(texts)


def _replace(value: Any, old: str, new: str) -> str:
    """Replace each `old` in a text."""
    text = str(value)
    if len(text) + text.count(str(old)) * len(str(new)) > MAX_GROWN:
        raise ValueError(f'replace makes a text longer than {MAX_GROWN} characters')
    return text.replace(str(old), str(new))


def _tojson(value: Any) -> str:
    """Write a value as JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


_ENVIRONMENT = _Environment(
    undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True)
_ENVIRONMENT.globals.clear()  # `range` and the like could make much out of little
_ENVIRONMENT.filters = {
    **{name: FILTERS[name] for name in _AS_IN_JINJA if name in FILTERS},
    'join': _join, 'replace': _replace, 'tojson': _tojson}
_SINGLE = re.compile(r'\s*\{\{((?:(?!\}\}).)*)\}\}\s*\Z', re.DOTALL)


class TemplateError(ValueError):
    """A template that can't be filled in, and where it stands in the data."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


def render(
    data: Any, names: Mapping[str, Any], path: Path = (), later: Collection[str] = (),
) -> Any:
    """
    Return a copy of `data` with every template in it filled in from `names`.

    Texts that read one of the names in `later` are left as they are.
    """
    if isinstance(data, str):
        if '{{' not in data and '{%' not in data:
            return data
        compiled = _compiled_at(data, path)
        if not compiled.reads.isdisjoint(later):
            return data
        return _filled_in(compiled, data, names, path)
    if isinstance(data, dict):
        return {key: render(value, names, (*path, key), later) for key, value in data.items()}
    if isinstance(data, list):
        return [render(value, names, (*path, index), later) for index, value in enumerate(data)]
    return data


def texts(data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield every template in `data`, and where it stands."""
    if isinstance(data, str):
        if '{{' in data or '{%' in data:
            yield path, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from texts(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from texts(value, (*path, index))


def names_read(data: Any, path: Path = ()) -> dict[str, Path]:
    """Return the names that the templates in `data` read, each with where; check them all."""
    return {name: where for where, text in texts(data, path)
            for name in sorted(_compiled_at(text, where).reads)}


def parts_read(text: str, name: str) -> frozenset[tuple[str, str]]:
    """Return what a template reads of a mapping: (KEY, KEY) of `name.KEY.KEY`, as far as told."""
    return frozenset(
        parts for node in _parsed(text).find_all((nodes.Getattr, nodes.Getitem))
        for parts in [_parts(node, name)] if parts is not None)


def _parts(node: nodes.Node, name: str) -> tuple[str, str] | None:
    keys: list[str] = []
    while isinstance(node, (nodes.Getattr, nodes.Getitem)):
        if isinstance(node, nodes.Getattr):
            keys.append(node.attr)
        else:
            keys.append(str(node.arg.value) if isinstance(node.arg, nodes.Const) else '')
        node = node.node
    if not isinstance(node, nodes.Name) or node.name != name:
        return None
    first, second, *_ = [*reversed(keys), '', '']
    return first, second


class _Compiled(NamedTuple):
    reads: frozenset[str]
    single: Callable[..., Any] | None  #: makes a value of any type
    template: jinja2.Template


@lru_cache(maxsize=4096)
def _compiled(text: str) -> _Compiled:
    tree = _parsed(text)
    reads = frozenset(jinja2.meta.find_undeclared_variables(tree))
    single = _SINGLE.match(text)
    return _Compiled(
        reads, _ENVIRONMENT.compile_expression(single.group(1), undefined_to_none=False)
        if single is not None else None, _ENVIRONMENT.from_string(tree))


def _compiled_at(text: str, path: Path) -> _Compiled:
    """Return a compiled template; `TemplateError` if it says what it may not."""
    if len(text) > MAX_TEMPLATE:
        raise TemplateError(path, f'template longer than {MAX_TEMPLATE} characters')
    try:
        return _compiled(text)
    except jinja2.TemplateError as error:
        raise TemplateError(path, f'template {text.strip()!r}: {error.message}') from error
    except (RecursionError, ValueError) as error:
        raise TemplateError(path, f'template {text.strip()[:100]!r}: {error}') from error


def _parsed(text: str) -> nodes.Template:
    tree = _ENVIRONMENT.parse(text)
    _check(tree, 0)
    return tree


def _check(node: nodes.Node, loops: int) -> None:
    """Refuse statements other than a few `for` and `if`."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Stmt) and not isinstance(child, _STATEMENTS):
            raise ValueError(f"'{type(child).__name__.lower()}' is not allowed, only if and for")
        inside = loops + isinstance(child, nodes.For)
        if inside > MAX_LOOPS or (isinstance(child, nodes.For) and child.recursive):
            raise ValueError(f'more than {MAX_LOOPS} loops, one inside the other')
        _check(child, inside)


def _filled_in(compiled: _Compiled, text: str, names: Mapping[str, Any], path: Path) -> Any:
    try:
        if compiled.single is None:
            return _limited(compiled.template.generate(names))
        value = compiled.single(**names)
        if isinstance(value, jinja2.Undefined):
            value._fail_with_undefined_error()
        _check_plain(value)
        return value
    except jinja2.TemplateError as error:
        missing = next((name for name in sorted(compiled.reads) if name not in names), '')
        raise TemplateError(path, f'template {text.strip()!r}: {error.message}'
                            + nearest(missing, names)) from error
    except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError, RecursionError,
            ) as error:
        raise TemplateError(path, f'template {text.strip()!r}: {error}') from error


def _check_plain(value: Any) -> None:
    """Refuse what only lives inside of templates: iterators, undefined parts, `self`."""
    if isinstance(value, (list, tuple)):
        for item in value:
            _check_plain(item)
    elif isinstance(value, dict):
        for item in value.values():
            _check_plain(item)
    elif value is not None and not isinstance(value, (str, int, float, bytes, bytearray)):
        raise TypeError(f'becomes a {type(value).__name__}, expected plain data')


def _limited(pieces: Iterable[str]) -> str:
    """Put the pieces of a text together, as long as it is not too long."""
    found, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_OUTPUT:
            raise ValueError(f'becomes longer than {MAX_OUTPUT} characters')
        found.append(piece)
    return ''.join(found)
