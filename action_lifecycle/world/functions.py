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
The values and the functions of expressions.

A value is a number, a boolean, a string, or a numpy array. A function without a result raises one
of `ERRORS`, and the expression is unknown. Angles are in rad.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import operator
from typing import Any

import numpy as np


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
        raise NoValue('not a finite number')
    if isinstance(value, (np.ndarray, np.floating)) and value.dtype.kind == 'f' \
            and not np.isfinite(value).all():
        raise NoValue('not a finite number')
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


def _norm(value: Any) -> float:
    """Return the Euclidean length."""
    return float(np.linalg.norm(np.asarray(value, dtype=float)))


def _dist(one: Any, other: Any) -> float:
    """Return the Euclidean distance of two points (or numbers)."""
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if a.shape != b.shape:
        raise ValueError(f'dist of {a.shape} and {b.shape}')
    return float(np.linalg.norm(a - b))


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
        return array(values[0]) if len(values) == 1 else builtin(*map(known, values))
    return extreme


OPERATORS: dict[str, Callable[..., Any]] = {
    'Add': operator.add, 'Sub': operator.sub, 'Mult': operator.mul, 'Div': operator.truediv,
    'FloorDiv': operator.floordiv, 'Mod': operator.mod, 'Eq': operator.eq, 'NotEq': operator.ne,
    'Lt': operator.lt, 'LtE': operator.le, 'Gt': operator.gt, 'GtE': operator.ge}
"""Operators on arrays by the names of their syntax nodes; numbers use Python's operators."""
FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    # name: function, fewest and most arguments
    'abs': (abs, 1, 1),
    'min': (_extreme(min, np.min), 1, 16),
    'max': (_extreme(max, np.max), 1, 16),
    'sum': (np.sum, 1, 1),
    'mean': (np.mean, 1, 1),
    'norm': (_norm, 1, 1),
    'dist': (_dist, 2, 2),
    'angle': (_angle, 2, 2),
    'any': (np.any, 1, 1),
    'all': (np.all, 1, 1),
    'len': (len, 1, 1),
    'round': (np.round, 1, 2),
    'sqrt': (np.errstate(invalid='ignore')(np.sqrt), 1, 1),
    'sin': (np.sin, 1, 1),
    'cos': (np.cos, 1, 1),
    'atan2': (np.arctan2, 2, 2),
}
CONSTANTS: dict[str, Any] = {
    'true': True, 'false': False, 'pi': math.pi, 'inf': math.inf,
}
ERRORS = (ArithmeticError, ValueError, TypeError, LookupError, MemoryError)
