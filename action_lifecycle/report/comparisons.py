# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a condition compares: facts, or quantities computed from them, and their thresholds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..documents.errors import DocumentError
from ..traces import Curve, Trace
from ..world.expressions.expression import compile_expression, Expression

SIGNS = {ast.Lt: '<', ast.LtE: '<=', ast.Gt: '>', ast.GtE: '>=', ast.Eq: '==', ast.NotEq: '!='}
TURNED = {'<': '>', '<=': '>=', '>': '<', '>=': '<=', '==': '==', '!=': '!='}
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Exceptions at a text that is no expression; a row of a journal may have any."""


@dataclass(frozen=True)
class Threshold:
    """A comparison of one number of a fact with a constant, as in `tool[2] > 0.18`."""

    fact: str
    index: int
    sign: str
    value: float

    @property
    def label(self) -> str:
        """Return the comparison as a string."""
        which = f'[{self.index}]' if self.index else ''
        return f'{self.fact}{which} {self.sign} {self.value:g}'


class Term(NamedTuple):
    """
    A part of a condition that is true or false by itself: a comparison, or a boolean fact.

    `quantity`: the expression that is compared; `sign`: '' without a comparison; `limit`: the
    expression that it is compared with; `threshold`: its value if it reads no facts.
    """

    quantity: str
    sign: str = ''
    limit: str = ''
    threshold: Any = None


def thresholds(expression: str) -> list[Threshold]:
    """Return the comparisons of a number of a fact with a constant in a condition."""
    found = []
    for term in terms(expression):
        read: Any = ast.parse(term.quantity, mode='eval').body
        index = 0
        if isinstance(read, ast.Subscript):
            read, index = read.value, _constant(read.slice)
        if isinstance(read, ast.Name) and type(index) is int and term.sign \
                and type(term.threshold) in (int, float):
            found.append(Threshold(read.id, index, term.sign, term.threshold))
    return found


def terms(expression: str) -> list[Term]:
    """Return the parts of a condition in their order, each once; none of a text that is none."""
    try:
        tree = ast.parse(expression.strip(), mode='eval')
        return list(dict.fromkeys(_terms(tree.body)))
    except UNREADABLE:
        return []


def _terms(node: ast.expr) -> Iterator[Term]:
    if isinstance(node, ast.BoolOp):
        for part in node.values:
            yield from _terms(part)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _terms(node.operand)
    elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords \
            and isinstance(node.func, ast.Name) and node.func.id in ('any', 'all'):
        yield from _terms(node.args[0])
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for left, operator, right in zip(sides, node.ops, sides[1:]):
            if type(operator) in SIGNS:
                yield _compared(left, SIGNS[type(operator)], right)
    elif _constant(node) is None:
        yield Term(ast.unparse(node))


def _compared(left: ast.expr, sign: str, right: ast.expr) -> Term:
    """Return a comparison with its constant, if there is one, on the right."""
    constant = _constant(right)
    if constant is None and _constant(left) is not None:
        left, sign, right, constant = right, TURNED[sign], left, _constant(left)
    return Term(ast.unparse(left), sign, ast.unparse(right), constant)


def _constant(node: ast.expr) -> Any:
    """Return the value of an expression without names: a number, boolean or string; else None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    try:
        value = compile_expression(ast.unparse(node), ()).evaluate(())
    except DocumentError:
        return None
    return value if type(value) in (int, float, bool, str) else None


class Quantity(NamedTuple):
    """An expression over the facts of a trace, wherever one of them has a new value."""

    times: np.ndarray  #: (n,) arrival, s of ROS time
    values: list[Any]  #: n numbers, booleans, strings or lists of numbers; None: unknown
    unit: str = ''


def quantity(trace: Trace, text: str, known: Mapping[str, Any] = {}) -> Quantity | None:
    """
    Return an expression over time; None if a fact of it has no curve, or it is no expression.

    `known`: values of constants and parameters by name. Each fact keeps its value until its next.
    """
    try:
        expression = compile_expression(text, None)
    except (DocumentError, *UNREADABLE):
        return None
    read = {name: trace.curves[name] for name in expression.names if name in trace.curves}
    if not read or any(name not in read and name not in known for name in expression.names):
        return None
    units = {curve.unit for curve in read.values()}
    times = np.unique(np.concatenate([curve.times for curve in read.values()]))
    return Quantity(times, _values(expression, read, known, times),
                    units.pop() if len(units) == 1 else '')


def _values(expression: Expression, read: Mapping[str, Curve], known: Mapping[str, Any],
            times: np.ndarray) -> list[Any]:
    columns = []
    for name in expression.names:
        if name in read:
            places = np.searchsorted(read[name].times, times, side='right') - 1
            own = _own_values(read[name])
            columns.append([own[place] if place >= 0 else None for place in places.tolist()])
        else:
            columns.append([known[name]] * len(times))
    return [_plain(expression.evaluate(row)) for row in zip(*columns)]


def _own_values(curve: Curve) -> list[Any]:
    """Return the values of a curve as an expression reads them; None: unknown."""
    values = curve.values
    if isinstance(values, list):
        return values
    if values.ndim > 1:
        return [None if np.isnan(row).all() else row for row in values]
    truth = curve.kind == 'boolean'
    return [None if value != value else bool(value) if truth else value
            for value in values.tolist()]


def _plain(value: Any) -> Any:
    """Return a value as JSON data; None if it is not finite."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str)) else None
