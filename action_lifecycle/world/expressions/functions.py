# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The values and the functions of expressions.

A value is a number, a boolean, a string, or a numpy array. `register_function` adds a function. If
a function raises an exception, the expression is unknown. Angles are in rad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from .value_types import ANYTHING, Kind, NUMERIC, widest
from ...documents.registry import Registry

NAN = 'not a number (NaN)'
INFINITE = 'infinite; it would count as a number with `infinite: ordered` in the facts file'


class NoValue(ValueError):
    """A part of an expression has no value."""


class Text(str):
    """A string value: supports comparison, `in` and `len`, but no arithmetic."""

    __slots__ = ()
    __mul__ = __rmul__ = __add__ = __mod__ = None  # type: ignore[assignment]

    def __getitem__(self, index: Any) -> Text:
        return Text(str.__getitem__(self, index))


class Texts(tuple[Text, ...]):
    """A value of several strings; without arithmetic."""

    __slots__ = ()
    __mul__ = __rmul__ = __add__ = None  # type: ignore[assignment]

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Texts(item) if isinstance(item, tuple) else item


def known(value: Any) -> Any:
    """Return the value; raises NoValue if it is or contains a NaN or an infinity."""
    if value.__class__ is float:
        if math.isfinite(value):
            return value
        raise NoValue(NAN if math.isnan(value) else INFINITE)
    if isinstance(value, (np.ndarray, np.floating)) and value.dtype.kind == 'f' \
            and not np.isfinite(value).all():
        raise NoValue(NAN if np.isnan(value).any() else INFINITE)
    return value


def ordered(value: Any) -> Any:
    """Return the value, which may be infinite; raises NoValue if it is or contains a NaN."""
    if value.__class__ is float:
        if math.isnan(value):
            raise NoValue(NAN)
    elif isinstance(value, (np.ndarray, np.floating)) and value.dtype.kind == 'f' \
            and np.isnan(value).any():
        raise NoValue(NAN)
    return value


def truth(value: Any) -> bool:
    """Return a boolean; raises NoValue for anything else."""
    if value is True or value is False:
        return bool(value)
    if isinstance(value, np.bool_):
        return bool(value)
    raise NoValue(f'neither true nor false: {value!r}')


def count(value: Any) -> Any:
    """Return booleans as 1 and 0, and other values unchanged."""
    if isinstance(value, np.bool_):
        return int(value)
    if isinstance(value, np.ndarray) and value.dtype == bool:
        return value.astype(float)
    return value


def vector(most: int, *values: Any) -> Any:
    """Return numbers as a vector; raises NoValue beyond `most` elements."""
    _check_size(most, sum(getattr(value, 'size', 1) for value in values))
    return np.array(values, dtype=float)


def limited(most: int, function: Callable[..., Any], *values: Any) -> Any:
    """Call a function; raises NoValue if its arrays broadcast to more than `most` elements."""
    shapes = [value.shape for value in values if isinstance(value, np.ndarray)]
    if shapes:
        whole = shapes[0] if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        _check_size(most, math.prod(whole))
        return quiet(function)(*values)
    return function(*values)


def flat(value: Any) -> Any:
    """Return the value; raises NoValue for an array of several dimensions."""
    if isinstance(value, np.ndarray) and value.ndim > 1:
        raise NoValue('an array of several dimensions')
    return value


def _check_size(most: int, size: int) -> None:
    if size > most:
        raise NoValue(f'an array of {size} numbers; here at most {most} are taken')


def power(base: Any, exponent: float) -> Any:
    """Return the power as a float, since integers would grow without bound."""
    return (base.astype(float) if isinstance(base, np.ndarray) else float(base)) ** exponent


OPERATORS: dict[str, Callable[..., Any]] = {
    'Add': operator.add, 'Sub': operator.sub, 'Mult': operator.mul, 'Div': operator.truediv,
    'FloorDiv': operator.floordiv, 'Mod': operator.mod, 'Eq': operator.eq, 'NotEq': operator.ne,
    'Lt': operator.lt, 'LtE': operator.le, 'Gt': operator.gt, 'GtE': operator.ge}
"""Operators on arrays by the names of their syntax nodes; numbers use Python's operators."""
CONSTANTS: dict[str, Any] = {
    'true': True, 'false': False, 'pi': math.pi, 'inf': math.inf,
}


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of numpy that does not warn where its result is NaN, as of infinities."""
    def called(*values: Any) -> Any:
        with np.errstate(invalid='ignore'):
            return function(*values)
    return called


class Function(NamedTuple):
    """A function of expressions; see `register_function`."""

    call: Callable[..., Any]
    doc: str
    fewest: int
    most: int
    takes: frozenset[Kind]
    gives: Kind | Callable[[Sequence[Kind]], Kind]

    def kind(self, arguments: Sequence[Kind]) -> Kind:
        """Return the kind of the result, given those of the arguments."""
        return self.gives if isinstance(self.gives, Kind) else self.gives(arguments)


FUNCTIONS: Registry[Function] = Registry(
    'action_lifecycle.functions', 'there is no function', expected='Function',
    is_valid=lambda thing: isinstance(thing, Function))


def register_function(
    name: str, doc: str, *, arguments: int | tuple[int, int] = 1,
    takes: frozenset[Kind] = NUMERIC, gives: Kind | Callable[[Sequence[Kind]], Kind] = Kind.NUMBER,
) -> Callable[[Callable[..., Any]], Function]:
    """
    Return a decorator that registers a function of expressions.

    `doc`: one line for docs/world.md. `arguments`: their number, or the fewest and the most.
    `takes`: the accepted kinds of arguments. `gives`: the kind of the result, or a function that
    returns it for the kinds of the arguments (`widest` for elementwise functions).
    """
    fewest, most = (arguments, arguments) if isinstance(arguments, int) else arguments

    def register(call: Callable[..., Any]) -> Function:
        return FUNCTIONS.add(name, Function(call, doc, fewest, most, takes, gives))
    return register


@register_function('norm', 'Euclidean length of a vector')
def _norm(value: Any) -> float:
    """Return the Euclidean length."""
    return float(np.linalg.norm(np.asarray(value, dtype=float)))


@register_function('dist', 'Euclidean distance of two points or numbers', arguments=2)
def _dist(one: Any, other: Any) -> float:
    """Return the Euclidean distance of two points (or numbers)."""
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if a.shape != b.shape:
        raise ValueError(f'dist of {a.shape} and {b.shape}')
    return float(np.linalg.norm(a - b))


@register_function('angle', 'rad, 0 to π: between two angles, two directions (2 or 3 numbers) '
                   'or two quaternions (4)', arguments=2)
def _angle(one: Any, other: Any) -> float:
    """
    Return the angle between two directions, in rad, 0 to pi.

    Numbers are angles; vectors of 2 or 3 are directions; vectors of 4 are quaternions (x, y, z,
    w), for which it is the angle of the rotation between them.
    """
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if a.shape != b.shape or a.size not in (1, 2, 3, 4):
        raise ValueError(f'angle of {a.shape} and {b.shape}')
    if a.size == 1:
        return abs(math.remainder(float(a) - float(b), 2 * math.pi))
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    if length == 0.0:
        raise NoValue('angle of a vector without length')
    cosine = float(a @ b) / length
    if a.size == 4:
        return 2 * math.acos(min(1.0, abs(cosine)))
    return math.acos(max(-1.0, min(1.0, cosine)))


def _extreme(builtin: Callable[..., Any], array: Callable[[Any], Any]) -> Callable[..., Any]:
    def extreme(*values: Any) -> Any:
        return array(values[0]) if len(values) == 1 else builtin(*map(ordered, values))
    return extreme


def _extreme_kind(kinds: Sequence[Kind]) -> Kind:
    return Kind.NUMBER if set(kinds) <= {Kind.NUMBER, Kind.VECTOR} else Kind.ANY


register_function('abs', 'the absolute value', gives=widest)(abs)
register_function('min', 'the least element of a vector, or the least of several numbers',
                  arguments=(1, 16), takes=ANYTHING, gives=_extreme_kind)(_extreme(min, np.min))
register_function('max', 'the greatest', arguments=(1, 16), takes=ANYTHING, gives=_extreme_kind)(
    _extreme(max, np.max))
register_function('sum', 'the sum of the elements')(quiet(np.sum))
register_function('mean', 'the arithmetic mean of the elements')(quiet(np.mean))
register_function('any', 'whether an element is true, as in `any(v > 1)`', gives=Kind.TRUTH)(
    np.any)
register_function('all', 'whether all elements are true', gives=Kind.TRUTH)(np.all)
register_function('len', 'the number of elements or characters', takes=ANYTHING)(len)
register_function('round', 'rounded, to a number of decimals if it is given', arguments=(1, 2),
                  gives=widest)(np.round)
register_function('sqrt', 'the square root', gives=widest)(
    quiet(np.sqrt))
register_function('sin', 'the sine of an angle in rad', gives=widest)(quiet(np.sin))
register_function('cos', 'the cosine of an angle in rad', gives=widest)(quiet(np.cos))
register_function('atan2', 'the angle in rad of y and x', arguments=2, gives=widest)(np.arctan2)
