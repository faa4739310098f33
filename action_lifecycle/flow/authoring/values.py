# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Values that are known when a flow runs: parameters, facts, results, and expressions of them.

Operators of Python build the text of an expression, which is checked with the flow.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
import copy
from enum import auto, Enum
import math
from pathlib import Path
from typing import Any, NoReturn

from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...world.expressions.functions import FUNCTIONS
from ...world.facts.loader import load_facts

_LOGIC = ('use & for and, | for or, ~ for not, with each comparison in parentheses; write '
          'a < b < c as (a < b) & (b < c), a in [1, 2] as (a == 1) | (a == 2), and max(a, b) as '
          'fn.max(a, b)')


class Origin(Enum):
    """Where a value comes from."""

    PARAMETER = auto()  #: of the flow or of the action
    FACT = auto()  #: measured
    RESULT = auto()  #: of an earlier action


def _leaf(name: str, origin: Origin) -> ast.Name:
    """Return the node of a name in an expression, with its origin."""
    leaf = ast.Name(id=name, ctx=ast.Load())
    leaf.origin = origin  # type: ignore[attr-defined]
    return leaf


def _origin(node: ast.AST) -> Origin | None:
    return getattr(node, 'origin', None)


_OF_OTHERS = ('tolist', 'item', 'fields', 'get_fields_and_field_types')
"""Attributes by which numpy's values, flows and messages are known."""


class Value:
    """
    A value that is known when the flow runs.

    Arithmetic, comparisons, `&`, `|`, `~`, `[]` and `abs()` give further values. In a condition it
    is written as an expression, in other fields as a template, and in goals, requests and messages
    that read facts as `{expr: …}`.
    """

    __slots__ = ('_node',)
    __hash__ = None  # type: ignore[assignment]  # since == builds an expression
    __array_ufunc__ = None  # numpy leaves operators to this class

    def __init__(self, node: ast.expr) -> None:
        self._node = node

    @property
    def expression(self) -> str:
        """Return it as text for a condition; results are templates in it."""
        return self._text(in_template=False)

    def _text(self, *, in_template: bool) -> str:
        return ast.unparse(_Written(in_template=in_template).visit(copy.deepcopy(self._node)))

    @property
    def template(self) -> str:
        """Return it as a template for any other field."""
        return f'{{{{ {self._text(in_template=True)} }}}}'

    @property
    def origins(self) -> set[Origin]:
        """Return where the values that it reads come from."""
        return {origin for node in ast.walk(self._node)
                if (origin := _origin(node)) is not None}

    def in_message(self) -> Any:
        """Return it as the value of a field of a goal, a request or a message."""
        if Origin.FACT not in self.origins:
            return self.template
        return {'fact': self._node.id} if isinstance(self._node, ast.Name) \
            else {'expr': self.expression}

    def __repr__(self) -> str:
        return f'<value {self.expression}>'

    def __str__(self) -> str:
        return self.template

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(f'{self!r} is known when the flow runs; in a text, use it without '
                            f'format, or as a template such as '
                            f"'{{{{ {self.template[3:-3]} | round(2) }}}}'")
        return self.template

    def __bool__(self) -> NoReturn:
        raise TypeError(f'{self!r} is known when the flow runs, not now; in conditions, {_LOGIC}')

    def __iter__(self) -> NoReturn:
        raise TypeError(f'{self!r} is known when the flow runs; it has no elements now')

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError(f'{self!r} is known when the flow runs; use contains(value, item)')

    def __float__(self) -> NoReturn:
        raise TypeError(f'{self!r} is known when the flow runs; it is no number now')

    __int__ = __index__ = __float__

    def __getattr__(self, name: str) -> Any:
        if name.startswith('_') or name in _OF_OTHERS:
            raise AttributeError(name)
        raise AttributeError(f"{self!r} has no field '{name}'; an element is read by its index, "
                             'such as value[0]')

    def __getitem__(self, index: Any) -> Value:
        return type(self)(ast.Subscript(self._node, _index(index), ast.Load()))

    def __abs__(self) -> Value:
        return Value(_call('abs', self))

    def __pos__(self) -> Value:
        return self

    def __neg__(self) -> Value:
        return Value(ast.UnaryOp(ast.USub(), self._node))

    def __invert__(self) -> Value:
        return Value(ast.UnaryOp(ast.Not(), self._node))

    def __and__(self, other: Any) -> Value:
        return _logic(ast.And(), self, other)

    def __rand__(self, other: Any) -> Value:
        return _logic(ast.And(), other, self)

    def __or__(self, other: Any) -> Value:
        return _logic(ast.Or(), self, other)

    def __ror__(self, other: Any) -> Value:
        return _logic(ast.Or(), other, self)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return _compared(self, ast.Eq(), other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return _compared(self, ast.NotEq(), other)

    def __lt__(self, other: Any) -> Value:
        return _compared(self, ast.Lt(), other)

    def __le__(self, other: Any) -> Value:
        return _compared(self, ast.LtE(), other)

    def __gt__(self, other: Any) -> Value:
        return _compared(self, ast.Gt(), other)

    def __ge__(self, other: Any) -> Value:
        return _compared(self, ast.GtE(), other)

    def __add__(self, other: Any) -> Value:
        return _arithmetic(self, ast.Add(), other)

    def __radd__(self, other: Any) -> Value:
        return _arithmetic(other, ast.Add(), self)

    def __sub__(self, other: Any) -> Value:
        return _arithmetic(self, ast.Sub(), other)

    def __rsub__(self, other: Any) -> Value:
        return _arithmetic(other, ast.Sub(), self)

    def __mul__(self, other: Any) -> Value:
        return _arithmetic(self, ast.Mult(), other)

    def __rmul__(self, other: Any) -> Value:
        return _arithmetic(other, ast.Mult(), self)

    def __truediv__(self, other: Any) -> Value:
        return _arithmetic(self, ast.Div(), other)

    def __rtruediv__(self, other: Any) -> Value:
        return _arithmetic(other, ast.Div(), self)

    def __floordiv__(self, other: Any) -> Value:
        return _arithmetic(self, ast.FloorDiv(), other)

    def __rfloordiv__(self, other: Any) -> Value:
        return _arithmetic(other, ast.FloorDiv(), self)

    def __mod__(self, other: Any) -> Value:
        return _arithmetic(self, ast.Mod(), other)

    def __rmod__(self, other: Any) -> Value:
        return _arithmetic(other, ast.Mod(), self)

    def __pow__(self, other: Any) -> Value:
        return _arithmetic(self, ast.Pow(), other)


class Result(Value):
    """A value of an earlier action; fields of a mapping are attributes."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Result:
        if name.startswith('_') or name in _OF_OTHERS:
            raise AttributeError(name)
        return Result(ast.Attribute(self._node, name, ast.Load()))


class FactNames:
    """
    Facts as attributes: `facts.gap`, `facts['gap']`.

    `names`: the known ones; others raise AttributeError with the nearest name. Default: any name,
    which the robot checks.
    """

    def __init__(self, names: Collection[str] | None = None) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Value:
        if name.startswith('__'):
            raise AttributeError(name)
        if self._names is not None and name not in self._names:
            raise AttributeError(f"there is no fact '{name}'" + nearest(name, self._names))
        return Value(_leaf(name, Origin.FACT))

    def __getitem__(self, name: str) -> Value:
        if not isinstance(name, str):
            raise TypeError(f'expected the name of a fact, got {name!r}')
        return self.__getattr__(name)

    def __dir__(self) -> list[str]:
        return sorted(self._names or ())


def facts_of(path: str | Path) -> FactNames:
    """Return the facts of a facts file, and its constants; raises `DocumentError`."""
    found = load_facts(path)
    return FactNames({*found, *found.kinds})


def parameter(name: str) -> Value:
    """Return a parameter of an action or of a loop by name; those of a flow: `Flow.parameter`."""
    return Value(_leaf(name, Origin.PARAMETER))


class Functions:
    """The functions of conditions as attributes: `fn.dist(a, b)`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        try:
            FUNCTIONS.find(name)
        except LifecycleError as error:
            raise AttributeError(str(error)) from error
        return lambda *arguments: Value(_call(name, *arguments))

    def __dir__(self) -> list[str]:
        return list(FUNCTIONS.names())


facts = FactNames()
"""Facts of any name."""
fn = Functions()
"""The functions of conditions."""


def contains(whole: Any, part: Any) -> Value:
    """Return whether a text, or a list of texts, contains another: `part in whole`."""
    return _compared(part, ast.In(), whole)


# -- syntax nodes

def node_of(value: Any) -> ast.expr:
    """Return the syntax node of a value or of a constant; raises TypeError for others."""
    if isinstance(value, Value):
        return value._node
    if isinstance(value, Enum):
        value = value.value
    if hasattr(value, 'tolist'):  # of numpy
        value = value.tolist()
    if value is True or value is False:
        return ast.Name('true' if value else 'false', ast.Load())
    if isinstance(value, str):
        return ast.Constant(str.__str__(value))
    if isinstance(value, (list, tuple)):
        return ast.List([node_of(item) for item in value], ast.Load())
    try:
        number = value if isinstance(value, int) else float(value)
    except (TypeError, ValueError):
        raise TypeError(f'{value!r} can not stand in an expression; expected a number, a text, '
                        'true or false, a list of them, a fact or a parameter') from None
    if not math.isfinite(number):
        raise TypeError(f'{number} can not stand in an expression')
    whole = ast.Constant(abs(number))
    return ast.UnaryOp(ast.USub(), whole) if math.copysign(1.0, number) < 0 else whole


def _index(index: Any) -> ast.expr:
    if not isinstance(index, slice):
        return node_of(index)
    return ast.Slice(*(None if part is None else node_of(part)
                       for part in (index.start, index.stop, index.step)))


def _call(name: str, *arguments: Any) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [node_of(item) for item in arguments], [])


def _logic(operator: ast.boolop, one: Any, other: Any) -> Value:
    parts: list[ast.expr] = []
    for node in (node_of(one), node_of(other)):
        same = isinstance(node, ast.BoolOp) and isinstance(node.op, type(operator))
        parts += node.values if same else [node]  # type: ignore[attr-defined]
    return Value(ast.BoolOp(operator, parts))


def _compared(one: Any, operator: ast.cmpop, other: Any) -> Value:
    nodes = node_of(one), node_of(other)
    for node in nodes:
        if isinstance(node, ast.BoolOp) or (
                isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            raise TypeError(f'{Value(node)!r} is compared with a value; put each comparison in '
                            'parentheses, as in (a > 1) & ~(b > 2)')
    return Value(ast.Compare(nodes[0], [operator], [nodes[1]]))


def _arithmetic(one: Any, operator: ast.operator, other: Any) -> Value:
    return Value(ast.BinOp(node_of(one), operator, node_of(other)))


class _Written(ast.NodeTransformer):
    """Writes names as an expression or as a template has them."""

    def __init__(self, *, in_template: bool) -> None:
        self._in_template = in_template

    def visit(self, node: ast.AST) -> Any:
        if not self._in_template and _of_result(node):  # a template within the expression
            return ast.Name(f'{{{{ {ast.unparse(node)} }}}}', ast.Load())
        if self._in_template and _origin(node) is Origin.FACT:
            assert isinstance(node, ast.Name)
            return ast.Name(f'facts.{node.id}', ast.Load())
        return self.generic_visit(node)


def _of_result(node: ast.AST) -> bool:
    """Return whether a node is a result, or a field or an element of one."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return _origin(node) is Origin.RESULT


def result_of(action: str) -> Result:
    """Return the value `results.ACTION`, of which fields and elements can be read."""
    name = f'results.{action}' if action.isidentifier() else f'results[{action!r}]'
    return Result(_leaf(name, Origin.RESULT))
