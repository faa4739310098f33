# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The operators, filters, tests and methods of templates; each spends steps of a budget.

Functions that read or create data spend the steps for it beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import json
import operator
from typing import Any

from ..budget import Budget, MAX_DIGITS, TEXT_STEP, walk

MAX_INTEGER = 2 ** 64
"""Bound of the absolute value of integers in templates."""
MAX_EXPONENT = 16


class TemplateFault(ValueError):
    """A template can't be filled in."""


class Missing:
    """The value of something undefined; `message` describes it."""

    __slots__ = ('message',)

    def __init__(self, message: str) -> None:
        self.message = message


_NO_DEFAULT = Missing('')


def shown(value: Any) -> str:
    """Return the kind of a value, for messages."""
    for kind, words in ((bool, 'a boolean'), (str, 'a text'), (dict, 'a mapping'),
                        ((int, float), 'a number'), ((list, tuple), 'a list')):
        if isinstance(value, kind):
            return words
    return 'nothing' if value is None else f'a {type(value).__name__}'


def number(value: Any) -> Any:
    """Return a number; raises `TemplateFault` if it is no number or an integer beyond 64 bits."""
    if isinstance(value, float):
        return value
    if not isinstance(value, int):
        raise TemplateFault(f'expected a number, got {shown(value)}')
    if abs(value) >= MAX_INTEGER:
        raise TemplateFault('a whole number beyond 64 bits')
    return value


def to_text(value: Any, budget: Budget) -> str:
    """Return a value as a string; raises `TemplateFault` if it is not plain data."""
    walk(budget, value)
    if isinstance(value, str):
        return value
    if value is not None and not isinstance(value, (bool, int, float, list, tuple, dict, bytes)):
        raise TemplateFault(f'expected plain data, got {shown(value)}')
    return _made(str(value), budget)


def plain_list(budget: Budget, value: Any) -> list[Any]:
    """Return the elements of a list, the keys of a mapping or the characters of a string."""
    if not isinstance(value, (list, tuple, dict, str)):
        raise TemplateFault(f'expected a list, got {shown(value)}')
    budget.spend(len(value))
    return list(value)


def entry_of(value: Any, key: Any) -> Any:
    """Return an entry of a mapping or an element of a list, or Missing."""
    if isinstance(value, dict):
        if key in value:
            return value[key]
    elif isinstance(value, (list, tuple, str)) and isinstance(key, int) \
            and -len(value) <= key < len(value):
        return value[key]
    return Missing(f'{shown(value)} has no {key!r:.80}')


def member(value: Any, container: Any) -> bool:
    """Whether a value is in a list, a mapping or a string."""
    if isinstance(container, str) and not isinstance(value, str):
        raise TemplateFault(f"'in' a text needs a text, not {shown(value)}")
    if not isinstance(container, (str, list, tuple, dict)):
        raise TemplateFault(f"'in' needs a list, a mapping or a text, not {shown(container)}")
    return value in container


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    'eq': operator.eq, 'ne': operator.ne, 'lt': operator.lt, 'lteq': operator.le,
    'gt': operator.gt, 'gteq': operator.ge}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    '+': operator.add, '-': operator.sub, '*': operator.mul, '/': operator.truediv,
    '//': operator.floordiv, '%': operator.mod, '**': operator.pow}


def binary(sign: str, left: Any, right: Any, budget: Budget) -> Any:
    """Return the result of a binary operator; raises `TemplateFault` for unsuitable operands."""
    if sign == '+':
        if isinstance(left, str) and isinstance(right, str):
            budget.spend((len(left) + len(right)) // TEXT_STEP)
            return left + right
        if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
            budget.spend(len(left) + len(right))
            return [*left, *right]
    for value in (left, right):
        if not isinstance(value, (int, float)):
            raise TemplateFault(f"'{sign}' takes numbers only, not {shown(value)}")
    left, right = number(left), number(right)
    if sign == '**' and abs(right) > MAX_EXPONENT:
        raise TemplateFault(f'exponent larger than {MAX_EXPONENT}')
    return number(_ARITHMETIC[sign](left, right))


# Filters: each gets the budget, the value, and its arguments


def _made(text: str, budget: Budget) -> str:
    """Spend the steps of a new string and return it."""
    budget.spend(len(text) // TEXT_STEP)
    return text


def _of_text(function: Callable[[str], str]) -> Callable[[Budget, Any], str]:
    def changed(budget: Budget, value: Any) -> str:
        return _made(function(to_text(value, budget)), budget)
    return changed


def _default(
    budget: Budget, value: Any, default_value: Any = '', boolean: bool = False
) -> Any:
    return default_value if value.__class__ is Missing or (boolean and not value) else value


def _length(budget: Budget, value: Any) -> int:
    if not isinstance(value, (str, list, tuple, dict)):
        raise TemplateFault(f'expected a list, a mapping or a text, got {shown(value)}')
    return len(value)


def _first(budget: Budget, value: Any) -> Any:
    return next(iter(plain_list(budget, value)), Missing('the first of nothing'))


def _last(budget: Budget, value: Any) -> Any:
    return next(reversed(plain_list(budget, value)), Missing('the last of nothing'))


def _reverse(budget: Budget, value: Any) -> Any:
    items = plain_list(budget, value)[::-1]
    return ''.join(items) if isinstance(value, str) else items


def _float(budget: Budget, value: Any, default: Any = 0.0) -> Any:
    if isinstance(value, str) and len(value) > MAX_DIGITS:
        raise TemplateFault(f'a number of more than {MAX_DIGITS} characters')
    try:
        return float(value)
    except (TypeError, ValueError):
        return default


def _int(budget: Budget, value: Any, default: Any = 0) -> Any:
    if isinstance(value, int):
        return int(number(value))
    found = _float(budget, value, None)
    if found is None:
        return default
    try:
        whole = int(value)  # strings may have more digits than a float
    except ValueError:
        whole = int(found)
    return number(whole)


def _abs(budget: Budget, value: Any) -> Any:
    return number(abs(number(value)))


def _round(budget: Budget, value: Any, precision: Any = 0, method: Any = 'common') -> Any:
    if not isinstance(precision, int) or abs(precision) > MAX_EXPONENT:
        raise TemplateFault(f'round takes up to {MAX_EXPONENT} digits')
    if method not in ('common', 'ceil', 'floor'):
        raise TemplateFault("round takes 'common', 'ceil' or 'floor'")
    if method == 'common':
        return number(round(number(value), precision))
    scaled = number(value) * 10.0 ** precision
    whole = scaled // 1 if method == 'floor' else -(-scaled // 1)
    return number(whole / 10.0 ** precision)


def _alike(
    budget: Budget, value: Any, attribute: Any = None
) -> tuple[list[Any], list[Any]]:
    """Return the sort keys of elements (all numbers or all strings), and the elements."""
    items = plain_list(budget, value)
    keys = items if attribute is None else _attribute_of(budget, items, attribute)
    walk(budget, keys)
    if not all(isinstance(key, (int, float)) for key in keys) \
            and not all(isinstance(key, str) for key in keys):
        raise TemplateFault('expected numbers only, or texts only')
    budget.spend(len(keys) * len(keys).bit_length())
    return keys, items


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(budget: Budget, value: Any, attribute: Any = None) -> Any:
        keys, items = _alike(budget, value, attribute)
        if not items:
            return Missing('the extreme of nothing')
        return items[function(range(len(keys)), key=keys.__getitem__)]
    return extreme


def _sort(budget: Budget, value: Any, reverse: Any = False, attribute: Any = None) -> list[Any]:
    keys, items = _alike(budget, value, attribute)
    return [items[index] for index in sorted(
        range(len(keys)), key=keys.__getitem__, reverse=bool(reverse))]


def _unique(budget: Budget, value: Any) -> list[Any]:
    return list(dict.fromkeys(_alike(budget, value)[1]))


def _sum(budget: Budget, value: Any, attribute: Any = None, start: Any = 0) -> Any:
    items = plain_list(budget, value)
    total = number(start)
    for item in items if attribute is None else _attribute_of(budget, items, attribute):
        total = number(total + number(item))
    return total


def _map(budget: Budget, value: Any, name: Any = None, *arguments: Any, **named: Any) -> list[Any]:
    items = plain_list(budget, value)
    if name is None and 'attribute' in named and not named.keys() - {'attribute', 'default'}:
        return _attribute_of(budget, items, **named)
    if not isinstance(name, str) or name not in FILTERS:
        raise TemplateFault("map takes attribute='…', or the name of a filter")
    found = []
    for item in items:
        budget.spend()
        found.append(FILTERS[name](budget, item, *arguments, **named))
        if found[-1].__class__ is Missing:
            raise TemplateFault(found[-1].message)
    return found


def _attribute_of(
    budget: Budget, items: list[Any], attribute: Any, default: Any = _NO_DEFAULT
) -> list[Any]:
    """Return an attribute of each element; `a.b` is attribute b of attribute a."""
    if not isinstance(attribute, (str, int)):
        raise TemplateFault(f'expected the name of an attribute, got {shown(attribute)}')
    keys = [int(part) if part.isdecimal() and len(part) < 10 else part
            for part in str(attribute).split('.')]
    return [_followed(budget, item, keys, default) for item in items]


def _followed(budget: Budget, value: Any, keys: list[Any], default: Any) -> Any:
    for key in keys:
        budget.spend()
        if isinstance(value, dict) and key not in value and str(key) in value:
            key = str(key)
        value = entry_of(value, key) if isinstance(value, (dict, list, tuple)) \
            else Missing(f'{shown(value)} has no {key!r:.80}')
        if value.__class__ is Missing:
            if default.__class__ is Missing:
                raise TemplateFault(value.message)
            return default
    return value


def _join(budget: Budget, value: Any, d: Any = '', attribute: Any = None) -> str:
    items = plain_list(budget, value)
    if attribute is not None:
        items = _attribute_of(budget, items, attribute)
    separator = to_text(d, budget)
    budget.spend(len(separator) * len(items) // TEXT_STEP)
    return separator.join([to_text(item, budget) for item in items])


def _replace(budget: Budget, value: Any, old: Any, new: Any) -> str:
    text, before, after = (to_text(part, budget) for part in (value, old, new))
    budget.spend((len(text) + text.count(before) * len(after)) // TEXT_STEP)
    return text.replace(before, after)


def _tojson(budget: Budget, value: Any) -> str:
    walk(budget, value)
    return _made(json.dumps(value, ensure_ascii=False, default=str), budget)


FILTERS: Mapping[str, Callable[..., Any]] = {
    'abs': _abs, 'capitalize': _of_text(str.capitalize), 'count': _length, 'd': _default,
    'default': _default, 'first': _first, 'float': _float, 'int': _int, 'join': _join,
    'last': _last, 'length': _length, 'list': plain_list, 'lower': _of_text(str.lower),
    'map': _map, 'max': _extreme(max), 'min': _extreme(min), 'replace': _replace,
    'reverse': _reverse, 'round': _round, 'sort': _sort, 'string': _of_text(str), 'sum': _sum,
    'title': _of_text(str.title), 'tojson': _tojson, 'trim': _of_text(str.strip),
    'unique': _unique, 'upper': _of_text(str.upper)}


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds) and (
        bool in kinds or not isinstance(value, bool))


TESTS: Mapping[str, Callable[[Any], bool]] = {
    'defined': lambda value: value.__class__ is not Missing,
    'undefined': lambda value: value.__class__ is Missing,
    'none': lambda value: value is None, 'true': lambda value: value is True,
    'false': lambda value: value is False, 'boolean': _is(bool), 'number': _is(int, float),
    'integer': _is(int), 'float': _is(float), 'string': _is(str), 'mapping': _is(dict),
    'sequence': _is(list, tuple, str)}


# Methods: each gets the budget, its object, and its arguments


def _method(name: str, kinds: type | tuple[type, ...], function: Callable[..., Any]
            ) -> Callable[..., Any]:
    def called(budget: Budget, value: Any, *arguments: Any) -> Any:
        if not isinstance(value, kinds):
            raise TemplateFault(f"{shown(value)} has no method '{name}'")
        if isinstance(value, str) and not all(isinstance(item, str) for item in arguments):
            raise TemplateFault(f"'{name}' of a text takes texts")
        if name != 'get':  # which reads one entry
            walk(budget, value)
            walk(budget, arguments)
        try:
            found = function(value, *arguments)
        except TypeError:
            raise TemplateFault(f"'{name}' does not take these arguments") from None
        return _made(found, budget) if isinstance(found, str) else found
    return called


def _pairs(value: Mapping[str, Any]) -> Iterable[Any]:
    return [[key, item] for key, item in value.items()]


METHODS: Mapping[str, Callable[..., Any]] = {
    name: _method(name, kinds, function) for name, kinds, function in (
        ('get', dict, dict.get), ('items', dict, _pairs), ('keys', dict, list),
        ('values', dict, lambda value: list(value.values())), ('lower', str, str.lower),
        ('upper', str, str.upper), ('strip', str, lambda value: value.strip()),
        ('startswith', str, str.startswith), ('endswith', str, str.endswith),
        ('count', (str, list, tuple), lambda value, item: value.count(item)))}
