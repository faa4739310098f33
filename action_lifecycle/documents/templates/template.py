# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Templates in flow files: `{{ name }}` in any string, in a subset of Jinja2.

A string that is a single `{{ expression }}` becomes the value of the expression, of any type; any
other template becomes a string. An undefined name is an error. Templates may be machine-written,
so their evaluation is bounded; see `language`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Union

import jinja2
from jinja2 import nodes

from .language import parsed, Template
from ..budget import Budget, budget, BudgetExceeded, MAX_DEPTH, TEXT_STEP, TOO_DEEP
from ..errors import LifecycleError
from ..suggestions import nearest

Path = tuple[Union[str, int], ...]

RENDER_STEPS = 2_000_000
"""Budget, in steps, for filling in data, unless an outer budget applies."""
VALUE_STEPS = 8
"""Steps per copied value, including its later check."""


class TemplateError(LifecycleError, ValueError):
    """A template can't be filled in; `path` is its path in the data."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


def render(
    data: Any, names: Mapping[str, Any], path: Path = (), later: Collection[str] = (),
) -> Any:
    """
    Return a copy of `data` with its templates filled in from `names`; raises `TemplateError`.

    Templates that read a name in `later` are left unchanged.
    """
    with budget(RENDER_STEPS, 'filling in templates') as limit:
        return _rendered(data, names, path, later, limit)


def _rendered(
    data: Any, names: Mapping[str, Any], path: Path, later: Collection[str], limit: Budget,
) -> Any:
    _spend(limit, VALUE_STEPS, path)
    if isinstance(data, str):
        if not _is_template(data):
            _spend(limit, len(data) // TEXT_STEP, path)
            return data
        template = _parsed_at(data, path)
        return data if not template.reads.isdisjoint(later) \
            else _filled_in(template, data, names, path, limit)
    if isinstance(data, (dict, list)) and len(path) > 2 * MAX_DEPTH:
        raise TemplateError(path, TOO_DEEP)
    if isinstance(data, dict):
        return {key: _rendered(value, names, (*path, key), later, limit)
                for key, value in data.items()}
    if isinstance(data, list):
        return [_rendered(value, names, (*path, index), later, limit)
                for index, value in enumerate(data)]
    return data


def texts(data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the path and string of every template in `data`."""
    if isinstance(data, str):
        if _is_template(data):
            yield path, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from texts(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from texts(value, (*path, index))


def has_template(data: Any) -> bool:
    """Return whether `data` contains a template, whose value is known later."""
    return any(True for _ in texts(data))


def names_read(data: Any, path: Path = ()) -> dict[str, Path]:
    """Return the names that the templates in `data` read, with paths; raises `TemplateError`."""
    return {name: where for where, text in texts(data, path)
            for name in sorted(_parsed_at(text, where).reads)}


def parts_read(text: str, name: str) -> frozenset[tuple[str, str]]:
    """Return the (KEY, KEY) of each `name.KEY.KEY` in a template; '' for missing keys."""
    return frozenset(
        parts for node in _parsed_at(text, ()).tree.find_all((nodes.Getattr, nodes.Getitem))
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


def _is_template(text: str) -> bool:
    return '{{' in text or '{%' in text


def _parsed_at(text: str, path: Path) -> Template:
    """Return a parsed template; raises `TemplateError` if it is not valid."""
    try:
        return parsed(text)
    except (jinja2.TemplateError, BudgetExceeded, RecursionError, ValueError) as error:
        why = 'nested too deeply' if isinstance(error, RecursionError) \
            else getattr(error, 'message', error)
        raise TemplateError(path, f'template {_shown(text)}: {why}') from error


def _filled_in(
    template: Template, text: str, names: Mapping[str, Any], path: Path, limit: Budget
) -> Any:
    try:
        return template.fill_in(names, limit)
    except (ArithmeticError, BudgetExceeded, LookupError, TypeError, ValueError, RecursionError,
            ) as error:
        missing = next((name for name in sorted(template.reads) if name not in names), '')
        hint = nearest(missing, names) if f"'{missing}' is undefined" in str(error) else ''
        raise TemplateError(path, f'template {_shown(text)}: {error}{hint}') from error


def _spend(limit: Budget, count: int, path: Path) -> None:
    try:
        limit.spend(count)
    except BudgetExceeded as error:
        raise TemplateError(path, str(error)) from None


def _shown(text: str) -> str:
    stripped = text.strip()
    return repr(stripped if len(stripped) <= 200 else stripped[:200] + '…')
