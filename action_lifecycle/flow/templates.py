# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Templates in flow files: `{{ name }}` in any text, by sandboxed Jinja2.

A text that is one single `{{ expression }}` becomes the expression's value, whatever its type;
any other text stays text. An undefined name is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_TEMPLATE = 4096
"""Longest template, in characters."""
MAX_EXPONENT = 16


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox in which nothing small grows large, either."""

    intercepted_binops = frozenset({'*', '**'})

    def call_binop(
        self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any
    ) -> Any:
        if not (_is_number(left) and _is_number(right)):
            raise TypeError(f"'{operator}' takes numbers only")
        if operator == '**' and abs(right) > MAX_EXPONENT:
            raise ValueError(f'exponent larger than {MAX_EXPONENT}')
        return super().call_binop(context, operator, left, right)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < 1e300


_ENVIRONMENT = _Environment(
    undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True)
_ENVIRONMENT.globals.clear()  # `range` and the like could make much out of little
_SINGLE = re.compile(r'\s*\{\{((?:(?!\}\}).)*)\}\}\s*\Z', re.DOTALL)


class TemplateError(ValueError):
    """A template that can't be filled in, and where it stands in the data."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


def render(data: Any, names: Mapping[str, Any], path: tuple[str | int, ...] = ()) -> Any:
    """Return a copy of `data` with every template in it filled in from `names`."""
    if isinstance(data, str):
        return _text(data, names, path) if '{{' in data or '{%' in data else data
    if isinstance(data, dict):
        return {key: render(value, names, (*path, key)) for key, value in data.items()}
    if isinstance(data, list):
        return [render(value, names, (*path, index)) for index, value in enumerate(data)]
    return data


def _text(text: str, names: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
    if len(text) > MAX_TEMPLATE:
        raise TemplateError(path, f'template longer than {MAX_TEMPLATE} characters')
    try:
        single = _SINGLE.match(text)
        if single is None:
            return _ENVIRONMENT.from_string(text).render(names)
        value = _ENVIRONMENT.compile_expression(
            single.group(1), undefined_to_none=False)(**names)
        if isinstance(value, jinja2.Undefined):
            value._fail_with_undefined_error()
        return value
    except jinja2.TemplateError as error:
        raise TemplateError(path, f'template {text.strip()!r}: {error.message}') from error
    except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError) as error:
        raise TemplateError(path, f'template {text.strip()!r}: {error}') from error
